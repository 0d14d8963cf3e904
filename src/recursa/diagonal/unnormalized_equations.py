"""The diagonal equations without square roots, ``robot.diagonal.unnormalized``."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from numpy.typing import ArrayLike

from recursa.diagonal import diagonal_quantities
from recursa.diagonal.metric import Asking
from recursa.dynamics.factorization import block_diagonal
from recursa.dynamics.wrenches import Losses
from recursa.evaluation.answering import answers, as_given, two_vectors
from recursa.sweeps.batching import Array

UnnormalizedCoriolisMethod = Literal["short", "7.9", "7.10"]


class CoriolisCauses(NamedTuple):
    """The three terms of ``C(q, xi) = H psi [P_dot H* xi - E_phi S P+ V+ - V~* M V]``, each (..., nv).

    - ``outward``: the links outward change shape, and the articulated inertia with them. Of the sweep from the tips
      to the base that is the past.
    - ``own``: the link turns and carries its own momentum round; the present.
    - ``inward``: the parent moves, and the joint turns what it carries against that motion; the future.
    """

    outward: Array
    inward: Array
    own: Array


class Unnormalized(Asking):
    """The equations without square roots: ``D xi_dot + C(q, xi) = kappa``, ``robot.diagonal.unnormalized``.

    ``xi`` are total joint rates in the units of v, ``kappa`` working moments in those of tau; the kinetic energy is
    ``1/2 xi* D xi`` with the block-diagonal D of :meth:`inertia`. Jain & Rodriguez, Lemma 7.3.

    >>> import numpy as np, recursa as rc
    >>> robot = rc.robots.puma560()
    >>> (q, v), u = robot.random_state(0), robot.diagonal.unnormalized
    >>> xi = u.total_rates(q, v)
    >>> bool(np.isclose(0.5 * xi @ u.inertia(q) @ xi, robot.kinetic_energy(q, v)))
    True
    """

    __slots__ = ()

    @answers(diagonal_quantities.UNNORMALIZED_TOTAL_RATES)
    def total_rates(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Total joint rates (..., nv): ``xi = (I + H phi K)* v = v + G* V+``, Table 2. O(n).

        The joint rate less that which a free joint would take if its parent were jerked into motion.
        """

    @answers(diagonal_quantities.UNNORMALIZED_JOINT_RATES)
    def joint_rates(
        self, q: ArrayLike, xi: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The joint rates (..., nv) of total rates: ``v = (I - H psi K)* xi``, Table 2. O(n)."""

    @answers(diagonal_quantities.UNNORMALIZED_WORKING_MOMENTS)
    def working_moments(
        self, q: ArrayLike, tau: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Working moments (..., nv): ``kappa = (I - H psi K) tau``, Table 3 corrected. O(n).

        What is left of a joint's torque after the reaction of the torques outward of it.
        """

    @answers(diagonal_quantities.UNNORMALIZED_JOINT_MOMENTS)
    def joint_moments(
        self, q: ArrayLike, kappa: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The torques (..., nv) of working moments: ``tau = (I + H phi K) kappa``, Table 3 corrected. O(n)."""

    @answers(diagonal_quantities.UNNORMALIZED_CORIOLIS)
    def coriolis(
        self,
        q: ArrayLike,
        xi: ArrayLike,
        *,
        method: UnnormalizedCoriolisMethod = "short",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """``C(q, xi)`` (..., nv), without gravity; ``xi C(q, xi) = 1/2 xi* D_dot xi``. O(n).

        - ``"short"``: ``H y - H P_dot (V - H* xi)``, the fewest operations.
        - ``"7.9"``: ``H psi [P_dot H* xi - E_phi S P+ V+ - V~* M V]``, Lemma 7.3 in the form for every joint.
        - ``"7.10"``: ``H psi [lam H* xi - (V~* M + S P) V]``, for joints with one freedom.

        >>> import numpy as np, recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, xi = robot.random_state(0)
        >>> u = robot.diagonal.unnormalized
        >>> bool(np.allclose(u.coriolis(q, xi), u.coriolis(q, xi, method="7.10")))
        True
        """

    @as_given
    def coriolis_causes(self, q: ArrayLike, xi: ArrayLike, *, threads: int | None = None) -> CoriolisCauses:
        """``C(q, xi)`` by its causes, three terms (..., nv) whose sum it is; (7.9) term by term. O(n).

        >>> import numpy as np, recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, xi = robot.random_state(0)
        >>> u = robot.diagonal.unnormalized
        >>> bool(np.allclose(sum(u.coriolis_causes(q, xi)), u.coriolis(q, xi)))
        True
        """
        flat = self._answer(diagonal_quantities.CORIOLIS_CAUSES, {"q": q, "xi": xi}, threads=threads)
        freedoms = [joint.kind.nv for joint in self._robot.model.joints]
        starts = [3 * sum(freedoms[:k]) for k in range(len(freedoms))]
        places = [
            [start + cause * n + i for start, n in zip(starts, freedoms, strict=True) for i in range(n)]
            for cause in range(3)
        ]
        return CoriolisCauses(*(flat[..., place] for place in places))

    @answers(diagonal_quantities.UNNORMALIZED_RATES, parts=two_vectors)
    def rates(
        self,
        q: ArrayLike,
        xi: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: Losses = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """The equations of motion for integration: (v, xi_dot), each (..., nv), as :meth:`Diagonal.rates`.

        ``xi_dot = inv(D) (kappa - C(q, xi))``, gravity included; (8.3) of Jain & Rodriguez.
        """

    @as_given
    def inertia(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """D (..., nv, nv), block diagonal: ``H P H* + A``."""
        self._independent()
        return self._robot.factorization(q, threads=threads).D

    @as_given
    def inertia_rate(self, q: ArrayLike, v: ArrayLike, *, threads: int | None = None) -> Array:
        """D_dot (..., nv, nv), block diagonal: ``H P_dot H*``, Algorithm 6.1 and row 5 of Table 4. O(n)."""
        entries = self._answer(diagonal_quantities.INERTIA_RATE, {"q": q, "v": v}, threads=threads)
        return block_diagonal(entries, [joint.kind.nv for joint in self._robot.model.joints])
