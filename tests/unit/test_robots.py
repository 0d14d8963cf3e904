"""The bundled robots: names, health, provenance, and random ones that a seed reproduces."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from numeric import close

FILES = ("desk_arm", "quadruped")
NAMES = ("stanford", "planar", "puma560", "panda_like", "ur5_like", "chain", "tree", "free_flyer", "space_robot")
NAMES += ("four_bar", "slider_crank", "five_bar", "delta", "stewart", "gripper", "two_arms", "standing_quadruped")


def test_names_match_the_functions() -> None:
    assert rc.robots.names() == NAMES
    for name in NAMES:
        assert rc.robots.by_name(name) == getattr(rc.robots, name)()


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"puma560"}))
def test_bundled_robot_is_healthy(name: str) -> None:
    assert not rc.robots.by_name(name).doctor()


def test_puma_has_only_the_known_findings() -> None:
    """The published inertia of link 3: 0.086 exceeds 0.066 + 0.0125 by 0.0075."""
    findings = [(f.code, f.subject, f.severity) for f in rc.robots.puma560().doctor()]
    assert findings == [("triangle", "link 'link3'", "warning")]
    assert rc.robots.puma560().doctor()[0].value == pytest.approx(0.0075, abs=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_bundled_robot_tells_where_its_data_come_from(name: str) -> None:
    provenance = rc.robots.by_name(name).model.description.provenance
    assert len(provenance) > 10
    assert provenance.endswith(".")


@pytest.mark.parametrize(
    ("robot", "nv", "bodies", "mass"),
    [
        (rc.robots.stanford(), 6, 6, 21.1),
        (rc.robots.planar(), 3, 3, 1.2),
        (rc.robots.planar(5), 5, 5, 1.7),
        (rc.robots.puma560(), 6, 6, 36.45),
        (rc.robots.panda_like(), 7, 7, 17.5),
        (rc.robots.ur5_like(), 6, 6, 16.9939),
        (rc.robots.free_flyer(), 9, 4, 530.0),
        (rc.robots.free_flyer(5), 11, 6, 550.0),
        (rc.robots.space_robot(), 18, 13, 490.0),
    ],
)
def test_mass_matches_the_sum_of_the_table(robot: rc.Robot, nv: int, bodies: int, mass: float) -> None:
    assert (robot.nv, robot.nbodies) == (nv, bodies)
    assert robot.mass == pytest.approx(mass, rel=1e-14)


@pytest.mark.parametrize("name", FILES)
def test_bundled_file_loads_and_is_healthy(name: str) -> None:
    path = rc.robots.urdf(name)
    assert path.is_file()
    robot = rc.load(path)
    assert not robot.doctor()
    assert robot == rc.robots.by_name(name)
    assert rc.load(path, floating=True) == rc.robots.by_name(name, floating=True)
    assert len(rc.robots.by_name(name).model.description.provenance) > 10


def test_bundled_files_are_in_the_wheel() -> None:
    """As package data, by the pattern in pyproject.toml."""
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["recursa"]
    package = Path(rc.__file__).parent
    packed = {path for pattern in patterns for path in package.glob(pattern)}
    assert {rc.robots.urdf(name) for name in FILES} <= packed
    assert {path.stem for path in (package / "urdf").iterdir()} == set(FILES)


def test_desk_arm_and_quadruped_are_what_the_docs_say() -> None:
    arm = rc.load(rc.robots.urdf("desk_arm"))
    assert arm.joint_names[:3] == ("waist", "shoulder", "elbow")
    assert (arm.nv, rc.load(rc.robots.urdf("desk_arm"), mimic="tie").nv) == (8, 7)
    assert arm.mass == pytest.approx(3.574, rel=1e-14)  # the base stands still and does not count
    close(arm.pose(arm.neutral(), "tool")[:3, 3], [0, 0, 0.73])
    assert rc.load(rc.robots.urdf("quadruped"), floating=True).mass == pytest.approx(13.12, rel=1e-14)


def test_unknown_and_misplaced_file_names_are_told() -> None:
    with pytest.raises(rc.RecursaError, match="desk_arm"):
        rc.robots.urdf("desk_arms")
    for name in ("desk_arm", "desk_arm.urdf"):
        with pytest.raises(rc.ModelError, match=r"rc\.robots\.urdf\('desk_arm'\)"):
            rc.load(name)


def test_frames_sit_at_the_ends() -> None:
    planar, flyer, panda = rc.robots.planar(), rc.robots.free_flyer(2), rc.robots.panda_like()
    close(planar.pose([0, 0, 0], "tip")[:3, 3], [0.77, 0, 0])
    close(flyer.pose(flyer.neutral(), "gripper")[:3, 3], [2.5, 0.2, 0])
    close(panda.pose(np.zeros(7), "flange")[:3, 3], [0.088, 0.0, 0.333 + 0.316 + 0.384 - 0.107])
    assert flyer.is_floating
    assert flyer.gravity == (0.0, 0.0, 0.0)


def test_seed_reproduces_a_random_robot() -> None:
    for make in (rc.robots.chain, rc.robots.tree):
        assert make(8, seed=3) == make(8, seed=3)
        assert make(8, seed=3).model.digest == make(8, seed=3).model.digest
        different = {make(8, seed=seed).model.digest for seed in range(5)}
        assert len(different) == 5


def test_random_chain_is_general() -> None:
    """Nothing is special: no zero offset, no axis along a coordinate, every product of inertia there."""
    robot = rc.robots.chain(12, seed=5, joints="mixed")
    kinds = [joint.kind.name for joint in robot.model.joints]
    assert set(kinds) == {"revolute", "prismatic"}
    assert {joint.kind.name for joint in rc.robots.chain(12, seed=5).model.joints} == {"revolute"}
    for k, (joint, inertia) in enumerate(zip(robot.model.joints, robot.model.inertias, strict=True)):
        assert joint.parent == k - 1
        numbers = [*joint.hinge.axis, *joint.placement.translation, *joint.placement.rotation, *inertia.components()]
        assert min(abs(x) for x in numbers) > 1e-9


@pytest.mark.parametrize("branching", [1, 2, 3])
def test_tree_carries_as_many_as_it_branches(branching: int) -> None:
    robot = rc.robots.tree(13, branching=branching, seed=2)
    children = [sum(joint.parent == k for joint in robot.model.joints) for k in range(-1, 13)]
    assert children[0] == 1  # one body on the world
    assert max(children[1:]) == branching
    assert sum(children) == 13


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: rc.robots.by_name("puma"), rc.UnknownNameError, "no bundled robot 'puma'. Did you mean 'puma560'"),
        (lambda: rc.robots.by_name("zzz"), rc.UnknownNameError, "There are: stanford, planar"),
        (lambda: rc.robots.by_name(["puma560"]), rc.UnknownNameError, "no bundled robot"),
        (lambda: rc.robots.planar(0), rc.ModelError, "a planar arm needs a whole number of at least 1, not 0"),
        (lambda: rc.robots.chain(-3), rc.ModelError, "a chain needs a whole number of at least 1, not -3"),
        (lambda: rc.robots.chain(2.5), rc.ModelError, "not 2.5"),
        (lambda: rc.robots.chain(3, joints="ball"), rc.UnknownNameError, "no choice of joints 'ball'"),
        (lambda: rc.robots.tree(5, branching=0), rc.ModelError, "tree's branching needs a whole number"),
        (lambda: rc.robots.free_flyer("3"), rc.ModelError, "free flyer's arm needs a whole number .*, not '3'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]


def test_options_of_loading_hold_for_bundled_robots_too() -> None:
    floating = rc.robots.by_name("stanford", floating=True, mimic="tie")
    assert (floating.nv, floating.is_floating, floating.model.mimic) == (12, True, "tie")
    assert floating.gravity == rc.robots.stanford().gravity
    assert floating.model.description == rc.robots.stanford().model.description


def test_numpy_integers_count() -> None:
    assert rc.robots.planar(np.int64(2)) == rc.robots.planar(2)
