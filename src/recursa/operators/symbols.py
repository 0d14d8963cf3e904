"""The one table of operator symbols: all that printing, parsing, costs, lowering, the documentation and the tests know
of a letter. A new letter is an entry here, and its definition by matrices in ``evaluation.py``.

Letters of Rodriguez & Kreutz-Delgado and of Jain & Rodriguez. Bodies are numbered base first, blocks are in
link axes at the link origin, and what gathers from tip to base is upper block triangular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Any, Literal, NamedTuple

from recursa.operators import steps


class Structure(Flag):
    """What is known of an operator without its numbers."""

    GENERAL = 0
    BLOCK_DIAGONAL = auto()  # body k acts on body k only
    GATHERING = auto()  # body k hears itself and bodies outward of it
    SPREADING = auto()  # body k hears itself and bodies inward of it
    STRICT = auto()  # body k does not hear itself
    UNIT = auto()  # body k hears itself with weight one
    SYMMETRIC = auto()
    SKEW = auto()
    SEMIDEFINITE = auto()
    DEFINITE = auto()
    DIAGONAL = auto()  # every number acts on itself only


class Local(NamedTuple):
    """What happens at one body: a step function, and what it reads beside the operand.

    A name in braces is a buffer of the operator's velocity, ``{v}`` the velocity itself: v, or a unit vector.
    """

    fn: Callable[..., Any]
    reads: tuple[str, ...]


class Recursion(NamedTuple):
    """What must have been computed before a letter can be used: its name, multiplications per body, and direction."""

    name: str
    multiplications: int
    way: Literal["inward", "outward"]


Sides = tuple[str | None, str | None]
"""What an operator gives and what it takes: "motion", "force", "joint", "tip"; None for any, or nothing."""


@dataclass(frozen=True)
class Symbol:
    """A letter: how it is typed, printed and set, what it means, its shape by the names of spaces, and its structure.

    ``rows`` and ``columns`` are "joint" (nv), "link" (6 nbodies), "tip" (6), "constraint" (ncon) or "one".
    ``moving``: depends on v too.
    ``sides`` are None where they depend on the place of the link frame.

    ``applied``, ``transposed``, ``inverted`` and ``inverted_transposed`` are what the letter, its transpose, its
    inverse and the transpose of that do at one body; of a vector ``applied`` is what it is there. ``factors`` are
    letters that it is the product of, and lowered as. ``multiplications`` are those per body of applying it, with
    one-freedom joints, beside those of what it ``needs``.
    ``steady``: constant in body axes (Table 4, rows 3 and 4). ``mass_alone``: free of inertias, or the mass matrix's
    own, so that moving them inward changes nothing. ``rate_of``: the letter that it is the derivative of. ``takes``: a
    recursion of its own, in words.
    """

    code: str
    text: str
    latex: str
    words: str
    meaning: str
    rows: str
    columns: str
    structure: Structure = Structure.GENERAL
    moving: bool = False
    also: tuple[str, ...] = ()
    sides: Sides | None = None
    multiplications: int = 0
    needs: tuple[Recursion, ...] = ()
    applied: Local | None = None
    transposed: Local | None = None
    inverted: Local | None = None
    inverted_transposed: Local | None = None
    factors: tuple[str, ...] = ()
    steady: bool = False
    mass_alone: bool = False
    rate_of: Symbol | None = None
    takes: str = ""

    @property
    def is_vector(self) -> bool:
        """Whether it is a vector rather than a matrix."""
        return self.columns == "one"

    @property
    def is_block_diagonal(self) -> bool:
        """Whether it acts at each body by itself."""
        return Structure.BLOCK_DIAGONAL in self.structure

    @property
    def is_rate(self) -> bool:
        """Whether it is a derivative."""
        return self.rate_of is not None

    @property
    def by_table(self) -> bool:
        """Whether it is a derivative without a recursion of its own, which its row of Table 4 replaces."""
        return self.is_rate and self.applied is None

    @property
    def is_directed(self) -> bool:
        """Whether it knows a velocity: v, or one freedom's unit."""
        return self.is_rate or (self.applied is not None and any(name.startswith("{") for name in self.applied.reads))

    @property
    def is_articulated(self) -> bool:
        """Whether it belongs to the factors of the mass matrix, or of another of its form."""
        return RICCATI in self.needs and not self.is_rate

    @property
    def buffer(self) -> str | None:
        """The buffer (or input) that holds its numbers, if one does."""
        return self.applied.reads[0] if self.applied is not None and self.applied.fn in _HELD else None


