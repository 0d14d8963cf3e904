"""Loops closed from a rough start: Gauss-Newton steps on the manifold of configurations, within limits."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from recursa.constraints import dense
from recursa.constraints.quantities import CONSTRAINT_ERROR, CONSTRAINT_JACOBIAN, constrained_model
from recursa.constraints.rows import row_scales
from recursa.dynamics.configuration import INTEGRATE
from recursa.errors import StateError, shortened
from recursa.model.constraints import called
from recursa.model.model import Model
from recursa.model.stops import limited_joints
from recursa.sweeps.batching import Array, as_array

STEPS = 200  # near a singular configuration steps halve the error
NEAR_STEPS = 30  # where being near will do
HALVINGS = 12
EXACT = 1e-13  # where errors are zero but for rounding, in rad or the robot's own lengths
CLOSED = 1e-8  # by how much loops may miss: redundant ones of rounded numbers contradict each other by a little
LONGEST = 0.5  # rad or own lengths that a step changes a joint by


class _Limits:
    """Ranges of joints of one degree of freedom, as arrays over q and v; none of them if they are ignored."""

    def __init__(self, model: Model, *, ignored: bool = False) -> None:
        joints = [] if ignored else limited_joints(model)
        self.names = [joint.name for joint in joints]
        self.at_q, self.at_v = ([getattr(joint, start) for joint in joints] for start in ("q_start", "v_start"))
        self.low, self.high = np.array([joint.limits for joint in joints], float).reshape(-1, 2).T

    def ranges(self, start: Array) -> tuple[Array, Array]:
        """Least and largest values (n, k) from these starts: a joint that starts beyond a limit goes no further."""
        values = start[:, self.at_q]
        return np.minimum(self.low, values), np.maximum(self.high, values)

    def kept(self, q: Array) -> Array:
        """The nearest configuration within the limits."""
        return self.within(q, (self.low, self.high))

    def within(self, q: Array, ranges: tuple[Array, Array]) -> Array:
        """The nearest configuration within ranges."""
        inside = q.copy()
        inside[:, self.at_q] = np.clip(q[:, self.at_q], *ranges)
        return inside

    def blocked(self, q: Array, step: Array, ranges: tuple[Array, Array]) -> Array:
        """Per speed whether a step leads out of an end of the range that has been reached."""
        held = np.zeros(step.shape, bool)
        values, change = q[:, self.at_q], step[:, self.at_v]
        low, high = ranges
        held[:, self.at_v] = ((values <= low) & (change < 0.0)) | ((values >= high) & (change > 0.0))
        return held


def assembled(evaluator: Any, q: Any, fixed: Collection[str], *, limits: bool = True) -> Array:
    """The nearest configurations that gradient steps find, (..., nq)."""
    model = constrained_model(evaluator)
    given = as_array(model, "q", q, coordinates=True)
    start = np.array(given, float).reshape(-1, model.nq)
    if not np.isfinite(start).all():
        raise StateError("q has entries that are not finite, so there is nothing to start from")
    search = _Search(evaluator, _Limits(model, ignored=not limits), _held(model, fixed))
    return search.run(start).reshape(given.shape)


def nearest(evaluator: Any, q: Array) -> Array:
    """Configurations (n, nq) brought as near to closing all loops as steps lead; never an error."""
    limits = _Limits(evaluator.model)
    search = _Search(evaluator, limits, np.zeros(evaluator.model.nv, bool))
    return search.approached(limits.kept(q), NEAR_STEPS)[0]


def _held(model: Model, fixed: Collection[str]) -> Array:
    if isinstance(fixed, str):
        fixed = (fixed,)
    held = np.zeros(model.nv, bool)
    for name in fixed:
        joint = model.joints[model.joint_index(name)]
        held[joint.v_start : joint.v_start + joint.kind.nv] = True
    return held


class _Search:
    """Many configurations on their way, together."""

    def __init__(self, evaluator: Any, limits: _Limits, held: Array) -> None:
        self.evaluator, self.limits, self.held = evaluator, limits, held
        model: Model = evaluator.model
        self.model = model
        self.scales = np.array(row_scales(model))
        self.lengths = np.ones(model.nv)
        for joint in model.joints:
            for k, turns in enumerate(joint.kind.angular):
                self.lengths[joint.v_start + k] = 1.0 if turns else model.unit_length

    def errors(self, q: Array) -> Array:
        """In rad and own lengths."""
        return np.asarray(self.evaluator.evaluate(CONSTRAINT_ERROR, {"q": q})) / self.scales

    def run(self, q: Array) -> Array:
        """Steps until every one is closed; those that no step improves are judged."""
        q, error = self.approached(q, STEPS)
        self._require_closed(q, error)
        return q

    def approached(self, q: Array, steps: int) -> tuple[Array, Array]:
        """So many steps at most, and what is left."""
        error = self.errors(q)
        going = np.arange(len(q))
        low, high = self.limits.ranges(q)
        for _ in range(steps):
            going = going[np.abs(error[going]).max(axis=1, initial=0.0) > EXACT]
            if not going.size:
                break
            moved, left, better = self._improved(q[going], error[going], (low[going], high[going]))
            q[going], error[going] = moved, left
            going = going[better]
        return q, error

    def _improved(self, q: Array, error: Array, ranges: tuple[Array, Array]) -> tuple[Array, Array, Array]:
        """One step each, and which came nearer."""
        step = self._step(q, error, ranges)
        before = (error**2).sum(axis=1)
        moved, left, better = q.copy(), error.copy(), np.zeros(len(q), bool)
        share = 1.0
        for _ in range(HALVINGS):
            rest = np.flatnonzero(~better)
            if not rest.size:
                break
            tried = self.evaluator.evaluate(INTEGRATE, {"q": q[rest], "dv": share * step[rest]})
            tried = self.limits.within(tried, (ranges[0][rest], ranges[1][rest]))
            errors = self.errors(tried)
            good = (errors**2).sum(axis=1) < before[rest] * (1.0 - 1e-4 * share)
            chosen = rest[good]
            moved[chosen], left[chosen], better[chosen] = tried[good], errors[good], True
            share *= 0.5
        return moved, left, better

    def _step(self, q: Array, error: Array, ranges: tuple[Array, Array]) -> Array:
        """The shortest change that least squares of the errors ask for, without what fixed joints and limits forbid."""
        G = np.asarray(self.evaluator.evaluate(CONSTRAINT_JACOBIAN, {"q": q})) / self.scales[:, None] * self.lengths
        forbidden = np.broadcast_to(self.held, (len(q), self.model.nv)).copy()
        step = np.zeros_like(forbidden, float)
        for _ in range(self.model.nv + 1):
            step = shortest_fit(np.where(forbidden[:, None, :], 0.0, G), -error) * self.lengths
            blocked = self.limits.blocked(q, step, ranges)
            if not (blocked & ~forbidden).any():
                break
            forbidden |= blocked
        largest = np.abs(step / self.lengths).max(axis=1, initial=0.0)[:, None]
        return step * np.minimum(1.0, LONGEST / np.maximum(largest, LONGEST))

    def _require_closed(self, q: Array, error: Array) -> None:
        for row in np.flatnonzero(np.abs(error).max(axis=1, initial=0.0) > CLOSED)[:1].tolist():
            raise StateError(self._missed(q[row], error[row], row if len(q) > 1 else None))

    def _missed(self, q: Array, error: Array, row: int | None) -> str:
        model, parts = self.model, []
        own = error * self.scales
        for one in model.equations:
            mine = own[one.start : one.start + len(one.units)]
            sizes = {
                u: float(np.sqrt(sum(x * x for x, y in zip(mine, one.units, strict=True) if y == u))) for u in "rm"
            }
            closed = {"r": CLOSED, "m": CLOSED * model.unit_length}
            texts = [
                f"{size:.3g} {unit}" for (key, unit) in (("r", "rad"), ("m", "m")) if (size := sizes[key]) > closed[key]
            ]
            if texts:
                parts.append(f"the {called(one.constraint)} by {' and '.join(texts)}")
        values = q[self.limits.at_q]
        reached = (values <= self.limits.low) | (values >= self.limits.high)
        at = [repr(name) for name, is_reached in zip(self.limits.names, reached, strict=True) if is_reached]
        limits = f" Joints at a limit or beyond: {shortened(at)}; limits=False ignores limits." if at else ""
        of_row = "" if row is None else f" (row {row})"
        return (
            f"robot '{model.name}': the constraints cannot all be kept from this start{of_row}. Missed: "
            f"{'; '.join(parts)}.{limits} Start nearer, fix fewer joints, or see whether lengths and axes allow it"
        )


def shortest_fit(G: Array, right: Array) -> Array:
    """The shortest x (B, n) of all that make ``G x - b`` smallest, of matrices (B, m, n) of any rank."""
    rows = [[G[:, i, j] for j in range(G.shape[2])] for i in range(G.shape[1])]
    with np.errstate(all="ignore"):  # columns of rank zero are divided by zero, and not used
        found = dense.orthonormal(rows, [1.0] * len(rows))
        x = dense.fitted(found, [right[:, i] for i in range(G.shape[1])])
    return np.stack([np.broadcast_to(entry, (len(G),)) for entry in x], axis=1)
