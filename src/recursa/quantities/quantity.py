"""A quantity as data: what can be asked of a robot, what it takes, and how its options choose a plan.

A record stands at the end of the module whose algorithm it names. Whoever needs to know which quantities there are,
what they take and what they return (a robot's methods, export to C, counting, benchmarks, tests) reads these records;
how one is computed is said nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, Literal, NamedTuple

from recursa.errors import RecursaError, unknown_name
from recursa.kernels.loop import Looped
from recursa.model.canonical import canonical
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array
from recursa.sweeps.engine import Values
from recursa.sweeps.input_kinds import InputKind, find_kind_of_input, kind_of_input
from recursa.sweeps.plan import Plan

Gather = Callable[[Values], Iterable[Scalar]]
Form = Literal["straight", "loop"]
Names = frozenset[str]  # the optional arrays that are


class Refusal(NamedTuple):
    """A quantity that would answer for the open tree: robots with constraints are told what to use ``instead``."""

    instead: str


OnConstraints = Literal["tree", "obeys"] | Refusal


class Subject:
    """The robot that is asked: its model, and the same mechanism with link frames on the joint axes."""

    __slots__ = ("_on_axes", "model")

    def __init__(self, model: Model, on_axes: Model | None = None) -> None:
        self.model, self._on_axes = model, on_axes

    @property
    def on_axes(self) -> Model:
        """Made once, when a method first needs it."""
        if self._on_axes is None:
            self._on_axes = canonical(self.model)
        return self._on_axes

    @property
    def tied(self) -> bool:
        """Whether some joint moves with another."""
        return any(not joint.independent for joint in self.model.joints)


@dataclass(frozen=True)
class Cheaper:
    """Another plan for the same result with fewer operations, for kernels. What may move may be another thing, too.

    ``plan`` is given the model as moved, and says None where it does not apply.
    """

    may_move: MayMove
    plan: Callable[[Model], Plan | None]


@dataclass(frozen=True)
class Composed:
    """A quantity made of others: ``make(others, **arguments)``; ``others`` evaluates them on the same numbers."""

    make: Callable[..., Array]


@dataclass(frozen=True)
class Recipe:
    """How a quantity with certain options is computed for one model.

    - ``plan`` and ``gather``: the sweeps, and which of their values are the result's entries, in C order.
    - ``shape``: of the result, after the batch axes.
    - ``may_move``: what a kernel may move, because the result does not depend on it.
    - ``cheaper``: a plan that kernels use instead, where it applies.
    - ``looped``: what kernels that loop over bodies are made of, where that is another plan.
    - ``apart``: what makes the result of other quantities where one kernel would be too long, and where nothing is
      compiled for many bodies.
    - ``form``: the form of code that kernels must have.
    - ``on_axes``: the plan is for the model with its link frames on the joint axes, whether compiled or not.
    - ``lenient``: what is not finite is the caller's business, who knows better than to blame the robot.
    - ``require``: raises where it does not make sense for a model; called after what the model lacks is known.
    - ``check``: looks at the arguments of each call, by the names of the plan's inputs.
    - ``singular``: what to raise where finite arguments give something that is not finite.
    - ``pivots``: ``pivots(result, cheaper)`` are entries of a large result that are not finite where a hinge inertia is
      zero, if all need not be looked at; ``cheaper`` says whether a kernel made it by the cheaper plan.
    """

    plan: Plan
    gather: Gather
    shape: tuple[int, ...]
    may_move: MayMove = MayMove.NOTHING
    cheaper: Cheaper | None = None
    looped: Looped | None = None
    apart: Composed | None = None
    form: Form | None = None
    on_axes: bool = False
    lenient: bool = False
    require: Callable[[Model], None] | None = None
    check: Callable[[Mapping[str, Any]], None] | None = None
    singular: Callable[[Model], RecursaError] | None = None
    pivots: Callable[[Array, bool], Array] | None = None


@dataclass(frozen=True, eq=False)
class Quantity:
    """Something that can be asked of a robot.

    - ``name``: that of the method which answers it.
    - ``inputs``: the arrays that must be given, by the names that callers know; ``optional``: those that may be.
    - ``recipe``: ``recipe(subject, given, **options)``, with the set of optional arrays that are given.
    - ``units``: of the result, and its axes; "{frame}" stands for what the option of that name means.
    - ``reads``: where plans know an array by another name; ``words``: what the numbers of such an array are.
    - ``fixed``: options that are not for callers to choose.
    - ``exported``: whether C can have it.
    - ``on_constraints``: what a robot with constraints gets. "tree" is an answer that constraints do not change by
      definition, in the coordinates of the tree (the mass matrix, poses, energies). "obeys" is an answer that obeys the
      constraints. A :class:`Refusal` is an error that names what to call instead.
    - ``of_joints``: whether it is about joints alone, wherever link frames are: the tables of the papers count such.

    >>> from recursa.dynamics.inverse import GRAVITY_FORCES
    >>> GRAVITY_FORCES
    <quantity gravity_forces(q)>
    """

    name: str
    inputs: tuple[str, ...]
    recipe: Callable[..., Recipe | Composed]
    units: str
    optional: tuple[str, ...] = ()
    reads: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    exported: bool = True
    of_joints: bool = False
    on_constraints: OnConstraints = "tree"

    def __post_init__(self) -> None:
        known = _REGISTRY.setdefault(self.name, self)
        if known is not self:
            raise RecursaError(f"there is a quantity '{self.name}' already. Give this one another name")

    def __repr__(self) -> str:
        return f"<quantity {self.name}({', '.join((*self.inputs, *(f'{name}=' for name in self.optional)))})>"

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by the names that plans know."""
        return {self.reads.get(name, name): value for name, value in arguments.items()}

    @property
    def labels(self) -> dict[str, str]:
        """The names that callers know, by those of plans, where they differ."""
        return {own: name for name, own in self.reads.items()}

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """All that it takes, what must be given first."""
        return (*self.inputs, *self.optional)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """The arrays that are configurations of the robot.

        >>> quantity("interpolate").coordinates
        ('q0', 'q1')
        """
        kinds = {name: find_kind_of_input(self.reads.get(name, name)) for name in self.arrays}
        return tuple(name for name, kind in kinds.items() if name == "q0" or (kind is not None and kind.coordinates))

    @cached_property
    def options(self) -> dict[str, Parameter]:
        """What may be chosen, as the recipe has it."""
        known = signature(self.recipe).parameters.items()
        return {name: item for name, item in known if item.kind is item.KEYWORD_ONLY and name not in self.fixed}

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Options that need not be given, with what they then are.

        >>> quantity("velocities").defaults
        {'frame': 'body'}
        """
        chosen = {name: item.default for name, item in self.options.items() if item.default is not item.empty}
        return {**chosen, **self.fixed}

    @cached_property
    def lasting(self) -> bool:
        """Whether it stands in a module of this package, which decides all about it."""
        home = __name__.partition(".")[0] + "."
        own = [module for name, module in tuple(sys.modules.items()) if module and name.startswith(home)]
        return any(item is self for module in own for item in tuple(vars(module).values()))

    def kind(self, name: str) -> InputKind:
        """The kind of input that one of its arrays is.

        >>> from recursa.diagonal.diagonal_quantities import JOINT_RATES
        >>> JOINT_RATES.kind("nu").name, JOINT_RATES.says("nu")
        ('joint:', 'total joint rates in sqrt(J), places as in v')
        """
        return kind_of_input(self.reads.get(name, name))

    def says(self, name: str) -> str:
        """What the numbers of one of its arrays are."""
        return self.words.get(name) or self.kind(name).words or self.kind(name).meaning


_REGISTRY: dict[str, Quantity] = {}


def quantity(name: str) -> Quantity:
    """The record of that name."""
    if name not in _REGISTRY:
        raise unknown_name("quantity", name, _REGISTRY)
    return _REGISTRY[name]


def find(name: str) -> Quantity | None:
    """The record of that name, if there is one."""
    return _REGISTRY.get(name)


def quantities() -> tuple[Quantity, ...]:
    """All records there are, in the order in which they were made."""
    return tuple(_REGISTRY.values())
