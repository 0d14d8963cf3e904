"""Speeds of a free base in other axes: at its origin in world axes ("mixed"), at the world's origin ("world").

A change of coordinates of the free joint. With its own speeds ``v = T(q) u``, where u are those of the caller::

    tau_u = T* tau,   M_u = T* M T,   J_u = J T,   a = T du/dt + dT/dt u,   bias_u = T* (bias + M dT/dt u)

T is the inverse motion of a transform: the pose of the base, of which "mixed" takes the rotation alone. ``dT/dt`` is
``-crm(S) T``, S being the motion of that transform in base axes: of the base's own ``(w, v)``, "mixed" takes w alone.
``dT/dt u`` is then ``(0, -w x v)``, and zero for "world": spatial accelerations are derivatives in axes at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from recursa.errors import NoSweepError, unknown_name
from recursa.model.model import WORLD, Joint, Model
from recursa.quantities.quantity import Gather, Recipe
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import ZERO
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip

BaseVelocity = Literal["body", "mixed", "world"]
BASE_VELOCITIES: tuple[str, ...] = get_args(BaseVelocity)
_BASE = (0,)  # the body, which is the first, and its speeds, which are the first six
_SPEEDS = 6

Numbers = Sequence[Scalar]


def changes(base_velocity: str, model: Model) -> bool:
    """Whether speeds are others than the model's own; an error where they cannot be."""
    if base_velocity not in BASE_VELOCITIES:
        raise unknown_name("form of base velocity", str(base_velocity), BASE_VELOCITIES)
    if base_velocity == "body":
        return False
    first = model.joints[0] if model.joints else None
    if first is None or not first.kind.is_free or first.parent != WORLD:
        raise NoSweepError(
            f"robot '{model.name}' has no free base, of which base_velocity={base_velocity!r} says in which axes its "
            "velocity is given. Load it with floating=True, or leave base_velocity out"
        )
    return True


# ---- steps at the base -----------------------------------------------------------------------------------------------


def pose_of_base(joint: Joint, q: Numbers) -> Transform:
    """Where the base is in the world."""
    return joint.placement @ joint.kind.transform(joint.hinge, q)


def turn_of_base(joint: Joint, q: Numbers) -> Transform:
    """How it is turned."""
    return pose_of_base(joint, q).turn()


def still(own: Motion) -> Motion:
    """Axes at rest: no drift."""
    return Motion.zero()


def turning(own: Motion) -> Motion:
    """``dT/dt u`` where axes turn against the base: ``(0, -w x v)``."""
    return Motion(ZERO, own.linear.cross(own.angular))


def whole_motion(own: Motion) -> Motion:
    """S where the axes stand still."""
    return own


def turn_alone(own: Motion) -> Motion:
    """S where they go along with the base's origin."""
    return Motion(own.angular, ZERO)


_POSE: dict[str, Callable[..., Transform]] = {"mixed": turn_of_base, "world": pose_of_base}
_DRIFT: dict[str, Callable[[Motion], Motion]] = {"mixed": turning, "world": still}
_MOVING: dict[str, Callable[[Motion], Motion]] = {"mixed": turn_alone, "world": whole_motion}


def own_speeds(base: Transform, given: Numbers) -> tuple[Scalar, ...]:
    """``v = T u``."""
    return base.inverse_motion(Motion.of(given)).components()


def own_forces(base: Transform, given: Numbers) -> tuple[Scalar, ...]:
    """``tau = T*^-1 tau_u``."""
    return base.inverse_force(Force.of(given)).components()


def as_given(given: Numbers) -> tuple[Scalar, ...]:
    """Joints other than the base."""
    return tuple(given)


def at_rest(v: Numbers) -> tuple[Scalar, ...]:
    """No accelerations."""
    return (0.0,) * len(v)


# ---- recipes ---------------------------------------------------------------------------------------------------------

_V = (Step(as_given, ("v",), ("v'",), "v = u"), Step(own_speeds, ("base", "v"), ("v'",), "v = T u"))
_TAU = (Step(as_given, ("tau",), ("tau'",), "tau"), Step(own_forces, ("base", "tau"), ("tau'",), "tau = T*^-1 tau_u"))


def in_forces(recipe: Recipe, form: str, *, accelerating: bool) -> Recipe:
    """Torques ``T* tau`` of a plan that reads v and a, or neither; not accelerating, a is ``dT/dt u`` alone."""
    reads_v = "v" in recipe.plan.inputs
    return _changed(recipe, form, (_V, _accelerations(form, accelerating)) if reads_v else (), _covector)


def in_accelerations(recipe: Recipe, form: str) -> Recipe:
    """Accelerations of a plan that reads v and tau: ``du/dt = T^-1 (a - dT/dt u)``."""

    def outside(values: Values, entries: list[Scalar]) -> list[Scalar]:
        own = Motion.of(entries[:_SPEEDS]) - _DRIFT[form](Motion.of(values["v'"][0]))
        return [*values["base"][0].motion(own).components(), *entries[_SPEEDS:]]

    return _changed(recipe, form, (_V, _TAU), outside)