_HELD = (
    steps.same,
    steps.inertia_times,
    steps.compliance_times,
)  # what only reads a buffer, or multiplies by it

RICCATI = Recursion("articulated", 132, "inward")
"""The articulated-body recursion (34)-(36)."""
_COMPOSITE = Recursion("composite", 52, "inward")
_COMPLIANCE = Recursion("compliance", 153, "outward")
_VELOCITY = Recursion("velocity", 24, "outward")
_GRAVITY = Recursion("gravity", 24, "outward")
_BIAS_ACCELERATION = Recursion("a", 12, "outward")
_BIAS_FORCE = Recursion("b", 42, "outward")
_BIAS = Recursion("C", 24 + 24 + 24 + 6, "inward")
_ENDS = Recursion("ends of constraints", 36, "outward")
_RATE_OF_P = Recursion("rate of P", 210, "inward")
_RATE_OF_R = Recursion("rate of R", 76, "inward")
_RATE_OF_UPSILON = Recursion("rate of Upsilon", 520, "outward")

_S = Structure
_BLOCKS = _S.BLOCK_DIAGONAL | _S.SYMMETRIC
_INERTIA = _S.BLOCK_DIAGONAL | _S.SYMMETRIC | _S.SEMIDEFINITE
_FORCES: Sides = ("force", "force")
FORCE_OF_MOTION: Sides = ("force", "motion")
"""The sides of an inertia."""


def _at(fn: Callable[..., Any], *reads: str) -> Local:
    return Local(fn, reads)


def _rate(
    of: Symbol,
    text: str,
    latex: str,
    meaning: str,
    structure: Structure = _S.GENERAL,
    *,
    applied: Local | None = None,
    multiplications: int = 0,
    needs: tuple[Recursion, ...] = (),
    takes: str = "",
) -> Symbol:
    """The symbol of a derivative, whose meaning is a row of Table 4; in body axes, so with the sides of the letter."""
    return Symbol(
        f"{of.code}_dot", text, latex, f"rate of the {of.words}", meaning, of.rows, of.columns, structure, moving=True,
        sides=of.sides, multiplications=multiplications, needs=(() if of.is_vector else of.needs) + needs,
        applied=applied, rate_of=of, takes=takes,
    )  # fmt: skip


