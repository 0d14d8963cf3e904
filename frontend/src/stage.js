// Where the robot stands: camera, lights, ground, colours of the day and of the night. Drawn only when something changed.
import {
  Box3, Color, DirectionalLight, GridHelper, HemisphereLight, Mesh, PCFSoftShadowMap, PerspectiveCamera, PlaneGeometry, Quaternion,
  Scene, ShadowMaterial, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

const THEMES = {
  light: { sky: "#eef2f6", grid: "#b9c4d0", line: "#d7dee6", above: "#ffffff", below: "#a8b0ba", light: 2.0, shadow: 0.22 },
  dark: { sky: "#12161c", grid: "#3a4654", line: "#242d38", above: "#cfe0ff", below: "#30343c", light: 1.7, shadow: 0.5 },
};

const SEEN = 0.86; // of the picture is for the robot
const EDGE = 0.92; // of the picture, beyond which something that moves has left it

export class Stage {
  /** points: what has to be seen at first. */
  constructor(canvas, size, points, up, weightless) {
    this.canvas = canvas;
    this.size = size;
    this.renderer = new WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFSoftShadowMap;
    this.scene = new Scene();
    this.up = new Vector3(...up);
    this.camera = new PerspectiveCamera(38, 1, 2e-3 * size, 100 * size);
    this.camera.up.copy(this.up);
    this.points = points;
    this.home = new Box3().setFromPoints(points).getCenter(new Vector3());
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.zoomToCursor = true;
    this.controls.minDistance = 0.01 * size;
    this.controls.maxDistance = 20 * size;
    this.controls.addEventListener("change", () => this.changed());
    this.controls.addEventListener("start", () => (this.fitted = this.following = false));
    canvas.addEventListener("keydown", event => this.key(event));
    this.makeLights();
    this.makeGround(weightless);
    this.fit();
    this.dirty = true;
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    this.resize();
  }

  makeLights() {
    this.hemisphere = new HemisphereLight("#ffffff", "#888888", 1.6);
    this.hemisphere.position.copy(this.up);
    this.sun = new DirectionalLight("#ffffff", 2);
    const s = this.size;
    this.sun.position.copy(this.home).addScaledVector(this.up, 2.2 * s).add(this.sideways().multiplyScalar(1.3 * s));
    this.sun.target.position.copy(this.home);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(1024, 1024);
    this.sun.shadow.radius = 4;
    this.sun.shadow.normalBias = 0.01 * s;
    const box = this.sun.shadow.camera;
    Object.assign(box, { left: -1.6 * s, right: 1.6 * s, top: 1.6 * s, bottom: -1.6 * s, near: 0.1 * s, far: 6 * s });
    this.scene.add(this.hemisphere, this.sun, this.sun.target);
  }

  /** A direction across the vertical, from where the camera looks at first. */
  sideways() {
    const aside = Math.abs(this.up.z) > 0.7 ? new Vector3(1, -1.1, 0) : new Vector3(0.35, 0, 1);
    return aside.addScaledVector(this.up, -aside.dot(this.up)).normalize();
  }

  makeGround(weightless) {
    const s = this.size, turn = new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), this.up);
    const cell = 10 ** Math.round(Math.log10(s / 4));
    const cells = 2 * Math.ceil(4 * s / cell / 2) * 2;
    this.grid = new GridHelper(cells * cell, cells, "#888", "#888");
    this.grid.quaternion.copy(turn);
    this.grid.material.transparent = true;
    this.floor = new Mesh(new PlaneGeometry(8 * s, 8 * s), new ShadowMaterial({ opacity: 0.25 }));
    this.floor.quaternion.copy(turn).multiply(new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), new Vector3(0, 1, 0)));
    this.floor.receiveShadow = true;
    this.floor.visible = !weightless;
    this.grid.visible = !weightless;
    this.scene.add(this.grid, this.floor);
  }

  /** Put the ground at a height. */
  ground(height) {
    for (const one of [this.grid, this.floor]) one.position.copy(this.up).multiplyScalar(height - 1e-4 * this.size);
  }

  theme(name) {
    const t = THEMES[name];
    this.scene.background = new Color(t.sky);
    this.hemisphere.color.set(t.above);
    this.hemisphere.groundColor.set(t.below);
    this.sun.intensity = t.light;
    this.floor.material.opacity = t.shadow;
    const colours = this.grid.geometry.attributes.color, middle = new Color(t.grid), line = new Color(t.line);
    const lines = colours.count / 4;
    for (let k = 0; k < colours.count; k++) {
      const which = Math.floor(k / 4) === Math.floor(lines / 2) ? middle : line;
      colours.setXYZ(k, which.r, which.g, which.b);
    }
    colours.needsUpdate = true;
    this.changed();
  }

  /** Look at all the points from the usual side, from so near that every one is just seen. */
  fit(points = this.points) {
    this.points = points;
    const away = this.sideways().addScaledVector(this.up, Math.abs(this.up.z) > 0.7 ? 0.55 : 0.12).normalize();
    const across = new Vector3().crossVectors(this.up, away).normalize(), above = new Vector3().crossVectors(away, across);
    const high = SEEN * Math.tan(this.camera.fov * Math.PI / 360), wide = high * this.camera.aspect;
    // Along each direction: the planes through the eye that touch the points from both sides meet where the eye has to be.
    const sides = [[across, wide], [above, high]].map(([direction, slope]) => {
      let low = Infinity, most = -Infinity;
      for (const point of points) {
        const at = point.dot(direction), near = slope * point.dot(away);
        low = Math.min(low, at - near);
        most = Math.max(most, at + near);
      }
      return { middle: (most + low) / 2, distance: (most - low) / (2 * slope) };
    });
    const nearest = Math.max(...points.map(point => point.dot(away)));
    const middle = new Box3().setFromPoints(points).getCenter(new Vector3()).dot(away);
    const distance = Math.max(...sides.map(one => one.distance), nearest + 0.1 * this.size);
    const eye = across.clone().multiplyScalar(sides[0].middle).addScaledVector(above, sides[1].middle);
    this.controls.target.copy(eye).addScaledVector(away, middle);
    this.camera.position.copy(eye).addScaledVector(away, distance);
    this.fitted = this.following = true;
    this.controls.maxDistance = Math.max(20 * this.size, 2 * (distance - middle));
    this.controls.update();
    this.changed();
  }

  /** Of points the lowest and the highest place in the picture, -1 to 1 across and up; and how far away they are. */
  seen(points) {
    this.camera.updateMatrixWorld();
    const box = new Box3().setFromPoints(points.map(point => point.clone().project(this.camera)));
    return { box, inside: box.min.x > -EDGE && box.max.x < EDGE && box.min.y > -EDGE && box.max.y < EDGE && box.max.z < 1 };
  }

  /** Go after something that is about to leave the picture, unless it was not all in it since the view was turned. */
  follow(points) {
    const { box, inside } = this.seen(points);
    if (inside) this.following = true;
    if (inside || !this.following) return;
    const middle = new Box3().setFromPoints(points).getCenter(new Vector3()), ahead = this.camera.getWorldDirection(new Vector3());
    const depth = Math.max(middle.clone().sub(this.camera.position).dot(ahead), 0.1 * this.size);
    const back = Math.max((box.max.x - box.min.x) / 2, (box.max.y - box.min.y) / 2, 0.9) / 0.9 - 1;
    const over = (low, high) => (high - low > 2 * EDGE ? (low + high) / 2 : Math.max(high - EDGE, 0) + Math.min(low + EDGE, 0));
    const high = depth * Math.tan(this.camera.fov * Math.PI / 360);
    const right = new Vector3().setFromMatrixColumn(this.camera.matrixWorld, 0), above = new Vector3().setFromMatrixColumn(this.camera.matrixWorld, 1);
    const shift = right.multiplyScalar(over(box.min.x, box.max.x) * high * this.camera.aspect).addScaledVector(above, over(box.min.y, box.max.y) * high);
    if (!Number.isFinite(shift.lengthSq() + back)) return this.fit(points);
    this.controls.target.add(shift);
    this.camera.position.add(shift).addScaledVector(ahead, -depth * Math.min(back, 1));
    this.controls.update();
    this.changed();
  }

  /** The arrow keys turn, plus and minus come nearer and go away, while the picture has the focus. */
  key(event) {
    const turns = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const zoom = { "+": 0.9, "=": 0.9, "-": 1.1 }[event.key];
    if (event.key in turns && !event.altKey) {
      const [across, along] = turns[event.key], arm = this.camera.position.clone().sub(this.controls.target);
      arm.applyAxisAngle(this.up, 0.08 * across);
      const side = new Vector3().crossVectors(arm, this.up).normalize(), angle = arm.angleTo(this.up);
      const tilt = Math.min(Math.max(0.08 * along, angle - 3.0), angle - 0.1);
      arm.applyAxisAngle(side, tilt);
      this.camera.position.copy(this.controls.target).add(arm);
    } else if (zoom) {
      this.camera.position.sub(this.controls.target).multiplyScalar(zoom).add(this.controls.target);
    } else return;
    event.preventDefault();
    event.stopPropagation();
    this.fitted = this.following = false;
    this.controls.update();
    this.changed();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (this.fitted) this.fit();
    this.changed();
  }

  changed() {
    this.dirty = true;
  }

  draw() {
    if (!this.dirty) return false;
    this.dirty = false;
    this.renderer.render(this.scene, this.camera);
    return true;
  }

  /** Where a point of the world is on the page, in CSS pixels. */
  project(point) {
    this.camera.updateMatrixWorld();
    const seen = new Vector3(...point).project(this.camera), box = this.canvas.getBoundingClientRect();
    return [box.left + (seen.x + 1) / 2 * box.width, box.top + (1 - seen.y) / 2 * box.height];
  }
}
