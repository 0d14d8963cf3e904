"""Every exception raised once through the public interface, its message read, and carried through a pickle."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sympy

import recursa as rc
from recursa import errors
from recursa.book.direct import conjugate_gradients
from recursa.book.tensors import dual
from recursa.kernels.switch import extension
from recursa.spatial import Mat3, Vec3

ARM = rc.robots.planar(3)
FLYER = rc.robots.free_flyer(1)
SKEWED = Mat3(Vec3(1.0, 2.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


def tilted(scale: float) -> np.ndarray:
    q = FLYER.neutral()
    q[3:7] = np.array([0.5, 0.5, 0.5, 0.5]) * scale
    return q


def text(*joints: str) -> str:
    return "\n".join(['<robot name="arm6">', '<link name="base"/><link name="elbow"/>', *joints, "</robot>"])


HAND = text(
    '<link name="a"/>',
    '<joint name="j" type="continuous"><parent link="base"/><child link="elbow"/></joint>',
    '<joint name="k" type="continuous"><parent link="elbow"/><child link="a"/><mimic joint="j"/></joint>',
).replace("arm6", "hand")


def massless() -> rc.Robot:
    joint = '<joint name="bend" type="continuous"><parent link="base"/><child link="elbow"/></joint>'
    return rc.load(text(joint), strict=False)


def _without_extension(job: Callable[[], object]) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recursa.kernels.switch.native_module", None)
        return job()


# raise it; the class; what the message must say: the thing, what was expected, what came, what to try
_TURN, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(30, 30)))
ILL_CONDITIONED = _TURN @ np.diag(10.0 ** -np.arange(0.0, 60.0, 2.0)) @ _TURN.T
CASES: dict[str, tuple[Callable[[], object], type[Exception], tuple[str, ...]]] = {
    "table": (
        lambda: rc.Trajectory.from_csv(Path(__file__), ARM),
        rc.TableError,
        ("test_messages.py', line 3", "is not a number"),
    ),
    "limit": (
        lambda: rc.Trajectory.constant(np.full(7, 3.5), robot=rc.robots.panda_like()).check(),
        rc.LimitError,
        ("joint 'joint1'", "position 3.5 rad", "at t = 0 s", "beyond its limit 2.8973 rad"),
    ),
    "path beyond a limit": (
        lambda: rc.time_optimal(
            rc.robots.panda_like(), rc.Path([[0, 0, 0, -1.5, 0, 1.5, 0], [4, 0, 0, -1.5, 0, 1.5, 0]])
        ),
        rc.PathError,
        ("joint 'joint1'", "beyond its limit 2.8973", "the path has to go elsewhere"),
    ),
    "unknown link": (
        lambda: ARM.pose([0, 0, 0], "tpi"),
        rc.UnknownNameError,
        ("no link 'tpi'", "robot 'planar3'", "Did you mean 'tip'?"),
    ),
    "unknown link, nothing near": (
        lambda: ARM.jacobian([0, 0, 0], "xyz"),
        rc.UnknownNameError,
        ("There are: world, link1, link2, link3, tip.",),
    ),
    "unknown joint in a mapping": (
        lambda: ARM.poses({"jont2": 0.3}),
        rc.UnknownNameError,
        ("no independent joint 'jont2'", "'planar3'", "Did you mean 'joint2'"),
    ),
    "unknown frame": (
        lambda: ARM.velocities([0] * 3, [0] * 3, "bodies"),
        rc.UnknownNameError,
        ("no frame 'bodies'", "Did you mean 'body'?"),
    ),
    "unknown kind": (
        lambda: ARM.accelerations([0] * 3, [0] * 3, [0] * 3, kind="classic"),
        rc.UnknownNameError,
        ("no kind of acceleration 'classic'", "Did you mean 'classical'?"),
    ),
    "unknown reference point": (
        lambda: ARM.momentum([0] * 3, [0] * 3, about="center"),
        rc.UnknownNameError,
        ("no reference point 'center'", "com, world"),
    ),
    "unknown robot": (
        lambda: rc.robots.by_name("stanfrod"),
        rc.UnknownNameError,
        ("no bundled robot 'stanfrod'", "Did you mean 'stanford'?"),
    ),
    "too few coordinates": (
        lambda: ARM.pose([0.1, 0.2], "tip"),
        rc.ShapeError,
        ("q has shape (2,)", "expected (..., 3)", "robot 'planar3' has nq = 3"),
    ),
    "too many speeds": (
        lambda: ARM.kinetic_energy(np.zeros(3), np.zeros((4, 5))),
        rc.ShapeError,
        ("v has shape (4, 5)", "(..., 3)", "nv = 3"),
    ),
    "batches that do not fit": (
        lambda: ARM.kinetic_energy(np.zeros((2, 3)), np.zeros((5, 3))),
        rc.ShapeError,
        ("q (2, 3)", "v (5, 3)", "broadcast"),
    ),
    "rows of different length": (
        lambda: ARM.poses([[0, 0, 0], [0, 0]]),
        rc.ShapeError,
        ("q", "(..., 3)", "rows differ in length"),
    ),
    "out of the wrong shape": (
        lambda: ARM.pose([0, 0, 0], "tip", out=np.empty((3, 3))),
        rc.ShapeError,
        ("out has shape (3, 3)", "(4, 4)"),
    ),
    "threads below one": (
        lambda: ARM.poses(np.zeros((2, 3)), threads=0),
        rc.ShapeError,
        ("threads", "positive whole number", "not 0"),
    ),
    "text for numbers": (lambda: ARM.poses(["a", "b", "c"]), rc.StateError, ("q must be numbers", "['a', 'b', 'c']")),
    "quaternion too long": (
        lambda: FLYER.poses(tilted(1.1)),
        rc.StateError,
        ("q", "quaternion of joint 'root'", "(x, y, z, w; entries 3..6)", "norm 1.1 instead of 1", "Normalise"),
    ),
    "quaternion in a batch": (
        lambda: FLYER.poses(np.stack([[tilted(1.0)] * 2, [tilted(1.0), tilted(0.9)]])),
        rc.StateError,
        ("in row (1, 1)", "norm 0.9"),
    ),
    "no file": (
        lambda: rc.load("no_such_arm.urdf"),
        rc.ModelError,
        ("there is no file 'no_such_arm.urdf'", "Bundled robots: rc.robots.stanford(), rc.robots.planar()"),
    ),
    "no file, but a bundled robot": (
        lambda: rc.load("stanfrod.urdf"),
        rc.ModelError,
        ("there is no file 'stanfrod.urdf'. Did you mean the bundled robot rc.robots.stanford()?",),
    ),
    "empty path": (lambda: rc.load(" "), rc.ModelError, ("the path is empty", "path of a robot file, or its text")),
    "home of nobody": (
        lambda: rc.load("~no_such_user_/a.urdf"),
        rc.ModelError,
        ("cannot read '~no_such_user_/a.urdf'",),
    ),
    "table that is none": (
        lambda: rc.from_dh(None, convention="standard"),
        rc.ModelError,
        ("the Denavit-Hartenberg table must be a list of DHLink rows, not NoneType",),
    ),
    "row for a table": (
        lambda: rc.from_dh(rc.DHLink(), convention="standard"),
        rc.ModelError,
        ("must be a list of DHLink rows, not DHLink",),
    ),
    "a bundled name loaded": (
        lambda: rc.load("puma560"),
        rc.ModelError,
        ("there is no file 'puma560'", "rc.robots.puma560()"),
    ),
    "neither path nor text": (
        lambda: rc.load(5),
        rc.ModelError,
        ("expected a path or the text of a robot file, not int",),
    ),
    "malformed text": (
        lambda: rc.load('<robot name="r">\n<link name="a">\n</robot>'),
        rc.ModelError,
        ("<text>, line 3", "<link>, opened on line 2"),
    ),
    "unknown link of a joint": (
        lambda: rc.load(text('<joint name="bend" type="revolute"><parent link="base"/><child link="elbo"/></joint>')),
        rc.ModelError,
        ("<text>, line 3", "joint 'bend'", "child link 'elbo' does not exist", "Did you mean 'elbow'?"),
    ),
    "meaningless data": (
        lambda: rc.load(
            text(
                '<joint name="bend" type="continuous"><parent link="base"/><child link="elbow"/></joint>',
                '<link name="rock"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>',
                '<joint name="roll" type="continuous"><parent link="base"/><child link="rock"/></joint>',
            )
        ),
        rc.ModelError,
        (
            "robot 'arm6'",
            "joint 'bend'",
            "hinge inertia D is 0 (needs > 0)",
            "Give link 'elbow' a mass and inertia",
            "strict=False",
        ),
    ),
    "torques of a robot without masses": (
        lambda: massless().inverse_dynamics([0.1], [0.0], [1.0]),
        rc.ModelError,
        ("robot 'arm6'", "none of its moving links has mass or inertia", "Give its links masses", "parameters="),
    ),
    "no centre of mass": (
        lambda: rc.load('<robot name="rock"><link name="a"/></robot>').center_of_mass([]),
        rc.ModelError,
        ("robot 'rock' has no moving mass", "Give its links masses"),
    ),
    "builder": (
        lambda: rc.Builder("r").joint("j", "revolut", parent="a", child="b"),
        rc.ModelError,
        ("joint 'j'", "unknown kind 'revolut'", "Did you mean 'revolute'?"),
    ),
    "nothing to accelerate": (
        lambda: massless().forward_dynamics([0.1], [0.0], [1.0]),
        rc.SingularHingeError,
        ("joint 'bend'", "hinge inertia D is 0 (needs > 0)", "Give link 'elbow' a mass and inertia"),
    ),
    "step too long": (
        lambda: rc.rollout(ARM, np.zeros((2, 3)), np.array([[0.0] * 3, [1e160] * 3]), None, 0.1, 5),
        rc.DivergenceError,
        ("row 1", "step 0 of 5", "step of 0.1 s is too long", 'on_divergence="nan"'),
    ),
    "matrix too ill-conditioned": (
        lambda: conjugate_gradients(lambda x: x @ ILL_CONDITIONED, np.ones(30)),
        rc.ConvergenceError,
        ("conjugate gradients did not converge", "too ill-conditioned", 'use method="articulated"'),
    ),
    "motion that tells nothing": (
        lambda: rc.identify(
            rc.robots.planar(1), {"t": np.arange(50) / 100.0, "q": np.zeros((50, 1)), "tau": np.zeros((50, 1))}
        ),
        rc.ExcitationError,
        ("does not tell", "link1.mcx", "Joints that stand still: joint1", "rc.excitation", 'unexcited="prior"'),
    ),
    "motion of nothing": (
        lambda: rc.rollout(massless(), [0.1], [0.0], [1.0], 0.01, 5),
        rc.SingularHingeError,
        ("joint 'bend'", "hinge inertia D is 0 (needs > 0)"),
    ),
    "results larger than the memory": (
        lambda: rc.rollout(ARM, np.zeros((1000, 3)), np.zeros(3), None, 0.1, 10**12),
        rc.TooLargeError,
        ("1000 rows of 1000000000000 saved states", "GiB", "save_every=", "out="),
    ),
    "numbers of a robot with symbols": (
        lambda: rc.from_dh([rc.DHLink(a=sympy.Symbol("l"), mass=1.0)], convention="standard").mass_matrix([0.0]),
        rc.NoValueError,
        ("robot 'arm'", "mass_matrix needs numbers", "symbols: l", "with_values", "robot.symbolic('mass_matrix')"),
    ),
    "stretched arm": (
        lambda: rc.cartesian.model(ARM, "tip", [0.3, 0.0, 0.0], [0.0, 0.0, 0.0], coordinates=(2, 3, 4)),
        rc.SingularConfigurationError,
        ("Jacobian of link 'tip'", "condition number", "select other coordinates"),
    ),
    "torque without a value": (
        lambda: ARM.simulate([0.1, 0.2, 0.3], duration=0.1, torque=lambda t, q, v: [0, np.nan, 0], integrator="rk4"),
        rc.SimulationError,
        ("cannot start", "the torque of joint 'joint2' at t = 0 s is nan"),
    ),
    "step that is too long": (
        lambda: ARM.simulate(
            [0.1, 0.2, 0.3], duration=100.0, torque=lambda t, q, v: -99 * v, integrator="rk4", step=0.5
        ),
        rc.SimulationError,
        ("no longer finite after t = ", "joint '", "Try a shorter step=, or integrator='dop853'"),
    ),
    "file that is no run": (
        lambda: rc.read(__file__),
        rc.ResultFileError,
        ("test_messages.py' is not a run that Recursa saved", "no .npz file"),
    ),
    "no C extension": (
        lambda: _without_extension(lambda: extension("the timing of paths")),
        errors.NativeCodeError,
        ("the timing of paths runs in native code alone", "C extension is not installed", "pip install"),
    ),
    "an arm without a closed form": (
        lambda: rc.analytic_inverse_kinematics(rc.robots.panda_like(), "flange", np.eye(4)),
        rc.NoClosedFormError,
        ("link 'flange' is moved by 7 joints (joint1, ", "robot.reduced(lock={...})", "rc.inverse_kinematics"),
    ),
    "operators of a tied robot": (
        lambda: rc.load(HAND, mimic="tie", strict=False).operators,
        rc.NoSweepError,
        ("robot 'hand'", "'k' follows another", 'mimic="free"'),
    ),
    "inverse that does not exist": (
        lambda: rc.dense(massless().operators.M.inverse(), [0.1]),
        errors.SingularMatrixError,
        ("M has no inverse at this state",),
    ),
    "no hinge inertia, dense": (
        lambda: rc.dense(massless().operators.D, [0.1]),
        rc.SingularHingeError,
        ("joint 'bend'", "hinge inertia D is 0 (needs > 0)", "Give link 'elbow' a mass and inertia"),
    ),
    "notation": (
        lambda: rc.parse("H phi ) M", ARM),
        errors.NotationError,
        ("expected an operator, '+', '-' or the end, not ')'", "\n  H phi ) M\n        ^"),
    ),
    "a study of masses that may be negative": (
        lambda: rc.study(ARM, {"payload.mass": ("normal", 1.0, 1.0)}, samples=100, step=1e-3, steps=1),
        rc.StudyError,
        ("'payload.mass': it is normal, 1 +- 1", "negative", "Cut it off"),
    ),
    "tensor with a symmetric part": (lambda: dual(SKEWED), errors.TensorSymmetryError, ("symmetric part", "vect")),
}

CAUGHT = {"UntraceableError"}  # inside the library, which then interprets the plan


@pytest.mark.parametrize("name", CASES)
def test_message_names_the_thing_and_the_way_out(name: str) -> None:
    cause, error, words = CASES[name]
    with pytest.raises(rc.RecursaError) as caught:
        cause()
    assert type(caught.value) is error
    message = str(caught.value)
    for word in words:
        assert word in message
    assert not message.startswith(("'", '"'))  # a KeyError prints the repr of its message; ours does not
    assert caught.value.__suppress_context__ or caught.value.__context__ is None  # one error, not a chain of them


@pytest.mark.parametrize("name", CASES)
def test_exception_matches_its_pickle(name: str) -> None:
    with pytest.raises(rc.RecursaError) as caught:
        CASES[name][0]()
    for again in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert type(again) is type(caught.value)
        assert str(again) == str(caught.value)
        for attribute in ("line", "source", "reason"):
            assert getattr(again, attribute, None) == getattr(caught.value, attribute, None)


def test_every_exception_class_is_raised_here() -> None:
    classes = {
        name
        for name, item in vars(errors).items()
        if inspect.isclass(item) and issubclass(item, rc.RecursaError) and item is not rc.RecursaError
    }
    raised = {error.__name__ for _, error, _ in CASES.values()}
    assert classes - raised == CAUGHT


def test_model_error_keeps_source_line_and_reason_apart() -> None:
    error = rc.ModelError("the mast is bent", line=12, source="boat.urdf")
    assert str(error) == "boat.urdf, line 12: the mast is bent"
    assert (error.reason, error.line, error.source) == ("the mast is bent", 12, "boat.urdf")
    assert str(rc.ModelError("the mast is bent", source="boat.urdf")) == "boat.urdf: the mast is bent"
    assert str(rc.ModelError("the mast is bent", line=3)) == "<text>, line 3: the mast is bent"
    assert str(rc.ModelError("the mast is bent")) == "the mast is bent"


def test_long_lists_of_names_are_shortened() -> None:
    robot = rc.robots.chain(60)
    with pytest.raises(rc.UnknownNameError) as caught:
        robot.pose(robot.neutral(), "zzz")
    message = str(caught.value)
    assert "... (21 more) ..." in message and robot.link_names[-1] in message


def test_missing_file_names_neighbours_and_bundled_robots_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pumma.urdf").write_text("")
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(rc.ModelError, match=r"Did you mean 'pumma.urdf' or the bundled robot rc.robots.puma560\(\)\?"):
        rc.load(tmp_path / "puma.urdf")
    with pytest.raises(rc.ModelError, match=r"Robot files in that folder: pumma.urdf. Bundled robots: rc.robots"):
        rc.load(tmp_path / "zzz.xacro")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "arm.urdf").write_text(rc.robots.planar(2).to_urdf())
    assert rc.load("~/arm.urdf").nv == 2
    assert rc.load(Path("~/arm.urdf")).nv == 2
