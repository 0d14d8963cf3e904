"""From a graph to JavaScript: functions of straight-line arithmetic over Float64Arrays, for pages and for Node.

JavaScript engines do not optimise long functions (V8 stops at some 60 kB of bytecode, about 4,000 nodes here), so what
is longer is cut into pieces, one after the other, which hand values on through an array. All inputs are read before the
first output is written, so an output array may be the same as an input array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from recursa.errors import UntraceableError
from recursa.kernels.c_source import c_comment, c_identifier
from recursa.kernels.function import Spelled
from recursa.kernels.graph import operands_of

PIECE = 1000  # nodes of one function

_RESERVED = {
    "arguments", "await", "debugger", "eval", "false", "function", "in", "instanceof", "interface", "let", "null",
    "package", "super", "true", "typeof", "undefined", "var", "Math", "Float64Array", "Infinity", "NaN", "out",
}  # fmt: skip


class JsFunction(Spelled):
    """What becomes ``function name(inputs..., out)``, which returns ``out``; without ``out`` it makes a new array."""

    language = "JavaScript"
    functions = "Math."

    @staticmethod
    def number(value: float) -> str:
        """As JavaScript writes it."""
        return js_number(value)

    @property
    def parameters(self) -> str:
        """The names of its arguments."""
        return ", ".join([*self.sizes, "out"])

    def definition(self) -> str:
        """The function's text; where it is long, the functions that it calls before it."""
        pieces = list(self._pieces())
        tables = [f"const {name} = [{', '.join(map(js_number, own))}];" for name, own in self.constants.items()]
        if len(pieces) == 1:
            return "\n".join([*tables, f"function {self._head}\n{pieces[0]}\n  return out;\n}}", ""])
        own = [f"{self.name}_{k + 1}" for k in range(len(pieces))]
        lines = [*tables, f"const {self.name}_values = new Float64Array({len(self._slots)});"]
        lines += [
            f"function {name}({self.parameters}, s) {{\n{body}\n}}" for name, body in zip(own, pieces, strict=True)
        ]
        calls = "\n".join(f"  {name}({self.parameters}, {self.name}_values);" for name in own)
        return "\n".join([*lines, f"function {self._head}\n{calls}\n  return out;\n}}", ""])

    @property
    def _head(self) -> str:
        arguments = ", ".join([*self.sizes, f"out = new Float64Array({len(self.outputs)})"])
        return f"{self.name}({arguments}) {{"

    # ---- pieces ------------------------------------------------------------------------------------------------------

    @property
    def _order(self) -> list[int]:
        return [k for k in self.graph.reachable(self.nodes) if self.graph.nodes[k].op != "const"]

    @property
    def _slots(self) -> dict[int, int]:
        """Values that one piece hands on to others, and where."""
        order = self._order
        piece = {number: place // PIECE for place, number in enumerate(order)}
        after = 1 + max(piece.values(), default=0)
        users = [(k, piece[user]) for user in order for k in operands_of(self.graph.nodes[user])]
        users += [(k, after) for k in self.nodes]
        crossing = sorted({k for k, at in users if k in piece and piece[k] != at})
        return {number: slot for slot, number in enumerate(crossing)}

    def _pieces(self) -> Iterator[str]:
        """Bodies of functions: the values, then the outputs."""
        order = self._order
        if len(order) + len(self.outputs) <= 2 * PIECE:
            yield "\n".join([*(self._line(k) for k in order), *self._written(range(len(self.outputs)), {})])
            return
        slots = self._slots
        for start in range(0, len(order), PIECE):
            yield "\n".join(self._piece(order[start : start + PIECE], slots))
        for start in range(0, len(self.outputs), PIECE):
            yield "\n".join(self._written(range(len(self.outputs))[start : start + PIECE], slots))

    def _piece(self, numbers: Sequence[int], slots: Mapping[int, int]) -> Iterator[str]:
        own, seen = set(numbers), set[int]()
        for number in numbers:
            for k in operands_of(self.graph.nodes[number]):
                if k in slots and k not in own and k not in seen:
                    seen.add(k)
                    yield f"  const t{k} = s[{slots[k]}];"
            yield self._line(number)
            if number in slots:
                yield f"  s[{slots[number]}] = t{number};"  # of a comparison 1 or 0, which choose as true and false do

    def _written(self, places: Sequence[int], slots: Mapping[int, int]) -> Iterator[str]:
        for place in places:
            x = self.outputs[place]
            known = isinstance(x, int) and x in slots
            yield f"  out[{place}] = {f's[{slots[x]}]' if known else self.operand(x)};"  # type: ignore[index]

    def _line(self, number: int) -> str:
        return f"  const t{number} = {self.expression(self.graph.nodes[number])};"


# ---- small pieces of JavaScript --------------------------------------------------------------------------------------


def js_number(value: float) -> str:
    """A constant that reads back to the same bits.

    >>> js_number(0.1), js_number(-3.0), js_number(1e-05)
    ('0.1', '(-3)', '1e-05')
    """
    if not math.isfinite(value):
        raise UntraceableError(f"the constant {value} cannot be part of JavaScript")
    text = repr(float(value)).removesuffix(".0")
    return f"({text})" if text.startswith("-") else text


def js_identifier(name: str) -> str:
    """The name as an identifier in JavaScript, and in C.

    >>> js_identifier("KUKA LBR-iiwa 7"), js_identifier("typeof")
    ('KUKA_LBR_iiwa_7', 'typeof_')
    """
    plain = c_identifier(name)
    return f"{plain}_" if plain in _RESERVED else plain


def js_module(function: JsFunction, about: Sequence[str]) -> str:
    """An ES module that exports the function, with its documentation in front."""
    return (
        f"{c_comment(about)}\n{function.definition()}\nexport {{ {function.name} }};\nexport default {function.name};\n"
    )
