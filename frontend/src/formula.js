// A formula of spatial operators at work: its sweeps run over the robot as waves, and under the mouse stands what
// happens at that body.
import { Color, Raycaster, Vector2 } from "three";
import { button, element, section } from "./elements.js";

const PACE = 0.45; // s from one wave of bodies to the next
const GLOW = [new Color("#f59e0b"), new Color("#22d3ee")]; // outward, inward

export class FormulaPanel {
  constructor(page, formulas) {
    Object.assign(this, { page, formulas, running: true, at: 0, body: null });
    this.choice = element("select", { "aria-label": "formula" });
    formulas.forEach((one, k) => this.choice.append(element("option", { value: k, text: one.written })));
    this.choice.addEventListener("change", () => this.select(+this.choice.value));
    this.play = button("❚❚", () => this.toggle(), { title: "run or pause", "aria-label": "run or pause" });
    this.steps = element("div", { class: "sweeps" });
    this.card = element("div", { class: "card" });
    this.node = section("Formula", true, element("div", { class: "choice" }, this.choice, this.play), this.steps, this.card);
    page.panel.prepend(this.node);
    this.ray = new Raycaster();
    page.canvas.addEventListener("pointermove", event => this.point(event));
    this.glow = page.figure.bodies.map(() => 0);
    this.select(0);
  }

  get sweeps() {
    return this.formulas[this.chosen].sweeps;
  }

  select(number) {
    this.chosen = number;
    this.at = 0;
    const one = this.formulas[number];
    this.steps.replaceChildren(
      element("p", { class: "formula", text: one.written }),
      ...(one.simplified === one.written ? [] : [element("p", { class: "formula hint", text: `= ${one.simplified}` })]),
    );
    this.parts = one.sweeps.map(sweep => {
      const part = element("details", {}, element("summary", { text: sweep.title }));
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
    this.describe();
  }

  toggle(on = !this.running) {
    this.running = on;
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
    if (!this.sweeps.length) return;
    const rounds = this.sweeps.reduce((sum, sweep) => sum + sweep.waves.length, 0);
    if (this.running) this.at = (this.at + seconds / PACE) % (rounds + 1.5);
    const now = this.now();
    this.glow.forEach((value, k) => (this.glow[k] = now?.wave.includes(k) ? 1 : value * Math.exp(-3 * seconds)));
    const outward = now ? now.sweep.title.includes("base to tip") : this.outward;
    this.outward = outward;
    this.page.figure.bodies.forEach((body, k) => body.traverse(one => {
      if (!one.isMesh) return;
      one.material.emissive.copy(GLOW[outward ? 0 : 1]);
      one.material.emissiveIntensity = this.glow[k] + (k === this.body ? 0.25 : 0);
    }));
    if (now?.number !== this.shown) {
      this.shown = now?.number;
      this.parts.forEach((part, k) => part.classList.toggle("now", k === this.shown));
      this.describe();
    }
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
    this.describe();
  }

  /** The equations of the sweep that is on, at the body that was pointed at last. */
  describe() {
    const { robot } = this.page, k = this.body;
    if (k === null) {
      this.card.replaceChildren(element("p", { class: "hint", text: "Point at a body to see what happens there." }));
      return;
    }
    const parent = robot.joints[k].parent;
    const children = robot.joints.filter(joint => joint.parent === k).map(joint => joint.body + 1);
    const said = text => text.replaceAll("(k)", `(${k + 1})`).replaceAll("(p,k)", `(${parent < 0 ? "world" : parent + 1},${k + 1})`)
      .replaceAll("(p)", `(${parent < 0 ? "world" : parent + 1})`).replaceAll("(k,", `(${k + 1},`);
    const sum = children.length ? `c is ${children.join(", ")}` : "no body hangs on it: sums are zero";
    const shown = this.sweeps[this.shown] ? [this.sweeps[this.shown]] : this.sweeps;
    this.card.replaceChildren(
      element("h2", { text: `Body ${k + 1}: ${robot.bodies[k].name}` }),
      element("p", { class: "hint", text: `${parent < 0 ? "hangs on the world" : `hangs on ${parent + 1}`}; ${sum}` }),
      ...shown.flatMap(sweep => [
        element("h3", { text: sweep.title }), ...sweep.equations.map(text => element("p", { class: "step", text: said(text) })),
      ]),
    );
  }
}
