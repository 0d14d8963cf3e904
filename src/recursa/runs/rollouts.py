"""What a rollout gives: the pair (q, v), which knows whose states these are and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recursa import datasets
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset

    from recursa.robot import Robot


class Rollout(tuple[Array, ...]):
    """What :func:`recursa.rollout` returns: a tuple ``q, v``, with names, units and time for tables.

    ``q`` (..., saved, nq) and ``v`` (..., saved, nv) are its two entries, ``t`` (saved,) the instants in seconds at
    which states were saved, ``robot`` the one that moved. With ``memory=True`` what a controller had learned,
    ``memory`` (..., saved, m), is a third entry; else it is None.

    >>> import recursa as rc
    >>> moved = rc.rollout(rc.robots.planar(1), [[0.0], [0.5]], [[0.0], [0.0]], None, step=1e-3, steps=4, save_every=2)
    >>> q, v = moved
    >>> q is moved.q, moved.t.tolist()
    (True, [0.002, 0.004])
    """

    robot: Robot
    t: Array

    def __new__(cls, q: Array, v: Array, robot: Robot, t: Array, memory: Array | None = None) -> Rollout:
        """The pair, and what it is about."""
        made = super().__new__(cls, (q, v) if memory is None else (q, v, memory))
        made.robot, made.t = robot, t
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.q, self.v, self.robot, self.t, self.memory

    @property
    def q(self) -> Array:
        """Coordinates (..., saved, nq)."""
        return self[0]

    @property
    def v(self) -> Array:
        """Speeds (..., saved, nv)."""
        return self[1]

    @property
    def memory(self) -> Array | None:
        """What a controller had learned (..., saved, m), if that was asked for."""
        return self[2] if len(self) > 2 else None

    def to_pandas(self) -> DataFrame:
        """A pandas DataFrame with a line per row of the batch and instant, q and v by the column names of CSV files.

        Its index is t; with batch axes (row, t), or (row1, row2, ..., t) where there are several. Units are in
        ``frame.attrs["units"]``. Needs the extra ``data``.

        >>> import numpy as np, recursa as rc
        >>> moved = rc.rollout(rc.robots.planar(2), np.zeros((3, 2)), np.zeros((3, 2)), None, step=1e-3, steps=5)
        >>> frame = moved.to_pandas()
        >>> list(frame.columns), frame.index.names, len(frame.loc[0])
        (['joint1', 'joint2', 'joint1:v', 'joint2:v'], FrozenList(['row', 't']), 5)
        """
        return datasets.to_pandas(self.robot, self.t, {"q": self.q, "v": self.v}, {})

    def to_xarray(self) -> Dataset:
        """An xarray Dataset: q over (row, t, coordinate) and v over (row, t, freedom), without row where there is none.

        Units are coordinates (``q_unit``, ``v_unit``). Needs the extra ``data``.

        >>> import numpy as np, recursa as rc
        >>> moved = rc.rollout(rc.robots.planar(2), np.zeros((3, 2)), np.zeros((3, 2)), None, step=1e-3, steps=5)
        >>> dict(moved.to_xarray()["v"].sizes)
        {'row': 3, 't': 5, 'freedom': 2}
        """
        return datasets.to_xarray(self.robot, self.t, {"q": self.q, "v": self.v}, {})
