"""What robots with constraints are told to call instead of quantities that would answer for the open tree."""

from __future__ import annotations

from recursa.quantities.quantity import Refusal

TORQUES = Refusal(
    "robot.actuator_torques(q, v, a, actuated=[...]), the torques of the motors while the constraints carry what they "
    "can"
)
DERIVATIVES = Refusal(
    "robot.forward_dynamics_derivatives(q, v, tau) or robot.state_space(q, v, tau), which obey the constraints"
)
REACTIONS = Refusal(
    "robot.constraint_wrenches(q, v, tau), which are what loops and contacts do to the links: handed as wrenches= to "
    "robot.without_constraints(), they give the reactions of the closed mechanism where no relation of joints acts"
)
RESPONSES = Refusal(
    "robot.constrained_compliance(q), which takes torques to the accelerations that obey the constraints, or "
    "robot.forward_dynamics(q, v, tau)"
)
ACCELERATIONS = Refusal("robot.forward_dynamics(q, v, tau), which obeys the constraints")
DIRECTIONS = Refusal(
    "robot.free_directions(q).basis, the joint speeds that the constraints leave free: robot.jacobian(q, link) times "
    "this basis is the Jacobian of the closed mechanism"
)
REGRESSION = Refusal(
    "robot.free_directions(q).basis: its transpose times robot.regressor(q, v, a) is the regressor of the closed "
    "mechanism, and times the measured torques the right side"
)
ASSEMBLY = Refusal("robot.assemble(q), which closes the loops near configurations of your choice, and robot.pose")
REACH = Refusal("rc.inverse_kinematics(robot, link, poses, q0), which keeps the constraints")
