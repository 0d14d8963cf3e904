"""Inverse and forward dynamics as quantities: which method is which plan, and which robots and options it is for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import chain
from typing import Any, Literal

import numpy as np

from recursa.book import augmented_recursion
from recursa.book import methods as book
from recursa.book.column_recursion import MASS_TIMES, ROOT_TIMES
from recursa.book.direct import conjugate_gradients, least_squares
from recursa.constraints import quantities as constraints
from recursa.denoc.forward import forward_plan as denoc_forward_plan
from recursa.denoc.inverse_dynamics import inverse_plan as denoc_inverse_plan
from recursa.denoc.mass_centers import require_mass_centers, require_masses
from recursa.diagonal import equations_of_motion as diagonal
from recursa.dynamics import articulated_bodies, four_algorithms, gears, inverse, kinematics, mass_matrix
from recursa.dynamics.base_velocity import changes, in_accelerations, in_forces
from recursa.dynamics.gathering import ACCELERATIONS, FORCES, joint_matrix, joint_vector, vector_of
from recursa.dynamics.hybrid import hybrid_plan
from recursa.dynamics.wrenches import JOINT_LOSSES, Losses, known_losses
from recursa.errors import NoSweepError, StateError, known_method
from recursa.free.base_invariant import base_invariant_plan, branches
from recursa.methods.matrices import MASS_MATRIX
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.model.rebase import require_free_flyer
from recursa.quantities import Cheaper, Composed, Names, Quantity, Recipe, Subject, refusals
from recursa.sweeps import Plan, Values
from recursa.sweeps.batching import Array, as_array, cut

InverseMethod = Literal[
    "newton-euler", "augmented", "tensor", "luh-walker-paul", "featherstone", "rodriguez", "kane", "hollerbach-4x4",
    "hollerbach-3x3", "waters", "uicker-kahn", "closed-form", "denoc",
]  # fmt: skip
ForwardMethod = Literal[
    "articulated", "four-sweep", "four-sweep-links", "three-sweep", "three-sweep-bias", "composite", "denoc",
    "diagonal", "base-invariant", "conjugate-gradients", "least-squares", "augmentation", "projection",
]  # fmt: skip

FORWARD: dict[str, Callable[..., Plan]] = {
    "articulated": articulated_bodies.forward_plan,
    "four-sweep": four_algorithms.four_sweep_plan,
    "four-sweep-links": four_algorithms.four_sweep_links_plan,
    "three-sweep": four_algorithms.three_sweep_plan,
    "three-sweep-bias": four_algorithms.three_sweep_bias_plan,
    "denoc": denoc_forward_plan,
    "base-invariant": base_invariant_plan,
    "diagonal": diagonal.forward_plan,
}
_LOSING = ("articulated", "diagonal", "base-invariant")  # those that take losses off on their way
_WITHOUT_LINKS = ("four-sweep", "denoc")  # those that do not come past the links' accelerations


# ---- inverse dynamics ------------------------------------------------------------------------------------------------


def _inverse_dynamics(
    of: Subject,
    given: Names,
    *,
    losses: Losses = False,
    method: str = "newton-euler",
    base_velocity: str = "body",
) -> Recipe:
    losses = known_losses(losses)
    if changes(base_velocity, of.model):
        return in_forces(_inverse_dynamics(of, given, losses=losses, method=method), base_velocity, accelerating=True)
    known_method("inverse dynamics", method, ("newton-euler", *book.INVERSE, "denoc"))
    model = of.model
    gather, shape = vector_of(model, "T"), (model.nv,)
    if method in book.INVERSE:
        plan = book.inverse_method(of.on_axes, method, losses=losses, given=[x for x in OPTIONAL if x in given])
        return Recipe(plan, gather, shape, on_axes=True)
    wrenches = "wrenches" in given
    if method == "denoc":
        plan = denoc_inverse_plan(wrenches=wrenches, losses=losses, springs=model.has_springs)
        check = partial(require_masses, model) if "parameters" in given else None
        return Recipe(plan, gather, shape, MayMove.FRAMES, require=require_mass_centers, check=check)
    plan = inverse.inverse_plan(wrenches=wrenches, losses=losses, springs=model.has_springs)
    cheaper = None if given else _augmented(partial(augmented_recursion.augmented_plan, losses=losses))
    return Recipe(plan, gather, shape, MayMove.INERTIAS, cheaper)


def _bias_forces(of: Subject, given: Names, *, base_velocity: str = "body") -> Recipe:
    if changes(base_velocity, of.model):
        return in_forces(_inverse_dynamics(of, given), base_velocity, accelerating=False)
    plan, cheaper = inverse.bias_plan(springs=of.model.has_springs), _augmented(augmented_recursion.augmented_bias_plan)
    return Recipe(plan, vector_of(of.model, "T"), (of.model.nv,), MayMove.INERTIAS, cheaper)


def _augmented(plan_of: Callable[..., Plan]) -> Cheaper:
    """The recursion with the fewest operations, for joints that turn or slide."""

    def plan(moved: Model) -> Plan | None:
        return plan_of(springs=moved.has_springs) if augmented_recursion.suits(moved) else None

    return Cheaper(MayMove.INERTIAS_FOR_EULER, plan)


# ---- forward dynamics ------------------------------------------------------------------------------------------------


def _forward_dynamics(
    of: Subject,
    given: Names,
    *,
    losses: Losses = False,
    method: str | None = None,
    mass: str | None = None,
    bias: str | None = None,
    links: bool = False,
    base_velocity: str = "body",
) -> Recipe | Composed:
    """Accelerations of the joints; with ``links`` those of all links behind them, (nv + 6 nlinks) entries."""
    losses = known_losses(losses)
    if changes(base_velocity, of.model):
        made = _forward_dynamics(of, given, losses=losses, method=method, mass=mass, bias=bias, links=links)
        return in_accelerations(_in_one(made, base_velocity), base_velocity)
    if constraints.constrained(of):
        return _constrained(of, given, {"losses": losses, "method": method, "links": links}, mass, bias)
    model, plain = of.model, mass is None and bias is None and not links
    # wrenches and parameters may be those of a rotor
    stacked = of.tied and plain and given.isdisjoint(("wrenches", "parameters")) and gears.suits(model)
    chosen = method or ("composite" if of.tied and not stacked else "articulated")
    known_method("forward dynamics", chosen, (*FORWARD, *_MATRIX_FREE, "composite"))
    if chosen != "composite" and (mass is not None or bias is not None):
        raise NoSweepError(
            f"mass= and bias= choose how the mass matrix and the bias are made, and {chosen!r} makes neither. "
            'Use method="composite"'
        )
    if of.tied and chosen not in ("articulated", *_SOLVED):
        raise NoSweepError(
            f"robot '{model.name}' has tied joints, and {chosen!r} needs independent ones. "
            f'Use method="composite". {model.how_to_untie}'
        )
    if chosen == "diagonal" and not given.isdisjoint(kinematics.BASE_MOTION):
        raise NoSweepError("method 'diagonal' is for a base that rests. Use another one where its motion is given")
    options = {"method": method, "mass": mass, "bias": bias}
    composite = chosen in _SOLVED or (of.tied and not stacked)
    if links and (composite or chosen in _WITHOUT_LINKS):
        return Composed(partial(_links_afterwards, {**options, "losses": losses}))
    if losses and (composite or chosen not in _LOSING):
        record = FORWARD_DYNAMICS_WITH_LINKS if links else FORWARD_DYNAMICS
        return Composed(partial(constraints.losses_first, record, {**options, "links": links}, losses))
    if chosen in _MATRIX_FREE:
        return Composed(partial(_by_equations, _MATRIX_FREE[chosen]))
    if composite:
        return Composed(_composite if mass is None and bias is None else partial(_paired, mass, bias))
    inside: dict[str, Any] = {"springs": model.has_springs, **({"losses": losses} if losses else {})}
    if chosen == "base-invariant":
        require_free_flyer(model, 'method "base-invariant"')
        inside["branching"] = branches(model)
    if stacked:
        return Recipe(
            gears.forward_plan(losses=losses, springs=model.has_springs), vector_of(model, "qdd"), (model.nv,)
        )
    plan = FORWARD[chosen](wrenches="wrenches" in given, **({"links": True} if links else {}), **inside)
    if links:
        both = partial(constraints.joints_and_links, model)
        return Recipe(plan, both, (model.nv + 6 * len(model.links),), MayMove.INERTIAS)
    gather, shape = vector_of(model, "qdd"), (model.nv,)
    if chosen == "denoc":
        check = partial(require_masses, model) if "parameters" in given else None
        return Recipe(plan, gather, shape, MayMove.FRAMES, require=require_mass_centers, check=check)
    return Recipe(plan, gather, shape, MayMove.INERTIAS)


def _constrained(
    of: Subject, given: Names, options: dict[str, Any], mass: str | None, bias: str | None
) -> Recipe | Composed:
    """Accelerations that obey constraints; how mass matrix and bias are made is not for callers to choose there."""
    if mass is not None or bias is not None:
        raise NoSweepError("mass= and bias= are for method 'composite' of trees, and this robot has constraints")
    chosen = constraints.chosen_method(of, options["method"])
    if chosen == constraints.PROJECTION:
        if options["links"]:
            return Composed(partial(_links_afterwards, {"method": chosen, "losses": options["losses"]}))
        if options["losses"]:
            plain = {"method": chosen, "links": False}
            return Composed(partial(constraints.losses_first, FORWARD_DYNAMICS, plain, options["losses"]))
    return constraints.forward_recipe(of, given, **options)


def _in_one(made: Recipe | Composed, base_velocity: str) -> Recipe:
    """What is one plan, whose speeds can be changed."""
    if isinstance(made, Composed):
        raise NoSweepError(
            f"base_velocity={base_velocity!r} is for forward dynamics in sweeps of their own; with these options, or "
            'with tied joints, they are put together of several. Use method="articulated" on a robot with independent '
            'joints: mimic="free", and rotors about the axes of their joints'
        )
    return made


def _links_afterwards(options: dict[str, Any], others: Any, *, q: Any, v: Any, tau: Any, **more: Any) -> Array:
    """Accelerations of links from those of the joints."""
    joints = others(FORWARD_DYNAMICS, {**options, "links": False}, q=q, v=v, tau=tau, **more)
    moving = {name: more[name] for name in kinematics.BASE_MOTION if name in more}
    links = others(kinematics.ACCELERATIONS, {"frame": "body", "kind": "spatial"}, q=q, v=v, a=joints, **moving)
    return np.concatenate([joints, links.reshape(*links.shape[:-2], -1)], axis=-1)


def _composite(others: Any, *, q: Any, v: Any, tau: Any, **more: Any) -> Array:
    """``M a = tau - C``, solved with the mass matrix (chapter 6 of Balafoutis & Patel)."""
    others.require_hinges(q=q, parameters=more.get("parameters"))
    both = others(EQUATIONS_OF_MOTION, q=q, v=v, **more)
    nv = np.shape(tau)[-1]
    entries, bias = cut(both, [nv * nv])
    return _solved(others, entries.reshape(*bias.shape, nv), np.asarray(tau) - bias)


def _paired(
    mass: str | None,
    bias: str | None,
    others: Any,
    *,
    q: Any,
    v: Any,
    tau: Any,
    parameters: Any = None,
    **more: Any,
) -> Array:
    """The same with methods of the caller's choice for both."""
    others.require_hinges(q=q, parameters=parameters)
    options = {"losses": False, "method": bias or "newton-euler"}
    C = others(INVERSE_DYNAMICS, options, q=q, v=v, a=np.zeros_like(v), parameters=parameters, **more)
    M = others(MASS_MATRIX, {"method": mass or "composite"}, q=q, parameters=parameters)
    return _solved(others, M, np.asarray(tau) - C)


