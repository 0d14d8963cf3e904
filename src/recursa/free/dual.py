"""Both sides of every hinge of a free flyer: articulated inertias and residual forces outward and inward of it.

Jain & Rodriguez, Algorithms 2.2, 2.3, 3.1 and 3.2 and Lemmas 3.1, 3.2 and 4.1, from the messages of
``base_invariant.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import ArrayLike

from recursa.dynamics.articulated import BIAS_ACCELERATION, BIAS_FORCE, Elimination, completed
from recursa.dynamics.factorization import six_by_six
from recursa.dynamics.gathering import flat
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.losses import Losses, known_losses, less_losses
from recursa.dynamics.springs import acting, with_springs
from recursa.free.arguments import free_flyer
from recursa.free.base_invariant import LINK_ACCELERATION, Message, branches, messages
from recursa.model.free_flyer import require_free_flyer
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import ArticulatedInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

_INERTIAS, _FORCES = 4, 4  # of a hinge, in the order of Sides


class Sides(NamedTuple):
    """What a step knows of one hinge."""

    P: ArticulatedInertia
    P_plus: ArticulatedInertia
    S_plus: ArticulatedInertia
    S: ArticulatedInertia
    z: Force
    z_s: Force
    outboard: Force
    inboard: Force


def sides(
    here: Message,
    rest: Message,
    told: Message | None,
    done: tuple[Elimination, ...],
    bias: Motion,
    step: Transform,
    acceleration: Motion,
) -> Sides:
    """Both sides of a hinge; that of the base has nothing beyond it, so S is all there is."""
    behind = here.inertia
    for _, u, inverse_d in done:
        behind = behind.minus_dyad(u, u * inverse_d)
    return Sides(
        here.inertia,
        behind,
        rest.inertia if told is None else step.inverse.articulated(told.inertia),
        rest.inertia,
        here.force + here.inertia @ bias,
        rest.force,
        here.inertia @ acceleration + here.force,
        -(rest.inertia @ acceleration + rest.force),
    )


@cache
def dual_plan(*, branching: bool, wrenches: bool = False, losses: Losses = False) -> Plan:
    """Messages inward and outward, and what they say of every hinge."""
    buffers, send_in, send_out, tell = messages("T" if losses else "tau", branching=branching)
    collect = Step(
        sides,
        ("here", "rest", "told" if branching else "around@parent", "elimination", "c", "X", "alpha"),
        ("sides",),
        "P, P+, S+, S, z, z_s; f = P (alpha - a) + z, -f = S alpha + z_s    (20), (24)",
    )
    sweeps = (
        base_to_tip(RELATIVE, VELOCITY, BIAS_ACCELERATION, BIAS_FORCE),
        tip_to_base(*((less_losses(losses),) if losses else ()), *send_in),
        base_to_tip(*send_out, tell, LINK_ACCELERATION, collect),
    )
    return Plan(
        "both sides of hinges", (*buffers, Buffer("sides", ())), completed(sweeps, wrenches=wrenches, links=False)
    )


@with_springs(acting)
def _dual_quantities(of: Subject, given: Names, *, losses: Losses = False) -> Recipe:
    require_free_flyer(of.model, "rc.free.dual_quantities")
    plan = dual_plan(branching=branches(of.model), wrenches="wrenches" in given, losses=losses)
    return Recipe(plan, _rows, (of.model.nbodies, 6 * _INERTIAS + _FORCES, 6))


def _rows(values: Values) -> Iterator[Scalar]:
    for hinge in values.lists.get("sides", []):
        yield from flat(map(six_by_six, hinge[:_INERTIAS]))
        yield from flat(force.components() for force in hinge[_INERTIAS:])


DUAL_QUANTITIES = Quantity(
    "free.dual_quantities",
    ("q", "v", "tau"),
    _dual_quantities,
    "per body the rows of P, P+, S+ and S, then z, z_s and the force from both sides; SI, link axes at the link origin",
    optional=("wrenches",),
    reads={"wrenches": "wrench"},
    of_trees=True,
)


class DualQuantities(NamedTuple):
    """Both sides of every hinge, in link axes at the origin of its link.

    Inertias are (..., nbodies, 6, 6), forces (..., nbodies, 6). f is the wrench (moment, force) that the parent exerts
    on link k across hinge k, alpha the acceleration of the link relative to free fall, a = crm(V) H* v.

    - ``P``, ``z``: what lies outward of the hinge, link k included: ``f = P (alpha - a) + z``; ``P_plus`` is what is
      left of P behind the hinge, which the parent feels.
    - ``S``, ``z_s``: all the rest, as link k feels it across the hinge: ``-f = S alpha + z_s``; ``S_plus`` is the same
      before the hinge takes its part. At the base there is nothing beyond but the armature of its joint, if any.
    - ``outboard``, ``inboard``: f by the first and by the second; the same but for rounding.
    """

    P: Array
    P_plus: Array
    S_plus: Array
    S: Array
    z: Array
    z_s: Array
    outboard: Array
    inboard: Array

    @property
    def inertia(self) -> Array:
        """The operational inertia of every link, ``Lambda = P + S`` (..., nbodies, 6, 6): Lemma 4.1 (37)."""
        return self.P + self.S


def dual_quantities(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Any = None,
    losses: Losses = False,
    threads: int | None = None,
) -> DualQuantities:
    """What each hinge of a free flyer holds together, seen from both sides: Jain & Rodriguez (12)-(24).

    The articulated inertia P and residual z of the bodies outward of the hinge, the dual S and z_s of all the others,
    and the force across the hinge by either. ``wrenches`` and ``losses`` (True, "damping", "friction") as for
    :meth:`Robot.forward_dynamics`.
    Bodies are in the order of ``robot.joint_names``. Cost: O(n).

    >>> import numpy as np, recursa as rc
    >>> robot = rc.robots.free_flyer(2)
    >>> q, v = robot.random_state(1)
    >>> hinges = rc.free.dual_quantities(robot, q, v, np.zeros(8))
    >>> bool(np.allclose(hinges.inertia[-1], robot.operational_inertia(q, "link2")))     # Lambda = P + S
    True
    >>> bool(np.allclose(hinges.outboard, hinges.inboard))
    True
    """
    free_flyer(robot, "dual_quantities")
    arrays = {"q": q, "v": v, "tau": tau, "wrenches": wrenches}
    rows = robot.evaluator.evaluate(DUAL_QUANTITIES, arrays, {"losses": known_losses(losses)}, threads=threads)
    inertias = [rows[..., 6 * k : 6 * k + 6, :].copy() for k in range(_INERTIAS)]
    return DualQuantities(*inertias, *(rows[..., 6 * _INERTIAS + k, :].copy() for k in range(_FORCES)))
