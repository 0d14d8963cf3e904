// A robot on the stage: a group for the base and one for every body, placed by the robot's own kernel of poses.
import { Box3, Color, Group, Vector3 } from "three";
import { decoded, drawn, hinge, rod } from "./shapes.js";

const PALETTE = [
  "#3d7ab8", "#e08a2c", "#4c9a5b", "#c4504a", "#8a67b0", "#8c6d5a", "#d078b4", "#7b8794", "#b0a838", "#3aa7b5",
];

export function paintOf(k) {
  const { r, g, b } = new Color(PALETTE[k % PALETTE.length]).convertLinearToSRGB();
  return [r, g, b];
}

export class Figure {
  constructor(robot, kernels, meshes, { ghost = false } = {}) {
    this.robot = robot;
    this.kernels = kernels;
    this.group = new Group();
    this.base = new Group();
    this.bodies = robot.bodies.map((_, k) => Object.assign(new Group(), { matrixAutoUpdate: false, userData: { body: k } }));
    this.group.add(this.base, ...this.bodies);
    const known = meshes.map(decoded);
    for (const shape of robot.base) this.base.add(...drawn(shape, known, [0.5, 0.53, 0.57]));
    robot.bodies.forEach((body, k) => {
      for (const shape of body.shapes) this.bodies[k].add(...drawn(shape, known, paintOf(k)));
    });
    for (const joint of robot.joints) {
      if (joint.shown) (joint.parent < 0 ? this.base : this.bodies[joint.parent]).add(hinge(joint));
    }
    this.struts = robot.struts.map(strut => ({ ...strut, rod: rod(strut.radius) }));
    for (const one of this.struts) this.group.add(one.rod);
    if (ghost) this.makeGhost();
    this.corners = [this.base, ...this.bodies].map(cornersOf);
  }

  makeGhost() {
    this.base.visible = false;
    this.group.traverse(one => {
      if (!one.isMesh) return;
      one.castShadow = false;
      one.material = one.material.clone();
      Object.assign(one.material, { transparent: true, opacity: 0.28, depthWrite: false });
      one.material.color.lerp(new Color("#ff6a3d"), 0.7);
    });
  }

  show(q) {
    this.poses = this.kernels.poses(q);
    this.bodies.forEach((body, k) => {
      const p = this.poses.subarray(12 * k, 12 * k + 12);
      body.matrix.set(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], 0, 0, 0, 1);
      body.matrixWorldNeedsUpdate = true;
    });
    for (const { from, to, radius, rod } of this.struts) {
      const start = this.world(from.body, from.point), along = this.world(to.body, to.point).sub(start), length = along.length();
      rod.visible = length > radius;
      rod.position.copy(start);
      rod.scale.set(1, 1, length);
      rod.quaternion.setFromUnitVectors(AHEAD, along.normalize());
    }
  }

  /** A point of a body, or of the base (-1), in the world. */
  world(body, point = [0, 0, 0]) {
    if (body < 0) return new Vector3(...point);
    const p = this.poses, o = 12 * body;
    return new Vector3(
      ...[0, 4, 8].map(i => p[o + i] * point[0] + p[o + i + 1] * point[1] + p[o + i + 2] * point[2] + p[o + i + 3]),
    );
  }

  /** Points around all that is drawn where bodies have these poses, the base left out where it is not seen. */
  outline(poses = this.poses) {
    const found = this.base.visible ? this.corners[0].map(point => point.clone()) : [];
    this.corners.slice(1).forEach((corners, k) => {
      const p = poses.subarray(12 * k, 12 * k + 12);
      for (const { x, y, z } of corners) {
        found.push(new Vector3(...[0, 4, 8].map(i => p[i] * x + p[i + 1] * y + p[i + 2] * z + p[i + 3])));
      }
    });
    return found;
  }
}

const AHEAD = new Vector3(0, 0, 1);

/** Corners of boxes around the things of a group, in its axes; a plane has no end and no corners. */
function cornersOf(group) {
  const found = [];
  group.traverse(one => {
    if (!one.isMesh || one.userData.endless) return;
    one.geometry.computeBoundingBox();
    const { min, max } = new Box3().copy(one.geometry.boundingBox);
    for (const x of [min.x, max.x]) for (const y of [min.y, max.y]) for (const z of [min.z, max.z]) found.push(new Vector3(x, y, z));
  });
  return found;
}