def _by_equations(
    solve: Callable[..., Array], others: Any, *, q: Any, v: Any, tau: Any, parameters: Any = None, **more: Any
) -> Array:
    """``D a = tau - b`` by a method that does not form D."""
    others.require_hinges(q=q, parameters=parameters)
    options = {"losses": False, "method": "newton-euler"}
    bias = others(INVERSE_DYNAMICS, options, q=q, v=v, a=np.zeros_like(v), parameters=parameters, **more)
    return solve(others, np.asarray(tau) - bias, q=np.asarray(q), parameters=parameters)


def _gradients(others: Any, moments: Array, *, q: Any, parameters: Any) -> Array:
    """Walker & Orin's fourth method: only products of D with vectors."""
    return conjugate_gradients(lambda x: others(MASS_TIMES, q=q, a=x, parameters=parameters), moments)


def _squares(others: Any, moments: Array, *, q: Any, parameters: Any) -> Array:
    """Angeles & Ma's second method, (6.2.17): the columns of P from unit vectors."""
    units = np.eye(moments.shape[-1], dtype=moments.dtype)
    if moments.dtype == object:  # counted scalars come one state at a time
        return least_squares(np.stack([others(ROOT_TIMES, q=q, a=unit) for unit in units], axis=-1), moments)
    own = None if parameters is None else np.asarray(parameters)[..., None, :]
    return least_squares(np.swapaxes(others(ROOT_TIMES, q=q[..., None, :], a=units, parameters=own), -1, -2), moments)


