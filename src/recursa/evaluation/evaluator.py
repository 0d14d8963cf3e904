"""The one way from a quantity and numbers to an array. What is made on the way is kept by what was asked."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from recursa.dynamics.hinges import HINGES, all_turn_something, margins, pivots_of, singular_at, singular_freedoms
from recursa.dynamics.kinematics import POSES
from recursa.dynamics.needs import needs_hinges
from recursa.dynamics.requirements import Lacking, refuse_constraints, singular_hinge
from recursa.dynamics.wrenches import Wrench, wrench_array
from recursa.errors import SingularHingeError
from recursa.evaluation.hints import bounds_of_doubt, warn_of_conventions
from recursa.evaluation.resolved_quantity import NO_OPTIONS as NO_OPTIONS
from recursa.evaluation.resolved_quantity import Options, Question, ResolvedQuantity
from recursa.kernels.dispatch import KernelStore
from recursa.kernels.kernel import FEW_BODIES
from recursa.kernels.switch import compiles, native_module
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.quantities.quantity import Composed, Quantity, Recipe, Refusal, Subject
from recursa.sweeps.batching import Array, Gather, as_array, as_numbers, checked_out, prepare
from recursa.sweeps.input_kinds import INPUT_KINDS, kind_of_input
from recursa.sweeps.plan import Plan

Call = str | tuple[Any, ...]  # how somebody spells a call: see ``spelling`` in ``_method.c``
_GIVEN_IN_FRAMES = tuple(kind.name for kind in INPUT_KINDS.values() if kind.fixes_frames)
_POSES = POSES.name


class Others:
    """What a composed quantity asks while it is made: other quantities of the same robot, on the same numbers."""

    __slots__ = ("_evaluator", "_threads")

    def __init__(self, evaluator: Evaluator, threads: int | None) -> None:
        self._evaluator, self._threads = evaluator, threads

    def __call__(self, quantity: Quantity, options: Options = NO_OPTIONS, **arguments: Any) -> Array:
        """Another quantity."""
        return self._evaluator.evaluate(quantity, arguments, options, threads=self._threads)

    @property
    def tree(self) -> Others:
        """Quantities of the same robot without its constraints, on the same numbers."""
        return Others(self._evaluator.tree, self._threads)

    def solve(self, mass: Array, columns: Array) -> Array:
        """``inv(mass) columns`` with a mass matrix (..., nv, nv) and columns (..., nv, m)."""
        return self._evaluator.solve(mass, columns)

    def inverse(self, mass: Array) -> Array:
        """``inv(mass)``."""
        return self._evaluator.inverse(mass)

    def for_each_torque(self, **arguments: Any) -> dict[str, Array]:
        """Joint vectors with one more batch axis, and ``contract``, the unit vectors along it."""
        return self._evaluator.for_each_torque(arguments)

    def require_hinges(self, **arguments: Any) -> None:
        """Raise where a joint has nothing to move; parameters that are None are the model's."""
        self._evaluator.require_hinges({name: value for name, value in arguments.items() if value is not None})


