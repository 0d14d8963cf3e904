// What can be shown beside the robot itself, each a group that is made anew when the state changes.
import {
  BufferGeometry, CylinderGeometry, Group, Line, LineBasicMaterial, Matrix4, Mesh, MeshBasicMaterial,
  MeshStandardMaterial, Quaternion, SphereGeometry, Vector3,
} from "three";
import { principal } from "./linear.js";
import { matrix } from "./shapes.js";

const BALL = new SphereGeometry(1, 24, 16);
const ROD = new CylinderGeometry(1, 1, 1, 16).rotateX(Math.PI / 2);
const CONE = new CylinderGeometry(0, 1, 1, 20).rotateX(Math.PI / 2);
const AHEAD = new Vector3(0, 0, 1);
const AXES = [[new Vector3(1, 0, 0), "#e5484d"], [new Vector3(0, 1, 0), "#30a46c"], [new Vector3(0, 0, 1), "#3b82f6"]];

/** name, what it says beside the box, what it needs of the page */
export const OVERLAYS = [
  ["frames", "Link frames"],
  ["axes", "Joint axes"],
  ["centers", "Centres of mass"],
  ["inertias", "Inertia ellipsoids"],
  ["velocities", "Velocities"],
  ["forces", "Weights and pull"],
  ["trail", "Trail of the link"],
  ["manipulability", "Manipulability of the link"],
  ["compliance", "Compliance of the link"],
  ["momentum", "Momentum", robot => robot.flying],
];

export class Overlays {
  constructor(stage, figure, mechanics) {
    Object.assign(this, { stage, figure, mechanics });
    this.on = new Set();
    this.link = figure.robot.bodies.length - 1;
    this.group = new Group();
    stage.scene.add(this.group);
    this.path = [];
  }

  toggle(name, on) {
    if (on) this.on.add(name);
    else this.on.delete(name);
    this.path = [];
  }

  choose(body) {
    this.link = body;
    this.path = [];
  }

  update() {
    for (const old of this.group.children) old.traverse(x => (x.userData.own ? x.geometry.dispose() : null));
    this.group.clear();
    for (const name of this.on) this[name]?.();
  }

  get size() {
    return this.figure.robot.size;
  }

  /** x red, y green, z blue. */
  frames() {
    const long = 0.08 * this.size, thick = 0.0035 * this.size;
    this.figure.bodies.forEach(body => {
      const cross = new Group();
      AXES.forEach(([direction, colour]) => {
        const rod = this.solid(ROD, colour, 0.95);
        rod.quaternion.setFromUnitVectors(AHEAD, direction);
        rod.position.copy(direction).multiplyScalar(long / 2);
        rod.scale.set(thick, thick, long);
        cross.add(rod);
      });
      cross.applyMatrix4(body.matrix);
      this.group.add(cross);
    });
  }

  axes() {
    for (const joint of this.figure.robot.joints) {
      if (!joint.hasAxis) continue;
      const rod = this.solid(ROD, "#d6409f", 0.95);
      rod.scale.set(0.004 * this.size, 0.004 * this.size, 0.22 * this.size);
      rod.quaternion.setFromUnitVectors(AHEAD, new Vector3(...joint.axis));
      const holder = new Group();
      holder.applyMatrix4(matrix(joint.place));
      if (joint.parent >= 0) holder.applyMatrix4(this.figure.bodies[joint.parent].matrix);
      holder.add(rod);
      this.group.add(holder);
    }
  }

  centers() {
    const robot = this.figure.robot, most = Math.max(...robot.bodies.map(b => b.mass));
    robot.bodies.forEach((body, k) => {
      if (!(body.mass > 0)) return;
      const ball = this.solid(BALL, "#f5b301", 0.95);
      ball.scale.setScalar(this.size * (0.008 + 0.016 * Math.cbrt(body.mass / most)));
      ball.position.copy(this.figure.world(k, body.com));
      this.group.add(ball);
    });
  }

  /** Of every body the ellipsoid of even density with its mass and its inertia. */
  inertias() {
    this.figure.robot.bodies.forEach((body, k) => {
      if (!body.ellipsoid) return;
      const ball = this.solid(BALL, "#19b5fe", 0.32);
      ball.scale.set(...body.ellipsoid.radii.map(r => Math.max(r, 1e-4 * this.size)));
      const holder = new Group();
      holder.applyMatrix4(matrix(body.ellipsoid.place));
      holder.applyMatrix4(this.figure.bodies[k].matrix);
      holder.add(ball);
      this.group.add(holder);
    });
  }

  /** Of centres of mass; the fastest so far is as long as a third of the robot. */
  velocities() {
    const { mechanics, figure } = this;
    const V = mechanics.kernels.velocities(mechanics.q, mechanics.v);
    const found = figure.robot.bodies.map((body, k) => {
      const at = figure.world(k, body.com), r = at.clone().sub(figure.world(k));
      const w = new Vector3(...V.subarray(6 * k, 6 * k + 3)), u = new Vector3(...V.subarray(6 * k + 3, 6 * k + 6));
      return [at, u.add(w.cross(r))];
    });
    const most = Math.max(...found.map(([, u]) => this.largest("velocity", u)), 1e-9);
    for (const [at, u] of found) this.arrow(at, u, 0.35 * this.size / most, "#12b76a");
  }

