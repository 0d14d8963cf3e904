"""The operators of one robot: what ``robot.operators`` gives."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from recursa.errors import ModelError, NoSweepError, ShapeError, StateError, unknown_name
from recursa.model.constraint_equations import Closing
from recursa.model.model import Model
from recursa.operators.arithmetic import diagonal, functional
from recursa.operators.expression import Blocks, Expression, Filter, Freedom, Identity, Leaf, Vector, Zero
from recursa.operators.shapes import FreeSpace, Space, space_of
from recursa.operators.symbols import NEED_CONSTRAINTS, OF_CONSTRAINTS, TAKEN, Kind


class Operators:
    """The spatial operators of a robot, as leaves of expressions. Nothing is computed until it is asked for.

    =============  ==========================================================================
    joint x link   H (hinge map)
    link x link    phi, E_phi, psi, E_psi (propagation); M, R, P, Upsilon, tau_bar (block diagonal)
    joint x joint  D (hinge inertia), W (its root, D = W W*), A (armature), m and l (mass = m m*, l = inv(m))
    link x joint   G, K (gains)
    link x tip     B(link), B(link, link, ...)
    constraints    of robots that have some: constraints (constraint x joint, the rows of the constraints),
                   B_c (link x constraint), T_c (joint x constraint)
    link           vectors a, b, V, gravity
    joint          vectors C (bias forces, gravity included), v (joint speeds)
    any            I, which fits its neighbour; diag(vector), blocks(matrices)
    derivatives    S, S_V, Omega_tilde, N (cross operators, link x link); P_dot, phi_dot, ...
    =============  ==========================================================================

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> print(o.H @ o.phi @ o.M @ o.phi.T @ o.H.T)
    H φ M φ* H*
    """

    H: Leaf
    phi: Leaf
    E_phi: Leaf
    M: Expression
    W_M: Leaf
    R: Leaf
    P: Leaf
    D: Leaf
    W: Leaf
    G: Leaf
    K: Leaf
    A: Expression
    tau_bar: Leaf
    psi: Leaf
    E_psi: Leaf
    Upsilon: Leaf
    B_c: Leaf
    T_c: Leaf
    a: Leaf
    b: Leaf
    V: Leaf
    gravity: Leaf
    C: Leaf
    v: Leaf
    S: Leaf
    S_V: Leaf
    Omega_tilde: Leaf
    N: Leaf
    E_phi_dot: Leaf
    phi_dot: Leaf
    R_dot: Leaf
    P_dot: Leaf
    D_dot: Leaf
    W_dot: Leaf
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

    def __init__(self, model: Model, along: Freedom | None = None, filter: Filter | None = None) -> None:
        tied = next((joint.name for joint in model.joints if joint.tie is not None), None)
        if tied is not None:
            raise NoSweepError(
                f"robot '{model.name}' has tied joints ('{tied}' follows another): the operators are those of trees "
                f"with independent joints. {model.how_to_untie}"
            )
        self.model, self.direction, self.filter = model, along, filter
        self.I = Identity()
        for kind in Kind:
            if kind is not Kind.B and (model.ncon or kind not in OF_CONSTRAINTS):
                own = filter if kind.value.is_articulated else None
                leaf = Leaf(kind, model, along=along if kind.value.is_directed else None, filter=own)
                setattr(self, kind.value.code, leaf)
        if filter is not None:
            self.M, self.A = filter.inertia, filter.rotors

    def along(self, joint: str | Freedom) -> Operators:
        """The same operators with S, S_V, Omega_tilde and derivatives along unit velocity of one joint instead of v.

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> o.along("joint2").S
        <link 18 x link 18: S{joint2}>
        """
        return Operators(self.model, freedom_of(self.model, joint))

    def B(self, *links: str) -> Leaf:
        """The pick-off of a link: takes a wrench at its origin, in its axes, to its body. 6 columns for each link.

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> o.B("tip").T @ o.phi.T @ o.H.T                       # the Jacobian (20)
        <tip 6 x joint 3: B(tip)* φ* H*>
        >>> o.B("link1", "tip")                                  # wrenches on both, the first link's first
        <link 18 x tip 12: B(link1, tip)>
        """
        for link in links:
            self.model.link_index(link)
        if not links or len(set(links)) < len(links):
            raise StateError(f"a pick-off is of one or more different links, not of {links}")
        return Leaf(Kind.B, self.model, links)

    def diag(self, vector: Any, space: Literal["joint", "link"] | None = None) -> Expression:
        """The diagonal matrix of a vector: nv numbers (or 6 for every body), or any vector of operators.

        ``space`` says which is meant where both have the same size. Added to the mass matrix it is just more armature:
        ``inv(mass + h diag(damping))`` is O(n).

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> print((o.mass + 0.01 * o.diag([1.0, 2.0, 0.5])).inverse() @ o.vector("T"))
        (H φ M φ* H* + 0.01 diag([3 numbers]))⁻¹ T
        """
        size = () if isinstance(vector, Expression) else np.shape(vector)
        return diagonal(vector, self._space("diag", size[:1], space))

    def blocks(self, blocks: Any, space: Literal["joint", "link"] | None = None) -> Expression:
        """A block-diagonal matrix of numbers: a square matrix for every joint (of its freedoms), or 6 x 6 for every
        body. ``space`` says which is meant where both would fit.

        >>> import recursa as rc
        >>> o = rc.robots.planar(2).operators
        >>> added = o.blocks([np.eye(6), 2 * np.eye(6)])              # the water that the links carry along
        >>> print((o.H @ o.phi @ (o.M + added) @ o.phi.T @ o.H.T).inverse())
        (H φ (M + [2 blocks]) φ* H*)⁻¹
        """
        freedoms = [(joint.kind.nv, joint.kind.nv) for joint in self.model.joints]
        sizes = {"joint": freedoms, "link": [(6, 6)] * self.model.nbodies}
        matrices = [np.asarray(block, float) for block in blocks]
        fits = [
            name for name, wanted in sizes.items() if [x.shape for x in matrices] == wanted and space in (None, name)
        ]
        if not fits:
            raise ShapeError(
                f"blocks of robot '{self.model.name}' are one for every joint, {freedoms}, or {self.model.nbodies} of "
                f"(6, 6), one for every body; not {[x.shape for x in matrices]}"
            )
        if not all(np.isfinite(x).all() for x in matrices):
            raise StateError("blocks must be finite numbers")
        numbers = tuple(tuple(tuple(map(float, row)) for row in block) for block in matrices)
        return Blocks(numbers, space_of(self.model, fits[0]))

    def _space(self, what: str, size: tuple[int, ...], space: str | None) -> Space | None:
        """That of numbers given without one: joints first; None for what knows its own."""
        if not size:
            return None
        for name in ("joint", "link") if space is None else (space,):
            found = space_of(self.model, name)
            if size == (found.size,):
                return found
        raise ShapeError(
            f"{what} of robot '{self.model.name}' takes {self.model.nv} numbers, one for every freedom, or "
            f"{6 * self.model.nbodies}, six for every body; not {size[0]}"
        )

    def trace(self, matrix: Expression) -> Expression:
        """The trace of a square matrix, one number.

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> print(rc.compile(o.trace(o.mass)).simplified)
        trace(H R H*)
        """
        return functional("trace", matrix)

    def logdet(self, matrix: Expression) -> Expression:
        """The logarithm of the absolute value of the determinant of a square matrix, one number.

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> print(rc.compile(o.logdet(o.mass)).simplified)
        logdet(D)
        >>> print(o.logdet(o.mass).sensitivity("joint2"))
        trace(D⁻¹ Ḋ{joint2})
        """
        return functional("logdet", matrix)

    def vector(self, name: str, space: FreeSpace = "joint") -> Vector:
        """A free vector: numbers that come later. ``space``: "joint", "link", "tip", "constraint".

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> o.vector("T") - o.C
        <joint 3: T - C>
        """
        if name in TAKEN:
            raise StateError(
                f"a vector cannot be called '{name}', which has a meaning in formulas: choose another name"
            )
        if space == "constraint":
            require_constraints(self.model, f"the space of {name}")
        return Vector(name, space_of(self.model, space))

    @property
    def has_armature(self) -> bool:
        """Whether A is not zero."""
        if self.filter is not None:
            return not isinstance(self.filter.rotors, Zero)
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

    @property
    def Omega(self) -> Leaf:
        """The rotation operator, another name of ``Omega_tilde``. Formulas as text need the tilde, since ``Omega``
        alone is ``phi* H* inv(mass) H phi`` in Jain & Rodriguez' paper on free flyers.
        """
        return self.Omega_tilde

    @property
    def Phi(self) -> Expression:
        """``phi E_phi = phi - I``, Rodriguez & Kreutz-Delgado's capital letter; ``Phi G = phi K``."""
        return self.phi @ self.E_phi

    @property
    def Psi(self) -> Expression:
        """``psi E_phi``, strictly triangular (41); ``Psi G = psi K``. It is not ``psi - I``, which is ``psi E_psi``."""
        return self.psi @ self.E_phi

    @property
    def m(self) -> Expression:
        """``(I + H phi K) W``, with ``mass = m m*``: Jain & Rodriguez (5.1).

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> print(o.m.inverse() @ (o.vector("T") - o.C))
        W⁻¹ (I + H φ K)⁻¹ (T - C)
        """
        return (self.I + self.H @ self.phi @ self.K) @ self.W

    @property
    def l(self) -> Expression:  # noqa: E743
        """``inv(W) (I - H psi K)``, the inverse of m: Jain & Rodriguez (5.1)."""
        return self.W.inverse() @ (self.I - self.H @ self.psi @ self.K)

    @property
    def nu(self) -> Expression:
        """``m* v``: total joint rates, in which the kinetic energy is half their square (Jain & Rodriguez, Table 2).

        In text it is read with ``notation="jain"``; Rodriguez & Kreutz-Delgado's nu is another quantity.
        """
        return self.m.T @ self.v

    @property
    def epsilon(self) -> Expression:
        """``l T``: working moments of the free joint vector T (Jain & Rodriguez, Table 3).

        In text it is read with ``notation="jain"``; Rodriguez & Kreutz-Delgado's epsilon is another quantity.
        """
        return self.l @ self.vector("T")

    @property
    def constraints(self) -> Expression:
        """The rows of the constraints, constraint x joint: ``B_c* phi* H*``, and ``+ T_c*`` where joints are related.

        A column of B_c is the wrenches with which one equation acts on the bodies that it is about. The multipliers of
        constrained motion come from ``inv(constraints inv(mass) constraints*)``, in O(n) for every equation.

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).with_constraints(rc.Loop("point", "world", "tip", at=(0.5, 0, 0))).operators
        >>> o.constraints
        <constraint 3 x joint 3: B_c* φ* H*>
        >>> print(rc.compile(o.constraints @ o.mass.inverse() @ o.constraints.T).simplified)
        B_c* ψ* H* D⁻¹ H ψ B_c
        """
        require_constraints(self.model, "the letter G_c")
        found = self.B_c.T @ self.phi.T @ self.H.T
        closings = any(isinstance(one, Closing) for one in self.model.equations)
        at_joints = any(not isinstance(one, Closing) for one in self.model.equations)
        if not at_joints:
            return found
        return found + self.T_c.T if closings else self.T_c.T

    def __getattr__(self, name: str) -> Leaf:
        if name in NEED_CONSTRAINTS:  # which robots with constraints have, set when they were made
            raise without_constraints(self.model, name)
        raise AttributeError(f"operators of a robot have no '{name}'", name=name, obj=self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operators) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, Freedom | None, Filter | None]:
        return self.model.digest, self.direction, self.filter

    def __repr__(self) -> str:
        known = (kind for kind in Kind if self.model.ncon or kind not in OF_CONSTRAINTS)
        letters = ", ".join(kind.value.text for kind in known if not kind.value.is_rate)
        return f"<operators of robot '{self.model.name}': {letters}, I>"


def require_constraints(model: Model, name: str) -> None:
    """Raise for robots without constraints."""
    if not model.ncon:
        raise without_constraints(model, name)


def without_constraints(model: Model, name: str) -> ModelError:
    """What to say where a robot without constraints is asked for a letter of theirs."""
    return ModelError(
        f"robot '{model.name}' has no constraints, and {name} is of those alone. robot.with_constraints(...) adds some"
    )


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