class Evaluator:
    """Answers for one model."""

    __slots__ = ("_lacking", "_resolved", "_stores", "calls", "kept", "model", "subject")

    def __init__(self, model: Model, subject: Subject | None = None) -> None:
        self.model = model
        self.subject = subject or Subject(model)
        self._resolved: dict[Question, ResolvedQuantity | Composed] = {}
        self._stores: dict[Hashable, KernelStore] = {}
        self._lacking: Lacking | None = None
        self.calls: dict[Call, Any] = {}  # native entries, by how somebody spells a call
        self.kept: dict[Hashable, Any] = {}  # what others make of this model once

    @property
    def tree(self) -> Self:
        """The evaluator of the same robot without its constraints; itself where the robot has none."""
        description = self.model.description
        if not description.constraints:
            return self
        if "tree" not in self.kept:
            self.kept["tree"] = self._of(replace(self.model, description=replace(description, constraints=())))
        return self.kept["tree"]  # type: ignore[no-any-return]

    def _of(self, model: Model) -> Self:
        """An evaluator like this one for another model."""
        return type(self)(model)

    def evaluate(
        self,
        quantity: Quantity,
        arguments: Mapping[str, Any],
        options: Options = NO_OPTIONS,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The quantity for every state of a batch.

        ``arguments`` are arrays by the names that callers know, None where one is not given; ``options`` choose the
        recipe. ``out`` takes the result, ``threads`` share a large batch.
        """
        given = [name for name in quantity.arrays if arguments.get(name) is not None]
        call = (quantity, *options.items(), *arguments, *given)
        try:
            entry = self.calls.get(call)
        except TypeError:  # an option that cannot even be looked up
            return self._evaluated(quantity, arguments, options, out, threads)
        if entry is not None:
            result = entry(*[arguments[name] for name in given], out=out, threads=threads)
            if result is not NotImplemented:
                return result  # type: ignore[no-any-return]
        result = self._evaluated(quantity, arguments, options, out, threads)
        if entry is None or entry.lacking:
            self.learn(call, Question.of(quantity, given, options))
        return result

    def _evaluated(
        self,
        quantity: Quantity,
        arguments: Mapping[str, Any],
        options: Options,
        out: Array | None,
        threads: int | None,
    ) -> Array:
        """In the general way, which says what is wrong with arguments."""
        ordered = (name for name in (*quantity.arrays, *arguments) if name in arguments)  # as kernels have them
        given = {name: arguments[name] for name in ordered if arguments[name] is not None or name in quantity.inputs}
        for name in quantity.coordinates:
            if name in given:
                warn_of_conventions(self.model, given[name], self.kept)
        question = Question.of(quantity, given, options)
        found = self.resolve(question)
        if isinstance(found, ResolvedQuantity) and found.recipe.apart is not None and not self._in_one(found, given):
            found = found.recipe.apart
        if isinstance(found, Composed):
            return into(out, found.make(Others(self, threads), **self._as_vectors(quantity, given)))
        if "wrenches" in given:
            given["wrenches"] = wrench_array(self.model, given["wrenches"], lambda: self._poses(given["q"]))
        return self._filled(found, quantity.read(given), out, threads)

    def _as_vectors(self, quantity: Quantity, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Joint vectors that are given by joint name as arrays, which composed quantities calculate with."""
        named = {name: quantity.kind(name) for name, value in arguments.items() if isinstance(value, Mapping)}
        return {
            **arguments,
            **{
                name: as_array(self.model, name, arguments[name], coordinates=kind.coordinates)
                for name, kind in named.items()
                if kind.of_joint is not None
            },
        }

    def _filled(
        self, asked: ResolvedQuantity, arguments: dict[str, Any], out: Array | None, threads: int | None
    ) -> Array:
        recipe = asked.recipe
        self.require(recipe, arguments)
        if recipe.check is not None:
            recipe.check(arguments)
        result = asked.answer(arguments, out, threads)
        if needs_hinges(recipe.plan) and not recipe.lenient:
            self.require_finite(result, arguments, self._pivots(asked, result))
        if recipe.singular is not None and not np.isfinite(result).all() and _all_finite(arguments):
            raise recipe.singular(self.model)
        return result

    def _pivots(self, asked: ResolvedQuantity, result: Array) -> Array:
        """The entries of a result that tell whether it is finite."""
        if asked.recipe.pivots is None:
            return result
        cheaper = asked.compiled_plan is not asked.recipe.plan
        compiled = cheaper and asked.kernels.compiles(result.dtype)
        return asked.recipe.pivots(result, compiled and asked.kernel(single=result.dtype == np.float32) is not None)

    def resolve(self, question: Question) -> ResolvedQuantity | Composed:
        """How a question is answered; found out once."""
        try:
            found = self._resolved.get(question)
        except TypeError:  # an option that cannot even be looked up; making the recipe says what is wrong with it
            return self._made(question)
        return found or self._resolved.setdefault(question, self._made(question))

    def required(self, quantity: Quantity, given: Iterable[str], options: Options) -> ResolvedQuantity | Composed:
        """How a question is answered, or an error where the robot lacks what the answer needs, whatever the state."""
        found = self.resolve(Question.of(quantity, given, options))
        if isinstance(found, ResolvedQuantity):
            self.require(found.recipe, tuple(found.sizes))
        return found

    def _made(self, question: Question) -> ResolvedQuantity | Composed:
        if isinstance(question.quantity.on_constraints, Refusal):
            refuse_constraints(self.model, question.quantity.name, question.quantity.on_constraints)
        recipe = question.quantity.recipe(self.subject, frozenset(question.given), **dict(question.options))
        if isinstance(recipe, Composed):
            return recipe
        sizes = {name: kind_of_input(name).size(self.model) for name in question.arrays}
        return ResolvedQuantity(
            question,
            recipe,
            *self._kernels(recipe, sizes),
            labels=question.quantity.labels,
            readers=self._readers(sizes),
            guard=self._hinges(HINGES, margins, self.model.nv)
            if "parameters" in sizes and needs_hinges(recipe.plan)
            else None,
        )

    def _kernels(self, recipe: Recipe, sizes: Mapping[str, int]) -> tuple[KernelStore, Mapping[str, int], Plan | None]:
        """Where the kernels of a recipe are kept, what they take, and their plan if it is another."""
        if recipe.cheaper is not None and not set(sizes) & set(_GIVEN_IN_FRAMES):
            kernels = self.store(recipe.cheaper.may_move, recipe.form)
            plan = recipe.cheaper.plan(kernels.compiled_model)
            if plan is not None:
                return kernels, sizes, plan
        return (self.on_axes if recipe.on_axes else self.store_for(sizes, recipe.may_move, recipe.form)), sizes, None

    def _in_one(self, asked: ResolvedQuantity, given: Mapping[str, Any]) -> bool:
        """Whether a question is best answered in one go: by one kernel, or by a plan that is short enough."""
        if any(np.iscomplexobj(value) for value in given.values()) or not compiles():
            return self.model.nbodies <= FEW_BODIES
        return self.one_kernel(asked)

    def one_kernel(self, asked: ResolvedQuantity) -> bool:
        """Whether one kernel is not too long for a question; taken for granted where nothing is compiled."""
        if not compiles() or 0 in asked.recipe.shape:
            return True
        return asked.kernel() is not None

    # ---- native entries ----------------------------------------------------------------------------------------------

    def learn(
        self, call: Call, question: Question, order: tuple[int, ...] = (), made: Callable[[Any], Any] | None = None
    ) -> None:
        """Let a spelling of a call be answered by the native entry of a question, if there is one.

        ``order`` says which argument of the call each input of the question is, if that is not the usual one; ``made``
        makes another entry of it.
        """
        asked = self._resolved.get(question)
        if not isinstance(asked, ResolvedQuantity):  # a call that is answered otherwise, now and later
            self.calls[call] = None
            return
        entry: Any = asked.entry()
        if entry is not None and order != tuple(range(len(order))):
            entry = entry.ordered(order)
        if entry is not None:
            self.calls[call] = entry if made is None else made(entry)

    def trusting_entry(self, quantity: Quantity, given: Iterable[str] = (), options: Options = NO_OPTIONS) -> Any:
        """The native function of single-state arrays that leaves the length of quaternions to its caller.

        It answers NotImplemented where the result is not finite. None where nothing is compiled, and where the quantity
        is made of others.
        """
        asked = self.required(quantity, given, options)
        return None if isinstance(asked, Composed) else asked.entry(trusting=True)

    def _readers(self, sizes: Mapping[str, int]) -> Mapping[str, Any]:
        """What reads wrenches: for those in world axes it looks up the entry for poses, once there is one."""
        if native_module is None or "wrench" not in sizes:
            return {}
        rows = {link.name: row for row, link in enumerate(self.model.links)}
        axes = kind_of_input("wrench").axes(self.model, 0)
        return {"wrench": native_module.Input(axes, rows, wrench=Wrench, entries=self.calls, poses=_POSES)}

    def _poses(self, q: Any) -> Array:
        found = self.evaluate(POSES, {"q": q})
        self.learn(_POSES, Question.of(POSES, (), NO_OPTIONS))
        return found

    # ---- kernels -----------------------------------------------------------------------------------------------------

    def store(self, may_move: MayMove = MayMove.NOTHING, form: str | None = None) -> KernelStore:
        """Kernels for results that do not depend on what may move."""
        found = self._stores.get((may_move, form))
        if found is None:
            made = KernelStore(self.model, may_move, form, bounds_of_doubt(self.model, self.kept))
            found = self._stores.setdefault((may_move, form), made)
        return found

    def store_for(self, given: Container[str], may_move: MayMove, form: str | None = None) -> KernelStore:
        """The same, unless an argument is given in the frames of the bodies or the world: then nothing moves."""
        framed = any(name in given for name in _GIVEN_IN_FRAMES)
        return self.store(MayMove.NOTHING if framed else may_move, form)

    @property
    def on_axes(self) -> KernelStore:
        """Kernels for the same mechanism with its frames on the joint axes, whether compiled or not."""
        found = self._stores.get("on axes")
        if found is None:
            made = KernelStore(self.subject.on_axes, bounds=bounds_of_doubt(self.model, self.kept))
            found = self._stores.setdefault("on axes", made)
        return found

    @property
    def stores(self) -> tuple[KernelStore, ...]:
        """All that there are so far."""
        return tuple(self._stores.values())

    # ---- what has to be there ----------------------------------------------------------------------------------------

    @property
    def lacking(self) -> Lacking:
        """What the model lacks for its dynamics, found out when it is first asked for any."""
        if self._lacking is None:
            self._lacking = Lacking.of(self.model)
        return self._lacking

    def require(self, recipe: Recipe, arguments: Mapping[str, Any] | tuple[str, ...]) -> None:
        """Raise, before anything is evaluated, where the robot has not what a recipe needs."""
        self.require_inertia(recipe.plan, arguments)
        if recipe.require is not None:
            recipe.require(self.model)

    def require_inertia(self, plan: Plan, arguments: Mapping[str, Any] | tuple[str, ...]) -> None:
        """Raise, before anything is evaluated, where the robot has not what a plan needs."""
        if "parameters" not in arguments:
            self.lacking.require(plan)
        elif needs_hinges(plan) and isinstance(arguments, Mapping):
            self.require_hinges(arguments)

    def require_hinges(self, arguments: Mapping[str, Any]) -> None:
        """Raise where a joint has nothing to move: in the model, or with the parameters given at one of the states."""
        if "parameters" not in arguments:
            self.lacking.require_hinges()
            return
        q = as_array(self.model, "q", arguments["q"], coordinates=True)
        own = as_numbers("parameters", arguments["parameters"], 10 * self.model.nbodies)
        given = {name: np.real(x) for name, x in {"q": q, "parameters": own}.items()}  # a complex step is no place
        double = {name: x.astype(np.float64, copy=False) for name, x in given.items()}

        def ask(plan: Plan, gather: Gather, numbers: int) -> Array:
            return self._hinges(plan, gather, numbers).answer(double).reshape(-1, numbers)

        if all_turn_something(self.model, ask):
            return
        pivots, singular = pivots_of(self.model, ask)
        for row, at in np.argwhere(singular)[:1].tolist():
            (freedom,) = singular_freedoms(self.model, {at: pivots[row, at]})
            raise singular_hinge(self.model, freedom, " in parameters=")

    def _hinges(self, plan: Plan, gather: Gather, numbers: int) -> ResolvedQuantity:
        """Numbers of a plan by which hinge inertias are judged."""
        sizes = {"q": self.model.nq, "parameters": 10 * self.model.nbodies}
        return ResolvedQuantity(("hinges", plan.name, numbers), Recipe(plan, gather, (numbers,)), self.store(), sizes)

    def require_finite(self, result: Array, arguments: Mapping[str, Any], pivots: Array | None = None) -> None:
        """Where finite input gave something that is not finite, name the joint whose hinge inertia is zero.

        ``pivots`` are entries of a large result that tell.
        """
        if self.model.nv == 0 or _is_finite(result if pivots is None else pivots):
            return
        batch = prepare(self.model, arguments, {})
        sound = np.logical_and.reduce([np.isfinite(rows).all(axis=1) for rows in batch.rows.values()])
        lost = sound & ~np.isfinite(result.reshape(batch.size, -1)).all(axis=1)
        for row in np.flatnonzero(lost)[:1]:
            state = {name: rows[row : row + 1] for name, rows in batch.rows.items() if name in ("q", "parameters")}
            for found in singular_at(self.model, state)[:1]:
                raise singular_hinge(self.model, found, " in parameters=" if "parameters" in state else "")

    def for_each_torque(self, arguments: Mapping[str, Any]) -> dict[str, Array]:
        """Joint vectors with one more batch axis, and ``contract``, the unit vectors along it."""
        vectors = {name: as_array(self.model, name, x, coordinates=name == "q") for name, x in arguments.items()}
        units = np.eye(self.model.nv, dtype=np.result_type(*vectors.values()))
        return {name: x[..., None, :] for name, x in vectors.items()} | {"contract": units}

    def inverse(self, mass: Array) -> Array:
        """``inv(mass)``, for robots whose joints are tied."""
        return np.linalg.inv(mass)

    def solve(self, mass: Array, columns: Array) -> Array:
        """``inv(mass) columns``, for robots whose joints are tied and for methods that say so."""
        try:
            return np.linalg.solve(mass, columns)
        except np.linalg.LinAlgError:
            raise SingularHingeError(
                f"robot '{self.model.name}': the mass matrix is singular. robot.doctor() names the joint"
            ) from None


def _is_finite(numbers: Array) -> bool:
    """Whether all numbers are finite; where their sum is, which takes no memory, all of them are."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(numbers.sum())) or bool(np.isfinite(numbers).all())


def _all_finite(arguments: Mapping[str, Any]) -> bool:
    return all(np.isfinite(np.asarray(x)).all() for x in arguments.values())


def into(out: Array | None, result: Array) -> Array:
    """The result in the caller's array, if there is one."""
    if out is None:
        return result
    checked_out(out, result.shape, result.dtype)[...] = result
    return out
