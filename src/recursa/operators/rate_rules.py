"""Identities of derivatives: Jain & Rodriguez, Table 4 and section 6, in the forms that hold for every joint.

A dot is the derivative in body axes along v, or along unit velocity of one freedom (:meth:`Operators.along`); v itself
is held. ``S = crf(H* v)`` stands where the paper writes the joint's angular velocity: for sliding and helical joints
that is no rotation. The first group says what each derivative is; the second is for the search.
"""

from __future__ import annotations

from recursa.operators.arithmetic import inverse
from recursa.operators.derivative import differentiated
from recursa.operators.expression import Expression, Zero
from recursa.operators.identity import JR, Rule, Sides, identity
from recursa.operators.leaves import Operators
from recursa.operators.rigid_rules import newton_euler

TABLE: list[Rule] = []
"""What a derivative is: the left side is one letter, which the right side replaces."""

RATE_RULES: list[Rule] = []
"""Further identities of derivatives, for expressions that have some."""

# ---- Table 4 ---------------------------------------------------------------------------------------------------------


@identity(f"{JR} Table 4, row 1", TABLE)
def rate_of_the_rigid_shift(o: Operators) -> Sides:
    """``E_phi_dot = E_phi S``."""
    return o.E_phi_dot, o.E_phi @ o.S


@identity(f"{JR} Table 4, row 2 (6.7)", TABLE)
def rate_of_rigid_propagation(o: Operators) -> Sides:
    """``phi_dot = phi E_phi S phi``."""
    return o.phi_dot, o.phi @ o.E_phi @ o.S @ o.phi


@identity(f"{JR} Table 4, row 5", TABLE)
def rate_of_the_hinge_inertia(o: Operators) -> Sides:
    """``D_dot = H P_dot H*``: armature is constant."""
    return o.D_dot, o.H @ o.P_dot @ o.H.T


@identity(f"from {JR} Table 4, row 5", TABLE)
def rate_of_the_root(o: Operators) -> Sides:
    """``W_dot = 1/2 D_dot inv(W)*``, where every joint has one freedom: of a block no product of letters is it."""
    if any(joint.kind.nv > 1 for joint in o.model.joints):
        return None
    return o.W_dot, 0.5 * o.H @ o.P_dot @ o.H.T @ inverse(o.W).T


@identity(f"{JR} Table 4, row 6", TABLE)
def rate_of_the_gain(o: Operators) -> Sides:
    """``G_dot = tau_bar P_dot H* inv(D)``."""
    return o.G_dot, _gain_rate(o)


@identity(f"{JR} Table 4, rows 1 and 6", TABLE)
def rate_of_the_shifted_gain(o: Operators) -> Sides:
    """``K_dot = E_phi (S G + tau_bar P_dot H* inv(D))``."""
    return o.K_dot, o.E_phi @ (o.S @ o.G + _gain_rate(o))


@identity(f"{JR} Table 4, row 7", TABLE)
def rate_of_the_projection(o: Operators) -> Sides:
    """``tau_bar_dot = -tau_bar P_dot H* inv(D) H``."""
    return o.tau_bar_dot, -(_gain_rate(o) @ o.H)


@identity(f"{JR} Table 4, row 8", TABLE)
def rate_of_the_articulated_shift(o: Operators) -> Sides:
    """``E_psi_dot = E_phi (S tau_bar - tau_bar P_dot H* inv(D) H)``."""
    return o.E_psi_dot, _articulated_shift_rate(o)


@identity(f"{JR} Table 4, row 8", TABLE)
def rate_of_articulated_propagation(o: Operators) -> Sides:
    """``psi_dot = psi E_psi_dot psi``."""
    return o.psi_dot, o.psi @ _articulated_shift_rate(o) @ o.psi


@identity(f"from {JR} Table 4, row 2", TABLE)
def rate_of_the_velocities(o: Operators) -> Sides:
    """``V_dot = phi* S* E_phi* V``."""
    return o.V_dot, _velocity_rate(o)


