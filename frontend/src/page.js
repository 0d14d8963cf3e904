// The page: a robot that can be moved, let go, pulled, and shown again as it moved.
import { readData } from "./data.js";
import { button, checkbox, element, named, section, short, slider } from "./elements.js";
import { Figure } from "./figure.js";
import { FormulaPanel } from "./formula.js";
import { MassHeat, TorqueBars } from "./gauges.js";
import { JointSliders } from "./joints.js";
import { asker, follow } from "./live.js";
import { Mechanics } from "./mechanics.js";
import { Motion } from "./motion.js";
import { OVERLAYS, Overlays } from "./overlays.js";
import { Playback } from "./playback.js";
import { Plot } from "./plots.js";
import { Pull } from "./pull.js";
import { Stage } from "./stage.js";

const STEP = 1e-3; // s, of the simulation
const LONGEST = 0.2; // s that a frame may catch up: a slow renderer does not slow the robot
const ROUNDING = 1e-15; // of the energy that there is to exchange
const OUTLINED = 100; // instants of a motion that have to be in the picture

const KEYS = [
  ["space", "play or pause; let go or stop"], ["h", "hold"], ["r", "back to the beginning"], ["f", "see all of it"],
  [", .", "a step back, a step on"], ["arrows, + −", "turn and zoom, with the focus on the picture"],
];

export class Page {
  constructor(data, kernels) {
    this.data = data;
    this.robot = data.robots[0];
    this.kernels = kernels[0];
    this.simulating = false;
    this.moved = true;
    this.frames = 0;
    this.makeFrame();
    this.figure = new Figure(this.robot, this.kernels, data.meshes);
    this.figure.show(this.robot.q);
    this.mechanics = new Mechanics(this.robot, this.kernels);
    this.allKernels = kernels;
    this.motions = [];
    this.ghost = data.motions.length > 1 ? this.makeGhost() : null;
    this.makeStage();
    this.overlays = new Overlays(this.stage, this.figure, this.mechanics);
    this.pull = new Pull(this.stage, this.figure, this.mechanics, () => this.simulating || this.hold(true));
    this.makePanel();
    if (data.motions.length) this.play(data.motions, data.panels);
    const ask = asker(data.live);
    if (data.formulas.length || ask) this.formula = new FormulaPanel(this, data.formulas, ask, data.letters);
    if (data.live) this.live = follow(this, data.live);
    this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    document.addEventListener("keydown", event => this.key(event));
    // after a click the keys belong to the robot again; whoever comes by the tabulator keeps the focus
    document.addEventListener("click", event => event.detail && event.target.closest("button, summary")?.blur());
    this.last = performance.now();
    const loop = now => {
      this.frame(now);
      requestAnimationFrame(loop);
    };
    requestAnimationFrame(loop);
  }

  // ---- what is on the page ------------------------------------------------------------------------------------------

  makeFrame() {
    this.canvas = element("canvas", { id: "picture", tabindex: 0, "aria-label": `${this.robot.name}, drawn in three dimensions` });
    this.badge = element("div", { class: "badge", role: "status" });
    this.panel = element("aside", { id: "panel" });
    this.footer = element("footer");
    const head = element(
      "header", {},
      element("div", { class: "title" }, element("h1", { text: this.data.title }), element("p", { text: this.data.subtitle })),
      button("⤢", () => this.fit(), { title: "see all of it (f)", "aria-label": "see all of it" }),
      button("◐", () => this.setTheme(this.theme === "dark" ? "light" : "dark"), { title: "dark or light", "aria-label": "dark or light" }),
      button("☰", () => document.body.classList.toggle("wide"), { title: "hide or show the panel", "aria-label": "panel" }),
    );
    document.body.append(head, element("main", {}, this.canvas, this.badge), this.panel, this.footer);
  }

  makeGhost() {
    const which = this.data.motions[1].robot;
    const made = new Figure(this.data.robots[which], this.allKernels[which], this.data.meshes, { ghost: true });
    made.show(this.data.robots[which].q);
    return made;
  }

