"""Wrenches that act on links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import ShapeError, StateError, unknown_name
from recursa.model.model import Model
from recursa.sweeps.batching import Array, as_numbers


@dataclass(frozen=True, kw_only=True)
class Wrench:
    """A force and a moment that act **on** the robot at a point of a link.

    ``point`` is in link coordinates; ``frame`` names only the axes of force and moment: "world" or "link". Force and
    moment may carry batch axes, (..., 3).

    >>> Wrench(force=(0, 0, -9.81), at="tip").frame
    'world'
    """

    at: str
    force: ArrayLike = (0.0, 0.0, 0.0)
    moment: ArrayLike = (0.0, 0.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)
    frame: Literal["world", "link"] = "world"


def listed_wrenches(wrenches: Any) -> list[Wrench] | None:
    """Wrenches that are given one by one: a single one, several, or six numbers by link; None for anything else.

    >>> listed_wrenches({"tip": [0, 0, 0, 1, 2, 3]})[0].force
    array([1., 2., 3.])
    """
    if isinstance(wrenches, Wrench):
        return [wrenches]
    if isinstance(wrenches, Mapping):
        return [_on_link(link, value) for link, value in wrenches.items()]
    if isinstance(wrenches, np.ndarray) or not isinstance(wrenches, Iterable):
        return None
    given = list(wrenches)
    if not any(isinstance(one, Wrench | Mapping | str) for one in given):
        return None if given else []
    for one in given:
        if not isinstance(one, Wrench):
            raise StateError(f"wrenches hold {one!r} where a wrench belongs, such as {_example('flange')}")
    return given


def _on_link(link: Any, value: Any) -> Wrench:
    """An entry of a mapping: six numbers as a row of the array has them, or a wrench that says the rest itself."""
    if isinstance(value, Wrench):
        if value.at != link:
            raise StateError(f"wrenches['{link}'] is a wrench at '{value.at}': it acts on one of the two")
        return value
    numbers = as_numbers(f"wrenches['{link}']", value, 6)
    if numbers.shape[-1:] != (6,):
        raise ShapeError(
            f"wrenches['{link}'] has shape {numbers.shape}, expected (..., 6): (moment, force) in link axes at the "
            f"link origin. A force alone, in world axes, is {_example(link)}"
        )
    return Wrench(at=link, moment=numbers[..., :3], force=numbers[..., 3:], frame="link")


def _example(link: Any) -> str:
    return f"rc.Wrench(at='{link}', force=(0, 0, -9.81))"


def wrench_array(model: Model, wrenches: Any, poses: Any) -> Array:
    """Wrenches as an array (..., nlinks, 6) of (moment, force) at link origins in link axes.

    An array in that form comes back as it is; ``poses()`` is asked only if some wrench is in world axes.
    """
    listed = listed_wrenches(wrenches)
    if listed is None:
        return np.asarray(wrenches)
    total: Array = np.zeros((len(model.links), 6))
    for wrench in listed:
        number = model.link_index(wrench.at)
        moment, force = _at_origin(wrench, number, poses)
        shape = (*np.broadcast_shapes(moment.shape[:-1], force.shape[:-1]), len(model.links), 6)
        own = np.zeros(shape, np.result_type(moment, force))  # complex where poses are
        own[..., number, :3] = moment
        own[..., number, 3:] = force
        total = total + own
    return total


def _at_origin(wrench: Wrench, number: int, poses: Any) -> tuple[Array, Array]:
    """Moment and force at the link's origin in link axes."""
    force, moment, point = vectors_of(wrench)
    if in_world(wrench):
        rotation = poses()[..., number, :3, :3]
        force, moment = _in_axes(rotation, force), _in_axes(rotation, moment)
    return moment + np.cross(point, force), force


def vectors_of(wrench: Wrench) -> tuple[Array, Array, Array]:
    """Force, moment and point (..., 3), checked."""
    vectors = {name: np.asarray(getattr(wrench, name), dtype=float) for name in ("force", "moment", "point")}
    for name, vector in vectors.items():
        if vector.shape[-1:] != (3,):
            raise ShapeError(f"the {name} of the wrench at '{wrench.at}' has shape {vector.shape}, expected (..., 3)")
    return vectors["force"], vectors["moment"], vectors["point"]


def in_world(wrench: Wrench) -> bool:
    """Whether force and moment are in world axes; checked."""
    if wrench.frame not in ("world", "link"):
        raise unknown_name("frame of a wrench", wrench.frame, ("world", "link"))
    return wrench.frame == "world"


def standing(wrenches: Any) -> list[Wrench]:
    """Those in world axes: their components do not change as their links turn."""
    return [wrench for wrench in listed_wrenches(wrenches) or () if wrench.frame == "world"]


def turned_back(wrench: Wrench, pose: Array) -> Array:
    """How a wrench in world axes changes, in link axes at the link origin, per small turn of the link: (..., 6, 3).

    A turn w takes ``-w x f`` and ``-w x n`` of force and moment there, and ``p x`` the former at its point p.
    """
    force, moment = (_in_axes(pose[..., :3, :3], np.asarray(x, float)) for x in (wrench.force, wrench.moment))
    by_force = skew(force)
    return np.concatenate([skew(moment) + skew(np.asarray(wrench.point, float)) @ by_force, by_force], axis=-2)


def skew(vector: Array) -> Array:
    """``u x`` as matrices (..., 3, 3)."""
    return np.cross(vector[..., None, :], np.eye(3), axisb=0, axisc=-2)


def _in_axes(rotation: Array, vector: Array) -> Array:
    """``R* x``, summed in this order, so that native entries give the same bits."""
    x, y, z = (rotation[..., k, :] * vector[..., k, None] for k in range(3))
    return x + y + z
