"""Quantities asked on any scalars, by name and with options: what export to C, counting and formulas share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from recursa.errors import (
    ModelError,
    NoValueError,
    RecursaError,
    ShapeError,
    SingularHingeError,
    StateError,
    UntraceableError,
    unknown_name,
)
from recursa.evaluation.answering import Facade
from recursa.evaluation.evaluator import Evaluator
from recursa.evaluation.formulas import (
    TEN,
    ScalarEvaluator,
    SymbolicEvaluator,
    central_constants,
    constants_of,
    gathered,
    letters_of,
    object_array,
)  # fmt: skip
from recursa.model.columns import symbols_of
from recursa.model.model import Model
from recursa.quantities import Quantity, quantities
from recursa.spatial.scalars import Formula, expression_of, sympy_module
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    import sympy


def quantity_named(name: str, wanted: str = "exported") -> Quantity:
    """The record of that name, if it can be asked on other scalars."""
    records = {one.name: one for one in quantities()}
    found = {key: one for key, one in records.items() if one.exported}
    if name in records and name not in found:
        raise RecursaError(
            f"{name} cannot be {wanted}: it is worked out for each state by NumPy, not by a plan that becomes code. "
            "Call it on the robot, or take the quantities that it is made of"
        )
    if name not in found:
        raise unknown_name(f"quantity that can be {wanted}", name, found)
    return found[name]


def exported() -> tuple[str, ...]:
    """The quantities that can be asked on other scalars."""
    return tuple(one.name for one in quantities() if one.exported)


@dataclass(frozen=True)
class ScalarQuestion:
    """A quantity, the arrays that it is given, and its other options."""

    model: Model
    quantity: Quantity
    inputs: tuple[str, ...]
    options: dict[str, Any]

    wanted: ClassVar[str] = "asked"
    """What is done with it, for errors."""

    @classmethod
    def of(cls, model: Model, quantity: str | Quantity, options: Mapping[str, Any]) -> Self:
        """Checked: the quantity exists, its options too, and none is missing."""
        record = quantity if isinstance(quantity, Quantity) else quantity_named(quantity, cls.wanted)
        given = {name: value for name, value in options.items() if value is not None}
        choices = (*record.optional, *record.options)
        for name, value in given.items():
            if name not in choices:
                raise unknown_name(f"option of {record.name}", name, choices)
            if name in record.optional and not isinstance(value, bool):
                raise RecursaError(f"{name}=True makes {name} an argument of the result; it cannot be given here")
        missing = [name for name in record.options if name not in {**record.defaults, **given}]
        if missing:
            raise RecursaError(f"{record.name} needs the option {missing[0]}=")
        inputs = (*record.inputs, *(name for name in record.optional if given.get(name)))
        return cls(model, record, inputs, {name: x for name, x in given.items() if name not in record.optional})

    def axes(self, name: str) -> tuple[int, ...]:
        """The shape of one of the inputs."""
        return self.quantity.kind(name).axes(self.model, 0)

    def sizes(self) -> dict[str, int]:
        """Numbers per input."""
        return {name: math.prod(self.axes(name)) for name in self.inputs}

    def ask(self, values: Mapping[str, Any], evaluator: Evaluator | None = None) -> Array:
        """The answer for flat inputs, as an array of scalars."""
        try:
            return self.asked(values, evaluator)
        except UntraceableError as error:
            raise self._refusal(str(error)) from None

    def asked(self, values: Mapping[str, Any], evaluator: Evaluator | None = None) -> Array:
        """The same; what cannot be written out in one piece raises UntraceableError."""
        arrays = {name: object_array(list(values[name])).reshape(self.axes(name)) for name in self.inputs}
        try:
            with np.errstate(all="ignore"):
                return (evaluator or ScalarEvaluator(self.model)).evaluate(self.quantity, arrays, self.options)
        except (SingularHingeError, ModelError) as error:
            raise self._refusal(str(error)) from None

    def _refusal(self, why: str) -> RecursaError:
        return RecursaError(f"robot '{self.model.name}': {self.quantity.name} cannot be {self.wanted}: {why}")


# ---- equations to be read: quantities of a robot as SymPy formulas ---------------------------------------------------


class SymbolicMethods(Facade):
    """Equations to be read."""

    __slots__ = ()

    def symbolic(
        self,
        quantity: str | Quantity,
        *,
        constants: bool | Literal["central"] | Mapping[Any, Any] = False,
        simplify: bool = False,
        at: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> sympy.Matrix | sympy.Expr | sympy.ImmutableDenseNDimArray:
        """A quantity as formulas: a SymPy matrix; a vector is a column, a single number an expression.

        Arrays are symbols counted from 1, in the order of :attr:`q_names` and :attr:`v_names`: ``q1``, ``v1``, ``a1``,
        ``tau1``; others by their own names, matrices with two numbers, ``wrenches1_3``. The robot's numbers are exact
        fractions of what its file says. ``options`` are those of the quantity, ``method=`` among them; arrays that are
        optional there become symbols with ``wrenches=True``, ``parameters=True``.

        - ``constants=True``: the robot's numbers become symbols, too, where they are not 0: see
          :meth:`symbolic_constants`. Not for methods that move link frames onto joint axes, chapter 5 to 7 of the book.
        - ``constants="central"``: the same with the letters of textbooks: mass ``m1``, centre of mass ``cx1``, ``cy1``,
          ``cz1`` and moments about it, ``Jxx1`` ... ``Jzz1``.
        - ``constants={"lx2": "l_1", "gy": "-g"}``: formulas of your own (SymPy's, text or numbers) for some of the
          constants, by the names of :meth:`symbolic_constants`; the others stay numbers.
        - ``simplify=True``: products of sines and cosines are gathered into those of sums of angles. It takes seconds
          for three joints, and soon for ever.
        - ``at={"q": [theta, 0.5], "v": [0, 0]}``: numbers or expressions of your own for some of the arrays, such as
          functions of time.

        Three-dimensional answers are SymPy arrays. Needs the extra ``recursa[symbolic]``.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> arm.symbolic("mass_matrix", simplify=True)[1, 0]
        3*cos(q2)/200 + 1/120
        >>> arm.symbolic("gravity_forces", constants=True, simplify=True)[1]
        -gy*mx2*cos(q1 + q2)
        >>> arm.symbolic("gravity_forces", constants={"gy": "-g", "mx2": "m_2*c_2"}, simplify=True)[1]
        c_2*g*m_2*cos(q1 + q2)
        >>> arm.symbolic("gravity_forces", at={"q": [0, "theta"]}, simplify=True)[1]
        981*cos(theta)/2000
        """
        library = sympy_module()
        question = _SymbolicQuestion.of(self.model, quantity, options)
        letters = letters_of(self.model, constants)
        inputs = question.symbols(library, at or {})
        question.require_apart(inputs, letters)
        try:
            found = question.ask(inputs, SymbolicEvaluator(self.model, letters))
        except NoValueError as error:
            raise RecursaError(
                f"robot '{self.model.name}': {question.quantity.name} by this method needs numbers of the robot, and "
                f"{error}. Choose another method, or give values first: robot.with_values"
            ) from None
        entries = [gathered(expression_of(entry)) if simplify else expression_of(entry) for entry in found.ravel()]
        if found.ndim == 0:
            return entries[0]
        if found.ndim > 2:
            return library.ImmutableDenseNDimArray(entries, found.shape)
        rows, columns = found.shape if found.ndim == 2 else (len(entries), 1)
        return library.Matrix(rows, columns, entries)

    def symbolic_constants(self, *, central: bool = False) -> dict[sympy.Symbol, float]:
        """The symbols of ``symbolic(..., constants=True)`` with the robot's own numbers, for ``subs``.

        - ``lx2``, ``ly2``, ``lz2``: where the second joint sits in the link before it, m.
        - ``m1``, ``mx1``, ``my1``, ``mz1``, ``Ixx1``, ``Ixy1``, ``Iyy1``, ``Ixz1``, ``Iyz1``, ``Izz1``: mass, mass
          times centre of mass, moments about the link origin of the first body, in link axes.
        - ``armature1``, ``damping1``: of the first freedom; ``gx``, ``gy``, ``gz``: gravity in world axes.

        ``central=True``: those of ``constants="central"``. What is 0 has no symbol.

        >>> import recursa as rc
        >>> {str(symbol): round(number, 6) for symbol, number in rc.robots.planar(1).symbolic_constants().items()}
        {'m1': 0.5, 'mx1': 0.075, 'Iyy1': 0.015, 'Izz1': 0.015, 'gy': -9.81}
        """
        symbol = sympy_module().Symbol
        numbers = central_constants(self.model) if central else dict(constants_of(self.model))
        return {symbol(name): float(number) for name, number in numbers.items()}


class _SymbolicQuestion(ScalarQuestion):
    wanted = "had as formulas"

    def symbols(self, library: ModuleType, at: Mapping[str, Any]) -> dict[str, list[Any]]:
        """One for every number of every input, or what is given for it."""
        for name in at:
            if name not in self.inputs:
                raise unknown_name(f"array of {self.quantity.name}", str(name), self.inputs)
        return {
            name: self._given(library, name, at[name])
            if name in at
            else [Formula(library.Symbol(text)) for text in self._names(name)]
            for name in self.inputs
        }

    def _given(self, library: ModuleType, name: str, values: Any) -> list[Any]:
        """Numbers and expressions that somebody gave for an array."""
        axes = self.axes(name)
        found = np.array(values, dtype=object)
        if found.shape not in (axes, (*axes, 1)):
            raise ShapeError(f"at: {name} must have the shape {axes}, not {found.shape}")
        try:
            return [Formula(expression_of(library.sympify(x))) for x in found.ravel()]
        except (library.SympifyError, TypeError):
            raise StateError(f"at: {name} must be numbers and expressions of SymPy, not {values!r}") from None

    def require_apart(self, inputs: Mapping[str, Sequence[Formula]], letters: Mapping[str, Any]) -> None:
        """A symbol that means two things makes a wrong formula."""
        of_robot = {str(x) for x in symbols_of(self.model)}
        of_robot |= {str(x) for formula in letters.values() for x in getattr(formula, "free_symbols", ())}
        for name in self.inputs:
            both = [text for text in self._names(name) if text in of_robot]
            if both and any(str(x.of) in both for x in inputs[name]):
                raise RecursaError(
                    f"{both[0]} is an entry of {name} and also a symbol of the robot's numbers. Call one of them "
                    f"otherwise: at={{'{name}': [...]}} takes symbols of your own"
                )

    def _names(self, name: str) -> Iterator[str]:
        if name == "parameters":
            yield from (f"{letter}{k}" for k in range(1, self.model.nbodies + 1) for letter in TEN)
            return
        start = f"{name}_" if name[-1].isdigit() else name
        for place in np.ndindex(self.axes(name)):
            yield start + "_".join(str(number + 1) for number in place)
