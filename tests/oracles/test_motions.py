"""The motions of Saha's two examples: torques along the cycloid at five instants, from three independent codes."""

from __future__ import annotations

import math

import numpy as np

import recursa as rc

INSTANTS = [0.0, 2.5, 5.0, 7.5, 10.0]
PLANAR = [  # set S
    [4.34583, 1.54998, 0.32373],
    [3.982914426246, 1.274541631561, 0.221226314113],
    [-1.286948067067, -1.227730440660, 0.013027877809],
    [-1.869508480881, 0.818789239436, -0.213141935143],
    [-1.89333, 0.90252, -0.32373],
]
STANFORD = [
    [0, 13.34160000, 0, 0, 0, 0],
    [0.1043025753, 13.82271583, -2.786294032, 3.271951632e-4, 4.690658794e-5, 2.683875343e-4],
    [-5.708588676e-3, 15.75378540, -15.57439190, 4.002845236e-5, -9.809941893e-5, -6.979725158e-5],
    [-9.983697611e-2, 16.73286727, -27.51835368, -2.104238183e-4, 3.198493130e-5, -2.174700583e-4],
    [0, 16.73654715, -29.92050000, 0, 0, 0],
]


def test_planar_arm_along_the_cycloid_takes_the_known_torques() -> None:
    robot = rc.robots.planar(3)
    motion = rc.Trajectory.cycloid(np.zeros(3), np.full(3, math.pi), 10.0)
    assert np.abs(robot.inverse_dynamics(*motion.sample(INSTANTS)) - PLANAR).max() < 1e-12


def test_stanford_arm_along_the_cycloid_takes_the_known_torques() -> None:
    robot, third = rc.robots.stanford(), math.pi / 3
    start, end = [0, math.pi / 2, 0, 0, 0, 0], [third, third, 0.1, third, third, third]
    torques = robot.inverse_dynamics(*rc.Trajectory.cycloid(start, end, 10.0).sample(INSTANTS))
    assert np.allclose(torques, STANFORD, rtol=1e-9, atol=1e-13)
    motion = rc.Trajectory.cycloid(start, end, 10.0)  # and the known extremes
    t = motion.times(100_001)
    torques = robot.inverse_dynamics(*motion.sample(t))
    assert np.allclose(torques.min(axis=0)[:3], [-0.100796, 13.33279, -29.92940], atol=6e-6)
    assert abs(t[np.argmax(torques[:, 1])] - 8.46) < 0.006
