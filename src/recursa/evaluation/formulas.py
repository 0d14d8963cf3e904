"""Formulas: the same recipes on SymPy expressions, with a model whose numbers are fractions or letters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from recursa.errors import UntraceableError, unknown_name
from recursa.evaluation.evaluator import Evaluator
from recursa.evaluation.resolved_quantity import ResolvedQuantity
from recursa.kernels.dispatch import KernelStore
from recursa.kernels.graph import Traced
from recursa.model.columns import symbols_of
from recursa.model.model import Joint, Model
from recursa.quantities.quantity import Recipe
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Formula, Scalar, expression_of, fraction_of, sympy_module
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array
from recursa.sweeps.engine import run
from recursa.sweeps.plan import Plan

# ---- the same recipes on other numbers than floats: one state at a time, on arrays of any scalars --------------------


class ScalarEvaluator(Evaluator):
    """Symbols go the way that kernels go, with what may move moved; numbers go the plain way."""

    __slots__ = ()

    def _filled(
        self, asked: ResolvedQuantity, arguments: dict[str, Any], out: Array | None, threads: int | None
    ) -> Array:
        self.require(asked.recipe, arguments)
        inputs = {name: list(np.asarray(value, dtype=object).ravel()) for name, value in arguments.items()}
        symbols = any(isinstance(x, Traced) for values in inputs.values() for x in values)
        return self._run(asked, inputs, symbols=symbols).reshape(asked.recipe.shape)

    def _run(self, asked: ResolvedQuantity, inputs: dict[str, list[Any]], *, symbols: bool) -> Array:
        recipe, kernels = asked.recipe, asked.kernels
        plan, model = (asked.compiled_plan, kernels.compiled_model) if symbols else (recipe.plan, kernels.model)
        return object_array(list(recipe.gather(run(plan, model, inputs))))

    def one_kernel(self, asked: ResolvedQuantity) -> bool:
        """All in one piece, however long."""
        return True

    def for_each_torque(self, arguments: Mapping[str, Any]) -> dict[str, Array]:
        """There are no batches."""
        raise UntraceableError("every torque has its own matrices. Export their sum, weighted: contract=True")

    def require_hinges(self, arguments: Mapping[str, Any]) -> None:
        """Parameters that are symbols cannot be judged."""
        if "parameters" not in arguments:
            super().require_hinges(arguments)

    def require_finite(self, result: Array, arguments: Mapping[str, Any], pivots: Array | None = None) -> None:
        """Symbols have no values; what is not finite is found when constants are printed."""

    def solve(self, mass: Array, columns: Array) -> Array:
        """There is no linear solve in straight-line code."""
        raise UntraceableError(
            "it solves with the mass matrix. Export mass_matrix and bias_forces and solve M a = tau - C"
        )

    def inverse(self, mass: Array) -> Array:
        """Nor an inverse."""
        raise UntraceableError("joints are tied, so it inverts the mass matrix. Export mass_matrix and invert that")


def solved_by_columns(mass: Array, columns: Array) -> Array:
    """``inv(mass) columns`` on any scalars, for a symmetric positive definite matrix, one column after the other."""
    matrix, each = mass.tolist(), np.atleast_2d(columns.T)
    entries = [x for column in each.tolist() for x in solve_symmetric(matrix, column)]
    return object_array(entries).reshape(columns.T.shape).T


def solve_symmetric(matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """The solution for a symmetric positive definite matrix, of which the lower triangle is read.

    ``n^3/6 + 3 n^2/2 - 2 n/3`` products and divisions, ``n^3/6 + n^2 - 7 n/6`` sums, as Balafoutis & Patel count it.

    >>> solve_symmetric([[2.0, 1.0], [1.0, 3.0]], [4.0, 7.0])
    [1.0, 2.0]
    """
    n = len(right)
    rest = [list(row) for row in matrix]
    factor = [[0.0 for _ in row] for row in matrix]
    for k in range(n):
        for i in range(k + 1, n):
            factor[i][k] = rest[i][k] / rest[k][k]
            for j in range(k + 1, i + 1):
                rest[i][j] = rest[i][j] - factor[i][k] * rest[j][k]
    x = list(right)
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - factor[i][k] * x[k]
    x = [value / rest[i][i] for i, value in enumerate(x)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - factor[k][i] * x[k]
    return x


def object_array(entries: list[Any]) -> Array:
    """Scalars of any kind in an array."""
    result = np.empty(len(entries), dtype=object)
    result[:] = entries
    return result


TEN = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")  # as the regressor has them
_DRIVE = ("armature", "damping")
_GRAVITY = ("gx", "gy", "gz")
Letters = dict[str, Any]  # SymPy expressions by the names of constants


class SymbolicEvaluator(ScalarEvaluator):
    """Answers as formulas, with a model whose numbers are fractions, or ``letters`` where these name them."""

    __slots__ = ("letters",)

    letters: Letters

    def __init__(self, model: Model, letters: Letters) -> None:
        super().__init__(model)
        self.letters = letters
        self.kept["symbols"] = symbols_of(model)

    def _of(self, model: Model) -> SymbolicEvaluator:
        return type(self)(model, self.letters)

    def require_inertia(self, plan: Plan, arguments: Mapping[str, Any] | tuple[str, ...]) -> None:
        """Symbols cannot be judged."""
        if not self.kept["symbols"]:
            super().require_inertia(plan, arguments)

    def require_hinges(self, arguments: Mapping[str, Any]) -> None:
        """Nor here."""
        if not self.kept["symbols"]:
            super().require_hinges(arguments)

    def _kernels(self, recipe: Recipe, sizes: Mapping[str, int]) -> tuple[KernelStore, Mapping[str, int], Plan | None]:
        """Nothing is moved for a kernel where numbers are symbols."""
        if not self.kept["symbols"]:
            return super()._kernels(recipe, sizes)
        return (self.on_axes if recipe.on_axes else self.store()), sizes, None

    def _run(self, asked: ResolvedQuantity, inputs: dict[str, list[Any]], *, symbols: bool) -> Array:
        model = asked.kernels.model
        if self.letters:
            if model is not self.model:
                raise UntraceableError(
                    "its method moves link frames onto joint axes, where the robot's numbers are others. Leave "
                    "constants=True out, or choose another method"
                )
            model = _lettered(model, self.letters)
        return object_array(list(asked.recipe.gather(run(asked.recipe.plan, _in_fractions(model), inputs))))

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
        own = [fraction_of(float(x)) for x in inertia.components()]
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
