"""Every question that a user can put to a robot, as data: one list, for tests that ask all or some of them.

A question is a public function, the arrays it is given beside those it needs, and its options. Arrays are known by the
names of arguments, so a new method is entered by its name; ``test_questions.py`` says what is missing. What robots with
constraints answer is a table of its own, ``constrained_questions.py``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property, partial
from itertools import takewhile
from typing import Any

import numpy as np

import recursa as rc
from numeric import FRAMES
from recursa.diagonal.unnormalized_equations import Unnormalized
from recursa.evaluation.resolved_quantity import Question as Asked
from recursa.integrators import names
from recursa.kernels.dispatch import Switch
from recursa.quantities import Quantity

CLASSES: dict[str, type] = {
    "robot": rc.Robot,
    "diagonal": rc.Diagonal,
    "unnormalized": Unnormalized,
    "factorization": rc.Factorization,
}
OBJECTS: dict[str, Callable[[rc.Robot], Any]] = {
    "robot": lambda robot: robot,
    "diagonal": lambda robot: robot.diagonal,
    "unnormalized": lambda robot: robot.diagonal.unnormalized,
}
MODULES: dict[str, Any] = {
    "rc": rc,
    "free": rc.free,
    "denoc": rc.denoc,
    "operational": rc.operational,
    "cartesian": rc.cartesian,
}


@dataclass(frozen=True)
class Question:
    """``home.name`` with the optional arrays ``given`` and other options; one that is a function is asked of the robot.

    >>> Question("robot", "inverse_dynamics", ("wrenches",), {"losses": True}).text
    'robot.inverse_dynamics(wrenches, losses=True)'
    """

    home: str
    name: str
    given: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def public(self) -> str:
        """The function's name among all."""
        return f"{self.home}.{self.name}"

    @property
    def text(self) -> str:
        """All of it, as tests are named."""
        shown = (f"{k}={getattr(x, '__name__', x)}" for k, x in self.options.items())
        return f"{self.public}({', '.join((*self.given, *shown))})"

    @property
    def function(self) -> Callable[..., Any]:
        """What has the signature."""
        return STEPS.get(self.public) or public_functions()[self.public]

    @property
    def names(self) -> tuple[str, ...]:
        """The arrays, by the names of their arguments."""
        return (*(x for x in required(self.function) if x not in self.options), *self.given)

    def method(self, robot: rc.Robot) -> Callable[..., Any]:
        """The function with the options set: it takes the arrays ``names`` by position, and further options."""
        free = self.home in MODULES or self.public in STEPS
        ask = partial(self.function, robot) if free else getattr(OBJECTS[self.home](robot), self.name)
        chosen = {k: x(robot) if callable(x) else x for k, x in self.options.items()}
        names = self.names
        form = [k for k, p in arguments_of(self.function).items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        by_place = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(names, form, strict=False)))

        def asked(*arrays: Any, **more: Any) -> Any:
            named = dict(zip(names[by_place:], arrays[by_place:], strict=True))
            return ask(*arrays[:by_place], **named, **chosen, **more)

        return asked

    def ask(self, robot: rc.Robot, values: Mapping[str, Any]) -> dict[str, np.ndarray] | type[Exception]:
        """The numbers of the answer by name, or the kind of refusal."""
        try:
            return parts(self.method(robot)(*(values[name] for name in self.names)))
        except rc.RecursaError as refusal:
            return type(refusal)


