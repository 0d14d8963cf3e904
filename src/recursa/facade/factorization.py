"""The mass matrix in factors: P, D, G, K of one configuration, and what they are good for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import factorization
from recursa.evaluation.evaluator import NO_OPTIONS
from recursa.evaluation.facade import Facade
from recursa.sweeps.batching import Array, as_array
from recursa.walks import factors


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
        return self._robot.evaluator.evaluate(factors.FACTOR, {"q": self._q})

    @cached_property
    def inverse_factor(self) -> Array:
        """``I - H psi K`` (..., nv, nv), the inverse of :attr:`factor` (45)."""
        return self._robot.evaluator.evaluate(factors.INVERSE_FACTOR, {"q": self._q})

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
