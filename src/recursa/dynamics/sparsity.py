"""Which entries of matrices in joint space are not zero for good: those of joints one inward of the other.

A branch makes zeros: what one arm does, the other does not feel, unless through a base that moves. A matrix can be had
as its other entries alone, in the order of a :class:`Sparsity`; that is what solvers and large batches want.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recursa.dynamics.gathering import speed_index
from recursa.errors import ShapeError
from recursa.model.model import Model
from recursa.quantities import Recipe
from recursa.quantities.quantity import Gather
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Values
from recursa.sweeps.batching import Array


@dataclass(frozen=True, eq=False)
class Sparsity:
    """Where the entries of a packed matrix belong, row by row.

    - ``rows``, ``columns`` (n,): the places of the entries; ``shape``: of the whole matrix.
    - ``starts`` (rows + 1,): where each row begins among the entries, as in compressed sparse rows.

    >>> import recursa as rc
    >>> robot = rc.robots.tree(15)
    >>> q, _ = robot.random_state(1)
    >>> where = robot.sparsity("mass_matrix")
    >>> entries = robot.mass_matrix(q, packed=True)
    >>> entries.size, robot.nv ** 2, bool((where.dense(entries) == robot.mass_matrix(q)).all())
    (83, 225, True)
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    shape: tuple[int, int]

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where each row begins."""
        return np.searchsorted(self.rows, np.arange(self.shape[0] + 1))

    def entries(self, whole: ArrayLike) -> Array:
        """Those (..., n) of whole matrices (..., rows, columns)."""
        given = np.asarray(whole)
        if given.shape[-2:] != self.shape:
            raise ShapeError(f"matrices have shape {given.shape}, expected (..., {self.shape[0]}, {self.shape[1]})")
        return given[..., self.rows, self.columns]

    def dense(self, entries: ArrayLike) -> Array:
        """The whole matrices (..., rows, columns) of packed entries (..., n)."""
        given = np.asarray(entries)
        if given.ndim == 0 or given.shape[-1] != self.rows.size:
            raise ShapeError(f"entries have shape {given.shape}, expected (..., {self.rows.size}): one for each place")
        whole = np.zeros((*given.shape[:-1], *self.shape), given.dtype)
        whole[..., self.rows, self.columns] = given
        return whole


def related(model: Model) -> Sparsity:
    """Pairs of freedoms of joints of which one is inward of the other, or the same."""
    places = set()
    for body in range(model.nbodies):
        for inner in model.support(body):
            places |= {place for a in _speeds(model, body) for b in _speeds(model, inner) for place in ((a, b), (b, a))}
    return _sparsity(places, (model.nv, model.nv))


def moved_parameters(model: Model) -> Sparsity:
    """Freedoms with the ten parameters of every body that they move."""
    places = {
        (row, 10 * body + k)
        for body in range(model.nbodies)
        for inner in model.support(body)
        for row in _speeds(model, inner)
        for k in range(10)
    }
    return _sparsity(places, (model.nv, 10 * model.nbodies))


def packed(recipe: Recipe, name: str, model: Model) -> Recipe:
    """The same matrix, or several that are stacked, without the entries that are zero for good."""
    where, stacked, looped = PATTERNS[name](model), recipe.shape[:-2], recipe.looped
    if looped is not None:
        plain = looped.unit is None and looped.product is None
        looped = replace(looped, gather=_chosen(looped.gather, where, math.prod(stacked))) if plain else None
    gather = _chosen(recipe.gather, where, math.prod(stacked))
    return replace(recipe, gather=gather, shape=(*stacked, where.rows.size), looped=looped)


def _chosen(gather: Gather, where: Sparsity, matrices: int) -> Gather:
    first = np.arange(matrices)[:, None] * math.prod(where.shape)
    chosen: list[int] = (first + where.rows * where.shape[1] + where.columns).ravel().tolist()

    def some(values: Values) -> Iterable[Scalar]:
        entries = list(gather(values))
        return [entries[place] for place in chosen]

    return some


def _speeds(model: Model, body: int) -> list[int]:
    joint = model.joints[body]
    return [speed_index(joint, freedom)[0] for freedom in range(joint.kind.nv)]


def _sparsity(places: Iterable[tuple[int, int]], shape: tuple[int, int]) -> Sparsity:
    ordered = np.array(sorted(places), np.intp).reshape(-1, 2)
    return Sparsity(ordered[:, 0], ordered[:, 1], shape)


PATTERNS: dict[str, Callable[[Model], Sparsity]] = {
    "mass_matrix": related,
    "coriolis_matrix": related,
    "inverse_dynamics_derivatives": related,
    "regressor": moved_parameters,
}
"""By the names of methods that take ``packed=True``."""