def arguments_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Beside the robot."""
    return {k: p for k, p in inspect.signature(function).parameters.items() if k not in ("self", "robot")}


def required(function: Callable[..., Any]) -> tuple[str, ...]:
    """The arguments that have to be given."""
    return tuple(k for k, p in arguments_of(function).items() if p.default is p.empty)


@cache
def public_functions() -> dict[str, Callable[..., Any]]:
    """What users call, or read as an attribute that is computed, by the names of questions."""
    found: dict[str, Callable[..., Any]] = {}
    for home, cls in CLASSES.items():
        for name, item in ((x, inspect.getattr_static(cls, x)) for x in dir(cls) if x[0] != "_"):
            if isinstance(item, cached_property):
                found[f"{home}.{name}"] = item.func
            elif callable(item):
                found[f"{home}.{name}"] = inspect.unwrap(item)
    for home, module in MODULES.items():
        for name, item in ((x, getattr(module, x)) for x in dir(module) if x[0] != "_"):
            if inspect.isfunction(item) and item.__module__.startswith("recursa."):
                found[f"{home}.{name}"] = item
    return found


def _compiled(robot: rc.Robot, q: Any, v: Any, expression: str, vectors: Any = None, notation: Any = None) -> Any:
    """The value of an operator expression; its free vectors are waves."""
    f = rc.compile(expression.replace("LINK", last(robot)), robot, vectors=vectors, notation=notation)
    return f(q, v, *(np.cos(1.0 + np.arange(x.space.size)) for x in f._vectors.values()))


STEPS: dict[str, Callable[..., Any]] = {  # questions that take two steps
    "factorization.factor": lambda robot, q: robot.factorization(q).factor,
    "factorization.inverse_factor": lambda robot, q: robot.factorization(q).inverse_factor,
    "factorization.logdet": lambda robot, q: robot.factorization(q).logdet(),
    "factorization.solve": lambda robot, q, tau: robot.factorization(q).solve(tau),
    "rc.compile": _compiled,
}


# ---- arguments -------------------------------------------------------------------------------------------------------


def arguments(robot: rc.Robot, count: int, seed: int = 0) -> dict[str, Any]:
    """Random rows for every argument there is, by name."""
    rng = np.random.default_rng(seed)
    drawn = [robot.random_state(rng) for _ in range(2 * count)]
    q, v = (np.array([state[i] for state in drawn]) for i in (0, 1))
    q, q1, v, nu = q[:count], q[count:], v[:count], v[count:]
    a, tau, eps, contract = rng.normal(size=(4, *v.shape))
    inertial = np.array([x for inertia in robot.model.inertias for x in inertia.components()])
    return {
        **{"q": q, "q0": q, "q1": q1, "v": v, "v0": v, "a": a, "tau": tau, "torque": tau},
        **{"dv": 0.1 * v, "nu": nu, "xi": nu, "eps": eps, "kappa": eps, "v_r": nu, "a_r": a},
        **{"contract": contract, "left": contract, "right": eps, "along": nu, "direction": (eps, nu, contract)},
        **{"rates": nu[:, 6:], "joint_accelerations": a[:, 6:]},
        **{
            name: rng.normal(size=(count, 6)) for name in ("momentum", "base_wrench", "base_acceleration", "base_twist")
        },
        "pose": robot.pose(q1, last(robot)),
        "s": rng.uniform(-0.2, 1.2, size=count),
        "prescribed": rng.normal(size=(count, robot.model.ntold)),
        "wrenches": rng.normal(size=(count, robot.nlinks, 6)),
        "parameters": inertial * rng.uniform(0.9, 1.1, size=(count, 1)),
    }


def each(values: Mapping[str, Any], change: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
    """The same arguments with every array changed: one row of all, another type."""
    return {k: tuple(map(change, x)) if isinstance(x, tuple) else change(x) for k, x in values.items()}


# ---- answers ---------------------------------------------------------------------------------------------------------


def parts(answer: Any, name: str = "") -> dict[str, np.ndarray]:
    """The numbers of an answer by name: of an array, a tuple, or a record of such."""
    if is_dataclass(answer):
        names = [f.name for f in fields(answer) if f.name[0] != "_"]
        inner = {one: getattr(answer, one) for one in names or ("P", "D", "G", "K")}  # a factorisation makes its own
    elif isinstance(answer, tuple | list):
        inner = dict(zip(getattr(answer, "_fields", map(str, range(len(answer)))), answer, strict=True))
    elif hasattr(answer, "rank"):
        inner = {"array": np.asarray(answer), "rank": answer.rank}
    else:
        numbers = np.asarray(answer)
        return {name: numbers + 0} if numbers.dtype.kind in "fiub" else {}
    return {text: x for key, part in inner.items() for text, x in parts(part, f"{name}.{key}" if name else key).items()}


# ---- how they are answered -------------------------------------------------------------------------------------------


@contextmanager
def answered(form: str) -> Iterator[None]:
    """Plans run interpreted, or as compiled code of one form. Robots keep what they compiled: take another for each."""
    before = Switch.on, Switch.form
    Switch.on, Switch.form = (False, None) if form == "interpreted" else (True, form)
    try:
        yield
    finally:
        Switch.on, Switch.form = before


def interpreted(ask: Callable[..., Any], *state: Any) -> Any:
    """What ``ask`` answers where nothing is compiled.

    A robot that has learned native entries uses them for single states all the same: ask another one, or a batch.
    """
    with answered("interpreted"):
        return ask(*state)


def kernel_used(robot: rc.Robot, quantity: Quantity, *given: str, **options: Any) -> Any:
    """The kernel in double precision that has answered a question; None where it was too long for one."""
    question = Asked.of(quantity, given, options)
    made = robot.evaluator.resolve(question).kernels._kernels
    double = [kernel for (key, _, single, _), (_, kernel) in made.items() if key == question and not single]
    assert len(double) == 1
    return double[0]


# ---- the list --------------------------------------------------------------------------------------------------------


def last(robot: rc.Robot) -> str:
    """A link at the end of a branch."""
    return robot.link_names[-1]


def middle(robot: rc.Robot) -> str:
    """A moving link about half-way."""
    return robot.model.joints[robot.nbodies // 2].child


def two_links(robot: rc.Robot) -> list[str]:
    """Which may be on different branches."""
    return [middle(robot), last(robot)]


def rows_as_speeds(robot: rc.Robot) -> Any:
    """As many rows of a twist as the robot has speeds, for those functions that need it."""
    return {6: "twist", 3: "orientation"}.get(robot.nv, "twist")


def steady_rates(robot: rc.Robot) -> Any:
    """Of the joints of a free flyer."""
    return lambda t, q: 0.1 * np.ones(robot.nv - 6)


def every_second(robot: rc.Robot) -> tuple[str, ...]:
    """Joints that can be prescribed."""
    return tuple(joint.name for joint in robot.model.joints[1::2] if joint.independent)


class Standing:
    """A motion that goes nowhere."""

    def __init__(self, robot: rc.Robot) -> None:
        self.found = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)

    def sample(self, t: float) -> tuple[np.ndarray, ...]:
        """The neutral configuration, at rest."""
        return self.found


def held(robot: rc.Robot) -> rc.control.Law:
    """A controller of which every row has its own gains."""
    return rc.control.GravityPD(robot, robot.neutral(), 3.0, 0.1, drive_base=True)


def stiffer(robot: rc.Robot) -> dict[str, Any]:
    """Gains that differ from the controller's own."""
    return {"stiffness": np.linspace(2.0, 4.0, robot.nv)}


