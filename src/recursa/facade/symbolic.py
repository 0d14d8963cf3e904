"""Equations to be read: quantities of a robot as SymPy formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recursa.errors import NoValueError, RecursaError, ShapeError, StateError, unknown_name
from recursa.evaluation.facade import Facade
from recursa.evaluation.formulas import (
    TEN,
    SymbolicEvaluator,
    central_constants,
    constants_of,
    gathered,
    letters_of,
)  # fmt: skip
from recursa.facade.asking import ScalarQuestion
from recursa.model.symbols import symbols_of
from recursa.quantities import Quantity
from recursa.spatial.formulas import Formula, expression_of, sympy_module

if TYPE_CHECKING:
    import sympy


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
