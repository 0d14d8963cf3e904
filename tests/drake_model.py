"""Drake's answers for a robot of ours: the same SDF file in both, states and results carried over by joint names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recursa as rc
from recursa.spatial import Quaternion, Rotation

Array = np.ndarray[Any, Any]


def _skew(w: Array) -> Array:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


class DrakeModel:
    """A plant with one SDF text or file; ``robot`` is what Recursa reads from the same."""

    def __init__(self, robot: rc.Robot, *, text: str | None = None, path: str | None = None) -> None:
        pytest.importorskip("pydrake")
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant

        self.robot = robot
        self.plant: Any = MultibodyPlant(0.0)
        parser = Parser(self.plant)
        self.models = parser.AddModelsFromString(text, "sdf") if text is not None else parser.AddModels(path)
        self.plant.mutable_gravity_field().set_gravity_vector(robot.gravity)
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()

    def _instances(self, inner: list[str]) -> list[Any]:
        """The model instances whose name, after that of the model itself, is a path of models inside."""
        from pydrake.multibody.tree import ModelInstanceIndex

        every = map(ModelInstanceIndex, range(2, self.plant.num_model_instances()))  # after the world and the defaults
        return [one for one in every if self.plant.GetModelInstanceName(one).split("::")[1:] == inner]

    def body(self, link: str) -> Any:
        *inner, name = link.split("::")
        found = [one for one in self._instances(inner) if self.plant.HasBodyNamed(name, one)]
        return self.plant.GetBodyByName(name, found[0])

    def joint(self, name: str) -> Any:
        """By its own name: a joint that reaches into a model inside belongs to that."""
        return self.plant.GetJointByName(name.rpartition("::")[2])

    def place(self, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Drake's v and acceleration, and T in ``v_drake = T v``; sets the plant's state."""
        robot, plant = self.robot, self.plant
        turn = np.zeros((plant.num_velocities(), robot.nv))
        rate = np.zeros_like(turn)
        positions = np.zeros(plant.num_positions())
        for joint in robot.model.joints:
            at, to = (
                slice(joint.q_start, joint.q_start + joint.kind.nq),
                slice(joint.v_start, joint.v_start + joint.kind.nv),
            )
            if joint.kind.name == "free":
                self._free(joint.child, q[at], v[to], positions, turn[:, to], rate[:, to])
            elif joint.kind.name == "spherical":
                self._ball(joint.name, q[at], v[to], positions, turn[:, to], rate[:, to])
            else:
                name, _, axis = joint.name.rpartition(".") if joint.name[-2:] in (".1", ".2") else (joint.name, "", "1")
                found, offset = self.joint(name), int(axis == "2")
                positions[found.position_start() + offset] = q[joint.q_start]
                turn[found.velocity_start() + offset, joint.v_start] = 1.0
        plant.SetPositions(self.context, positions)
        plant.SetVelocities(self.context, turn @ v)
        return turn @ v, turn @ a + rate @ v, turn

    def _free(self, link: str, q: Array, v: Array, positions: Array, turn: Array, rate: Array) -> None:
        """Drake has (quaternion w x y z, position), and velocities in world axes."""
        body = self.body(link)
        at, to = body.floating_positions_start(), body.floating_velocities_start_in_v()
        r = _matrix(q[3:])
        positions[at : at + 7] = [q[6], *q[3:6], *q[:3]]
        for part in (0, 3):
            rows = slice(to + part, to + part + 3)
            turn[rows, part : part + 3] = r
            rate[rows, part : part + 3] = r @ _skew(v[:3])

    def _ball(self, name: str, q: Array, v: Array, positions: Array, turn: Array, rate: Array) -> None:
        """Drake has roll, pitch, yaw, and the angular velocity in the parent's axes."""
        found = self.joint(name)
        at, to = found.position_start(), found.velocity_start()
        positions[at : at + 3] = Rotation.from_quaternion(Quaternion(*map(float, q))).rpy()
        turn[to : to + 3] = _matrix(q)
        rate[to : to + 3] = _matrix(q) @ _skew(v)

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        from pydrake.multibody.tree import MultibodyForces

        _, acceleration, turn = self.place(q, v, a)
        found = self.plant.CalcInverseDynamics(self.context, acceleration, MultibodyForces(self.plant))
        return turn.T @ (found - self.plant.CalcGravityGeneralizedForces(self.context))

    def mass_matrix(self, q: Array) -> Array:
        zero = np.zeros(self.robot.nv)
        turn = self.place(q, zero, zero)[2]
        return turn.T @ self.plant.CalcMassMatrix(self.context) @ turn

    def pose(self, link: str, q: Array) -> Array:
        zero = np.zeros(self.robot.nv)
        self.place(q, zero, zero)
        *inner, name = link.split("::")
        holder = next(one for one in self._instances(inner) if self.plant.HasFrameNamed(name, one))
        return self.plant.GetFrameByName(name, holder).CalcPoseInWorld(self.context).GetAsMatrix4()


def _matrix(quaternion: Array) -> Array:
    rotation = Rotation.from_quaternion(Quaternion(*map(float, quaternion)))
    return np.array(tuple(rotation), dtype=float).reshape(3, 3)
