"""Speeds of a free base in other axes: at its origin in world axes ("mixed"), at the world's origin ("world").

A change of coordinates of the free joint. With its own speeds ``v = T(q) u``, where u are those of the caller::

    tau_u = T* tau,   M_u = T* M T,   J_u = J T,   a = T du/dt + dT/dt u,   bias_u = T* (bias + M dT/dt u)

T is the inverse motion of a transform: the pose of the base, of which "mixed" takes the rotation alone. ``dT/dt`` is
``-crm(S) T``, S being the motion of that transform in base axes: of the base's own ``(w, v)``, "mixed" takes w alone.
``dT/dt u`` is then ``(0, -w x v)``, and zero for "world": spatial accelerations are derivatives in axes at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Literal, get_args

from recursa.errors import NoSweepError, unknown_name
from recursa.model.model import WORLD, Joint, Model
from recursa.quantities.quantity import Gather, Recipe
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import ZERO
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, following

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


def still(own: Numbers) -> Motion:
    """Axes at rest: no drift."""
    return Motion.zero()


def turning(own: Numbers) -> Motion:
    """``dT/dt u`` where axes turn against the base: ``(0, -w x v)``."""
    angular, linear = Motion.of(own)
    return Motion(ZERO, linear.cross(angular))


def whole_motion(own: Motion) -> Motion:
    """S where the axes stand still."""
    return own


def turn_alone(own: Motion) -> Motion:
    """S where they go along with the base's origin."""
    return Motion(own.angular, ZERO)


_POSE: dict[str, Callable[..., Transform]] = {"mixed": turn_of_base, "world": pose_of_base}
_DRIFT: dict[str, Callable[[Numbers], Motion]] = {"mixed": turning, "world": still}
_MOVING: dict[str, Callable[[Motion], Motion]] = {"mixed": turn_alone, "world": whole_motion}


def own_speeds(base: Transform, given: Numbers) -> tuple[Scalar, ...]:
    """``v = T u``."""
    return base.inverse_motion(Motion.of(given)).components()


def own_forces(base: Transform, given: Numbers) -> tuple[Scalar, ...]:
    """``tau = T*^-1 tau_u``."""
    return base.inverse_force(Force.of(given)).components()


def own_accelerations(base: Transform, given: Numbers, drift: Motion) -> tuple[Scalar, ...]:
    """``a = T du/dt + dT/dt u``."""
    return (base.inverse_motion(Motion.of(given)) + drift).components()


def drifting(drift: Motion) -> tuple[Scalar, ...]:
    """``a = dT/dt u``."""
    return drift.components()


def forces_outside(base: Transform, own: Numbers) -> tuple[Scalar, ...]:
    """``tau_u = T* tau``."""
    return base.force(Force.of(own)).components()


def accelerations_outside(base: Transform, own: Numbers, drift: Motion) -> tuple[Scalar, ...]:
    """``du/dt = T^-1 (a - dT/dt u)``."""
    return base.motion(Motion.of(own) - drift).components()


def as_given(given: Numbers) -> tuple[Scalar, ...]:
    """Numbers of joints, kept."""
    return tuple(given)


def at_rest(v: Numbers) -> tuple[Scalar, ...]:
    """No accelerations."""
    return (0.0,) * len(v)


# ---- plans -----------------------------------------------------------------------------------------------------------


_BUFFERS = (
    Buffer("base", IDENTITY_TRANSFORM),
    Buffer("base_drift", Motion.zero()),
    *(Buffer(name, ()) for name in ("v'", "a'", "tau'")),
)
_EVERYWHERE = {
    "v": Step(as_given, ("v",), ("v'",), "v = u"),
    "a": Step(as_given, ("a",), ("a'",), "a = du/dt"),
    "still": Step(at_rest, ("v",), ("a'",), "a = 0"),
    "tau": Step(as_given, ("tau",), ("tau'",), "tau"),
}
_AT_BASE = {
    "v": Step(own_speeds, ("base", "v"), ("v'",), "v = T u"),
    "a": Step(own_accelerations, ("base", "a", "base_drift"), ("a'",), "a = T du/dt + dT/dt u"),
    "still": Step(drifting, ("base_drift",), ("a'",), "a = dT/dt u"),
    "tau": Step(own_forces, ("base", "tau"), ("tau'",), "tau = T*^-1 tau_u"),
}