def learned(robot: rc.Robot) -> rc.control.Law:
    """A controller that remembers."""
    return rc.control.Adaptive(robot, Standing(robot), 2.0, 0.1, 1e-3, drive_base=True)


INVERSE = (
    "newton-euler", "augmented", "tensor", "luh-walker-paul", "featherstone", "rodriguez", "kane", "hollerbach-4x4",
    "hollerbach-3x3", "waters", "uicker-kahn", "closed-form", "denoc",
)  # fmt: skip
FORWARD = (
    "articulated", "four-sweep", "four-sweep-links", "three-sweep-bias", "three-sweep", "denoc", "base-invariant",
    "diagonal", "composite", "conjugate-gradients", "least-squares",
)  # fmt: skip
PACKED = ("mass_matrix", "coriolis_matrix", "regressor", "inverse_dynamics_derivatives")
MASS = ("composite", "augmented", "walker-orin", "column", "denoc")
EXPRESSIONS = (
    "inv(mass) (T - C)", "J(LINK) inv(mass) J(LINK)*", "Upsilon", "V* M V", "M (phi* a + gravity) + b", "Phi", "Psi",
    "1 + H phi K", "1 - H psi K", "phi M psi*", "inv(phi M phi*)", "psi* H* inv(D) H psi", "K* psi* Upsilon",
)  # fmt: skip


