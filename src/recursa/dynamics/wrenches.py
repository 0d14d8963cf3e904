"""Wrenches that act on links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import ShapeError, unknown_name
from recursa.model.model import Model
from recursa.sweeps.batching import Array


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


def wrench_array(model: Model, wrenches: Any, poses: Any) -> Array:
    """Wrenches as an array (..., nlinks, 6) of (moment, force) at link origins in link axes.

    An array in that form comes back as it is; ``poses()`` is asked only if some wrench is in world axes.
    """
    if isinstance(wrenches, Wrench):
        wrenches = [wrenches]
    if not (isinstance(wrenches, Iterable) and all(isinstance(w, Wrench) for w in wrenches)):
        return np.asarray(wrenches)
    total: Array = np.zeros((len(model.links), 6))
    for wrench in wrenches:
        number = model.link_index(wrench.at)
        moment, force = _at_origin(wrench, number, poses)
        own = np.zeros((*np.broadcast_shapes(moment.shape[:-1], force.shape[:-1]), len(model.links), 6))
        own[..., number, :3] = moment
        own[..., number, 3:] = force
        total = total + own
    return total


def _at_origin(wrench: Wrench, number: int, poses: Any) -> tuple[Array, Array]:
    """Moment and force at the link's origin in link axes."""
    vectors = {name: np.asarray(getattr(wrench, name), dtype=float) for name in ("force", "moment", "point")}
    for name, vector in vectors.items():
        if vector.shape[-1:] != (3,):
            raise ShapeError(f"the {name} of the wrench at '{wrench.at}' has shape {vector.shape}, expected (..., 3)")
    force, moment = vectors["force"], vectors["moment"]
    if wrench.frame not in ("world", "link"):
        raise unknown_name("frame of a wrench", wrench.frame, ("world", "link"))
    if wrench.frame == "world":
        rotation = poses()[..., number, :3, :3]
        force, moment = _in_axes(rotation, force), _in_axes(rotation, moment)
    return moment + np.cross(vectors["point"], force), force


def _in_axes(rotation: Array, vector: Array) -> Array:
    """``R* x``, summed in this order, so that native entries give the same bits."""
    x, y, z = (rotation[..., k, :] * vector[..., k, None] for k in range(3))
    return x + y + z
