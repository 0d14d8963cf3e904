"""The identities of the papers: each equation with its number, as formulas are typed.

Tables are in the papers' order: where two identities lead to the same cost, the search takes the first. ``dense``
checks every one over the zoo of robots. Rodriguez & Kreutz-Delgado's ``Phi`` is ``phi E_phi`` and their ``Psi`` is
``psi E_phi``. Letters that mean something else here, or that no other formulas have:

    A                0 for robots without armature, so that ``D = H P H* + A`` holds for all
    rotors           the letter A itself
    B_link           the pick-off of the link that an identity is about
    S_of_v, S_V_of_v S and S_V of the velocity v, also where derivatives are along one freedom

``mass`` means ``H phi M phi* H* + A``; an expression without the ``+ A`` is left as it stands, because its value is
another.

Letters are constants of the robot, so there are no pattern variables: to apply an identity is to find one side, or its
transpose, and to put the other in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from recursa.model.model import WORLD
from recursa.operators.arithmetic import total, transpose
from recursa.operators.expression import Expression, Filter, Freedom, Leaf, Zero
from recursa.operators.leaves import Operators
from recursa.operators.parsing import read

__all__ = [
    "JR",
    "LINK_RULES",
    "RATE_RULES",
    "RK",
    "RULES",
    "TABLE",
    "Rule",
    "equations",
    "factor",
    "inverse_factor",
    "newton_euler",
    "row_of",
]

RK = "Rodriguez & Kreutz-Delgado"
JR = "Jain & Rodriguez"
_TABLE_4 = f"{JR} Table 4"
_GRAVITY = "gravity is E_phi* of itself, but for the roots"
_CONSTANT_GRAVITY = "gravity is constant in the world"

Sides = tuple[Expression, Expression] | None


# ---- the robots that an identity is about --------------------------------------------------------------------------


def _all(_: Operators) -> bool:
    return True


def _without_armature(o: Operators) -> bool:
    return not o.has_armature


def _of_the_mass_matrix(o: Operators) -> bool:
    return o.filter is None


def _chains(o: Operators) -> bool:
    """No body carries two others: trees couple branches."""
    parents = [joint.parent for joint in o.model.joints if joint.parent != WORLD]
    return len(parents) == len(set(parents))


def _single_freedoms(o: Operators) -> bool:
    return all(joint.kind.nv == 1 for joint in o.model.joints)


def _along_v(o: Operators) -> bool:
    return not o.direction


@dataclass(frozen=True)
class Rule:
    """An equation: its name, where it stands, and its two sides as a formula.

    ``holds`` says for which robots. With ``both_ways`` the dearer side is also put in place of the cheaper one: within
    an inverse it may be the cheaper one.
    """

    name: str
    equation: str
    formula: str
    holds: Callable[[Operators], bool] = _all
    both_ways: bool = False

    def sides(self, o: Operators, link: str | None = None) -> Sides:
        """Both sides for a robot (and a link, if it is about one); None where the identity does not hold."""
        return _sides(self.formula, o, link) if self.holds(o) else None


@lru_cache(maxsize=2048)
def _sides(formula: str, o: Operators, link: str | None) -> tuple[Expression, Expression]:
    letters = _letters(o) if link is None else {**_letters(o), "B_link": o.B(link)}
    left, right = (read(side, o, letters) for side in formula.split(" = "))
    return left, right if right.shape is not None else total((Zero(left.shape), right))


@lru_cache(maxsize=64)
def _letters(o: Operators) -> Mapping[str, Expression]:
    of_v = Operators(o.model)
    armature = o.A if o.has_armature else Zero(o.A.shape)
    return {"A": armature, "rotors": o.A, "S_of_v": of_v.S, "S_V_of_v": of_v.S_V}


# ---- bodies whose joints are locked or moved: phi, R, and Newton-Euler ---------------------------------------------

RIGID_RULES = [
    Rule("rigid propagation", "definition of phi", "inv(phi) = I - E_phi"),
    Rule("rigid propagation as inverse", "definition of phi", "inv(I - E_phi) = phi"),
    Rule("rigid shift after", "definition of phi", "phi E_phi = phi - I"),  # all but the own block
    Rule("rigid shift before", "definition of phi", "E_phi phi = phi - I"),
    Rule("composite inertia", f"{RK} (29), (31)", "M + E_phi R E_phi* = R"),
    Rule("composite decomposition", f"{RK} Identity 1 (28)", "phi M phi* = R + phi E_phi R + R E_phi* phi*"),
    Rule("composite decomposition with propagation", f"{RK} Identity 1 (28)", "phi R + R phi* - R = phi M phi*"),
    Rule("newton euler", f"{RK} (7)-(12), (23)", "H phi (M (phi* a + gravity) + b) = C"),
    # what gravity asks of a body and all it carries, with joints locked and free
    Rule("weight of everything outward", _GRAVITY, "phi M gravity = R gravity"),
    Rule("weight of everything articulated", _GRAVITY, "psi M gravity = P gravity"),
    # with torques the search does it: rewriting.py
    Rule(
        "link accelerations without torques",
        f"{JR} (21)",
        "phi* (a - H* inv(mass) C) = psi* (H* (-inv(D) H psi (P a + b) - G* gravity) + a)",
    ),
    Rule("no armature", "no armature", "rotors = 0", _without_armature),
]

# ---- bodies whose joints are free: P, D, G, K, tau_bar and psi -----------------------------------------------------

ARTICULATED_RULES = [
    Rule("hinge inertia", f"{RK} (34)-(36)", "H P H* + A = D"),
    Rule("gain", f"{RK} (34)-(36)", "P H* inv(D) = G"),
    Rule("gain times hinge inertia", f"{RK} (34)-(36)", "G D = P H*"),
    Rule("root of the hinge inertia", f"{JR} (5.1)", "W W* = D"),
    Rule("root of the inverse hinge inertia", f"{JR} (5.1)", "inv(W)* inv(W) = inv(D)"),
    Rule("half of the hinge inertia", f"{JR} (5.1)", "inv(W) D = W*"),
    Rule("half of the inverse hinge inertia", f"{JR} (5.1)", "inv(D) W = inv(W)*"),
    # so that H phi W_M is a factor of the mass matrix
    Rule("root of the link inertia", f"{RK}, section X", "W_M W_M* = M", _of_the_mass_matrix),
    Rule("shifted gain", "definition", "E_phi G = K"),
    Rule("shifted gain times hinge inertia", "definition", "E_phi P H* = K D"),
    Rule("articulation projection", "definition", "I - G H = tau_bar"),
    Rule("articulated shift", f"{RK} (38), (39)", "E_phi tau_bar = E_psi"),
    Rule("articulated shift as difference", "definition", "E_phi - K H = E_psi"),
    Rule("nothing left at the hinge", f"{RK} (34)-(36)", "H tau_bar = 0", _without_armature),
    Rule("nothing left of the inertia at the hinge", f"{JR} (4.12)", "tau_bar P H* = G A"),
    Rule("hinge times gain", f"{RK} (34)-(36)", "H G = I - A inv(D)"),
    Rule("projection twice", f"{RK} (34)-(36)", "tau_bar tau_bar = tau_bar", _without_armature),
    Rule("projected inertia", f"{RK} (34)-(36)", "tau_bar P = P tau_bar*"),  # what is left of P is symmetric
    Rule("riccati", f"{JR} (8)", "M + E_psi P E_phi* = P"),
    Rule("symmetric riccati", f"{JR} (8)", "M + E_psi P E_psi* + K A K* = P"),  # positive terms only
    Rule("riccati with gains", f"{RK} (34)-(36)", "M + E_phi P E_phi* - K D K* = P"),  # as Kalman filtering has it
    Rule(
        "articulated decomposition",
        f"{RK} Identity 2 (42)",
        "P + phi E_phi P + P E_phi* phi* + phi K D K* phi* = phi M phi*",
    ),
    Rule("articulated propagation", f"{RK} (39)", "inv(psi) = I - E_psi"),
    Rule("articulated propagation as inverse", f"{RK} (39)", "inv(I - E_psi) = psi"),
    Rule("articulated shift after", f"{RK} (39)", "psi E_psi = psi - I"),
    Rule("articulated shift before", f"{RK} (39)", "E_psi psi = psi - I"),
    Rule("inverse propagations", f"from {RK} (44)", "(I - E_phi) + K H = I - E_psi"),  # inv(phi) + K H = inv(psi)
    Rule("difference of propagations", f"from {RK} (44)", "psi K H phi = phi - psi"),
    Rule("difference of propagations turned", f"from {RK} (44)", "phi K H psi = phi - psi"),
    Rule("propagation through hinges", f"{RK} Identity 4 (44)", "(I - psi K H) phi = psi"),
    Rule("propagation through hinges turned", f"{RK} Identity 4 (44)", "phi (I - K H psi) = psi"),
    Rule("filtered hinges", f"{RK} Identity 4 (44)", "(I - H psi K) H phi = H psi"),
    Rule("unfiltered hinges", f"{RK} Identity 4 (44)", "(I + H phi K) H psi = H phi"),
    Rule("filtered gain", f"{RK} Identity 4 (44)", "phi K (I - H psi K) = psi K"),
    Rule("unfiltered gain", f"{RK} Identity 4 (44)", "psi K (I + H phi K) = phi K"),
    Rule("mixed decomposition", f"{JR} after (23)", "phi P + P psi* - P = phi M psi*"),
    Rule("inertia of everything outward", f"{JR} (4.10c)", "phi M phi* H* = (I + phi K H) P phi* H* + phi K A"),
    # what a joint lets go it does not feel
    Rule("propagation past the own hinge", f"{JR} (4.10d)", "H phi tau_bar = H phi E_psi + A inv(D) H"),
]

# ---- the mass matrix, its factors and its inverse, in joint space and at the links ---------------------------------

MASS_RULES = [
    Rule("innovations factorisation", f"{RK} Identity 3 (43)", "(I + H phi K) D (I + H phi K)* = mass"),
    Rule("inverse of the factor", f"{RK} Identity 5 (45)", "inv(I + H phi K) = I - H psi K"),
    Rule("inverse of the inverse factor", f"{RK} Identity 5 (45)", "inv(I - H psi K) = I + H phi K"),
    Rule("factor cancels", f"{RK} Identity 5 (45)", "(I + H phi K) (I - H psi K) = I"),
    Rule("inverse factor cancels", f"{RK} Identity 5 (45)", "(I - H psi K) (I + H phi K) = I"),
    Rule("innovations inverse", f"{RK} Identity 6 (46)", "inv(mass) = (I - H psi K)* inv(D) (I - H psi K)"),
    Rule("half diagonalised", f"{RK} Identity 3 (43)", "(I - H psi K) mass = D (I + H phi K)*"),
    Rule("cholesky factorisation", f"{JR} (5.2)", "(I + H phi K) W W* (I + H phi K)* = mass"),  # m m*
    Rule("cholesky inverse", f"{JR} (5.2)", "(inv(W) (I - H psi K))* inv(W) (I - H psi K) = inv(mass)"),  # l* l
    # the covariance of the innovations
    Rule(
        "diagonalised",
        f"from {RK} Identities 3 and 4 (43), (44)",
        "H psi M psi* H* + (I - H psi K) A (I - H psi K)* = D",
    ),
    Rule("operational compliance", f"{JR} (31)", "phi* H* inv(mass) H phi = psi* H* inv(D) H psi"),
    # one sweep less
    Rule(
        "bias without a sweep",
        f"{RK} (67), {JR} (11)",
        "(I - H psi K)* inv(D) H psi M phi* = (I - H psi K)* inv(D) H psi P + K* psi*",
    ),
    Rule(
        "compliance decomposition",
        f"{JR} (33)",
        "psi* Upsilon + Upsilon psi - Upsilon = psi* H* inv(D) H psi",
        _chains,
    ),
    Rule("compliance recursion", f"{JR} (34)", "E_psi* Upsilon E_psi + H* inv(D) H = Upsilon", _chains),
]

LINK_RULES = [
    # the inverse of the operational inertia of a link; trees too
    Rule(
        "compliance of a link",
        f"{JR} (31), (34)",
        "B_link* psi* H* inv(D) H psi B_link = B_link* Upsilon B_link",
        both_ways=True,
    ),
]
"""Those about a link."""

# ---- derivatives: Jain & Rodriguez, Table 4 and section 6, in the forms that hold for every joint ------------------
# A dot is the derivative in body axes along v, or along unit velocity of one freedom; v itself is held. S = crf(H* v)
# stands where the paper writes the joint's angular velocity: for sliding and helical joints that is no rotation.

_ROW_2 = f"from {_TABLE_4}, row 2"
TABLE = [
    Rule("rate of the rigid shift", f"{_TABLE_4}, row 1", "E_phi_dot = E_phi S"),
    Rule("rate of rigid propagation", f"{_TABLE_4}, row 2 (6.7)", "phi_dot = phi E_phi S phi"),
    Rule("rate of the hinge inertia", f"{_TABLE_4}, row 5", "D_dot = H P_dot H*"),  # armature is constant
    # of a block no product of letters is it
    Rule("rate of the root", f"from {_TABLE_4}, row 5", "W_dot = 1/2 H P_dot H* inv(W)*", _single_freedoms),
    Rule("rate of the gain", f"{_TABLE_4}, row 6", "G_dot = tau_bar P_dot H* inv(D)"),
    Rule("rate of the shifted gain", f"{_TABLE_4}, rows 1 and 6", "K_dot = E_phi (S G + tau_bar P_dot H* inv(D))"),
    Rule("rate of the projection", f"{_TABLE_4}, row 7", "tau_bar_dot = -tau_bar P_dot H* inv(D) H"),
    Rule(
        "rate of the articulated shift",
        f"{_TABLE_4}, row 8",
        "E_psi_dot = E_phi (S tau_bar - tau_bar P_dot H* inv(D) H)",
    ),
    Rule(
        "rate of articulated propagation",
        f"{_TABLE_4}, row 8",
        "psi_dot = psi E_phi (S tau_bar - tau_bar P_dot H* inv(D) H) psi",
    ),
    Rule("rate of the velocities", _ROW_2, "V_dot = phi* S* E_phi* V"),
    Rule("rate of the bias acceleration", _ROW_2, "a_dot = S_of_v* phi* S* E_phi* V"),
    Rule("rate of the gyroscopic force", _ROW_2, "b_dot = (N + S_V_of_v M) phi* S* E_phi* V"),
    Rule("rate of gravity", _CONSTANT_GRAVITY, "gravity_dot = phi* S* gravity"),
    Rule(
        "rate of the bias forces",
        _ROW_2,
        "C_dot = H phi_dot (M (phi* a + gravity) + b) + H phi (M (phi_dot* a + phi* a_dot + gravity_dot) + b_dot)",
    ),
]
"""What a derivative is: the left side is one letter, which the right side replaces."""

RATE_RULES = [
    Rule("gravity turns against the bodies", _CONSTANT_GRAVITY, "phi* S* gravity = S_V* gravity"),
    # recursions of the inertias
    # with armature too
    Rule(
        "rate of the riccati equation",
        f"{JR} (6.4), (6.5)",
        "E_phi (tau_bar P_dot tau_bar* + S tau_bar P + (S tau_bar P)*) E_phi* = P_dot",
    ),
    Rule(
        "rate of the riccati equation by lambda",
        f"{JR} (6.4)",
        "E_psi (P_dot + S P + P S*) E_psi* = P_dot",
        _without_armature,
    ),
    Rule("rate of the composite inertia", f"from {_TABLE_4}, row 1", "E_phi (R_dot + S R + R S*) E_phi* = R_dot"),
    # cross operators
    Rule("rate of propagation by velocities", f"{JR} (6.7)", "phi S_V - S_V phi = phi E_phi S phi"),
    # a body's velocity is its parent's, carried over, and the joint's
    Rule("cross operators of neighbours", f"{JR} (6.9)", "E_phi S_V - S_V E_phi = E_phi S"),
    Rule("own motion along one freedom", f"{JR} (6.8)", "H S = 0", _single_freedoms),
    Rule("propagation seen by one freedom", f"{JR} (6.8)", "H phi E_phi S = H phi S", _single_freedoms),
    # the printed row 8 has E_psi S tau_bar
    Rule("own motion behind the hinge", f"{_TABLE_4}, row 8", "H S tau_bar = 0", _without_armature),
    Rule(
        "sensitivity of the mass matrix",
        f"{JR} Identity 6.3 (6.14)",
        "H phi E_phi S phi M phi* H* + (H phi E_phi S phi M phi* H*)* = H phi (S phi M + M phi* S*) phi* H*",
        _single_freedoms,
    ),
    # vectors of the motion
    Rule("velocities", "definition of V", "phi* H* v = V"),
    Rule("bias acceleration", "definition of a", "S* V = a", _along_v),
    # the joint's own motion crossed with itself is nothing
    Rule("bias acceleration of the parent", "definition of a", "S* E_phi* V = a", _along_v),
    Rule("bias acceleration by velocities", "definition of a", "-S_V* H* v = a", _along_v),
    Rule("gyroscopic force", "definition of b", "S_V M V = b", _along_v),
    Rule("gyroscopic force by momentum", "definition of b", "N V = b"),
    # the inertial derivative of gravity
    Rule("gravity stands still", _CONSTANT_GRAVITY, "S_V* gravity + Omega_tilde gravity = 0"),
    # with quasi-velocities too
    Rule(
        "coriolis forces",
        f"{JR} (2.1)",
        "(H phi E_phi S phi M phi* H* + (H phi E_phi S phi M phi* H*)*) v + H S_V phi M V + H phi M gravity = C",
        _along_v,
    ),
]
"""Further identities of derivatives, for expressions that have some."""

# ---- for the search ------------------------------------------------------------------------------------------------

RULES = [*RIGID_RULES, *ARTICULATED_RULES, *MASS_RULES]
"""All identities but those about a link and of derivatives."""


def factor(o: Operators) -> Expression:
    """``I + H phi K``: the unit triangular factor of the mass matrix."""
    return o.I + o.H @ o.phi @ o.K


def inverse_factor(o: Operators) -> Expression:
    """``I - H psi K``: its inverse."""
    return o.I - o.H @ o.psi @ o.K


def newton_euler(o: Operators) -> tuple[Expression, Expression]:
    """``H phi (M (phi* a + gravity) + b) = C``."""
    sides = next(rule for rule in RULES if rule.name == "newton euler").sides(o)
    assert sides is not None
    return sides


def equations(
    o: Operators,
    links: tuple[str, ...] = (),
    directions: tuple[Freedom | None, ...] = (),
    filters: tuple[Filter, ...] = (),
) -> Iterator[tuple[Rule, Expression, Expression]]:
    """Every identity that holds for a robot with its two sides, and its transpose.

    Those of derivatives are about a direction: v (None) or one freedom. Those of the factors of the mass matrix also
    hold for other matrices of its form.
    """
    others = [Operators(o.model, filter=filter) for filter in filters]
    yield from _with_transposes(RULES, o)
    for other in others:
        yield from _with_transposes([*ARTICULATED_RULES, *MASS_RULES], other)
    for along in directions:
        yield from _with_transposes(RATE_RULES, Operators(o.model, along))
    for link in links:
        for one in (o, *others):
            yield from _with_transposes(LINK_RULES, one, link)


def row_of(rate: Leaf) -> tuple[Rule, Expression] | None:
    """What a derivative is, by Table 4; None for those that have a recursion of their own."""
    o = Operators(rate.robot, rate.along)
    for rule in TABLE:
        sides = rule.sides(o)
        if sides is not None and sides[0] == rate:
            return rule, sides[1]
    return None


def _with_transposes(
    rules: list[Rule], o: Operators, link: str | None = None
) -> Iterator[tuple[Rule, Expression, Expression]]:
    for rule in rules:
        sides = rule.sides(o, link)
        if sides is None:
            continue
        left, right = sides
        yield rule, left, right
        if transpose(left) != left or transpose(right) != right:
            yield replace(rule, name=f"{rule.name}, transposed"), transpose(left), transpose(right)