def _robot() -> Iterator[Question]:
    def ask(name: str, *given: str, **options: Any) -> Question:
        return Question("robot", name, given, options)

    for name in (
        "poses", "center_of_mass", "kinetic_energy", "potential_energy", "integrate", "difference", "bias_forces",
        "gravity_forces", "joint_losses", "reaction_wrenches", "base_wrench", "mass_matrix_inverse", "coriolis_matrix",
        "momentum_matrix", "center_of_mass_jacobian", "regressor", "factorization", "inverse_dynamics_derivatives",
        "forward_dynamics_derivatives", "state_space", "inverse_dynamics_second_derivatives", "base_parameters",
        "inverse_dynamics", "forward_dynamics", "mass_matrix", "velocities", "accelerations", "momentum", "linearize",
        "interpolate", "d_integrate", "d_difference", "center_of_mass_velocity", "center_of_mass_acceleration",
        "center_of_mass_jacobian_derivative", "momentum_matrix_derivative", "subtree_centers_of_mass",
        "subtree_center_of_mass_velocities", "subtree_center_of_mass_jacobians", "static_regressor",
        "kinetic_energy_regressor", "potential_energy_regressor", "filtering", "generalized_links",
        "reference_dynamics", "reference_regressor",
    ):  # fmt: skip
        yield ask(name)
    for about in ("com", "world"):
        yield from (ask(name, about=about) for name in ("momentum", "momentum_rate", "momentum_derivatives"))
    yield from (ask("jacobians", frame=frame) for frame in FRAMES)
    yield from (ask("velocities", frame=frame) for frame in FRAMES)
    yield from (ask("accelerations", frame=frame, kind="spatial") for frame in FRAMES)
    yield from (ask("accelerations", frame=frame, kind="classical") for frame in FRAMES)
    for link in (last, middle):
        yield ask("pose", link=link)
        yield from (ask("jacobian", link=link, frame=frame) for frame in FRAMES)
        yield from (ask("jacobian_derivative", link=link, frame=frame) for frame in FRAMES)
        yield from (ask("jacobian_second_derivative", link=link, frame=frame) for frame in FRAMES)
        yield from (ask("velocity_derivatives", link=link, frame=frame) for frame in FRAMES)
        for kind in ("spatial", "classical"):
            yield from (ask("acceleration_derivatives", link=link, frame=frame, kind=kind) for frame in FRAMES)
        yield ask("link_regressor", link=link)
        yield ask("pose_error", link=link)
        yield from (ask("manipulability", link=link, task=task) for task in ("pose", "position", "orientation"))
        yield from (ask("operational_compliance", link=link, frame=frame) for frame in FRAMES)
        yield from (ask("operational_inertia", link=link, frame=frame) for frame in FRAMES)
        yield from (ask(name, link=link) for name in ("rebase_state", "rebase_acceleration", "rebase_forces"))
        yield from (ask(name, link=link) for name in ("base_transform", "base_transform_derivative"))
    for frame in FRAMES:
        yield ask("operational_compliance", frame=frame)
        yield ask("operational_compliance_between", link=middle, other=last, frame=frame)
        yield ask("delassus", links=two_links, frame=frame)
        yield ask("delassus_inverse", links=two_links, frame=frame)
    yield ask("delassus", links=two_links, coordinates="position")
    yield ask("delassus_inverse", links=two_links, coordinates="orientation")
    for form in FRAMES[1:]:
        for name in (
            "mass_matrix", "bias_forces", "gravity_forces", "inverse_dynamics", "forward_dynamics", "momentum_matrix",
            "center_of_mass_jacobian",
        ):  # fmt: skip
            yield ask(name, base_velocity=form)
        yield ask("jacobian", link=last, frame="world", base_velocity=form)
        yield ask("jacobian_derivative", link=last, frame="mixed", base_velocity=form)

    yield from (ask("inverse_dynamics", method=method) for method in INVERSE)
    yield from (ask("inverse_dynamics", "wrenches", method=method, losses=True) for method in INVERSE)
    for method in ("newton-euler", "denoc"):
        yield from (ask("inverse_dynamics", x, method=method) for x in ("wrenches", "base_acceleration", "parameters"))
        yield ask("inverse_dynamics", "base_twist", method=method)
        yield ask("inverse_dynamics", "wrenches", "base_acceleration", "parameters", losses=True, method=method)
    yield from (ask("mass_matrix", method=method) for method in MASS)
    yield from (ask(name, packed=True) for name in PACKED)
    yield from (ask("mass_matrix", "parameters", method=method) for method in ("composite", "denoc"))
    for method in FORWARD:
        yield ask("forward_dynamics", method=method)
        yield ask("forward_dynamics", "wrenches", method=method, losses=True, links=True)
        yield ask("forward_dynamics", "parameters", method=method)
    for method in ("articulated", "three-sweep-bias", "denoc", "base-invariant", "composite"):
        yield ask("forward_dynamics", "base_twist", "base_acceleration", method=method)
    yield ask("forward_dynamics", "base_twist", "base_acceleration", method="articulated", links=True)
    yield from (ask(name, "base_twist") for name in ("velocities", "momentum", "kinetic_energy"))
    yield ask("accelerations", "base_twist", "base_acceleration", kind="classical")
    for name in ("reaction_wrenches", "base_wrench"):
        yield ask(name, "wrenches", "base_twist", "base_acceleration")
    yield from (ask("forward_dynamics", method="composite", mass=mass, bias="tensor") for mass in MASS)
    yield from (ask("forward_dynamics", method="composite", mass="composite", bias=bias) for bias in INVERSE)

    yield from (ask("filtering", "wrenches", losses=losses) for losses in (True, "damping", "friction"))
    yield from (ask("augmented_recursion", "wrenches", frames=frames) for frames in ("axes", "link"))
    yield ask("hybrid_dynamics", prescribed=every_second)
    yield from (
        ask("hybrid_dynamics", "wrenches", prescribed=every_second, losses=losses)
        for losses in (True, "damping", "friction")
    )
    yield from (ask("linearize", method=method) for method in ("spatial", "balafoutis-patel", "direct"))
    yield from (ask(f"{which}_dynamics_derivatives", "wrenches") for which in ("inverse", "forward"))
    yield from (ask(name, "wrenches") for name in ("linearize", "state_space"))
    yield ask("reference_dynamics", "parameters")
    yield ask("state_space", dt=0.01)
    yield ask("linearize", "direction")
    yield ask("linearize", "direction", "wrenches")
    for losses in (True, "damping", "friction"):
        yield from (ask(name, losses=losses) for name in ("linearize", "state_space", "joint_losses"))
    for losses in ("damping", "friction"):
        yield from (ask(name, losses=losses) for name in ("inverse_dynamics", "forward_dynamics"))
    yield ask("inverse_dynamics_second_derivatives", "contract")
    yield ask("inverse_dynamics_second_derivatives", "direction")
    yield ask("inverse_dynamics_second_derivatives", "contract", "direction")


