"""Matrices in a few kernels, where one would be too long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.parts import Cut
from recursa.facade.parameters import ParameterMethods
from recursa.kernels import native
from recursa.kernels.dispatch import Switch
from recursa.kernels.kernel import MANY_BODIES, Kernel
from recursa.sweeps.batching import Array
from recursa.sweeps.plan import Plan


class Parts(NamedTuple):
    """Plans whose entries make up the matrices: how many each has, and for every place in the matrices its entry."""

    plans: tuple[tuple[Plan, int], ...]
    source: Array


class PartMethods(ParameterMethods):
    """Evaluation of matrices in parts."""

    __slots__ = ("_in_parts",)
    _in_parts: dict[str, Parts | None]  # by the whole plan's name

    def _parts(self, cut: Cut, arguments: Mapping[str, ArrayLike]) -> Parts | None:
        """The matrices of a cut plan in a few kernels; None where one will do, or even a few do not."""
        if self.model.nbodies <= cut.bodies or not Switch.on or not all(_is_plain(x) for x in arguments.values()):
            return None
        try:
            known = self._in_parts
        except AttributeError:
            known = self._in_parts = {}
        if cut.plan.name not in known:
            known[cut.plan.name] = self._make_parts(cut, arguments)
        return known[cut.plan.name]

    def _make_parts(self, cut: Cut, inputs: Iterable[str]) -> Parts | None:
        model, store, nv = self.model, self._joint_space, self.nv
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
            kernels = (
                store.kernel(plan, (None, (count,)), sizes, cut.entries)
                for plan, count in zip(plans, counts, strict=True)
            )
            if all(kernel is not None for kernel in kernels):
                source = np.full(len(cut.blocks) * nv * nv, sum(counts))
                for number, targets in enumerate(chain.from_iterable(places)):
                    source[list(targets)] = number
                return Parts(tuple(zip(plans, counts, strict=True)), source)
        return None

    def _whole(self, cut: Cut, sizes: Mapping[str, int]) -> Kernel | None:
        """All of it as one kernel, as evaluation would look it up."""
        shape = (len(cut.blocks), self.nv, self.nv)
        return self._joint_space.kernel(cut.plan, (None, shape), sizes, lambda values: cut.matrices(self.model, values))

    def _by_parts(
        self,
        cut: Cut,
        parts: Parts,
        arguments: dict[str, Any],
        threads: int | None,
        labels: Mapping[str, str] | None = None,
    ) -> Array:
        """What the parts compute, put into its places (..., blocks, nv, nv); the rest is zero."""
        found = [
            self._evaluate(
                plan, arguments, cut.entries, (count,), None, threads, labels=labels, store=self._joint_space
            )
            for plan, count in parts.plans
        ]
        batch = found[0].shape[:-1]
        entries = np.concatenate([*found, np.zeros((*batch, 1), found[0].dtype)], axis=-1)
        every = np.take(entries, parts.source, axis=-1, mode="clip")
        return every.reshape(*batch, len(cut.blocks), self.nv, self.nv)


def _is_plain(x: ArrayLike) -> bool:
    """Whether it is an array of real numbers already."""
    return isinstance(x, np.ndarray) and x.dtype.kind in "fiu"