class Kind(Enum):
    """The operators and vectors that a robot comes with."""

    H = Symbol(
        "H", "H", "H", "hinge map", "rows are joint axes; V = φ* H* v", "joint", "link", _S.BLOCK_DIAGONAL,
        sides=("joint", "force"), multiplications=6, steady=True, mass_alone=True,
        applied=_at(steps.hinge, "joint"), transposed=_at(steps.hinge_transposed, "joint"),
    )  # fmt: skip
    E_PHI = Symbol(
        "E_phi", "E_φ", r"\mathcal{E}_\phi", "one-step rigid shift", "from a body to its parent",
        "link", "link", _S.GATHERING | _S.STRICT, also=("E_ϕ",), sides=_FORCES, multiplications=24, mass_alone=True,
        applied=_at(steps.shift, "X"), transposed=_at(steps.shift_transposed, "X"),
    )  # fmt: skip
    PHI = Symbol(
        "phi", "φ", r"\phi", "rigid propagation", "φ = inv(I - E_φ); gathers tip to base",
        "link", "link", _S.GATHERING | _S.UNIT, also=("ϕ",), sides=_FORCES, multiplications=24, mass_alone=True,
        applied=_at(steps.gather, "X"), transposed=_at(steps.spread, "X"),
    )  # fmt: skip
    M = Symbol(
        "M", "M", "M", "link spatial inertia", "of each body by itself", "link", "link", _INERTIA,
        sides=FORCE_OF_MOTION, multiplications=24, steady=True,
        applied=_at(steps.inertia_times, "inertia"), inverted=_at(steps.inertia_solve, "inertia"),
    )  # fmt: skip
    M_ROOT = Symbol(  # without sides: a triangular root depends on the axes
        "W_M", "W_M", "W_M", "root of the link inertia", "W_M W_M* = M, lower triangular at each body",
        "link", "link", _S.BLOCK_DIAGONAL, multiplications=21, steady=True,
        applied=_at(steps.inertia_root_times, "inertia"),
        transposed=_at(steps.inertia_root_transposed, "inertia"),
        inverted=_at(steps.inertia_root_solve, "inertia"),
        inverted_transposed=_at(steps.inertia_root_solve_transposed, "inertia"),
    )  # fmt: skip
    R = Symbol(
        "R", "R", "R", "composite-body inertia", "R = M + E_φ R E_φ*, diagonal blocks", "link", "link", _INERTIA,
        sides=FORCE_OF_MOTION, multiplications=24, needs=(_COMPOSITE,),
        takes="the composite-body recursion (31), tip to base",
        applied=_at(steps.inertia_times, "R"), inverted=_at(steps.inertia_solve, "R"),
    )  # fmt: skip
    P = Symbol(
        "P", "P", "P", "articulated-body inertia", "P = M + E_ψ P E_φ*, diagonal blocks", "link", "link", _INERTIA,
        sides=FORCE_OF_MOTION, multiplications=36, needs=(RICCATI,),
        applied=_at(steps.inertia_times, "P"), inverted=_at(steps.inertia_solve, "P"),
    )  # fmt: skip
    D = Symbol(  # the pivots of the mass matrix
        "D", "D", "D", "hinge inertia", "D = H P H* + A", "joint", "joint", _INERTIA | _S.DEFINITE,
        sides=("joint", "joint"), multiplications=1, needs=(RICCATI,), mass_alone=True,
        applied=_at(steps.hinge_inertia_times, "joint", "P"), inverted=_at(steps.hinge_inertia_solve, "elimination"),
    )  # fmt: skip
    W = Symbol(
        "W", "W", "W", "root of the hinge inertia", "W W* = D, lower triangular at each joint",
        "joint", "joint", _S.BLOCK_DIAGONAL,
        sides=("joint", "joint"), multiplications=2, needs=(RICCATI,), mass_alone=True,
        applied=_at(steps.root_times, "elimination"),
        transposed=_at(steps.root_transposed, "elimination"),
        inverted=_at(steps.root_solve, "elimination"),
        inverted_transposed=_at(steps.root_solve_transposed, "elimination"),
    )  # fmt: skip
    G = Symbol(
        "G", "G", "G", "Kalman gain", "G = P H* inv(D)", "link", "joint", _S.BLOCK_DIAGONAL,
        sides=("force", "joint"), multiplications=6, needs=(RICCATI,),
        applied=_at(steps.gain_times, "elimination"), transposed=_at(steps.gain_transposed, "elimination"),
    )  # fmt: skip
    K = Symbol(
        "K", "K", "K", "shifted gain", "K = E_φ G, in parent axes", "link", "joint", _S.GATHERING | _S.STRICT,
        sides=("force", "joint"), multiplications=30, needs=(RICCATI,), factors=("E_phi", "G"),
    )  # fmt: skip
    TAU_BAR = Symbol(
        "tau_bar", "τ̄", r"\bar{\tau}", "articulation projection", "τ̄ = I - G H",
        "link", "link", _S.BLOCK_DIAGONAL, also=("taubar",), sides=_FORCES, multiplications=12, needs=(RICCATI,),
        applied=_at(steps.projected, "elimination"), transposed=_at(steps.projected_transposed, "elimination"),
    )  # fmt: skip
    E_PSI = Symbol(
        "E_psi", "E_ψ", r"\mathcal{E}_\psi", "one-step articulated shift", "E_ψ = E_φ τ̄",
        "link", "link", _S.GATHERING | _S.STRICT,
        sides=_FORCES, multiplications=36, needs=(RICCATI,), factors=("E_phi", "tau_bar"),
    )  # fmt: skip
    PSI = Symbol(
        "psi", "ψ", r"\psi", "articulated propagation", "ψ = inv(I - E_ψ)", "link", "link", _S.GATHERING | _S.UNIT,
        sides=_FORCES, multiplications=36, needs=(RICCATI,),
        applied=_at(steps.gather_articulated, "X", "elimination"),
        transposed=_at(steps.spread_articulated, "X", "elimination"),
    )  # fmt: skip
    A = Symbol(
        "A", "A", "A", "armature", "reflected rotor inertia", "joint", "joint", _INERTIA | _S.DIAGONAL,
        sides=("joint", "joint"), multiplications=1, steady=True, mass_alone=True,
        applied=_at(steps.armature_times, "joint"), inverted=_at(steps.armature_solve, "joint"),
    )  # fmt: skip
    UPSILON = Symbol(
        "Upsilon", "Υ", r"\Upsilon", "operational compliance", "diagonal blocks of φ* H* inv(mass) H φ",
        "link", "link", _INERTIA, also=("Ups",),
        sides=("motion", "force"), multiplications=36, needs=(RICCATI, _COMPLIANCE),
        applied=_at(steps.compliance_times, "Upsilon"), inverted=_at(steps.compliance_solve, "Upsilon"),
    )  # fmt: skip
    B = Symbol(
        "B", "B", "B", "pick-off", "takes a wrench at a link's origin to its body", "link", "tip",
        sides=("force", "tip"), multiplications=1, steady=True, mass_alone=True,
    )  # fmt: skip
    B_CONSTRAINT = Symbol(
        "B_c", "B_c", "B_c", "pick-off of constraints", "takes forces of loops and contacts to the bodies they act on",
        "link", "constraint", sides=("force", "constraint"), multiplications=12, needs=(_ENDS,), mass_alone=True,
        takes="the poses of the links that are held, base to tip",
    )  # fmt: skip
    T_CONSTRAINT = Symbol(
        "T_c", "T_c", "T_c", "torques of constraints", "takes forces of relations and told joints to these joints",
        "joint", "constraint", sides=("joint", "constraint"), multiplications=1, mass_alone=True,
    )  # fmt: skip
    BIAS_ACCELERATION = Symbol(
        "a", "a", "a", "bias acceleration", "crm(V) H* v, body derivative", "link", "one", moving=True,
        sides=("motion", None), needs=(_VELOCITY, _BIAS_ACCELERATION), mass_alone=True, applied=_at(steps.same, "c"),
    )  # fmt: skip
    BIAS_FORCE = Symbol(
        "b", "b", "b", "gyroscopic force", "crf(V) M V, body derivative", "link", "one", moving=True,
        sides=("force", None), needs=(_VELOCITY, _BIAS_FORCE), applied=_at(steps.same, "f"),
    )  # fmt: skip
    VELOCITY = Symbol(
        "V", "V", "V", "link velocities", "V = φ* H* v", "link", "one", moving=True,
        sides=("motion", None), needs=(_VELOCITY,), mass_alone=True, applied=_at(steps.same, "V"),
    )  # fmt: skip
    GRAVITY = Symbol(
        "gravity", "gravity", r"g_\uparrow", "upward acceleration", "minus gravity, at every body in its own axes",
        "link", "one",
        sides=("motion", None), needs=(_GRAVITY,), mass_alone=True, applied=_at(steps.same, "alpha"),
    )  # fmt: skip
    BIAS = Symbol(  # from the derivatives of the mass matrix
        "C", "C", "C", "bias forces", "C = H φ (M (φ* a + gravity) + b)", "joint", "one", moving=True,
        sides=("joint", None), needs=(_VELOCITY, _BIAS_ACCELERATION, _BIAS_FORCE, _BIAS), mass_alone=True,
    )  # fmt: skip
    SPEED = Symbol(
        "v", "v", "v", "joint speeds", "given with the state", "joint", "one", moving=True,
        sides=("joint", None), applied=_at(steps.same, "v"),
    )  # fmt: skip

    # ---- cross operators of a velocity, by which operators change (Jain & Rodriguez, section 6)
    S = Symbol(
        "S", "S", "S", "joint cross operator", "S = crf(H* v), of the joint's own motion",
        "link", "link", _S.BLOCK_DIAGONAL, moving=True, sides=_FORCES, multiplications=18,
        applied=_at(steps.joint_cross, "joint", "{v}"), transposed=_at(steps.joint_cross_transposed, "joint", "{v}"),
    )  # fmt: skip
    S_V = Symbol(
        "S_V", "S_V", "S_V", "velocity cross operator", "S_V = crf(V), of the link velocities",
        "link", "link", _S.BLOCK_DIAGONAL, moving=True, sides=_FORCES, multiplications=18, needs=(_VELOCITY,),
        applied=_at(steps.velocity_cross, "{V}"), transposed=_at(steps.velocity_cross_transposed, "{V}"),
    )  # fmt: skip
    OMEGA = Symbol(  # without sides: it is rotation about the link origin
        "Omega_tilde", "Ω̃", r"\tilde{\Omega}", "rotation operator", "both halves times the angular velocity",
        "link", "link", _S.BLOCK_DIAGONAL | _S.SKEW, moving=True, multiplications=12, needs=(_VELOCITY,),
        applied=_at(steps.rotated, "{V}"),
    )  # fmt: skip
    N = Symbol(
        "N", "N", "N", "momentum cross operator", "N x = crf(x) M V",
        "link", "link", _S.BLOCK_DIAGONAL | _S.SKEW, moving=True,
        sides=FORCE_OF_MOTION, multiplications=42, needs=(_VELOCITY,),
        applied=_at(steps.momentum_cross, "inertia", "V"),
    )  # fmt: skip

    # ---- derivatives in body axes along v, v itself held (Table 4)
    E_PHI_DOT = _rate(E_PHI, "Ė_φ", r"\dot{\mathcal{E}}_\phi", "E_φ S", _S.GATHERING | _S.STRICT)
    PHI_DOT = _rate(PHI, "φ̇", r"\dot{\phi}", "φ E_φ S φ", _S.GATHERING | _S.STRICT)
    P_DOT = _rate(
        P, "Ṗ", r"\dot{P}", "Ṗ = E_φ (τ̄ Ṗ τ̄* + S τ̄ P + τ̄ P S*) E_φ*", _BLOCKS,
        applied=_at(steps.inertia_times, "{Pdot}"), multiplications=36, needs=(_RATE_OF_P,),
        takes="Algorithm 6.1 of Jain & Rodriguez (6.5), tip to base",
    )  # fmt: skip
    R_DOT = _rate(
        R, "Ṙ", r"\dot{R}", "Ṙ = E_φ (Ṙ + S R + R S*) E_φ*", _BLOCKS,
        applied=_at(steps.inertia_times, "{Rdot}"), multiplications=24, needs=(_RATE_OF_R,),
        takes="the derivative of the composite-body recursion, tip to base",
    )  # fmt: skip
    D_DOT = _rate(D, "Ḋ", r"\dot{D}", "H Ṗ H*", _BLOCKS)
    W_DOT = _rate(W, "Ẇ", r"\dot{W}", "½ Ḋ W⁻¹* with one freedom at every joint", _S.BLOCK_DIAGONAL)
    G_DOT = _rate(G, "Ġ", r"\dot{G}", "τ̄ Ṗ H* D⁻¹", _S.BLOCK_DIAGONAL)
    K_DOT = _rate(K, "K̇", r"\dot{K}", "E_φ (S G + τ̄ Ṗ H* D⁻¹)", _S.GATHERING | _S.STRICT)
    TAU_BAR_DOT = _rate(TAU_BAR, "τ̄̇", r"\dot{\bar{\tau}}", "-τ̄ Ṗ H* D⁻¹ H", _S.BLOCK_DIAGONAL)
    E_PSI_DOT = _rate(
        E_PSI, "Ė_ψ", r"\dot{\mathcal{E}}_\psi", "E_φ S τ̄ - E_ψ Ṗ H* D⁻¹ H", _S.GATHERING | _S.STRICT
    )  # fmt: skip
    PSI_DOT = _rate(PSI, "ψ̇", r"\dot{\psi}", "ψ Ė_ψ ψ", _S.GATHERING | _S.STRICT)
    UPSILON_DOT = _rate(
        UPSILON, "Υ̇", r"\dot{\Upsilon}", "diagonal blocks of d/dt (ψ* H* D⁻¹ H ψ)", _BLOCKS,
        applied=_at(steps.compliance_times, "{Upsilondot}"), multiplications=36, needs=(_RATE_OF_P, _RATE_OF_UPSILON),
        takes="Algorithm 6.1 (6.5), tip to base, and the derivative of (34), base to tip",
    )  # fmt: skip
    VELOCITY_DOT = _rate(VELOCITY, "V̇", r"\dot{V}", "φ* S* E_φ* V")
    BIAS_ACCELERATION_DOT = _rate(BIAS_ACCELERATION, "ȧ", r"\dot{a}", "S* V̇")
    BIAS_FORCE_DOT = _rate(BIAS_FORCE, "ḃ", r"\dot{b}", "(N + S_V M) V̇")
    GRAVITY_DOT = _rate(GRAVITY, "gravity_dot", r"\dot{g}_\uparrow", "S_V* gravity")
    BIAS_DOT = _rate(BIAS, "Ċ", r"\dot{C}", "that of H φ (M (φ* a + gravity) + b)")

    def __reduce_ex__(self, _: object) -> tuple[Any, ...]:
        """The letter by its name, not its entry in the table."""
        return getattr, (Kind, self.name)