@cache
def _base_axes_plan(form: str, made: tuple[str, ...]) -> Plan:
    """What a plan reads in place of inputs where the base's are in these axes: "v'" first, "a'", "tau'".

    ``made`` says which; "still" makes accelerations of speeds alone.
    """
    first = [Step(_POSE[form], ("joint", "q"), ("base",), f"axes of base_velocity={form!r}")]
    if "v" in made:
        first += [_AT_BASE["v"], Step(_DRIFT[form], ("v'",), ("base_drift",), "dT/dt u")]
    at_base = base_to_tip(*first, *(_AT_BASE[name] for name in made if name != "v"), only=_BASE)
    everywhere = (base_to_tip(*(_EVERYWHERE[name] for name in made)),) if made else ()
    return Plan("base axes", _BUFFERS, (*everywhere, at_base))


def _in_axes(plan: Plan, form: str, made: tuple[str, ...], *outside: Step) -> Plan:
    """A plan that reads and finds what belongs to speeds of the base in other axes."""
    instead = {"a" if name == "still" else name: _AT_BASE[name].writes[0] for name in made}
    own = following(plan, _base_axes_plan(form, made), instead)
    return replace(own, sweeps=(*own.sweeps, base_to_tip(*outside, only=_BASE))) if outside else own


# ---- recipes ---------------------------------------------------------------------------------------------------------

_FORCES = Step(forces_outside, ("base", "T"), ("T",), "tau_u = T* tau")
_ACCELERATIONS = Step(accelerations_outside, ("base", "qdd", "base_drift"), ("qdd",), "du/dt = T^-1 (a - dT/dt u)")


def in_forces(recipe: Recipe, form: str, *, accelerating: bool) -> Recipe:
    """Torques ``T* tau`` of a plan that reads v and a, or neither; not accelerating, a is ``dT/dt u`` alone."""
    reads_v = "v" in recipe.plan.inputs
    made = ("v", "a" if accelerating else "still") if reads_v else ()
    return replace(recipe, plan=_in_axes(recipe.plan, form, made, _FORCES), cheaper=None)


def in_accelerations(recipe: Recipe, form: str) -> Recipe:
    """Accelerations of a plan that reads v and tau: ``du/dt = T^-1 (a - dT/dt u)``."""
    return replace(recipe, plan=_in_axes(recipe.plan, form, ("v", "tau"), _ACCELERATIONS), cheaper=None)


def in_columns(recipe: Recipe, form: str) -> Recipe:
    """A matrix whose columns belong to speeds: ``J T``."""

    def outside(values: Values, entries: list[Scalar]) -> list[Scalar]:
        width = recipe.shape[-1]
        rows = (entries[at : at + width] for at in range(0, len(entries), width))
        return [x for row in rows for x in _covector(values, row)]

    return _gathered_outside(recipe, form, (), outside)


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

    return _gathered_outside(recipe, form, ("v",), outside)


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

    return _gathered_outside(recipe, form, (), outside)


def _covector(values: Values, entries: list[Scalar]) -> list[Scalar]:
    """``T*`` on what is dual to speeds."""
    return [*values["base"][0].force(Force.of(entries[:_SPEEDS])).components(), *entries[_SPEEDS:]]


Outside = Callable[[Values, list[Scalar]], list[Scalar]]


def _gathered_outside(recipe: Recipe, form: str, made: tuple[str, ...], outside: Outside) -> Recipe:
    """A recipe whose plan reads the model's own speeds, and whose entries are brought outside as they are gathered."""

    def entries(gather: Gather) -> Gather:
        return lambda values: outside(values, list(gather(values)))

    looped = recipe.looped
    if looped is not None:
        plain = looped.unit is None and looped.product is None
        plan, gather = _in_axes(looped.plan, form, made), entries(looped.gather)
        looped = replace(looped, plan=plan, gather=gather) if plain else None
    plan = _in_axes(recipe.plan, form, made)
    return replace(recipe, plan=plan, gather=entries(recipe.gather), looped=looped, cheaper=None)
