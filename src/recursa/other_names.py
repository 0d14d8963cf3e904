"""Names that other libraries use for what robots here can do: who types one is told ours.

The libraries: Pinocchio (pin), MuJoCo, Drake, Robotics Toolbox (rtb), PyBullet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recursa.errors import did_you_mean

OF_ROBOTS: Mapping[str, str] = {
    # recursive Newton-Euler, and what calls it
    "rnea": "inverse_dynamics(q, v, a)",
    "RNEA": "inverse_dynamics(q, v, a)",
    "rne": "inverse_dynamics(q, v, a)",
    "mj_inverse": "inverse_dynamics(q, v, a)",
    "CalcInverseDynamics": "inverse_dynamics(q, v, a)",
    "calculateInverseDynamics": "inverse_dynamics(q, v, a)",
    "calc_inverse_dynamics": "inverse_dynamics(q, v, a)",
    "idyn": "inverse_dynamics(q, v, a)",
    "itorque": "inverse_dynamics(q, v, a)",
    "paycap": "inverse_dynamics(q, v, a)",
    # articulated bodies
    "aba": "forward_dynamics(q, v, tau)",
    "fdyn": "simulate(q0, v0, duration=...)",
    "mj_forward": "forward_dynamics(q, v, tau)",
    "accel": "forward_dynamics(q, v, tau)",
    "mj_step": "simulate(q0, v0, duration=...), or rc.rollout(robot, ...) for many at once",
    "stepSimulation": "simulate(q0, v0, duration=...), or rc.rollout(robot, ...) for many at once",
    "step": "simulate(q0, v0, duration=...), or rc.rollout(robot, ...) for many at once",
    # composite bodies
    "crba": "mass_matrix(q)",
    "inertia": "mass_matrix(q)",
    "M": "mass_matrix(q)",
    "CalcMassMatrix": "mass_matrix(q)",
    "calculateMassMatrix": "mass_matrix(q)",
    "mj_fullM": "mass_matrix(q)",
    "inertia_x": "operational_inertia(q, link)",
    "minverse": "mass_matrix_inverse(q)",
    "computeMinverse": "mass_matrix_inverse(q)",
    # bias forces and their parts
    "nle": "bias_forces(q, v)",
    "nonLinearEffects": "bias_forces(q, v)",
    "qfrc_bias": "bias_forces(q, v)",
    "CalcBiasTerm": "bias_forces(q, v)",
    "coriolis": "coriolis_matrix(q, v)",
    "computeCoriolisMatrix": "coriolis_matrix(q, v)",
    "gravload": "gravity_forces(q)",
    "computeGeneralizedGravity": "gravity_forces(q)",
    "computeStaticTorque": "gravity_forces(q), or inverse_dynamics(q, v, a, wrenches=...) with forces on links",
    "CalcGravityGeneralizedForces": "gravity_forces(q)",
    "friction": "joint_losses(v)",
    "gravityField": "with_gravity((0, 0, -9.81)), another robot",
    **dict.fromkeys(
        ("rotorInertia", "rotorGearRatio"), "with_joint(name, rotor=rc.Rotor(inertia=..., ratio=...)), another robot"
    ),
    "armature": "with_joint(name, armature=...), another robot",
    # models and what belongs to them
    **dict.fromkeys(("data", "createData"), "inverse_dynamics(q, v, a), which needs no data and returns a new array"),
    "computeAllTerms": "mass_matrix(q), bias_forces(q, v) and so on, nothing is kept between calls",
    "buildReducedModel": "reduced(joints), those that are locked",
    "appendModel": "attach(other, at=link)",
    # kinematics
    "fkine": "pose(q, link)",
    "fkine_all": "poses(q)",
    "fk": "pose(q, link)",
    "forward_kinematics": "pose(q, link), or poses(q) for all links",
    "forwardKinematics": "pose(q, link), or poses(q) for all links",
    "framesForwardKinematics": "poses(q)",
    "updateFramePlacements": "poses(q)",
    "oMf": "pose(q, link)",
    "oMi": "pose(q, link)",
    "xpos": "pose(q, link)",
    "getLinkState": "pose(q, link) and velocities(q, v)",
    "jacob0": 'jacobian(q, link, frame="mixed"), whose angular rows come first',
    "jacobe": "jacobian(q, link), whose angular rows come first",
    "jacob0_dot": 'jacobian_derivative(q, v, link, frame="mixed")',
    "hessian0": "jacobian_second_derivative(...)",
    "computeJointJacobians": "jacobians(q)",
    **dict.fromkeys(("computeJointJacobian", "getJointJacobian"), "jacobian(q, link), whose angular rows come first"),
    "computeFrameJacobian": "jacobian(q, link), whose angular rows come first",
    "getFrameJacobian": "jacobian(q, link), whose angular rows come first",
    "mj_jac": 'jacobian(q, link, frame="mixed"), whose angular rows come first',
    "mj_jacBody": 'jacobian(q, link, frame="mixed"), whose angular rows come first',
    "calculateJacobian": 'jacobian(q, link, frame="mixed"), whose angular rows come first',
    "CalcJacobianSpatialVelocity": 'jacobian(q, link, frame="mixed")',
    "maniplty": "manipulability(q, link)",
    # inverse kinematics
    **dict.fromkeys(
        ("ik", "ikine", "ikine_LM", "ik_LM", "ik_NR", "ik_GN", "calculateInverseKinematics"),
        "rc.inverse_kinematics(robot, link, poses)",
    ),
    "ikine_a": "rc.analytic_inverse_kinematics(robot, link, poses)",
    "inverse_kinematics": "rc.inverse_kinematics(robot, link, poses)",
    "rollout": "rc.rollout(robot, q0, v0, torque, step, steps)",
    # derivatives and regressors
    "computeRNEADerivatives": "inverse_dynamics_derivatives(q, v, a)",
    "computeABADerivatives": "forward_dynamics_derivatives(q, v, tau)",
    "computeJointTorqueRegressor": "regressor(q, v, a)",
    "mjd_transitionFD": "state_space(q, v, tau, dt=...)",
    # centroidal and energies
    "ccrba": "momentum_matrix(q)",
    "computeCentroidalMap": "momentum_matrix(q)",
    "computeCentroidalMomentum": "momentum(q, v)",
    "com": "center_of_mass(q)",
    "centerOfMass": "center_of_mass(q)",
    "subtree_com": "center_of_mass(q)",
    "jacobianCenterOfMass": "center_of_mass_jacobian(q)",
    "jacobianSubtreeCenterOfMass": "center_of_mass_jacobian(q)",
    "computeKineticEnergy": "kinetic_energy(q, v)",
    "computePotentialEnergy": "potential_energy(q)",
    # states, limits, names
    "neutralConfiguration": "neutral()",
    "randomConfiguration": "random_state(seed)",
    "random_q": "random_state(seed)",
    "qlim": "position_limits",
    "lowerPositionLimit": "position_limits[0]",
    "upperPositionLimit": "position_limits[1]",
    "velocityLimit": "velocity_limits",
    "effortLimit": "effort_limits",
    "jnt_range": "position_limits",
    "names": "joint_names",
    "frames": "link_names",
    **dict.fromkeys(("getFrameId", "getJointId", "getBodyId"), "pose(q, link), links and joints go by name"),
    "n": "nv",
    "dof": "nv",
    "num_positions": "nq",
    "num_velocities": "nv",
    "plot": 'to_html("robot.html") or view()',
    "teach": "view()",
    "show": "view()",
}
"""Methods and attributes of models elsewhere -> what to write after ``robot.``."""

OF_THE_MODULE: Mapping[str, str] = {
    **dict.fromkeys(
        ("buildModelFromUrdf", "buildModelFromMJCF", "buildModelFromXML", "buildModelFromSdf", "RobotWrapper", "Model"),
        'rc.load("robot.urdf")',
    ),
    **dict.fromkeys(
        ("MjModel", "from_xml_path", "from_xml_string", "loadURDF", "loadMJCF", "loadSDF", "URDF", "MultibodyPlant"),
        'rc.load("robot.urdf")',
    ),
    **dict.fromkeys(
        ("DHRobot", "RevoluteDH", "PrismaticDH", "RevoluteMDH", "PrismaticMDH", "SerialLink"),
        "rc.from_dh(table, convention=...)",
    ),
    "ERobot": 'rc.load("robot.urdf")',
    "JointModelFreeFlyer": 'rc.load("robot.urdf", floating=True)',
    "SE3": "robot.pose(q, link), poses are arrays (4, 4)",
    "integrate": "robot.integrate(q, dv)",
    "difference": "robot.difference(q0, q1)",
    "interpolate": "robot.interpolate(q0, q1, s)",
    "neutral": "robot.neutral()",
    "models": "rc.robots, the bundled robots",
    "Panda": "rc.robots.panda_like()",
    "jtraj": "rc.Trajectory",
    "mj_step": "robot.simulate(q0, v0, duration=...), or rc.rollout(robot, ...) for many at once",
    "ikine": "rc.inverse_kinematics(robot, link, poses)",
}
"""The same for the module, as what to write instead."""


def hint(name: str, own: Iterable[str], *, robot: bool) -> str:
    """What to write instead of a name that does not exist.

    >>> hint("rnea", ["inverse_dynamics"], robot=True)
    'Did you mean robot.inverse_dynamics(q, v, a)?'
    >>> hint("mas_matrix", ["mass_matrix"], robot=True)
    "Did you mean 'mass_matrix'?"
    """
    said = (OF_ROBOTS if robot else OF_THE_MODULE).get(name)
    if said is None and not robot and name in OF_ROBOTS:
        robot, said = True, OF_ROBOTS[name]
    if said is not None:
        return f"Did you mean {said if said.startswith('rc.') or not robot else f'robot.{said}'}?"
    near = did_you_mean(name, own)
    return near if near.startswith("Did you mean") else "dir() lists what there is."
