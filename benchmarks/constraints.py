"""Constrained forward dynamics against Pinocchio from Python: ``python benchmarks/constraints.py [ROBOT ...]``.

Robots with legs from example-robot-data, on a free base, each foot held at a point (go1, solo12), or all links that end
a branch (talos). A row has microseconds a call of Pinocchio's ``constraintDynamics``, ours for one state, and ours in a
batch of 1,000 on one thread into a given array, with ratios; and how far the accelerations differ. Measured in turns,
the fastest turn of each counts. A second row is of the derivatives by q, v and tau, against
``computeConstraintDynamicsDerivatives`` behind a call of ``constraintDynamics``, which it needs and which is taken off.
"""

from __future__ import annotations

import sys

import numpy as np
import pinocchio as pin
from every_size import fastest, robot_of

import recursa as rc
from recursa.interop import pinocchio as interop

STATES = 1000


def feet_of(robot: rc.Robot) -> list[str]:
    """The outermost link of every branch."""
    model = robot.model
    inner = {joint.parent for joint in model.joints}
    tips = [k for k in range(model.nbodies) if k not in inner]
    return [[link.name for link in model.links if link.body == tip][-1] for tip in tips]


def contacts_of(robot: rc.Robot, model: pin.Model, feet: list[str]) -> pin.StdVec_RigidConstraintModel:
    """The same point contacts for Pinocchio."""
    found = pin.StdVec_RigidConstraintModel()
    for foot in feet:
        link = robot.model.links[robot.link_names.index(foot)]
        joint = model.getJointId(robot.model.joints[link.body].name)
        place = pin.SE3(np.array(link.offset.rotation.rows()), np.array(link.offset.translation))
        found.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, model, joint, place, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            )
        )
    return found


def compare(name: str) -> None:
    """One row."""
    robot = robot_of(name)
    feet = feet_of(robot)
    held = robot.with_constraints(*(rc.Contact("point", foot) for foot in feet))
    model = interop.build(robot)
    data = model.createData()
    contacts = contacts_of(robot, model, feet)
    datas = pin.StdVec_RigidConstraintData()
    for contact in contacts:
        datas.append(contact.createData())
    settings = pin.ProximalSettings(1e-12, 0.0, 1)  # one step, no damping: the exact solution
    pin.initConstraintDynamics(model, data, contacts, datas)
    q, v = (np.array(x) for x in zip(*(robot.random_state(k) for k in range(STATES)), strict=True))
    tau = np.random.default_rng(0).uniform(-1, 1, v.shape)
    Q = [interop.configuration(robot, model, x) for x in q]
    V, T = ([interop.velocity(robot, model, y) for y in x] for x in (v, tau))
    out = np.empty_like(v)
    at = iter(range(10**9))

    def peer() -> np.ndarray:
        k = next(at) % STATES
        return pin.constraintDynamics(model, data, Q[k], V[k], T[k], contacts, datas, settings)

    def one() -> np.ndarray:
        k = next(at) % STATES
        return held.forward_dynamics(q[k], v[k], tau[k])

    def batch() -> np.ndarray:
        return held.forward_dynamics(q, v, tau, out=out, threads=1)

    ours = batch().copy()
    order = [interop.velocity(robot, model, row) for row in ours[:50]]
    theirs = [pin.constraintDynamics(model, data, Q[k], V[k], T[k], contacts, datas, settings) for k in range(50)]
    gap = max(float(abs(x - y).max() / abs(y).max()) for x, y in zip(order, theirs, strict=True))
    times = fastest(peer, one, batch)
    theirs_us, single, rows = times[0] * 1e6, times[1] * 1e6, times[2] / STATES * 1e6
    count = rc.count(held, "forward_dynamics")
    print(
        f"{name:10s} {held.ncon:3d} equations  Pinocchio {theirs_us:7.2f} us"
        f"  ours {single:7.2f} ({theirs_us / single:4.1f}x)"
        f"  batch {rows:7.3f} ({theirs_us / rows:5.1f}x)  gap {gap:.1e}  {count.mul} mul {count.add} add"
    )

    def peer_derivatives() -> object:
        peer()
        return pin.computeConstraintDynamicsDerivatives(model, data, contacts, datas, settings)

    def batch_derivatives() -> object:
        return held.forward_dynamics_derivatives(q, v, tau, threads=1)

    found = batch_derivatives()
    pin.constraintDynamics(model, data, Q[7], V[7], T[7], contacts, datas, settings)
    pin.computeConstraintDynamicsDerivatives(model, data, contacts, datas, settings)
    theirs_by_tau = [interop.velocity(robot, model, row) for row in found[2][7].T]
    gap = abs(np.array(theirs_by_tau).T - _ordered(robot, model, np.array(data.ddq_dtau))).max()
    alone, both, rows = (x * 1e6 for x in fastest(peer, peer_derivatives, batch_derivatives))
    rows /= STATES
    print(
        f"{name:10s} derivatives    Pinocchio {both - alone:7.2f} us"
        f"  batch {rows:7.3f} ({(both - alone) / rows:5.1f}x)  gap by tau {gap:.1e}"
    )


def _ordered(robot: rc.Robot, model: pin.Model, by_tau: np.ndarray) -> np.ndarray:
    """Columns of Pinocchio's matrix in our order."""
    order = [int(abs(interop.velocity(robot, model, unit)).argmax()) for unit in np.eye(robot.nv)]
    return by_tau[:, order]


if __name__ == "__main__":
    for robot in sys.argv[1:] or ["go1", "solo12", "talos_reduced"]:
        compare(robot)
