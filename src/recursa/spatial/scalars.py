"""Functions of one number that work on every kind of scalar.

A *scalar* is anything with ``+ - * /``: a Python float, a NumPy array (then every operation acts on a whole batch), a
:class:`~recursa.spatial.counter.Counted` number, a SymPy or CasADi symbol. Algorithms use these functions and never
``math`` or ``numpy`` directly, so that they are written once.

Floats go through NumPy's functions too: a single state and the same state inside a batch then give the same bits.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from fractions import Fraction
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from recursa.errors import NoValueError, RecursaError

Scalar: TypeAlias = Any
"""A float, an array of floats, a counted, traced or symbolic number."""


_Class = TypeVar("_Class", bound=type)


def one_operand(cls: _Class) -> _Class:
    """Class decorator: NumPy treats an instance as one operand, so ``array * vector`` scales the vector."""
    cls.__array_ufunc__ = None  # type: ignore[attr-defined]
    return cls


class Subtraction:
    """Subtraction by addition and change of sign, for classes of scalars that define these two."""

    __slots__ = ()

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        return self + (-other)  # type: ignore[operator]

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other  # type: ignore[operator]


def _apply(name: str, ufunc: np.ufunc, x: Scalar) -> Scalar:
    if isinstance(x, float | int):
        return float(ufunc(float(x)))
    if isinstance(x, np.ndarray | np.generic | complex):
        return ufunc(x)
    method = getattr(x, name, None)
    if method is not None:
        return method()
    return getattr(_symbolic_module(x), name)(x)


def _symbolic_module(x: Scalar) -> Any:
    """The already imported library (sympy, casadi) that a foreign symbol belongs to."""
    home = type(x).__module__.partition(".")[0]
    module = sys.modules.get(home)
    if module is None or not hasattr(module, "sin"):
        raise TypeError(f"cannot take functions of {type(x).__name__!r} objects: not a number, array or known symbol")
    return module


def sin(x: Scalar) -> Scalar:
    """Sine of any scalar, in radians."""
    return _apply("sin", np.sin, x)


def cos(x: Scalar) -> Scalar:
    """Cosine of any scalar, in radians."""
    return _apply("cos", np.cos, x)


def sqrt(x: Scalar) -> Scalar:
    """Square root of any scalar; nan for a negative number."""
    return _apply("sqrt", np.sqrt, x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y), in (-pi, pi]; for complex numbers its continuation ``-i log((x + i y)/r)``."""
    if isinstance(y, float | int) and isinstance(x, float | int):
        return float(np.arctan2(float(y), float(x)))
    for value in (y, x):
        if not isinstance(value, np.ndarray | np.generic | float | int | complex):
            method = getattr(value, "atan2", None)
            return method(y, x) if method is not None else _symbolic_module(value).atan2(y, x)
    return _complex_atan2(y, x) if np.iscomplexobj(y) or np.iscomplexobj(x) else np.arctan2(y, x)


def _complex_atan2(y: Scalar, x: Scalar) -> Scalar:
    """Real and imaginary part apart, so that the smallest imaginary step keeps its digits."""
    a, b, c, d = np.real(x), np.imag(x), np.real(y), np.imag(y)
    angle = np.arctan2(c, a)
    mean = 0.5 * (np.arctan2(c + b, a - d) + np.arctan2(c - b, a + d))
    real = mean + np.pi * np.round((angle - mean) / np.pi)  # on the side of the cut where the real point is
    return real + 0.5j * np.arctanh(2.0 * (a * d - b * c) / (a * a + b * b + c * c + d * d))


def log(x: Scalar) -> Scalar:
    """Natural logarithm of any scalar; -inf for zero, nan for a negative number.

    Traced and counted numbers have it by their arithmetic: the power of two is taken out by comparisons, the rest is a
    series in ``(x - 1) / (x + 1)``, within two units in the last place for all floats but subnormal ones.
    """
    if isinstance(x, np.ndarray | np.generic | complex | float | int):
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(x)
        return float(value) if isinstance(x, float | int) else value
    method = getattr(x, "log", None)
    if method is not None:
        return method()
    if type(x).__module__.partition(".")[0] != __name__.partition(".")[0]:
        return _symbolic_module(x).log(x)
    exponent, rest = 0.0, x
    for power in _POWERS:
        above = rest < 2.0**power
        exponent, rest = where(above, exponent, exponent + power), where(above, rest, rest * 0.5**power)
    for power in _POWERS:
        below = rest < 2.0 ** (1 - power)
        exponent, rest = where(below, exponent - power, exponent), where(below, rest * 2.0**power, rest)
    low = rest < math.sqrt(2.0)
    exponent, rest = where(low, exponent, exponent + 1.0), where(low, rest, 0.5 * rest)
    t = (rest - 1.0) / (rest + 1.0)
    value = exponent * math.log(2.0) + 2.0 * t * _polynomial(t * t, _ARTANH)
    return where(x > 0.0, value, sqrt(x) - 1.0 / x)


