"""Numbers that mean something else elsewhere are noticed, once; names of other libraries are answered; waits are
told."""

import io
import re
import sys
import time
import warnings

import numpy as np
import pytest

import recursa as rc
from recursa import waits
from recursa.other_names import OF_ROBOTS, OF_THE_MODULE


def arm() -> rc.Robot:
    return rc.load(rc.robots.urdf("desk_arm"), mimic="tie")


def said(act) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(one.message) for one in caught if one.category is rc.ConventionWarning]


@pytest.mark.parametrize("batch", [(), (4,)])
def test_degrees_are_noticed_once(batch) -> None:
    robot = arm()
    q = np.broadcast_to(np.linspace(20.0, 80.0, robot.nq), (*batch, robot.nq))
    assert [re.search(r"joint '(\w+)' is at .* degrees", one)[1] for one in said(lambda: robot.mass_matrix(q))] == [
        "waist"
    ]
    assert said(lambda: (robot.gravity_forces(q), robot.mass_matrix(q))) == []


def test_degrees_by_joint_name_and_in_motions_are_noticed() -> None:
    named = {"shoulder": 45.0}
    assert "joint 'shoulder' is at 45 rad" in said(lambda: arm().gravity_forces(named))[0]
    assert "degrees" in said(lambda: arm().simulate(named, np.zeros(7), duration=1e-3, progress=False))[0]
    robot = arm()
    start = robot.neutral() + 50.0
    assert "degrees" in said(lambda: rc.rollout(robot, [start], [np.zeros(7)], None, 1e-3, 1))[0]


def test_radians_are_not_noticed() -> None:
    """Nor what a motion comes to, nor a joint without limits, nor angles a little beyond them."""
    robot = arm()
    assert said(lambda: robot.mass_matrix(1.5 * robot.position_limits[1])) == []
    wheel = rc.robots.planar(1)
    assert said(lambda: wheel.mass_matrix([720.0])) == []
    robot.simulate(robot.neutral(), np.zeros(7), duration=1e-3, progress=False)
    assert said(lambda: robot.mass_matrix(robot.neutral() + 30.0)) == []


def test_a_quaternion_with_w_first_is_noticed() -> None:
    robot = rc.robots.free_flyer(2)
    q = robot.neutral()
    assert said(lambda: robot.mass_matrix(q)) == []
    q[3:7] = 1.0, 0.0, 0.0, 0.0
    (message,) = said(lambda: robot.gravity_forces(q))
    assert "'root'" in message and "(x, y, z, w)" in message
    assert said(lambda: robot.center_of_mass(q)) == []


@pytest.mark.parametrize("layout", ["recursa", "pinocchio", "mujoco", "drake"])
def test_speeds_of_a_base_in_another_frame_are_noticed(layout) -> None:
    robot = rc.robots.free_flyer(2)
    q0, v0 = robot.random_state(4)
    run = robot.simulate(q0, v0, duration=1.0, samples=101, progress=False)
    v = run.v
    if layout != "recursa":
        v = robot.reorder(v, robot.joint_names, layout=layout, quantity="v", q=run.q, inverse=True)
    found = said(lambda: rc.Trajectory.along(run.t, run.q, v, robot=robot))
    assert found == [] if layout == "recursa" else f'layout="{layout}"' in found[0]


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_ROBOTS)
def test_names_of_other_libraries_lead_to_ours(name) -> None:
    robot = rc.robots.planar(2)
    with pytest.raises(AttributeError, match="Did you mean") as caught:
        getattr(robot, name)
    proposed = re.search(r"Did you mean (rc|robot)\.(\w+)", str(caught.value))
    assert hasattr({"rc": rc, "robot": robot}[proposed[1]], proposed[2])


@pytest.mark.parametrize("name", OF_THE_MODULE)
def test_names_of_other_modules_lead_to_ours(name) -> None:
    with pytest.raises(AttributeError, match=r"Did you mean (rc|robot)\.") as caught:
        getattr(rc, name)
    found = re.search(r"Did you mean (rc|robot)\.(\w+)", str(caught.value))
    assert hasattr(rc if found[1] == "rc" else rc.Robot, found[2])


def test_misspelled_names_are_answered() -> None:
    with pytest.raises(AttributeError, match="'mass_matrix'"):
        rc.robots.planar(1).mas_matrix  # noqa: B018
    with pytest.raises(AttributeError, match="'inverse_kinematics'"):
        rc.inverse_kinematic  # noqa: B018
    assert not hasattr(rc.robots.planar(1), "_repr_png_")  # notebooks ask


def test_dir_shows_only_what_is_public() -> None:
    shown = dir(rc)
    assert {"load", "Robot", "plotting", "interop", "control", "inverse_kinematics"} <= set(shown)
    assert not {"import_module", "Any", "TYPE_CHECKING", "errors", "kernels", "sweeps"} & set(shown)
    assert all(getattr(rc, name) is not None for name in shown)


# ---- waits -----------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream, told", [(Terminal(), True), (io.StringIO(), False)])
def test_long_waits_speak_where_somebody_reads(monkeypatch, stream, told) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(waits, "PATIENCE", 0.01)
    with waits.spoken("compiling this"), waits.spoken("a part of it"):
        end = time.perf_counter() + 10.0
        while told and not stream.getvalue() and time.perf_counter() < end:
            time.sleep(0.01)
    lines = stream.getvalue().splitlines()
    assert [line.split(":")[0] for line in lines] == (["compiling this ...", "compiling this"] if told else [])


def test_short_waits_are_silent(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with waits.spoken("compiling this"):
        pass
    assert sys.stderr.getvalue() == ""
