"""Identities of bodies whose joints are free: P, D, G, K, tau_bar and psi."""

from __future__ import annotations

from recursa.operators.arithmetic import total
from recursa.operators.expression import Zero
from recursa.operators.identity import JR, RK, Sides, factor, identity, inverse_factor, one
from recursa.operators.leaves import Operators

# ---- articulated bodies --------------------------------------------------------------------------------------------


@identity(f"{RK} (34)-(36)")
def hinge_inertia(o: Operators) -> Sides:
    """``H P H* + A = D``."""
    inertia = o.H @ o.P @ o.H.T
    return (inertia + o.A if o.has_armature else inertia), o.D


@identity(f"{RK} (34)-(36)")
def gain(o: Operators) -> Sides:
    """``P H* inv(D) = G``."""
    return o.P @ o.H.T @ o.D.inverse(), o.G


@identity(f"{RK} (34)-(36)")
def gain_times_hinge_inertia(o: Operators) -> Sides:
    """``G D = P H*``."""
    return o.G @ o.D, o.P @ o.H.T


@identity(f"{JR} (5.1)")
def root_of_the_hinge_inertia(o: Operators) -> Sides:
    """``W W* = D``."""
    return o.W @ o.W.T, o.D


@identity(f"{JR} (5.1)")
def root_of_the_inverse_hinge_inertia(o: Operators) -> Sides:
    """``inv(W)* inv(W) = inv(D)``."""
    return o.W.inverse().T @ o.W.inverse(), o.D.inverse()


@identity(f"{JR} (5.1)")
def half_of_the_hinge_inertia(o: Operators) -> Sides:
    """``inv(W) D = W*``."""
    return o.W.inverse() @ o.D, o.W.T


@identity(f"{JR} (5.1)")
def half_of_the_inverse_hinge_inertia(o: Operators) -> Sides:
    """``inv(D) W = inv(W)*``."""
    return o.D.inverse() @ o.W, o.W.inverse().T


@identity(f"{RK}, section X")
def root_of_the_link_inertia(o: Operators) -> Sides:
    """``W_M W_M* = M``, so that ``H phi W_M`` is a factor of the mass matrix."""
    return None if o.filter is not None else (o.W_M @ o.W_M.T, o.M)


@identity("definition")
def shifted_gain(o: Operators) -> Sides:
    """``E_phi G = K``."""
    return o.E_phi @ o.G, o.K


@identity("definition")
def shifted_gain_times_hinge_inertia(o: Operators) -> Sides:
    """``E_phi P H* = K D``."""
    return o.E_phi @ o.P @ o.H.T, o.K @ o.D


@identity("definition")
def articulation_projection(o: Operators) -> Sides:
    """``I - G H = tau_bar``."""
    return o.I - o.G @ o.H, o.tau_bar


@identity(f"{RK} (38), (39)")
def articulated_shift(o: Operators) -> Sides:
    """``E_phi tau_bar = E_psi``."""
    return o.E_phi @ o.tau_bar, o.E_psi


@identity("definition")
def articulated_shift_as_difference(o: Operators) -> Sides:
    """``E_phi - K H = E_psi``."""
    return o.E_phi - o.K @ o.H, o.E_psi


@identity(f"{RK} (34)-(36)")
def nothing_left_at_the_hinge(o: Operators) -> Sides:
    """``H tau_bar = 0``, without armature: ``H G = I``."""
    return None if o.has_armature else (o.H @ o.tau_bar, Zero((o.H @ o.tau_bar).shape))


@identity(f"{JR} (4.12)")
def nothing_left_of_the_inertia_at_the_hinge(o: Operators) -> Sides:
    """``tau_bar P H* = 0``; with armature ``G A``."""
    left = o.tau_bar @ o.P @ o.H.T
    return left, o.G @ o.A if o.has_armature else Zero(left.shape)


@identity(f"{RK} (34)-(36)")
def hinge_times_gain(o: Operators) -> Sides:
    """``H G = I - A inv(D)``, which is I without armature."""
    return o.H @ o.G, one(o) - o.A @ o.D.inverse() if o.has_armature else one(o)


@identity(f"{RK} (34)-(36)")
def projection_twice(o: Operators) -> Sides:
    """``tau_bar tau_bar = tau_bar``, without armature."""
    return None if o.has_armature else (o.tau_bar @ o.tau_bar, o.tau_bar)


@identity(f"{RK} (34)-(36)")
def projected_inertia(o: Operators) -> Sides:
    """``tau_bar P = P tau_bar*``: what is left of the articulated inertia is symmetric."""
    return o.tau_bar @ o.P, o.P @ o.tau_bar.T


@identity(f"{JR} (8)")
def riccati(o: Operators) -> Sides:
    """``M + E_psi P E_phi* = P``."""
    return o.M + o.E_psi @ o.P @ o.E_phi.T, o.P


@identity(f"{JR} (8)")
def symmetric_riccati(o: Operators) -> Sides:
    """``M + E_psi P E_psi* + K A K* = P``: positive terms only."""
    rotors = (o.K @ o.A @ o.K.T,) if o.has_armature else ()
    return total((o.M, o.E_psi @ o.P @ o.E_psi.T, *rotors)), o.P


