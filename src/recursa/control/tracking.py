"""How far a state is from a desired one, on joints of every kind.

On spherical, planar and free joints v and v_d are in different axes, those of q and of q_d. With ``q_d = q g``,
``g = exp(x)``, the desired motion seen from q is ``Ad_g v_d``, and its rate ``Ad_g a_d - [v, Ad_g v_d]``: the command
``a = Ad_g a_d - [v, Ad_g v_d] + damping e_v + stiffness x`` with ``e_v = Ad_g v_d - v`` makes ``e_v' = -damping e_v -
stiffness x`` exactly. ``x' = ad / (exp(ad) - 1) e_v``, which is e_v to first order in x. On all other joints that is
``x = q_d - q``, ``x' = v_d - v`` and the usual law.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from recursa.dynamics.configuration_derivatives import approach, carried, pulled
from recursa.dynamics.gathering import in_turn
from recursa.dynamics.joint_space import FORCES
from recursa.model.model import Joint
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step, base_to_tip

Numbers = tuple[Scalar, ...]


def seen(
    joint: Joint,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    q_d: Sequence[Scalar],
    v_d: Sequence[Scalar],
    a_d: Sequence[Scalar],
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """``x``, ``e_v``, ``(Ad v_d)'`` and ``x'``, in the axes of q; nothing for a tied joint."""
    if not joint.independent:
        return (), (), (), ()
    kind = joint.kind
    x = kind.difference(q, q_d)
    moved, faster = carried(kind, x, v_d), carried(kind, x, a_d)
    turning = kind.bracket(v, moved)
    if turning is not None:
        faster = tuple(a - b for a, b in zip(faster, turning, strict=True))
    off = tuple(a - b for a, b in zip(moved, v, strict=True))
    return tuple(x), off, faster, approach(kind, x, off)


def pull(joint: Joint, q: Sequence[Scalar], q_d: Sequence[Scalar], y: Sequence[Scalar]) -> Numbers:
    """Forces at q that do the work of y along x."""
    return pulled(joint.kind, joint.kind.difference(q, q_d), y) if joint.independent else ()


_PARTS = ("x", "off", "faster", "rate")
_TRACKING_PLAN = Plan(
    "tracking",
    tuple(Buffer(name, ()) for name in _PARTS),
    (
        base_to_tip(
            Step(
                seen,
                ("joint", "q", "v", "q1", "joint:v_d", "joint:a_d"),
                _PARTS,
                "x = log(q^-1 q_d), Ad v_d - v, (Ad v_d)', x'",
            )
        ),
    ),
)
_PULL_PLAN = Plan(
    "pull",
    (Buffer("T", ()),),
    (base_to_tip(Step(pull, ("joint", "q", "q1", "joint:y"), ("T",), "T = -(dx/dq)* y")),),
)


def _tracking(of: Subject, given: Names) -> Recipe:
    return Recipe(_TRACKING_PLAN, partial(in_turn, _PARTS), (4, of.model.nv))


def _pull(of: Subject, given: Names) -> Recipe:
    return Recipe(_PULL_PLAN, partial(in_turn, ("T",)), (of.model.nv,))


_READS = {"q_d": "q1", "v_d": "joint:v_d", "a_d": "joint:a_d"}
_WORDS = {"q_d": "desired coordinates", "v_d": "desired speeds, in the axes of q_d", "a_d": "desired accelerations"}
TRACKING = Quantity(
    "control.tracking",
    ("q", "v", "q_d", "v_d", "a_d"),
    _tracking,
    "from q to q_d; desired less actual speeds; what is fed forward; the rate of the first: each with places as in v",
    reads=_READS,
    words=_WORDS,
)
PULL = Quantity(
    "control.pull",
    ("q", "q_d", "y"),
    _pull,
    FORCES,
    reads={"q_d": "q1", "y": "joint:y"},
    words={"q_d": "desired coordinates", "y": "forces along difference(q, q_d), places as in v"},
)
