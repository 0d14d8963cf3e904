"""What the joints or the motors of a robot have to supply along a motion, for limits of effort."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from recursa.dynamics.losses import DAMPING, FRICTION, Losses
from recursa.errors import StateError
from recursa.methods.actuation import motor_torques, motors_of
from recursa.methods.hybrid import names_of
from recursa.methods.inverse_and_forward import INVERSE_DYNAMICS
from recursa.model.constraints import called
from recursa.model.equations import Closing
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

_OFF = 1e-3  # of the robot's length, or rad: how far a motion may be from the constraints that it is to obey
_SLIP = 5e-2  # of what the joints could move it, each alone: how fast a motion may move what a contact holds


class Drive:
    """The torques that a motion takes: of all joints, or of the motors named by ``actuated``.

    A robot with constraints needs the names: its constraints carry what they can, and the motors the rest.
    """

    def __init__(self, robot: Robot, actuated: Collection[str] | None = None) -> None:
        self.robot = robot
        named = None if actuated is None else names_of(actuated, "actuated")
        self.motors = None if named is None and not robot.constraints else motors_of(robot.model, named)

    def torques(self, q: Array, v: Array, a: Array, losses: Losses = False, out: Array | None = None) -> Array:
        """Torques (..., nv) for accelerations a."""
        if self.motors is None:
            return self.robot.inverse_dynamics(q, v, a, losses=losses, out=out)
        self._require_obeyed(q)
        self._require_held(q, v)
        tree = self.robot.evaluator.tree.evaluate(INVERSE_DYNAMICS, {"q": q, "v": v, "a": a}, {"losses": losses})
        found = self._supplied(q, tree)
        if out is None:
            return found
        out[...] = found
        return out

    def friction(self, q: Array, v: Array, losses: Losses) -> Array | None:
        """What dry friction takes (..., nv), if it counts."""
        return self._supplied(q, self.robot.joint_losses(v, losses="friction")) if losses in FRICTION else None

    def damping(self, q: Array, v: Array, losses: Losses) -> Array | None:
        """What damping takes (..., nv), if it counts."""
        return self._supplied(q, self.robot.joint_losses(v, losses="damping")) if losses in DAMPING else None

    def _supplied(self, q: Array, forces: Array) -> Array:
        return forces if self.motors is None else motor_torques(self.robot.evaluator, q, forces, self.motors)

    def _require_obeyed(self, q: Array) -> None:
        """Refuse a motion that the robot's constraints do not allow."""
        if not self.robot.constraints:
            return
        model = self.robot.model
        error = np.abs(self.robot.constraint_error(q)).reshape(-1, model.ncon)
        for equation in model.equations:
            for row, unit in enumerate(equation.units, equation.start):
                size = 1.0 if unit == "r" else model.unit_length
                worst = float(error[:, row].max(initial=0.0))
                if worst > _OFF * size:
                    raise StateError(
                        f"the motion does not obey the {called(equation.constraint)} of robot '{model.name}': it is up "
                        f"to {worst:.3g} {'rad' if unit == 'r' else 'm'} away.\n"
                        "  q = robot.assemble(q) closes loops: give more points that obey the constraints."
                    )

    def _require_held(self, q: Array, v: Array) -> None:
        """Refuse a motion that moves what contacts hold wherever it is, whose place says nothing."""
        model = self.robot.model
        contacts = [
            one for one in model.equations if isinstance(one, Closing) and not one.anchored and one.told is None
        ]
        if not contacts:
            return
        G = self.robot.constraint_jacobian(q)
        speed, usual = np.abs(G @ v[..., None])[..., 0], (np.abs(G) @ np.abs(v)[..., None])[..., 0]
        for contact in contacts:
            rows = slice(contact.start, contact.start + len(contact.units))
            worst, most = (float(x[..., rows].max(initial=0.0)) for x in (speed, usual))
            if worst > _SLIP * most:
                raise StateError(
                    f"the motion does not obey the {called(contact.constraint)} of robot '{model.name}': it moves what "
                    f"is held there, by {100.0 * worst / most:.3g} % of what the joints could.\n"
                    "  q = robot.with_contacts_at(start).assemble(q) leaves contacts where they are at the start: give "
                    "points that obey the constraints."
                )
