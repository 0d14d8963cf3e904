// Curves over time beside the robot, with a cursor that a finger or the mouse can drag.
import { button, colourOf, element, named, prepared, short } from "./elements.js";

const CURVES = ["#3d7ab8", "#e08a2c", "#4c9a5b", "#c4504a", "#8a67b0", "#8c6d5a", "#d078b4", "#7b8794", "#b0a838", "#3aa7b5"];
const DASHES = [[], [7, 3], [2, 2], [8, 3, 2, 3]]; // of curves whose colours recur
const LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 18;
const FEW = 8; // curves that are all shown at first; of more, those that change most
const UNCROWDED = 4; // curves whose limits are all shown; of more, those that are reached, or of the curve that is pointed at

export class Plot {
  /** panel: { title, unit, series, columns: [[place in a row, name, limits]] }; others: motions to compare, dashed;
   *  chosen: what to do with a curve, by its name, that was shown or hidden. */
  constructor(panel, motions, seek, chosen = () => {}) {
    Object.assign(this, { panel, motions });
    this.canvas = element("canvas", { class: "plot", "aria-label": panel.title });
    this.legend = element("div", { class: "legend" });
    this.styles = new Map(); // the number of its style for every column that is shown
    this.rows = panel.columns.map(([, name], k) => {
      const value = element("b"), dot = element("i"), row = element("button", { type: "button", title: "show or hide" }, dot, named(name), value);
      row.addEventListener("click", () => {
        this.toggle(k);
        chosen(name, this.styles.has(k));
      });
      row.addEventListener("pointerenter", () => this.mark(k));
      row.addEventListener("pointerleave", () => this.mark(null));
      return { row, dot, value };
    });
    this.legend.append(...this.rows.map(one => one.row));
    this.extremes = panel.columns.map(([place]) => this.extremesOf(place));
    const many = panel.columns.length > FEW, pick = (text, which) => button(text, () => this.choose(which()));
    const picks = many ? [element("span", { class: "picks" }, pick("most", () => this.liveliest()), pick("all", () => panel.columns.keys()), pick("none", () => []))] : [];
    this.node = element("figure", {}, element("figcaption", {}, element("span", { text: `${panel.title}, ${panel.unit}` }), ...picks), this.canvas, this.legend);
    this.node.classList.toggle("many", many);
    this.choose(many ? this.liveliest() : panel.columns.keys());
    const drag = event => {
      if (event.type === "pointermove" && !event.buttons) return;
      const box = this.canvas.getBoundingClientRect(), share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
      const [first, last] = this.span();
      seek(first + Math.min(Math.max(share, 0), 1) * (last - first));
    };
    this.canvas.addEventListener("pointerdown", drag);
    this.canvas.addEventListener("pointermove", drag);
  }

  // ---- which curves are shown -----------------------------------------------------------------------------------------

  /** The columns that change most, in their order. */
  liveliest() {
    const changes = this.extremes.map(([low, high], k) => [high - low, k]);
    return changes.sort((a, b) => b[0] - a[0]).slice(0, FEW).map(([, k]) => k).sort((a, b) => a - b);
  }

  choose(columns) {
    this.styles.clear();
    for (const k of columns) this.styles.set(k, this.styles.size);
    this.restyle();
  }

  toggle(k, on = !this.styles.has(k)) {
    if (on === this.styles.has(k)) return;
    const taken = new Set(this.styles.values());
    if (!on) this.styles.delete(k);
    else this.styles.set(k, [...Array(taken.size + 1).keys()].find(style => !taken.has(style)));
    this.restyle();
  }

  /** Show or hide the curves of a name, if there are any. */
  toggleName(name, on) {
    this.panel.columns.forEach(([, own], k) => own === name && this.toggle(k, on));
  }

  restyle() {
    this.rows.forEach(({ row, dot }, k) => {
      row.setAttribute("aria-pressed", this.styles.has(k));
      dot.style.background = this.styles.has(k) ? this.colour(k) : "";
    });
    this.range = this.measured();
    this.again();
  }

