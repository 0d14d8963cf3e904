// HTML elements. Text is only ever text: nothing that a robot file says becomes markup.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export const button = (text, onclick, attributes = {}) => element("button", { type: "button", text, onclick, ...attributes });

/** A name that breaks only after the parts of it. */
export function named(text) {
  const made = element("span", { class: "name" });
  text.split(/(?<=[_.\-/:])/).forEach((part, k) => made.append(...(k ? [element("wbr")] : []), part));
  return made;
}

/** A part of the panel that folds. */
export function section(title, open, ...children) {
  return element("details", { open }, element("summary", { text: title }), ...children);
}

let count = 0;

/** A slider with its name and its value; `told` turns a number into words. */
export function slider(name, { min, max, step, value, told = x => x.toFixed(2), oninput }) {
  const id = `s${count++}`, said = element("output", { for: id });
  const input = element("input", { type: "range", id, min, max, step });
  const row = element("div", { class: "slider" }, element("label", { for: id }, named(name)), input, said);
  const show = x => {
    input.value = x;
    said.textContent = told(x);
  };
  input.addEventListener("input", () => {
    said.textContent = told(+input.value);
    oninput(+input.value);
  });
  show(value);
  return { row, show, input };
}

export function checkbox(text, checked, onchange) {
  const box = element("input", { type: "checkbox", checked });
  box.addEventListener("change", () => onchange(box.checked));
  return element("label", { class: "check" }, box, named(text));
}

/** A canvas for drawing in CSS pixels, sharp on every screen; null while it has no room. */
export function prepared(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight, ratio = window.devicePixelRatio || 1;
  if (!width || !height) return null;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

export const colourOf = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function short(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e4 || size < 1e-3 ? x.toExponential(1) : String(+x.toPrecision(3));
}
