"""Identities of bodies whose joints are locked or moved: phi, R, and Newton-Euler."""

from __future__ import annotations

from recursa.operators.accelerations import link_accelerations
from recursa.operators.expression import Zero
from recursa.operators.identity import JR, RK, Sides, identity
from recursa.operators.leaves import Operators

# ---- rigid propagation ---------------------------------------------------------------------------------------------


@identity("definition of phi")
def rigid_propagation(o: Operators) -> Sides:
    """``phi = inv(I - E_phi)``."""
    return o.phi.inverse(), o.I - o.E_phi


@identity("definition of phi")
def rigid_propagation_as_inverse(o: Operators) -> Sides:
    """``inv(I - E_phi) = phi``."""
    return (o.I - o.E_phi).inverse(), o.phi


@identity("definition of phi")
def rigid_shift_after(o: Operators) -> Sides:
    """``phi E_phi = phi - I``: all but the own block."""
    return o.phi @ o.E_phi, o.phi - o.I


@identity("definition of phi")
def rigid_shift_before(o: Operators) -> Sides:
    """``E_phi phi = phi - I``."""
    return o.E_phi @ o.phi, o.phi - o.I


@identity(f"{RK} (29), (31)")
def composite_inertia(o: Operators) -> Sides:
    """``M + E_phi R E_phi* = R``."""
    return o.M + o.E_phi @ o.R @ o.E_phi.T, o.R


@identity(f"{RK} Identity 1 (28)")
def composite_decomposition(o: Operators) -> Sides:
    """``phi M phi* = R + phi E_phi R + R E_phi* phi*``."""
    return o.phi @ o.M @ o.phi.T, o.R + o.phi @ o.E_phi @ o.R + o.R @ o.E_phi.T @ o.phi.T


@identity(f"{RK} Identity 1 (28)")
def composite_decomposition_with_propagation(o: Operators) -> Sides:
    """``phi M phi* = phi R + R phi* - R``: the same with ``phi E_phi = phi - I``."""
    return o.phi @ o.R + o.R @ o.phi.T - o.R, o.phi @ o.M @ o.phi.T


# ---- Newton-Euler --------------------------------------------------------------------------------------------------


@identity(f"{RK} (7)-(12), (23)")
def newton_euler(o: Operators) -> Sides:
    """``H phi (M (phi* a + gravity) + b) = C``."""
    return o.H @ o.phi @ (o.M @ (o.phi.T @ o.a + o.gravity) + o.b), o.C


@identity("gravity is E_phi* of itself, but for the roots")
def weight_of_everything_outward(o: Operators) -> Sides:
    """What gravity asks of a body and all it carries, locked: ``phi M gravity = R gravity``."""
    return o.phi @ o.M @ o.gravity, o.R @ o.gravity


@identity("gravity is E_phi* of itself, but for the roots")
def weight_of_everything_articulated(o: Operators) -> Sides:
    """The same with free joints: ``psi M gravity = P gravity``."""
    return o.psi @ o.M @ o.gravity, o.P @ o.gravity


@identity(f"{JR} (21)")
def link_accelerations_without_torques(o: Operators) -> Sides:
    """``phi* (a - H* inv(mass) C) = psi* (H* u + a)``, u being what is smoothed; with torques the search does it."""
    return o.phi.T @ (o.a - o.H.T @ o.mass.inverse() @ o.C), link_accelerations(o, None, -1.0)


@identity("no armature")
def no_armature(o: Operators) -> Sides:
    """``A = 0`` where no joint has a rotor."""
    return None if o.has_armature else (o.A, Zero(o.A.shape))
