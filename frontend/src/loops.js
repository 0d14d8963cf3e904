// Loops and contacts of a mechanism: configurations and speeds are kept where these allow them.
import { fitted } from "./linear.js";

const EXACT = 1e-14, CLOSED = 1e-9; // rad and the robot's own lengths: as well as rounding allows, and well enough
const ROUNDS = 20;
const STRIDE = 0.02, SHORTEST = 1e-4; // rad and own lengths that a slider moves at once

export class Loops {
  constructor(robot, kernels) {
    Object.assign(this, { robot, kernels, ...robot.loops });
    this.lengths = Float64Array.from(robot.freedoms, one => (one.angular ? 1 : this.unitLength));
    this.all = new Float64Array(robot.nv).fill(1);
    const { nv } = robot;
    this.factors = Float64Array.from({ length: nv * this.scales.length }, (_, k) => this.held[Math.floor(k / nv)] * this.lengths[k % nv] / this.scales[Math.floor(k / nv)]);
  }

  /** Errors in rad and own lengths. */
  error(q) {
    return this.kernels.error(q).map((x, i) => x / this.scales[i]);
  }

  /** G, one row per equation, in rad and own lengths on both sides; columns of freedoms that may not move are zero. */
  rows(q, free = this.all) {
    const { nv } = this.robot, G = this.kernels.rows(q);
    for (let k = 0; k < G.length; k++) G[k] *= this.factors[k] * free[k % nv];
    return G;
  }

  integrate(q, x) {
    return this.robot.flat ? q.map((a, k) => a + x[k]) : this.kernels.integrate(q, x);
  }

  isClosed(q) {
    return largest(this.error(q)) < CLOSED;
  }

  /** The configuration near q that closes all loops, by Newton's method; null where there is none. */
  closed(q, free = this.all) {
    let error = this.error(q), size = largest(error);
    for (let round = 0; round < ROUNDS && size > EXACT; round++) {
      const step = fitted(this.rows(q, free), error, this.robot.nv).map((x, k) => -x * this.lengths[k]);
      const next = this.integrate(q, step), left = this.error(next), rest = largest(left);
      if (!(rest < size)) break;
      [q, error] = [next, left];
      if (rest > 0.5 * size && rest < CLOSED) break; // rounding
      size = rest;
    }
    return largest(error) < CLOSED ? q : null;
  }

  /** The nearest speeds that the loops allow. */
  allowed(q, v) {
    const { nv } = this.robot, G = this.rows(q), scaled = v.map((x, k) => x / this.lengths[k]);
    const away = fitted(G, times(G, scaled, nv), nv);
    return scaled.map((x, k) => (x - away[k]) * this.lengths[k]);
  }

  /** Move the joint of freedom k from q to where it is in `wanted`, as far as the others can follow and limits allow. */
  moved(q, k, wanted) {
    const [start, count] = this.joints.find(([first, size]) => k >= first && k < first + size);
    const change = this.robot.flat ? wanted.map((a, i) => a - q[i]) : this.kernels.difference(q, wanted);
    const rounding = 1e-12 * largest(change.subarray(start, start + count)); // of turns, in freedoms that do not move
    const x = change.map((y, i) => (i >= start && i < start + count && Math.abs(y) > rounding ? y : 0));
    const whole = this.all.map((_, i) => (i >= start && i < start + count ? 0 : 1)), single = x.map(y => (y === 0 ? 1 : 0));
    const found = this.walked(q, x, whole);
    return found === q && count > 1 ? this.walked(q, x, single) : found;
  }

  walked(q, x, free) {
    const length = largest(x.map((y, k) => y / this.lengths[k]));
    let done = 0, share = Math.min(1, STRIDE / length);
    while (done < 1 && share * length > Math.min(SHORTEST, 0.5 * length)) {
      const part = Math.min(share, 1 - done), next = this.stride(q, x.map(y => part * y), free);
      if (next) {
        q = next;
        done += part;
      } else share /= 2;
    }
    return q;
  }

  /** One short way: the others follow as the loops demand half-way, and close them at its end; null where they cannot.
   *  Joints that would leave their limits stay where they are. */
  stride(q, x, free) {
    for (let tries = 0; tries <= this.robot.nv; tries++) {
      const half = this.tangent(q, x, free, 0.5), whole = half && this.tangent(this.integrate(q, half), x, free, 1);
      const next = whole && this.closed(this.integrate(q, whole), free);
      if (!next) return null;
      const beyond = this.beyond(q, next);
      if (!beyond.length) return next;
      if (beyond.some(k => free[k] === 0)) return null;
      free = free.map((y, k) => (beyond.includes(k) ? 0 : y));
    }
    return null;
  }

  tangent(q, x, free, share) {
    const { nv } = this.robot, scaled = x.map((y, k) => share * y / this.lengths[k]);
    const demand = times(this.rows(q), scaled, nv), G = this.rows(q, free);
    const follow = fitted(G, demand.map(y => -y), nv), left = times(G, follow, nv);
    const size = largest(scaled);
    if (largest(left.map((y, i) => y + demand[i])) > 1e-6 * size || largest(follow) > 50 * size) return null;
    return scaled.map((y, k) => (y + follow[k]) * this.lengths[k]);
  }

  /** The freedoms that went beyond a limit, or further beyond it. */
  beyond(before, after) {
    return this.robot.freedoms.flatMap(({ coordinate: at, limits }, k) => (limits && (
      after[at] < Math.min(limits[0] ?? -Infinity, before[at]) - 1e-9 || after[at] > Math.max(limits[1] ?? Infinity, before[at]) + 1e-9
    ) ? [k] : []));
  }

  /** Torques of the chosen freedoms alone that balance `wanted` together with the loops: the least ones. `left` is the
   *  part, of the largest torque that is wanted, which they cannot balance. */
  balanced(q, wanted, driven) {
    const { nv } = this.robot, G = this.rows(q);
    const free = y => {
      const scaled = y.map((z, k) => z * this.lengths[k]); // of torques: as the powers of scaled speeds
      const away = fitted(G, times(G, scaled, nv), nv);
      return scaled.map((z, k) => z - away[k]);
    };
    const goal = free(wanted), A = new Float64Array(nv * driven.length); // columns of A: what each drive does
    driven.forEach((k, j) => free(Float64Array.from(wanted, (_, i) => (i === k ? 1 : 0))).forEach((y, i) => (A[i * driven.length + j] = y)));
    const found = driven.length ? fitted(A, goal, driven.length) : [], tau = new Float64Array(nv);
    driven.forEach((k, j) => (tau[k] = found[j]));
    const done = free(tau), scale = Math.max(largest(wanted.map((z, k) => z * this.lengths[k])), 1e-12);
    return { tau, left: largest(goal.map((z, k) => z - done[k])) / scale };
  }
}

const largest = x => x.reduce((most, y) => Math.max(most, Math.abs(y)), 0);

/** A x, with A of n columns. */
function times(A, x, n) {
  const y = new Float64Array(A.length / n);
  for (let i = 0; i < y.length; i++) for (let k = 0; k < n; k++) y[i] += A[i * n + k] * x[k];
  return y;
}
