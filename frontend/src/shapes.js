// Geometry of links: what Python wrote, as things to draw.
import {
  BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, CylinderGeometry, DoubleSide, Matrix4, Mesh, MeshStandardMaterial,
  PlaneGeometry, Quaternion, SphereGeometry, Vector3,
} from "three";
import { toCreasedNormals } from "three/addons/utils/BufferGeometryUtils.js";
import { longs, shorts } from "./data.js";

const ALONG_Y = new Vector3(0, 1, 0);

/** Three rows of four, as Python has transforms. */
export function matrix(rows, start = 0) {
  return new Matrix4().set(...rows.slice(start, start + 12), 0, 0, 0, 1);
}

export function material(colour, options = {}) {
  const [r, g, b, a = 1] = colour;
  const made = new MeshStandardMaterial({ roughness: 0.55, metalness: 0.08, ...options });
  made.color.setRGB(r, g, b, "srgb");
  if (a < 1) Object.assign(made, { transparent: true, opacity: a });
  return made;
}

const alongZ = geometry => geometry.rotateX(Math.PI / 2);

const SOLIDS = {
  box: ([x, y, z]) => new BoxGeometry(x, y, z),
  sphere: ([r]) => new SphereGeometry(r, 32, 20),
  cylinder: ([r, length]) => alongZ(new CylinderGeometry(r, r, length, 36)),
  capsule: ([r, length]) => alongZ(new CapsuleGeometry(r, length, 10, 28)),
  ellipsoid: ([x, y, z]) => new SphereGeometry(1, 32, 20).scale(x, y, z),
  plane: ([x, y]) => new PlaneGeometry(x, y),
};

/** A bar from one point to another, thicker at its beginning, its far end round unless it is flat. */
function bar({ from, to, radii, flat }) {
  const start = new Vector3(...from), end = new Vector3(...to);
  const along = end.clone().sub(start), length = along.length();
  const made = new CylinderGeometry(radii[1], radii[0], length, 24, 1, false);
  made.translate(0, length / 2, 0);
  const turned = new Quaternion().setFromUnitVectors(ALONG_Y, along.normalize());
  const round = flat ? [] : [new SphereGeometry(radii[1], 24, 12).translate(...to)];
  return [made.applyQuaternion(turned).translate(...from), ...round];
}

/** A triangle mesh whose coordinates are fractions of its box. */
export function decoded(record) {
  const places = shorts(record.points), [low, span] = [record.low, record.span];
  const points = new Float32Array(places.length);
  for (let k = 0; k < places.length; k++) points[k] = low[k % 3] + span[k % 3] * places[k] / 65535;
  const made = new BufferGeometry();
  made.setAttribute("position", new BufferAttribute(points, 3));
  const triangles = record.wide ? longs(record.triangles) : shorts(record.triangles);
  made.setIndex(new BufferAttribute(triangles, 1));
  return toCreasedNormals(made, 0.6);
}

/** The things to draw for one shape, in the frame of its body. */
export function drawn(shape, meshes, paint) {
  let parts;
  if (shape.kind === "bar") parts = bar(shape);
  else if (shape.kind === "mesh") parts = shape.parts.map(k => meshes[k].clone());
  else parts = [SOLIDS[shape.kind](shape.size)];
  return parts.map((geometry, k) => {
    if (shape.place) geometry.applyMatrix4(matrix(shape.place));
    const colour = shape.kind === "mesh" && !shape.colour ? shape.colours[k] : shape.colour;
    const side = shape.kind === "mesh" || shape.kind === "plane" ? DoubleSide : undefined;
    const thing = new Mesh(geometry, material(colour ?? paint, side === undefined ? {} : { side }));
    thing.castShadow = thing.receiveShadow = true;
    thing.userData.endless = shape.kind === "plane";
    return thing;
  });
}

/** A rod of unit length along z, which is stretched from one point to another. */
export function rod(radius) {
  const geometry = alongZ(new CylinderGeometry(radius, radius, 1, 20)).translate(0, 0, 0.5);
  const thing = new Mesh(geometry, material([0.62, 0.65, 0.7], { metalness: 0.4 }));
  thing.castShadow = thing.receiveShadow = true;
  return thing;
}

/** What a joint looks like where links have no shapes of their own: a hinge, a slide, a ball. */
export function hinge(joint) {
  const r = joint.radius;
  const made = {
    prismatic: () => new BoxGeometry(2.2 * r, 2.2 * r, 2.6 * r),
    spherical: () => new SphereGeometry(1.35 * r, 28, 18),
  }[joint.kind] ?? (() => alongZ(new CylinderGeometry(1.3 * r, 1.3 * r, 2.7 * r, 36)));
  const geometry = made();
  geometry.applyQuaternion(new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), new Vector3(...joint.axis)));
  geometry.applyMatrix4(matrix(joint.place));
  const thing = new Mesh(geometry, material([0.25, 0.28, 0.33], { roughness: 0.4, metalness: 0.35 }));
  thing.castShadow = thing.receiveShadow = true;
  return thing;
}
