"""Compiled kernels against Pinocchio on real robots: a dozen in every run, all of example-robot-data when slow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import recursa as rc
from numeric import close, same_bits, states, with_rotors
from recursa.interop import pinocchio as interop
from robot_data import relative_name, urdf_files

pin = pytest.importorskip("pinocchio")

FILES = {relative_name(path): path for path in urdf_files() if path.name != "ur3.urdf"}  # that one has no link
DOZEN = [  # arms, a hand, quadrupeds, a humanoid, each of which compiles within seconds; and whether it floats
    ("double_pendulum_description/double_pendulum_continuous.urdf", True),
    ("finger_edu_description/finger_edu.urdf", False),
    ("panda_description/panda.urdf", False),
    ("ur_description/ur5_robot.urdf", False),
    ("kinova_description/kinova.urdf", True),
    ("xarm_description/xarm7.urdf", False),
    ("bolt_description/bolt.urdf", True),
    ("allegro_hand_description/allegro_left_hand.urdf", False),
    ("tiago_description/tiago_no_hand.urdf", False),
    ("anymal_b_simple_description/anymal.urdf", True),
    ("go2_description/go2.urdf", True),
    ("simple_humanoid_description/simple_humanoid.urdf", True),
]
SINGLE = ("panda_description/panda.urdf", "go2_description/go2.urdf", "tiago_description/tiago_no_hand.urdf")
COUNT = 11  # no multiple of a SIMD width
ALONE = (0, 5, COUNT - 1)  # rows asked for alone, too; the last lies in the tail

pytestmark = [pytest.mark.compiled, pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")]


class Case(NamedTuple):
    """A robot here and there, with states of it by letter, one a row."""

    robot: rc.Robot
    model: Any
    here: dict[str, np.ndarray]
    there: dict[str, np.ndarray]
    back: np.ndarray  # from Pinocchio's order of speeds to ours

    def matrix(self, theirs: np.ndarray) -> np.ndarray:
        return theirs[np.ix_(self.back, self.back)]


def make_case(path: Path, floating: bool) -> Case:
    robot = with_rotors(rc.load(path, floating=floating, strict=False))
    model = pin.buildModelFromUrdf(str(path), *((pin.JointModelFreeFlyer(),) if floating else ()))
    order = interop.velocity_order(robot, model)
    model.armature = np.concatenate([np.array(joint.armature) for joint in robot.model.joints])[order]
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    q, v, a = states(robot, COUNT)
    here = {"q": q, "v": v, "a": a, "tau": np.random.default_rng(6).normal(size=v.shape)}
    convert = {"q": interop.configuration}
    there = {name: convert.get(name, interop.velocity)(robot, model, rows) for name, rows in here.items()}
    return Case(robot, model, here, there, np.argsort(order))


def last_link(robot: rc.Robot) -> str:
    """The outermost link of the body that most joints move."""
    depth = {link.name: len(robot.model.support(link.body)) for link in robot.model.links}
    return max(depth, key=lambda name: depth[name])


def questions(case: Case) -> dict[str, tuple[Callable[..., np.ndarray], str, Callable[..., np.ndarray]]]:
    """What is compared: our method, the names of its arguments, and Pinocchio's answer in our order."""
    robot, model, back = case.robot, case.model, case.back
    data, link = model.createData(), last_link(case.robot)
    frame = model.getFrameId(link, pin.FrameType.BODY)

    def mass(q: np.ndarray) -> np.ndarray:
        upper = np.triu(pin.crba(model, data, q))
        return case.matrix(upper + np.triu(upper, 1).T)

    def inverse(q: np.ndarray) -> np.ndarray:
        upper = np.triu(pin.computeMinverse(model, data, q))
        return case.matrix(upper + np.triu(upper, 1).T)

    def centroidal(q: np.ndarray) -> np.ndarray:
        pin.ccrba(model, data, q, np.zeros(model.nv))
        return interop.swap_halves(data.Ag.reshape(6, model.nv), axis=0)[:, back]

    def jacobian(q: np.ndarray) -> np.ndarray:
        columns = pin.computeFrameJacobian(model, data, q, frame, pin.ReferenceFrame.LOCAL)
        return interop.swap_halves(columns.reshape(6, model.nv), axis=0)[:, back]

    def poses(q: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(model, data, q)
        numbers = (model.getFrameId(name, pin.FrameType.BODY) for name in robot.link_names)
        return np.stack([data.oMf[number].homogeneous for number in numbers])

    return {
        "inverse_dynamics": (robot.inverse_dynamics, "q v a", lambda *x: pin.rnea(model, data, *x)[back]),
        "bias_forces": (robot.bias_forces, "q v", lambda *x: pin.nonLinearEffects(model, data, *x)[back]),
        "gravity_forces": (robot.gravity_forces, "q", lambda q: pin.computeGeneralizedGravity(model, data, q)[back]),
        "mass_matrix": (robot.mass_matrix, "q", mass),
        "coriolis_matrix": (
            robot.coriolis_matrix, "q v", lambda *x: case.matrix(pin.computeCoriolisMatrix(model, data, *x)),
        ),
        "momentum_matrix": (robot.momentum_matrix, "q", centroidal),
        "poses": (robot.poses, "q", poses),
        "jacobian": (lambda q: robot.jacobian(q, link), "q", jacobian),
        "forward_dynamics": (robot.forward_dynamics, "q v tau", lambda *x: pin.aba(model, data, *x)[back]),
        "mass_matrix_inverse": (robot.mass_matrix_inverse, "q", inverse),
    }  # fmt: skip


SOLVED = ("forward_dynamics", "mass_matrix_inverse")


def compare(case: Case, *, single: bool = True) -> None:
    eigenvalues = np.linalg.eigvalsh(case.robot.mass_matrix(case.here["q"]))
    regular = bool((eigenvalues[:, 0] > 1e-14 * eigenvalues[:, -1]).all())
    condition = eigenvalues[:, -1] / eigenvalues[:, 0]
    for what, (ours, names, theirs) in questions(case).items():
        if what in SOLVED and not regular:
            continue  # joints with nothing to move: tests/oracles/test_dynamics_pinocchio.py asks for the error
        letters = names.split()
        rows = [case.here[name] for name in letters]
        found = ours(*rows)
        for k in range(COUNT):
            tolerance = 1e-10 + (1e-14 * float(condition[k]) if what in SOLVED else 0.0)
            close(found[k], theirs(*(case.there[name][k] for name in letters)), tolerance, what)
        for k in ALONE:
            for entry in ("first", "native"):  # the second call goes straight into native code
                same_bits(ours(*(x[k] for x in rows)), found[k], f"{what}: row {k} alone, {entry} entry")
    if single:
        single_precision(case, regular)


def single_precision(case: Case, regular: bool) -> None:
    """Judged by what is left over in the equation of motion, ``M a + bias - tau``, in double precision."""
    robot, here = case.robot, case.here
    short = {name: x.astype(np.float32) for name, x in here.items()}
    q, v, a, tau = (short[name].astype(float) for name in ("q", "v", "a", "tau"))
    size = np.abs(robot.mass_matrix(q)).max(axis=(1, 2))
    weight = np.abs(robot.bias_forces(q, v)).max(axis=1)
    torque = robot.inverse_dynamics(short["q"], short["v"], short["a"])
    assert torque.dtype == np.float32
    left = np.abs(robot.inverse_dynamics(q, v, a) - torque).max(axis=1)
    assert (left <= 1e-4 * (size * np.abs(a).max(axis=1) + weight)).all(), "inverse dynamics in single precision"
    if not regular:
        return
    moved = robot.forward_dynamics(short["q"], short["v"], short["tau"])
    assert moved.dtype == np.float32
    moved = moved.astype(float)
    left = np.abs(robot.inverse_dynamics(q, v, moved) - tau).max(axis=1)
    assert (left <= 1e-4 * (size * np.abs(moved).max(axis=1) + weight)).all(), "forward dynamics in single precision"


def kernels(robot: rc.Robot) -> list[Any]:
    return [kernel for store in robot.evaluator.stores for _, kernel in store._kernels.values()]


@pytest.mark.parametrize(
    ("name", "floating"), DOZEN, ids=lambda x: x if isinstance(x, str) else "floating" * x or "fixed"
)
def test_kernels_of_a_dozen_robots_match_pinocchio(name: str, floating: bool) -> None:
    case = make_case(FILES[name], floating)
    single = name in SINGLE
    compare(case, single=single)
    assert None not in kernels(case.robot), "part of this ran interpreted"
    assert len(kernels(case.robot)) == len(questions(case)) + 2 * single, "part of this was made of something else"


@pytest.mark.slow
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", FILES)
def test_kernels_of_all_robots_match_pinocchio(name: str, floating: bool) -> None:
    path = FILES[name]
    if rc.load(path, floating=floating, strict=False).nv == 0:
        pytest.skip("nothing moves")
    case = make_case(path, floating)
    compare(case)
    assert any(kernel is not None for kernel in kernels(case.robot))
