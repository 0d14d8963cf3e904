"""From a graph to C99 text: one function of straight-line ``double`` arithmetic, its header, and a test program.

The code allocates nothing, keeps no state and needs nothing but ``math.h``. All inputs are read before the first output
is written, so an output array may be the same as an input array.
"""

from __future__ import annotations

import keyword
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recursa.errors import UntraceableError
from recursa.kernels.function import Spelled, expression, operand
from recursa.kernels.graph import Node

if TYPE_CHECKING:
    from recursa.kernels.c_loops import CText

_NOT_IDENTIFIERS = {
    *keyword.kwlist, *dir(math), "j0", "j1", "jn", "y0", "y1", "yn", "main", "printf", "abs", "exit", "free",
    "asm", "auto", "bool", "case", "catch", "char", "const", "default", "delete", "do", "double", "enum", "explicit",
    "export", "extern", "float", "friend", "goto", "inline", "int", "long", "mutable", "namespace", "new", "operator",
    "private", "protected", "public", "register", "restrict", "short", "signed", "sizeof", "static", "struct", "switch",
    "template", "this", "throw", "typedef", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
}  # fmt: skip


class CFunction(Spelled):
    """What becomes ``void name(const double inputs[]..., double out[])``; constants become tables before it."""

    language = "C code"

    @staticmethod
    def number(value: float) -> str:
        """As C writes it."""
        return c_number(value)

    @property
    def prototype(self) -> str:
        """The declaration, without the semicolon."""
        return c_prototype(self.name, self.sizes, self.size)

    def definition(self) -> str:
        """The function's text: one constant per node, then the outputs."""
        nodes = self.graph.nodes
        order = self.graph.reachable(self.nodes)
        used = {nodes[k].operands[0] for k in order if nodes[k].op == "input"}
        lines = [f"    {self._declaration(k)}" for k in order if nodes[k].op != "const"]
        lines += [f"    (void){name};" for name in self.sizes if name not in used]
        lines += [f"    out[{place}] = {self.operand(x)};" for place, x in enumerate(self.outputs)]
        return "\n".join([*c_constants(self.constants), self.prototype, "{", *lines, "}", ""])

    def _declaration(self, number: int) -> str:
        node = self.graph.nodes[number]
        return f"const {'int' if node.op == 'lt' else 'double'} t{number} = {self.expression(node)};"


def c_prototype(name: str, sizes: Mapping[str, int], result: int) -> str:
    """The declaration of a function of inputs, without the semicolon."""
    arguments = [f"const double {_array(argument, size)}" for argument, size in sizes.items()]
    arguments.append(f"double {_array('out', result)}")
    return f"void {name}({', '.join(arguments)})"


def c_constants(values: Mapping[str, Sequence[float]]) -> list[str]:
    """Inputs that are always the same, as tables."""
    return [line for name, own in values.items() for line in c_table("double", name, [c_number(x) for x in own])]


def c_table(kind: str, name: str, rows: Sequence[Any]) -> list[str]:
    """A constant table of one or two dimensions, of numbers or their texts."""
    nested = bool(rows) and isinstance(rows[0], list)
    shape = f"[{len(rows)}][{max(1, len(rows[0]))}]" if nested else f"[{max(1, len(rows))}]"
    texts = ["{" + ", ".join(map(str, row)) + "}" for row in rows] if nested else [str(x) for x in rows] or ["0"]
    lines = textwrap.wrap(", ".join(texts), 110, break_long_words=False, break_on_hyphens=False)
    return [f"static const {kind} {name}{shape} = {{", *(f"    {line}" for line in lines), "};", ""]


def c_value(nodes: Sequence[Node], number: int, *, spelled: bool = False) -> str:
    """A node by its name, a constant by its value; with ``spelled`` the expression of the node itself."""
    return expression(nodes, nodes[number], CFunction) if spelled else operand(nodes, number, c_number)


def _array(name: str, size: int) -> str:
    return f"{name}[{size}]" if size else f"*{name}"  # C has no arrays without entries


# ---- small pieces of C -----------------------------------------------------------------------------------------------


