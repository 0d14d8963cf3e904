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
from recursa.constraints.mobility import ROUNDING, eliminated, scaled
from recursa.constraints.quantities import CONSTRAINT_ERROR, CONSTRAINT_JACOBIAN, require_constraints
from recursa.errors import ShapeError, StateError
from recursa.methods.constrained import CONSTRAINED_COMPLIANCE, CONSTRAINT_CHANGES
from recursa.methods.first_order import MOVING_COORDINATES
from recursa.methods.matrices import MASS_MATRIX
from recursa.model.columns import freedom_names
from recursa.model.constraints import called
from recursa.model.equations import Telling
from recursa.model.model import Model
from recursa.sweeps.batching import Array

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
    model: Model = evaluator.model
    G = _rows(evaluator, q, "free_directions")
    places, Z = _basis(model, G)
    own, names = list(places), freedom_names(model)
    mass = Z.T @ np.asarray(evaluator.evaluate(MASS_MATRIX, {"q": q}), float) @ Z
    compliance = np.asarray(evaluator.evaluate(CONSTRAINED_COMPLIANCE, {"q": q}), float)[np.ix_(own, own)]
    return FreeDirections(tuple(names[k] for k in places), places, Z, mass, compliance)


def _rows(evaluator: Any, q: Any, what: str) -> Array:
    model: Model = evaluator.model
    require_constraints(model)
    G = np.asarray(evaluator.evaluate(CONSTRAINT_JACOBIAN, {"q": q}), float)
    if G.ndim != 2:
        raise ShapeError(
            f"{what} of a robot with constraints is of one state, q of shape ({model.nq},), since which speeds are "
            f"independent depends on it; got {G.ndim - 2} batch axes"
        )
    return G


def _basis(model: Model, G: Array) -> tuple[tuple[int, ...], Array]:
    """The places of independent speeds, and Z."""
    _, dependent = eliminated(scaled(model, G), ROUNDING)
    places = tuple(k for k in range(model.nv) if k not in dependent)
    Z = np.zeros((model.nv, len(places)))
    Z[list(places)] = np.eye(len(places))
    Z[sorted(dependent)] = _solved(model, G, sorted(dependent), -G[:, list(places)])
    return places, Z


def _solved(model: Model, G: Array, dependent: list[int], right: Array) -> Array:
    """The speeds ``dependent`` that make ``G x`` what is wanted, column by column."""
    own = scaled(model, G)[:, dependent]
    wanted = scaled(model, right)
    if not dependent or not right.shape[1]:
        return np.zeros((len(dependent), right.shape[1]))
    return shortest_fit(np.broadcast_to(own, (right.shape[1], *own.shape)), np.ascontiguousarray(wanted.T)).T


class Reduced(NamedTuple):
    """A (2 f, 2 f) and B (2 f, nv) in independent entries of dq and dv."""

    A: Array
    B: Array


def reduced_state_space(evaluator: Any, q: Any, v: Any, lower: tuple[Array, Array, Array]) -> Reduced:
    """From the derivatives of the accelerations by q, v, tau."""
    model: Model = evaluator.model
    G = _rows(evaluator, q, "state_space")
    v = np.asarray(v, float)
    _require_on_manifold(evaluator, q, v, G)
    places, Z = _basis(model, G)
    f, own = len(places), list(places)
    by_q, by_v, by_tau = (np.asarray(x, float) for x in lower)
    still, none = np.zeros(model.nv), np.zeros(model.ncon)  # what is linear in a and lambda is not looked at
    found = evaluator.evaluate(CONSTRAINT_CHANGES, {"q": q, "v": v, "a": still, "multipliers": none})
    size = model.ncon * model.nv
    by_speed = np.asarray(found, float)[2 * size : 3 * size].reshape(model.ncon, model.nv)
    moving = np.asarray(evaluator.evaluate(MOVING_COORDINATES, {"v": v}), float)  # -ad_v
    changed = 0.5 * (by_speed + G @ moving)  # h(., v)
    E = np.zeros((model.nv, f))
    dependent = [k for k in range(model.nv) if k not in places]
    E[dependent] = _solved(model, G, dependent, -changed @ Z)
    A, B = np.zeros((2 * f, 2 * f)), np.zeros((2 * f, model.nv))
    A[:f, :f], A[:f, f:] = (moving @ Z)[own], np.eye(f)
    A[f:, :f], A[f:, f:] = (by_q @ Z + by_v @ E)[own], (by_v @ Z)[own]
    B[f:] = by_tau[own]
    return Reduced(A, B)


def _require_on_manifold(evaluator: Any, q: Any, v: Array, G: Array) -> None:
    model: Model = evaluator.model
    error = np.asarray(evaluator.evaluate(CONSTRAINT_ERROR, {"q": q}), float)
    for what, numbers, cure in (
        ("constraint_error(q)", error, "q = robot.assemble(q)"),
        ("constraint_jacobian(q) @ v", G @ v, "v = robot.project_velocity(q, v)"),
    ):
        sizes = np.abs(scaled(model, numbers[:, None])[:, 0])
        for one in model.equations:
            own = sizes[one.start : one.start + len(one.units)]
            told = isinstance(one, Telling) or getattr(one, "told", None) is not None
            if not told and own.max(initial=0.0) > OFF:
                raise StateError(
                    f"robot '{model.name}': the state does not obey the {called(one.constraint)}: its {what} is up to "
                    f"{np.abs(numbers[one.start : one.start + len(one.units)]).max():.3g}, and motion near it has no "
                    f"independent coordinates. Make it obey first: {cure}"
                )
