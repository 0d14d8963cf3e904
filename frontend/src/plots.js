// Curves over time beside the robot, with a cursor that a finger or the mouse can drag.
import { colourOf, element, prepared, short } from "./elements.js";

const CURVES = ["#3d7ab8", "#e08a2c", "#4c9a5b", "#c4504a", "#8a67b0", "#8c6d5a", "#d078b4", "#7b8794", "#b0a838", "#3aa7b5"];
const LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 18;

export class Plot {
  /** panel: { title, unit, series, columns: [[place in a row, name, limits]] }; others: motions to compare, dashed. */
  constructor(panel, motions, seek) {
    Object.assign(this, { panel, motions });
    this.canvas = element("canvas", { class: "plot", "aria-label": panel.title });
    this.legend = element("div", { class: "legend" });
    this.values = panel.columns.map(([, name], k) => {
      const value = element("b"), dot = element("i");
      dot.style.background = CURVES[k % CURVES.length];
      this.legend.append(element("span", { title: name }, dot, element("span", { text: name }), value));
      return value;
    });
    this.node = element("figure", {}, element("figcaption", { text: `${panel.title}, ${panel.unit}` }), this.canvas, this.legend);
    this.range = this.measured();
    const drag = event => {
      if (event.type === "pointermove" && !event.buttons) return;
      const box = this.canvas.getBoundingClientRect(), share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
      const [first, last] = this.span();
      seek(first + Math.min(Math.max(share, 0), 1) * (last - first));
    };
    this.canvas.addEventListener("pointerdown", drag);
    this.canvas.addEventListener("pointermove", drag);
  }

  span() {
    return [Math.min(...this.motions.map(m => m.start)), Math.max(...this.motions.map(m => m.end))];
  }

  /** From the lowest to the highest value; limits are part of it where they are near. */
  measured() {
    let low = Infinity, high = -Infinity;
    for (const motion of this.motions) {
      const values = motion.series[this.panel.series], size = values.length / motion.count;
      for (const [place] of this.panel.columns) {
        for (let k = place; k < values.length; k += size) {
          low = Math.min(low, values[k]);
          high = Math.max(high, values[k]);
        }
      }
    }
    const room = high - low || Math.abs(high) || 1;
    for (const [, , limits] of this.panel.columns) {
      for (const limit of limits ?? []) {
        if (limit === null) continue;
        if (limit > high && limit < high + 0.6 * room) high = limit;
        if (limit < low && limit > low - 0.6 * room) low = limit;
      }
    }
    const margin = 0.06 * (high - low) || 0.5 * (Math.abs(high) || 1);
    return [low - margin, high + margin];
  }

  draw(t) {
    const made = prepared(this.canvas);
    if (!made) return;
    const { context: c, width, height } = made, [low, high] = this.range, [first, last] = this.span();
    const x = when => LEFT + (when - first) / (last - first || 1) * (width - LEFT - RIGHT);
    const y = value => TOP + (high - value) / (high - low) * (height - TOP - BOTTOM);
    c.font = "10px system-ui, sans-serif";
    this.scales(c, x, y, width, height);
    c.save();
    c.beginPath();
    c.rect(LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM);
    c.clip();
    this.limits(c, y, width);
    this.motions.forEach((motion, which) => this.curves(c, motion, x, y, which > 0));
    c.restore();
    c.strokeStyle = colourOf("--text");
    c.lineWidth = 1;
    line(c, x(t), TOP, x(t), height - BOTTOM);
    const now = this.motions[0].value(this.panel.series, t);
    const least = 1e-7 * (high - low); // what is less is rounding, of numbers of 32 bits
    this.panel.columns.forEach(([place], k) => (this.values[k].textContent = short(Math.abs(now[place]) < least ? 0 : now[place])));
  }

  scales(c, x, y, width, height) {
    const [low, high] = this.range, [first, last] = this.span();
    c.strokeStyle = colourOf("--line");
    c.fillStyle = colourOf("--faint");
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const value of ticks(low, high, 4)) {
      line(c, LEFT, y(value), width - RIGHT, y(value));
      c.fillText(short(value), LEFT - 4, y(value));
    }
    c.textAlign = "center";
    c.textBaseline = "top";
    for (const when of ticks(first, last, 5)) c.fillText(short(when), x(when), height - BOTTOM + 4);
  }

  limits(c, y, width) {
    c.setLineDash([4, 4]);
    this.panel.columns.forEach(([, , limits], k) => {
      c.strokeStyle = CURVES[k % CURVES.length];
      for (const limit of limits ?? []) if (limit !== null) line(c, LEFT, y(limit), width - RIGHT, y(limit));
    });
    c.setLineDash([]);
  }

  curves(c, motion, x, y, dashed) {
    const values = motion.series[this.panel.series], size = values.length / motion.count;
    c.lineWidth = dashed ? 1 : 1.6;
    c.globalAlpha = dashed ? 0.55 : 1;
    c.setLineDash(dashed ? [2, 3] : []);
    this.panel.columns.forEach(([place], k) => {
      c.strokeStyle = CURVES[k % CURVES.length];
      c.beginPath();
      for (let i = 0; i < motion.count; i++) c.lineTo(x(motion.time(i)), y(values[i * size + place]));
      c.stroke();
    });
    c.setLineDash([]);
    c.globalAlpha = 1;
  }
}

function line(c, x0, y0, x1, y1) {
  c.beginPath();
  c.moveTo(x0, y0);
  c.lineTo(x1, y1);
  c.stroke();
}

function ticks(low, high, count) {
  const raw = (high - low) / count, base = 10 ** Math.floor(Math.log10(raw));
  const step = base * ([1, 2, 5, 10].find(m => m * base >= raw) ?? 10);
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high + 1e-9 * step; x += step) found.push(Math.abs(x) < 1e-9 * step ? 0 : x);
  return found;
}
