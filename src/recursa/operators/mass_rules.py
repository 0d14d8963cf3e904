"""Identities of the mass matrix, its factors and its inverse, in joint space and at the links."""

from __future__ import annotations

from recursa.operators.identity import JR, LINK_RULES, RK, Sides, factor, identity, inverse_factor, is_chain, one
from recursa.operators.leaves import Operators

# ---- the mass matrix -----------------------------------------------------------------------------------------------


@identity(f"{RK} Identity 3 (43)")
def innovations_factorisation(o: Operators) -> Sides:
    """``mass = (I + H phi K) D (I + H phi K)*``."""
    return factor(o) @ o.D @ factor(o).T, o.mass


@identity(f"{RK} Identity 5 (45)")
def inverse_of_the_factor(o: Operators) -> Sides:
    """``inv(I + H phi K) = I - H psi K``."""
    return factor(o).inverse(), inverse_factor(o)


@identity(f"{RK} Identity 5 (45)")
def inverse_of_the_inverse_factor(o: Operators) -> Sides:
    """``inv(I - H psi K) = I + H phi K``."""
    return inverse_factor(o).inverse(), factor(o)


@identity(f"{RK} Identity 5 (45)")
def factor_cancels(o: Operators) -> Sides:
    """``(I + H phi K) (I - H psi K) = I``."""
    return factor(o) @ inverse_factor(o), one(o)


@identity(f"{RK} Identity 5 (45)")
def inverse_factor_cancels(o: Operators) -> Sides:
    """``(I - H psi K) (I + H phi K) = I``."""
    return inverse_factor(o) @ factor(o), one(o)


@identity(f"{RK} Identity 6 (46)")
def innovations_inverse(o: Operators) -> Sides:
    """``inv(mass) = (I - H psi K)* inv(D) (I - H psi K)``."""
    return o.mass.inverse(), inverse_factor(o).T @ o.D.inverse() @ inverse_factor(o)


@identity(f"{RK} Identity 3 (43)")
def half_diagonalised(o: Operators) -> Sides:
    """``(I - H psi K) mass = D (I + H phi K)*``."""
    return inverse_factor(o) @ o.mass, o.D @ factor(o).T


@identity(f"{JR} (5.2)")
def cholesky_factorisation(o: Operators) -> Sides:
    """``m m* = mass``, ``m = (I + H phi K) W``."""
    return factor(o) @ o.W @ o.W.T @ factor(o).T, o.mass


@identity(f"{JR} (5.2)")
def cholesky_inverse(o: Operators) -> Sides:
    """``l* l = inv(mass)``, ``l = inv(W) (I - H psi K)``."""
    root = o.W.inverse() @ inverse_factor(o)
    return root.T @ root, o.mass.inverse()


@identity(f"from {RK} Identities 3 and 4 (43), (44)")
def diagonalised(o: Operators) -> Sides:
    """``H psi M psi* H* = D``: the covariance of the innovations; armature adds ``(I - H psi K) A (I - H psi K)*``."""
    bodies = o.H @ o.psi @ o.M @ o.psi.T @ o.H.T
    return (bodies + inverse_factor(o) @ o.A @ inverse_factor(o).T if o.has_armature else bodies), o.D


@identity(f"{JR} (31)")
def operational_compliance(o: Operators) -> Sides:
    """``phi* H* inv(mass) H phi = psi* H* inv(D) H psi``."""
    return (
        o.phi.T @ o.H.T @ o.mass.inverse() @ o.H @ o.phi,
        o.psi.T @ o.H.T @ o.D.inverse() @ o.H @ o.psi,
    )


@identity(f"{RK} (67), {JR} (11)")
def bias_without_a_sweep(o: Operators) -> Sides:
    """``(I - H psi K)* inv(D) H psi M phi* = (I - H psi K)* inv(D) H psi P + K* psi*``: one sweep less."""
    start = inverse_factor(o).T @ o.D.inverse() @ o.H @ o.psi
    return start @ o.M @ o.phi.T, start @ o.P + o.K.T @ o.psi.T


# ---- operational space ---------------------------------------------------------------------------------------------


@identity(f"{JR} (33)")
def compliance_decomposition(o: Operators) -> Sides:
    """``psi* H* inv(D) H psi = psi* Upsilon + Upsilon psi - Upsilon``, in chains (trees couple branches)."""
    if not is_chain(o.model):
        return None
    left = o.psi.T @ o.H.T @ o.D.inverse() @ o.H @ o.psi
    return o.psi.T @ o.Upsilon + o.Upsilon @ o.psi - o.Upsilon, left


@identity(f"{JR} (34)")
def compliance_recursion(o: Operators) -> Sides:
    """``E_psi* Upsilon E_psi + H* inv(D) H = Upsilon``, in chains."""
    if not is_chain(o.model):
        return None
    return o.E_psi.T @ o.Upsilon @ o.E_psi + o.H.T @ o.D.inverse() @ o.H, o.Upsilon


@identity(f"{JR} (31), (34)", LINK_RULES, both_ways=True)
def compliance_of_a_link(o: Operators, link: str) -> Sides:
    """``B* psi* H* inv(D) H psi B = B* Upsilon B``: the inverse of the operational inertia of a link; trees too."""
    pick = o.B(link)
    inner = o.psi.T @ o.H.T @ o.D.inverse() @ o.H @ o.psi
    return pick.T @ inner @ pick, pick.T @ o.Upsilon @ pick
