"""The matrices of operators at a state: every letter as its definition reads, with 6N x 6N arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, reduce

import numpy as np
from numpy.typing import ArrayLike

from recursa.constraints.plans import acting_rows
from recursa.dynamics.configuration import INTEGRATE_PLAN, next_entries
from recursa.dynamics.kinematics import BUFFERS, RELATIVE
from recursa.dynamics.requirements import Lacking
from recursa.errors import ShapeError, SingularHingeError, StateError, unknown_name
from recursa.model.model import WORLD, Model
from recursa.operators.expression import (
    Blocks,
    Constant,
    Diagonal,
    Expression,
    Filter,
    Freedom,
    Functional,
    Identity,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    Vector,
    Zero,
    known_shape,
)
from recursa.operators.matrix_arrays import block_diag, inverse_of, log_determinant, lower_roots, skew, transposed
from recursa.operators.symbols import UNDERIVED, Kind
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.transform import Transform
from recursa.sweeps import Plan, Values, base_to_tip, run
from recursa.sweeps.batching import Array, Batch

_SMALL = 1e-30  # a complex step has no rounding error, however small
_POSES = Plan("relative poses", BUFFERS, (base_to_tip(RELATIVE),))


class Evaluation:
    """One state or batch of states: the leaves as arrays (B, rows, columns), each made when first asked for."""

    def __init__(self, model: Model | None, batch: Batch, vectors: dict[str, ArrayLike]) -> None:
        self.robot, self.batch, self.vectors = model, batch, vectors
        self.known: dict[Expression, Array] = {}
        self.displaced: dict[Freedom | None, Evaluation] = {}
        self.filters: dict[Filter, Evaluation] = {}
        self.own_inertias = True  # the robot's; not those of another matrix

    def matrix(self, expression: Expression) -> Array:
        """The array of an expression; a vector has one column."""
        if expression not in self.known:
            self.known[expression] = self._matrix(expression)
        return self.known[expression]

    def _matrix(self, expression: Expression) -> Array:
        match expression:
            case Leaf(filter=Filter() as other):
                return self.of_filter(other).matrix(replace(expression, filter=None))
            case Leaf(kind=Kind.B, links=links):
                return np.concatenate([self.pick_off(link) for link in links], axis=-1)
            case Leaf(kind=kind) if kind.value.is_rate:
                return self.rate(expression)
            case Leaf(kind=Kind.S):
                return self.crf(transposed(self.H) @ self.direction(expression))
            case Leaf(kind=Kind.S_V):
                return self.crf(transposed(self.phi) @ transposed(self.H) @ self.direction(expression))
            case Leaf(kind=Kind.OMEGA):
                return self.rotation(transposed(self.phi) @ transposed(self.H) @ self.direction(expression))
            case Leaf(kind=kind):
                definition: Array = getattr(self, kind.value.code)
                return definition
            case Vector():
                return self.free_vector(expression)
            case Constant():
                array = expression.array
                return array[:, None] if array.ndim == 1 else array
            case Blocks(blocks=blocks):
                return block_diag(blocks)
            case Diagonal(of=inner):
                return self.matrix(inner) * np.eye(known_shape(inner).rows.size)
            case Functional(name="trace", of=inner):
                return np.trace(self.matrix(inner), axis1=-2, axis2=-1)[..., None, None]
            case Functional(of=inner):
                return log_determinant(inner, self.matrix(inner))[..., None, None]
            case Identity():
                return np.eye(known_shape(expression).rows.size)
            case Zero():
                return np.zeros(tuple(space.size for space in known_shape(expression)))
            case Transpose(of=inner):
                return transposed(self.matrix(inner))
            case Inverse(of=inner):
                return inverse_of(inner, self.matrix(inner))
            case Scaled(factor=factor, of=inner):
                return factor * self.matrix(inner)
            case Product(factors=factors):
                return reduce(lambda right, left: left @ right, map(self.matrix, reversed(factors)))
            case Sum(terms=terms):
                return reduce(lambda x, y: x + y, map(self.matrix, terms))
        raise TypeError(f"{type(expression).__name__} is not a node")

    def of_filter(self, other: Filter) -> Evaluation:
        """The same state with other inertias and armature: the letters of another matrix."""
        if other not in self.filters:
            self.filters[other] = found = Evaluation(self.robot, self.batch, self.vectors)
            shape = (self.batch.size, 1, 1)
            found.M = self.matrix(other.inertia) + np.zeros(shape)  # in place of what is computed when asked for
            found.A = self.matrix(other.rotors) + np.zeros(shape)
            found.own_inertias = False
        return self.filters[other]

    def free_vector(self, vector: Vector) -> Array:
        """The numbers given for a name."""
        if vector.name not in self.vectors:
            raise unknown_name("value", vector.name, self.vectors, owner="the arguments of dense")
        array = np.asarray(self.vectors[vector.name], dtype=self.batch.dtype)
        if array.shape[-1:] != (vector.space.size,):
            raise ShapeError(f"{vector.name} has shape {array.shape}, expected (..., {vector.space.size})")
        shape = (*self.batch.shape, vector.space.size)
        try:
            return np.broadcast_to(array, shape).reshape(self.batch.size, vector.space.size, 1)
        except ValueError:
            raise ShapeError(f"{vector.name} has shape {array.shape}, which does not broadcast to {shape}") from None

    # ---- arrays of the right size ----------------------------------------------------------------------------------

    def zeros(self, rows: int, columns: int) -> Array:
        """Of the batch's type."""
        return np.zeros((self.batch.size, rows, columns), np.result_type(self.batch.dtype, np.float64))

    @property
    def model(self) -> Model:
        """The robot; only its own leaves ask for it."""
        assert self.robot is not None
        return self.robot

    @cached_property
    def freedoms(self) -> list[slice]:
        """Where the speeds of each joint are."""
        return [slice(joint.v_start, joint.v_start + joint.kind.nv) for joint in self.model.joints]

    @cached_property
    def bodies(self) -> list[slice]:
        """Where the six numbers of each body are."""
        return [slice(6 * k, 6 * k + 6) for k in range(self.model.nbodies)]

    @property
    def n6(self) -> int:
        """Link space."""
        return 6 * self.model.nbodies

    # ---- one property per operator ---------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> list[Array]:
        """``phi(parent, k)``, 6 x 6: forces from body k to its parent (or the world)."""
        columns = {"q": list(np.ascontiguousarray(self.batch.rows["q"].T))}
        poses = run(_POSES, self.model, columns).lists.get("X", [])
        return [self.force_matrix(pose) for pose in poses]

    def force_matrix(self, pose: Transform) -> Array:
        """A transform as the 6 x 6 matrix that takes forces from the inner frame to the outer one."""
        result = self.zeros(6, 6)
        for j, unit in enumerate(np.eye(6).tolist()):
            for i, entry in enumerate(pose.force(Force.of(unit)).components()):
                result[:, i, j] = entry
        return result

    @cached_property
    def H(self) -> Array:
        """Joint axes as rows."""
        result = self.zeros(self.model.nv, self.n6)
        for joint, rows, body in zip(self.model.joints, self.freedoms, self.bodies, strict=True):
            result[:, rows, body] = [column.components() for column in joint.columns()]
        return result

    @cached_property
    def M(self) -> Array:
        """Spatial inertias."""
        result = self.zeros(self.n6, self.n6)
        for inertia, body in zip(self.model.inertias, self.bodies, strict=True):
            columns = [(inertia @ Motion.of(unit)).components() for unit in np.eye(6).tolist()]
            result[:, body, body] = np.transpose(columns)
        return result

    @cached_property
    def A(self) -> Array:
        """Armature."""
        rotors = [rotor for joint in self.model.joints for rotor in joint.armature]
        return self.zeros(self.model.nv, self.model.nv) + np.diag(rotors)

    @cached_property
    def E_phi(self) -> Array:
        """``phi(parent, k)`` at block (parent, k)."""
        result = self.zeros(self.n6, self.n6)
        for k, joint in enumerate(self.model.joints):
            if joint.parent != WORLD:
                result[:, self.bodies[joint.parent], self.bodies[k]] = self.steps[k]
        return result

    @cached_property
    def phi(self) -> Array:
        """``inv(I - E_phi)``."""
        return np.linalg.inv(np.eye(self.n6) - self.E_phi)

    @cached_property
    def R(self) -> Array:
        """``R(k) = M(k) + sum over children of phi R phi*`` (31)."""
        result = self.M.copy()
        for k in reversed(range(self.model.nbodies)):
            self._add_to_parent(result, k, result[:, self.bodies[k], self.bodies[k]])
        return result

    @cached_property
    def P(self) -> Array:
        """``P(k) = M(k) + sum over children of phi P+ phi*``, ``P+ = P - P H* inv(D) H P`` (34)-(36)."""
        if self.own_inertias:
            Lacking.of(self.model).require_hinges()
        result = self.M.copy()
        for k, joint in reversed(list(enumerate(self.model.joints))):
            P, H = result[:, self.bodies[k], self.bodies[k]], self.H[:, self.freedoms[k], self.bodies[k]]
            D = H @ P @ transposed(H) + self.A[:, self.freedoms[k], self.freedoms[k]]
            try:
                left_over = P - P @ transposed(H) @ np.linalg.inv(D) @ H @ P
            except np.linalg.LinAlgError:
                cause = (
                    f"  The bodies from '{joint.child}' outward have no inertia along one of its freedoms.\n"
                    f"  Give link '{joint.child}' a mass and inertia, or make the joint fixed."
                    if self.own_inertias
                    else "  The matrix is singular or not positive here: subtract less from it, or add more."
                )
                raise SingularHingeError(
                    f"joint '{joint.name}': hinge inertia D is singular (must be positive definite).\n{cause}"
                ) from None
            self._add_to_parent(result, k, left_over)
        return result

    def _add_to_parent(self, blocks: Array, k: int, inertia: Array) -> None:
        parent = self.model.joints[k].parent
        if parent != WORLD:
            body = self.bodies[parent]
            blocks[:, body, body] += self.steps[k] @ inertia @ transposed(self.steps[k])

    @cached_property
    def D(self) -> Array:
        """``H P H* + A``."""
        return self.H @ self.P @ transposed(self.H) + self.A

    @cached_property
    def W(self) -> Array:
        """The lower Cholesky factor of every block of D; nothing is conjugated, for complex steps."""
        return lower_roots(self.D, self.freedoms)

    @cached_property
    def W_M(self) -> Array:
        """The lower Cholesky factor of every block of M."""
        return lower_roots(self.M, self.bodies)

    @cached_property
    def G(self) -> Array:
        """``P H* inv(D)``."""
        return self.P @ transposed(self.H) @ np.linalg.inv(self.D)

    @cached_property
    def K(self) -> Array:
        """``E_phi G``."""
        return self.E_phi @ self.G

    @cached_property
    def tau_bar(self) -> Array:
        """``I - G H``."""
        return np.eye(self.n6) - self.G @ self.H

    @cached_property
    def E_psi(self) -> Array:
        """``E_phi tau_bar``."""
        return self.E_phi @ self.tau_bar

    @cached_property
    def psi(self) -> Array:
        """``inv(I - E_psi)``."""
        return np.linalg.inv(np.eye(self.n6) - self.E_psi)

    @cached_property
    def Upsilon(self) -> Array:
        """The diagonal blocks of ``psi* H* inv(D) H psi`` (31)."""
        full = transposed(self.psi) @ transposed(self.H) @ np.linalg.inv(self.D) @ self.H @ self.psi
        result = self.zeros(self.n6, self.n6)
        for body in self.bodies:
            result[:, body, body] = full[:, body, body]
        return result

    def pick_off(self, link: str) -> Array:
        """B(link): ``phi(body, link)`` at the block of the link's body; zero for links of the world."""
        result = self.zeros(self.n6, 6)
        place = self.model.links[self.model.link_index(link)]
        if place.body != WORLD:
            result[:, self.bodies[place.body]] = self.force_matrix(place.offset)
        return result

    @cached_property
    def _rows_of_constraints(self) -> Values:
        """What unit forces of constraints do to bodies and joints."""
        columns = {"q": list(np.ascontiguousarray(self.batch.rows["q"].T))}
        return run(acting_rows(self.model), self.model, columns)

    @cached_property
    def B_c(self) -> Array:
        """Wrenches on bodies, an equation a column."""
        result = self.zeros(self.n6, self.model.ncon)
        for body, felt in zip(self.bodies, self._rows_of_constraints.lists.get("felt", []), strict=False):
            for row, force in enumerate(felt.forces):
                for i, entry in enumerate(force.components()):
                    result[:, body.start + i, row] = entry
        return result

    @cached_property
    def T_c(self) -> Array:
        """Torques at joints, an equation a column."""
        result = self.zeros(self.model.nv, self.model.ncon)
        for freedoms, pulls in zip(self.freedoms, self._rows_of_constraints.lists.get("pull", []), strict=False):
            for row, torque in pulls:
                for i, entry in enumerate(torque):
                    result[:, freedoms.start + i, row] = entry
        return result

    # ---- vectors ---------------------------------------------------------------------------------------------------

    @cached_property
    def v(self) -> Array:
        """Joint speeds."""
        if "v" not in self.batch.rows:
            raise ShapeError(
                "v is missing: a, b, V, C, v, S and time derivatives depend on it. Call dense(expression, q, v)"
            )
        return self.batch.rows["v"][:, :, None]

    @cached_property
    def V(self) -> Array:
        """``phi* H* v``."""
        return transposed(self.phi) @ transposed(self.H) @ self.v

    def crf(self, motions: Array) -> Array:
        """``crf(m) = -crm(m)* = [[~w, ~v], [0, ~w]]`` of a motion (w, v) at every body."""
        return self.block_diagonal(motions, lambda w, v: np.block([[w, v], [np.zeros_like(w), w]]))

    def rotation(self, motions: Array) -> Array:
        """``[[~w, 0], [0, ~w]]``."""
        return self.block_diagonal(motions, lambda w, v: np.block([[w, np.zeros_like(w)], [np.zeros_like(w), w]]))

    def block_diagonal(self, vectors: Array, block: Callable[[Array, Array], Array]) -> Array:
        """A block at every body, made of the matrices ``~x``, ``~y`` of the halves of its six numbers."""
        result = self.zeros(self.n6, self.n6)
        for body in self.bodies:
            six = vectors[:, body, 0]
            result[:, body, body] = block(skew(six[:, :3]), skew(six[:, 3:]))
        return result

    @cached_property
    def a(self) -> Array:
        """``crm(V) H* v``, where ``crm = -crf*``."""
        return -transposed(self.crf(self.V)) @ transposed(self.H) @ self.v

    @cached_property
    def b(self) -> Array:
        """``crf(V) M V``."""
        return self.crf(self.V) @ self.M @ self.V

    @cached_property
    def N(self) -> Array:
        """``N x = crf(x) p``, p = (n, f) = M V: ``(w x n + v x f, w x f)`` of x = (w, v)."""
        return self.block_diagonal(self.M @ self.V, lambda n, f: np.block([[-n, -f], [-f, np.zeros_like(n)]]))

    # ---- derivatives -----------------------------------------------------------------------------------------------

    def direction(self, leaf: Leaf) -> Array:
        """The joint speeds along which a leaf is meant: v, or one for a single freedom."""
        if leaf.along is None:
            return self.v
        if leaf.direction is not None:
            return self.free_vector(leaf.direction)
        name, freedom = leaf.along
        at = next(joint.v_start for joint in self.model.joints if joint.name == name) + freedom
        return self.zeros(self.model.nv, 1) + np.eye(self.model.nv)[at][:, None]

    def rate(self, leaf: Leaf) -> Array:
        """The derivative of a letter, v held, by a complex step in its definition: it knows no rule of derivatives."""
        if leaf.along not in self.displaced:
            self.displaced[leaf.along] = self._displaced(leaf)
        of = replace(leaf, kind=UNDERIVED[leaf.kind], along=None)
        return self.displaced[leaf.along].matrix(of).imag / _SMALL

    def _displaced(self, leaf: Leaf) -> Evaluation:
        """The same, a little off along the direction of a derivative."""
        if self.batch.dtype.kind == "c":
            raise StateError(f"{leaf} is itself found by a complex step: it takes real states only")
        along = self.direction(leaf)[:, :, 0]
        columns = {"q": list(self.batch.rows["q"].T.astype(complex)), "v": list(1j * _SMALL * along.T)}
        values = list(next_entries(run(INTEGRATE_PLAN, self.model, columns)))
        moved = np.array([np.broadcast_to(x, self.batch.size) for x in values], complex).T
        rows = {**self.batch.rows, "q": moved.reshape(self.batch.size, self.model.nq)}
        return Evaluation(self.model, Batch(rows, self.batch.shape, np.dtype(complex)), self.vectors)

    @cached_property
    def gravity(self) -> Array:
        """Minus gravity at every body: the roots take it from the world, the others from their parents."""
        upward = np.array([0.0, 0.0, 0.0, *self.model.gravity])[:, None] * -1.0
        roots = self.zeros(self.n6, 1)
        for k, joint in enumerate(self.model.joints):
            if joint.parent == WORLD:
                roots[:, self.bodies[k]] = transposed(self.steps[k]) @ upward
        return transposed(self.phi) @ roots

    @cached_property
    def C(self) -> Array:
        """``H phi (M (phi* a + gravity) + b)``."""
        return self.H @ self.phi @ (self.M @ (transposed(self.phi) @ self.a + self.gravity) + self.b)
