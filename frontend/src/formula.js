// A formula of spatial operators at work: its sweeps run over the robot as waves, and under the mouse stands what
// happens at that body.
import { Color, Raycaster, Vector2 } from "three";
import { FormulaEntry } from "./asking.js";
import { button, element, section } from "./elements.js";

const PACE = 0.45; // s from one wave of bodies to the next
const GLOW = { outward: new Color("#f59e0b"), inward: new Color("#22d3ee"), here: new Color("#c084fc") };

export class FormulaPanel {
  /** formulas: those that the page has; ask: where others are sent, if anybody answers. */
  constructor(page, formulas, ask, letters) {
    Object.assign(this, { page, formulas: [], running: true, at: 0, body: null, parts: [] });
    this.choice = element("select", { "aria-label": "formula that is shown" });
    this.choice.addEventListener("change", () => this.select(+this.choice.value));
    this.play = button("❚❚", () => this.toggle(), { title: "run or pause", "aria-label": "run or pause" });
    this.chooser = element("div", { class: "choice", hidden: true }, this.choice, this.play);
    this.steps = element("div", { class: "sweeps" });
    this.places = element("select", { "aria-label": "body" }, element("option", { value: "", text: "point at a body, or choose one" }));
    page.robot.bodies.forEach((body, k) => this.places.append(element("option", { value: k, text: `${k + 1}: ${body.name}` })));
    this.places.addEventListener("change", () => this.choose(this.places.value === "" ? null : +this.places.value));
    this.card = element("div");
    this.about = element("div", { class: "card", hidden: true }, this.places, this.card);
    this.entry = ask && new FormulaEntry(page.robot, ask, letters, one => this.select(this.add(one)));
    const entry = this.entry ? [this.entry.node] : [];
    this.node = section("Formula", formulas.length > 0, ...entry, this.chooser, this.steps, this.about);
    if (formulas.length) page.panel.prepend(this.node);
    else page.panel.querySelector("details:last-of-type").before(this.node);
    this.ray = new Raycaster();
    page.canvas.addEventListener("pointermove", event => this.point(event));
    // before a link that is touched is pulled
    page.canvas.parentElement.addEventListener("pointerdown", event => event.target === page.canvas && this.point(event), { capture: true });
    this.glow = page.figure.bodies.map(() => 0);
    for (const one of formulas) this.add(one);
    if (formulas.length) this.select(0);
  }

  /** One more to choose from; returns its number. */
  add(one) {
    const said = one.typed ?? one.written, known = this.formulas.findIndex(other => (other.typed ?? other.written) === said);
    if (known >= 0) {
      this.formulas[known] = one;
      return known;
    }
    this.choice.append(element("option", { value: this.formulas.length, text: said }));
    return this.formulas.push(one) - 1;
  }

  get sweeps() {
    return this.formulas[this.chosen]?.sweeps ?? [];
  }

  select(number) {
    this.chosen = number;
    this.at = 0;
    this.shown = undefined;
    this.chooser.hidden = this.about.hidden = false;
    this.choice.value = number;
    const one = this.formulas[number];
    this.steps.replaceChildren(
      element("p", { class: "formula", text: one.written }),
      ...(one.simplified === one.written ? [] : [element("p", { class: "formula hint", text: `= ${one.simplified}` })]),
    );
    this.parts = one.sweeps.map(sweep => {
      const part = element("details", { "data-way": sweep.way }, element("summary", { text: sweep.title }));
      for (const [name, ...meaning] of sweep.steps) {
        part.append(element("p", { class: "step" }, element("b", { text: name }), element("span", { text: ` ${meaning.join(" ")}` })));
      }
      this.steps.append(part);
      return part;
    });
    this.steps.append(element("p", { class: "hint", text: one.cost }));
    if (one.identities.length) {
      this.steps.append(section("Identities", false, ...one.identities.map(text => element("p", { class: "step", text }))));
    }
    if (one.code) this.steps.append(section("Generated code", false, element("pre", { text: one.code })));
    this.toggle(true);
    this.describe();
  }

