"""Files of the package that run when an everyday call is made for the first time, and when it is made again.

python benchmarks/files_touched.py [--names]

Counts what somebody has to read who follows a call with a debugger: every file of the package in which a function is
called. The robot is built before; kernels are neither in memory nor on disk.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np


def files_touched(job: Callable[[], Any], package: str) -> list[str]:
    """Files below this folder in which a function is called, in the order of their first calls."""
    files = dict[str, None]()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>" and frame.f_code.co_filename.startswith(package):
            files[frame.f_code.co_filename] = None

    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
    return [os.path.relpath(file, package) for file in files]


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["RECURSA_CACHE"] = cache
        import recursa as rc

        package = str(Path(rc.__file__).parent)
        robot = rc.robots.puma560()
        q, v, tau = 0.3 * np.ones((3, robot.nv))
        link = robot.link_names[-1]
        pose = robot.pose(q, link)
        rows = [np.tile(x, (4, 1)) for x in (q, v, tau)]
        formulas = dict[rc.Robot, Any]()

        def formula(arm: rc.Robot) -> None:
            if arm not in formulas:
                formulas[arm] = rc.compile(rc.parse("inv(mass) (T - C)", arm))
            formulas[arm](q, v, tau)

        jobs: dict[str, Callable[[rc.Robot], Any]] = {
            "forward_dynamics": lambda arm: arm.forward_dynamics(q, v, tau),
            "simulate": lambda arm: arm.simulate(q, v, duration=0.1),
            "rollout": lambda arm: rc.rollout(arm, *rows, step=1e-3, steps=10),
            "inverse_kinematics": lambda arm: rc.inverse_kinematics(arm, link, pose, q),
            "formula": formula,
        }
        print(f"{'':20}{'first':>6}{'again':>6}")
        for name, job in jobs.items():
            arm = rc.robots.puma560().with_gravity((0.0, 0.0, -9.81 - 0.01 * len(name)))  # no kernel of another job
            first, again = (files_touched(lambda: job(arm), package) for _ in range(2))  # noqa: B023
            print(f"{name:20}{len(first):6}{len(again):6}")
            if "--names" in sys.argv:
                print("  first:", *first, "\n  again:", *again)


if __name__ == "__main__":
    main()
