// A recorded motion shown again: play, step, speed, loop, the slider of time.
import { button, element } from "./elements.js";

export class Playback {
  constructor(motions, show) {
    this.motions = motions;
    this.show = show;
    this.start = Math.min(...motions.map(m => m.start));
    this.end = Math.max(...motions.map(m => m.end));
    this.t = this.start;
    this.playing = false;
    this.speed = 1;
    this.loop = true;
    this.play = button("▶", () => this.toggle(), { class: "primary", title: "play or pause (space)", "aria-label": "play" });
    this.slider = element("input", { type: "range", min: this.start, max: this.end, step: "any", "aria-label": "time" });
    this.slider.addEventListener("input", () => this.seek(+this.slider.value, true));
    this.clock = element("output");
    const speeds = element("select", { "aria-label": "speed", title: "speed" });
    for (const x of [0.1, 0.25, 0.5, 1, 2, 5]) speeds.append(element("option", { value: x, text: `${x}×`, selected: x === 1 }));
    speeds.addEventListener("change", () => (this.speed = +speeds.value));
    this.looped = button("↻", () => this.setLoop(!this.loop), { title: "from the beginning again", "aria-pressed": "true" });
    this.node = element(
      "div", { class: "transport" },
      button("«", () => this.seek(this.start, true), { title: "to the beginning", "aria-label": "to the beginning" }),
      button("‹", () => this.step(-1), { title: "a step back (,)", "aria-label": "a step back" }),
      this.play,
      button("›", () => this.step(1), { title: "a step on (.)", "aria-label": "a step on" }),
      this.slider, this.clock, speeds, this.looped,
    );
    this.seek(this.start);
  }

  setLoop(on) {
    this.loop = on;
    this.looped.setAttribute("aria-pressed", on);
  }

  toggle(on = !this.playing) {
    this.playing = on;
    this.play.textContent = on ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", on ? "pause" : "play");
    if (on && this.t >= this.end) this.t = this.start;
  }

  step(direction) {
    this.toggle(false);
    this.seek(this.t + direction * (this.end - this.start) / 200);
  }

  seek(t, pause = false) {
    if (pause) this.toggle(false);
    this.t = Math.min(Math.max(t, this.start), this.end);
    this.slider.value = this.t;
    this.tell(this.t);
    this.show(this.t);
  }

  /** The one clock of the page: the time of the motion, or of what is simulated from there. */
  tell(t) {
    this.clock.textContent = `${t.toFixed(3)} s`;
  }

  /** So many seconds later on the clock on the wall. */
  advance(seconds) {
    if (!this.playing) return;
    let t = this.t + seconds * this.speed;
    if (t > this.end) {
      if (this.loop) t = this.start + (t - this.end) % Math.max(this.end - this.start, 1e-9);
      else this.toggle(false);
    }
    this.seek(t);
  }
}
