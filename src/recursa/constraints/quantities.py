"""What can be asked of a robot with constraints, as quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from recursa.constraints import dense, plans
from recursa.constraints.rows import jacobian_plan, jacobian_rows, row_scales
from recursa.dynamics import mass_matrix
from recursa.dynamics.base_velocity import as_given
from recursa.dynamics.gathering import flat, joint_matrix, joint_vector, vector_of
from recursa.dynamics.kinematics import motion_entries
from recursa.dynamics.mass_properties import KINETIC_ENERGY
from recursa.dynamics.requirements import Lacking
from recursa.dynamics.wrenches import DRIVE, JOINT_LOSSES, LESS_SPRING, Losses, known_losses
from recursa.errors import ModelError, NoSweepError, SingularHingeError, StateError, known_method, shortened
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject
from recursa.spatial.scalars import Scalar
from recursa.spatial.small_systems import solve_positive
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, fuse
from recursa.sweeps.batching import Array, as_array

AUGMENTATION, PROJECTION = "augmentation", "projection"
METHODS = (AUGMENTATION, PROJECTION)
"""How constrained forward dynamics are computed, by name."""

_BASE_MOTION = ("base_twist", "base_acceleration")


def constrained(of: Subject | Model) -> bool:
    """Whether a robot has constraints."""
    return bool((of.model if isinstance(of, Subject) else of).description.constraints)


def require_constraints(model: Model) -> None:
    """Raise for a robot that has none."""
    if not model.description.constraints:
        raise ModelError(
            f"robot '{model.name}' has no constraints: there is nothing to ask. robot.with_constraints(...) adds some"
        )


def constrained_model(of: Any) -> Model:
    """The model of a subject or an evaluator; an error where it has no constraints."""
    require_constraints(of.model)
    return of.model


def idle(of: Subject) -> bool:
    """Whether some joint has nothing to move but what constraints hang on it, as that of a rod without mass."""
    return bool(Lacking.of(of.model).hinges)


def by_matrices(of: Subject) -> bool:
    """Whether joints cannot be eliminated one by one: some are tied, or idle."""
    return of.tied or idle(of)


def left_idle(model: Model) -> SingularHingeError:
    """What to say where constraints do not move what has no mass."""
    names = shortened([f"'{model.joints[one.joint].name}'" for one in Lacking.of(model).hinges])
    return SingularHingeError(
        f"robot '{model.name}': nothing moves joint {names}, neither mass outward of it nor the constraints at this "
        "state. Give its links masses, give it an armature, or hold it by a constraint"
    )


# ---- kinematics ------------------------------------------------------------------------------------------------------


def _error(of: Subject, given: Names) -> Recipe:
    model = constrained_model(of)
    gather = partial(plans.errors_of, count=model.ncon)
    return Recipe(plans.error_plan(model), gather, (model.ncon,), MayMove.FRAMES)


def _jacobian(of: Subject, given: Names) -> Recipe:
    model = constrained_model(of)
    gather, shape = (lambda values: flat(jacobian_rows(model, values))), (model.ncon, model.nv)
    return Recipe(jacobian_plan(model), gather, shape, MayMove.FRAMES)


def _bias(of: Subject, given: Names) -> Recipe:
    model = constrained_model(of)
    plan = plans.bias_plan(model, told="prescribed" in given)
    return Recipe(plan, plans.added_up("demand"), (model.ncon,), MayMove.FRAMES)


# ---- from matrices ---------------------------------------------------------------------------------------------------


class Matrices(NamedTuple):
    """What the dense methods start from."""

    mass: list[list[Scalar]]
    moments: list[Scalar]  # T - bias
    rows: list[list[Scalar]]  # G
    gamma: list[Scalar]


def matrices_plan(model: Model, *, wrenches: bool, told: bool) -> Plan:
    """The mass matrix, the bias, G, gamma and the torques."""
    keep = LESS_SPRING if model.has_springs else Step(as_given, ("tau",), (DRIVE.name,), "the given torques")
    torques = Plan("torques", (DRIVE,), (base_to_tip(keep),))
    equations = mass_matrix.equations_of_motion_plan(wrenches=wrenches)
    return fuse(equations, plans.equations_plan(model, told=told), torques, name="constrained motion")


def _matrices(model: Model, values: Values) -> Matrices:
    driving = independent_vector(model, values.lists.get(DRIVE.name, []))
    bias = joint_vector(model, values.lists.get("T", []))
    mass, rows = mass_and_rows(model, values)
    moments = [t - b for t, b in zip(driving, bias, strict=True)]
    return Matrices(mass, moments, rows, list(values.robot["demand"].entries))


def orthonormal_rows(model: Model, G: dense.Matrix) -> dense.Orthonormal:
    """Rows of G made orthonormal, with their rank judged."""
    return dense.orthonormal(G, row_scales(model))


def _projected(model: Model, values: Values) -> list[Scalar]:
    mass, moments, G, gamma = _matrices(model, values)
    return dense.by_projection(mass, moments, orthonormal_rows(model, G), gamma)


def _projected_multipliers(model: Model, values: Values) -> list[Scalar]:
    """The shortest lambda with ``G* lambda = mass a + bias - T``, a from the projection."""
    mass, moments, G, gamma = _matrices(model, values)
    rows = orthonormal_rows(model, G)
    a = dense.by_projection(mass, moments, rows, gamma)
    return dense.reactions(rows, [x - t for x, t in zip(dense.times(mass, a), moments, strict=True)])


def _dense_recipe(
    of: Subject, given: Names, finish: Callable[[Model, Values], Iterable[Scalar]], shape: tuple[int, ...]
) -> Recipe:
    plan = matrices_plan(of.model, wrenches="wrenches" in given, told="prescribed" in given)
    singular = left_idle if idle(of) else None
    return Recipe(plan, partial(finish, of.model), shape, MayMove.INERTIAS, singular=singular)


# ---- forward dynamics ------------------------------------------------------------------------------------------------


def forward_recipe(of: Subject, given: Names, *, losses: Losses, method: str | None, links: bool) -> Recipe:
    """Accelerations that obey the constraints; with ``links`` those of all links behind them."""
    model = of.model
    if not given.isdisjoint(_BASE_MOTION):
        raise NoSweepError("a base that is moved is for trees: prescribe its motion by rc.Prescribed on a free joint")
    chosen = chosen_method(of, method)
    if chosen == AUGMENTATION and of.tied:
        raise NoSweepError(
            f"robot '{model.name}' has tied joints, and method 'augmentation' needs independent ones. Use "
            f'method="projection". {model.how_to_untie}'
        )
    if chosen == PROJECTION:
        if links or losses:
            raise NoSweepError("method 'projection' is for joints without losses, and not for accelerations of links")
        return _dense_recipe(of, given, _projected, (model.nv,))
    plan = plans.forward_plan(model, links=links, **_options(model, given, losses))
    gather = partial(joints_and_links, model) if links else vector_of(model, "qdd")
    shape = (model.nv + 6 * len(model.links) if links else model.nv,)
    return Recipe(plan, gather, shape, MayMove.INERTIAS)


def _options(model: Model, given: Names, losses: Losses) -> dict[str, Any]:
    """What plans are to take into account."""
    told = {"wrenches": "wrenches" in given, "told": "prescribed" in given}
    return {**told, "losses": losses, "springs": model.has_springs}


def chosen_method(of: Subject, method: str | None) -> str:
    """The method by name, or the one that suits."""
    chosen = method or (PROJECTION if by_matrices(of) else AUGMENTATION)
    known_method("forward dynamics of a robot with constraints", chosen, METHODS)
    return chosen


def joints_and_links(model: Model, values: Values) -> Iterator[Scalar]:
    """Accelerations of joints, then of links."""
    return chain(joint_vector(model, values.lists.get("qdd", [])), motion_entries(values.lists.get("AL", [])))


# ---- forces ----------------------------------------------------------------------------------------------------------


def _forces(of: Subject, given: Names, *, losses: Losses = False) -> Recipe | Composed:
    model, losses = constrained_model(of), known_losses(losses)
    if by_matrices(of):
        if losses:
            return Composed(partial(losses_first, CONSTRAINT_FORCES, {}, losses))
        return _dense_recipe(of, given, _projected_multipliers, (model.ncon,))
    plan = plans.forces_plan(model, **_options(model, given, losses))
    return Recipe(plan, plans.added_up("lambda"), (model.ncon,), MayMove.INERTIAS)


def losses_first(
    record: Quantity, options: Mapping[str, Any], losses: Losses, others: Any, *, tau: Any, v: Any, **more: Any
) -> Array:
    """Methods that know no losses get torques from which they are taken off."""
    left = np.asarray(tau) - others(JOINT_LOSSES, {"losses": losses}, v=v)
    return others(record, {**options, "losses": False}, tau=left, v=v, **more)  # type: ignore[no-any-return]


def _wrenches(of: Subject, given: Names, *, losses: Losses = False) -> Recipe | Composed:
    model, losses = constrained_model(of), known_losses(losses)
    shape = (len(model.links), 6)
    if by_matrices(of):
        return Composed(partial(_from_multipliers, losses))
    plan = plans.forces_plan(model, on_links=True, **_options(model, given, losses))
    return Recipe(plan, partial(plans.acting_entries, model), shape, MayMove.INERTIAS)


def _from_multipliers(losses: Losses, others: Any, *, q: Any, **more: Any) -> Array:
    found = others(CONSTRAINT_FORCES, {"losses": losses}, q=q, **more)
    return others(WRENCHES_OF_MULTIPLIERS, q=q, multipliers=found)  # type: ignore[no-any-return]


def _of_multipliers(of: Subject, given: Names) -> Recipe:
    model = constrained_model(of)
    plan = plans.acting_plan(model)
    return Recipe(plan, partial(plans.acting_entries, model), (len(model.links), 6), MayMove.FRAMES)


# ---- matrices --------------------------------------------------------------------------------------------------------


def _delassus(of: Subject, given: Names) -> Recipe:
    model = constrained_model(of)
    shape = (model.ncon, model.ncon)
    if of.tied:
        plan = fuse(mass_matrix.MASS_MATRIX_PLAN, jacobian_plan(model), name="constraint_delassus, tied")
        return Recipe(plan, partial(_dense_delassus, model), shape, MayMove.INERTIAS)
    plan = plans.delassus_plan(model)
    return Recipe(plan, partial(plans.delassus_entries, model), shape, MayMove.INERTIAS)


def mass_and_rows(model: Model, values: Values) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """The mass matrix and G, from a plan that has both."""
    return joint_rows(model, values), jacobian_rows(model, values)


def joint_rows(model: Model, values: Values) -> list[list[Scalar]]:
    """The rows of a symmetric matrix in joint space."""
    entries = list(joint_matrix(model, values.lists.get("rows", []), symmetric=True))
    return [entries[k * model.nv : k * model.nv + model.nv] for k in range(model.nv)]


def _dense_delassus(model: Model, values: Values) -> Iterator[Scalar]:
    return flat(dense_delassus(*mass_and_rows(model, values)))


def dense_delassus(mass: dense.Matrix, G: dense.Matrix) -> list[list[Scalar]]:
    """``G inv(mass) G*``."""
    responses = [solve_positive(mass, row) for row in G]
    return [[dense.dot(row, other) for other in responses] for row in G]


# ---- speeds ----------------------------------------------------------------------------------------------------------


def _project_velocity(of: Subject, given: Names) -> Recipe:
    return _speeds_recipe(of, impulses=False)


def _impulses(of: Subject, given: Names) -> Recipe:
    return _speeds_recipe(of, impulses=True)


def _speeds_recipe(of: Subject, *, impulses: bool) -> Recipe:
    """Speeds that the constraints allow, and behind them the shortest impulses that lead there."""
    model = constrained_model(of)
    shape = (model.nv + model.ncon if impulses else model.nv,)
    if not by_matrices(of):
        plan = plans.impulse_plan(model, least=impulses)
        gather = partial(with_multipliers, model, "after") if impulses else vector_of(model, "after")
        return Recipe(plan, gather, shape, MayMove.INERTIAS)
    keep = Step(as_given, ("v",), ("speeds",), "the given speeds")
    given_speeds = Plan("speeds", (Buffer("speeds", ()),), (base_to_tip(keep),))
    plan = fuse(mass_matrix.MASS_MATRIX_PLAN, jacobian_plan(model), given_speeds, name="project_velocity, tied")
    singular = left_idle if idle(of) else None
    return Recipe(plan, partial(_projected_speeds, model, impulses), shape, MayMove.INERTIAS, singular=singular)


def with_multipliers(model: Model, name: str, values: Values) -> Iterator[Scalar]:
    """A joint vector from a buffer, and the multipliers behind it."""
    return chain(joint_vector(model, values.lists.get(name, [])), values.robot["lambda"].entries)


def _projected_speeds(model: Model, impulses: bool, values: Values) -> list[Scalar]:
    """``P (mass (x - v)) = 0`` and ``G x = 0``: momenta of the free directions stay."""
    mass, G = mass_and_rows(model, values)
    v = independent_vector(model, values.lists.get("speeds", []))
    rows = orthonormal_rows(model, G)
    after = dense.by_projection(mass, dense.times(mass, v), rows, [0.0] * model.ncon)
    if not impulses:
        return after
    change = dense.times(mass, [x - y for x, y in zip(after, v, strict=True)])
    return [*after, *dense.reactions(rows, change)]


def independent_vector(model: Model, per_joint: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """nv entries of the joints that have any of their own."""
    own = [x if joint.independent else () for joint, x in zip(model.joints, per_joint, strict=True)]
    return joint_vector(model, own)


# ---- the records -----------------------------------------------------------------------------------------------------

_ROWS = "in the order of the constraints"
_MULTIPLIERS = "N m where an equation turns, N where it moves, in the order of the constraints"
_OPTIONAL = ("wrenches", "parameters", "prescribed")
_READS = {"wrenches": "wrench"}
_quantity = partial(Quantity, on_constraints="obeys")

CONSTRAINT_ERROR = _quantity("constraint_error", ("q",), _error, f"rad and m, {_ROWS}")
CONSTRAINT_JACOBIAN = _quantity("constraint_jacobian", ("q",), _jacobian, f"times v: rad/s and m/s, {_ROWS}")
CONSTRAINT_BIAS = _quantity(
    "constraint_bias",
    ("q", "v"),
    _bias,
    f"rad/s^2 and m/s^2, {_ROWS}",
    optional=("prescribed",),
)
CONSTRAINT_FORCES = _quantity(
    "constraint_forces",
    ("q", "v", "tau"),
    _forces,
    _MULTIPLIERS,
    optional=_OPTIONAL,
    reads=_READS,
)
CONSTRAINT_WRENCHES = _quantity(
    "constraint_wrenches",
    ("q", "v", "tau"),
    _wrenches,
    "per link (moment, force) in N m and N, link axes at the link origin",
    optional=_OPTIONAL,
    reads=_READS,
)
WRENCHES_OF_MULTIPLIERS = _quantity(
    "constraints.wrenches_of_multipliers",
    ("q", "multipliers"),
    _of_multipliers,
    "per link (moment, force) in N m and N, link axes at the link origin",
)
CONSTRAINT_DELASSUS = _quantity(
    "constraint_delassus",
    ("q",),
    _delassus,
    "times constraint forces: rad/s^2 and m/s^2",
    optional=("parameters",),
)
PROJECT_VELOCITY = _quantity(
    "project_velocity",
    ("q", "v"),
    _project_velocity,
    "rad/s for rotations, m/s for translations; places as in v",
    optional=("parameters",),
)
IMPULSES = Quantity(
    "constraints.impulses",
    ("q", "v"),
    _impulses,
    "speeds as in v, then impulses: N m s where an equation turns, N s where it moves, in the order of the constraints",
    optional=("parameters",),
)


# ---- impacts in which all constraints of a robot begin to hold in one instant ----------------------------------------


class Impact(NamedTuple):
    """The outcome of an impact.

    - ``v``: speeds after it, (..., nv).
    - ``impulses``: what each equation of the constraints transfers, (..., ncon), in N s and N m s: ``M (v - v_before) =
      G* impulses``. Where constraints are redundant these are the shortest that do it.
    - ``energy_lost``: kinetic energy before less that after, (...), in J. It is never negative.
    """

    v: Array
    impulses: Array
    energy_lost: Array


def impact_of(evaluator: Any, q: Any, v: Any, restitution: Any) -> Impact:
    """Speeds, impulses and the energy lost, for restitution from 0 to 1."""
    model: Model = evaluator.model
    e = restitution
    if isinstance(e, bool) or not isinstance(e, (int, float)) or not 0.0 <= e <= 1.0:
        raise StateError(f"restitution must be a number from 0 to 1, not {restitution!r}")
    solution = np.asarray(evaluator.evaluate(IMPULSES, {"q": q, "v": v}))
    allowed, impulses = solution[..., : model.nv], solution[..., model.nv :]
    before = as_array(model, "v", v, coordinates=False)
    stopped = before - allowed  # what an impact without restitution takes away: its momenta are those of the impulses
    lost = (1.0 - e * e) * np.asarray(evaluator.evaluate(KINETIC_ENERGY, {"q": q, "v": stopped}))
    return Impact(allowed - e * stopped, (1.0 + e) * impulses, lost)