  makeStage() {
    const { robot } = this, weight = Math.hypot(...robot.gravity), up = weight > 0 ? robot.gravity.map(x => -x / weight) : [0, 0, 1];
    this.stage = new Stage(this.canvas, robot.room, this.outline(), up, weight === 0);
    this.stage.ground(robot.floor);
    this.stage.scene.add(this.figure.group);
    if (this.ghost) this.stage.scene.add(this.ghost.group);
  }

  makePanel() {
    const { robot, mechanics } = this;
    this.sliders = new JointSliders(robot, mechanics, q => this.pose(q));
    const parts = [];
    if (mechanics.able) parts.push(section("Dynamics", !this.data.formulas.length, this.dynamicsPart()));
    parts.push(section("Joints", robot.nv <= 12 && !this.data.motions.length && !this.data.formulas.length, this.sliders.node));
    parts.push(section("Show", false, this.showPart()));
    if (mechanics.able) {
      this.bars = new TorqueBars(robot, mechanics, () => (this.moved = true));
      this.heat = new MassHeat(robot);
      parts.push(section("Torques that hold this pose", false, this.bars.node));
      parts.push(section("Mass matrix", false, this.heat.node));
    }
    const help = element("dl", {}, ...KEYS.flatMap(([key, what]) => [element("dt", { text: key }), element("dd", { text: what })]));
    parts.push(section("Help", false, element("p", { class: "hint", text: "Turn with the left button or a finger, move with the right button or two fingers, zoom with the wheel. Take a link to pull it by a spring; with Shift the view turns instead." }), element("p", { class: "hint", text: "Joints stop at their limits. Links touch neither each other nor the ground." }), help));
    if (this.data.missing.length) parts.push(section(`Meshes that are not shown (${this.data.missing.length})`, false, this.missingPart()));
    for (const note of this.data.notes) parts.push(element("p", { class: "hint", text: note }));
    this.panel.append(...parts);
    for (const one of this.panel.querySelectorAll("details")) one.addEventListener("toggle", () => (this.moved = true));
  }

  missingPart() {
    return element("dl", { class: "missing" }, ...this.data.missing.flatMap(([link, mesh, why]) => [
      element("dt", {}, named(link)), element("dd", {}, named(mesh), ...(why ? [`: ${why}`] : [])),
    ]));
  }

  dynamicsPart() {
    const { mechanics } = this;
    this.go = button("Let go", () => this.letGo(!this.simulating || mechanics.holding), { class: "primary" });
    this.keep = button("Hold", () => this.hold(), { title: "torques carry its weight and hold its springs (h)" });
    this.back = button("Reset", () => this.restart(), { title: "back to the beginning (r)" });
    this.said = element("p", { class: "numbers" });
    const gravity = slider("gravity", {
      min: 0, max: 2, step: 0.05, value: 1, told: x => `${x.toFixed(2)} g`,
      oninput: x => this.tune(() => (mechanics.gravityScale = x)),
    });
    const heavy = this.kernels.mass(this.robot.q).filter((_, k) => k % (this.robot.nv + 1) === 0);
    const most = 10 * Math.max(...heavy, 1e-6);
    const damping = slider("damping", {
      min: 0, max: 1, step: 0.01, value: 0, told: x => short(most * x * x * x),
      oninput: x => this.tune(() => (mechanics.extraDamping = most * x * x * x)),
    });
    const dials = Math.hypot(...this.robot.gravity) ? [gravity.row, damping.row] : [damping.row];
    if (mechanics.stops.on) dials.push(checkbox("Stops at joint limits", true, on => this.tune(() => (mechanics.stops.on = on))));
    return element("div", {}, element("div", { class: "buttons" }, this.go, this.keep, this.back), ...dials, this.said);
  }

  /** A law changed: the balance of energy begins anew, and stops stand where they can. */
  tune(change) {
    change();
    this.mechanics.reset();
    this.moved = true;
  }

