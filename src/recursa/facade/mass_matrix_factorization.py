"""The mass matrix in factors: P, D, G, K of one configuration, and what they are good for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import factorization, filter_and_smoother
from recursa.dynamics.wrenches import Losses, known_losses
from recursa.evaluation.answering import Facade, as_given
from recursa.evaluation.evaluator import NO_OPTIONS
from recursa.sweeps.batching import Array, as_array
from recursa.walks import factor_pairs


@dataclass(frozen=True, eq=False, repr=False)
class Factorization:
    """The innovations factorisation of the mass matrix, made by :meth:`Robot.factorization`.

    ``mass = (I + H phi K) D (I + H phi K)*`` and ``inv(mass) = (I - H psi K)* inv(D) (I - H psi K)``, Identities 3
    and 6 (43), (46) of Rodriguez & Kreutz-Delgado. Armature is part of D. Leading axes are those of q.

    - ``P`` (..., nbodies, 6, 6): articulated-body inertias, link axes at the link origin (35).
    - ``D`` (..., nv, nv): hinge inertias ``H P H* + A``, block diagonal (36).
    - ``G`` (..., 6, nv): gains ``P H* inv(D)``, a column per freedom, link axes (36).
    - ``K`` (..., 6, nv): ``phi(parent, k) G``, in the parent's axes at its origin; the world's for the first bodies.

    >>> import recursa as rc
    >>> robot = rc.robots.puma560()
    >>> q, v = robot.random_state(1)
    >>> fac = robot.factorization(q)
    >>> bool(np.allclose(fac.factor @ fac.D @ fac.factor.T, robot.mass_matrix(q)))
    True
    >>> bool(np.allclose(fac.solve(v), robot.mass_matrix_inverse(q) @ v))
    True
    """

    _entries: Array  # of P, D, G and K, then the inverse pivots
    _q: Array
    _robot: Facade

    def __repr__(self) -> str:
        return f"<factorization of the mass matrix of robot '{self._robot.model.name}' at q {self._q.shape}>"

    def _part(self, number: int, *axes: int) -> Array:
        ends = np.cumsum(factorization.block_sizes(self._robot.model))
        part = self._entries[..., ends[number - 1] if number else 0 : ends[number]]
        return part.reshape(*part.shape[:-1], *axes) if axes else part

    @cached_property
    def P(self) -> Array:
        """Articulated-body inertias (..., nbodies, 6, 6)."""
        return self._part(0, self._robot.model.nbodies, 6, 6)

    @cached_property
    def D(self) -> Array:
        """Hinge inertias (..., nv, nv), block diagonal."""
        return factorization.block_diagonal(self._part(1), [joint.kind.nv for joint in self._robot.model.joints])

    @cached_property
    def G(self) -> Array:
        """Gains (..., 6, nv), a column per freedom."""
        return self._part(2, 6, self._robot.nv)

    @cached_property
    def K(self) -> Array:
        """Gains (..., 6, nv) in the parent's axes at its origin."""
        return self._part(3, 6, self._robot.nv)

    @cached_property
    def factor(self) -> Array:
        """``I + H phi K`` (..., nv, nv): unit upper block triangular, base first (43). O(n d) for depth d."""
        return self._robot.evaluator.evaluate(factor_pairs.FACTOR, {"q": self._q})

    @cached_property
    def inverse_factor(self) -> Array:
        """``I - H psi K`` (..., nv, nv), the inverse of :attr:`factor` (45)."""
        return self._robot.evaluator.evaluate(factor_pairs.INVERSE_FACTOR, {"q": self._q})

    def solve(self, tau: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """``inv(mass) tau`` (..., nv), without bias: filter and smoother, (49)-(54). O(n).

        The axes before the last are batch axes, broadcast against those of q: for one q, tau (m, nv) are m right-hand
        sides.

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> fac = robot.factorization([0.3, -0.5])
        >>> bool(np.allclose(fac.solve(np.eye(2)), robot.mass_matrix_inverse([0.3, -0.5])))
        True
        """
        return self._robot.evaluator.evaluate(
            factorization.SOLUTION, {"q": self._q, "tau": tau}, NO_OPTIONS, out, threads
        )

    def logdet(self) -> Array:
        """``log det mass`` (...): the factors have determinant 1, so the sum of the logarithms of D's pivots. O(n).

        Not a number where D is not positive, which needs negative masses or inertias.

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> fac = robot.factorization([0.3, -0.5])
        >>> bool(np.isclose(fac.logdet(), np.log(np.linalg.det(robot.mass_matrix([0.3, -0.5])))))
        True
        """
        with np.errstate(invalid="ignore"):
            return -np.log(self._part(4)).sum(axis=-1)


class FactorizationMethods(Facade):
    """The mass matrix in factors."""

    __slots__ = ()

    def factorization(self, q: ArrayLike, *, threads: int | None = None) -> Factorization:
        """The innovations factorisation ``mass = (I + H phi K) D (I + H phi K)*`` at q: P, D, G, K and solving.

        One inward sweep, O(n); the factors as matrices are made when asked for. Rodriguez & Kreutz-Delgado (34)-(46).
        A joint that has nothing to move is a :class:`SingularHingeError`, tied joints are a :class:`NoSweepError`.

        >>> import recursa as rc
        >>> fac = rc.robots.planar(3).factorization([0.1, 0.2, 0.3])
        >>> fac.P.shape, fac.D.shape, fac.K.shape, fac.factor.shape
        ((3, 6, 6), (3, 3), (6, 3), (3, 3))
        """
        entries = self._answer(factorization.FACTORIZATION, {"q": q}, threads=threads)
        return Factorization(entries, as_array(self.model, "q", q, coordinates=True).copy(), self)


# ---- forward dynamics as filtering and smoothing: what a robot says of every step on the way -------------------------


class Filtering(NamedTuple):
    """What :meth:`Robot.filtering` returns, each with the batch axes in front.

    Vectors of bodies are (..., nbodies, 6), angular part first, in the body's axes at its origin; those of joints are
    (..., nv), places as in v. Gravity and wrenches are forces in b, so accelerations are true ones, in body axes
    ("spatial").

    - ``z``: the predicted force, ``z = E_phi z_plus + P a + b`` (12a): what the bodies outward, their joints free,
      exert at the joint while its parent does not accelerate.
    - ``z_plus``: the updated one, ``z + G epsilon`` (12b): the joint's torque is taken into account.
    - ``epsilon``: innovations ``T - H z`` (12c): what the torque is more than was predicted.
    - ``nu``: ``inv(D) epsilon`` (12d): the acceleration of the joint while its parent does not accelerate.
    - ``a``: joint accelerations ``nu - G* alpha_plus`` (12f), those of :meth:`Robot.forward_dynamics`.
    - ``alpha``: smoothed accelerations of the bodies, lambda in Rodriguez & Kreutz-Delgado's Algorithm 4 (12g).
    - ``f``: the force that the parent exerts on the body across the joint, ``P (alpha - c) + z`` (20) with
      the bias acceleration ``c = crm(V) H* v``.
    - ``f_plus``: the same from the parent's side, ``P_plus alpha_plus + z_plus`` (20): equal but for rounding.
    """

    z: Array
    z_plus: Array
    epsilon: Array
    nu: Array
    a: Array
    alpha: Array
    f: Array
    f_plus: Array


class FilteringMethods(Facade):
    """Forward dynamics as filtering and smoothing."""

    __slots__ = ()

    @as_given
    def filtering(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: Losses = False,
        threads: int | None = None,
    ) -> Filtering:
        """Forward dynamics with all that its filter (inward) and its smoother (outward) find. O(n).

        Rodriguez & Kreutz-Delgado's analogy: bodies are instants, P is the covariance of the prediction, G the Kalman
        gain, epsilon the innovations; the smoother adds what only bodies inward know. ``wrenches`` and ``losses``
        (True, "damping", "friction") are as in :meth:`Robot.forward_dynamics`. Tied joints are a :class:`NoSweepError`.

        >>> import numpy as np, recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, v = robot.random_state(0)
        >>> found = robot.filtering(q, v, np.ones(6))
        >>> bool(np.allclose(found.a, robot.forward_dynamics(q, v, np.ones(6))))
        True
        >>> bool(np.allclose(found.f, found.f_plus)), found.z.shape
        (True, (6, 6))
        """
        arrays = {"q": q, "v": v, "tau": tau, "wrenches": wrenches}
        numbers = self._answer(filter_and_smoother.FILTERING, arrays, {"losses": known_losses(losses)}, None, threads)
        batch, counts = (
            numbers.shape[:-1],
            (len(filter_and_smoother.JOINT_VECTORS), len(filter_and_smoother.BODY_VECTORS)),
        )
        first = counts[0] * self.nv
        joints = numbers[..., :first].reshape(*batch, counts[0], self.nv)
        bodies = numbers[..., first:].reshape(*batch, counts[1], self.model.nbodies, 6)
        epsilon, nu, a = (joints[..., k, :] for k in range(counts[0]))
        z, z_plus, alpha, f, f_plus = (bodies[..., k, :, :] for k in range(counts[1]))
        return Filtering(z, z_plus, epsilon, nu, a, alpha, f, f_plus)