_MATRIX_FREE = {"conjugate-gradients": _gradients, "least-squares": _squares}
_SOLVED = ("composite", *_MATRIX_FREE)  # those that solve equations in joint space, which may be tied


def _solved(others: Any, mass: Array, moments: Array) -> Array:
    """``inv(M) (tau - C)``."""
    return others.solve(mass, moments[..., None])[..., 0]


def _equations_of_motion(of: Subject, given: Names) -> Recipe:
    """The entries of the mass matrix, and the bias behind them."""
    model = of.model

    def gather(values: Values) -> Any:
        matrix = joint_matrix(model, values.lists.get("rows", []), symmetric=True)
        return chain(matrix, joint_vector(model, values.lists.get("T", [])))

    plan = mass_matrix.equations_of_motion_plan(wrenches="wrenches" in given, springs=model.has_springs)
    return Recipe(plan, gather, (model.nv * model.nv + model.nv,), MayMove.INERTIAS)


OPTIONAL = ("wrenches", *kinematics.BASE_MOTION, "parameters")
READS = {"wrenches": "wrench"}

INVERSE_DYNAMICS = Quantity(
    "inverse_dynamics",
    ("q", "v", "a"),
    _inverse_dynamics,
    FORCES,
    optional=OPTIONAL,
    reads=READS,
    of_joints=True,
    on_constraints=refusals.TORQUES,
)
BIAS_FORCES = Quantity("bias_forces", ("q", "v"), _bias_forces, FORCES, of_joints=True)
FORWARD_DYNAMICS = Quantity(
    "forward_dynamics",
    ("q", "v", "tau"),
    _forward_dynamics,
    ACCELERATIONS,
    optional=(*OPTIONAL, "prescribed"),
    reads=READS,
    fixed={"links": False},
    of_joints=True,
    on_constraints="obeys",
)
FORWARD_DYNAMICS_WITH_LINKS = Quantity(
    "forward_dynamics_with_links",
    ("q", "v", "tau"),
    _forward_dynamics,
    f"{ACCELERATIONS}; then of every link (angular, linear) in rad/s^2 and m/s^2, link axes at the link origin",
    optional=(*OPTIONAL, "prescribed"),
    reads=READS,
    fixed={"links": True},
    on_constraints="obeys",
)
EQUATIONS_OF_MOTION = Quantity(
    "equations_of_motion",
    ("q", "v"),
    _equations_of_motion,
    "the mass matrix, row by row, then the bias forces",
    optional=OPTIONAL,
    reads=READS,
)


