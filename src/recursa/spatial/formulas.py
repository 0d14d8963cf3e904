"""SymPy expressions as scalars: formulas for numbers of a robot, and for whatever is computed from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from types import ModuleType
from typing import Any

from recursa.errors import NoValueError, RecursaError
from recursa.spatial.scalars import Subtraction

_LONGEST = 10**6  # denominators of fractions that decimals are taken for


class Formula(Subtraction):
    """A SymPy expression as a scalar: floats that meet it are taken for the fractions that they are meant to be.

    >>> import sympy
    >>> 0.5 * Formula(sympy.Symbol("m")) * 0.1
    Formula(m/20)
    """

    __array_ufunc__ = None
    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __add__(self, other: Any) -> Formula:
        return Formula(self.of + expression_of(other))

    __radd__ = __add__

    def __neg__(self) -> Formula:
        return Formula(-self.of)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, tuple):  # a vector, which scales itself
            return NotImplemented
        if isinstance(other, float) and other == 0.0:
            return 0.0
        return Formula(self.of * expression_of(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Formula:
        return Formula(self.of / expression_of(other))

    def __rtruediv__(self, other: Any) -> Formula:
        return Formula(expression_of(other) / self.of)

    def __eq__(self, other: object) -> bool:
        return not isinstance(other, str) and bool(self.of == expression_of(other))

    def __lt__(self, other: Any) -> Condition:
        return Condition(self.of < expression_of(other))

    def __gt__(self, other: Any) -> Condition:
        return Condition(self.of > expression_of(other))

    def __le__(self, other: Any) -> Condition:
        return Condition(self.of <= expression_of(other))

    def __ge__(self, other: Any) -> Condition:
        return Condition(self.of >= expression_of(other))

    def __hash__(self) -> int:
        return hash(self.of)

    def __bool__(self) -> bool:
        return bool(self.of != 0)

    def __float__(self) -> float:
        if self.of.free_symbols:
            raise NoValueError(f"no value is known of {listed(self.of.free_symbols)}")
        return float(self.of)

    def __repr__(self) -> str:
        return f"Formula({self.of})"

    def sin(self) -> Formula:
        """Sine."""
        return Formula(sympy_module().sin(self.of))

    def cos(self) -> Formula:
        """Cosine."""
        return Formula(sympy_module().cos(self.of))

    def log(self) -> Formula:
        """Natural logarithm."""
        return Formula(sympy_module().log(self.of))

    def sqrt(self) -> Formula:
        """Square root."""
        return Formula(sympy_module().sqrt(self.of))

    @staticmethod
    def atan2(y: Any, x: Any) -> Formula:
        """The angle of a point."""
        return Formula(sympy_module().atan2(expression_of(y), expression_of(x)))


class Condition:
    """A comparison of formulas, for :func:`recursa.spatial.scalars.where`."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def select(self, if_true: Any, if_false: Any) -> Formula:
        """One of two formulas."""
        either = (expression_of(if_true), self.of), (expression_of(if_false), True)
        return Formula(sympy_module().Piecewise(*either))

    def __bool__(self) -> bool:
        if self.of.free_symbols:
            raise NoValueError(f"no value is known of {listed(self.of.free_symbols)}")
        return bool(self.of)


def expression_of(value: Any) -> Any:
    """What stands for a scalar in a formula."""
    if isinstance(value, Formula):
        return value.of
    return sympy_module().Rational(fraction_of(value)) if isinstance(value, float) else sympy_module().sympify(value)


def fraction_of(value: float) -> Fraction:
    """The short fraction that a float is but for rounding, such as 1/120; else its decimals as they are."""
    short = Fraction(value).limit_denominator(_LONGEST)
    return short if abs(float(short) - value) <= 4.0 * math.ulp(value) else Fraction(repr(value))


def scalar_of(value: Any) -> Any:
    """A float, or a formula where somebody gave a SymPy expression with symbols in it.

    >>> import sympy
    >>> scalar_of(2), scalar_of(sympy.pi / 2) == math.pi / 2, scalar_of(2 * sympy.Symbol("l"))
    (2.0, True, Formula(2*l))
    """
    if isinstance(value, Formula):
        return value
    if type(value).__module__.partition(".")[0] == "sympy" and getattr(value, "free_symbols", None):
        return Formula(value)
    return float(value)


def listed(symbols: Iterable[Any]) -> str:
    """Names of symbols, sorted, for messages."""
    return ", ".join(sorted(map(str, symbols)))


def sympy_module() -> ModuleType:
    """SymPy, if it is installed."""
    try:
        import sympy  # takes long
    except ImportError:
        raise RecursaError("formulas need the package 'sympy': pip install 'recursa[symbolic]'") from None
    module: ModuleType = sympy
    return module
