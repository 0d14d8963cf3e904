"""Every question, interpreted and as compiled code of both forms: the answers agree, and so do refusals.

Compiling takes about a tenth of a second for each question and form. Every suite asks every question of one robot in
both forms, and a sample of them of others; the rest of the cross product is a soak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import close, same_bits, tied_gripper
from questions import INVERSE, QUESTIONS, answered, arguments, arguments_of, each
from zoo import (
    ALL_KINDS,
    closed_tree,
    each_kind,
    elastic_arm,
    floating_tree_with_rotors,
    held_flyer,
    large_flyer,
    lossy_arm,
    one_of_each,
    small_flyer,
    small_mixed_tree,
    with_soaks,
)

COUNT = 9  # a block and what is left, for two, four and eight lanes

SMALL: dict[str, Callable[[], rc.Robot]] = {
    "small_flyer": small_flyer,
    "lossy_arm": lossy_arm,
    "elastic_arm": elastic_arm,
    "elastic_skew": lambda: elastic_arm(skew=True),
    "small_mixed_tree": small_mixed_tree,
    "tied_gripper": tied_gripper,
    "free_flyer": lambda: rc.robots.free_flyer(2),  # without gravity, which one question needs
    "stanford": rc.robots.stanford,
    "puma560": rc.robots.puma560,
    "closed_tree": closed_tree,
    "planar_arm": lambda: rc.robots.planar(2),  # whose link frames are those of the book
    **{kind: (lambda kind=kind: each_kind(kind)) for kind in ALL_KINDS},  # type: ignore[misc]
}
MIDDLING: dict[str, Callable[[], rc.Robot]] = {
    "floating_tree_with_rotors": floating_tree_with_rotors,
    "space_robot": rc.robots.space_robot,
    "tree13": lambda: rc.robots.tree(13, branching=3, seed=1),
    "one_of_each": one_of_each,
    "held_flyer": held_flyer,
    "tree19": lambda: rc.robots.tree(19, branching=2, seed=5),
}
LARGE: dict[str, Callable[[], rc.Robot]] = {
    "elastic_tree": lambda: elastic_arm([-1, *(k // 2 for k in range(18))]),
    "tree40": lambda: rc.robots.tree(40, branching=3, seed=3),
    "large_flyer": large_flyer,
}
ROBOTS = SMALL | MIDDLING | LARGE

SAMPLE = (  # one of every sort, none larger than the robot
    "robot.poses()", "robot.velocities(frame=world)", "robot.jacobian(link=middle, frame=mixed)",
    "robot.momentum(about=com)", "robot.inverse_dynamics()", "robot.inverse_dynamics(wrenches, method=newton-euler)",
    "robot.forward_dynamics()", "robot.forward_dynamics(method=base-invariant)",
    "robot.operational_compliance(link=middle, frame=body)", "robot.operational_inertia(link=middle, frame=body)",
    "robot.operational_inertia(link=middle, frame=world)", "robot.linearize(direction)",
    "diagonal.coriolis(method=short)", "unnormalized.coriolis_causes()", "factorization.solve()",
    "rc.compile(expression=J(LINK) inv(mass) J(LINK)*)",
)  # fmt: skip
SPRUNG = (  # where springs act, by each way in which plans have them
    "robot.inverse_dynamics()", "robot.inverse_dynamics(method=kane, losses=True)",
    "robot.inverse_dynamics(method=denoc)", "robot.bias_forces()", "robot.forward_dynamics()",
    "robot.forward_dynamics(method=three-sweep)",
    "robot.forward_dynamics(method=diagonal)", "robot.potential_energy()", "robot.linearize(direction)",
    "robot.inverse_dynamics_derivatives()", "robot.forward_dynamics_derivatives()", "robot.state_space()",
    "robot.hybrid_dynamics(prescribed=every_second)", "robot.reaction_wrenches()", "diagonal.rates()",
)  # fmt: skip
HELD = (
    "robot.constraint_jacobian()", "robot.constraint_bias(prescribed)", "robot.constraint_delassus()",
    "robot.forward_dynamics()", "robot.constraint_wrenches(wrenches, prescribed)", "robot.project_velocity()",
)  # fmt: skip
SAMPLED = ("small_mixed_tree", "tied_gripper", "space_robot", "tree19", "large_flyer")
ON_AXES = (
    *INVERSE[1:-1], "walker-orin", "balafoutis-patel", "=direct)", "augmented_", "7.1", "cartesian."
)  # fmt: skip
"""What is only for joints that turn or slide."""
FLYING = ("move_joints", "rebase", "base_transform")
"""What is only without gravity, or with joints that can be passed the other way."""
COSTLY = (
    "christoffel", "curvature", "is_flat", "closed-form", "uicker-kahn", "waters", "=direct)", "second_derivatives()",
    "base_parameters",
)  # fmt: skip
"""Which take more than the square of the number of bodies; of small robots only."""


def forms_of(name: str, text: str) -> tuple[str, ...]:
    """Long straight-line code takes too long to compile; robots that large have loops anyway."""
    straight = name in SMALL or (name in MIDDLING and text in SAMPLE)
    return ("straight", "loop") if straight else ("loop",)


CONSTRAINED = ("constraint_", "constrained_", "project_velocity", "augmentation", "projection")
"""What is only with constraints."""


def surely_answered_by(text: str) -> str:
    """The robot of which a question is asked in every suite."""
    constrained = () if text.startswith("free.") else CONSTRAINED
    for name, words in (
        ("held_flyer" if "base_velocity" in text else "closed_tree", constrained),
        ("free_flyer", FLYING),
        ("planar_arm", ("frames=link",)),
        ("lossy_arm", ON_AXES),
    ):
        if any(word in text for word in words):
            return name
    return "small_flyer"


def everyday(name: str, text: str) -> bool:
    """Whether a pair is asked in every suite."""
    sprung = name.startswith("elastic") and text in SPRUNG
    held = name == "held_flyer" and text in HELD
    return name == surely_answered_by(text) or (name in SAMPLED and text in SAMPLE) or sprung or held


def pairs() -> Iterator[Any]:
    for name in ROBOTS:
        for text in QUESTIONS:
            if name in SMALL or not any(part in text for part in COSTLY):
                marks = () if everyday(name, text) else pytest.mark.slow
                yield pytest.param(name, text, marks=marks, id=f"{name}-{text}")


@lru_cache(maxsize=6)
def robot_of(name: str, form: str) -> rc.Robot:
    """One robot for each form: a robot keeps its compiled kernels, and those of all robots would fill the memory."""
    return ROBOTS[name]()


@cache
def asked_of(name: str) -> dict[str, Any]:
    return arguments(robot_of(name, "interpreted"), COUNT)


@cache
def interpretation(name: str, text: str) -> Any:
    with answered("interpreted"):
        return QUESTIONS[text].ask(robot_of(name, "interpreted"), asked_of(name))


@cache
def tolerance(name: str) -> float:
    """1e-11, or what the condition of the mass matrix leaves."""
    with answered("interpreted"):
        mass = robot_of(name, "interpreted").mass_matrix(asked_of(name)["q"])
    return max(1e-11, 1e-14 * float(np.linalg.cond(mass).max()))


def ask(name: str, text: str, form: str, values: dict[str, Any]) -> Any:
    robot = robot_of(name, form)
    with answered(form):
        found = QUESTIONS[text].ask(robot, values)
    assert all(kernel is None or kernel.form == form for kernel in kernels(robot))
    return found


def kernels(robot: rc.Robot) -> list[Any]:
    """Those whose form is not settled."""
    return [kernel for store in robot.evaluator.stores if store._form is None for _, kernel in store._kernels.values()]


@pytest.mark.parametrize(("name", "text"), list(pairs()))
def test_forms_agree(name: str, text: str) -> None:
    expected = interpretation(name, text)
    assert isinstance(expected, dict) or name != surely_answered_by(text), "no suite would see an answer"
    for form in forms_of(name, text):
        found = ask(name, text, form, asked_of(name))
        if isinstance(expected, type):
            assert found is expected, form
            continue
        assert isinstance(found, dict), f"{form}: refused by {found}"
        assert found.keys() == expected.keys()
        for part, numbers in expected.items():
            close(found[part], numbers, tolerance(name), f"{form}: {part}")


# ---- what must not change a bit --------------------------------------------------------------------------------------

BATCHED = [text for text, question in QUESTIONS.items() if "out" in arguments_of(question.function)]
every_batched = pytest.mark.parametrize("text", with_soaks(BATCHED, SAMPLE))


@pytest.mark.parametrize("form", ["straight", "loop"])
@every_batched
def test_rows_alone_have_the_bits_of_a_batch(text: str, form: str) -> None:
    name = surely_answered_by(text)
    together = ask(name, text, form, asked_of(name))
    for number in (0, COUNT - 1):
        for _ in range(2):  # the second time by the native entry
            alone = ask(name, text, form, each(asked_of(name), lambda x, number=number: x[number]))
            for part, numbers in together.items():
                same_bits(alone[part], numbers[number], f"{part}, row {number}")


@pytest.mark.parametrize("form", ["straight", "loop"])
@every_batched
def test_single_precision_stays_single(text: str, form: str) -> None:
    name = surely_answered_by(text)
    expected = interpretation(name, text)
    found = ask(name, text, form, each(asked_of(name), lambda x: x.astype(np.float32)))
    assert found.keys() == expected.keys()
    for part, numbers in expected.items():
        assert found[part].dtype == (np.float32 if numbers.dtype == np.float64 else numbers.dtype), part
        close(found[part], numbers, 1e-3, part)


@pytest.mark.parametrize(("name", "form"), [("small_mixed_tree", "straight"), ("small_mixed_tree", "loop")])
def test_there_are_kernels_of_either_form(name: str, form: str) -> None:
    """Nothing that the tests above compare has quietly been interpreted twice."""
    robot = ROBOTS[name]()
    values = asked_of(name)
    for text in SAMPLE:
        if isinstance(interpretation(name, text), dict) and QUESTIONS[text].home != "rc":
            before = len(kernels(robot))
            with answered(form):
                QUESTIONS[text].ask(robot, values)
            made = kernels(robot)[before:]
            assert made or "operational_inertia" in text, text  # whose kernel may be that of the compliance
            assert None not in made, text
