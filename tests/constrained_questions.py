"""What a robot with constraints gets from every public function: one table, which a test walks.

- "obeys": the answer obeys the constraints; ``oracles/test_constrained_answers.py`` has a dense oracle for it.
- "tree": constraints do not change the answer by definition: it is that of ``robot.without_constraints()``.
- :class:`Refuses`: an error names what to use instead.
- :class:`Obeys`: the answer obeys the constraints, and another test file compares it.
- :class:`Apart`: not about how a robot responds: it makes robots, files or pictures, or passes a quantity on.

Keys are names of public functions, and texts of single questions where their options decide.
"""

from __future__ import annotations

from typing import NamedTuple

TREE, OBEYS = "tree", "obeys"


class Refuses(NamedTuple):
    """What the error must name."""

    instead: str


class Obeys(NamedTuple):
    """The test file, under ``tests/``, that compares the answer."""

    test: str


class Apart(NamedTuple):
    """Why there is nothing to compare."""

    why: str


Verdict = str | Refuses | Obeys | Apart

_TORQUES = Refuses("robot.actuator_torques(")
_DERIVATIVES = Refuses("robot.forward_dynamics_derivatives(q, v, tau)")
_REACTIONS = Refuses("robot.constraint_wrenches(q, v, tau)")
_RESPONSES = Refuses("robot.constrained_compliance(q)")
_MOTION = Refuses("robot.forward_dynamics(q, v, tau)")
_DIRECTIONS = Refuses("robot.free_directions(q)")
_FORMULA = Refuses("G_c")
_PASSED_ON = Apart("a quantity passed on: physics/test_constrained_jobs.py")
_HERE = Obeys("physics/test_constrained_jobs.py")


def _each(home: str, names: str, verdict: Verdict) -> dict[str, Verdict]:
    return {f"{home}.{name}": verdict for name in names.split()}


