"""Free flyers: two directed messages across every hinge, and every link's acceleration and inertia from its own two.

Jain & Rodriguez, "Base-Invariant Symmetric Dynamics of Free-Flying Manipulators". P(k) and z(k) say how what lies
outward of hinge k answers a motion there, S(k) and s(k) the same of all the rest, seen from link k:

    f = P (alpha - a) + z        -f = S alpha + s        f: the force that the parent exerts on link k

The first go inward (2.2, 2.3), the second outward (3.1, 3.2); neither needs the other, and no link is special. In a
tree a link sends each of its neighbours the sum of what the others sent it, by running sums from both sides: taking the
receiver's own part off the total would lose digits where masses differ. All external wrenches, that on the base
included, are in b; then the messages from beyond the tips and from beyond the base are zero. Armature A adds to D in
both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from recursa.dynamics.articulated_bodies import (
    ARTICULATED_BUFFERS,
    BIAS_ACCELERATION,
    BIAS_FORCE,
    Elimination,
    completed,
    eliminate,
    filtered,
    smoothed,
)
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.needs import divides_by_hinges
from recursa.dynamics.wrenches import Losses, driving
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import SymMat3
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base


class Message(NamedTuple):
    """How a part of the mechanism answers an acceleration of the link that holds it: force = inertia alpha + force."""

    inertia: ArticulatedInertia
    force: Force

    def __add__(self, other: Message) -> Message:  # type: ignore[override]
        return Message(self.inertia + other.inertia, self.force + other.force)

    @staticmethod
    def zero() -> Message:
        """From where there is nothing."""
        return Message(ArticulatedInertia.zero(), Force.zero())


def branches(model: Model) -> bool:
    """Whether a link carries more than one joint, so that its messages have to be told apart."""
    parents = [joint.parent for joint in model.joints]
    return len(set(parents)) < len(parents)


# ---- inward: Algorithms 2.2 and 2.3a, with the messages kept apart --------------------------------------------------


@divides_by_hinges
def inward(
    joint: Joint,
    outboard: Message,
    inertia: RigidInertia,
    own: Force,
    bias: Motion,
    torque: Sequence[Scalar],
    step: Transform,
) -> tuple[Message, tuple[Elimination, ...], tuple[Scalar, ...], Message]:
    """The link with all that it carries, (P, y); its hinge eliminated, D and G; nu; and what its parent feels."""
    P, done, carried = eliminate(joint, outboard.inertia, inertia, step)
    y = own + outboard.force
    nu, z = filtered(done, torque, y + P @ bias)
    return Message(P, y), done, nu, Message(carried, step.force(z))


@divides_by_hinges
def inward_from_branch(
    joint: Joint,
    outboard: Message,
    inertia: RigidInertia,
    own: Force,
    bias: Motion,
    torque: Sequence[Scalar],
    step: Transform,
) -> tuple[Message, tuple[Elimination, ...], tuple[Scalar, ...], Message, Message]:
    """The same where a link has several children: what its parent feels is kept, for its siblings."""
    here, done, nu, sent = inward(joint, outboard, inertia, own, bias, torque, step)
    return here, done, nu, sent, sent


def from_younger(sent: Message | None, before: Message | None) -> Message | None:
    """What all later children of the parent send it; None if this is the last one."""
    return sent if before is None or sent is None else sent + before


# ---- outward: Algorithms 3.1 and 3.2a --------------------------------------------------------------------------------


def from_world(joint: Joint, torque: Sequence[Scalar], rising: Motion) -> Message:
    """What a free base feels from the world: its torque, and its rotors, ``-f = A (alpha - phi* alpha(world)) - T``."""
    rotors, push = base_rotors(joint), Force.of(torque)
    if joint.after is not None:
        push = joint.after.inverse_force(push)
    return Message(rotors, -(rotors @ rising) - push)


def base_rotors(joint: Joint) -> ArticulatedInertia:
    """The armature A of a free joint as an inertia at its link."""
    w, v = (SymMat3.diagonal(*joint.armature[i : i + 3]) for i in (0, 3))
    rotors = ArticulatedInertia(w, Mat3.zero(), v)
    return rotors if joint.after is None else joint.after.inverse.articulated(rotors)


def across(
    joint: Joint, around: Message, bias: Motion, torque: Sequence[Scalar], step: Transform
) -> tuple[Message, tuple[Elimination, ...], tuple[Scalar, ...]]:
    """A message taken outward over a hinge: S, s; G_s; nu_s.

    ``S+ = phi^-1 X phi^-*``, ``z+ = phi^-1 y - S+ a``, ``D_s = H S+ H* + A``, ``G_s = -S+ H* inv(D_s)``. Freedom by
    freedom it is the elimination of :func:`eliminate` with the motion of the hinge turned round.
    """
    back = step.inverse
    rest = back.articulated(around.inertia)
    z = back.force(around.force) - rest @ bias
    done, nu = [], []
    for column, rotor, t in zip(joint.columns(), joint.armature, torque, strict=True):
        u = rest @ -column
        inverse_d = 1.0 / (rotor - column.dot(u))  # D_s = H S+ H* + A
        done.append(Elimination(-column, u, inverse_d))
        nu.append((t + column.dot(z)) * inverse_d)  # eps_s = T + H z+
        z = z + u * nu[-1]  # s = z+ + G_s eps_s
        rest = rest.minus_dyad(u, u * inverse_d)
    return Message(rest, z), tuple(done), tuple(nu)


@divides_by_hinges
def outward(
    joint: Joint, above: Message | None, bias: Motion, torque: Sequence[Scalar], parent: Motion, step: Transform
) -> Message:
    """(S, s) of a link from all that its parent feels but for this link; at the base, from the world."""
    if above is None:
        return from_world(joint, torque, step.inverse_motion(parent))
    return across(joint, above, bias, torque, step)[0]


def around_child(inertia: RigidInertia, own: Force, rest: Message) -> Message:
    """What the only child of a link is to be told: the link and all the rest, ``M + S``, ``b + s``."""
    return Message(ArticulatedInertia.from_rigid(inertia), own) + rest


def from_elder(around: Message | None, sent: Message | None, before: Message | None) -> Message | None:
    """What the parent feels but for its children from this one on; None at the base."""
    return around if sent is None or before is None else before + sent


def all_but_one(elder: Message | None, younger: Message | None) -> Message | None:
    """All that the parent feels but for this child."""
    return elder if elder is None or younger is None else elder + younger


# ---- every link by itself: Lemma 3.2 ---------------------------------------------------------------------------------


@divides_by_hinges
def link_acceleration(here: Message, rest: Message) -> Motion:
    """``alpha = -inv(P + S) (y + s)``."""
    felt = here + rest
    return -felt.inertia.solve(felt.force)


def hinge_acceleration(
    joint: Joint,
    done: tuple[Elimination, ...],
    nu: Sequence[Scalar],
    bias: Motion,
    step: Transform,
    own: Motion,
    parent: Motion,
) -> tuple[Scalar, ...]:
    """``qdd = nu - G* phi* alpha(parent)``; of a free joint what the link has beyond its parent's acceleration."""
    up = step.inverse_motion(parent)
    if joint.kind.nv < 6:
        return smoothed(done, nu, up)[0]
    beyond = own - up - bias
    return (beyond if joint.after is None else joint.after.motion(beyond)).components()


