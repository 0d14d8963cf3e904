"""A law in the loop of a rollout: its gains per row, its samples per stage, and its native functions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.law import Law
from recursa.control.law_arithmetic import OnArrays, OnLoop, OnSizes, parts_of
from recursa.errors import ShapeError, StateError, TooLargeError
from recursa.kernels.rollout_emit import Loop, Slot
from recursa.robot import Robot
from recursa.sweeps.batching import Array, in_rows

_HOME = __name__.rpartition(".")[0]
_MOST_SAMPLES = 2**31  # bytes; more steps than that are no longer one table


@dataclass(frozen=True)
class Closed:
    """A law with what it is given in one rollout: ``gains`` (B, n) or (1, n), ``start`` (B, memory) or (1, memory).

    ``motions``: laws of the same kind, each with something of its own to follow; ``which`` (B,) of them a row follows.
    """

    law: Law
    gains: Array
    start: Array
    motions: tuple[Law, ...] = ()
    which: Array | None = None

    @staticmethod
    def of_rows(laws: Sequence[Law], robot: Robot, shape: tuple[int, ...]) -> Closed:
        """A controller for every row of a batch; those that follow the same are followed together."""
        if shape != (len(laws),):
            rows = f"({len(laws)}, ...)"
            raise ShapeError(f"{len(laws)} controllers need as many states, q0 {rows}; their batch is {shape}")
        each = [Closed.of(law, robot, (), None) for law in dict.fromkeys(laws)]
        first = each[0]
        for one in each[1:]:
            if one.key() != first.key():
                raise StateError(
                    f"controllers of one rollout are of one kind and of one robot, with gains of the same shapes: "
                    f"{one.law!r} differs from {first.law!r} in more than numbers and motions"
                )
        numbers = {law: k for k, law in enumerate(dict.fromkeys(laws))}
        which = np.array([numbers[law] for law in laws])
        gains, start = (np.concatenate([getattr(one, name) for one in each])[which] for name in ("gains", "start"))
        return Closed(first.law, gains, start, tuple(numbers), which)

    @staticmethod
    def of(law: Law, robot: Robot, shape: tuple[int, ...], gains: Mapping[str, ArrayLike] | None) -> Closed:
        """For a batch of this shape; ``gains`` are those that differ from the law's own, with batch axes or without."""
        own = law.robot
        if (own.nq, own.nv, own.joint_names) != (robot.nq, robot.nv, robot.joint_names):
            raise StateError(
                f"the controller is one for robot '{own.name}', whose joints are others than those of '{robot.name}'"
            )
        if gains is not None and not isinstance(gains, Mapping):
            raise StateError(f"gains are arrays by name, such as {{'stiffness': ...}}, not {gains!r}")
        given = {name: law.gains_of_rows(name, value) for name, value in (gains or {}).items()}
        columns = []
        for name, array in law.tuning.items():
            columns.append(_in_rows(name, given.get(name, array), array.shape, shape))
        start = law.start()
        remembered = given.get(law.remembers, start)
        rows = max([len(column) for column in columns], default=1)
        together = [np.broadcast_to(column, (rows, column.shape[1])) for column in columns]
        return Closed(
            law,
            np.concatenate(together, axis=1) if together else np.zeros((1, 0)),
            _in_rows(law.remembers, remembered, start.shape, shape),
        )

    def samples(self, step: float, steps: int, stages: tuple[float, ...]) -> Array:
        """What the laws follow, (laws, steps, stages, n)."""
        laws = self.motions or (self.law,)
        size = self.law.sample(0.0).shape[-1]
        if 8 * size * steps * len(stages) * len(laws) > _MOST_SAMPLES:
            several = f"of {len(laws)} controllers " if len(laws) > 1 else ""
            raise TooLargeError(
                f"{steps} steps with {len(stages)} samples of {size} numbers each {several}are more than "
                f"{_MOST_SAMPLES / 2**30:.3g} GiB to be followed: take the motion in parts, each from the last states"
            )
        if not size:
            return np.zeros((len(laws), steps, len(stages), 0))
        times = step * (np.arange(steps)[:, None] + np.array(stages))
        found = np.stack([law.sample(times) for law in laws])
        if not np.isfinite(found).all():
            late = times[~np.isfinite(found).all(axis=(0, -1))].min()
            raise StateError(f"what {type(self.law).__name__} is to follow is not finite at t = {late:g} s")
        return found

    def torques(self, q: Array, v: Array, sample: Array, memory: Array, gains: Array, threads: int) -> Any:
        """On arrays of rows."""
        on = OnArrays(self.law.robot, threads)
        return self.law.drive(on, q, v, _by_name(self.law, gains, on), sample, memory)

    def key(self) -> Hashable:
        """What the native functions depend on, beside the integrator; of laws of others, all that they are."""
        law = self.law
        own = () if type(law).__module__.startswith(_HOME) else (law,)
        shapes = tuple((name, x.shape) for name, x in law.tuning.items())
        several = len(self.motions) > 1
        return (
            type(law),
            law.robot.evaluator,
            law.memory,
            law.sample(0.0).shape,
            law.built_in(),
            law.actuated,
            shapes,
            own,
            several,
        )

    def beginnings(self, samples: Array) -> Array:
        """The number among ``samples`` at which those of every row begin; nothing where all follow the same."""
        if self.which is None or len(self.motions) == 1:
            return np.zeros(0, np.int64)
        return (self.which * samples[0].size).astype(np.int64)

    def followed(self, stages: tuple[float, ...], form: str | None) -> Followed:
        """The native functions, for an integrator that asks at these fractions of a step."""
        return Followed(self.law, stages, form, several=len(self.motions) > 1)


class Followed:
    """A law as native loops know it: :class:`recursa.kernels.rollout_emit.FollowedLaw`."""

    def __init__(self, law: Law, stages: tuple[float, ...], form: str | None, *, several: bool = False) -> None:
        self.law, self.stages, self.memory, self.several = law, stages, law.memory, several
        self.gains, self.samples = sum(x.size for x in law.tuning.values()), law.sample(0.0).shape[-1]
        on = OnSizes(law.robot, form)
        law.drive(on, law.robot.nq, law.robot.nv, _by_name(law, self.gains, on), self.samples, self.memory)
        self.programs = on.programs

    def write(self, loop: Loop, q: Slot, v: Slot, gains: Slot, sample: Slot, memory: Slot) -> tuple[Slot, Slot | None]:
        """Calls and products in the order of the law."""
        on = OnLoop(self.law.robot, loop, self.programs)
        return self.law.drive(on, q, v, _by_name(self.law, gains, on), sample, memory)


def _by_name(law: Law, gains: Any, on: Any) -> dict[str, Any]:
    """The gains of a row by name."""
    tuning = law.tuning
    return dict(zip(tuning, parts_of(on, gains, *(prod(x.shape) for x in tuning.values())), strict=True))


def _in_rows(name: str, array: Array, own: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    """Numbers (B, n), or (1, n) where all rows have the same, for a batch of a shape."""
    wanted = ", ".join(str(n) for n in (*shape, *own))
    return in_rows(f"{name} has", array, shape, own, f"({wanted}): as many rows as the states have")
