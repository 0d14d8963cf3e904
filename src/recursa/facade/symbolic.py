"""Equations to be read: quantities of a robot as SymPy formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recursa.evaluation.facade import Facade
from recursa.evaluation.formulas import (
    TEN,
    Formula,
    SymbolicEvaluator,
    central_constants,
    constants_of,
    expression_of,
    gathered,
    letters_of,
    sympy_module,
)  # fmt: skip
from recursa.facade.asking import ScalarQuestion
from recursa.quantities import Quantity

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

        Three-dimensional answers are SymPy arrays. Needs the extra ``recursa[symbolic]``.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> arm.symbolic("mass_matrix", simplify=True)[1, 0]
        3*cos(q2)/200 + 1/120
        >>> arm.symbolic("gravity_forces", constants=True, simplify=True)[1]
        -gy*mx2*cos(q1 + q2)
        >>> arm.symbolic("gravity_forces", constants={"gy": "-g", "mx2": "m_2*c_2"}, simplify=True)[1]
        c_2*g*m_2*cos(q1 + q2)
        """
        library = sympy_module()
        question = _SymbolicQuestion.of(self.model, quantity, options)
        evaluator = SymbolicEvaluator(self.model)
        evaluator.letters = letters_of(self.model, constants)
        found = question.ask(question.symbols(library), evaluator)
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

    def symbols(self, library: ModuleType) -> dict[str, list[Any]]:
        """One for every number of every input."""
        return {name: [Formula(library.Symbol(text)) for text in self._names(name)] for name in self.inputs}

    def _names(self, name: str) -> Iterator[str]:
        if name == "parameters":
            yield from (f"{letter}{k}" for k in range(1, self.model.nbodies + 1) for letter in TEN)
            return
        start = f"{name}_" if name[-1].isdigit() else name
        for place in np.ndindex(self.axes(name)):
            yield start + "_".join(str(number + 1) for number in place)
