"""Formulas: the same recipes on SymPy expressions, with a model whose numbers are fractions or letters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any

from recursa.errors import RecursaError, UntraceableError, unknown_name
from recursa.evaluation.evaluator import Way
from recursa.evaluation.scalars import ScalarEvaluator, object_array
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Subtraction
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array
from recursa.sweeps.engine import run

TEN = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")  # as the regressor has them
_DRIVE = ("armature", "damping")
_GRAVITY = ("gx", "gy", "gz")
Letters = dict[str, Any]  # SymPy expressions by the names of constants
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

    def __mul__(self, other: Any) -> Formula:
        return Formula(self.of * expression_of(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Formula:
        return Formula(self.of / expression_of(other))

    def __rtruediv__(self, other: Any) -> Formula:
        return Formula(expression_of(other) / self.of)

    def __eq__(self, other: object) -> bool:
        return bool(self.of == expression_of(other))

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

    def __repr__(self) -> str:
        return f"Formula({self.of})"

    def sin(self) -> Formula:
        """Sine."""
        return Formula(sympy_module().sin(self.of))

    def cos(self) -> Formula:
        """Cosine."""
        return Formula(sympy_module().cos(self.of))

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


def expression_of(value: Any) -> Any:
    """What stands for a scalar in a formula."""
    if isinstance(value, Formula):
        return value.of
    return sympy_module().Rational(_fraction(value)) if isinstance(value, float) else sympy_module().sympify(value)


def _fraction(value: float) -> Fraction:
    """The short fraction that a float is but for rounding, such as 1/120; else its decimals as they are."""
    short = Fraction(value).limit_denominator(_LONGEST)
    return short if abs(float(short) - value) <= 4.0 * math.ulp(value) else Fraction(repr(value))


class SymbolicEvaluator(ScalarEvaluator):
    """Answers as formulas, with a model whose numbers are fractions, or ``letters`` where these name them."""

    __slots__ = ("letters",)

    letters: Letters

    def _run(self, way: Way, inputs: dict[str, list[Any]], *, symbols: bool) -> Array:
        model = way.kernels.model
        if self.letters:
            if model is not self.model:
                raise UntraceableError(
                    "its method moves link frames onto joint axes, where the robot's numbers are others. Leave "
                    "constants=True out, or choose another method"
                )
            model = _lettered(model, self.letters)
        return object_array(list(way.recipe.gather(run(way.recipe.plan, _in_fractions(model), inputs))))

    def solve(self, mass: Array, columns: Array) -> Array:
        """By elimination."""
        return _formulas(_matrix(mass).LUsolve(_matrix(columns)))

    def inverse(self, mass: Array) -> Array:
        """By elimination."""
        return _formulas(_matrix(mass).inv())


def _matrix(entries: Array) -> Any:
    return sympy_module().Matrix(*entries.shape, [expression_of(entry) for entry in entries.ravel()])


def _formulas(matrix: Any) -> Array:
    return object_array([Formula(entry) for entry in matrix]).reshape(matrix.shape)


# ---- the model's numbers ---------------------------------------------------------------------------------------------


def _lettered(model: Model, letters: Letters) -> Model:
    """The model with formulas for the constants that have one; other numbers stay as they are."""

    def written(names: Sequence[str], numbers: Sequence[float]) -> list[Any]:
        return [Formula(letters[x]) if x in letters else y for x, y in zip(names, numbers, strict=True)]

    joints = tuple(
        replace(
            joint,
            placement=joint.placement._replace(
                translation=Vec3(*written(_place_names(k), joint.placement.translation))
            ),
            armature=tuple(written(_drive_names(joint, "armature"), joint.armature)),
            damping=tuple(written(_drive_names(joint, "damping"), joint.damping)),
        )
        for k, joint in enumerate(model.joints, 1)
    )
    inertias = tuple(
        RigidInertia.from_components(written(_ten_names(k), tuple(inertia.components())))
        for k, inertia in enumerate(model.inertias, 1)
    )
    gravity: Any = tuple(written(_GRAVITY, model.gravity))
    return replace(model, joints=joints, inertias=inertias, gravity=gravity)


def letters_of(model: Model, constants: bool | str | Mapping[str, Any]) -> Letters:
    """What stands for the model's numbers: nothing, a symbol each, those of textbooks, or what is given by name."""
    library = sympy_module()
    if isinstance(constants, Mapping):
        known = [name for name, _ in _every_constant(model)]
        for name in constants:
            if str(name) not in known:
                raise unknown_name("constant of the robot", str(name), known)
        return {str(name): library.sympify(value) for name, value in constants.items()}
    if constants == "central":
        return _central(model)[0]
    if not isinstance(constants, bool):
        raise unknown_name("kind of constants", str(constants), ("central",))
    return {name: library.Symbol(name) for name, _ in constants_of(model)} if constants else {}


