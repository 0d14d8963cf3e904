// Numbers of the present state as pictures: torques as bars, the mass matrix as a heat map.
import { checkbox, colourOf, element, named, prepared, short } from "./elements.js";

const BALANCED = 1e-6; // of the largest torque: what may be left of the balance

/** Torques that hold the present pose. In a mechanism with loops it depends on which joints have a drive: they are
 *  chosen in the list. */
export class TorqueBars {
  constructor(robot, mechanics, changed) {
    Object.assign(this, { robot, mechanics });
    this.driven = new Set(mechanics.loops?.driven);
    this.rows = robot.freedoms.map((one, k) => {
      const bar = element("i"), value = element("b");
      const name = mechanics.loops ? checkbox(one.name, this.driven.has(k), on => {
        this.driven[on ? "add" : "delete"](k);
        changed();
      }) : element("span", {}, named(one.name));
      return { row: element("div", { class: "bar" }, name, element("em", {}, bar), value), bar, value };
    });
    this.said = element("p", { class: "hint" });
    this.node = element("div", { class: "bars" }, ...this.rows.map(one => one.row), ...(mechanics.loops ? [this.said] : []));
  }

  update() {
    const { mechanics } = this, tau = mechanics.holdingTorques();
    if (!mechanics.loops) return this.show(tau);
    const found = mechanics.loops.balanced(mechanics.q, tau, [...this.driven].sort((a, b) => a - b));
    this.said.textContent = found.left < BALANCED
      ? "Of the joints with a drive, which you choose above; the loops carry the rest."
      : "The joints that are chosen above cannot hold this pose: choose others.";
    this.show(found.left < BALANCED ? found.tau : null);
  }

  /** Torques as bars; none where there are none to show. */
  show(all) {
    this.rows.forEach(({ row }, k) => row.classList.toggle("passive", Boolean(this.mechanics.loops) && !this.driven.has(k)));
    const tau = all ?? new Float64Array(this.robot.nv);
    const most = Math.max(...tau.map(Math.abs), 1e-9), rounding = 1e-12 * Math.max(most, this.mechanics.weight * this.robot.size);
    this.rows.forEach(({ bar, value }, k) => {
      const limit = this.robot.freedoms[k].effort, scale = limit ?? most, share = Math.max(-1, Math.min(1, tau[k] / scale));
      bar.style.left = `${50 + Math.min(share, 0) * 50}%`;
      bar.style.width = `${Math.abs(share) * 50}%`;
      bar.classList.toggle("beyond", limit !== null && Math.abs(tau[k]) > limit);
      value.textContent = all === null || (this.mechanics.loops && !this.driven.has(k)) ? "–" : `${short(Math.abs(tau[k]) < rounding ? 0 : tau[k])} ${this.robot.freedoms[k].force}`;
    });
  }
}

export class MassHeat {
  constructor(robot) {
    this.robot = robot;
    this.canvas = element("canvas", { class: "heat", role: "img", "aria-label": "mass matrix" });
    this.said = element("p", { class: "hint", text: "Point at an entry." });
    const which = robot.loops ? [element("p", { class: "hint", text: "Of all joints, as if the loops were open." })] : [];
    this.node = element("div", {}, this.canvas, this.said, ...which);
    this.canvas.addEventListener("pointermove", event => {
      const box = this.canvas.getBoundingClientRect(), n = robot.nv;
      const j = Math.floor((event.clientX - box.left) / box.width * n), i = Math.floor((event.clientY - box.top) / box.height * n);
      if (!this.M || i < 0 || j < 0 || i >= n || j >= n) return;
      this.said.textContent = `${robot.freedoms[i].name}, ${robot.freedoms[j].name}: ${short(this.M[i * n + j])}`;
    });
  }

  /** Entries relative to the geometric mean of their diagonals, so that units and sizes do not matter: -1 to 1. */
  show(M) {
    this.M = M;
    const made = prepared(this.canvas);
    if (!made) return;
    const n = this.robot.nv, { context: c, width } = made, cell = width / n;
    const cold = [59, 130, 246], warm = [239, 68, 68], empty = colourOf("--line");
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const share = M[i * n + j] / Math.sqrt(M[i * n + i] * M[j * n + j] || 1);
        const [r, g, b] = share < 0 ? cold : warm, strength = Math.min(1, Math.abs(share)) ** 0.6;
        c.fillStyle = empty;
        c.fillRect(j * cell, i * cell, cell - (n < 30 ? 1 : 0), cell - (n < 30 ? 1 : 0));
        if (M[i * n + j] === 0) continue;
        c.fillStyle = `rgba(${r},${g},${b},${0.06 + 0.94 * strength})`;
        c.fillRect(j * cell, i * cell, cell - (n < 30 ? 1 : 0), cell - (n < 30 ? 1 : 0));
      }
    }
  }
}
