// Pulling a link by a spring: take it with the mouse or a finger, and it follows as its weight and its joints allow.
import { BufferGeometry, Line, LineBasicMaterial, Mesh, MeshBasicMaterial, Plane, Raycaster, SphereGeometry, Vector2, Vector3 } from "three";

export class Pull {
  constructor(stage, figure, mechanics, begun) {
    Object.assign(this, { stage, figure, mechanics, begun });
    this.ray = new Raycaster();
    this.plane = new Plane();
    const paint = { color: "#a855f7", depthTest: false };
    this.line = new Line(new BufferGeometry().setFromPoints([new Vector3(), new Vector3()]), new LineBasicMaterial(paint));
    this.knob = new Mesh(new SphereGeometry(0.012 * figure.robot.size, 20, 12), new MeshBasicMaterial(paint));
    for (const one of [this.line, this.knob]) {
      one.visible = false;
      one.frustumCulled = false;
      one.renderOrder = 5;
      stage.scene.add(one);
    }
    // before the camera's own listeners: what hits the robot does not turn the view
    const canvas = stage.canvas, early = { capture: true };
    canvas.parentElement.addEventListener("pointerdown", event => this.down(event), early);
    window.addEventListener("pointermove", event => this.move(event), early);
    for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, () => this.up(), early);
  }

  aim(event) {
    const box = this.stage.canvas.getBoundingClientRect();
    const at = new Vector2((event.clientX - box.left) / box.width * 2 - 1, 1 - (event.clientY - box.top) / box.height * 2);
    this.ray.setFromCamera(at, this.stage.camera);
  }

  down(event) {
    if (event.target !== this.stage.canvas || event.button !== 0 || event.shiftKey || !this.mechanics.able) return;
    this.aim(event);
    const hit = this.ray.intersectObjects(this.figure.bodies, true)[0];
    if (!hit) return;
    let body = hit.object;
    while (body.userData.body === undefined) body = body.parent;
    this.begin(body.userData.body, hit.point);
    event.stopPropagation();
    event.preventDefault();
  }

  begin(body, point) {
    const mass = this.figure.robot.bodies.reduce((sum, one) => sum + one.mass, 0) || 1;
    const stiffness = mass * (2 * Math.PI * 1.4) ** 2; // as if all mass hung on it, 1.4 swings a second
    const inverse = this.figure.bodies[body].matrix.clone().invert();
    this.stage.controls.enabled = false;
    this.target = point.clone();
    this.plane.setFromNormalAndCoplanarPoint(this.stage.camera.getWorldDirection(new Vector3()), point);
    this.spring = {
      body, point: point.clone().applyMatrix4(inverse).toArray(), target: point.toArray(), stiffness,
      damping: 0.5 * Math.sqrt(stiffness * mass),
    };
    this.mechanics.pull(this.spring);
    this.begun();
  }

  move(event) {
    if (!this.spring) return;
    this.aim(event);
    const at = this.ray.ray.intersectPlane(this.plane, new Vector3());
    if (at) this.aimAt(at);
  }

  aimAt(point) {
    this.target = point;
    this.spring.target = point.toArray();
  }

  up() {
    if (!this.spring) return;
    this.spring = null;
    this.mechanics.pull(null);
    this.stage.controls.enabled = true;
    this.stage.changed();
  }

  update() {
    this.line.visible = this.knob.visible = Boolean(this.spring);
    if (!this.spring) return;
    const at = this.figure.world(this.spring.body, this.spring.point);
    this.line.geometry.setFromPoints([at, this.target]);
    this.knob.position.copy(this.target);
  }
}