def central_constants(model: Model) -> dict[str, float]:
    """Numbers of the symbols of ``constants="central"``."""
    return _central(model)[1]


def _central(model: Model) -> tuple[Letters, dict[str, float]]:
    """Mass m, centre c, moments J about it: what textbooks write, and the ten parameters made of them.

    ``I = J + m ((c.c) 1 - c c)`` in exact fractions, so that a moment that vanishes is found to.
    """
    symbol = sympy_module().Symbol
    letters = {name: symbol(name) for name, _ in constants_of(model)}
    numbers = dict(constants_of(model))
    for k, inertia in enumerate(model.inertias, 1):
        own = [_fraction(float(x)) for x in inertia.components()]
        m, *first = own[:4]
        if m == 0:
            continue
        names = _ten_names(k)
        centre = [x / m for x in first]
        for name in names:
            numbers.pop(name, None)

        def letter(name: str, number: Fraction, numbers: dict[str, float] = numbers) -> Any:
            if number == 0:
                return 0
            numbers[name] = float(number)
            return symbol(name)

        mass = letter(names[0], m)
        c = [letter(f"c{axis}{k}", x) for axis, x in zip("xyz", centre, strict=True)]
        letters[names[0]] = mass
        letters |= {name: mass * x for name, x in zip(names[1:4], c, strict=True)}
        for name, moment in zip(names[4:], own[4:], strict=True):
            i, j = ("xyz".index(axis) for axis in name[1:3])
            about = moment - m * _steiner(centre, i, j)
            letters[name] = letter(f"J{name[1:]}", about) + mass * _steiner(c, i, j)
    return letters, numbers


def _steiner(c: Sequence[Any], i: int, j: int) -> Any:
    """An entry of (c.c) 1 - c c."""
    return (sum(x * x for x in c) if i == j else 0) - c[i] * c[j]


def constants_of(model: Model) -> Iterator[tuple[str, float]]:
    """Names and numbers of what can be a letter and is not 0."""
    yield from ((name, number) for name, number in _every_constant(model) if number != 0.0)


def _every_constant(model: Model) -> Iterator[tuple[str, float]]:
    every: list[tuple[Sequence[str], Sequence[float]]] = []
    for k, (joint, inertia) in enumerate(zip(model.joints, model.inertias, strict=True), 1):
        every.append((_place_names(k), joint.placement.translation))
        every.append((_ten_names(k), tuple(inertia.components())))
        every += [(_drive_names(joint, what), getattr(joint, what)) for what in _DRIVE if joint.independent]
    every.append((_GRAVITY, model.gravity))
    for names, numbers in every:
        yield from zip(names, numbers, strict=True)


def _place_names(k: int) -> list[str]:
    return [f"l{axis}{k}" for axis in "xyz"]


def _ten_names(k: int) -> list[str]:
    return [f"{letter}{k}" for letter in TEN]


def _drive_names(joint: Joint, what: str) -> list[str]:
    return [f"{what}{joint.v_start + k + 1}" for k in range(joint.kind.nv)]


def _in_fractions(model: Model) -> Model:
    """The model with exact fractions for floats; 0 and 1 stay plain numbers, which steps look for."""

    def exact(value: Any) -> Any:
        if isinstance(value, float):
            return value if value in (0.0, 1.0, -1.0) else Formula(expression_of(value))
        if isinstance(value, tuple):
            parts = [exact(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{item.name: exact(getattr(value, item.name)) for item in fields(value)})
        return value

    joints = tuple(
        replace(joint, **{name: exact(getattr(joint, name)) for name in type(joint).constants})
        for joint in model.joints
    )
    links = tuple(replace(link, offset=exact(link.offset)) for link in model.links)
    gravity = exact(tuple(model.gravity))
    return replace(model, joints=joints, inertias=exact(model.inertias), links=links, gravity=gravity)


def gathered(formula: Any) -> Any:
    """With products of sines and cosines as those of sums of angles: equal formulas become the same."""
    from sympy import expand, fraction, together
    from sympy.simplify.fu import TR8

    above, below = (expand(TR8(expand(part))) for part in fraction(together(expand(formula))))
    if below.is_number:
        return expand(above / below)
    (many, above), (few, below) = above.primitive(), below.primitive()
    return many / few * above / below


def sympy_module() -> ModuleType:
    """SymPy, if it is installed."""
    try:
        import sympy  # takes long
    except ImportError:
        raise RecursaError("formulas need the package 'sympy': pip install 'recursa[symbolic]'") from None
    module: ModuleType = sympy
    return module
