// The robot's own dynamics: kernels written by Recursa, and steps of Runge and Kutta on the configuration manifold,
// the same arithmetic in the same order as robot.simulate(integrator="rk4", stops=True). A step on which a joint meets
// its stop is cut into parts.
import { inverseDiagonal, solveInPlace } from "./linear.js";
import { Loops } from "./loops.js";
import { Stops } from "./stops.js";

export class Mechanics {
  constructor(robot, kernels) {
    this.robot = robot;
    this.kernels = kernels;
    const { nq, nv, nlinks } = robot;
    this.nv = nv;
    this.gravityScale = 1;
    this.extraDamping = 0;
    this.holding = false;
    this.spring = null; // { body, point: in the body, target: in the world, stiffness, damping }
    this.wrenches = new Float64Array(6 * nlinks);
    this.zero = new Float64Array(nv);
    this.tau = new Float64Array(nv);
    this.springForce = new Float64Array(3);
    this.able = "forward" in kernels || "bias" in kernels;
    this.stops = new Stops(robot);
    this.loops = robot.loops && new Loops(robot, kernels);
    this.weight = robot.bodies.reduce((sum, body) => sum + body.mass, 0) * Math.hypot(...robot.gravity);
    this.q = Float64Array.from(robot.q);
    this.v = new Float64Array(nv);
    this.t = 0;
    this.reset();
    this.nq = nq;
  }

  /** A motion starts anew from the present state: stops, and the balance of energy. */
  reset() {
    this.work = 0; // put in by springs and by what holds, less what damping and stops took
    this.steps = 0;
    this.energyAtStart = this.able ? this.energy() : 0;
    this.largestEnergy = this.able ? this.kernels.kinetic(this.q, this.v)[0] : 0;
    if (this.able) this.stops.begin(this.q, this.kernels.mass(this.q));
  }

  set(q, v, t = 0) {
    this.q = Float64Array.from(q);
    this.v = v ? Float64Array.from(v) : new Float64Array(this.nv);
    this.t = t;
    this.reset();
  }

  energy() {
    const stored = this.kernels.stored ? this.kernels.stored(this.q)[0] : 0; // by springs, which weigh nothing
    return this.kernels.kinetic(this.q, this.v)[0] + this.gravityScale * (this.kernels.potential(this.q)[0] - stored) + stored;
  }

  /** The energy that there is to exchange, J: to lift the robot by its own size, or what it had in motion and work. */
  energyScale() {
    return Math.max(this.gravityScale * this.weight * this.robot.size, this.largestEnergy, Math.abs(this.work));
  }

  /** What does not balance, relative to the energy that there is to exchange. */
  energyDrift() {
    const scale = this.energyScale();
    return scale > 0 ? Math.abs(this.energy() - this.energyAtStart - this.work) / scale : 0;
  }

  /** q exp(x). */
  moved(q, x) {
    return this.robot.flat ? q.map((a, k) => a + x[k]) : this.kernels.integrate(q, x);
  }

  /** dx/dt of q exp(x) at speed v. */
  chartRate(x, v) {
    return this.robot.flat ? v : this.kernels.chart(x, v);
  }

  /** All torques at a state but those of gravity, and their power. */
  acting(q, v) {
    const tau = new Float64Array(this.nv);
    const gravity = this.gravityScale === 1 && !this.holding ? null : this.kernels.gravity(q);
    const springs = this.holding && this.kernels.springs ? this.kernels.springs(q, this.zero) : null;
    let power = 0;
    for (let k = 0; k < this.nv; k++) {
      let x = 0;
      if (this.holding) x += this.gravityScale * gravity[k] + (springs ? springs[k] : 0) - this.holdDamping[k] * v[k];
      x -= (this.robot.damping[k] + this.extraDamping) * v[k];
      power += x * v[k];
      if (gravity) x -= (this.gravityScale - 1) * gravity[k];
      tau[k] = x;
    }
    if (this.stops.on) power += this.stops.add(q, v, tau);
    return { tau, power: power + this.springPower(q, v) };
  }

  /** The spring's force as a wrench on its link, in link axes; returns its power. */
  springPower(q, v) {
    const s = this.spring;
    if (!s) return 0;
    const place = 6 * this.robot.bodies[s.body].link;
    const R = this.kernels.poses(q).subarray(12 * s.body, 12 * s.body + 12);
    const V = this.kernels.velocities(q, v).subarray(6 * s.body, 6 * s.body + 6);
    const r = [0, 1, 2].map(i => R[4 * i] * s.point[0] + R[4 * i + 1] * s.point[1] + R[4 * i + 2] * s.point[2]);
    const speed = [
      V[3] + V[1] * r[2] - V[2] * r[1], V[4] + V[2] * r[0] - V[0] * r[2], V[5] + V[0] * r[1] - V[1] * r[0],
    ];
    const f = [0, 1, 2].map(i => s.stiffness * (s.target[i] - R[4 * i + 3] - r[i]) - s.damping * speed[i]);
    const own = [0, 1, 2].map(j => R[j] * f[0] + R[4 + j] * f[1] + R[8 + j] * f[2]);
    const [x, y, z] = s.point;
    this.wrenches.set([y * own[2] - z * own[1], z * own[0] - x * own[2], x * own[1] - y * own[0], ...own], place);
    this.springForce.set(f);
    return f[0] * speed[0] + f[1] * speed[1] + f[2] * speed[2];
  }

