"""Joints and links that move as they are told during a run: what ``prescribed=`` of simulate says, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from recursa.errors import ShapeError, StateError, unknown_name
from recursa.integrators.mechanics import told_when
from recursa.model.constraint_equations import Equation, Telling, told_of
from recursa.model.constraints import Prescribed, called
from recursa.model.model import Model
from recursa.sweeps.batching import Array


class Moment(NamedTuple):
    """One of them at an instant; q and v are None where only its acceleration is known."""

    q: Array | None
    v: Array | None
    a: Array


class One:
    """The motion of one prescribed joint or link."""

    def __init__(self, model: Model, equation: Equation, motion: Any) -> None:
        self.model, self.equation = model, equation
        self.what = f"the {called(equation.constraint)}"
        self.rows = slice(equation.start, equation.start + len(equation.units))
        self.joint = model.joints[equation.joint] if isinstance(equation, Telling) else None
        self._motion = self._as_function(motion)

    def _as_function(self, motion: Any) -> Callable[[float], Any]:
        sample = getattr(motion, "sample", None)
        if sample is not None:
            return lambda t: self._own(*sample(t))
        if callable(motion):
            return motion  # type: ignore[no-any-return]
        constant = np.zeros(len(self.equation.units)) if motion is None else np.asarray(motion, dtype=float)
        return lambda t: constant

    def _own(self, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Of a trajectory of the whole robot the part of this joint."""
        joint, model = self.joint, self.model
        if joint is None or len(q) != model.nq or model.nq == joint.kind.nq:
            return q, v, a
        speeds = slice(joint.v_start, joint.v_start + joint.kind.nv)
        return q[joint.q_start : joint.q_start + joint.kind.nq], v[speeds], a[speeds]

    def at(self, t: float) -> Moment:
        """At a time."""
        given = told_when(lambda t, q, v: self._motion(t), "prescribed=", t, np.zeros(0), np.zeros(0))
        size = len(self.equation.units)
        whole = isinstance(given, tuple)
        wanted = [(size,)] if not whole else [(self.joint.kind.nq if self.joint else -1,), (size,), (size,)]
        try:
            parts = [np.atleast_1d(np.asarray(one, dtype=float)) for one in (given if whole else (given,))]
        except (TypeError, ValueError):
            parts = []
        if [one.shape for one in parts] != wanted:
            what = "its acceleration" if self.joint is None else "its acceleration, or a tuple (q, v, a) of the joint"
            sizes = (
                f"({size},)" if self.joint is None else f"({size},), or ({self.joint.kind.nq},), ({size},), ({size},)"
            )
            raise ShapeError(
                f"{self.what} at t = {t:.6g} s: prescribed= has to give {what}, of shape {sizes}; got "
                f"{', '.join(str(one.shape) for one in parts) or type(given).__name__}"
            )
        for one in parts:
            if not np.isfinite(one).all():
                raise StateError(f"{self.what} at t = {t:.6g} s is not finite: {one}")
        return Moment(*parts) if whole else Moment(None, None, parts[0])


class PrescribedMotion:
    """All that a robot's prescribed joints and links do."""

    def __init__(self, model: Model, given: Any) -> None:
        self.parts = [One(model, one, None) for one in model.equations if told_of(one) is not None]
        if given is None:
            given = {}
        if not isinstance(given, Mapping):
            raise StateError(
                "prescribed= is a dict from the names of prescribed joints or links to their motions: functions of t, "
                f"trajectories, or constant accelerations; not {type(given).__name__}"
            )
        known = {name: k for k, one in enumerate(self.parts) for name in _names(one)}
        for name, motion in given.items():
            if name not in known:
                raise unknown_name("prescribed joint or link", name, known)
            self.parts[known[name]] = One(model, self.parts[known[name]].equation, motion)
        self._size = model.ntold
        self._rows = np.concatenate([np.arange(one.rows.start, one.rows.stop) for one in self.parts])

    def accelerations(self, t: float) -> Array:
        """(ntold,)."""
        return np.concatenate([one.at(t).a for one in self.parts])

    def rates(self, t: float | None, own: Array) -> Array:
        """(ncon,): what ``G v`` is to be; where only accelerations are known what it is already, ``own``."""
        wanted = np.zeros_like(own)
        wanted[self._rows] = own[self._rows]
        for one in self.parts if t is not None else ():
            v = one.at(t).v  # type: ignore[arg-type]
            if v is not None:
                wanted[one.rows] = v
        return wanted

    def placed(self, t: float, q: Array) -> Array:
        """The coordinates with those of prescribed joints where they have to be."""
        q = q.copy()
        for one in self.parts:
            where = one.at(t).q
            if where is not None and one.joint is not None:
                q[one.joint.q_start : one.joint.q_start + len(where)] = where
        return q

    def require_start(self, q: Array, v: Array) -> None:
        """A start that is elsewhere than the motions is an error."""
        for one in self.parts:
            now, joint = one.at(0.0), one.joint
            if now.q is None or now.v is None or joint is None:
                continue
            have = {"q": q[joint.q_start :][: len(now.q)], "v": v[joint.v_start :][: len(now.v)]}
            for name, told in (("q", now.q), ("v", now.v)):
                apart = float(np.abs(have[name] - told).max(initial=0.0))
                if apart > 1e-6 * max(1.0, float(np.abs(told).max(initial=0.0))):
                    raise StateError(
                        f"{one.what} starts at {name} = {told}, and {name}0 has {have[name]}: give the same"
                    )


def _names(one: One) -> tuple[str, ...]:
    constraint = one.equation.constraint
    assert isinstance(constraint, Prescribed)
    return tuple(name for name in (constraint.name, constraint.joint, constraint.link) if name)
