"""Expressions as text, as the papers print them, and as LaTeX."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from recursa.operators.arithmetic import coefficient, scaled, total, transpose
from recursa.operators.expression import (
    Blocks,
    Constant,
    Diagonal,
    Expression,
    Functional,
    Identity,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    Vector,
    Zero,
)
from recursa.operators.shapes import ONE


@dataclass(frozen=True)
class Style:
    """How letters, transposes and inverses are written."""

    leaf: Callable[[Leaf], str]
    star: str
    inverted: Callable[[str, bool], str]  # of the text of the operand, and whether it is a single letter
    brackets: tuple[str, str] = ("(", ")")


def _typed(leaf: Leaf) -> str:
    return leaf.kind.value.code + _of_what(leaf, ASCII)


def _printed(leaf: Leaf) -> str:
    return leaf.kind.value.text + _of_what(leaf, UNICODE)


def _of_what(leaf: Leaf, style: Style) -> str:
    """The links of a pick-off, the freedom along which a derivative is, the matrix that a letter is of."""
    if leaf.filter is not None:
        return f"{{{_matrix(leaf, style)}}}"
    if leaf.along is not None:
        return f"{{{_freedom(leaf)}}}"
    return f"({', '.join(leaf.links)})" if leaf.links else ""


def _matrix(leaf: Leaf, style: Style) -> str:
    """The matrix of a letter's filter, with the mass matrix by its name."""
    from recursa.operators.leaves import Operators  # which stands on the nodes, as printing does

    assert leaf.filter is not None
    own, of = Operators(leaf.robot), Operators(leaf.robot, filter=leaf.filter)
    rest = total((of.A, scaled(-1.0, own.A))) if own.has_armature else of.A
    if of.M != own.M or (own.has_armature and len(_terms(rest)) >= len(_terms(of.A))):
        return _written(of.mass, style)
    return "mass" if isinstance(rest, Zero) else _sum((Vector("mass", ONE), *_terms(rest)), style)


def _terms(expression: Expression) -> tuple[Expression, ...]:
    return expression.terms if isinstance(expression, Sum) else () if isinstance(expression, Zero) else (expression,)


def _freedom(leaf: Leaf) -> str:
    """The joint, and which of its freedoms if there are several."""
    assert leaf.along is not None
    name, number = leaf.along
    several = any(joint.name == name and joint.kind.nv > 1 for joint in leaf.robot.joints)
    return f"{name},{number}" if several else name


def _set(leaf: Leaf) -> str:
    latex = leaf.kind.value.latex
    if leaf.filter is not None:
        return rf"{{{latex}}}_{{{_matrix(leaf, LATEX)}}}"
    if not leaf.links and leaf.along is None:
        return latex
    name = ", ".join(leaf.links) if leaf.along is None else _freedom(leaf)
    name = name.replace("\\", r"\backslash ").replace("_", r"\_")
    return rf"{{{latex}}}_{{\mathrm{{{name}}}}}" if "_" in latex else rf"{latex}_{{\mathrm{{{name}}}}}"


def _superscript(mark: str) -> Callable[[str, bool], str]:
    return lambda text, single: f"{text}{mark}" if single else f"({text}){mark}"


ASCII = Style(_typed, "*", lambda text, single: f"inv({text})")
UNICODE = Style(_printed, "*", _superscript("⁻¹"))
LATEX = Style(
    _set,
    "^{*}",
    lambda text, single: f"{text}^{{-1}}" if single else rf"\left({text}\right)^{{-1}}",
    (r"\left(", r"\right)"),
)


def to_text(expression: Expression, *, ascii: bool = False) -> str:
    """As the papers print it, or as it is typed.

    >>> import recursa as rc
    >>> o = rc.robots.planar(2).operators
    >>> to_text((o.I + o.H @ o.phi @ o.K) @ o.D @ (o.I + o.H @ o.phi @ o.K).T)
    '(I + H φ K) D (I + H φ K)*'
    >>> to_text((o.I - o.H @ o.psi @ o.K).T @ o.D.inverse(), ascii=True)
    '(I - H psi K)* inv(D)'
    """
    return _written(expression, ASCII if ascii else UNICODE)