_POWERS = (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
_ARTANH = tuple(1.0 / (2 * k + 1) for k in range(12))  # of artanh(t)/t in t^2, for |t| up to 0.172


def is_zero(x: Scalar) -> bool:
    """Whether a number is zero for structural reasons: a constant, not a result."""
    return isinstance(x, float) and x == 0.0


def reciprocal(x: Scalar) -> Scalar:
    """1/x; infinite, not an exception, for a float zero, as for arrays."""
    if is_zero(x):
        return math.copysign(math.inf, x)
    return 1.0 / x


def where(condition: Any, if_true: Scalar, if_false: Scalar) -> Scalar:
    """``if_true`` where the condition holds, else ``if_false``; both sides are evaluated by the caller."""
    if isinstance(condition, bool | np.bool_):
        return if_true if condition else if_false
    if isinstance(condition, np.ndarray):
        return np.where(condition, if_true, if_false)
    select = getattr(condition, "select", None)  # a traced comparison
    if select is not None:
        return select(if_true, if_false)
    module = _symbolic_module(condition)
    if hasattr(module, "Piecewise"):
        return module.Piecewise((if_true, condition), (if_false, True))
    return module.if_else(condition, if_true, if_false)


def _polynomial(x: Scalar, coefficients: tuple[float, ...]) -> Scalar:
    """``c0 + c1 x + c2 x^2 + ...`` by Horner's rule."""
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = c + x * total
    return total


def _select_small(x2: Scalar, near: float, series: tuple[float, ...], closed: Any) -> Scalar:
    """The series where x2 < near, else ``closed(x2 with the small entries replaced by 1)``: never 0/0."""
    small = x2 < near
    return where(small, _polynomial(x2, series), closed(where(small, 1.0, x2)))


def _alternating_factorials(first: int, terms: int) -> tuple[float, ...]:
    """1/first!, -1/(first+2)!, 1/(first+4)!, ..."""
    return tuple((-1) ** k / math.factorial(first + 2 * k) for k in range(terms))


# The even functions of an angle that exp and log need, as functions of x2 = angle^2 so that no root of zero is taken.
# Each switches to its Taylor series where cancellation would cost digits.
_SINC = _alternating_factorials(1, 5)
_SINC3 = _alternating_factorials(3, 9)
# |B_2n|/(2n)! with the Bernoulli numbers, n = 1, 2, ...: the series of (1 - (x/2) cot(x/2))/x^2 in x^2
_HALF_COTANGENT = (
    0.08333333333333333,
    0.001388888888888889,
    3.306878306878307e-05,
    8.267195767195768e-07,
    2.08767569878681e-08,
    5.284190138687493e-10,
    1.3382536530684679e-11,
    3.3896802963225827e-13,
    8.586062056277845e-15,
    2.174868698558062e-16,
)


def sinc(x2: Scalar) -> Scalar:
    """sin(x)/x from x^2."""

    def closed(y2: Scalar) -> Scalar:
        y = sqrt(y2)
        return sin(y) / y

    return _select_small(x2, 1e-2, _SINC, closed)


def cosc(x2: Scalar) -> Scalar:
    """(1 - cos x)/x^2 from x^2."""
    half = sinc(0.25 * x2)  # 1 - cos x = 2 sin^2(x/2): no cancellation at any x
    return 0.5 * half * half


def sinc3(x2: Scalar) -> Scalar:
    """(x - sin x)/x^3 from x^2."""

    def closed(y2: Scalar) -> Scalar:
        y = sqrt(y2)
        return (y - sin(y)) / (y2 * y)

    return _select_small(x2, 1.0, _SINC3, closed)


def half_cotangent(x2: Scalar) -> Scalar:
    """(1 - (x/2) cot(x/2))/x^2 from x^2, the coefficient of the inverse left Jacobian; finite for |x| < 2 pi."""

    def closed(y2: Scalar) -> Scalar:
        return (1.0 - 0.5 * sinc(y2) / cosc(y2)) / y2

    return _select_small(x2, 1.0, _HALF_COTANGENT, closed)


# Their slopes, d/d(x^2): the series differentiated, and closed forms from the functions themselves.


def _slope(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(k * c for k, c in enumerate(coefficients))[1:]


_COSC_SLOPE = _slope(_alternating_factorials(2, 10))
_SINC3_SLOPE = _slope(_alternating_factorials(3, 10))
_HALF_COTANGENT_SLOPE = _slope(_HALF_COTANGENT)


def cosc_slope(x2: Scalar) -> Scalar:
    """d/d(x^2) of :func:`cosc`."""
    return _select_small(x2, 1.0, _COSC_SLOPE, lambda y2: (0.5 * sinc(y2) - cosc(y2)) / y2)


def sinc3_slope(x2: Scalar) -> Scalar:
    """d/d(x^2) of :func:`sinc3`."""
    return _select_small(x2, 1.0, _SINC3_SLOPE, lambda y2: (0.5 * cosc(y2) - 1.5 * sinc3(y2)) / y2)


def half_cotangent_slope(x2: Scalar) -> Scalar:
    """d/d(x^2) of :func:`half_cotangent`."""

    def closed(y2: Scalar) -> Scalar:
        return (0.25 * (sinc(y2) + 1.0) / cosc(y2) - 1.0) / (y2 * y2)

    return _select_small(x2, 1.0, _HALF_COTANGENT_SLOPE, closed)


# ---- -----------------------------------------------------------------------------------------------------------------
# SymPy expressions as scalars: formulas for numbers of a robot, and for whatever is computed from them.


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
