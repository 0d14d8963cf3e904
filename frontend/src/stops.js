// Stops at joint limits, by the law of rc.Stops: stiffness * depth * (1 + damping * speed), and never pulling.
import { inverseDiagonal } from "./linear.js";

const SWING = 0.35, DECAY = 0.5; // as far as a step may go: rad of the fastest swing on the stops, and time constants of what they damp
const MOST = 64; // parts of a step

export class Stops {
  constructor(robot) {
    Object.assign(this, robot.stops); // frequency and damping
    this.nv = robot.nv;
    this.joints = robot.freedoms.flatMap(({ name, coordinate, limits }, v) => (limits ? [{ name, q: coordinate, v, limits }] : []));
    this.on = this.joints.length > 0;
  }

  /** Stops for a motion that begins at q: their stiffness is that of a swing at `frequency` of the inertia which the
   *  joint feels there, the others being free. A joint that begins beyond a limit is stopped where it begins. */
  begin(q, mass) {
    const yielding = inverseDiagonal(mass, this.nv);
    this.beyond = [];
    for (const one of this.joints) {
      const [low, high] = one.limits, at = q[one.q];
      one.low = Math.min(low ?? -Infinity, at);
      one.high = Math.max(high ?? Infinity, at);
      one.stiffness = this.frequency ** 2 / yielding[one.v];
      if (at < (low ?? at) || at > (high ?? at)) this.beyond.push(one.name);
    }
  }

  /** Add the torques of all stops at a state; returns their power. */
  add(q, v, tau) {
    let power = 0;
    for (const one of this.joints) {
      const at = q[one.q], depth = at > one.high ? at - one.high : at < one.low ? at - one.low : 0;
      if (depth === 0) continue;
      const torque = -one.stiffness * depth * Math.max(1 + this.damping * Math.sign(depth) * v[one.v], 0);
      tau[one.v] += torque;
      power += torque * v[one.v];
    }
    return power;
  }

  /** Into how many parts a step of length h has to be cut, so that it is short beside what happens on the stops.
   *  `yielding` computes the diagonal of inv(M). */
  parts(q, v, yielding, h) {
    let stiff = 0, damped = 0;
    for (const one of this.joints) {
      const at = q[one.q], ahead = at + h * v[one.v];
      const depth = Math.max(at - one.high, one.low - at, ahead - one.high, one.low - ahead);
      if (!(depth > 0)) continue;
      const square = one.stiffness * yielding()[one.v];
      stiff += square;
      damped += square * this.damping * depth;
    }
    return Math.min(Math.max(Math.ceil(h * Math.max(Math.sqrt(stiff) / SWING, damped / DECAY)), 1), MOST);
  }
}
