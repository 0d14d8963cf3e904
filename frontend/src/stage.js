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

export class Stage {
  /** boxes: corners, lowest and highest, of what has to be seen. */
  constructor(canvas, size, boxes, up, weightless) {
    this.canvas = canvas;
    this.size = size;
    this.renderer = new WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFSoftShadowMap;
    this.scene = new Scene();
    this.up = new Vector3(...up);
    this.camera = new PerspectiveCamera(38, 1, 0.01 * size, 100 * size);
    this.camera.up.copy(this.up);
    this.room = new Box3().setFromPoints(boxes.flat().map(corner => new Vector3(...corner)));
    this.home = this.room.getCenter(new Vector3());
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.zoomToCursor = true;
    this.controls.minDistance = 0.05 * size;
    this.controls.maxDistance = 20 * size;
    this.controls.addEventListener("change", () => this.changed());
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

  /** Look at the whole robot, from so near that every corner of its room is just seen. */
  fit() {
    const away = this.sideways().addScaledVector(this.up, Math.abs(this.up.z) > 0.7 ? 0.55 : 0.12).normalize();
    const across = new Vector3().crossVectors(this.up, away).normalize(), above = new Vector3().crossVectors(away, across);
    const high = SEEN * Math.tan(this.camera.fov * Math.PI / 360), wide = high * this.camera.aspect;
    const { min, max } = this.room;
    let distance = 0.3 * this.size;
    for (const x of [min.x, max.x]) {
      for (const y of [min.y, max.y]) {
        for (const z of [min.z, max.z]) {
          const corner = new Vector3(x, y, z).sub(this.home), near = corner.dot(away);
          distance = Math.max(distance, near + Math.abs(corner.dot(across)) / wide, near + Math.abs(corner.dot(above)) / high);
        }
      }
    }
    this.controls.target.copy(this.home);
    this.camera.position.copy(this.home).addScaledVector(away, distance);
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
    this.controls.update();
    this.changed();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (!this.sized) this.fit();
    this.sized = true;
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