def in_columns(recipe: Recipe, form: str) -> Recipe:
    """A matrix whose columns belong to speeds: ``J T``."""

    def outside(values: Values, entries: list[Scalar]) -> list[Scalar]:
        width = recipe.shape[-1]
        rows = (entries[at : at + width] for at in range(0, len(entries), width))
        return [x for row in rows for x in _covector(values, row)]

    return _changed(recipe, form, (), outside)


def in_columns_and_rates(recipe: Recipe, form: str) -> Recipe:
    """Of a matrix and its rate, one after the other, the rate ``dJ/dt T + J dT/dt``: rows ``T* (j' + crf(S) j)``."""
    rows, width = recipe.shape[-2:]

    def outside(values: Values, entries: list[Scalar]) -> list[Scalar]:
        moving = _MOVING[form](Motion.of(values["v'"][0]))
        found: list[Scalar] = []
        for at in range(0, rows * width, width):
            row, rate = (entries[start : start + width] for start in (at, at + rows * width))
            turned = moving.cross_force(Force.of(row[:_SPEEDS])) + Force.of(rate[:_SPEEDS])
            found += _covector(values, [*turned.components(), *rate[_SPEEDS:]])
        return found

    return _changed(recipe, form, (_V,), outside)


def in_rows_and_columns(recipe: Recipe, form: str) -> Recipe:
    """A symmetric matrix: ``T* M T``."""

    def outside(values: Values, entries: list[Scalar]) -> list[Scalar]:
        size = recipe.shape[0]
        rows = [_covector(values, entries[at : at + size]) for at in range(0, size * size, size)]
        corner = [_covector(values, [row[k] for row in rows[:_SPEEDS]]) for k in range(_SPEEDS)]
        for k in range(_SPEEDS):
            rows[k][:_SPEEDS] = [corner[max(k, j)][min(k, j)] for j in range(_SPEEDS)]
            rows[k][_SPEEDS:] = [row[k] for row in rows[_SPEEDS:]]
        return [x for row in rows for x in row]

    return _changed(recipe, form, (), outside)


def _covector(values: Values, entries: list[Scalar]) -> list[Scalar]:
    """``T*`` on what is dual to speeds."""
    return [*values["base"][0].force(Force.of(entries[:_SPEEDS])).components(), *entries[_SPEEDS:]]


def _accelerations(form: str, accelerating: bool) -> tuple[Step, Step]:
    """The model's own accelerations: ``a = T du/dt + dT/dt u``, of which without accelerations the last is left."""

    def own_accelerations(base: Transform, given: Numbers, v: Numbers) -> tuple[Scalar, ...]:
        return (base.inverse_motion(Motion.of(given)) + _DRIFT[form](Motion.of(v))).components()

    def own_drift(v: Numbers) -> tuple[Scalar, ...]:
        return _DRIFT[form](Motion.of(v)).components()

    if accelerating:
        everywhere = Step(as_given, ("a",), ("a'",), "a = du/dt")
        return everywhere, Step(own_accelerations, ("base", "a", "v'"), ("a'",), "a = T du/dt + dT/dt u")
    return Step(at_rest, ("v",), ("a'",), "a = 0"), Step(own_drift, ("v'",), ("a'",), "a = dT/dt u")


Outside = Callable[[Values, list[Scalar]], list[Scalar]]


def _changed(recipe: Recipe, form: str, inputs: Sequence[tuple[Step, Step]], outside: Outside) -> Recipe:
    """A recipe whose plan reads the model's own speeds and forces, and whose entries are brought outside again."""

    def entries(gather: Gather) -> Gather:
        def gathered(values: Values) -> Iterable[Scalar]:
            return outside(values, list(gather(values)))

        return gathered

    looped: Any = recipe.looped
    if looped is not None:
        plain = looped.unit is None and looped.product is None
        looped = (
            replace(looped, plan=_seen(looped.plan, form, inputs), gather=entries(looped.gather)) if plain else None
        )
    plan = _seen(recipe.plan, form, inputs)
    return replace(recipe, plan=plan, gather=entries(recipe.gather), looped=looped, cheaper=None)


def _seen(plan: Plan, form: str, inputs: Sequence[tuple[Step, Step]]) -> Plan:
    """The plan with the base's axes known first, reading what was made with them instead of its inputs."""
    instead = {name.removesuffix("'"): name for _, step in inputs for name in step.writes}
    pose = Step(_POSE[form], ("joint", "q"), ("base",), f"axes of base_velocity={form!r}")
    first = [base_to_tip(pose, only=_BASE)]
    for everywhere, at_base in inputs:
        first += [base_to_tip(everywhere), base_to_tip(at_base, only=_BASE)]
    sweeps = tuple(
        replace(
            sweep,
            steps=tuple(
                replace(step, reads=tuple(instead.get(name, name) for name in step.reads)) for step in sweep.steps
            ),
        )
        for sweep in plan.sweeps
    )
    own = (Buffer("base", IDENTITY_TRANSFORM), *(Buffer(name, ()) for name in instead.values()))
    return replace(plan, buffers=(*plan.buffers, *own), sweeps=(*first, *sweeps))
