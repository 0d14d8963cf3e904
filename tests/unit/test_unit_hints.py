"""Degrees in Denavit-Hartenberg tables, payloads in grams, poses in millimetres: recognised and answered."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest

import recursa as rc


def table(scale: float = 1.0, turn: float = np.pi / 2) -> list[rc.DHLink]:
    row = {"mass": 1.0, "com": (-0.1, 0, 0), "inertia": (0.01, 0.02, 0.02)}
    return [
        rc.DHLink(joint="revolute", a=0.4 * scale, alpha=turn, **row),
        rc.DHLink(joint="revolute", a=0.3 * scale, theta=-turn, **row),
    ]


def quiet(call: Callable[[], object]) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


def test_degrees_in_a_table_are_noticed() -> None:
    with pytest.warns(
        rc.ModelWarning, match=r"row 1 .* alpha is 90 rad\. The same in 1 more place\. Are these degrees\?"
    ):
        arm = rc.from_dh(table(turn=90.0), convention="standard")
    assert [finding.code for finding in arm.doctor()] == ["degrees"]
    for turn in (np.pi / 2, -np.pi, 2.0 * np.pi):
        assert not quiet(lambda turn=turn: rc.from_dh(table(turn=turn), convention="modified")).doctor()  # type: ignore[attr-defined]


def test_degrees_in_a_file_are_noticed_unless_it_says_so() -> None:
    text = "# convention: modified\n{head}joint,a,alpha,theta,mass,ixx,iyy,izz\nrevolute,0.4,{angle},0,1,1,1,1\n"
    with pytest.warns(rc.ModelWarning, match="angles: deg"):
        rc.load(text.format(head="", angle="-90"), format="dh")
    quiet(lambda: rc.load(text.format(head="# angles: deg\n", angle="-90"), format="dh"))
    quiet(lambda: rc.load(text.format(head="", angle="-pi/2"), format="dh"))


def test_millimetres_in_a_table_are_noticed() -> None:
    with pytest.warns(rc.ModelWarning, match=r"row 1 .* a is 400 m\..* Are these millimetres\?"):
        rc.from_dh(table(scale=1000.0), convention="standard")


def test_payload_in_grams_is_noticed() -> None:
    arm = rc.robots.panda_like()
    with pytest.warns(
        rc.ConventionWarning, match=r"payload on link 'flange' weighs 500 kg.*grams\?.* 0\.5 kg"
    ) as caught:
        arm.with_payload("flange", 500.0, inertia=(1.0, 1.0, 1.0))
    assert caught[0].filename == __file__
    quiet(lambda: arm.with_payload("flange", 3.0, inertia=(0.01, 0.01, 0.01)))
    quiet(lambda: rc.robots.planar(2).with_payload("tip", 1.5, inertia=(0.01, 0.01, 0.01)))


def test_centre_of_a_payload_in_millimetres_is_noticed() -> None:
    with pytest.warns(rc.ConventionWarning, match=r"centre of mass .* is 100 m away.*millimetres"):
        rc.robots.panda_like().with_payload("flange", 1.0, com=(0.0, 0.0, 100.0), inertia=(0.01, 0.01, 0.01))


def test_frames_in_millimetres_are_noticed() -> None:
    arm = rc.robots.panda_like()
    with pytest.warns(rc.ConventionWarning, match=r"frame 'tool' on link 'flange' is 120 m away.*millimetres\?"):
        arm.with_frame("tool", "flange", xyz=(0.0, 0.0, 120.0))
    quiet(lambda: arm.with_frame("tool", "flange", xyz=(0.0, 0.0, 0.12)))
    quiet(lambda: rc.Builder("r").build().with_frame("far", "world", xyz=(500.0, 0, 0)))  # there is nothing to compare


def test_targets_in_millimetres_are_noticed() -> None:
    arm = rc.robots.panda_like()
    target = arm.pose(arm.random_state(3)[0], "flange")
    quiet(lambda: rc.inverse_kinematics(arm, "flange", target))
    far = target.copy()
    far[:3, 3] *= 1000.0
    with pytest.warns(
        rc.ConventionWarning, match=r"what link 'flange' is to reach is \d+.* m away.*millimetres\?"
    ) as caught:
        found = rc.inverse_kinematics(arm, "flange", np.stack([target, far]), restarts=0)
    assert caught[0].filename == __file__
    assert found.solved.tolist()[1] is False
    with pytest.warns(rc.ConventionWarning, match="millimetres"):
        rc.inverse_kinematics(arm, "flange", far[:3, 3], task="position", restarts=0)
    beyond = target.copy()
    beyond[:3, 3] = (0.0, 0.0, 3.0)  # out of reach, and in metres
    assert not quiet(lambda: rc.inverse_kinematics(arm, "flange", beyond, restarts=0)).solved  # type: ignore[attr-defined]


def test_targets_of_closed_forms_in_millimetres_are_noticed() -> None:
    arm = rc.robots.puma560()
    target = arm.pose([0.1, -0.6, 0.2, 0.4, 0.8, -0.5], "link6")
    quiet(lambda: rc.analytic_inverse_kinematics(arm, "link6", target))
    target[:3, 3] *= 1000.0
    with pytest.warns(rc.ConventionWarning, match=r"where link 'link6' is wanted is \d+.* m away.*millimetres\?"):
        rc.analytic_inverse_kinematics(arm, "link6", target)


FOLLOWERS = {
    "Impedance": lambda arm, target: rc.control.Impedance(arm, "flange", target, 10.0, 2.0),
    "OperationalSpace": lambda arm, target: rc.control.OperationalSpace(arm, "flange", target, stiffness=10.0),
    "function": lambda arm, target: rc.control.OperationalSpace(arm, "flange", lambda t: target, stiffness=10.0),
    "PoseRegulator": lambda arm, target: rc.control.PoseRegulator(arm, "flange", target),
    "tool_path": lambda arm, target: rc.tool_path(arm, "flange", arm.random_state(3)[0], [target]),
}


@pytest.mark.parametrize("name", FOLLOWERS)
def test_targets_of_controllers_and_paths_in_millimetres_are_noticed(name) -> None:
    arm = rc.robots.panda_like()
    target = arm.pose(arm.random_state(3)[0], "flange")
    target[2, 3] += 0.01
    quiet(lambda: FOLLOWERS[name](arm, target))
    target[:3, 3] *= 1000.0
    millimetres = r"link 'flange'.* is \d+.* m away.*millimetres\?"
    with pytest.warns(rc.ConventionWarning, match=millimetres) as caught, suppress(rc.PathError):
        FOLLOWERS[name](arm, target)
    assert caught[0].filename == __file__