def c_number(value: float) -> str:
    """A constant, decimal, that reads back to the same bits.

    >>> c_number(0.1), c_number(-3.0)
    ('0.1', '(-3.0)')
    """
    if not math.isfinite(value):
        raise UntraceableError(f"the constant {value} cannot be part of C code")
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text


def c_identifier(name: str) -> str:
    """The name as a C (and C++) identifier: other characters become underscores.

    >>> c_identifier("KUKA LBR-iiwa 7"), c_identifier("2link"), c_identifier("double")
    ('KUKA_LBR_iiwa_7', 'robot_2link', 'double_')
    """
    plain = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_")
    if not plain or plain[0].isdigit():
        plain = f"robot_{plain}".rstrip("_")
    return f"{plain}_" if plain in _NOT_IDENTIFIERS else plain


def c_comment(lines: Iterable[str]) -> str:
    """A block comment with long lines folded; what could end it, or is not plain ASCII, is replaced."""
    folded = [part for line in lines for part in _folded(_harmless(line))]
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in folded), " */", ""])


def _folded(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, 110, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]


def _harmless(text: str) -> str:
    plain = re.sub(r"[^ -~]", "_", text)
    return plain.replace("*/", "* /").replace("/*", "/ *").replace("??", "?_")


# ---- files -----------------------------------------------------------------------------------------------------------


def c_header(function: CText, about: Iterable[str]) -> str:
    """The header: the documentation and the declaration."""
    guard = f"RECURSA_{c_identifier(function.name).upper()}_H"
    guarded = [
        f"#ifndef {guard}", f"#define {guard}", "",
        "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
        f"{function.prototype};", "",
        "#ifdef __cplusplus", "}", "#endif", "",
        "#endif", "",
    ]  # fmt: skip
    return c_comment(about) + "\n".join(guarded)


def c_unit(function: CText, title: str, stem: str) -> str:
    """The source ``stem.c``."""
    return f'{c_comment([title])}\n#include "{stem}.h"\n\n#include <math.h>\n\n{function.definition()}'


def c_test(
    function: CText, title: str, stem: str, states: Mapping[str, Any], expected: Sequence[Any], tolerance: float
) -> str:
    """A program ``stem_test.c`` that calls the function at some states and compares with results known beforehand."""
    tables = [_table(name, states[name]) for name in function.sizes]
    calls = ", ".join([*(f"{name}[k]" for name in function.sizes), "out"])
    return _TEST.format(
        comment=c_comment([title, "", f"cc -std=c99 -O2 {stem}.c {stem}_test.c -lm && ./a.out"]),
        stem=stem,
        states=len(expected),
        size=function.size,
        tolerance=c_number(tolerance),
        tables="\n".join([*tables, _table("expected", expected)]),
        call=f"{function.name}({calls})",
    )


def _table(name: str, rows: Sequence[Sequence[float]]) -> str:
    width = max(1, len(rows[0]))
    entries = [", ".join(c_number(x) for x in row) or "0.0" for row in rows]
    lines = ",\n".join(f"    {{{row}}}" for row in entries)
    return f"static const double {name}[STATES][{width}] = {{\n{lines}\n}};\n"


_TEST = """{comment}
#include <math.h>
#include <stdio.h>

#include "{stem}.h"

#define STATES {states}
#define SIZE {size}
#define TOLERANCE {tolerance}

{tables}
/* The largest difference, relative to the largest number expected; nan where a result is nan. */
static double gap(const double *found, const double *wanted)
{{
    double worst = 0.0, scale = 0.0;
    int i;
    for (i = 0; i < SIZE; ++i) {{
        const double difference = fabs(found[i] - wanted[i]);
        if (difference > worst || difference != difference) worst = difference;
        if (fabs(wanted[i]) > scale) scale = fabs(wanted[i]);
    }}
    return scale > 0.0 ? worst / scale : worst;
}}

int main(void)
{{
    double out[SIZE];
    double worst = 0.0;
    int k;
    for (k = 0; k < STATES; ++k) {{
        double error;
        {call};
        error = gap(out, expected[k]);
        if (error > worst || error != error) worst = error;
    }}
    printf("max error %.3g (tolerance %.3g)\\n", worst, (double)TOLERANCE);
    return worst <= TOLERANCE ? 0 : 1;
}}
"""
