"""The one table of operator symbols, which printing, parsing, the documentation and the tests read.

Letters of Rodriguez & Kreutz-Delgado (001) and Jain & Rodriguez (003). Bodies are numbered base first, blocks are in
link axes at the link origin, and what gathers from tip to base is upper block triangular.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto


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


_S = Structure
_BLOCKS = _S.BLOCK_DIAGONAL | _S.SYMMETRIC
_INERTIA = _S.BLOCK_DIAGONAL | _S.SYMMETRIC | _S.SEMIDEFINITE


@dataclass(frozen=True)
class Symbol:
    """A letter: how it is typed, printed and set, what it means, its shape by the names of spaces, and its structure.

    ``rows`` and ``columns`` are "joint" (nv), "link" (6 nbodies), "tip" (6) or "one". ``moving``: depends on v too.
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

    @property
    def is_vector(self) -> bool:
        """Whether it is a vector rather than a matrix."""
        return self.columns == "one"


def _rate(of: Symbol, text: str, latex: str, meaning: str, structure: Structure = _S.GENERAL) -> Symbol:
    """The symbol of a derivative, whose meaning is a row of Table 4."""
    return Symbol(
        f"{of.code}_dot", text, latex, f"rate of the {of.words}", meaning, of.rows, of.columns, structure, moving=True
    )


class Kind(Enum):
    """The operators and vectors that a robot comes with."""

    H = Symbol("H", "H", "H", "hinge map", "rows are joint axes; V = φ* H* v", "joint", "link", _S.BLOCK_DIAGONAL)
    E_PHI = Symbol(
        "E_phi", "E_φ", r"\mathcal{E}_\phi", "one-step rigid shift", "from a body to its parent",
        "link", "link", _S.GATHERING | _S.STRICT, also=("E_ϕ",),
    )  # fmt: skip
    PHI = Symbol(
        "phi", "φ", r"\phi", "rigid propagation", "φ = inv(I - E_φ); gathers tip to base",
        "link", "link", _S.GATHERING | _S.UNIT, also=("ϕ",),
    )  # fmt: skip
    M = Symbol("M", "M", "M", "link spatial inertia", "of each body by itself", "link", "link", _INERTIA)
    R = Symbol("R", "R", "R", "composite-body inertia", "R = M + E_φ R E_φ*, diagonal blocks", "link", "link", _INERTIA)
    P = Symbol(
        "P", "P", "P", "articulated-body inertia", "P = M + E_ψ P E_φ*, diagonal blocks", "link", "link", _INERTIA
    )
    D = Symbol(
        "D", "D", "D", "hinge inertia", "D = H P H* + A", "joint", "joint", _INERTIA | _S.DEFINITE
    )  # fmt: skip
    G = Symbol("G", "G", "G", "Kalman gain", "G = P H* inv(D)", "link", "joint", _S.BLOCK_DIAGONAL)
    K = Symbol(
        "K", "K", "K", "shifted gain", "K = E_φ G, in parent axes", "link", "joint", _S.GATHERING | _S.STRICT
    )  # fmt: skip
    TAU_BAR = Symbol(
        "tau_bar", "τ̄", r"\bar{\tau}", "articulation projection", "τ̄ = I - G H",
        "link", "link", _S.BLOCK_DIAGONAL, also=("taubar",),
    )  # fmt: skip
    E_PSI = Symbol(
        "E_psi", "E_ψ", r"\mathcal{E}_\psi", "one-step articulated shift", "E_ψ = E_φ τ̄",
        "link", "link", _S.GATHERING | _S.STRICT,
    )  # fmt: skip
    PSI = Symbol(
        "psi", "ψ", r"\psi", "articulated propagation", "ψ = inv(I - E_ψ)", "link", "link", _S.GATHERING | _S.UNIT
    )  # fmt: skip
    A = Symbol("A", "A", "A", "armature", "reflected rotor inertia", "joint", "joint", _INERTIA | _S.DIAGONAL)
    UPSILON = Symbol(
        "Upsilon", "Υ", r"\Upsilon", "operational compliance", "diagonal blocks of φ* H* inv(mass) H φ",
        "link", "link", _INERTIA, also=("Ups",),
    )  # fmt: skip
    B = Symbol("B", "B", "B", "pick-off", "takes a wrench at a link's origin to its body", "link", "tip")
    BIAS_ACCELERATION = Symbol(
        "a", "a", "a", "bias acceleration", "crm(V) H* v, body derivative", "link", "one", moving=True
    )  # fmt: skip
    BIAS_FORCE = Symbol("b", "b", "b", "gyroscopic force", "crf(V) M V, body derivative", "link", "one", moving=True)
    VELOCITY = Symbol("V", "V", "V", "link velocities", "V = φ* H* v", "link", "one", moving=True)
    GRAVITY = Symbol(
        "gravity", "gravity", r"g_\uparrow", "upward acceleration", "minus gravity, at every body in its own axes",
        "link", "one",
    )  # fmt: skip
    BIAS = Symbol(
        "C", "C", "C", "bias forces", "C = H φ (M (φ* a + gravity) + b)", "joint", "one", moving=True
    )  # fmt: skip
    SPEED = Symbol("v", "v", "v", "joint speeds", "given with the state", "joint", "one", moving=True)

    # ---- cross operators of a velocity, by which operators change (Jain & Rodriguez, section 6)
    S = Symbol(
        "S", "S", "S", "joint cross operator", "S = crf(H* v), of the joint's own motion",
        "link", "link", _S.BLOCK_DIAGONAL, moving=True,
    )  # fmt: skip
    S_V = Symbol(
        "S_V", "S_V", "S_V", "velocity cross operator", "S_V = crf(V), of the link velocities",
        "link", "link", _S.BLOCK_DIAGONAL, moving=True,
    )  # fmt: skip
    OMEGA = Symbol(
        "Omega", "Ω̃", r"\tilde{\Omega}", "rotation operator", "both halves times the angular velocity",
        "link", "link", _S.BLOCK_DIAGONAL | _S.SKEW, moving=True, also=("Ω",),
    )  # fmt: skip
    N = Symbol(
        "N", "N", "N", "momentum cross operator", "N x = crf(x) M V",
        "link", "link", _S.BLOCK_DIAGONAL | _S.SKEW, moving=True,
    )  # fmt: skip

    # ---- derivatives in body axes along v, v itself held (Table 4)
    E_PHI_DOT = _rate(E_PHI, "Ė_φ", r"\dot{\mathcal{E}}_\phi", "E_φ S", _S.GATHERING | _S.STRICT)
    PHI_DOT = _rate(PHI, "φ̇", r"\dot{\phi}", "φ E_φ S φ", _S.GATHERING | _S.STRICT)
    R_DOT = _rate(R, "Ṙ", r"\dot{R}", "Ṙ = E_φ (Ṙ + S R + R S*) E_φ*", _BLOCKS)
    P_DOT = _rate(P, "Ṗ", r"\dot{P}", "Ṗ = E_φ (τ̄ Ṗ τ̄* + S τ̄ P + τ̄ P S*) E_φ*", _BLOCKS)
    D_DOT = _rate(D, "Ḋ", r"\dot{D}", "H Ṗ H*", _BLOCKS)
    G_DOT = _rate(G, "Ġ", r"\dot{G}", "τ̄ Ṗ H* D⁻¹", _S.BLOCK_DIAGONAL)
    K_DOT = _rate(K, "K̇", r"\dot{K}", "E_φ (S G + τ̄ Ṗ H* D⁻¹)", _S.GATHERING | _S.STRICT)
    TAU_BAR_DOT = _rate(TAU_BAR, "τ̄̇", r"\dot{\bar{\tau}}", "-τ̄ Ṗ H* D⁻¹ H", _S.BLOCK_DIAGONAL)
    E_PSI_DOT = _rate(
        E_PSI, "Ė_ψ", r"\dot{\mathcal{E}}_\psi", "E_φ S τ̄ - E_ψ Ṗ H* D⁻¹ H", _S.GATHERING | _S.STRICT
    )  # fmt: skip
    PSI_DOT = _rate(PSI, "ψ̇", r"\dot{\psi}", "ψ Ė_ψ ψ", _S.GATHERING | _S.STRICT)
    UPSILON_DOT = _rate(UPSILON, "Υ̇", r"\dot{\Upsilon}", "diagonal blocks of d/dt (ψ* H* D⁻¹ H ψ)", _BLOCKS)
    VELOCITY_DOT = _rate(VELOCITY, "V̇", r"\dot{V}", "φ* S* E_φ* V")
    BIAS_ACCELERATION_DOT = _rate(BIAS_ACCELERATION, "ȧ", r"\dot{a}", "S* V̇")
    BIAS_FORCE_DOT = _rate(BIAS_FORCE, "ḃ", r"\dot{b}", "(N + S_V M) V̇")
    GRAVITY_DOT = _rate(GRAVITY, "gravity_dot", r"\dot{g}_\uparrow", "S_V* gravity")
    BIAS_DOT = _rate(BIAS, "Ċ", r"\dot{C}", "that of H φ (M (φ* a + gravity) + b)")


