"""Wrenches on links in the loop of a rollout: numbers per row and step, and what turns them into link axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from recursa.dynamics.kinematics import BUFFERS, LINK_BUFFERS, LINK_POSE, POSE, RELATIVE
from recursa.dynamics.wrenches import in_world, listed_wrenches, vectors_of, wrench_array
from recursa.errors import StateError
from recursa.kernels.kernel import FunctionProgram, program
from recursa.kernels.rollout_emit import Placing
from recursa.model.model import Model
from recursa.robot import Robot
from recursa.spatial.scalars import Scalar
from recursa.spatial.vec3 import Vec3
from recursa.sweeps import Plan, Values, base_to_tip, each_link
from recursa.sweeps.batching import Array, as_numbers, in_rows

_EACH = 9  # numbers of a wrench that is turned as its link moves: force, moment, point


@dataclass(frozen=True)
class Pushes:
    """Numbers in a row, those of row b and step s at ``b row + s step``, ``size`` of them.

    ``turned``: where some wrenches are in world axes, for each its link, by number, and whether it is one of these;
    numbers are then nine per wrench. Else they are what forward dynamics takes, (moment, force) per link.
    """

    numbers: Array
    row: int
    step: int
    size: int
    turned: tuple[tuple[int, bool], ...] = ()

    @staticmethod
    def of(model: Model, wrenches: Any, shape: tuple[int, ...], steps: int) -> Pushes:
        """For a batch of this shape."""
        listed = listed_wrenches(wrenches)
        if callable(wrenches):
            raise StateError(
                "wrenches= is a function, which would have to be called at every step; a rollout takes wrenches, or "
                f"arrays {_shapes(model, shape, steps)}. robot.simulate(..., wrenches=) takes functions"
            )
        tail: tuple[int, ...] = (len(model.links), 6)
        if listed is None:
            array = as_numbers("wrenches", wrenches, 6)
            if array.ndim == len(shape) + 3:
                tail = (steps, *tail)
            return _spread(array, shape, tail, _shapes(model, shape, steps))
        if not any(in_world(one) for one in listed):
            return _spread(wrench_array(model, listed, None), shape, tail, _shapes(model, shape, steps))
        turned = tuple((model.link_index(one.at), in_world(one)) for one in listed)
        numbers = [np.concatenate(np.broadcast_arrays(*vectors_of(one)), axis=-1) for one in listed]
        batch = np.broadcast_shapes(*(one.shape[:-1] for one in numbers))
        rows = np.concatenate([np.broadcast_to(one, (*batch, _EACH)) for one in numbers], axis=-1)
        what = f"forces, moments and points (..., 3) for a batch {shape}"
        return replace(_spread(rows, shape, (rows.shape[-1],), what), turned=turned)

    def at(self, robot: Robot, q: Array, step: int) -> Array:
        """What acts on the links of rows (B, nq) in a step, (B, nlinks, 6)."""
        first = self.row * np.arange(len(q))[:, None] + self.step * step
        own = self.numbers.reshape(-1)[first + np.arange(self.size)]
        if not self.turned:
            return own.reshape(len(q), -1, 6)
        names = [robot.link_names[link] for link, _ in self.turned]
        axes = np.concatenate([robot.pose(q, name)[:, :3, :3].reshape(-1, 9) for name in names], axis=1)
        found = placed(self.turned, robot.nlinks, list(axes.T), list(own.T))
        return np.stack([np.broadcast_to(x, len(q)) for x in found], axis=1).reshape(len(q), -1, 6)

    def placing(self, model: Model, form: str | None) -> Placing | None:
        """The functions by which a native loop does that; none where nothing is turned."""
        if not self.turned:
            return None
        links = sorted({link for link, _ in self.turned})
        plan = Plan(
            "axes_of_links",
            BUFFERS + LINK_BUFFERS,
            (base_to_tip(RELATIVE, POSE), each_link(LINK_POSE, only=tuple(links))),
        )
        numbers, count = 9 * len(self.turned), len(model.links)
        axes = program(plan, model, {"q": model.nq}, partial(_axes, self.turned), form)
        turned = FunctionProgram(partial(placed, self.turned, count), (numbers, self.size))
        return Placing(axes, numbers, turned, 6 * count)


def placed(
    turned: Sequence[tuple[int, bool]], links: int, axes: Sequence[Scalar], numbers: Sequence[Scalar]
) -> list[Scalar]:
    """(moment, force) at link origins in link axes, of links one after the other: ``n = R* m + p x R* f``."""
    total: list[list[Scalar]] = [[0.0] * 6 for _ in range(links)]
    for k, (link, turns) in enumerate(turned):
        force, moment, point = (Vec3(*numbers[_EACH * k + i : _EACH * k + i + 3]) for i in (0, 3, 6))
        if turns:
            rows = [Vec3(*axes[9 * k + i : 9 * k + i + 3]) for i in (0, 3, 6)]
            force, moment = (rows[0] * vector.x + rows[1] * vector.y + rows[2] * vector.z for vector in (force, moment))
        total[link] = [a + b for a, b in zip(total[link], (*(moment + point.cross(force)), *force), strict=True)]
    return [x for row in total for x in row]


def _axes(turned: Sequence[tuple[int, bool]], values: Values) -> Iterator[Scalar]:
    for link, _ in turned:
        for row in values["L"][link].rotation.rows():
            yield from row


def _spread(array: Array, shape: tuple[int, ...], tail: tuple[int, ...], what: str) -> Pushes:
    """Where the numbers of rows and steps are."""
    rows = in_rows("wrenches have", array, shape, tail, what).astype(float, copy=False)
    if not np.isfinite(array).all():
        raise StateError("wrenches have entries that are not finite")
    varying = len(tail) == 3
    size = math.prod(tail[1:] if varying else tail)
    return Pushes(rows.reshape(-1), math.prod(tail) * (len(rows) > 1), size * varying, size)


def _shapes(model: Model, shape: tuple[int, ...], steps: int) -> str:
    own = "".join(f"{n}, " for n in shape)
    return f"({own}{len(model.links)}, 6), the same in all steps, or ({own}{steps}, {len(model.links)}, 6)"
