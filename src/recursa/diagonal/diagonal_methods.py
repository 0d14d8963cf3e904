"""The diagonalised equations of motion of a robot, ``robot.diagonal``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from numpy.typing import ArrayLike

from recursa.diagonal import diagonal_quantities
from recursa.diagonal.metric import Metric
from recursa.diagonal.unnormalized_equations import Unnormalized
from recursa.dynamics.wrenches import Losses
from recursa.evaluation.answering import Facade, answers, as_given, two_vectors
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

CoriolisMethod = Literal["short", "7.1"]


class Diagonal(Metric):
    """The diagonalised equations of motion of a robot, ``robot.diagonal`` (Jain & Rodriguez).

    In total joint rates ``nu = m* v``, where ``mass = m m*``, the mass matrix is the unit matrix:

        nu_dot + C(q, nu) = eps        kinetic energy = 1/2 nu nu        nu C(q, nu) = 0

    m is the Cholesky factor of the mass matrix in the order from the tips to the base, made and applied in O(n) by the
    articulated-body recursion; armature is part of it. For a joint with several freedoms its block is the lower
    Cholesky factor of ``D_k`` in the order of v. :attr:`unnormalized` has the equations without square roots.

    >>> import numpy as np, recursa as rc
    >>> robot = rc.robots.puma560()
    >>> (q, v), d = robot.random_state(0), robot.diagonal
    >>> nu = d.total_rates(q, v)
    >>> bool(np.isclose(0.5 * nu @ nu, robot.kinetic_energy(q, v)))
    True
    >>> bool(abs(nu @ d.coriolis(q, nu)) < 1e-12)
    True
    """

    __slots__ = ("unnormalized",)

    unnormalized: Unnormalized

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self.unnormalized = Unnormalized(robot)

    def __repr__(self) -> str:
        return f"<diagonalised equations of {self._robot!r}>"

    # ---- rates and moments -----------------------------------------------------------------------------------------

    @answers(diagonal_quantities.TOTAL_RATES)
    def total_rates(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Normalised total joint rates (..., nv): ``nu = m* v``, Table 2. O(n); units sqrt(J)."""

    @answers(diagonal_quantities.JOINT_RATES)
    def joint_rates(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The joint rates (..., nv) of total rates: ``v = inv(m)* nu``, Table 2. O(n)."""

    @answers(diagonal_quantities.WORKING_MOMENTS)
    def working_moments(
        self, q: ArrayLike, tau: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Normalised working moments (..., nv): ``eps = inv(m) tau``, Table 3 corrected. O(n). ``nu eps = v tau``.

        >>> import numpy as np, recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, tau = robot.random_state(0)
        >>> d = robot.diagonal
        >>> bool(np.allclose(d.joint_moments(q, d.working_moments(q, tau)), tau))
        True
        """

    @answers(diagonal_quantities.JOINT_MOMENTS)
    def joint_moments(
        self, q: ArrayLike, eps: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The torques (..., nv) of working moments: ``tau = m eps``, Table 3 corrected. O(n)."""

    # ---- equations of motion ---------------------------------------------------------------------------------------

    @answers(diagonal_quantities.CORIOLIS)
    def coriolis(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        *,
        method: CoriolisMethod = "short",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """``C(q, nu)`` (..., nv), without gravity: the gyroscopic term, which does no work, ``nu C(q, nu) = 0``. O(n).

        - ``"short"``: ``inv(W) (C(q, xi) - 1/2 D_dot xi)`` freedom by freedom, the fewest operations.
        - ``"7.1"``: Algorithm 7.1 (7.2), for joints with one freedom.

        Its value depends on the factor: for joints with several freedoms on W, the lower Cholesky factor of D_k.

        >>> import numpy as np, recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, nu = robot.random_state(0)
        >>> d = robot.diagonal
        >>> bool(np.allclose(d.coriolis(q, nu), d.coriolis(q, nu, method="7.1")))
        True
        """

    @answers(diagonal_quantities.RATES, parts=two_vectors)
    def rates(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: Losses = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """The equations of motion for integration: (v, nu_dot), each (..., nv). O(n), three sweeps.

        ``v = inv(m)* nu`` and ``nu_dot = eps - C(q, nu)``; gravity is included, ``wrenches`` and ``losses`` (True,
        "damping", "friction") are as in :meth:`Robot.forward_dynamics`. ``d/dt (1/2 nu nu)`` is the power of all these
        forces. Jain & Rodriguez (3.1) and Algorithm 8.1 with V of this q. ``out`` takes both, (..., 2, nv).

        >>> import numpy as np, recursa as rc
        >>> robot = rc.robots.puma560().with_gravity((0, 0, 0))
        >>> (q, v), d, tau = robot.random_state(0), robot.diagonal, np.ones(6)
        >>> nu = d.total_rates(q, v)
        >>> speed, nu_dot = d.rates(q, nu, tau)
        >>> bool(np.allclose(speed, v)), bool(np.isclose(nu @ nu_dot, v @ tau))
        (True, True)
        """

    @as_given
    def articulated_rates(self, q: ArrayLike, v: ArrayLike, *, threads: int | None = None) -> Array:
        """P_dot (..., nbodies, 6, 6): how articulated-body inertias change, in link axes. Algorithm 6.1 (6.5). O(n).

        The derivative of :attr:`Factorization.P`, entry by entry, while the joints move with v.
        """
        return self._answer(diagonal_quantities.ARTICULATED_RATES, {"q": q, "v": v}, threads=threads)


class DiagonalMethods(Facade):
    """The diagonalised equations of motion."""

    __slots__ = ("_diagonal",)

    _diagonal: Diagonal

    @property
    def diagonal(self) -> Diagonal:
        """The diagonalised equations of motion: velocities in which the mass matrix is the unit matrix.

        >>> import recursa as rc
        >>> rc.robots.planar(2).diagonal.total_rates([0.1, 0.2], [0.0, 1.0]).shape
        (2,)
        """
        found = getattr(self, "_diagonal", None)
        if found is None:
            found = self._diagonal = Diagonal(cast("Robot", self))
        return found