ON_CONSTRAINTS: dict[str, Verdict] = {
    # ---- robots -----------------------------------------------------------------------------------------------------
    **_each("robot", "poses pose velocities accelerations jacobian jacobians jacobian_derivative pose_error", TREE),
    **_each("robot", "jacobian_second_derivative velocity_derivatives acceleration_derivatives", TREE),
    **_each(
        "robot", "center_of_mass center_of_mass_velocity center_of_mass_acceleration center_of_mass_jacobian", TREE
    ),
    **_each("robot", "center_of_mass_jacobian_derivative subtree_centers_of_mass", TREE),
    **_each("robot", "subtree_center_of_mass_velocities subtree_center_of_mass_jacobians", TREE),
    **_each("robot", "kinetic_energy potential_energy momentum momentum_matrix momentum_matrix_derivative", TREE),
    **_each("robot", "momentum_rate momentum_derivatives", TREE),
    **_each("robot", "mass_matrix bias_forces gravity_forces coriolis_matrix joint_losses generalized_links", TREE),
    **_each("robot", "regressor static_regressor link_regressor reference_regressor reference_dynamics", TREE),
    **_each("robot", "kinetic_energy_regressor potential_energy_regressor base_parameters", TREE),
    **_each("robot", "integrate difference interpolate d_integrate d_difference", TREE),
    **_each("robot", "rebase_state rebase_acceleration rebase_forces base_transform base_transform_derivative", TREE),
    **_each("robot", "inverse_dynamics augmented_recursion hybrid_dynamics", _TORQUES),
    **_each("robot", "inverse_dynamics_derivatives inverse_dynamics_second_derivatives linearize", _DERIVATIVES),
    **_each("robot", "reaction_wrenches base_wrench", _REACTIONS),
    **_each("robot", "mass_matrix_inverse factorization", _RESPONSES),
    **_each("robot", "manipulability condition singular_directions", _DIRECTIONS),
    **_each("robot", "filtering", _MOTION),
    **_each("robot", "trajectory_sensitivity", _DERIVATIVES),
    **_each("robot", "forward_dynamics forward_dynamics_derivatives constrained_compliance constraint_delassus", OBEYS),
    **_each("robot", "constraint_forces project_velocity actuator_torques", OBEYS),
    **_each("robot", "operational_compliance operational_compliance_between operational_inertia", OBEYS),
    **_each("robot", "delassus delassus_inverse", OBEYS),
    **_each(
        "robot", "constraint_error constraint_jacobian constraint_bias", Obeys("oracles/test_constraints_dense.py")
    ),
    **_each("robot", "constraint_wrenches", Obeys("oracles/test_constraints_dense.py")),
    **_each("robot", "state_space", Obeys("oracles/test_constraint_derivatives.py")),
    **_each("robot", "constraint_delassus_factors free_directions", Obeys("oracles/test_constraint_derivatives.py")),
    **_each("robot", "assemble mobility", Obeys("physics/test_mechanisms.py")),
    **_each("robot", "impact", Obeys("physics/test_landing.py")),
    **_each("robot", "simulate", _HERE),
    **_each("robot", "export_c export_js symbolic casadi jax torch", _PASSED_ON),
    **_each("robot", "view to_html widget", Apart("view/test_pages_in_chromium.py looks at the page of a mechanism")),
    **_each(
        "robot", "neutral random_state augmented_links symbolic_constants sparsity state", Apart("of the model alone")
    ),
    **_each(
        "robot", "with_base with_frame with_gravity with_payload with_joint with_parameters", Apart("makes robots")
    ),
    **_each(
        "robot", "with_constraints without_constraints with_contacts_at attach chain reduced", Apart("makes robots")
    ),
    **_each("robot", "renamed scaled without with_inertia_from_geometry", Apart("makes robots")),
    **_each("robot", "geometry doctor save to_dh to_urdf to_mjcf reorder", Apart("data, files and texts")),
    # ---- topics -----------------------------------------------------------------------------------------------------
    **_each("diagonal", "total_rates joint_rates working_moments joint_moments coriolis rates", _MOTION),
    **_each("diagonal", "articulated_rates sensitivity", _MOTION),
    **_each("diagonal", "curvature is_flat", _RESPONSES),
    "diagonal.christoffel": TREE,
    "diagonal.christoffel(kind=2)": _RESPONSES,
    **_each("unnormalized", "total_rates joint_rates working_moments joint_moments coriolis rates", _MOTION),
    **_each("unnormalized", "coriolis_causes inertia_rate", _MOTION),
    **_each("unnormalized", "inertia", _RESPONSES),
    **_each("factorization", "D G K P factor inverse_factor solve logdet", _RESPONSES),
    **_each("free", "base_response base_velocity dual_quantities generalized_inertia generalized_jacobian", _MOTION),
    **_each("free", "inverse_dynamics link_velocity momentum_maps move_joints reaction_null_projector", _MOTION),
    **_each("free", "reaction_null_rates reorient simulate_links", _MOTION),
    **_each("free", "locked_inertia", TREE),
    **_each("denoc", "twists twist_rates natural_orthogonal_complement natural_orthogonal_complement_rates", TREE),
    **_each("denoc", "extended_mass extended_mass_rate generalized_inertia convective_matrix to_mass_centers", TREE),
    **_each("denoc", "generalized_forces", TREE),
    **_each("denoc", "articulated udu", _RESPONSES),
    **_each("denoc", "joint_wrenches", _REACTIONS),
    **_each("denoc", "expressions reverse_gaussian_elimination", Apart("texts, and of a matrix")),
    **_each("operational", "model consistent_inverse", OBEYS),
    **_each("cartesian", "coordinates rates", TREE),
    **_each("cartesian", "model", Refuses("rc.operational.model(")),
    **_each("cartesian", "linearize", _DERIVATIVES),
    # ---- formulas ---------------------------------------------------------------------------------------------------
    "rc.compile": _FORMULA,
    "rc.compile(expression=V* M V)": TREE,
    "rc.compile(expression=M (phi* a + gravity) + b)": TREE,
    "rc.compile(expression=Phi)": TREE,
    "rc.compile(expression=inv(phi M phi*))": TREE,
    "rc.dense": _FORMULA,
    **_each("rc", "parse explain", Apart("formulas as texts")),
    # ---- jobs -------------------------------------------------------------------------------------------------------
    **_each("rc", "rollout", _HERE),
    **_each("rc", "time_optimal", _HERE),
    **_each("Trajectory", "check violations scaled_to_limits", _HERE),
    **_each("control", "GravityPD ComputedTorque OperationalSpace Impedance Admittance", _HERE),
    **_each("control", "Adaptive RateDamping PoseRegulator", Refuses("rc.control.ComputedTorque")),
    **_each("control", "LinearQuadratic", Refuses("robot.state_space(q, v, tau)")),
    **_each("rc", "identify excitation", Refuses("robot.free_directions(q)")),
    **_each("rc", "MomentumObserver", _MOTION),
    **_each("rc", "workspace", Refuses("robot.assemble(q)")),
    **_each("rc", "DifferentialIK analytic_inverse_kinematics", Refuses("rc.inverse_kinematics(")),
    **_each("rc", "inverse_kinematics tool_path", Obeys("unit/test_reach_with_constraints.py")),
    **_each("rc", "study count", _PASSED_ON),
    **_each("rc", "tables load from_dh read resume ros_paths", Apart("files and tables")),
}


def verdict_of(public: str, text: str = "") -> Verdict:
    """What the table says of a public function, or of one question in particular."""
    return ON_CONSTRAINTS.get(text, ON_CONSTRAINTS[public])
