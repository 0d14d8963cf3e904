"""Rollouts of a quadruped on four held feet against Pinocchio's: ``python benchmarks/constrained_rollouts.py``.

Semi-implicit steps of 1 ms. The peer's step is ``constraintDynamics`` and ``integrate`` called from Python, without
taking speeds back onto the constraints; ours does that after every step, in one native loop over 1,000 rows on one
thread. Measured in turns, the fastest turn of each counts.
"""

from __future__ import annotations

import sys

import numpy as np
import pinocchio as pin
from constraints import contacts_of, feet_of
from every_size import fastest, robot_of

import recursa as rc
from recursa.interop import pinocchio as interop

ROWS, STEPS, STEP = 1000, 20, 1e-3


def compare(name: str) -> None:
    """One row."""
    robot = robot_of(name)
    feet = feet_of(robot)
    held = robot.with_constraints(*(rc.Contact("point", foot) for foot in feet))
    model = interop.build(robot)
    data, contacts = model.createData(), contacts_of(robot, model, feet)
    datas = pin.StdVec_RigidConstraintData()
    for contact in contacts:
        datas.append(contact.createData())
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    pin.initConstraintDynamics(model, data, contacts, datas)
    q, v = (np.array(x) for x in zip(*(robot.random_state(k) for k in range(ROWS)), strict=True))
    v = held.project_velocity(q, 0.1 * v)
    tau = np.zeros(robot.nv)

    def peer() -> np.ndarray:
        at, speeds = interop.configuration(robot, model, q[0]), interop.velocity(robot, model, v[0])
        for _ in range(STEPS):
            rate = pin.constraintDynamics(model, data, at, speeds, tau, contacts, datas, settings)
            speeds = speeds + STEP * rate
            at = pin.integrate(model, at, STEP * speeds)
        return at

    def ours() -> np.ndarray:
        return rc.rollout(held, q, v, None, STEP, STEPS, "semi-implicit", STEPS, losses=False).q

    gap = abs(interop.configuration(robot, model, ours()[0, -1]) - peer()).max()
    theirs, rows = fastest(peer, ours)
    theirs, rows = theirs / STEPS * 1e6, rows / STEPS / ROWS * 1e6
    print(
        f"{name:10s} Pinocchio {theirs:7.2f} us a step  rollout {rows:7.3f} us ({theirs / rows:5.1f}x)  gap {gap:.1e}"
    )


if __name__ == "__main__":
    for robot in sys.argv[1:] or ["go1", "solo12"]:
        compare(robot)