# ---- hybrid dynamics as a quantity: by one plan, or by the mass matrix where joints are tied -------------------------


def _hybrid_dynamics(
    of: Subject, given: Names, *, prescribed: tuple[str, ...], losses: Losses = False
) -> Recipe | Composed:
    """Accelerations, then torques, of all joints."""
    model, held = of.model, held_joints(of.model, prescribed)
    if of.tied:
        return Composed(partial(_by_mass_matrix, model, held, losses))
    plan = hybrid_plan(held=held, wrenches="wrenches" in given, losses=losses, springs=model.has_springs)
    return Recipe(plan, partial(_both, model), (2, model.nv), MayMove.INERTIAS)


def names_of(prescribed: Any, what: str = "prescribed") -> tuple[str, ...]:
    """Names of joints as a tuple, whatever collection they came in."""
    if isinstance(prescribed, str) or not isinstance(prescribed, Iterable):
        raise StateError(
            f'{what} takes names of joints, several or one, as in ("joint1",) or robot.joint_names[:2]; got '
            f"{prescribed!r}"
        )
    return prescribed if type(prescribed) is tuple else tuple(prescribed)


def held_joints(model: Model, prescribed: Collection[str]) -> tuple[int, ...]:
    """The numbers of the joints that are prescribed, base first."""
    found = sorted({model.joint_index(name) for name in names_of(prescribed)})
    for joint in (model.joints[k] for k in found):
        if joint.tie is not None:
            source = next(one.name for one in model.joints if one.independent and one.v_start == joint.v_start)
            raise StateError(
                f"joint '{joint.name}' of robot '{model.name}' moves with joint '{source}', so it has no acceleration "
                f"of its own to prescribe. Prescribe '{source}', or load the robot with mimic=\"free\""
            )
    return tuple(found)


