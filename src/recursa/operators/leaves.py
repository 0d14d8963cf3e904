"""The operators of one robot: what ``robot.operators`` gives."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recursa.errors import NoSweepError, StateError, unknown_name
from recursa.model.model import Model
from recursa.operators.expression import Expression, Freedom, Identity, Leaf, Vector
from recursa.operators.shapes import space_of
from recursa.operators.symbols import DIRECTED, RATES, Kind


class Operators:
    """The spatial operators of a robot, as leaves of expressions. Nothing is computed until it is asked for.

    =============  ==========================================================================
    joint x link   H (hinge map)
    link x link    phi, E_phi, psi, E_psi (propagation); M, R, P, Upsilon, tau_bar (block diagonal)
    joint x joint  D (hinge inertia), A (armature)
    link x joint   G, K (gains)
    link x tip     B(link)
    link           vectors a, b, V, gravity
    joint          vectors C (bias forces, gravity included), v (joint speeds)
    any            I, which fits its neighbour
    derivatives    S, S_V, Omega, N (cross operators, link x link); P_dot, phi_dot, ...
    =============  ==========================================================================

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> print(o.H @ o.phi @ o.M @ o.phi.T @ o.H.T)
    H φ M φ* H*
    """

    H: Leaf
    phi: Leaf
    E_phi: Leaf
    M: Leaf
    R: Leaf
    P: Leaf
    D: Leaf
    G: Leaf
    K: Leaf
    A: Leaf
    tau_bar: Leaf
    psi: Leaf
    E_psi: Leaf
    Upsilon: Leaf
    a: Leaf
    b: Leaf
    V: Leaf
    gravity: Leaf
    C: Leaf
    v: Leaf
    S: Leaf
    S_V: Leaf
    Omega: Leaf
    N: Leaf
    E_phi_dot: Leaf
    phi_dot: Leaf
    R_dot: Leaf
    P_dot: Leaf
    D_dot: Leaf
    G_dot: Leaf
    K_dot: Leaf
    tau_bar_dot: Leaf
    E_psi_dot: Leaf
    psi_dot: Leaf
    Upsilon_dot: Leaf
    V_dot: Leaf
    a_dot: Leaf
    b_dot: Leaf
    gravity_dot: Leaf
    C_dot: Leaf

    def __init__(self, model: Model, along: Freedom | None = None) -> None:
        tied = next((joint.name for joint in model.joints if joint.tie is not None), None)
        if tied is not None:
            raise NoSweepError(
                f"robot '{model.name}' has tied joints ('{tied}' follows another): the operators are those of trees "
                'with independent joints. Load it with mimic="free"'
            )
        self.model, self.direction = model, along
        self.I = Identity()
        for kind in Kind:
            if kind is not Kind.B:
                setattr(self, kind.value.code, Leaf(kind, model, along=along if kind in DIRECTED else None))

    def along(self, joint: str | Freedom) -> Operators:
        """The same operators with S, S_V, Omega and derivatives along unit velocity of one joint instead of v.

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> o.along("joint2").S
        <link 18 x link 18: S{joint2}>
        """
        return Operators(self.model, freedom_of(self.model, joint))

    def B(self, link: str) -> Leaf:
        """The pick-off of a link: takes a wrench at its origin, in its axes, to its body. 6 columns.

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> o.B("tip").T @ o.phi.T @ o.H.T                       # the Jacobian (20)
        <tip 6 x joint 3: B(tip)* φ* H*>
        """
        self.model.link_index(link)
        return Leaf(Kind.B, self.model, link)

    def vector(self, name: str, space: Literal["joint", "link", "tip"] = "joint") -> Vector:
        """A free vector: numbers that come later.

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> o.vector("T") - o.C
        <joint 3: T - C>
        """
        return Vector(name, space_of(self.model, space))

    @property
    def has_armature(self) -> bool:
        """Whether A is not zero."""
        return any(rotor != 0.0 for joint in self.model.joints for rotor in joint.armature)

    @property
    def mass(self) -> Expression:
        """The mass matrix, ``H phi M phi* H*``, and ``+ A`` where there is armature (22).

        >>> import recursa as rc
        >>> print(rc.robots.planar(3).operators.mass)
        H φ M φ* H*
        """
        bodies = self.H @ self.phi @ self.M @ self.phi.T @ self.H.T
        return bodies + self.A if self.has_armature else bodies

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operators) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, Freedom | None]:
        return self.model.digest, self.direction

    def __repr__(self) -> str:
        letters = ", ".join(kind.value.text for kind in Kind if kind not in RATES.values())
        return f"<operators of robot '{self.model.name}': {letters}, I>"


def freedom_of(model: Model, joint: str | Freedom) -> Freedom:
    """A joint and one of its freedoms, checked; the number may be left out where there is one only."""
    name, number = (joint, None) if isinstance(joint, str) else (joint[0], joint[1])
    found = next((x for x in model.joints if x.name == name), None)
    if found is None:
        raise unknown_name("moving joint", str(name), [x.name for x in model.joints], owner=f"robot '{model.name}'")
    freedoms = found.kind.nv
    if number is None and freedoms == 1:
        return name, 0
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < freedoms:
        which = "freedom 0" if freedoms == 1 else f"freedoms 0 to {freedoms - 1}"
        wrong = "say which" if number is None else f"not {number}"
        raise StateError(
            f"joint '{name}' ({found.kind.name}) has {which}, {wrong}: ('{name}', 0), or {{{name},0}} in text"
        )
    return name, int(number)
