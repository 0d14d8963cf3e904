"""Quantities as data: the registry, the evaluator's keys, and one that is defined outside the package."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from inspect import signature, unwrap

import numpy as np
import pytest

import recursa as rc
from numeric import close
from questions import answered
from recursa.dynamics.kinematics import BUFFERS, POSE, RELATIVE, VELOCITY
from recursa.evaluation.evaluator import Evaluator
from recursa.facade.asking import exported
from recursa.facade.export_questions import ExportQuestion
from recursa.interop.timing import plain_quantities, timing
from recursa.operational.operational_quantities import FLYING_INERTIA
from recursa.quantities import Names, Quantity, Recipe, Subject, quantities, quantity
from recursa.sweeps import Buffer, Plan, Step, base_to_tip

# ---- a quantity of one's own: the energy of the bodies, each a point mass at its origin ------------------------------


def _speed_squared(inertia, velocity):
    return 0.5 * inertia.mass * velocity.linear.dot(velocity.linear)


_SUM = Step(_speed_squared, ("inertia", "V"), ("E@robot",), "E = sum of m |v|^2/2")
_PLAN = Plan("energy of points", (*BUFFERS, Buffer("E", 0.0)), (base_to_tip(RELATIVE, VELOCITY, _SUM),))


def _recipe(of: Subject, given: Names, *, scale: float = 1.0) -> Recipe:
    return Recipe(_PLAN, lambda values: [values.robot["E"] * scale], ())


POINT_ENERGY = Quantity("tests.point_energy", ("q", "v"), _recipe, "J")


def point_energy(robot, q, v, **options):
    return robot.evaluator.evaluate(POINT_ENERGY, {"q": q, "v": v}, **options)


def by_hand(robot, q, v):
    origins = robot.velocities(q, v)[..., [robot.model.link_index(j.child) for j in robot.model.joints], 3:]
    masses = [inertia.mass for inertia in robot.model.inertias]
    return 0.5 * (np.square(origins).sum(axis=-1) * masses).sum(axis=-1)


@pytest.mark.parametrize("form", ["interpreted", "straight", "loop"])
@pytest.mark.parametrize("make", [rc.robots.stanford, rc.robots.space_robot], ids=lambda make: make.__name__)
def test_a_quantity_from_outside_is_evaluated_in_every_form(make, form):
    robot = make()
    q, v = (np.array(rows) for rows in zip(*(robot.random_state(k) for k in range(5)), strict=True))
    with answered(form):
        found = point_energy(robot, q, v)
        close(found, by_hand(robot, q, v), 1e-12)
        assert point_energy(robot, q[0], v[0]) == found[0]
        assert point_energy(robot, q, v, options={"scale": 2.0}) == pytest.approx(2.0 * found)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_quantity_from_outside_is_counted_and_written_as_c(tmp_path):
    robot = rc.robots.stanford()
    counts = rc.count(robot, POINT_ENERGY)
    assert 0 < counts.mul < rc.count(robot, "kinetic_energy").mul
    export = robot.export_c(POINT_ENERGY, tmp_path / "points.c", name="points", scale=2.0)
    source, _, program = export.files
    built = tmp_path / "points"
    subprocess.run(["cc", "-std=c99", "-O1", source, program, "-o", built, "-lm"], check=True)
    subprocess.run([built], check=True)


def test_a_quantity_from_outside_is_timed():
    """By the function that ``recursa bench --all`` calls, with every other that takes plain arrays."""
    assert POINT_ENERGY in plain_quantities()
    found = timing(rc.robots.stanford(), POINT_ENERGY, batch=16, turns=3)
    assert (found.quantity, found.shape, found.states) == ("tests.point_energy", (), 16)
    assert found.call > 0.0
    assert found.batch > 0.0
    assert found.peers == {}


def test_a_quantity_from_outside_stands_in_the_list_of_exports():
    assert "tests.point_energy" in exported()
    question = ExportQuestion.of(rc.robots.planar(2).model, "tests.point_energy", {"scale": 3.0})
    assert question.all_options == {"scale": 3.0}
    with pytest.raises(rc.UnknownNameError, match="scale"):
        ExportQuestion.of(rc.robots.planar(2).model, "tests.point_energy", {"scael": 3.0})


def test_names_are_not_given_twice():
    with pytest.raises(rc.RecursaError, match="there is a quantity 'mass_matrix' already"):
        Quantity("mass_matrix", ("q",), _recipe, "")


def test_an_array_that_must_be_given_is_not_left_out():
    robot = rc.robots.planar(2)
    for ask in (robot.mass_matrix, robot.factorization, robot.diagonal.sensitivity):
        with pytest.raises(rc.StateError, match="q must be numbers, not object"):
            ask(None)
    with pytest.raises(rc.StateError, match="v must be numbers, not object"):
        robot.diagonal.total_rates([0.0, 0.0], None)


# ---- the registry ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", [one for one in quantities() if "." not in one.name], ids=lambda one: one.name)
def test_methods_take_what_records_say(one):
    method = getattr(rc.Robot, one.name, None)
    if method is None:
        assert one.name in ("equations_of_motion", "forward_dynamics_with_links")  # parts of forward dynamics
        return
    form = signature(unwrap(method)).parameters
    needed = [name for name, item in form.items() if item.default is item.empty and name not in ("self", *one.options)]
    assert tuple(needed) == one.inputs
    assert all(form[name].default is None for name in one.optional)
    assert one.units
    shared = {name: item.default for name, item in one.options.items() if name in form}
    assert shared == {name: form[name].default for name in shared}
    assert shared.keys() == one.options.keys() or one.name == "delassus"  # whose rows come from coordinates


def test_an_unknown_name_is_an_error_with_a_proposal():
    with pytest.raises(rc.UnknownNameError, match="mass_matrix"):
        quantity("mass_matrxi")


# ---- keys ------------------------------------------------------------------------------------------------------------


def test_questions_about_one_plan_have_kernels_of_their_own():
    """What is gathered decides, not the plan: one plan gives two vectors of the same size, each its own."""
    first, second = (
        Quantity(f"tests.part_{name}", ("q",), partial(_poses_part, column), "m") for column, name in enumerate("xy")
    )
    robot = rc.robots.stanford()
    q, _ = robot.random_state(0)
    found = [robot.evaluator.evaluate(one, {"q": q}) for one in (first, second, first)]
    bodies = [robot.model.link_index(joint.child) for joint in robot.model.joints]
    for column, vector in zip((0, 1, 0), found, strict=True):
        close(vector, robot.poses(q)[bodies, column, 3], 1e-14)


_POSES = Plan("origins", BUFFERS, (base_to_tip(RELATIVE, POSE),))


def _poses_part(column: int, of: Subject, given: Names) -> Recipe:
    return Recipe(_POSES, lambda values: [pose.translation[column] for pose in values["W"]], (of.model.nbodies,))


def test_a_recipe_is_asked_for_once():
    calls = []

    def recipe(of: Subject, given: Names) -> Recipe:
        calls.append(given)
        return _recipe(of, given)

    once = Quantity("tests.once", ("q", "v"), recipe, "J")
    robot = rc.robots.planar(2)
    evaluator = Evaluator(robot.model)
    for seed in range(3):
        q, v = robot.random_state(seed)
        evaluator.evaluate(once, {"q": q, "v": v})
    assert calls == [frozenset()]


# ---- inertias of links -----------------------------------------------------------------------------------------------


def test_only_links_that_fly_have_an_inertia_without_an_inverse():
    held, flyer = rc.robots.planar(2), rc.robots.free_flyer(2)
    with pytest.raises(rc.NoSweepError, match="'tip' does not fly freely"):
        held._answer(FLYING_INERTIA, {"q": [0.1, 0.2]}, {"link": "tip", "frame": "body"})
    q, _ = flyer.random_state(1)
    found = flyer._answer(FLYING_INERTIA, {"q": q}, {"link": "link2", "frame": "body"})
    close(found @ flyer.operational_compliance(q, "link2"), np.eye(6), 1e-9)
