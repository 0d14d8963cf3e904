"""The identities of the papers, one function each: the two sides of an equation in the operators of a robot.

An identity is a function of a robot's :class:`Operators` that returns both sides, or None where it does not hold for
that robot (most often: because of armature). Leaves are constants of the robot, so there are no pattern variables: to
apply an identity is to find one side, or its transpose, and to put the other in its place. ``dense`` checks every one
over the zoo of robots.

Rodriguez & Kreutz-Delgado's ``Phi`` is ``phi E_phi`` and their ``Psi`` is ``psi E_phi``. With armature A,
``D = H P H* + A`` and mass means ``H phi M phi* H* + A``; an expression without the ``+ A`` is left as it stands,
because its value is another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from recursa.model.model import WORLD, Model
from recursa.operators.expression import Expression, Identity, Zero, scaled, total, transpose
from recursa.operators.leaves import Operators
from recursa.operators.shapes import space_of

RK = "Rodriguez & Kreutz-Delgado"
JR = "Jain & Rodriguez"

Sides = tuple[Expression, Expression] | None


@dataclass(frozen=True)
class Rule:
    """An equation: its name, where it stands, and its two sides for a robot (and a link, if it is about one)."""

    name: str
    equation: str
    sides: Callable[..., Sides]


RULES: list[Rule] = []
LINK_RULES: list[Rule] = []

_Function = TypeVar("_Function", bound=Callable[..., Sides])


def identity(equation: str, table: list[Rule] = RULES) -> Callable[[_Function], _Function]:
    """Decorator: enter a function in a table of identities, under its own name."""

    def enter(sides: _Function) -> _Function:
        table.append(Rule(sides.__name__.replace("_", " "), equation, sides))
        return sides

    return enter


# ---- what they are made of -----------------------------------------------------------------------------------------


def factor(o: Operators) -> Expression:
    """``I + H phi K``: the unit triangular factor of the mass matrix."""
    return o.I + o.H @ o.phi @ o.K


def inverse_factor(o: Operators) -> Expression:
    """``I - H psi K``: its inverse."""
    return o.I - o.H @ o.psi @ o.K


def one(o: Operators) -> Expression:
    """The identity of joint space."""
    return Identity(space_of(o.model, "joint"))


def is_chain(model: Model) -> bool:
    """Whether no body carries two others."""
    parents = [joint.parent for joint in model.joints if joint.parent != WORLD]
    return len(parents) == len(set(parents))


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


@identity(f"{RK} (7)-(12), (27)")
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


@identity("no armature")
def no_armature(o: Operators) -> Sides:
    """``A = 0`` where no joint has a rotor."""
    return None if o.has_armature else (o.A, Zero(o.A.shape))


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


@identity(f"{JR} (31), (34)", LINK_RULES)
def compliance_of_a_link(o: Operators, link: str) -> Sides:
    """``B* psi* H* inv(D) H psi B = B* Upsilon B``: the inverse of the operational inertia of a link; trees too."""
    pick = o.B(link)
    inner = o.psi.T @ o.H.T @ o.D.inverse() @ o.H @ o.psi
    return pick.T @ inner @ pick, pick.T @ o.Upsilon @ pick


# ---- for the search ------------------------------------------------------------------------------------------------


def equations(o: Operators, links: tuple[str, ...] = ()) -> Iterator[tuple[Rule, Expression, Expression]]:
    """Every identity that holds for a robot with its two sides, and its transpose."""
    for rule in RULES:
        yield from _with_transpose(rule, rule.sides(o))
    for link in links:
        for rule in LINK_RULES:
            yield from _with_transpose(rule, rule.sides(o, link))


def _with_transpose(rule: Rule, sides: Sides) -> Iterator[tuple[Rule, Expression, Expression]]:
    if sides is None:
        return
    left, right = sides
    yield rule, left, right
    if transpose(left) != left or transpose(right) != right:
        yield Rule(f"{rule.name}, transposed", rule.equation, rule.sides), transpose(left), transpose(right)


def accelerations(o: Operators, y: Expression | None, weight: float) -> Expression:
    """``inv(mass) (y + weight C)`` without computing C: Algorithm 3 (61)-(65) and ``psi M gravity = P gravity``.

    With ``u = inv(D) (y - H psi (K y + P a + b)) - G* gravity`` it is ``u - K* psi* (H* u + a)``, weight -1.
    """
    a, b, gravity = (scaled(-weight, x) for x in (o.a, o.b, o.gravity))
    bias = o.P @ a + b
    innovations = -(o.H @ o.psi @ bias) if y is None else y - o.H @ o.psi @ (o.K @ y + bias)
    u = o.D.inverse() @ innovations - o.G.T @ gravity
    return u - o.K.T @ o.psi.T @ (o.H.T @ u + a)