  toggle(on = !this.running) {
    this.running = on;
    this.lit = true;
    this.play.textContent = on ? "❚❚" : "▶";
  }

  /** Which sweep and which wave of it is on now. */
  now() {
    let left = this.at;
    for (const [number, sweep] of this.sweeps.entries()) {
      if (left < sweep.waves.length) return { number, sweep, wave: sweep.waves[Math.floor(left)] };
      left -= sweep.waves.length;
    }
    return null;
  }

  advance(seconds) {
    const running = this.running && this.sweeps.length > 0 && this.node.open;
    if (!running && !this.lit) return;
    const rounds = this.sweeps.reduce((sum, sweep) => sum + sweep.waves.length, 0);
    if (running) this.at = (this.at + seconds / PACE) % (rounds + 1.5);
    const now = this.sweeps.length && this.node.open ? this.now() : null;
    this.glow.forEach((value, k) => (this.glow[k] = now?.wave.includes(k) ? 1 : value * Math.exp(-3 * seconds)));
    this.way = now?.sweep.way ?? this.way ?? "outward";
    this.page.figure.bodies.forEach((body, k) => body.traverse(one => {
      if (!one.isMesh) return;
      one.material.emissive.copy(GLOW[this.way]);
      one.material.emissiveIntensity = this.glow[k] + (k === this.body ? 0.25 : 0);
    }));
    if (now?.number !== this.shown) {
      this.shown = now?.number;
      this.parts.forEach((part, k) => part.classList.toggle("now", k === this.shown));
      this.describe();
    }
    this.lit = running || this.glow.some(x => x > 0.004 && x < 1); // what glows no more need not be drawn again
    this.page.stage.changed();
  }

  point(event) {
    const box = this.page.canvas.getBoundingClientRect();
    const at = new Vector2((event.clientX - box.left) / box.width * 2 - 1, 1 - (event.clientY - box.top) / box.height * 2);
    this.ray.setFromCamera(at, this.page.stage.camera);
    let hit = this.ray.intersectObjects(this.page.figure.bodies, true)[0]?.object;
    while (hit && hit.userData.body === undefined) hit = hit.parent;
    this.choose(hit ? hit.userData.body : null);
  }

  choose(body) {
    if (body === null || body === this.body) return;
    this.body = body;
    this.lit = true;
    this.places.value = body;
    this.describe();
  }

  /** The equations of the sweep that is on, at the body that was pointed at last. */
  describe() {
    const { robot } = this.page, k = this.body;
    if (k === null) {
      this.card.replaceChildren();
      return;
    }
    const parent = robot.joints[k].parent;
    const children = robot.joints.filter(joint => joint.parent === k).map(joint => joint.body + 1);
    const said = text => text.replaceAll("(k)", `(${k + 1})`).replaceAll("(p,k)", `(${parent < 0 ? "world" : parent + 1},${k + 1})`)
      .replaceAll("(p)", `(${parent < 0 ? "world" : parent + 1})`).replaceAll("(k,", `(${k + 1},`);
    const sum = children.length ? `c is ${children.join(", ")}` : "no body hangs on it: sums are zero";
    const shown = this.sweeps[this.shown] ? [this.sweeps[this.shown]] : this.sweeps;
    this.card.replaceChildren(
      element("p", { class: "hint", text: `${parent < 0 ? "hangs on the world" : `hangs on ${parent + 1}`}; ${sum}` }),
      ...shown.flatMap(sweep => [
        element("h3", { text: sweep.title }),
        ...(sweep.waves.flat().includes(k)
          ? sweep.equations.map(text => element("p", { class: "step", text: said(text) }))
          : [element("p", { class: "hint", text: "It does not come to this body." })]),
      ]),
    );
  }
}
