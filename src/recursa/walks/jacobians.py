"""Jacobians of all links: columns of every joint in root axes, seen from every body outward of it.

Links that are not at their body's origin take theirs from the body. At the world origin a column is the same for
whatever it moves. For more links than that is worth, loops make columns from velocities, at unit speed of each freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from recursa.dynamics.kinematics import (
    POSE,
    RELATIVE,
    frame_function,
    motion_entries,
    velocities_plan,
)
from recursa.dynamics.kinematics import jacobian_entries as link_entries
from recursa.kernels.loop import MAX_FINAL, Looped
from recursa.kernels.staging import Unit
from recursa.model.model import Joint, Link, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vectors6 import Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward
from recursa.walks.root_axes import BUFFERS, COLUMNS, PLACE, Motions

Change = Callable[[Transform, Motion], Motion]  # of frame, with the pose of the body


def own_columns(change: Change, joint: Joint, pose: Transform) -> Motions:
    """H* of a joint at its own body, changed to a frame."""
    return tuple(change(pose, column) for column in joint.columns())


def seen_columns(change: Change, columns: Motions, place: Transform, pose: Transform) -> Motions:
    """Columns in root axes as a body further out sees them, changed to a frame."""
    return tuple(change(pose, place.inverse_motion(column)) for column in columns)


def jacobians_plan(frame: str) -> Plan:
    """Columns of every joint at its body, and at every body outward."""
    change = frame_function(frame)
    own = Step(partial(own_columns, change), ("joint", "W"), ("own",), f"J(k, k) in frame '{frame}'")
    buffers = (*BUFFERS, Buffer("W", IDENTITY_TRANSFORM), Buffer("own", ()), Buffer("J", ()))
    if frame == "world":
        return Plan("jacobians", buffers, (base_to_tip(RELATIVE, POSE, own),))
    seen = Step(partial(seen_columns, change), ("S@here", "O@start", "W@start"), ("J",), f"J(k, j) in frame '{frame}'")
    return Plan("jacobians", buffers, (base_to_tip(RELATIVE, POSE, PLACE, COLUMNS, own), from_each_inward(seen)))


# ---- results ---------------------------------------------------------------------------------------------------------


def jacobians_entries(model: Model, frame: str, values: Values) -> Iterator[Scalar]:
    """A 6 x nv matrix for every link, row by row."""
    own, pairs, poses = (values.lists.get(name, []) for name in ("own", "J", "W"))
    at_body: dict[tuple[int, int], Motions] = {(body, body): columns for body, columns in enumerate(own)}
    seen = (own[inner] for _, inner in model.pairs) if frame == "world" else pairs
    at_body |= dict(zip(model.pairs, seen, strict=True))
    for number, link in enumerate(model.links):
        path = model.support(link.body)
        columns: list[Motions] = [()] * model.nbodies
        for body in path:
            columns[body] = _at_link(frame, link, poses, at_body[link.body, body])
        yield from link_entries(model, number, columns)


def _at_link(frame: str, link: Link, poses: Sequence[Transform], columns: Motions) -> Motions:
    """Columns at a body's origin, at the link's."""
    if not _moves(frame, link):
        return columns
    if frame == "body":
        return tuple(link.offset.inverse_motion(column) for column in columns)
    lever = poses[link.body].rotation @ link.offset.translation
    return tuple(Motion(c.angular, c.linear + c.angular.cross(lever)) for c in columns)


def _moves(frame: str, link: Link) -> bool:
    """Whether a link's columns are others than its body's."""
    return frame != "world" and link.offset != IDENTITY_TRANSFORM


# ---- quantity --------------------------------------------------------------------------------------------------------


def _jacobians(of: Subject, given: Names, *, frame: str = "body") -> Recipe:
    model, plan = of.model, jacobians_plan(frame)
    gather, shape = partial(jacobians_entries, model, frame), (len(model.links), 6, model.nv)
    walks = Looped(plan, gather)
    if _numbers_beside(model, frame) > MAX_FINAL:
        walks = Looped(velocities_plan(frame), lambda values: motion_entries(values["VF"]), Unit("v", model.nv))
    return Recipe(plan, gather, shape, looped=walks)


def _numbers_beside(model: Model, frame: str) -> int:
    """Numbers that are not simply those of bodies: of links elsewhere, and of tied joints."""
    return sum(
        6 * model.joints[body].kind.nv
        for link in model.links
        for body in model.support(link.body)
        if _moves(frame, link) or model.joints[body].tie is not None
    )


JACOBIANS = Quantity(
    "jacobians", ("q",), _jacobians, "per link, times v: (angular, linear) in rad/s and m/s; columns as in v, {frame}"
)