# ---- plans -----------------------------------------------------------------------------------------------------------

BUFFERS = (
    *ARTICULATED_BUFFERS,
    Buffer("here", Message.zero()),
    Buffer("rest", Message.zero()),
    Buffer("around", None),
)
LINK_ACCELERATION = Step(link_acceleration, ("here", "rest"), ("alpha",), "alpha = -inv(P + S) (y + s)    (25)")
HINGE_ACCELERATION = Step(
    hinge_acceleration,
    ("joint", "elimination", "nu", "c", "X", "alpha", "alpha@parent"),
    ("qdd",),
    "qdd = nu - G* phi* alpha(parent)    (26)",
)


def messages(torque: str, *, branching: bool) -> tuple[tuple[Buffer, ...], tuple[Step, ...], tuple[Step, ...], Step]:
    """Buffers; the steps inward; the steps outward, and what each link then tells its children."""
    told = "P = M + sum of phi P+ phi*, y = b + sum of phi z+; D, G; nu = inv(D)(T - H (y + P a))    (12), (13a)"
    heard = "S+ = phi^-1 (M + S + others) phi^-*, S = (1 + G_s H) S+, s = z+ + G_s eps_s    (16), (18a)"
    at_link = ("joint", "out", "inertia", "f", "c", torque, "X")
    beside_what_is_told = ("c", torque, "alpha@parent", "X")
    tell = Step(around_child, ("inertia", "f", "rest"), ("around",), "to the children: M + S, b + s")
    buffers = (*BUFFERS, Buffer("out", Message.zero()))
    if not branching:
        send_in = Step(inward, at_link, ("here", "elimination", "nu", "out@parent"), told)
        send_out = Step(outward, ("joint", "around@parent", *beside_what_is_told), ("rest",), heard)
        return buffers, (send_in,), (send_out,), tell
    return (
        (*buffers, *(Buffer(name, None) for name in ("sent", "younger", "elder", "told"))),
        (
            Step(inward_from_branch, at_link, ("here", "elimination", "nu", "sent", "out@parent"), told),
            Step(from_younger, ("sent@younger", "younger@younger"), ("younger",), "what later siblings send"),
        ),
        (
            Step(from_elder, ("around@parent", "sent@elder", "elder@elder"), ("elder",), "M + S + earlier siblings"),
            Step(all_but_one, ("elder", "younger"), ("told",), "all that the parent feels but for this child"),
            Step(outward, ("joint", "told", *beside_what_is_told), ("rest",), heard),
        ),
        tell,
    )


