"""The kernels of one robot, made on demand and kept by what was asked; how arguments are read, memory for results."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from recursa.errors import UntraceableError
from recursa.kernels.kernel import Gather, Kernel
from recursa.kernels.loop import Looped
from recursa.kernels.records import name_of
from recursa.kernels.rollout_emit import Motions, Scheme
from recursa.kernels.rollout_kernel import RolloutKernel
from recursa.kernels.switch import Switch as Switch
from recursa.kernels.switch import compiles, native_module, warn_of_interpreting
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.sweeps.batching import Array, Batch, checked_out
from recursa.sweeps.input_kinds import kind_of_input
from recursa.sweeps.plan import Plan
from recursa.waits import spoken

empty = np.empty if native_module is None else native_module.empty

_COMPILED_TYPES = (np.dtype(np.float64), np.dtype(np.float32))


class KernelStore:
    """The kernels of one robot, made on demand, from any thread.

    They are kept by ``key``, what was asked: whoever asks gives one key to one plan and what is gathered from it. A key
    with a text ``lasting`` says the same in every process; its kernels are found again on disk.
    """

    __slots__ = ("_bounds", "_compiled_model", "_form", "_inputs", "_kernels", "_rollouts", "may_move", "model")

    def __init__(
        self,
        model: Model,
        may_move: MayMove = MayMove.NOTHING,
        form: str | None = None,
        bounds: Array | None = None,
    ) -> None:
        """For results that do not depend on what ``may_move``. ``form`` insists on one.

        Native entries leave coordinates beyond ``bounds`` to the general way; see :func:`argument_input`.
        """
        self.model = model
        self._bounds = bounds
        self.may_move = may_move
        self._form = form
        self._compiled_model: Model | None = None
        self._kernels: dict[Hashable, tuple[Plan, Kernel | None]] = {}  # the plan too: it names what could not be made
        self._inputs: dict[tuple[str, int], Any] = {}  # readers of arguments
        self._rollouts: dict[Hashable, RolloutKernel | None] = {}

    def compiles(self, dtype: Any) -> bool:
        """Whether anything is compiled for arguments of such a type."""
        if dtype not in _COMPILED_TYPES or self.model.nbodies == 0:
            return False
        if not compiles():
            warn_of_interpreting()
        return compiles()

    def kernel(
        self,
        plan: Plan,
        key: Hashable,
        sizes: Mapping[str, int],
        gather: Gather,
        looped: Looped | None = None,
        *,
        single: bool = False,
    ) -> Kernel | None:
        """The kernel for a plan with inputs of these sizes, made if it is new; None if there is none."""
        full = self._full(key, tuple(sizes), single)
        found = self._kernels.get(full)
        if found is None:  # two threads may both make it; one is kept. A lock could be left behind by a fork
            form, name = self._form or Switch.form, self._name(key, plan, looped, sizes, single)
            made: Kernel | None = None
            with suppress(UntraceableError):
                made = Kernel(plan, self.compiled_model, sizes, gather, single, form, looped, name)
            found = self._kernels.setdefault(full, (plan, made))
        assert found[0].name == plan.name, f"{key} was asked for {found[0].name}, and now for {plan.name}"
        return found[1]

    def rollout(
        self, key: Hashable, motions: Callable[[str | None], Motions], scheme: Scheme, single: bool
    ) -> RolloutKernel | None:
        """The native loop of an integrator, made if it is new; None if there is none.

        ``motions`` makes the parts in a form of code; ``key`` tells them apart.
        """
        form = self._form or Switch.form
        full = key, scheme, single, form
        if full not in self._rollouts:
            made: RolloutKernel | None = None
            with suppress(UntraceableError), spoken(f"preparing motions of '{self.model.name}'"):
                made = RolloutKernel(motions(form), scheme, single)
            self._rollouts.setdefault(full, made)
        return self._rollouts[full]

    def _full(self, key: Hashable, inputs: tuple[str, ...], single: bool) -> Hashable:
        return key, inputs, single, self._form or Switch.form

    def known(self, key: Hashable, inputs: tuple[str, ...], *, single: bool = False) -> Kernel | None:
        """The kernel of a key, if it has been made already."""
        return self._kernels.get(self._full(key, inputs, single), (None, None))[1]

    def input(self, name: str, size: int) -> Any:
        """The reader of an argument, made once."""
        if (name, size) not in self._inputs:
            self._inputs[name, size] = argument_input(self.model, name, size, bounds=self._bounds)
        return self._inputs[name, size]

    @property
    def compiled_model(self) -> Model:
        """The model that kernels are made of: the robot's, with everything moved that may be."""
        if self._compiled_model is None:
            self._compiled_model = self.may_move.moved(self.model)
        return self._compiled_model

    def _name(
        self, key: Hashable, plan: Plan, looped: Looped | None, sizes: Mapping[str, int], single: bool
    ) -> str | None:
        """The name by which other processes find the kernel of a key, if the key means the same there."""
        asked = getattr(key, "lasting", None)
        if asked is None or not self.model.lasting:
            return None
        plans = plan.name, looped and looped.plan.name
        decisive = plans, tuple(sizes.items()), single, self._form or Switch.form, self.may_move.name
        return name_of((asked, self.model.fingerprint, repr(decisive)))


def argument_input(model: Model, name: str, size: int, *, checked: bool = True, bounds: Array | None = None) -> Any:
    """The reader of an argument of so many numbers: arrays; for joint vectors also lists, tuples, and mappings by joint
    name. Quaternions are ``checked`` for unit length, or left to the caller. Coordinates beyond ``bounds`` (nq,), which
    may change later, are not read but left to the general way.
    """
    kind = kind_of_input(name)
    axes = kind.axes(model, size)
    if kind.of_joint is None:
        return native_module.Input(axes)
    places, neutral = {}, np.zeros(axes)
    for k, joint in enumerate(model.joints):
        if joint.independent:
            part = kind.part(model, k)
            places[joint.name] = (part.start, part.stop - part.start)
            neutral[part] = joint.kind.neutral() if kind.coordinates else 0.0
    own = {} if bounds is None or not kind.coordinates else {"bounds": bounds}
    return native_module.Input(axes, places, neutral, model.quaternions if kind.coordinates and checked else (), **own)


def result_array(batch: Batch, shape: tuple[int, ...], out: Array | None) -> Array:
    """The array that takes the result: the caller's, checked, or a new one, in memory that is kept for others."""
    wanted = batch.shape + shape
    return empty(wanted, batch.dtype) if out is None else checked_out(out, wanted, batch.dtype)
