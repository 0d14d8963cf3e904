"""Motion on the manifold of configurations that constraints allow, in independent speeds.

Of nv speeds some determine the others: ``v = Z y``, y the independent ones. Deviations from a motion that obeys the
constraints obey them to first order: ``G dq = 0`` and ``G dv + d(G v)/dq dq = 0``, so with y and z the independent
entries of dq and dv

    dq = Z y,    dv = Z z + E y,    G E = -d(G v)/dq Z,    no independent entries in E.

Small motions of joints with several freedoms do not commute, so that with ``h(x, v)`` the change of ``G v`` along x

    h(x, v) - h(v, x) = -G ad_v x,    h(x, v) + h(v, x) = d(G a + gamma)/dv x.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from recursa.constraints.assembling import shortest_fit
from recursa.constraints.free_directions import determined
from recursa.constraints.quantities import CONSTRAINT_ERROR, CONSTRAINT_JACOBIAN, constrained_model
from recursa.constraints.rows import row_scales
from recursa.errors import ShapeError, StateError
from recursa.methods.constrained_motion import CONSTRAINED_COMPLIANCE, CONSTRAINT_CHANGES
from recursa.methods.first_order import MOVING_COORDINATES
from recursa.methods.matrices import MASS_MATRIX
from recursa.model.columns import freedom_names
from recursa.model.constraint_equations import Telling
from recursa.model.constraints import called
from recursa.model.model import Model
from recursa.sweeps.batching import Array

UNSURE = 1e-6  # of a row: speeds that others determine only with so little are not taken for such in a batch
OFF = 1e-6  # rad, own lengths, and these per second, by which a state may miss the constraints


class FreeDirections(NamedTuple):
    """The directions that constraints leave free at a configuration.

    - ``independent``: names of the f independent speeds, as in :attr:`~recursa.Robot.v_names`, and ``places`` in v.
    - ``basis``: Z (nv, f), ``v = basis @ v[places]`` for every allowed v.
    - ``mass_matrix``: (f, f), ``Z* mass Z``. ``compliance``: its inverse.
    """

    independent: tuple[str, ...]
    places: tuple[int, ...]
    basis: Array
    mass_matrix: Array
    compliance: Array


def free_directions(evaluator: Any, q: Any) -> FreeDirections:
    """Of one configuration."""
    model = constrained_model(evaluator)
    G = np.asarray(evaluator.evaluate(CONSTRAINT_JACOBIAN, {"q": q}), float)
    if G.ndim != 2:
        raise ShapeError(
            f"free_directions is of one configuration, q of shape ({model.nq},), since which speeds are independent "
            f"depends on it; got {G.ndim - 2} batch axes"
        )
    places = _independent(model, G)
    Z = _basis(model, G[None], places)[0]
    own, names = list(places), freedom_names(model)
    mass = Z.T @ np.asarray(evaluator.evaluate(MASS_MATRIX, {"q": q}), float) @ Z
    compliance = np.asarray(evaluator.evaluate(CONSTRAINED_COMPLIANCE, {"q": q}), float)[np.ix_(own, own)]
    return FreeDirections(tuple(names[k] for k in places), places, Z, mass, compliance)


def _independent(model: Model, G: Array) -> tuple[int, ...]:
    """The places of independent speeds at one configuration."""
    _, dependent = determined(G, row_scales(model))
    return tuple(k for k in range(model.nv) if k not in dependent)


def scaled(model: Model, rows: Array) -> Array:
    """Rows in units in which turning and moving can be compared."""
    return rows / np.array(row_scales(model))[:, None]


def _others(model: Model, places: tuple[int, ...]) -> list[int]:
    return [k for k in range(model.nv) if k not in places]


def _basis(model: Model, G: Array, places: tuple[int, ...]) -> Array:
    """Z (B, nv, f) of states with rows G (B, ncon, nv)."""
    own, others = list(places), _others(model, places)
    Z = np.zeros((len(G), model.nv, len(places)))
    Z[:, own] = np.eye(len(places))
    Z[:, others] = _solved(model, G, others, -G[:, :, own])
    return Z


def _solved(model: Model, G: Array, dependent: list[int], right: Array) -> Array:
    """The speeds ``dependent`` (B, d, f) that make ``G x`` what is wanted (B, ncon, f), column by column."""
    count, _, columns = right.shape
    if not dependent or not columns:
        return np.zeros((count, len(dependent), columns))
    own = np.repeat(scaled(model, G)[:, :, dependent], columns, axis=0)
    wanted = np.swapaxes(scaled(model, right), 1, 2).reshape(count * columns, -1)
    return np.swapaxes(shortest_fit(own, wanted).reshape(count, columns, -1), 1, 2)


def _require_one_choice(model: Model, G: Array, places: tuple[int, ...]) -> None:
    """Of several states: the speeds that are independent at the first one must be so at all."""
    scales, alone = row_scales(model), G[:, :, _others(model, places)]
    for row in range(len(G)):
        rank = determined(G[row], scales)[0]
        if rank != model.nv - len(places) or determined(alone[row], scales, UNSURE)[0] < rank:
            names = freedom_names(model)
            chosen = ", ".join(repr(names[k]) for k in places) or "none"
            raise StateError(
                f"robot '{model.name}': the speeds that are independent at the first state ({chosen}) do not determine "
                f"the others at state {row}, where constraints leave {model.nv - rank} freedoms. States of a batch "
                "share their independent speeds: ask for such states apart"
            )


class Reduced(NamedTuple):
    """A (..., 2 f, 2 f) and B (..., 2 f, nv) in independent entries of dq and dv."""

    A: Array
    B: Array


def reduced_state_space(evaluator: Any, q: Any, v: Any, lower: tuple[Array, Array, Array]) -> Reduced:
    """From the derivatives of the accelerations by q, v, tau, with the batch axes that they have."""
    model = constrained_model(evaluator)
    n, m = model.nv, model.ncon
    dtype = np.result_type(*lower)
    by_q, by_v, by_tau = (np.asarray(x, float) for x in lower)
    batch = by_q.shape[:-2]
    q, v = (_as_rows(np.asarray(x, float), batch) for x in (q, v))
    by_q, by_v, by_tau = (x.reshape(-1, n, n) for x in (by_q, by_v, by_tau))
    if not len(q):
        raise ShapeError("state_space of a robot with constraints needs a state: the batch is empty")
    G = np.asarray(evaluator.evaluate(CONSTRAINT_JACOBIAN, {"q": q}), float)
    _require_on_manifold(evaluator, q, v, G)
    places = _independent(model, G[0])
    _require_one_choice(model, G, places)
    Z, f, own = _basis(model, G, places), len(places), list(places)
    still, none = np.zeros_like(v), np.zeros((len(q), m))  # what is linear in a and lambda is not looked at
    found = evaluator.evaluate(CONSTRAINT_CHANGES, {"q": q, "v": v, "a": still, "multipliers": none})
    by_speed = np.asarray(found, float)[:, 2 * m * n : 3 * m * n].reshape(-1, m, n)
    moving = np.asarray(evaluator.evaluate(MOVING_COORDINATES, {"v": v}), float)  # -ad_v
    changed = 0.5 * (by_speed + G @ moving)  # h(., v)
    others = _others(model, places)
    E = np.zeros((len(q), n, f))
    E[:, others] = _solved(model, G, others, -changed @ Z)
    A, B = np.zeros((len(q), 2 * f, 2 * f)), np.zeros((len(q), 2 * f, n))
    A[:, :f, :f], A[:, :f, f:] = (moving @ Z)[:, own], np.eye(f)
    A[:, f:, :f], A[:, f:, f:] = (by_q @ Z + by_v @ E)[:, own], (by_v @ Z)[:, own]
    B[:, f:] = by_tau[:, own]
    return Reduced(A.reshape(*batch, 2 * f, 2 * f).astype(dtype), B.reshape(*batch, 2 * f, n).astype(dtype))


def _as_rows(x: Array, batch: tuple[int, ...]) -> Array:
    size = x.shape[-1]
    return np.ascontiguousarray(np.broadcast_to(x, (*batch, size)).reshape(-1, size))


def _require_on_manifold(evaluator: Any, q: Array, v: Array, G: Array) -> None:
    model: Model = evaluator.model
    error = np.asarray(evaluator.evaluate(CONSTRAINT_ERROR, {"q": q}), float)
    for what, numbers, cure in (
        ("constraint_error(q)", error, "q = robot.assemble(q)"),
        ("constraint_jacobian(q) @ v", (G @ v[:, :, None])[..., 0], "v = robot.project_velocity(q, v)"),
    ):
        sizes = np.abs(scaled(model, numbers[..., None])[..., 0])
        for one in model.equations:
            rows = slice(one.start, one.start + len(one.units))
            told = isinstance(one, Telling) or getattr(one, "told", None) is not None
            worst = int(sizes[:, rows].max(axis=1, initial=0.0).argmax())
            if not told and sizes[worst, rows].max(initial=0.0) > OFF:
                which = "the state" if len(q) == 1 else f"state {worst}"
                raise StateError(
                    f"robot '{model.name}': {which} does not obey the {called(one.constraint)}: its {what} is up to "
                    f"{np.abs(numbers[worst, rows]).max():.3g}, and motion near it has no "
                    f"independent coordinates. Make it obey first: {cure}"
                )
