// Sliders for the joints. A configuration is where the page began, moved by one number for every freedom, so that joints
// of every kind have sliders; those of joints that turn or slide show their coordinate itself. In a mechanism with loops
// the other joints follow, and a slider goes no further than they can.
import { element, slider } from "./elements.js";

const DEGREES = 180 / Math.PI;

/** With so many decimals, and no sign where these are all zero. */
const rounded = (x, decimals) => (Math.abs(x) < 0.5 * 10 ** -decimals ? 0 : x).toFixed(decimals);

export class JointSliders {
  constructor(robot, mechanics, moved) {
    Object.assign(this, { robot, mechanics, kernels: mechanics.kernels });
    this.from = Float64Array.from(robot.q);
    this.x = new Float64Array(robot.nv);
    this.sliders = robot.freedoms.map((one, k) => {
      const told = one.angular ? x => `${rounded(x * DEGREES, 1)}°` : x => `${rounded(x, 3)} m`;
      const zero = one.coordinate === null ? 0 : this.from[one.coordinate];
      return slider(one.name, {
        min: one.low, max: one.high, step: "any", value: zero, told,
        oninput: value => {
          this.x[k] = value - zero;
          moved(this.followed(k));
        },
      });
    });
    this.node = element("div", { class: "sliders" }, ...this.sliders.map(one => one.row));
  }

  q() {
    return this.robot.flat ? this.from.map((a, k) => a + this.x[k]) : this.kernels.integrate(this.from, this.x);
  }

  /** The configuration of the sliders after that of freedom k, or the nearest on the way to it in which all loops are closed. */
  followed(k) {
    const { loops, q } = this.mechanics, wanted = this.q();
    if (!loops || !loops.isClosed(q)) return wanted;
    const found = loops.moved(q, k, wanted);
    this.follow(found);
    return found;
  }

  /** The sliders follow a configuration that came from elsewhere. */
  follow(q) {
    this.x = this.robot.flat ? q.map((a, k) => a - this.from[k]) : this.kernels.difference(this.from, q);
    this.sliders.forEach((one, k) => {
      const place = this.robot.freedoms[k].coordinate;
      one.show(this.x[k] + (place === null ? 0 : this.from[place]));
    });
  }
}