  acceleration(q, v, tau) {
    if (this.kernels.forward) return this.kernels.forward(q, v, tau, this.wrenches);
    const rest = this.kernels.bias(q, v, this.zero, this.wrenches); // joints are tied: M a = tau - C
    const a = tau.map((x, k) => x - rest[k]);
    return solveInPlace(this.kernels.mass(q), a, this.nv) ? a : a.fill(NaN);
  }

  slope(q, v) {
    const { tau, power } = this.acting(q, v);
    return [this.acceleration(q, v, tau), power];
  }

  /** One step of the classical method of order four in local coordinates; false where there is no state after it. */
  step(h) {
    const { q, v } = this;
    const [a1, p1] = this.slope(q, v);
    const k1 = v;
    const u2 = combined(h, null, [0.5, k1]), v2 = combined(h, v, [0.5, a1]);
    const [a2, p2] = this.slope(this.moved(q, u2), v2);
    const k2 = this.chartRate(u2, v2);
    const u3 = combined(h, null, [0.5, k2]), v3 = combined(h, v, [0.5, a2]);
    const [a3, p3] = this.slope(this.moved(q, u3), v3);
    const k3 = this.chartRate(u3, v3);
    const u4 = combined(h, null, [1, k3]), v4 = combined(h, v, [1, a3]);
    const [a4, p4] = this.slope(this.moved(q, u4), v4);
    const k4 = this.chartRate(u4, v4);
    const u = combined(h, null, [1 / 6, k1], [1 / 3, k2], [1 / 3, k3], [1 / 6, k4]);
    const after = combined(h, v, [1 / 6, a1], [1 / 3, a2], [1 / 3, a3], [1 / 6, a4]);
    if (!after.every(Number.isFinite)) return false;
    this.q = this.moved(q, u);
    this.v = after;
    if (this.loops) {
      this.q = this.loops.closed(this.q) ?? this.q;
      this.v = this.loops.allowed(this.q, this.v);
    }
    this.work += h * (p1 / 6 + p2 / 3 + p3 / 3 + p4 / 6);
    this.t += h;
    this.steps += 1;
    return true;
  }

  /** Steps of length h; false as soon as one fails. */
  advance(count, h) {
    let diagonal = null; // of inv(M), which changes little within a picture
    const yielding = () => (diagonal ??= inverseDiagonal(this.kernels.mass(this.q), this.nv));
    for (let k = 0; k < count; k++) {
      const parts = this.stops.on ? this.stops.parts(this.q, this.v, yielding, h) : 1;
      for (let part = 0; part < parts; part++) if (!this.step(h / parts)) return false;
    }
    this.largestEnergy = Math.max(this.largestEnergy, this.kernels.kinetic(this.q, this.v)[0]);
    return true;
  }

  /** Carry the weight of the robot and hold the springs of its joints; joints then move as if in thick air, a quarter of a second to come to rest. */
  hold(on) {
    this.holding = on;
    if (on) {
      const M = this.kernels.mass(this.q);
      this.holdDamping = Float64Array.from(this.zero, (_, k) => 4 * M[k * this.nv + k]);
    }
  }

  pull(spring) {
    this.spring = spring;
    if (!spring) {
      this.wrenches.fill(0);
      this.springForce.fill(0);
    }
  }

  /** Torques that hold the present pose, against gravity and springs, if all joints are driven. */
  holdingTorques() {
    const springs = this.kernels.springs?.(this.q, this.zero);
    return this.kernels.gravity(this.q).map((x, k) => this.gravityScale * x + (springs ? springs[k] : 0));
  }

  /** Accelerations that joint torques cause beside those that there are without them, at rest. */
  response(q, tau) {
    if (!this.kernels.forward) return solveInPlace(this.kernels.mass(q), tau, this.nv) ? tau : tau.fill(NaN);
    const none = new Float64Array(this.wrenches.length), before = this.kernels.forward(q, this.zero, this.zero, none);
    return this.kernels.forward(q, this.zero, tau, none).map((a, k) => a - before[k]);
  }

  /** Jacobian (6 x nv, row by row) of the origin of a body, world axes: velocities are linear in v. */
  jacobian(q, body) {
    const J = new Float64Array(6 * this.nv), unit = new Float64Array(this.nv);
    for (let k = 0; k < this.nv; k++) {
      unit[k] = 1;
      const V = this.kernels.velocities(q, unit);
      for (let i = 0; i < 6; i++) J[i * this.nv + k] = V[6 * body + i];
      unit[k] = 0;
    }
    return J;
  }
}

/** start + h (c1 x1 + c2 x2 + ...), in the order in which Python adds. */
function combined(h, start, ...terms) {
  const n = terms[0][1].length;
  const total = new Float64Array(n);
  if (start) total.set(start);
  for (const [factor, x] of terms) {
    const scale = factor * h;
    for (let k = 0; k < n; k++) total[k] += scale * x[k];
  }
  return total;
}
