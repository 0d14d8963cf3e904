// Numbers of the present state as pictures: torques as bars, the mass matrix as a heat map.
import { colourOf, element, prepared, short } from "./elements.js";

export class TorqueBars {
  constructor(robot) {
    this.robot = robot;
    this.rows = robot.freedoms.map(one => {
      const bar = element("i"), value = element("b");
      const row = element("div", { class: "bar" }, element("span", { text: one.name, title: one.name }), element("em", {}, bar), value);
      return { row, bar, value };
    });
    this.node = element("div", { class: "bars" }, ...this.rows.map(one => one.row));
  }

  show(tau) {
    const most = Math.max(...tau.map(Math.abs), 1e-9);
    this.rows.forEach(({ bar, value }, k) => {
      const limit = this.robot.freedoms[k].effort, scale = limit ?? most, share = Math.max(-1, Math.min(1, tau[k] / scale));
      bar.style.left = `${50 + Math.min(share, 0) * 50}%`;
      bar.style.width = `${Math.abs(share) * 50}%`;
      bar.classList.toggle("beyond", limit !== null && Math.abs(tau[k]) > limit);
      value.textContent = `${short(Math.abs(tau[k]) < 1e-12 * most ? 0 : tau[k])} ${this.robot.freedoms[k].force}`;
    });
  }
}

export class MassHeat {
  constructor(robot) {
    this.robot = robot;
    this.canvas = element("canvas", { class: "heat", role: "img", "aria-label": "mass matrix" });
    this.said = element("p", { class: "hint", text: "Point at an entry." });
    this.node = element("div", {}, this.canvas, this.said);
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