@identity(f"from {JR} Table 4, row 2", TABLE)
def rate_of_the_bias_acceleration(o: Operators) -> Sides:
    """``a_dot = S* V_dot``, S of v: the joint's own motion is constant in its body."""
    return o.a_dot, Operators(o.model).S.T @ _velocity_rate(o)


@identity(f"from {JR} Table 4, row 2", TABLE)
def rate_of_the_gyroscopic_force(o: Operators) -> Sides:
    """``b_dot = (N + S_V M) V_dot``, S_V of v."""
    return o.b_dot, (o.N + Operators(o.model).S_V @ o.M) @ _velocity_rate(o)


@identity("gravity is constant in the world", TABLE)
def rate_of_gravity(o: Operators) -> Sides:
    """``gravity_dot = phi* S* gravity``: every body has it from its parent."""
    return o.gravity_dot, o.phi.T @ o.S.T @ o.gravity


@identity("gravity is constant in the world", RATE_RULES)
def gravity_turns_against_the_bodies(o: Operators) -> Sides:
    """``phi* S* gravity = S_V* gravity``."""
    return o.phi.T @ o.S.T @ o.gravity, o.S_V.T @ o.gravity


@identity(f"from {JR} Table 4, row 2", TABLE)
def rate_of_the_bias_forces(o: Operators) -> Sides:
    """``C_dot``, from ``C = H phi (M (phi* a + gravity) + b)``."""
    sides = newton_euler(o)
    assert sides is not None
    return o.C_dot, differentiated(sides[0], o.direction)


def _gain_rate(o: Operators) -> Expression:
    return o.tau_bar @ o.P_dot @ o.H.T @ inverse(o.D)


def _articulated_shift_rate(o: Operators) -> Expression:
    return o.E_phi @ (o.S @ o.tau_bar - _gain_rate(o) @ o.H)


def _velocity_rate(o: Operators) -> Expression:
    return o.phi.T @ o.S.T @ o.E_phi.T @ o.V


# ---- recursions of the inertias --------------------------------------------------------------------------------------


@identity(f"{JR} (6.4), (6.5)", RATE_RULES)
def rate_of_the_riccati_equation(o: Operators) -> Sides:
    """``E_phi (tau_bar P_dot tau_bar* + S tau_bar P + tau_bar P S*) E_phi* = P_dot``, with armature too."""
    rest = o.tau_bar @ o.P
    inner = o.tau_bar @ o.P_dot @ o.tau_bar.T + o.S @ rest + (o.S @ rest).T
    return o.E_phi @ inner @ o.E_phi.T, o.P_dot


@identity(f"{JR} (6.4)", RATE_RULES)
def rate_of_the_riccati_equation_by_lambda(o: Operators) -> Sides:
    """``E_psi (P_dot + S P + P S*) E_psi* = P_dot``, without armature."""
    if o.has_armature:
        return None
    return o.E_psi @ (o.P_dot + o.S @ o.P + o.P @ o.S.T) @ o.E_psi.T, o.P_dot


@identity(f"from {JR} Table 4, row 1", RATE_RULES)
def rate_of_the_composite_inertia(o: Operators) -> Sides:
    """``E_phi (R_dot + S R + R S*) E_phi* = R_dot``."""
    return o.E_phi @ (o.R_dot + o.S @ o.R + o.R @ o.S.T) @ o.E_phi.T, o.R_dot


# ---- cross operators -------------------------------------------------------------------------------------------------


@identity(f"{JR} (6.7)", RATE_RULES)
def rate_of_propagation_by_velocities(o: Operators) -> Sides:
    """``phi S_V - S_V phi = phi E_phi S phi``."""
    return o.phi @ o.S_V - o.S_V @ o.phi, o.phi @ o.E_phi @ o.S @ o.phi


@identity(f"{JR} (6.9)", RATE_RULES)
def cross_operators_of_neighbours(o: Operators) -> Sides:
    """``E_phi S_V - S_V E_phi = E_phi S``: a body's velocity is its parent's, carried over, and the joint's."""
    return o.E_phi @ o.S_V - o.S_V @ o.E_phi, o.E_phi @ o.S