def _constraints() -> Iterator[Question]:
    def ask(name: str, *given: str, **options: Any) -> Question:
        return Question("robot", name, given, options)

    for name in (
        "constraint_error",
        "constraint_jacobian",
        "constraint_bias",
        "constraint_delassus",
        "constrained_compliance",
        "project_velocity",
    ):
        yield ask(name)
    yield ask("constraint_bias", "prescribed")
    yield from (ask(name, "parameters") for name in ("constraint_delassus", "project_velocity"))
    for name in ("constraint_forces", "constraint_wrenches"):
        yield from (ask(name, losses=losses) for losses in (False, True, "damping", "friction"))
        yield ask(name, "wrenches", "prescribed")
        yield ask(name, "parameters")
    for method in ("augmentation", "projection"):
        yield ask("forward_dynamics", method=method)
        yield ask("forward_dynamics", "wrenches", "prescribed", method=method, losses=True)
        yield ask("forward_dynamics", "parameters", method=method, links=True)
        yield ask("forward_dynamics", method=method, base_velocity="mixed")
    yield ask("actuator_torques", actuated=every_second)
    for losses in (True, "damping", "friction"):
        yield ask("actuator_torques", "wrenches", "parameters", actuated=every_second, losses=losses)
    yield ask("actuator_torques", "base_twist", "base_acceleration", actuated=every_second)


def _diagonal() -> Iterator[Question]:
    both = ("total_rates", "joint_rates", "working_moments", "joint_moments", "rates")
    yield from (Question(home, name) for home in ("diagonal", "unnormalized") for name in both)
    for home in ("diagonal", "unnormalized"):
        yield from (Question(home, "rates", ("wrenches",), {"losses": x}) for x in (True, "damping", "friction"))
    yield from (Question("diagonal", "coriolis", (), {"method": method}) for method in ("short", "7.1"))
    yield from (Question("unnormalized", "coriolis", (), {"method": method}) for method in ("short", "7.9", "7.10"))
    yield from (Question("unnormalized", name) for name in ("coriolis_causes", "inertia", "inertia_rate"))
    yield from (Question("diagonal", "christoffel", (), {"kind": kind}) for kind in (1, 2))
    yield from (Question("diagonal", name) for name in ("articulated_rates", "curvature"))
    for given in ((), ("left",), ("right",), ("along",), ("left", "right"), ("left", "along"), ("right", "along")):
        yield Question("diagonal", "sensitivity", given)
    yield Question("diagonal", "sensitivity", ("left", "right", "along"))
    yield Question("diagonal", "is_flat", (), {"samples": 2})


