"""Cost grows with the number of bodies as the papers say: counted, not timed, so exactly."""

from __future__ import annotations

from itertools import pairwise

import pytest

import recursa as rc
from recursa.diagonal import equations_of_motion
from recursa.dynamics import articulated_bodies, inverse
from recursa.spatial.counter import Counter, Counts
from recursa.sweeps.engine import run
from recursa.sweeps.plan import Plan

PLANS: dict[str, tuple[Plan, str]] = {
    "inverse_dynamics": (inverse.inverse_plan(), "q v a"),
    "bias_forces": (inverse.bias_plan(), "q v"),
    "gravity_forces": (inverse.gravity_plan(), "q"),
    "forward_dynamics": (articulated_bodies.forward_plan(), "q v tau"),
    "diagonal.rates": (equations_of_motion.equations_plan(), "q joint:nu tau"),
}
LINEAR = list(PLANS)
FIELDS = ("mul", "add", "div", "sqrt", "trig")


def add_arm(builder: rc.Builder, n: int, name: str, armature: float = 0.0) -> None:
    """A chain of n equal links with nothing special about them."""
    parent = "world"
    for k in range(n):
        child = f"{name}{k}"
        builder.link(child, mass=1.3, com=(0.1, -0.2, 0.3), inertia=(0.02, 0.03, 0.04, 0.001, -0.002, 0.003))
        builder.joint(
            f"{child} joint", "revolute", parent=parent, child=child, axis=(0.36, 0.48, 0.8),
            xyz=(0.3, 0.2, -0.1), rpy=(0.4, -0.5, 0.6), armature=armature,
        )  # fmt: skip
        parent = child


def arms(*lengths: int, armature: float = 0.0) -> rc.Robot:
    """Equal chains side by side at the world."""
    builder = rc.Builder("arms")
    for number, n in enumerate(lengths):
        add_arm(builder, n, "abcdefgh"[number], armature)
    return builder.build(strict=False).with_gravity((1.0, 2.0, -9.0))


def as_interpreted(robot: rc.Robot, what: str) -> Counts:
    """Operations of the plan as it stands."""
    plan, names = PLANS[what]
    counter = Counter()
    run(plan, robot.model, {name: counter.numbers([0.3] * robot.nv) for name in names.split()})
    return counter.counts()


def as_compiled(robot: rc.Robot, what: str) -> Counts:
    """Operations of the code generated for the robot."""
    return rc.count(robot, what)


def steps(costs: list[Counts]) -> list[list[int]]:
    """From each number of bodies to the next, how many operations more."""
    return [[getattr(after, field) - getattr(before, field) for before, after in pairwise(costs)] for field in FIELDS]


every_count = pytest.mark.parametrize("count", [as_interpreted, as_compiled])


@pytest.mark.parametrize("armature", [0.0, 0.1], ids=["bare", "rotors"])
@pytest.mark.parametrize("what", LINEAR)
@every_count
def test_every_further_body_costs_the_same(count, what, armature):
    """Doubling the bodies doubles the operations, but for what the ends of the chain save."""
    costs = [count(arms(n, armature=armature), what) for n in (8, 16, 24, 32)]
    for field, grown in zip(FIELDS, steps(costs), strict=True):
        assert len(set(grown)) == 1, f"{field}: {grown}"
    least = 15 if what == "gravity_forces" else 30  # multiplications a body: it really does something there
    assert steps(costs)[0][0] > 8 * least


@pytest.mark.parametrize("what", LINEAR)
@every_count
def test_twice_the_arms_cost_exactly_twice_as_much(count, what):
    one, two, four = (count(arms(*[5] * k), what) for k in (1, 2, 4))
    assert two == one + one
    assert four == two + two


def test_mass_matrix_of_a_chain_costs_a_quadratic_number_of_operations():
    costs = [rc.count(arms(n), "mass_matrix") for n in (4, 8, 12, 16, 20)]
    for field, grown in zip(FIELDS, steps(costs), strict=True):
        second = {after - before for before, after in pairwise(grown)}
        assert len(second) == 1, f"{field}: {grown}"
    assert steps(costs)[0][1] > steps(costs)[0][0]  # not linear


def test_mass_matrix_of_many_short_arms_costs_a_linear_number_of_operations():
    """Joints of different arms do not act on each other: those entries are constants."""
    one, four = (rc.count(arms(*[3] * k), "mass_matrix") for k in (1, 4))
    assert four == one + one + one + one


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (rc.robots.panda_like, 1.46),
        (rc.robots.puma560, 1.52),
        (rc.robots.stanford, 1.28),
        (lambda: rc.robots.chain(6, seed=3), 1.48),
        (lambda: rc.robots.chain(12), 1.50),
        (lambda: rc.robots.chain(9, seed=2, joints="mixed"), 1.50),
        (lambda: rc.robots.free_flyer(6), 1.48),
    ],
    ids=["panda_like", "puma560", "stanford", "six", "twelve", "mixed", "free_flyer"],
)
def test_diagonal_equations_cost_little_more_than_articulated_ones(make, most):
    """Multiplications and additions of (v, nu_dot) to those of the accelerations; a further congruence per joint."""
    robot = make()
    plain, diagonal = rc.count(robot, "forward_dynamics"), rc.count(robot, "diagonal.rates")
    assert (diagonal.mul + diagonal.add) <= most * (plain.mul + plain.add)
    assert diagonal.div == plain.div
    assert diagonal.sqrt == diagonal.div, "one root a freedom"
