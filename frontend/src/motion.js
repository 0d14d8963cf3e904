// A recorded motion: states at even instants, and in between by cubics in local coordinates with the right speeds.
import { floats } from "./data.js";

export class Motion {
  constructor(record, kernels, flat) {
    Object.assign(this, { start: record.start, end: record.end, count: record.count, title: record.title });
    this.kernels = kernels;
    this.flat = flat;
    this.series = Object.fromEntries(Object.entries(record.series).map(([name, text]) => [name, floats(text)]));
    this.nq = this.series.q.length / this.count;
    this.nv = this.series.v.length / this.count;
  }

  row(name, k) {
    const values = this.series[name], size = values.length / this.count;
    return Float64Array.from(values.subarray(k * size, (k + 1) * size));
  }

  time(k) {
    return this.count > 1 ? this.start + (this.end - this.start) * k / (this.count - 1) : this.start;
  }

  at(t) {
    if (this.count === 1) return { q: this.row("q", 0), v: this.row("v", 0) };
    const h = (this.end - this.start) / (this.count - 1);
    const place = Math.min(Math.max((t - this.start) / h, 0), this.count - 1);
    const k = Math.min(Math.floor(place), this.count - 2), s = place - k;
    const q0 = this.row("q", k), q1 = this.row("q", k + 1), v0 = this.row("v", k), v1 = this.row("v", k + 1);
    const x1 = this.flat ? q1.map((x, i) => x - q0[i]) : this.kernels.difference(q0, q1);
    const rate = this.flat ? v1 : this.kernels.chart(x1, v1);
    const x = x1.map((end, i) => {
      const d0 = h * v0[i], d1 = h * rate[i];
      return s * (d0 + s * (3 * end - 2 * d0 - d1 + s * (d0 + d1 - 2 * end)));
    });
    return {
      q: this.flat ? q0.map((y, i) => y + x[i]) : this.kernels.integrate(q0, x),
      v: v0.map((y, i) => y + s * (v1[i] - y)),
    };
  }

  /** The values of a series at a time, straight between instants. */
  value(name, t) {
    const place = this.count > 1 ? (t - this.start) / (this.end - this.start) * (this.count - 1) : 0;
    const k = Math.min(Math.max(Math.floor(place), 0), Math.max(this.count - 2, 0));
    const a = this.row(name, k), b = this.row(name, Math.min(k + 1, this.count - 1));
    const s = Math.min(Math.max(place - k, 0), 1);
    return a.map((x, i) => x + s * (b[i] - x));
  }
}
