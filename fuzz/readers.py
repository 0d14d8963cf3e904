"""Everything that reads files or texts, by name, and good inputs for it."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import mjcf_texts
import recursa as rc
import sdf_texts
from recursa.cli.runs import describe
from recursa.cli.state_file import read_state
from recursa.errors import printable
from recursa.formats import mjcf
from recursa.simulation.checkpoint import Kept
from recursa.simulation.driver import Simulation
from xacro_texts import CASES, macro_arm, robot

ARM = rc.robots.planar(2)
RUBBING = ARM.with_joint("joint1", friction=0.1).with_joint("joint2", friction=2.0)
_MOST_STEPS = 500  # of a run that is gone on with
_STEP = Simulation.step


def _robot(file: Path) -> None:
    rc.load(file)


def _formula(file: Path) -> None:
    rc.parse(file.read_bytes().decode(errors="replace"), ARM)


def _shown(file: Path) -> None:
    """As ``recursa info`` shows it: nothing in it commands the terminal."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        describe(str(file), as_json=False)
    if printable(told.getvalue()) != told.getvalue():
        raise AssertionError(f"printed {told.getvalue()[:2000]!a}")


def _resume(file: Path) -> None:
    kept = Kept(file)
    if kept.model.nv <= 12 and kept.samples < 1000:
        _bound_steps()
        rc.resume(file, progress=False)


def _bound_steps() -> None:
    """A run is interrupted, as from the keyboard, after some steps: how long it takes is what the file says."""
    left, step = iter(range(_MOST_STEPS)), _STEP

    def bounded(simulation: Simulation) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        step(simulation)

    Simulation.step = bounded  # type: ignore[method-assign]


READERS: dict[str, Callable[[Path], Any]] = {
    "urdf": _robot,
    "xacro": _robot,
    "sdf": _robot,
    "mjcf": _robot,
    "robot_json": _robot,
    "dh": _robot,
    "dh_yaml": _robot,
    "dh_csv": _robot,
    "csv": lambda file: rc.Trajectory.from_csv(file, ARM),
    "torque": lambda file: rc.TorqueTable.from_csv(file, ARM),
    "state": lambda file: read_state(ARM, str(file)),
    "formula": _formula,
    "run": _shown,
    "checkpoint": _shown,
    "resume": _resume,
}
SUFFIXES = {
    "urdf": ".urdf", "xacro": ".xacro", "sdf": ".sdf", "mjcf": ".xml", "robot_json": ".json", "dh": ".json",
    "dh_yaml": ".yaml", "dh_csv": ".csv", "csv": ".csv", "torque": ".csv", "run": ".npz", "checkpoint": ".part",
    "resume": ".part",
}  # fmt: skip


def usable() -> bool:
    """Whether this process can go on; MuJoCo has errors after which it cannot."""
    return not mjcf._spoiled


def corpus(place: Path) -> dict[str, list[bytes]]:
    """Good inputs for every reader."""

    def written(write: Callable[[Path], Any], name: str) -> bytes:
        write(place / name)
        return (place / name).read_bytes()

    run = ARM.simulate([0.1, 0.2], duration=0.02, dense=True, checkpoint=place / "run.part", progress=False)
    ARM.simulate(
        [0.1, 0.2], duration=0.02, integrator="rk4", step=0.004, torque=[0.1, 0.2], stops=True, progress=False,
        wrenches=[rc.Wrench(at="tip", force=(1, 0, 0))], checkpoint=place / "fixed.part", checkpoint_every=0,
    )  # fmt: skip
    RUBBING.simulate(
        [0.1, 0.2], [0.5, 0.0], duration=0.02, integrator="radau", samples=5, rtol=1e-4, atol=1e-6, progress=False,
        torque=rc.TorqueTable([0, 1], [[0.1, 0.2], [0.2, 0.1]]), checkpoint=place / "stiff.part", checkpoint_every=0,
    )  # fmt: skip
    checkpoints = [(place / name).read_bytes() for name in ("run.part", "fixed.part", "stiff.part")]
    arms = [rc.robots.panda_like(), rc.robots.free_flyer(1)]
    table = rc.robots.stanford().to_dh()
    found = {
        "urdf": [arm.to_urdf().encode() for arm in arms],
        "xacro": [text.encode() for text in (macro_arm(3), *(robot(case.inside) for case in CASES.values()))],
        "sdf": [text.encode() for text in (*sdf_texts.TEXTS.values(), *sdf_texts.INCLUDES.values(), sdf_texts.HAND)],
        "robot_json": [written(arm.save, "arm.robot.json") for arm in arms],
        "dh": [written(table.save, "table.json")],
        "dh_yaml": [_DH_YAML.encode()],
        "dh_csv": [written(table.save, "table.csv")],
        "csv": [written(run.save, "run.csv")],
        "torque": [b"t,joint1,joint2\n0,1,2\n1,2,3\n"],
        "state": [b'{"q": [0.1, 0.2], "v": {"joint1": 1}}'],
        "formula": [b"H phi M phi* H*", b"inv(I + H psi K) D"],
        "run": [written(run.save, "run.npz")],
        "checkpoint": checkpoints,
        "resume": [_begun(one) for one in checkpoints],
    }
    try:
        import mujoco  # noqa: F401
    except ImportError:
        return found
    return found | {"mjcf": [text.encode() for text in (arms[0].to_mjcf(), *mjcf_texts.TEXTS.values())]}


def _begun(checkpoint: bytes) -> bytes:
    """What there was of it when the run had still half of its way to go, but at least its first checkpoint."""
    parts = checkpoint.split(b"BLOK")  # the first line, what was asked for, checkpoints
    return b"BLOK".join(parts[: max(3, len(parts) // 2)])


_DH_YAML = """convention: modified     # or standard
name: elbow
angles: deg
gravity: [0, 0, -9.81]
base: {xyz: [0, 0, 0.5], rpy: [0, 0, 90]}
tool: {xyz: [0, 0, 0.1]}
rows:
  - {joint: revolute, d: 0.3, mass: 4.0, com: [0, 0, -0.1], inertia: [0.02, 0.02, 0.01], limits: [-170, 170]}
  - {joint: revolute, alpha: -90, mass: 3.0, com: [0.2, 0, 0], inertia: [0.01, 0.05, 0.05], damping: 0.2}
  - {joint: prismatic, a: 0.4, alpha: 90, d: 0.1, mass: 1.0, armature: 0.5, limits: [0, 0.3]}
"""