SYMBOLS: dict[str, Kind] = {kind.value.code: kind for kind in Kind}
"""Every symbol by the way it is typed."""

SHORT: dict[str, str] = {
    "I": "I", "mass": "mass", "m": "m", "l": "l", "ℓ": "l", "ell": "l", "Phi": "Phi", "Φ": "Phi", "Psi": "Psi",
    "Ψ": "Psi", "constraints": "constraints", "G_c": "constraints",
    **dict.fromkeys(("theta_dot", "thetadot", "θ̇"), "v"),
}  # fmt: skip
"""Names for whole expressions, by the way they are typed."""

_SPEEDS = "joint speeds are v, a free vector of your own is named with vectors="
_ANGLES = "joint coordinates come with the call, the q of f(q, v, ...)"
_RATES = "a rate is typed phi_dot, or d/dt(...) of a formula; joint speeds are v"
ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(("theta", "θ", "q"), _ANGLES),
    **dict.fromkeys(("q_dot", "qdot", "qd", "q̇", "beta", "β"), _SPEEDS),
    **dict.fromkeys(("tau", "τ"), "joint torques are T; the articulation projection I - G H is tau_bar"),
    **dict.fromkeys(("hat", "T̂"), "bias torques are C, torques without them (T - C)"),
    **dict.fromkeys(("dot", "ddot"), _RATES),
    "frac": "a fraction has numbers above and below; operators have inverses, inv(...)",
    "r": "the composite-body inertia is R",
    "g": "minus gravity, as an acceleration of every body, is typed gravity",
}
"""Letters of the papers that have none here, and what to write."""

WITH_BRACKETS = ("inv", "diag", "sqrt", "trace", "tr", "logdet", "B", "J")
"""Names that something in brackets follows."""

TAKEN = {
    *SHORT,
    *WITH_BRACKETS,
    *(name for kind in Kind for name in (kind.value.code, kind.value.text, *kind.value.also)),
}
"""All that has a meaning in formulas, so that no free vector can be called so."""

OF_CONSTRAINTS = (Kind.B_CONSTRAINT, Kind.T_CONSTRAINT)
"""What only robots with constraints have."""

NEED_CONSTRAINTS = ("constraints", "G_c", *(kind.value.code for kind in OF_CONSTRAINTS))
"""Names that mean something for these alone."""

UNDERIVED: dict[Kind, Kind] = {kind: SYMBOLS[kind.value.rate_of.code] for kind in Kind if kind.value.rate_of}
"""Of each derivative the symbol that it is the derivative of."""

RATES: dict[Kind, Kind] = {kind: rate for rate, kind in UNDERIVED.items()}
"""The symbol of the derivative of each that changes with the configuration."""
