// Sliders for the joints. A configuration is where the page began, moved by one number for every freedom, so that joints
// of every kind have sliders; those of joints that turn or slide show their coordinate itself.
import { element, slider } from "./elements.js";

const DEGREES = 180 / Math.PI;

export class JointSliders {
  constructor(robot, kernels, moved) {
    this.robot = robot;
    this.kernels = kernels;
    this.from = Float64Array.from(robot.q);
    this.x = new Float64Array(robot.nv);
    this.sliders = robot.freedoms.map((one, k) => {
      const told = one.angular ? x => `${(x * DEGREES).toFixed(1)}°` : x => `${x.toFixed(3)} m`;
      const zero = one.coordinate === null ? 0 : this.from[one.coordinate];
      return slider(one.name, {
        min: one.low, max: one.high, step: "any", value: zero, told,
        oninput: value => {
          this.x[k] = value - zero;
          moved(this.q());
        },
      });
    });
    this.node = element("div", { class: "sliders" }, ...this.sliders.map(one => one.row));
  }

  q() {
    return this.robot.flat ? this.from.map((a, k) => a + this.x[k]) : this.kernels.integrate(this.from, this.x);
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