  showPart() {
    const links = element("select", { "aria-label": "link" });
    this.robot.bodies.forEach((body, k) => links.append(element("option", { value: k, text: body.name })));
    links.value = this.overlays.link;
    links.addEventListener("change", () => {
      this.overlays.choose(+links.value);
      this.moved = true;
    });
    const usable = OVERLAYS.filter(([name, , when]) => (!when || when(this.robot)) && (this.mechanics.able || ["frames", "axes", "centers", "inertias", "trail"].includes(name)));
    const boxes = usable.map(([name, text]) =>
      checkbox(text, false, on => {
        this.overlays.toggle(name, on);
        this.moved = true;
      }),
    );
    return element("div", { class: "checks" }, element("label", { class: "choice" }, element("span", { text: "Link" }), links), ...boxes);
  }

  /** Recorded motions, with the curves of them; a second one is the ghost's. */
  play(records, panels) {
    this.stopPlaying();
    this.motions = records.map(one => new Motion(one, this.allKernels[one.robot], this.data.robots[one.robot].flat));
    this.plots = panels.map(panel => {
      const drawn = this.motions.filter((m, k) => !k || panel.series in m.series);
      return new Plot(panel, drawn, t => this.playback.seek(t, true), (name, on) => this.plots.forEach(one => one.toggleName(name, on)));
    });
    this.playback = new Playback(this.motions, t => this.replay(t));
    this.footer.append(this.playback.node);
    this.curves = section("Curves", true, ...this.plots.map(one => one.node));
    if (this.ghost) {
      const [own, other] = records.map(one => this.data.robots[one.robot].name);
      this.curves.append(element("p", { class: "hint", text: `Solid, with thick lines: this run, of ${own}. Ghost, with thin dotted lines: the other, of ${other}.` }));
    }
    this.panel.prepend(this.curves);
    const all = this.outline();
    if (!this.data.live || !this.stage.seen(all).inside) this.stage.fit(all);
    if (this.data.live) this.playback.toggle(true);
  }

  /** The robot is no longer shown as it moved once. */
  stopPlaying() {
    this.curves?.remove();
    this.playback?.node.remove();
    this.curves = this.playback = this.plots = undefined;
    this.motions = [];
  }

  /** Points around all that is drawn, now and throughout the motions that are shown. */
  outline() {
    const figures = [this.figure, ...(this.ghost ? [this.ghost] : [])], found = figures.flatMap(one => one.outline());
    this.motions.forEach((motion, which) => {
      const figure = figures[which] ?? this.figure, stride = Math.max(1, (motion.count - 1) / OUTLINED);
      for (let k = 0; k < motion.count; k += stride) found.push(...figure.outline(figure.kernels.poses(motion.row("q", Math.round(k)))));
    });
    return found;
  }

  fit() {
    this.stage.fit(this.outline());
  }

  setTheme(name) {
    this.theme = name;
    document.documentElement.dataset.theme = name;
    this.stage.theme(name);
    this.moved = true;
  }

  // ---- what can be done ---------------------------------------------------------------------------------------------

  /** A configuration, from a program. */
  show(q) {
    this.stop();
    this.mechanics.set(q);
    this.stage.follow(this.figure.outline(this.kernels.poses(this.mechanics.q)));
    this.posed = false;
    this.moved = true;
  }

  /** A configuration, from a slider. */
  pose(q) {
    this.playback?.toggle(false);
    this.show(q);
    this.posed = true;
  }

  replay(t) {
    this.stop();
    const { q, v } = this.motions[0].at(t);
    this.mechanics.set(q, v, t);
    this.posed = false;
    if (this.ghost) this.ghost.show(this.motions[1].at(t).q);
    this.moved = true;
  }

  letGo(on) {
    if (!this.mechanics.able) return;
    this.playback?.toggle(false);
    this.mechanics.hold(false);
    this.mechanics.reset();
    this.simulating = on;
    this.posed = false;
    this.waiting = 0;
    this.label();
  }

