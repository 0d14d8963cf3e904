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
    SEMIDEFINITE = auto()
    DEFINITE = auto()


_S = Structure
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
    A = Symbol("A", "A", "A", "armature", "reflected rotor inertia", "joint", "joint", _INERTIA)
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


SYMBOLS: dict[str, Kind] = {kind.value.code: kind for kind in Kind}
"""Every symbol by the way it is typed."""

RICCATI = frozenset({Kind.P, Kind.D, Kind.G, Kind.K, Kind.TAU_BAR, Kind.E_PSI, Kind.PSI, Kind.UPSILON})
"""Those that wait for the articulated-body recursion (34)-(36)."""
