"""Where the ends of loops and contacts are, as numbers that steps at other bodies read.

A closing is about two links, and a step sees one: what is known of each is put down for the robot, twelve numbers of
its pose in the world, six of its velocity, six of its acceleration, and twelve of its place in the axes that sums over
bodies are made in, where these are not the world's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from recursa.dynamics.kinematics import LINK_POSE, link_motion
from recursa.model.constraint_equations import NO_LINK, Closing
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial.inertia import Motion
from recursa.spatial.scalars import Scalar, one_operand
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import ZERO
from recursa.sweeps import Buffer, Step, Sweep, each_link
from recursa.walks.jacobians import free_root


@one_operand
class Numbers(NamedTuple):
    """Numbers that are added one by one."""

    entries: tuple[Scalar, ...]

    def __add__(self, other: Numbers) -> Numbers:  # type: ignore[override]
        return Numbers(tuple(a + b for a, b in zip(self.entries, other.entries, strict=True)))

    @staticmethod
    def zero(count: int) -> Numbers:
        """So many zeros."""
        return Numbers((0.0,) * count)

    @staticmethod
    def at(count: int, start: int, entries: Sequence[Scalar]) -> Numbers:
        """Zero but for some."""
        return Numbers((0.0,) * start + tuple(entries) + (0.0,) * (count - start - len(entries)))


POSE, TWIST, ACCELERATION = 1, 2, 3  # how much is put down
_SIZES = {POSE: 12, TWIST: 18, ACCELERATION: 24}
_WITH_PLACE = 36


class End(NamedTuple):
    """A link: its pose, and if known its velocity and acceleration in link axes.

    ``place``: where it is in the axes in which its wrenches are wanted; else that is its pose.
    """

    pose: Transform
    velocity: Motion
    acceleration: Motion
    place: Transform

    @staticmethod
    def of(numbers: Sequence[Scalar]) -> End:
        """From what was put down."""
        pose = _transform(numbers[:12])
        given = (*numbers[12:24], *(0.0,) * (24 - len(numbers)))
        place = _transform(numbers[24:]) if len(numbers) == _WITH_PLACE else pose
        return End(pose, Motion.of(given[:6]), Motion.of(given[6:12]), place)


def _transform(numbers: Sequence[Scalar]) -> Transform:
    return Transform.from_matrix([numbers[k : k + 4] for k in (0, 4, 8)])


# ---- in link axes ----------------------------------------------------------------------------------------------------


def placed(parent: Transform, step: Transform) -> Transform:
    """Pose of a body in the world, also where frames have been moved onto axes."""
    return parent @ step.general()


PLACED = Step(placed, ("W@parent", "X"), ("W",), "W(k) = W(parent) X")


def put_down(pose: Transform, *motions: Motion) -> Numbers:
    """The numbers of a link."""
    rows = pose.rows()[:3]
    return Numbers((*(x for row in rows for x in row), *(x for one in motions for x in one.components())))


_LINK_VELOCITY = Step(link_motion, ("V@body", "offset"), ("end V",), "V(link) = phi* V(body)")


def _link_acceleration(source: str) -> Step:
    return Step(link_motion, (f"{source}@body", "offset"), ("end A",), "alpha(link) = phi* alpha(body)")


def end_buffer(link: int, then: bool = False) -> str:
    """Where a link is put down; ``then``: once more, when it is known how it accelerates."""
    return f"end{link} then" if then else f"end{link}"


def ends_of(model: Model) -> tuple[int, ...]:
    """The links that closings are about, in order."""
    closings = (one for one in model.equations if isinstance(one, Closing))
    return tuple(sorted({link for one in closings for link in one.links if link != NO_LINK}))


def put_down_ends(
    model: Model, known: int, acceleration: str = "alpha"
) -> tuple[tuple[Sweep, ...], tuple[Buffer, ...]]:
    """Sweeps that put down all ends: poses, with TWIST velocities, with ACCELERATION what a buffer says, too."""
    motions = (_LINK_VELOCITY, _link_acceleration(acceleration))[: known - POSE]
    names = ("L", "end V", "end A")[:known]
    sweeps = tuple(
        each_link(LINK_POSE, *motions, Step(put_down, names, (f"{end_buffer(link)}@robot",), "an end"), only=(link,))
        for link in ends_of(model)
    )
    buffers = (
        *(Buffer(end_buffer(link), Numbers.zero(_SIZES[known])) for link in ends_of(model)),
        *(Buffer(name, Motion.zero()) for name in names[1:]),
    )
    return sweeps, buffers


# ---- in root axes ----------------------------------------------------------------------------------------------------


def root_pose(joint: Joint, parent: Transform, step: Transform) -> Transform:
    """Where in the world the axes are in which a tree adds up: those of its free base, else the world's."""
    return step.general() if free_root(joint) else parent


ROOT = Step(root_pose, ("joint", "root@parent", "X"), ("root",), "the axes of the root, in the world")


def put_down_in_root(
    root: Transform, body: Transform, velocity: Motion, acceleration: Motion, offset: Transform
) -> Numbers:
    """The numbers of a link whose body is known in the axes of the root."""
    place = body @ offset
    pose, moving = root @ place, (place.inverse_motion(velocity), place.inverse_motion(acceleration))
    return Numbers((*put_down(pose, *moving).entries, *put_down(place).entries))


def put_down_ends_in_root(model: Model, then: bool = False) -> tuple[tuple[Sweep, ...], tuple[Buffer, ...]]:
    """Sweeps that put down all ends, with their places in root axes; ``then``: once more, as they accelerate then."""
    reads = ("root@body", "O@body", "V@body", "alpha@body", "offset")
    sweeps = tuple(
        each_link(Step(put_down_in_root, reads, (f"{end_buffer(link, then)}@robot",), "an end"), only=(link,))
        for link in ends_of(model)
    )
    own = (Buffer(end_buffer(link, then), Numbers.zero(_WITH_PLACE)) for link in ends_of(model))
    return sweeps, (*own, Buffer("root", IDENTITY_TRANSFORM))


# ---- both of a closing -----------------------------------------------------------------------------------------------


def read_ends(
    model: Model, of: Closing, *, rising: bool = False, then: bool = False
) -> tuple[tuple[str, ...], Callable[..., tuple[End, End]]]:
    """What a step reads to know both ends, and how it gets them; a world without a link is known.

    ``rising``: accelerations are those of the recursions, which let the base rise instead of bodies fall.
    """
    reads = tuple(f"{end_buffer(link, then)}@robot" for link in of.links if link != NO_LINK)
    falls = rising and NO_LINK in of.links
    worldly = tuple(link == NO_LINK or model.links[link].body == WORLD for link in of.links)

    def both(*given: Any) -> tuple[End, End]:
        (gravity, *put) = given if falls else (ZERO, *given)
        left = iter(put)
        world = End(IDENTITY_TRANSFORM, Motion.zero(), Motion(ZERO, -gravity), IDENTITY_TRANSFORM)
        ends = [world if link == NO_LINK else End.of(next(left).entries) for link in of.links]
        if any(len(x.entries) == _WITH_PLACE for x in put):
            for side, other in ((0, 1), (1, 0)):
                if worldly[side]:  # seen from the tree that the other end is in
                    seen = ends[other].place @ ends[other].pose.inverse
                    ends[side] = ends[side]._replace(place=seen @ ends[side].pose)
        return ends[0], ends[1]

    return (("gravity", *reads) if falls else reads), both