@identity(f"{JR} (6.8)", RATE_RULES)
def own_motion_along_one_freedom(o: Operators) -> Sides:
    """``H S = 0``, where joints have one freedom."""
    return (o.H @ o.S, Zero(o.H.shape)) if _single(o) else None


@identity(f"{JR} (6.8)", RATE_RULES)
def propagation_seen_by_one_freedom(o: Operators) -> Sides:
    """``H phi E_phi S = H phi S``, where joints have one freedom."""
    return (o.H @ o.phi @ o.E_phi @ o.S, o.H @ o.phi @ o.S) if _single(o) else None


@identity(f"{JR} Table 4, row 8", RATE_RULES)
def own_motion_behind_the_hinge(o: Operators) -> Sides:
    """``H S tau_bar = 0``, without armature: the printed row 8 has ``E_psi S tau_bar``."""
    return None if o.has_armature else (o.H @ o.S @ o.tau_bar, Zero(o.H.shape))


@identity(f"{JR} Identity 6.3 (6.14)", RATE_RULES)
def sensitivity_of_the_mass_matrix(o: Operators) -> Sides:
    """``mass_dot = H phi (S phi M + M phi* S*) phi* H*``, where joints have one freedom."""
    if not _single(o):
        return None
    return mass_rate(o), o.H @ o.phi @ (o.S @ o.phi @ o.M + o.M @ o.phi.T @ o.S.T) @ o.phi.T @ o.H.T


def mass_rate(o: Operators) -> Expression:
    """The derivative of the mass matrix, by Table 4."""
    half = o.H @ o.phi @ o.E_phi @ o.S @ o.phi @ o.M @ o.phi.T @ o.H.T
    return half + half.T


def _single(o: Operators) -> bool:
    return all(joint.kind.nv == 1 for joint in o.model.joints)


# ---- vectors of the motion -------------------------------------------------------------------------------------------


@identity("definition of V", RATE_RULES)
def velocities(o: Operators) -> Sides:
    """``phi* H* v = V``."""
    return o.phi.T @ o.H.T @ o.v, o.V


@identity("definition of a", RATE_RULES)
def bias_acceleration(o: Operators) -> Sides:
    """``S* V = a``, S of v."""
    return None if o.direction else (o.S.T @ o.V, o.a)


@identity("definition of a", RATE_RULES)
def bias_acceleration_of_the_parent(o: Operators) -> Sides:
    """``S* E_phi* V = a``, S of v: the joint's own motion crossed with itself is nothing."""
    return None if o.direction else (o.S.T @ o.E_phi.T @ o.V, o.a)


@identity("definition of a", RATE_RULES)
def bias_acceleration_by_velocities(o: Operators) -> Sides:
    """``-S_V* H* v = a``, S_V of v."""
    return None if o.direction else (-(o.S_V.T @ o.H.T @ o.v), o.a)


@identity("definition of b", RATE_RULES)
def gyroscopic_force(o: Operators) -> Sides:
    """``S_V M V = b``, S_V of v."""
    return None if o.direction else (o.S_V @ o.M @ o.V, o.b)


@identity("definition of b", RATE_RULES)
def gyroscopic_force_by_momentum(o: Operators) -> Sides:
    """``N V = b``."""
    return o.N @ o.V, o.b


@identity("gravity is constant in the world", RATE_RULES)
def gravity_stands_still(o: Operators) -> Sides:
    """``S_V* gravity + Omega gravity = 0``: the inertial derivative of gravity."""
    return o.S_V.T @ o.gravity + o.Omega @ o.gravity, Zero(o.gravity.shape)


@identity(f"{JR} (2.1)", RATE_RULES)
def coriolis_forces(o: Operators) -> Sides:
    """``mass_dot v + H S_V phi M V + H phi M gravity = C``: with quasi-velocities too."""
    if o.direction:
        return None
    gradient = o.H @ o.S_V @ o.phi @ o.M @ o.V
    return mass_rate(o) @ o.v + gradient + o.H @ o.phi @ o.M @ o.gravity, o.C