def message_plan(
    name: str,
    first: tuple[Step, ...],
    last: tuple[Step, ...],
    own: tuple[Buffer, ...] = (),
    *,
    branching: bool,
    torque: str = "T",
    drive: tuple[Step, ...] = (),
    falling: bool = True,
    wrenches: bool = False,
    links: bool = False,
) -> Plan:
    """Steps that make X, c, f and torques of every link; messages inward and outward; steps that follow from alpha.

    ``branching``: for trees; chains need not tell children apart. ``falling``: the world rises, in place of gravity.
    """
    buffers, send_in, send_out, tell = messages(torque, branching=branching)
    if not falling:
        buffers = tuple(Buffer("alpha", Motion.zero()) if b.name == "alpha" else b for b in buffers)
    present = {buffer.name for buffer in buffers}
    sweeps = (
        base_to_tip(*first),
        tip_to_base(*drive, *send_in),
        base_to_tip(*send_out, tell, LINK_ACCELERATION, *last),
    )
    own = tuple(b for b in own if b.name not in present)
    return Plan(name, (*buffers, *own), completed(sweeps, wrenches=wrenches, links=links))


@cache
def base_invariant_plan(
    *, branching: bool, wrenches: bool = False, links: bool = False, losses: Losses = False, springs: bool = False
) -> Plan:
    """Algorithm 3.3: velocities and bias terms; messages inward and outward; every link by itself."""
    drive, torque = driving(losses, springs)
    return message_plan(
        "forward_dynamics, base invariant",
        (RELATIVE, VELOCITY, BIAS_ACCELERATION, BIAS_FORCE),
        (HINGE_ACCELERATION,),
        branching=branching, torque=torque, drive=drive, wrenches=wrenches, links=links,
    )  # fmt: skip
