"""SymbolicRobot: a robot whose numbers are symbols, in part or all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recursa.errors import ModelError, NoValueError, shortened, unknown_name
from recursa.examination import examined
from recursa.facade.asking import exported
from recursa.model.assemble import assemble
from recursa.model.columns import symbols_of, with_values
from recursa.model.model import Model
from recursa.robot import Robot
from recursa.spatial.scalars import listed, sympy_module

if TYPE_CHECKING:
    import sympy

_KNOWN = frozenset((
    "is_floating", "joint_names", "link_names", "name", "nbodies", "nlinks", "nq", "nv", "q_names", "q_units",
    "symbolic", "v_names", "v_units",
))  # fmt: skip
"""What needs no numbers."""
_OWN = ("symbols", "with_values", "gravity")


class SymbolicRobot(Robot):
    """A robot with symbols for masses, lengths, inertias, angles or gravity: it answers in formulas.

    :func:`recursa.from_dh` and :class:`recursa.Builder` make one where SymPy's symbols stand among their numbers.
    :meth:`symbolic` gives every quantity, the names and sizes are there, and :meth:`with_values` makes a robot of
    numbers. Whatever needs numbers is refused with a :class:`recursa.NoValueError`, which names the symbols.

    >>> import recursa as rc, sympy as sp
    >>> m, l, g = sp.symbols("m l g", positive=True)
    >>> pendulum = rc.from_dh([rc.DHLink(a=l, mass=m)], convention="standard", name="pendulum", gravity=(0, -g, 0))
    >>> pendulum
    <SymbolicRobot 'pendulum': 1 bodies, nq=1, nv=1, 2 links; symbols g, l, m>
    >>> isinstance(pendulum, rc.SymbolicRobot)
    True
    >>> pendulum.symbolic("inverse_dynamics")[0]
    l*m*(a1*l + g*cos(q1))
    >>> pendulum.with_values({m: 2.0, l: 0.5, g: 9.81}).inverse_dynamics([0.0], [0.0], [0.0])
    array([9.81])
    """

    __slots__ = ("_plain",)

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._plain = Robot(model)  # answers what needs no numbers

    def __getattribute__(self, name: str) -> Any:
        if name in _KNOWN:
            return getattr(self._plain, name)
        if name.startswith("_") or name in _OWN or not hasattr(Robot, name):
            return super().__getattribute__(name)
        model: Model = self._plain.model
        unknown = sorted(map(str, symbols_of(model)))
        raise NoValueError(
            f"robot '{model.name}': {name} needs numbers, and there are symbols: {shortened(unknown)}. Give them "
            f'values, robot.with_values({{"{unknown[0]}": ...}}), or ask for formulas, '
            f"robot.symbolic({repr(name) if name in exported() else '...'})"
        )

    def __dir__(self) -> list[str]:
        return [*(name for name in object.__dir__(self) if name.startswith("_")), *_KNOWN, *_OWN]

    def __repr__(self) -> str:
        return f"<Symbolic{repr(self._plain)[1:-1]}; symbols {listed(self.symbols)}>"

    def _repr_html_(self) -> str:
        return repr(self).replace("<", "&lt;").replace(">", "&gt;")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolicRobot) and self._plain == other._plain

    def __hash__(self) -> int:
        return hash(self._plain)

    def __reduce__(self) -> tuple[Any, ...]:
        return (SymbolicRobot, (self._plain.model,))

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """The symbols that have no value, by name.

        >>> import recursa as rc, sympy as sp
        >>> rc.Builder("ball").link("ball", mass=sp.Symbol("m")).joint("x", "prismatic", parent="world",
        ...     child="ball").build().symbols
        (m,)
        """
        return tuple(sorted(symbols_of(self._plain.model), key=str))

    @property
    def gravity(self) -> Any:
        """Acceleration of gravity in world axes, numbers and expressions."""
        return tuple(getattr(x, "of", x) for x in self._plain.gravity)

    def with_values(self, values: Mapping[Any, Any], *, strict: bool = True) -> Robot:
        """The robot with values for some of its symbols, or all: then it is a :class:`Robot` that computes in numbers.

        ``values`` are numbers or other expressions of SymPy, by symbol or by its name. ``strict`` as in
        :func:`recursa.load`: refuse numbers that mean nothing, once all are there.

        >>> import recursa as rc, sympy as sp
        >>> m, l = sp.symbols("m l")
        >>> arm = rc.from_dh([rc.DHLink(a=l, mass=m, com=(-l / 2, 0, 0))] * 2, convention="standard")
        >>> arm.with_values({"l": 0.5}).symbols
        (m,)
        >>> arm.with_values({"l": 0.5, m: 1.0}).mass_matrix([0.0, 0.0]).round(4)
        array([[0.625 , 0.1875],
               [0.1875, 0.0625]])
        """
        library, model = sympy_module(), self._plain.model
        by_name: dict[str, list[Any]] = {}
        for symbol in self.symbols:
            by_name.setdefault(str(symbol), []).append(symbol)
        found: dict[Any, Any] = {}
        for name, value in values.items():
            if str(name) not in by_name:
                raise unknown_name("symbol", str(name), by_name, owner=f"robot '{model.name}'")
            try:
                number = library.sympify(value, strict=True)  # text is not taken for a formula
                sound = (
                    isinstance(number, library.Expr) and number.is_finite is not False and not number.has(library.nan)
                )
            except (library.SympifyError, TypeError):
                sound = False
            if not sound:
                raise ModelError(
                    f"the value of {name} must be a finite number or an expression of SymPy, not {value!r}"
                )
            found |= dict.fromkeys(by_name[str(name)], number)
        return robot_of(
            assemble(
                with_values(model.description, found),
                gravity=with_values(model.gravity, found),
                floating=model.floating,
                mimic=model.mimic,
            ),
            strict,
        )


def robot_of(model: Model, strict: bool) -> Robot:
    """The robot of a model that users built, with symbols or without."""
    return SymbolicRobot(model) if symbols_of(model) else examined(model, strict, depth=2)