def _both(model: Model, values: Values) -> Any:
    return chain(*(joint_vector(model, values.lists.get(name, [])) for name in ("qdd", "T")))


def _by_mass_matrix(
    model: Model,
    held: tuple[int, ...],
    losses: Losses,
    others: Any,
    *,
    q: Any,
    v: Any,
    a: Any,
    tau: Any,
    wrenches: Any = None,
) -> Array:
    """The equations of motion ``M a + C = tau`` by rows: those of the free joints are solved, then all are known."""
    a, tau = (as_array(model, name, x, coordinates=False) for name, x in (("a", a), ("tau", tau)))
    known = np.zeros(model.nv, bool)
    for joint in (model.joints[k] for k in held):
        known[joint.v_start : joint.v_start + joint.kind.nv] = True
    others.require_hinges(q=q)
    equations = others(EQUATIONS_OF_MOTION, q=q, v=v, wrenches=wrenches)
    entries, bias = cut(equations, [model.nv**2])
    mass = entries.reshape(*bias.shape, model.nv)
    bias = bias + others(JOINT_LOSSES, {"losses": losses}, v=v) if losses else bias
    done = np.where(known, a, 0.0)
    left = (tau - bias - (mass @ done[..., None])[..., 0])[..., ~known]
    moved = others.solve(mass[..., ~known, :][..., ~known], left[..., None])[..., 0]
    done = np.broadcast_to(done, (*moved.shape[:-1], model.nv)).astype(np.result_type(done, moved))
    done[..., ~known] = moved
    needed = (mass @ done[..., None])[..., 0] + bias
    return np.stack([done, np.where(known, needed, tau)], axis=-2)


HYBRID_DYNAMICS = Quantity(
    "hybrid_dynamics",
    ("q", "v", "a", "tau"),
    _hybrid_dynamics,
    f"accelerations: {ACCELERATIONS}; then torques: {FORCES}",
    optional=("wrenches",),
    reads=READS,
    words={
        "a": "accelerations, places as in v; those of joints that are not prescribed are not looked at",
        "tau": f"joint forces: {FORCES}; those of prescribed joints are not looked at",
    },
    of_joints=True,
    on_constraints=refusals.TORQUES,
)
