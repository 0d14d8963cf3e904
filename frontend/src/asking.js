// Where a formula is typed: sent to the program that serves the page, which says what becomes of it, or what is wrong.
import { button, element, section } from "./elements.js";

const CODES = [["c", "C"], ["js", "JavaScript"], ["llvm", "LLVM"]];
const LONGEST = 2000; // characters, as the program takes them

export class FormulaEntry {
  /** ask: a function from questions to promises of answers; found: what is done with a formula that came back. */
  constructor(robot, ask, letters, found) {
    Object.assign(this, { ask, found });
    const plain = { type: "text", maxlength: LONGEST, spellcheck: "false", autocapitalize: "off", autocomplete: "off" };
    this.typed = element("input", { ...plain, "aria-label": "formula", placeholder: "inv(mass) (T - C)" });
    this.vectors = element("input", { ...plain, "aria-label": "free vectors", placeholder: "x=joint, f=tip" });
    this.code = element("select", { "aria-label": "code" }, ...CODES.map(([value, text]) => element("option", { value, text })));
    this.go = button("Explain", null, { type: "submit", class: "primary" });
    this.error = element("pre", { class: "error", role: "alert" });
    const form = element("form", {}, element("div", { class: "choice" }, this.typed, this.go), this.error);
    form.addEventListener("submit", event => {
      event.preventDefault();
      this.send();
    });
    const link = robot.bodies.at(-1)?.name;
    const examples = ["inv(mass) (T - C)", "H phi M phi* H*", "0.5 V* M V", ...(link ? [`J(${link}) inv(mass) J(${link})*`] : [])];
    this.node = element(
      "div", { class: "asking" }, form,
      element("p", { class: "hint examples" }, "For example ", ...examples.map(text => button(text, () => this.send(text)))),
      section(
        "Letters, free vectors, code", false,
        element("label", { class: "choice" }, element("span", { text: "Free vectors" }), this.vectors),
        element("label", { class: "choice" }, element("span", { text: "Code" }), this.code),
        element("dl", { class: "letters" }, ...letters.flatMap(([code, text, meaning]) => [
          element("dt", {}, button(text === code ? text : `${text} ${code}`, () => this.insert(code), { title: `type ${code}` })),
          element("dd", { text: meaning }),
        ])),
      ),
    );
  }

  /** A letter where the caret is. */
  insert(text) {
    const { typed } = this, from = typed.selectionStart, to = typed.selectionEnd;
    const before = typed.value.slice(0, from), gap = before && !/[\s(]$/.test(before) ? " " : "";
    typed.setRangeText(`${gap}${text} `, from, to, "end");
    typed.focus();
  }

  async send(text = this.typed.value) {
    this.typed.value = text;
    this.error.textContent = "";
    this.go.disabled = true;
    this.go.textContent = "…";
    const answer = await this.ask({ formula: text, vectors: this.vectors.value, code: this.code.value });
    this.go.disabled = false;
    this.go.textContent = "Explain";
    if (answer.error !== undefined) this.error.textContent = answer.error;
    else this.found(answer.formula);
  }
}