  /** One curve comes to the front. */
  mark(k) {
    this.marked = this.styles.has(k) ? k : null;
    this.again();
  }

  again() {
    if (this.t !== undefined) this.draw(this.t);
  }

  colour(k) {
    return CURVES[this.styles.get(k) % CURVES.length];
  }

  dashes(k) {
    return DASHES[Math.floor(this.styles.get(k) / CURVES.length) % DASHES.length];
  }

  /** The lowest and the highest value of a column in all motions. */
  extremesOf(place) {
    let low = Infinity, high = -Infinity;
    for (const motion of this.motions) {
      const values = motion.series[this.panel.series], size = values.length / motion.count;
      for (let i = place; i < values.length; i += size) {
        low = Math.min(low, values[i]);
        high = Math.max(high, values[i]);
      }
    }
    return [low, high];
  }

  // ---- drawing --------------------------------------------------------------------------------------------------------

  span() {
    return [Math.min(...this.motions.map(m => m.start)), Math.max(...this.motions.map(m => m.end))];
  }

  /** From the lowest to the highest value; limits are part of it where they are near. */
  measured() {
    const shown = [...this.styles.keys()], all = shown.map(k => this.extremes[k]);
    if (!shown.length) return this.range ?? [-1, 1];
    let low = Math.min(...all.map(one => one[0])), high = Math.max(...all.map(one => one[1]));
    const room = high - low || Math.abs(high) || 1;
    for (const k of shown) {
      for (const limit of this.limitsOf(k)) {
        if (limit > high && limit < high + 0.6 * room) high = limit;
        if (limit < low && limit > low - 0.6 * room) low = limit;
      }
    }
    const margin = 0.06 * (high - low) || 0.5 * (Math.abs(high) || 1);
    return [low - margin, high + margin];
  }

  draw(t) {
    this.t = t;
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
    this.panel.columns.forEach(([place], k) => (this.rows[k].value.textContent = short(Math.abs(now[place]) < least ? 0 : now[place])));
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

  /** The limits of a curve that are drawn: those of many joints would hide their curves. */
  limitsOf(k) {
    const [, , limits = []] = this.panel.columns[k], [low, high] = this.extremes[k], near = 0.02 * (high - low);
    const crowded = this.styles.size > UNCROWDED && k !== this.marked;
    return limits.filter((limit, side) => limit !== null && (!crowded || (side ? high > limit - near : low < limit + near)));
  }

  limits(c, y, width) {
    c.setLineDash([4, 4]);
    for (const k of this.styles.keys()) {
      c.strokeStyle = this.colour(k);
      c.globalAlpha = this.strength(k);
      for (const limit of this.limitsOf(k)) line(c, LEFT, y(limit), width - RIGHT, y(limit));
    }
    c.globalAlpha = 1;
    c.setLineDash([]);
  }

  curves(c, motion, x, y, dashed) {
    const values = motion.series[this.panel.series], size = values.length / motion.count;
    for (const k of this.styles.keys()) {
      const [place] = this.panel.columns[k];
      c.strokeStyle = this.colour(k);
      c.lineWidth = (dashed ? 1 : 1.6) + (k === this.marked ? 1 : 0);
      c.globalAlpha = (dashed ? 0.55 : 1) * this.strength(k);
      c.setLineDash(dashed ? [2, 3] : this.dashes(k));
      c.beginPath();
      for (let i = 0; i < motion.count; i++) c.lineTo(x(motion.time(i)), y(values[i * size + place]));
      c.stroke();
    }
    c.setLineDash([]);
    c.globalAlpha = 1;
  }

  /** Curves pale while another one is marked. */
  strength(k) {
    return typeof this.marked === "number" && k !== this.marked ? 0.2 : 1;
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
  const step = base * [1, 2, 5, 10].find((m, k, all) => k === 3 || raw / base < Math.sqrt(m * all[k + 1]));
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high + 1e-9 * step; x += step) found.push(Math.abs(x) < 1e-9 * step ? 0 : x);
  return found;
}