  forces() {
    const { mechanics, figure } = this;
    const weight = Math.max(...figure.robot.bodies.map(b => b.mass)) * (Math.hypot(...figure.robot.gravity) || 9.81);
    figure.robot.bodies.forEach((body, k) => {
      const g = new Vector3(...figure.robot.gravity).multiplyScalar(body.mass * mechanics.gravityScale);
      this.arrow(figure.world(k, body.com), g, 0.3 * this.size / weight, "#ef4444");
    });
    const { spring } = mechanics;
    if (spring) {
      const at = figure.world(spring.body, spring.point);
      this.arrow(at, new Vector3(...mechanics.springForce), 0.3 * this.size / weight, "#a855f7");
    }
  }

  trail() {
    const here = this.figure.world(this.link);
    const last = this.path.at(-1);
    if (!last || last.distanceTo(here) > 1e-3 * this.size) this.path.push(here);
    if (this.path.length > 4000) this.path.shift();
    if (this.path.length < 2) return;
    const line = new Line(new BufferGeometry().setFromPoints(this.path), new LineBasicMaterial({ color: "#f43f5e" }));
    line.userData.own = true;
    this.group.add(line);
  }

  /** J J* of the link's origin: how fast it gets with joint speeds of unit length, of those that loops allow. */
  manipulability() {
    const { mechanics, link } = this, { nv, loops, q } = mechanics, J = mechanics.jacobian(q, link);
    for (let i = 3; loops && i < 6; i++) J.set(loops.allowed(q, J.slice(i * nv, (i + 1) * nv)), i * nv);
    this.ellipsoid(product(J, J, nv), "#22c55e", 0.35);
  }

  /** J M^-1 J* of the link's origin: how it is accelerated by forces of unit length. */
  compliance() {
    const { mechanics, link } = this, nv = mechanics.nv, J = mechanics.jacobian(mechanics.q, link);
    const W = new Float64Array(6 * nv);
    for (let i = 3; i < 6; i++) W.set(mechanics.response(mechanics.q, J.slice(i * nv, (i + 1) * nv)), i * nv);
    if (!W.every(Number.isFinite)) return;
    this.ellipsoid(product(J, W, nv), "#a855f7", 0.35, false);
  }

  momentum() {
    const { mechanics } = this;
    const h = mechanics.kernels.momentum(mechanics.q, mechanics.v), c = mechanics.kernels.com(mechanics.q);
    const at = new Vector3(...c);
    const parts = [["angular", "#0ea5e9", h.subarray(0, 3)], ["linear", "#f97316", h.subarray(3, 6)]];
    for (const [name, colour, values] of parts) {
      const part = new Vector3(...values);
      this.arrow(at, part, 0.5 * this.size / this.largest(name, part), colour);
    }
  }

  /** The largest size so far, so that arrows keep their scale. */
  largest(name, vector) {
    this.peaks ??= {};
    return (this.peaks[name] = Math.max(this.peaks[name] ?? 1e-9, vector.length()));
  }

  /** An ellipsoid with the roots of the eigenvalues as half axes (or the eigenvalues), as large as fits the robot. */
  ellipsoid(S, colour, opacity, root = true) {
    const { values, vectors: V } = principal(S);
    const radii = values.map(x => (root ? Math.sqrt(Math.max(x, 0)) : Math.max(x, 0)));
    const scale = 0.22 * this.size / Math.max(...radii, 1e-12);
    const ball = this.solid(BALL, colour, opacity);
    const turn = new Matrix4().set(V[0], V[1], V[2], 0, V[3], V[4], V[5], 0, V[6], V[7], V[8], 0, 0, 0, 0, 1);
    if (turn.determinant() < 0) turn.scale(new Vector3(1, 1, -1));
    ball.quaternion.copy(new Quaternion().setFromRotationMatrix(turn));
    ball.scale.set(...radii.map(r => Math.max(r * scale, 2e-3 * this.size)));
    ball.position.copy(this.figure.world(this.link));
    this.group.add(ball);
  }

  solid(geometry, colour, opacity) {
    const thing = new Mesh(geometry, paint(colour, opacity));
    thing.renderOrder = 3;
    return thing;
  }

  arrow(from, vector, scale, colour) {
    const length = Math.min(vector.length() * scale, 2 * this.size);
    if (!(length > 2e-3 * this.size)) return;
    const head = Math.min(0.05 * this.size, 0.4 * length), thick = Math.min(0.0045 * this.size, 0.15 * head);
    const rod = this.solid(ROD, colour, 0.95), cone = this.solid(CONE, colour, 0.95), made = new Group();
    rod.scale.set(thick, thick, length - head);
    rod.position.z = (length - head) / 2;
    cone.scale.set(0.3 * head, 0.3 * head, head);
    cone.position.z = length - head / 2;
    made.add(rod, cone);
    made.quaternion.setFromUnitVectors(AHEAD, vector.clone().normalize());
    made.position.copy(from);
    this.group.add(made);
  }
}

const paints = new Map();

/** Of glass below 0.9, else seen through everything. */
function paint(colour, opacity) {
  const key = `${colour} ${opacity}`;
  if (!paints.has(key)) {
    paints.set(key, opacity < 0.9
      ? new MeshStandardMaterial({ color: colour, transparent: true, opacity, depthWrite: false, roughness: 0.4 })
      : new MeshBasicMaterial({ color: colour, transparent: true, opacity, depthTest: false }));
  }
  return paints.get(key);
}

/** The linear half of A B*, 3 x 3. */
function product(A, B, nv) {
  const S = new Float64Array(9);
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 3; j++) {
      for (let k = 0; k < nv; k++) S[3 * i + j] += A[(i + 3) * nv + k] * B[(j + 3) * nv + k];
    }
  }
  return S;
}
