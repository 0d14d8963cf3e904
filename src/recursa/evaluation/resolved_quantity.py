"""A question that one robot has been asked: how it is answered, and the code for that, made when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from recursa.dynamics.needs import needs_hinges
from recursa.kernels.dispatch import KernelStore, Switch, argument_input, result_array
from recursa.kernels.kernel import Kernel, native_entry, program
from recursa.kernels.programs import Program
from recursa.kernels.switch import compiles, native_module
from recursa.quantities.quantity import Quantity, Recipe
from recursa.sweeps.batching import Array, check_threads, interpret, prepare
from recursa.sweeps.plan import Plan

Options = Mapping[str, Hashable]
NO_OPTIONS: Options = MappingProxyType({})


@dataclass(frozen=True)
class Question:
    """What is asked, as far as it decides how the answer is computed."""

    quantity: Quantity
    given: tuple[str, ...]  # of the arrays that need not be
    options: tuple[tuple[str, Hashable], ...]

    @staticmethod
    def of(quantity: Quantity, given: Iterable[str], options: Options) -> Question:
        """The question that such a call asks."""
        named, chosen = set(given), {**quantity.defaults, **options}
        return Question(
            quantity, tuple(name for name in quantity.optional if name in named), tuple(sorted(chosen.items()))
        )

    @property
    def arrays(self) -> tuple[str, ...]:
        """The arrays of the question by the names that plans know, in the order in which kernels take them."""
        reads = self.quantity.reads
        return tuple(reads.get(name, name) for name in (*self.quantity.inputs, *self.given))

    @cached_property
    def lasting(self) -> str | None:
        """Text that means this question in every process; None where no text does."""
        if not (self.quantity.lasting and all(_is_plain(value) for _, value in self.options)):
            return None
        return repr((self.quantity.name, self.given, self.options))


def _is_plain(value: object) -> bool:
    """Whether a value says all about itself when it is printed."""
    if isinstance(value, tuple):
        return type(value) is tuple and all(map(_is_plain, value))
    return value is None or type(value) in (str, bool, int, float)


class ResolvedQuantity:
    """The recipe that answers a question for one robot, and what is made of it: a program, kernels, native entries.

    :meth:`recursa.evaluation.evaluator.Evaluator.resolve` makes them of questions about registered quantities. Whoever
    has a recipe without a record, such as a formula, makes one with a ``key`` of its own.

    - ``key``: what is asked; kernels are kept by it.
    - ``sizes``: numbers of every input by the name that the plan knows, in the order in which kernels take them.
    - ``compiled_plan``: computes the same for the model of ``kernels`` at less cost than the recipe's plan.
    - ``labels``: names that callers know, by those of the plan, where they differ.
    - ``readers``: how native entries read inputs that are not read in the usual way.
    - ``guard``: its results have to be positive, or native entries decline.
    - ``judged``: whether native entries decline batches with a result that is not finite, as by default where a plan
      divides by hinge inertias; of a single state they always do.
    """

    __slots__ = (
        "_entries", "_readers", "compiled_plan", "guard", "judged", "kernels", "key", "labels", "recipe", "sizes",
    )  # fmt: skip

    def __init__(
        self,
        key: Hashable,
        recipe: Recipe,
        kernels: KernelStore,
        sizes: Mapping[str, int],
        compiled_plan: Plan | None = None,
        *,
        labels: Mapping[str, str] = MappingProxyType({}),
        readers: Mapping[str, Any] = MappingProxyType({}),
        guard: ResolvedQuantity | None = None,
        judged: bool | None = None,
    ) -> None:
        self.key, self.recipe, self.kernels, self.sizes = key, recipe, kernels, sizes
        self.compiled_plan = compiled_plan or recipe.plan
        self.labels, self._readers, self.guard = labels, readers, guard
        solving = (needs_hinges(recipe.plan) or recipe.singular is not None) and not recipe.lenient
        self.judged = solving if judged is None else judged
        self._entries: dict[bool, tuple[object, Any]] = {}  # whether they trust: what they were made of, and they

    @property
    def compiles(self) -> bool:
        """Whether anything is compiled for this robot at all."""
        return compiles() and self.kernels.model.nbodies > 0

    def answer(self, arguments: Mapping[str, Any], out: Array | None = None, threads: int | None = None) -> Array:
        """An array of the batch shape followed by that of the result: by a kernel, or else on NumPy columns."""
        store, recipe = self.kernels, self.recipe
        batch = prepare(store.model, arguments, self.labels)
        workers = check_threads(threads)
        result = result_array(batch, recipe.shape, out)
        if batch.size == 0 or result.size == 0:
            return result
        shared = out is not None and any(np.may_share_memory(out, rows) for rows in batch.rows.values())
        fits = result.flags.c_contiguous and result.dtype == batch.dtype and not shared
        numbers = result.size // batch.size
        flat = result.reshape(batch.size, numbers) if fits else np.empty((batch.size, numbers), batch.dtype)
        kernel = self.kernel(single=batch.dtype == np.float32) if store.compiles(batch.dtype) else None
        if kernel is not None:
            kernel(batch.rows, flat, workers)
        else:
            interpret(store.model, recipe.plan, batch, recipe.gather, flat, workers)
        if not fits:
            result[...] = flat.reshape(result.shape)
        return result

    def program(self, form: str | None = None) -> Program:
        """The plan written for this robot, for loops that call it; UntraceableError where there is no code for it."""
        recipe, model = self.recipe, self.kernels.compiled_model
        return program(self.compiled_plan, model, self.sizes, recipe.gather, recipe.form or form, recipe.looped)

    def kernel(self, *, single: bool = False) -> Kernel | None:
        """The native code, made if it is new; None where the plan has to be interpreted."""
        recipe = self.recipe
        return self.kernels.kernel(
            self.compiled_plan, self.key, self.sizes, recipe.gather, recipe.looped, single=single
        )

    def entry(self, *, trusting: bool = False) -> Callable[..., Any] | None:
        """A native function from arguments to the result, which answers NotImplemented what it leaves to Python.

        It takes single states and batches as far as code for them has been compiled; None while there is none. A
        ``trusting`` one has code for one state compiled at once, and leaves the length of quaternions to its caller.
        """
        if self.recipe.check is not None or not self.compiles:
            return None
        names = tuple(self.sizes)
        kernel = self.kernel() if trusting else self.kernels.known(self.key, names)
        single = None if trusting else self.kernels.known(self.key, names, single=True)
        if trusting and kernel is not None and 1 not in kernel.widths:
            kernel.way_in(1)
        made_of = Switch.form, kernel, kernel and kernel.widths, single, single and single.widths
        known = self._entries.get(trusting)
        if known is None or known[0] != made_of:
            known = self._entries[trusting] = made_of, self._made(kernel, single, trusting)
        return known[1]

    def _made(self, kernel: Kernel | None, single: Kernel | None, trusting: bool) -> Any:
        if kernel is single is None or (
            len(self.kernels.model.quaternions) > native_module.MAX_QUATERNIONS and not trusting
        ):
            return None
        readers = [self._reader(name, trusting) for name in self.sizes]
        made = native_entry((kernel, single), self.recipe.shape, readers, judged=self.judged)
        if made is None or self.guard is None:
            return made
        margins = self.guard.entry(trusting=True)
        places = tuple(map(tuple(self.sizes).index, self.guard.sizes))
        return None if margins is None else made.guarded(margins, places)

    def _reader(self, name: str, trusting: bool) -> Any:
        if trusting:
            return argument_input(self.kernels.model, name, self.sizes[name], checked=False)
        return self._readers.get(name) or self.kernels.input(name, self.sizes[name])