def _modules() -> Iterator[Question]:
    yield from (Question("factorization", name) for name in ("factor", "inverse_factor", "solve", "logdet"))
    for name in ("generalized_inertia", "inverse_dynamics", "base_response", "base_velocity", "momentum_maps"):
        yield Question("free", name)
    yield Question("free", "inverse_dynamics", ("base_wrench", "wrenches"), {"losses": True})
    yield from (Question("free", "inverse_dynamics", (), {"losses": x}) for x in ("damping", "friction"))
    yield Question("free", "base_velocity", ("momentum",))
    yield Question("free", "dual_quantities")
    yield from (
        Question("free", "dual_quantities", ("wrenches",), {"losses": losses})
        for losses in (True, "damping", "friction")
    )
    yield from (Question("free", "locked_inertia", (), {"at": at}) for at in ("com", "base"))
    for frame in FRAMES:
        yield Question("free", "generalized_jacobian", (), {"link": last, "frame": frame})
        yield Question("free", "link_velocity", ("momentum",), {"link": middle, "frame": frame})
    for of in ("all", "attitude", "position"):
        yield from (Question("free", f"reaction_null_{x}", (), {"of": of}) for x in ("projector", "rates"))
    moved = {"rates": steady_rates, "t": (0.0, 0.01, 0.02), "tolerance": 1e-3}
    yield Question("free", "move_joints", ("momentum",), moved)
    for integrator in names("links"):
        options = {"duration": 0.02, "integrator": integrator}
        yield Question("free", "simulate_links", ("torque", "wrenches"), options)
        yield Question("free", "simulate_links", (), {**options, "projection": False})
    for integrator in names("rollout"):
        options = {"step": 1e-3, "steps": 2, "integrator": integrator}
        yield Question("rc", "rollout", (), options)
        yield Question("rc", "rollout", ("parameters",), {**options, "losses": False})
        yield Question("rc", "rollout", ("wrenches", "parameters"), options)
    yield from (Question("rc", "rollout", (), {"step": 1e-3, "steps": 2, "losses": x}) for x in ("damping", "friction"))
    yield Question("rc", "rollout", (), {"step": 1e-3, "steps": 2, "torque": held, "gains": stiffer})
    yield Question("rc", "rollout", (), {"step": 1e-3, "steps": 2, "torque": learned, "memory": True})
    yield from (Question("rc", "compile", (), {"expression": text}) for text in EXPRESSIONS)
    yield from (Question("rc", "compile", (), {"expression": "D nu", "notation": x}) for x in ("rodriguez", "jain"))
    yield Question("rc", "compile", (), {"expression": "D nu", "vectors": {"nu": "joint"}})
    for name in (
        "articulated", "convective_matrix", "extended_mass", "extended_mass_rate", "generalized_inertia",
        "joint_wrenches", "natural_orthogonal_complement", "natural_orthogonal_complement_rates", "to_mass_centers",
        "twist_rates", "twists", "udu",
    ):  # fmt: skip
        yield Question("denoc", name)
    yield from (Question("denoc", name, ("wrenches",)) for name in ("joint_wrenches", "generalized_forces"))
    for frame in FRAMES:
        yield Question("operational", "model", (), {"links": last, "frame": frame})
    yield Question("operational", "model", (), {"links": two_links, "coordinates": "position"})
    yield from (Question("operational", "consistent_inverse", (), {"links": last, "frame": frame}) for frame in FRAMES)
    yield Question("operational", "consistent_inverse", (), {"links": two_links, "coordinates": "orientation"})
    yield from (
        Question("cartesian", x, (), {"link": last, "coordinates": rows_as_speeds}) for x in ("model", "linearize")
    )
    for orientation in ("rpy", "zyz", "quaternion"):
        chosen = {"link": last, "orientation": orientation}
        yield from (Question("cartesian", x, (), chosen) for x in ("coordinates", "rates"))
        yield from (
            Question("cartesian", x, (), {**chosen, "coordinates": rows_as_speeds}) for x in ("model", "linearize")
        )
    yield Question("cartesian", "rates", (), {"link": last, "orientation": None})
    for losses in (True, "damping", "friction"):
        yield Question("cartesian", "linearize", (), {"link": last, "coordinates": rows_as_speeds, "losses": losses})