  /** Torques carry its weight and hold its springs; a second time, and it stops where it is. */
  hold(on = !(this.simulating && this.mechanics.holding)) {
    this.letGo(on);
    if (on) this.mechanics.hold(true);
    this.label();
  }

  stop() {
    if (!this.simulating) return;
    this.simulating = false;
    this.mechanics.hold(false);
    this.label();
  }

  restart() {
    this.stop();
    if (this.playback) this.playback.seek(this.playback.start, true);
    else this.show(this.robot.q);
  }

  label() {
    this.go.textContent = this.simulating && !this.mechanics.holding ? "Stop" : "Let go";
    this.keep.setAttribute("aria-pressed", this.simulating && this.mechanics.holding);
    this.moved = true;
  }

  key(event) {
    const { target } = event; // sliders have no use for these keys, and buttons none but space
    if (target.matches("input:not([type=range]):not([type=checkbox]), select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && target.matches("button, summary, [type=checkbox]")) return;
    const actions = {
      " ": () => (this.playback && !this.simulating ? this.playback.toggle() : this.letGo(!this.simulating)),
      h: () => this.hold(), r: () => this.restart(), f: () => this.fit(),
      ",": () => this.playback?.step(-1), ".": () => this.playback?.step(1),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  // ---- frame by frame -----------------------------------------------------------------------------------------------

  frame(now) {
    const passed = Math.min(Math.max((now - this.last) / 1000, 0), LONGEST);
    this.last = now;
    if (this.simulating) this.simulate(passed);
    this.playback?.advance(passed);
    this.formula?.advance(passed);
    if (this.moved) this.refresh();
    if (!this.stage.draw()) return;
    this.frames += 1;
    this.firstPicture ??= performance.now(); // ms since loading began
  }

  simulate(passed) {
    this.waiting += passed;
    const count = Math.floor(this.waiting / STEP);
    this.waiting -= count * STEP;
    if (!this.mechanics.advance(count, STEP)) {
      this.stop();
      this.badge.textContent = "The motion became too fast for steps of 1 ms. Reset to begin anew.";
      return;
    }
    this.badge.textContent = "";
    this.playback?.tell(this.mechanics.t);
    this.stage.follow(this.figure.outline(this.kernels.poses(this.mechanics.q)));
    this.moved = true;
  }

  refresh() {
    this.moved = false;
    const { mechanics } = this;
    this.figure.show(mechanics.q);
    this.overlays.update();
    this.pull.update();
    if (!this.posed && this.open(this.sliders.node)) this.sliders.follow(mechanics.q);
    if (mechanics.able) this.refreshDynamics();
    this.plots?.forEach(one => one.draw(this.playback.t));
    this.stage.changed();
  }

  refreshDynamics() {
    const { mechanics } = this;
    const time = !this.playback && (this.simulating || mechanics.t) ? `t ${mechanics.t.toFixed(2)} s · ` : "";
    const scale = mechanics.energyScale(), energy = mechanics.energy();
    const balance = mechanics.steps ? ` · balanced to ${Math.max(mechanics.energyDrift(), ROUNDING).toExponential(0)} of ${short(scale)}\u00a0J` : "";
    const beyond = mechanics.stops.on && mechanics.stops.beyond.length ? ` · beyond its limit at the start, and stopped there: ${mechanics.stops.beyond.join(", ")}` : "";
    this.said.textContent = `${time}energy ${short(Math.abs(energy) < 10 * ROUNDING * scale ? 0 : energy)} J${balance}${beyond}`;
    if (this.open(this.bars.node)) this.bars.update();
    if (this.open(this.heat.node)) this.heat.show(mechanics.kernels.mass(mechanics.q));
  }

  open(node) {
    return node.closest("details").open;
  }
}

if (document.getElementById("recursa-data")) {
  window.recursa = new Page(readData(), window.recursaKernels);
}
