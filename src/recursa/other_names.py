"""Names that other libraries use for what robots here can do: who types one is told ours.

The libraries: Pinocchio (pin), MuJoCo, Drake, Robotics Toolbox (rtb), PyBullet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recursa.errors import did_you_mean


def _by_their_names(ours: Mapping[str, str]) -> Mapping[str, str]:
    """Our calls with the names that they have elsewhere, by these names."""
    return {theirs: call for call, names in ours.items() for theirs in names.split()}


OF_ROBOTS: Mapping[str, str] = _by_their_names(
    {
        # recursive Newton-Euler, and what calls it
        "inverse_dynamics(q, v, a)": (
            "rnea RNEA rne mj_inverse CalcInverseDynamics calculateInverseDynamics calc_inverse_dynamics idyn itorque "
            "paycap"
        ),
        # articulated bodies
        "forward_dynamics(q, v, tau)": "aba mj_forward accel",
        "simulate(q0, v0, duration=...)": "fdyn",
        "simulate(q0, v0, duration=...), or rc.rollout(robot, ...) for many at once": "mj_step stepSimulation step",
        # composite bodies
        "mass_matrix(q)": "crba inertia M CalcMassMatrix calculateMassMatrix mj_fullM",
        "operational_inertia(q, link)": "inertia_x",
        "mass_matrix_inverse(q)": "minverse computeMinverse",
        # bias forces and their parts
        "bias_forces(q, v)": "nle nonLinearEffects qfrc_bias CalcBiasTerm",
        "coriolis_matrix(q, v)": "coriolis computeCoriolisMatrix",
        "gravity_forces(q)": "gravload computeGeneralizedGravity CalcGravityGeneralizedForces",
        "gravity_forces(q), or inverse_dynamics(q, v, a, wrenches=...) with forces on links": "computeStaticTorque",
        "joint_losses(v)": "friction",
        "with_gravity((0, 0, -9.81)), another robot": "gravityField",
        "with_joint(name, rotor=rc.Rotor(inertia=..., ratio=...)), another robot": "rotorInertia rotorGearRatio",
        "with_joint(name, armature=...), another robot": "armature",
        # models and what belongs to them
        "inverse_dynamics(q, v, a), which needs no data and returns a new array": "data createData",
        "mass_matrix(q), bias_forces(q, v) and so on, nothing is kept between calls": "computeAllTerms",
        "reduced(joints), those that are locked": "buildReducedModel",
        "attach(other, at=link)": "appendModel",
        # kinematics
        "pose(q, link)": "fkine fk oMf oMi xpos",
        "poses(q)": "fkine_all framesForwardKinematics updateFramePlacements",
        "pose(q, link), or poses(q) for all links": "forward_kinematics forwardKinematics",
        "pose(q, link) and velocities(q, v)": "getLinkState",
        'jacobian(q, link, frame="mixed"), whose angular rows come first': "jacob0 mj_jac mj_jacBody calculateJacobian",
        "jacobian(q, link), whose angular rows come first": (
            "jacobe computeJointJacobian getJointJacobian computeFrameJacobian getFrameJacobian"
        ),
        'jacobian_derivative(q, v, link, frame="mixed")': "jacob0_dot",
        "jacobian_second_derivative(...)": "hessian0",
        "jacobians(q)": "computeJointJacobians",
        'jacobian(q, link, frame="mixed")': "CalcJacobianSpatialVelocity",
        "manipulability(q, link)": "maniplty",
        # inverse kinematics
        "rc.inverse_kinematics(robot, link, poses)": (
            "ik ikine ikine_LM ik_LM ik_NR ik_GN calculateInverseKinematics inverse_kinematics"
        ),
        "rc.analytic_inverse_kinematics(robot, link, poses)": "ikine_a",
        "rc.rollout(robot, q0, v0, torque, step, steps)": "rollout",
        # derivatives and regressors
        "inverse_dynamics_derivatives(q, v, a)": "computeRNEADerivatives",
        "forward_dynamics_derivatives(q, v, tau)": "computeABADerivatives",
        "regressor(q, v, a)": "computeJointTorqueRegressor",
        "state_space(q, v, tau, dt=...)": "mjd_transitionFD",
        # centroidal and energies
        "momentum_matrix(q)": "ccrba computeCentroidalMap",
        "momentum(q, v)": "computeCentroidalMomentum",
        "center_of_mass(q)": "com centerOfMass subtree_com",
        "center_of_mass_jacobian(q)": "jacobianCenterOfMass jacobianSubtreeCenterOfMass",
        "kinetic_energy(q, v)": "computeKineticEnergy",
        "potential_energy(q)": "computePotentialEnergy",
        # states, limits, names
        "neutral()": "neutralConfiguration",
        "random_state(seed)": "randomConfiguration random_q",
        "position_limits": "qlim jnt_range",
        "position_limits[0]": "lowerPositionLimit",
        "position_limits[1]": "upperPositionLimit",
        "velocity_limits": "velocityLimit",
        "effort_limits": "effortLimit",
        "joint_names": "names",
        "link_names": "frames",
        "pose(q, link), links and joints go by name": "getFrameId getJointId getBodyId",
        "nv": "n dof num_velocities",
        "nq": "num_positions",
        'to_html("robot.html") or view()': "plot",
        "view()": "teach show",
    }
)
"""Methods and attributes of models elsewhere -> what to write after ``robot.``."""

OF_THE_MODULE: Mapping[str, str] = _by_their_names(
    {
        'rc.load("robot.urdf")': (
            "buildModelFromUrdf buildModelFromMJCF buildModelFromXML buildModelFromSdf RobotWrapper Model MjModel "
            "from_xml_path from_xml_string loadURDF loadMJCF loadSDF URDF MultibodyPlant ERobot"
        ),
        "rc.from_dh(table, convention=...)": "DHRobot RevoluteDH PrismaticDH RevoluteMDH PrismaticMDH SerialLink",
        'rc.load("robot.urdf", floating=True)': "JointModelFreeFlyer",
        "robot.pose(q, link), poses are arrays (4, 4)": "SE3",
        "robot.integrate(q, dv)": "integrate",
        "robot.difference(q0, q1)": "difference",
        "robot.interpolate(q0, q1, s)": "interpolate",
        "robot.neutral()": "neutral",
        "rc.robots, the bundled robots": "models",
        "rc.robots.panda_like()": "Panda",
        "rc.Trajectory": "jtraj",
        "robot.simulate(q0, v0, duration=...), or rc.rollout(robot, ...) for many at once": "mj_step",
        "rc.inverse_kinematics(robot, link, poses)": "ikine",
    }
)
"""The same for the module, as what to write instead."""


def hint(name: str, own: Iterable[str], *, robot: bool) -> str:
    """What to write instead of a name that does not exist.

    >>> hint("rnea", ["inverse_dynamics"], robot=True)
    'Did you mean robot.inverse_dynamics(q, v, a)?'
    >>> hint("mas_matrix", ["mass_matrix"], robot=True)
    "Did you mean 'mass_matrix'?"
    """
    call = None if robot else OF_THE_MODULE.get(name)
    if call is None and name in OF_ROBOTS:
        call = OF_ROBOTS[name] if OF_ROBOTS[name].startswith("rc.") else f"robot.{OF_ROBOTS[name]}"
    if call is not None:
        return f"Did you mean {call}?"
    near = did_you_mean(name, own)
    return near if near.startswith("Did you mean") else "dir() lists what there is."