@identity(f"{RK} (34)-(36)")
def riccati_with_gains(o: Operators) -> Sides:
    """``M + E_phi P E_phi* - K D K* = P``: the Riccati equation as Kalman filtering has it."""
    return o.M + o.E_phi @ o.P @ o.E_phi.T - o.K @ o.D @ o.K.T, o.P


@identity(f"{RK} Identity 2 (42)")
def articulated_decomposition(o: Operators) -> Sides:
    """``phi M phi* = P + phi E_phi P + P E_phi* phi* + phi K D K* phi*``."""
    diagonal = o.P + o.phi @ o.E_phi @ o.P + o.P @ o.E_phi.T @ o.phi.T
    return diagonal + o.phi @ o.K @ o.D @ o.K.T @ o.phi.T, o.phi @ o.M @ o.phi.T


# ---- articulated propagation ---------------------------------------------------------------------------------------


@identity(f"{RK} (39)")
def articulated_propagation(o: Operators) -> Sides:
    """``inv(psi) = I - E_psi``."""
    return o.psi.inverse(), o.I - o.E_psi


@identity(f"{RK} (39)")
def articulated_propagation_as_inverse(o: Operators) -> Sides:
    """``inv(I - E_psi) = psi``."""
    return (o.I - o.E_psi).inverse(), o.psi


@identity(f"{RK} (39)")
def articulated_shift_after(o: Operators) -> Sides:
    """``psi E_psi = psi - I``."""
    return o.psi @ o.E_psi, o.psi - o.I


@identity(f"{RK} (39)")
def articulated_shift_before(o: Operators) -> Sides:
    """``E_psi psi = psi - I``."""
    return o.E_psi @ o.psi, o.psi - o.I


@identity(f"from {RK} (44)")
def inverse_propagations(o: Operators) -> Sides:
    """``inv(phi) + K H = inv(psi)``."""
    return (o.I - o.E_phi) + o.K @ o.H, o.I - o.E_psi


@identity(f"from {RK} (44)")
def difference_of_propagations(o: Operators) -> Sides:
    """``psi K H phi = phi - psi``."""
    return o.psi @ o.K @ o.H @ o.phi, o.phi - o.psi


@identity(f"from {RK} (44)")
def difference_of_propagations_turned(o: Operators) -> Sides:
    """``phi K H psi = phi - psi``."""
    return o.phi @ o.K @ o.H @ o.psi, o.phi - o.psi


@identity(f"{RK} Identity 4 (44)")
def propagation_through_hinges(o: Operators) -> Sides:
    """``(I - psi K H) phi = psi``."""
    return (o.I - o.psi @ o.K @ o.H) @ o.phi, o.psi


@identity(f"{RK} Identity 4 (44)")
def propagation_through_hinges_turned(o: Operators) -> Sides:
    """``phi (I - K H psi) = psi``."""
    return o.phi @ (o.I - o.K @ o.H @ o.psi), o.psi


@identity(f"{RK} Identity 4 (44)")
def filtered_hinges(o: Operators) -> Sides:
    """``(I - H psi K) H phi = H psi``."""
    return inverse_factor(o) @ o.H @ o.phi, o.H @ o.psi


@identity(f"{RK} Identity 4 (44)")
def unfiltered_hinges(o: Operators) -> Sides:
    """``(I + H phi K) H psi = H phi``."""
    return factor(o) @ o.H @ o.psi, o.H @ o.phi


@identity(f"{RK} Identity 4 (44)")
def filtered_gain(o: Operators) -> Sides:
    """``phi K (I - H psi K) = psi K``."""
    return o.phi @ o.K @ inverse_factor(o), o.psi @ o.K


@identity(f"{RK} Identity 4 (44)")
def unfiltered_gain(o: Operators) -> Sides:
    """``psi K (I + H phi K) = phi K``."""
    return o.psi @ o.K @ factor(o), o.phi @ o.K


@identity(f"{JR} after (23)")
def mixed_decomposition(o: Operators) -> Sides:
    """``phi M psi* = phi P + P (psi - I)*``."""
    return o.phi @ o.P + o.P @ o.psi.T - o.P, o.phi @ o.M @ o.psi.T


@identity(f"{JR} (4.10c)")
def inertia_of_everything_outward(o: Operators) -> Sides:
    """``phi M phi* H* = (I + phi K H) P phi* H*``; with armature ``+ phi K A``."""
    filtered = (o.I + o.phi @ o.K @ o.H) @ o.P @ o.phi.T @ o.H.T
    return o.phi @ o.M @ o.phi.T @ o.H.T, filtered + o.phi @ o.K @ o.A if o.has_armature else filtered


@identity(f"{JR} (4.10d)")
def propagation_past_the_own_hinge(o: Operators) -> Sides:
    """``H phi tau_bar = H phi E_psi``: what a joint lets go it does not feel; with armature ``+ A inv(D) H``."""
    shifted = o.H @ o.phi @ o.E_psi
    return o.H @ o.phi @ o.tau_bar, shifted + o.A @ o.D.inverse() @ o.H if o.has_armature else shifted