QUESTIONS: dict[str, Question] = {one.text: one for one in (*_robot(), *_constraints(), *_diagonal(), *_modules())}

ONE_OF_EVERY_SORT = (  # for tests about how questions are put, rather than about the answers
    "robot.poses()", "robot.jacobian(link=last, frame=body)", "robot.kinetic_energy()", "robot.inverse_dynamics()",
    "robot.bias_forces()", "robot.mass_matrix()", "robot.coriolis_matrix()", "robot.forward_dynamics()",
    "robot.mass_matrix_inverse()",
)  # fmt: skip

OTHERS: dict[str, str] = {  # public functions that are no questions about a state
    **dict.fromkeys(("robot.neutral", "robot.random_state", "robot.augmented_links"), "of the model alone, no plan"),
    **dict.fromkeys(
        (
            *(f"robot.with_{what}" for what in ("base", "frame", "gravity", "payload", "joint", "parameters")),
            *(f"robot.{verb}" for verb in ("with_constraints", "without_constraints", "with_contacts_at")),
            *(f"robot.{verb}" for verb in ("attach", "chain", "reduced", "renamed", "scaled", "without")),
        ),
        "make robots; unit/test_editing.py",
    ),
    **dict.fromkeys(("robot.geometry", "robot.with_inertia_from_geometry", "rc.ros_paths"), "unit/test_geometry.py"),
    **dict.fromkeys(
        ("robot.doctor", "robot.to_urdf", "robot.to_mjcf", "denoc.expressions", "rc.parse"), "text and expressions"
    ),
    **dict.fromkeys(("robot.save", "robot.to_dh"), "files"),
    **dict.fromkeys(("robot.assemble", "robot.mobility"), "searches; physics/test_mechanisms.py"),
    **dict.fromkeys(
        ("robot.free_directions", "robot.constraint_delassus_factors"), "oracles/test_constraint_derivatives.py"
    ),
    **dict.fromkeys((f"factorization.{matrix}" for matrix in "PDGK"), "parts of what robot.factorization is asked"),
    "robot.impact": "physics/test_landing.py and oracles/test_constraint_rank.py",
    "robot.state": "numbers by name, unit/test_lookups.py",
    **dict.fromkeys(("rc.load", "rc.from_dh", "rc.read", "rc.resume", "rc.count", "rc.tables"), "files and tables"),
    **dict.fromkeys(("robot.symbolic", "robot.symbolic_constants"), "formulas; unit/test_symbolic.py"),
    "robot.casadi": "functions of CasADi; bridges/test_casadi.py",
    "rc.study": "studies/ has engines, blocks and stores",
    **dict.fromkeys(("robot.jax", "robot.torch"), "other frameworks; bridges/"),
    "robot.export_c": "kernels/test_c_export.py runs its code against the method",
    "robot.widget": "view/ looks at it in a browser",
    "robot.view": "view/ looks at it in a browser",
    "robot.to_html": "view/ looks at its pages in a browser",
    "robot.export_js": "kernels/test_js_export.py runs its code against the method",
    "robot.simulate": "physics/ runs it; its steps are forward dynamics",
    "robot.trajectory_sensitivity": "physics/test_sensitivities.py; of a run",
    "rc.dense": "matrices, the oracle itself",
    "rc.time_optimal": "unit/test_time_optimal.py has both forms of its passes",
    "rc.tool_path": "unit/test_tool_paths.py: inverse kinematics, pose by pose",
    "rc.inverse_kinematics": "physics/test_inverse_kinematics.py and test_goals.py have it in every form",
    **dict.fromkeys(
        ("rc.identify", "rc.excitation"), "jobs; physics/test_identification.py, physics/test_excitation.py"
    ),
    "rc.analytic_inverse_kinematics": "of some arms; physics/test_analytic_ik.py",
    "robot.condition": "made of Jacobians, and often infinite; unit/test_manipulability.py has it in every form",
    "robot.singular_directions": "the same; any directions will do where gains are equal",
    "rc.workspace": "poses and manipulability, which are asked; unit/test_workspace.py",
    "robot.reorder": "moves numbers, computes none",
    "robot.sparsity": "of the model alone; unit/test_sparsity.py",
    "rc.explain": "unit/test_explain.py",
    "denoc.reverse_gaussian_elimination": "of a matrix",
    "free.reorient": "a plan; physics/test_reorientation.py",
}
