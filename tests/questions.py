"""Every batched answer of a robot, to be asked of compiled and interpreted plans alike."""

from __future__ import annotations

from recursa.kernels.dispatch import Switch


def questions(robot):
    """Every batched answer as a function of rows of states."""
    last = robot.link_names[-1]
    return {
        "poses": lambda q, v, a: robot.poses(q),
        "pose": lambda q, v, a: robot.pose(q, last),
        "velocities": lambda q, v, a: robot.velocities(q, v, "mixed"),
        "accelerations": lambda q, v, a: robot.accelerations(q, v, a, "world", "classical"),
        "jacobian": lambda q, v, a: robot.jacobian(q, last, frame="world"),
        "jacobian_derivative": lambda q, v, a: robot.jacobian_derivative(q, v, last, frame="mixed"),
        "center_of_mass": lambda q, v, a: robot.center_of_mass(q),
        "momentum": lambda q, v, a: robot.momentum(q, v),
        "momentum about the world": lambda q, v, a: robot.momentum(q, v, "world"),
        "kinetic_energy": lambda q, v, a: robot.kinetic_energy(q, v),
        "potential_energy": lambda q, v, a: robot.potential_energy(q),
        "inverse_dynamics": lambda q, v, a: robot.inverse_dynamics(q, v, a),
        "inverse_dynamics with losses": lambda q, v, a: robot.inverse_dynamics(q, v, a, losses=True),
        "bias_forces": lambda q, v, a: robot.bias_forces(q, v),
        "gravity_forces": lambda q, v, a: robot.gravity_forces(q),
        "mass_matrix": lambda q, v, a: robot.mass_matrix(q),
        "coriolis_matrix": lambda q, v, a: robot.coriolis_matrix(q, v),
        "regressor": lambda q, v, a: robot.regressor(q, v, a),
        "momentum_matrix": lambda q, v, a: robot.momentum_matrix(q),
        "reaction_wrenches": lambda q, v, a: robot.reaction_wrenches(q, v, a),
    }


def solves(robot):
    """Those that need a regular mass matrix."""
    return {
        "forward_dynamics": lambda q, v, a: robot.forward_dynamics(q, v, a),
        "mass_matrix_inverse": lambda q, v, a: robot.mass_matrix_inverse(q),
    }


def interpreted(ask, *state):
    Switch.on = False
    try:
        return ask(*state)
    finally:
        Switch.on = True
