"""The papers' notation as text: ``inv(H phi M phi* H*) (T - C)``.

::

    sum      [-] product { (+ | -) product }
    product  factor { [@ | · | \\cdot] factor | / number }        factors stand side by side
    factor   atom { * | ' | ^* | ^T | ^-1 | ⁻¹ | ^2 | ^(1/2) }      transpose, inverse and powers stand behind
    atom     number | \\frac{number}{number} | name | name(link, ...) | name{joint} | name{matrix}
             | inv(sum) | diag(sum) | (sum) | [sum] | d/dt(sum) | D/Dt(sum) | d/d{joint}(sum)

``d/dt`` is the time derivative in body axes, ``D/Dt`` that in world axes, ``d/d{joint}`` the one along unit velocity of
a joint; ``{joint,1}`` is its second freedom. A number in a sum of operators is that multiple of the identity:
``1 - H psi K``. Behind a number ``*`` multiplies. A power is a whole number; ``D^(1/2)`` and ``D^(-1/2)`` are W and
its inverse. Letters may be typed in Greek or as LaTeX has them: ``φ``, ``\\phi``; a word that means nothing is read
letter by letter if each has a meaning, as papers print it: ``HψK``. Fonts say nothing, ``\\mathbf{H}`` is H, but that
``\\mathcal{M}`` is the mass matrix. ``psi{mass + I}`` is psi of another matrix than the mass matrix.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from recursa.errors import ModelError, NotationError, ShapeError, StateError, UnknownNameError, marked, unknown_name
from recursa.model.model import Model
from recursa.operators.arithmetic import coefficient, diagonal, functional, inverse, product, scaled, total, transpose
from recursa.operators.derivative import ACCELERATION, sensitivity, time_derivative
from recursa.operators.expression import (
    ANY,
    Expression,
    Filter,
    Freedom,
    FunctionName,
    Identity,
    Leaf,
    Sum,
    Vector,
    Zero,
    known_shape,
    parts_of,
)
from recursa.operators.filters import filter_of, is_the_mass_matrix
from recursa.operators.leaves import Operators, freedom_of, without_constraints
from recursa.operators.notation import (
    NOTATIONS,
    NUMBERED,
    READINGS,
    SPELLINGS,
    TAKEN_BY,
    BiasUse,
    Notation,
    ambiguity,
    bias_use,
)
from recursa.operators.symbols import (
    ELSEWHERE,
    FORCE_OF_MOTION,
    NEED_CONSTRAINTS,
    WITH_BRACKETS,
    Kind,
)
from recursa.operators.tokens import WITH_LINK, Token, number_in, tokens
from recursa.operators.vocabulary import Spaces, declared_vectors, names_of

_CAPITALS = ("Phi", "Φ", "Psi", "Ψ")
_DEEPEST = 100  # brackets within brackets
_HIGHEST, _LARGEST = 20, 1000  # powers, and letters in one that is written out


Value = Expression | float
"""While reading, a number stays a number until it meets an operator."""


class HasModel(Protocol):
    """A robot, for what is needed here."""

    @property
    def model(self) -> Model:
        """Its data."""
        ...


def parse(text: str, robot: HasModel, *, vectors: Spaces | None = None, notation: Notation | None = None) -> Expression:
    """Read an operator expression in the papers' notation.

    Names are those of ``robot.operators`` (Greek letters too), ``mass``, ``J(link)`` for ``B(link)* phi* H*``, ``Phi``
    and ``Psi`` for ``phi E_phi`` and ``psi E_phi``, and T, a free joint vector. ``vectors`` declares other free vectors
    and their spaces; a declared vector takes precedence over a letter of that name. A mistake is a
    :class:`recursa.errors.NotationError` that shows the place.

    The sources use some letters, nu and epsilon among them, for different things. ``notation`` says whose they are:
    "rodriguez" (Rodriguez & Kreutz-Delgado, for f(0) = 0) or "jain" (Jain & Rodriguez). Without it such a letter is an
    error that lists its meanings.

    >>> import recursa as rc
    >>> arm = rc.robots.planar(3)
    >>> print(parse("inv(H phi M phi* H*) (T - C)", arm))
    (H φ M φ* H*)⁻¹ (T - C)
    >>> parse("J(tip) x", arm, vectors={"x": "joint"})
    <tip 6: B(tip)* φ* H* x>
    >>> print(parse("d/dt(J(tip)) v", arm))
    B(tip)* φ̇* H* v
    >>> print(parse("D nu", arm, notation="rodriguez"))
    D D⁻¹ (I - H ψ K) (T - C)
    """
    if not isinstance(text, str):
        raise NotationError(f"expected text, not {type(text).__name__}")
    if notation not in (None, *NOTATIONS):
        raise unknown_name("notation", str(notation), NOTATIONS)
    return _Parser(text, Operators(robot.model), vectors or {}, notation).whole()


def read(text: str, o: Operators, letters: Mapping[str, Expression]) -> Expression:
    """A formula in the letters of some operators, and in further ``letters`` or other meanings of theirs."""
    parser = _Parser(text, o, {})
    parser.names |= letters
    return parser.whole()


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(
        self, text: str, o: Operators, vectors: Spaces, notation: Notation | None = None, bias: BiasUse | None = None
    ) -> None:
        self.text, self.o, self.tokens, self.at, self.depth = text, o, tokens(text, vectors), 0, 0
        self.vectors, self.notation = vectors, notation
        self.bias, self.undecided = bias, False  # how a enters, once known; whether a letter depends on that
        self.names: dict[str, Expression] = {**names_of(o), "T": o.vector("T")}
        self.declared = declared_vectors(o, vectors)

    def whole(self) -> Expression:
        result = self.sum()
        if self.now.kind != "end":
            raise self.error("expected an operator, '+', '-' or the end")
        found = _as_operator(result)
        if self.undecided:  # so far placeholders stand for such letters
            return _Parser(self.text, self.o, self.vectors, self.notation, bias_use(found)).whole()
        return found

    # ---- tokens ----------------------------------------------------------------------------------------------------

    @property
    def now(self) -> Token:
        return self.tokens[self.at]

    def took(self, *texts: str) -> bool:
        """Whether the next token is one of these marks; it is then passed."""
        if self.now.kind != "mark" or self.now.text not in texts:
            return False
        self.at += 1
        return True

    def error(self, message: str) -> NotationError:
        ends = f"but the text ends after {self.tokens[self.at - 1].text!r}" if self.at else "but the text is empty"
        what = ends if self.now.kind == "end" else f"not {self.now.text!r}"
        return NotationError(f"{message}, {what}", self.text, self.now.start)

    # ---- grammar ---------------------------------------------------------------------------------------------------

    def sum(self) -> Value:
        result = _times(self.sign() or 1.0, self.product())
        while True:
            place, sign = self.now.start, self.sign()
            if sign is None:
                return result
            result = self.checked(place, _plus, result, _times(sign, self.product()))
            self.no_dual_inertia(place, result)

    def no_dual_inertia(self, place: int, x: Value) -> None:
        """``P + S`` is the operational inertia of the paper on free flyers, whose S is another one than ours."""
        letters = [coefficient(term)[1] for term in x.terms] if isinstance(x, Sum) else []
        kinds = [letter.kind for letter in letters if isinstance(letter, Leaf)]
        if Kind.S in kinds and any(kind.value.sides == FORCE_OF_MOTION for kind in kinds):
            raise NotationError(ambiguity("S", self.notation), self.text, place)

    def sign(self) -> float | None:
        """1 or -1, if a sign is next; it is then passed."""
        return 1.0 if self.took("+") else -1.0 if self.took("-") else None

    def product(self) -> Value:
        result = self.factor()
        while True:
            if self.took("/"):
                result = self.divided(result)
                continue
            after_at = self.took("@")
            if not after_at and not self.starts_factor():
                return result
            place = self.now.start
            result = self.checked(place, _times, result, self.factor())

    def divided(self, x: Value) -> Value:
        """By a number; operators have inverses instead."""
        place = self.now.start
        by = self.factor()
        if not isinstance(by, float):
            raise NotationError("only numbers divide: write inv(...) in front of the other factor", self.text, place)
        if by == 0.0:
            raise NotationError("0 does not divide anything", self.text, place)
        return _times(1.0 / by, x)

    def starts_factor(self) -> bool:
        return self.now.kind in ("number", "name", "derivative") or (self.now.kind == "mark" and self.now.text in "([")

    def factor(self) -> Value:
        place = self.now.start
        result = self.atom()
        while self.now.kind in ("star", "inverse", "power"):
            kind, text = self.now.kind, self.now.text
            self.at += 1
            if kind == "power":
                result = self.power(place, result, text)
            if kind == "star" and not isinstance(result, float):
                self.no_sign_of_products(self.tokens[self.at - 1])
                result = transpose(result)
            elif kind == "inverse":
                result = self.inverse(place, result)
        return result

    def no_sign_of_products(self, star: Token) -> None:
        """``H * phi`` and ``phi** H`` are mistakes: as transposes they would fit, and be another matrix."""
        apart = self.text[: star.start][-1:].isspace() and self.starts_factor()
        doubled = self.now.kind == "star" and self.now.text == "*"
        if star.text == "*" and (apart or doubled):
            message = "* transposes what stands before it; products are written side by side"
            raise NotationError(message, self.text, star.start)

    def power(self, place: int, x: Value, text: str) -> Value:
        """``x^2``, ``x^-2``, ``D^(1/2)``; the power as text, in any spelling."""
        digits = re.sub(r"[\s^(){}]", "", unicodedata.normalize("NFKC", text).replace("⁄", "/"))
        readable = len(digits) < 10 and not re.search(r"/0+$", digits)
        number = Fraction(digits) if readable else Fraction(_HIGHEST + 1)
        if abs(number) == Fraction(1, 2):
            root = self.root(place, x)
            return root if number > 0 else inverse(root)
        if number.denominator > 1 or abs(number) > _HIGHEST:
            raise NotationError(f"expected a power from -{_HIGHEST} to {_HIGHEST}, or D^(1/2)", self.text, place)
        base, times = (x if number >= 0 else self.inverse(place, x)), abs(int(number))
        if isinstance(base, float):
            return math.prod([base] * times, start=1.0)
        if _size(_as_operator(base), {}) * times > _LARGEST:
            raise NotationError(f"a power of more than {_LARGEST} letters", self.text, place)
        return self.checked(place, lambda a, _: _power(_as_operator(a), times), base, base)

    def root(self, place: int, x: Value) -> Expression:
        """``D^(1/2)`` and ``M^(1/2)``."""
        roots = {Kind.D: Kind.W, Kind.M: Kind.M_ROOT}
        if isinstance(x, Leaf) and x.kind in roots:
            return replace(x, kind=roots[x.kind])
        factor = ", the mass matrix has the factor m, mass = m m*" if x == self.o.mass else ""
        raise NotationError(
            f"only D and M have roots in formulas, D^(1/2) = W and M^(1/2) = W_M{factor}", self.text, place
        )

    def inverse(self, place: int, x: Value) -> Value:
        if (isinstance(x, float) and x == 0.0) or isinstance(x, Zero):
            raise NotationError("0 has no inverse: it is singular", self.text, place)
        return 1.0 / x if isinstance(x, float) else self.checked(place, lambda a, _: inverse(_as_operator(a)), x, x)

    def atom(self) -> Value:
        token = self.now
        if token.kind == "number":
            self.at += 1
            return self.number(token)
        if self.took("(", "["):
            return self.bracketed(")" if token.text == "(" else "]")
        if token.kind == "name":
            self.at += 1
            return self.along(token, self.named(token))
        if token.kind == "derivative":
            self.at += 1
            return self.derivative(token)
        raise self.error("expected a name, a number or '('")

    def number(self, token: Token) -> float:
        try:
            found = number_in(token)
        except ValueError:
            raise NotationError(f"expected a number, not {token.text!r}", self.text, token.start) from None
        if math.isinf(found):
            raise NotationError("0 does not divide anything", self.text, token.start)
        return found

    def bracketed(self, closing: str) -> Value:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise NotationError(f"more than {_DEEPEST} brackets within each other", self.text, self.now.start)
        result = self.sum()
        if not self.took(closing):
            raise self.error(f"expected '{closing}'")
        self.depth -= 1
        return result

    def named(self, token: Token) -> Value:
        name = token.text
        if name in self.declared:
            return self.declared[name]
        if name == "inv":
            return self.inverse(token.start, self.argument(name))
        if name in ("trace", "tr", "logdet"):
            kind: FunctionName = "logdet" if name == "logdet" else "trace"
            of = self.argument(name)
            return self.checked(token.start, lambda a, _: functional(kind, _as_operator(a)), of, of)
        if name == "sqrt":
            return self.root(token.start, self.argument(name))
        if name == "diag":
            return self.checked(token.start, lambda a, _: diagonal(_as_operator(a)), x := self.argument(name), x)
        if name in WITH_LINK:
            pick_off = self.pick_off(token)
            return pick_off if name == "B" else product((transpose(pick_off), self.o.phi.T, self.o.H.T))
        if name in NEED_CONSTRAINTS and not self.o.model.ncon:
            raise ModelError(str(without_constraints(self.o.model, name)) + marked(self.text, token.start))
        if name in NUMBERED:
            return _Parser(NUMBERED[name], self.o, {}).whole()
        letter = SPELLINGS.get(name)
        if letter is not None and self.is_ambiguous(letter):
            return self.reading(letter, token)
        if name not in self.names:
            if name in ELSEWHERE:
                error = UnknownNameError(f"no operator '{name}' in robot '{self.o.model.name}': {ELSEWHERE[name]}")
                raise self.shown(error, token.start)
            known = (*self.names, *WITH_BRACKETS)
            raise self.shown(unknown_name("operator", name, known, owner=f"robot '{self.o.model.name}'"), token.start)
        return self.names[name]

    def is_ambiguous(self, letter: str) -> bool:
        """Whether a letter of several meanings has not simply that of our own table here."""
        if letter == "K" and self.notation is None:
            return self.gain_behind_capital()
        return letter not in TAKEN_BY or self.notation in TAKEN_BY[letter]

    def gain_behind_capital(self) -> bool:
        """Whether the token just passed is the K of ``Phi K`` or ``K* Phi*``, where only G makes sense."""
        before = [token.text for token in self.tokens[: self.at - 1] if token.text != "@"]
        star, behind = (*self.tokens[self.at :], self.now)[:2]
        return (before or [""])[-1] in _CAPITALS or (star.kind == "star" and behind.text in _CAPITALS)

    def reading(self, letter: str, token: Token) -> Value:
        """A letter that the sources use for different things, in the notation of this formula."""
        readings = [x for x in READINGS[letter] if x.notation == self.notation is not None]
        if letter == "K" and not self.gain_behind_capital():
            readings = []  # the work writes G but for one formula
        if len(readings) > 1 and self.bias is None:
            self.undecided = True
            return Vector(letter, known_shape(_Parser(readings[0].formula, self.o, {}).whole()).rows)
        readings = [x for x in readings if self.bias is None or self.bias in x.bias]
        if not readings:
            raise NotationError(ambiguity(letter, self.notation), self.text, token.start)
        return _Parser(readings[0].formula, self.o, {}).whole()

    def argument(self, name: str) -> Value:
        """What stands in brackets behind a name."""
        if not self.took("("):
            raise self.error(f"expected '(' after {name}")
        return self.bracketed(")")

    def derivative(self, token: Token) -> Value:
        """``d/dt(...)``, ``D/Dt(...)``, ``d/d{joint}(...)``."""
        freedom = self.freedom() if token.text == "d/d" else None
        if not self.took("("):
            raise self.error(f"expected '(' after {token.text}")
        inner = _as_operator(self.bracketed(")"))
        if freedom is not None:
            return sensitivity(inner, freedom)
        return time_derivative(inner, "local" if token.text == "d/dt" else "inertial")

    def along(self, token: Token, found: Value) -> Value:
        """``S{joint}``: a letter that knows a velocity, along a joint's instead of v; ``psi{matrix}``: of a matrix."""
        if self.now.kind != "joint":
            return found
        if isinstance(found, Leaf) and found.kind.value.is_articulated:
            return replace(found, filter=self.filter())
        if not isinstance(found, Leaf) or not found.kind.value.is_directed:
            raise self.error(f"expected no joint behind {token.text}, which knows no velocity")
        return replace(found, along=self.freedom())

    def filter(self) -> Filter | None:
        """``{mass + I}``: a matrix with factors like the mass matrix's."""
        token = self.now
        self.at += 1
        matrix = _Parser(token.text[1:-1], self.o, self.vectors, self.notation).whole()
        found = filter_of(matrix, self.o)
        if found is None:
            message = f"{matrix} is not of the form H phi X phi* H* + Y, X block diagonal and Y diagonal"
            raise NotationError(message, self.text, token.start + 1)
        return None if is_the_mass_matrix(found, self.o) else found

    def freedom(self) -> Freedom:
        """``{joint}`` or ``{joint,1}``."""
        if self.now.kind != "joint":
            raise self.error("expected '{' and the name of a joint")
        token, model = self.now, self.o.model
        self.at += 1
        text = token.text[1:-1].strip()
        if text in (ACCELERATION, *self.vectors) and text not in {joint.name for joint in model.joints}:
            return text, ANY
        name, comma, number = text.rpartition(",")
        numbered = comma and number.strip().isdecimal() and text not in {joint.name for joint in model.joints}
        try:
            return freedom_of(model, (name.strip(), int(number)) if numbered else text)
        except UnknownNameError as error:
            raise self.shown(error, token.start + 1) from None
        except StateError as error:
            raise NotationError(str(error), self.text, token.start + 1) from None

    def pick_off(self, token: Token) -> Expression:
        """``B(link)`` or ``B(link, link)``; a name may have a comma in it."""
        if self.now.kind != "link":
            raise self.error(f"expected '(' and the name of a link after {token.text}")
        self.at += 1
        inside = self.tokens[self.at - 1]
        whole = inside.text.strip()
        is_link = whole in {link.name for link in self.o.model.links}
        try:
            return self.o.B(*([whole] if is_link else map(str.strip, whole.split(","))))
        except UnknownNameError as error:
            raise self.shown(error, inside.start) from None
        except StateError as error:
            raise NotationError(str(error), self.text, inside.start) from None

    # ---- errors with their place -----------------------------------------------------------------------------------

    def shown(self, error: UnknownNameError, place: int) -> UnknownNameError:
        return UnknownNameError(str(error) + marked(self.text, place))

    def checked(self, place: int, make: Callable[[Value, Value], Value], x: Value, y: Value) -> Value:
        """A product, sum or inverse; if it is ill-shaped the error shows where."""
        try:
            return make(x, y)
        except ShapeError as error:
            raise ShapeError(str(error) + marked(self.text, place)) from None


def _size(x: Expression, known: dict[Expression, int]) -> int:
    """Letters in an expression; parts that occur often are looked at once."""
    if x not in known:
        known[x] = 1 + sum(_size(part, known) for part in parts_of(x))
    return known[x]


def _power(x: Expression, number: int) -> Expression:
    """The product of a square operator with itself; none of it is the identity."""
    shape = x.shape
    if shape is not None and not shape.rows.fits(shape.columns):
        raise ShapeError(f"{x} is {shape}: only something square has powers")
    return product((x,) * number) if number else Identity(None if shape is None else shape.rows)


def _as_operator(x: Value) -> Expression:
    return scaled(x, Identity()) if isinstance(x, float) else x


def _times(x: Value, y: Value) -> Value:
    if isinstance(x, float):
        return x * y if isinstance(y, float) else scaled(x, y)
    return scaled(y, x) if isinstance(y, float) else product((x, y))


def _plus(x: Value, y: Value) -> Value:
    return x + y if isinstance(x, float) and isinstance(y, float) else total((_as_operator(x), _as_operator(y)))
