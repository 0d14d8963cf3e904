"""Matrices in a few kernels, where one would be too long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from recursa.dynamics.parts import Cut
from recursa.facade.parameters import ParameterMethods
from recursa.kernels import native
from recursa.kernels.dispatch import KernelStore, Switch
from recursa.kernels.kernel import MANY_BODIES, SERIAL_ROWS, Gather, Kernel
from recursa.model.moving import MayMove
from recursa.sweeps.batching import Array, Batch
from recursa.sweeps.plan import Plan


@dataclass(frozen=True, eq=False)
class Parts:
    """Plans whose entries make up the matrices: how many each has, and for every place in the matrices its entry."""

    plans: tuple[tuple[Plan, int], ...]
    source: Array
    gather: Gather

    def fill(self, store: KernelStore, batch: Batch, flat: Array, workers: int) -> bool:
        """Fill rows (B, places), some states at a time so that the entries stay in the cache; what has none is zero."""
        sizes = {name: rows.shape[1] for name, rows in batch.rows.items()}
        kernels = self.kernels(store, sizes, single=batch.dtype == np.float32)
        if None in kernels:
            return False
        counts = [count for _, count in self.plans]
        at_once = _STATES_AT_ONCE if workers == 1 else max(_STATES_AT_ONCE, SERIAL_ROWS * workers)
        for start in range(0, batch.size, at_once):
            some = slice(start, min(start + at_once, batch.size))
            rows = {name: values[some] for name, values in batch.rows.items()}
            found = [np.empty((some.stop - start, count), batch.dtype) for count in counts]
            for kernel, entries in zip(kernels, found, strict=True):
                assert kernel is not None
                kernel(rows, entries, workers)
            nothing = np.zeros((some.stop - start, 1), batch.dtype)
            np.take(np.concatenate([*found, nothing], axis=1), self.source, axis=1, mode="clip", out=flat[some])
        return True

    def kernels(self, store: KernelStore, sizes: Mapping[str, int], *, single: bool = False) -> list[Kernel | None]:
        """One per plan, up to the first that is too long."""
        made: list[Kernel | None] = []
        for plan, count in self.plans:
            made.append(store.kernel(plan, (None, (count,)), sizes, self.gather, single=single))
            if made[-1] is None:
                break
        return made


_STATES_AT_ONCE = 256


class PartMethods(ParameterMethods):
    """Evaluation of matrices in parts."""

    __slots__ = ("_in_parts",)
    _in_parts: dict[str, Parts | None]  # by the whole plan's name

    def _parts(self, cut: Cut, inputs: Iterable[str]) -> Parts | None:
        """The matrices of a cut plan in a few kernels; None where one will do, or even a few do not."""
        if self.model.nbodies <= cut.bodies or not Switch.on:
            return None
        try:
            known = self._in_parts
        except AttributeError:
            known = self._in_parts = {}
        if cut.plan.name not in known:
            known[cut.plan.name] = self._make_parts(cut, inputs)
        return known[cut.plan.name]

    def _make_parts(self, cut: Cut, inputs: Iterable[str]) -> Parts | None:
        model, nv = self.model, self.nv
        if self._tied or model.nbodies > MANY_BODIES or not native.available():
            return None
        sizes = {name: self.nq if name == "q" else nv for name in inputs}
        if self._whole(cut, sizes) is not None:
            return None
        for longest in cut.longest:
            groups = cut.groups(model, longest)
            if not 0 < len(groups) <= cut.most:
                return None
            plans = [cut.part(model, group) for group in groups]
            places = [cut.places(model, plan) for plan in plans]
            counts = [len(own) for own in places]
            source = np.full(len(cut.blocks) * nv * nv, sum(counts))
            for number, targets in enumerate(chain.from_iterable(places)):
                source[list(targets)] = number
            parts = Parts(tuple(zip(plans, counts, strict=True)), source, cut.entries)
            if None not in parts.kernels(self._store(MayMove.INERTIAS), sizes):
                return parts
        return None

    def _whole(self, cut: Cut, sizes: Mapping[str, int]) -> Kernel | None:
        """All of it as one kernel, as evaluation would look it up."""
        shape = (len(cut.blocks), self.nv, self.nv)
        store = self._store(MayMove.INERTIAS)
        return store.kernel(cut.plan, (None, shape), sizes, lambda values: cut.matrices(self.model, values))
