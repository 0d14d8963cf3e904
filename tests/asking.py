"""Questions to a robot by name, for tests that ask all of them alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import recursa as rc

Question = tuple[Callable[..., np.ndarray], str]


def questions(robot: rc.Robot) -> dict[str, Question]:
    """One of every sort: the method, and its arguments by letter (t: torques). The robot's mass matrix is regular."""
    link = robot.link_names[-1]
    return {
        "poses": (robot.poses, "q"),
        "jacobian": (lambda q, **options: robot.jacobian(q, link, **options), "q"),
        "kinetic_energy": (robot.kinetic_energy, "qv"),
        "inverse_dynamics": (robot.inverse_dynamics, "qva"),
        "bias_forces": (robot.bias_forces, "qv"),
        "mass_matrix": (robot.mass_matrix, "q"),
        "coriolis_matrix": (robot.coriolis_matrix, "qv"),
        "forward_dynamics": (robot.forward_dynamics, "qvt"),
        "mass_matrix_inverse": (robot.mass_matrix_inverse, "q"),
    }


def arguments(robot: rc.Robot, count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Random rows by letter."""
    rng = np.random.default_rng(seed)
    drawn = [robot.random_state(rng) for _ in range(count)]
    q, v = (np.array([state[i] for state in drawn]) for i in (0, 1))
    return {"q": q, "v": v, "a": rng.normal(size=v.shape), "t": rng.normal(size=v.shape)}
