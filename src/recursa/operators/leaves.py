"""The operators of one robot: what ``robot.operators`` gives."""

from __future__ import annotations

from typing import Literal

from recursa.errors import NoSweepError
from recursa.model.model import Model
from recursa.operators.expression import Expression, Identity, Leaf, Vector
from recursa.operators.shapes import space_of
from recursa.operators.symbols import Kind


class Operators:
    """The spatial operators of a robot, as leaves of expressions. Nothing is computed until it is asked for.

    =============  ==========================================================================
    joint x link   H (hinge map)
    link x link    phi, E_phi, psi, E_psi (propagation); M, R, P, Upsilon, tau_bar (block diagonal)
    joint x joint  D (hinge inertia), A (armature)
    link x joint   G, K (gains)
    link x tip     B(link)
    link           vectors a, b, V, gravity
    joint          vector C (bias forces, gravity included)
    any            I, which fits its neighbour
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

    def __init__(self, model: Model) -> None:
        tied = next((joint.name for joint in model.joints if joint.tie is not None), None)
        if tied is not None:
            raise NoSweepError(
                f"robot '{model.name}' has tied joints ('{tied}' follows another): the operators are those of trees "
                'with independent joints. Load it with mimic="free"'
            )
        self.model = model
        self.I = Identity()
        for kind in Kind:
            if kind is not Kind.B:
                setattr(self, kind.value.code, Leaf(kind, model))

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
        return isinstance(other, Operators) and self.model.digest == other.model.digest

    def __hash__(self) -> int:
        return hash(self.model.digest)

    def __repr__(self) -> str:
        return f"<operators of robot '{self.model.name}': {', '.join(kind.value.text for kind in Kind)}, I>"