SYMBOLS: dict[str, Kind] = {kind.value.code: kind for kind in Kind}
"""Every symbol by the way it is typed."""

RATES: dict[Kind, Kind] = {kind: Kind[f"{kind.name}_DOT"] for kind in Kind if f"{kind.name}_DOT" in Kind.__members__}
"""The symbol of the derivative of each that changes with the configuration."""

STEADY = frozenset({Kind.H, Kind.M, Kind.A, Kind.B})
"""Those that are constant in body axes (Table 4, rows 3 and 4)."""

DIRECTED = frozenset({*RATES.values(), Kind.S, Kind.S_V, Kind.OMEGA})
"""Those that know a velocity: v, or one freedom's unit."""

SWEPT_RATES = frozenset({Kind.P_DOT, Kind.R_DOT, Kind.UPSILON_DOT})
"""The derivatives that have a recursion of their own; the others are replaced by their rows of Table 4."""

ARTICULATED = frozenset({Kind.P, Kind.D, Kind.G, Kind.K, Kind.TAU_BAR, Kind.E_PSI, Kind.PSI, Kind.UPSILON})
"""Those of the factors of the mass matrix, or of another of its form."""

RICCATI = ARTICULATED | {RATES[kind] for kind in ARTICULATED}
"""Those that wait for the articulated-body recursion (34)-(36)."""