def to_latex(expression: Expression) -> str:
    r"""As LaTeX.

    >>> import recursa as rc
    >>> o = rc.robots.planar(2).operators
    >>> print(to_latex(o.H @ o.phi @ o.M @ o.phi.T @ o.H.T))
    H \phi M \phi^{*} H^{*}
    """
    return _written(expression, LATEX)


def printable(expression: Expression) -> str:
    """As text that standard output can show: Greek letters where its encoding has them, else as typed."""
    text = to_text(expression)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return to_text(expression, ascii=True)
    return text


_FUNCTIONALS = {"trace": r"\operatorname{tr}", "logdet": r"\log\det"}


def _written(expression: Expression, style: Style) -> str:
    match expression:
        case Leaf():
            return style.leaf(expression)
        case Vector(name=name):
            return name
        case Constant(size=size):
            return f"[{' x '.join(map(str, size))} numbers]"
        case Blocks(blocks=blocks):
            return f"[{len(blocks)} blocks]"
        case Diagonal(of=inner):
            return (
                rf"\mathrm{{diag}}({_written(inner, style)})" if style is LATEX else f"diag({_written(inner, style)})"
            )
        case Functional(name=name, of=inner):
            return f"{_FUNCTIONALS[name] if style is LATEX else name}({_written(inner, style)})"
        case Identity():
            return "I"
        case Zero():
            return "0"
        case Transpose(of=inner):
            return _written(inner, style) + style.star
        case Inverse(of=inner):
            single = isinstance(inner, Leaf) or (isinstance(inner, Transpose) and style is not LATEX)
            return style.inverted(_written(inner, style), single)
        case Scaled(factor=factor, of=inner):
            sign = "-" if factor < 0.0 else ""
            return sign + _multiple(abs(factor), inner, style)
        case Product(factors=factors):
            return " ".join(_bracketed(factor, style) for factor in factors)
        case Sum() if _starred(expression):
            return _bracketed(expression, style)
        case Sum(terms=terms):
            return _sum(terms, style)
    raise TypeError(f"{type(expression).__name__} is not a node")


def _sum(terms: tuple[Expression, ...], style: Style) -> str:
    text = ""
    first = next((k for k, term in enumerate(terms) if coefficient(term)[0] > 0.0), 0)  # no minus in front
    for term in (terms[first], *terms[:first], *terms[first + 1 :]):
        number, inner = coefficient(term)
        sign = (" - " if number < 0.0 else " + ") if text else ("-" if number < 0.0 else "")
        text += sign + _multiple(abs(number), inner, style)
    return text


def _multiple(number: float, expression: Expression, style: Style) -> str:
    text = _bracketed(expression, style)
    return text if number == 1.0 else f"{number!r}".removesuffix(".0") + f" {text}"


def _bracketed(expression: Expression, style: Style) -> str:
    """As a factor: sums in brackets, and with one star behind them where that needs fewer stars."""
    left, right = style.brackets
    if isinstance(expression, Sum):
        if _starred(expression):
            inner = transpose(expression)
            assert isinstance(inner, Sum)
            return left + _sum(inner.terms, style) + right + style.star
        return left + _sum(expression.terms, style) + right
    return _written(expression, style)


def _starred(expression: Sum) -> bool:
    return _stars(transpose(expression)) + 1 < _stars(expression)


def _stars(expression: Expression) -> int:
    match expression:
        case Transpose():
            return 1
        case Inverse(of=inner) | Scaled(of=inner):
            return _stars(inner)
        case Product(factors=parts) | Sum(terms=parts):
            return sum(map(_stars, parts))
    return 0
