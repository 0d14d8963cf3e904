"""The diagonalised equations of motion of a robot, ``robot.diagonal``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike

from recursa.dynamics import gathering
from recursa.dynamics.diagonal import coriolis, motion, tables
from recursa.dynamics.factorization import six_by_six
from recursa.errors import NoSweepError
from recursa.facade.base import single_state_fast
from recursa.facade.factorization import FactorizationMethods, block_diagonal
from recursa.facade.joint_space import known_method
from recursa.facade.metric import Asking, Metric
from recursa.sweeps.batching import Array
from recursa.sweeps.plan import Plan


class _Rates(Asking):
    """What both sets of coordinates can be asked."""

    __slots__ = ()

    _rate: ClassVar[str]
    _moment: ClassVar[str]
    _plans: ClassVar[dict[str, Plan]]
    _coriolis: ClassVar[dict[str, Plan]]

    def _to_total(self, q: ArrayLike, v: ArrayLike, out: Array | None, threads: int | None) -> Array:
        self._independent()
        name = "eps" if self._rate == "nu" else "xi"
        return self._vector(self._plans["total"], (name,), {"q": q, "v": v}, out, threads, ("total_rates",))

    def _to_joint(self, q: ArrayLike, rate: ArrayLike, out: Array | None, threads: int | None) -> Array:
        self._independent()
        arguments = {"q": q, f"joint:{self._rate}": rate}
        return self._vector(self._plans["joint"], ("rate",), arguments, out, threads, ("joint_rates",))

    def _to_working(self, q: ArrayLike, tau: ArrayLike, out: Array | None, threads: int | None) -> Array:
        self._independent()
        return self._vector(self._plans["working"], ("eps",), {"q": q, "tau": tau}, out, threads, ("working_moments",))

    def _from_working(self, q: ArrayLike, moment: ArrayLike, out: Array | None, threads: int | None) -> Array:
        self._independent()
        arguments = {"q": q, f"joint:{self._moment}": moment}
        return self._vector(self._plans["moments"], ("T",), arguments, out, threads, ("joint_moments",))

    def _coriolis_term(
        self, q: ArrayLike, rate: ArrayLike, method: str, out: Array | None, threads: int | None
    ) -> Array:
        self._independent()
        known_method(f"C(q, {self._rate})", method, tuple(self._coriolis))
        if method in coriolis.ONE_FREEDOM:
            for joint in self._robot.model.joints:
                if joint.kind.nv > 1:
                    raise NoSweepError(
                        f"method {method!r} is for joints with one freedom, and joint '{joint.name}' is "
                        f'{joint.kind.name}. Use method="short", which is for all of them'
                    )
        arguments = {"q": q, f"joint:{self._rate}": rate}
        return self._vector(self._coriolis[method], ("C",), arguments, out, threads, ("coriolis", method))

    def _right_hand_side(
        self,
        make: Callable[..., Plan],
        q: ArrayLike,
        rate: ArrayLike,
        tau: ArrayLike,
        wrenches: Any,
        losses: bool,
        out: Array | None,
        threads: int | None,
    ) -> Array:
        self._independent()
        arguments = {"q": q, f"joint:{self._rate}": rate, "tau": tau}
        extra = self._robot._extra(q, wrenches, None, None)
        entry = None if extra else ("_rates", *(("losses",) if losses else ()))
        plan = make(wrenches=wrenches is not None, losses=bool(losses))
        return self._vector(plan, ("rate", "eps"), arguments | extra, out, threads, entry)


class Unnormalized(_Rates):
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

    _rate, _moment = "xi", "kappa"
    _plans: ClassVar = {
        "total": tables.UNNORMALIZED_TOTAL_RATES,
        "joint": tables.UNNORMALIZED_JOINT_RATES,
        "working": tables.UNNORMALIZED_WORKING_MOMENTS,
        "moments": tables.UNNORMALIZED_JOINT_MOMENTS,
    }
    _coriolis = coriolis.UNNORMALIZED

    @single_state_fast
    def total_rates(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Total joint rates (..., nv): ``xi = (I + H phi K)* v = v + G* V+``, Table 2. O(n).

        The joint rate less that which a free joint would take if its parent were jerked into motion.
        """
        return self._to_total(q, v, out, threads)

    @single_state_fast
    def joint_rates(
        self, q: ArrayLike, xi: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The joint rates (..., nv) of total rates: ``v = (I - H psi K)* xi``, Table 2. O(n)."""
        return self._to_joint(q, xi, out, threads)

    @single_state_fast
    def working_moments(
        self, q: ArrayLike, tau: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Working moments (..., nv): ``kappa = (I - H psi K) tau``, Table 3 corrected. O(n).

        What is left of a joint's torque after the reaction of the torques outward of it.
        """
        return self._to_working(q, tau, out, threads)

    @single_state_fast
    def joint_moments(
        self, q: ArrayLike, kappa: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The torques (..., nv) of working moments: ``tau = (I + H phi K) kappa``, Table 3 corrected. O(n)."""
        return self._from_working(q, kappa, out, threads)

    @single_state_fast
    def coriolis(
        self,
        q: ArrayLike,
        xi: ArrayLike,
        *,
        method: Literal["short", "7.9", "7.10"] = "short",
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
        return self._coriolis_term(q, xi, method, out, threads)

    def rates(
        self,
        q: ArrayLike,
        xi: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: bool = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """The equations of motion for integration: (v, xi_dot), each (..., nv), as :meth:`Diagonal.rates`.

        ``xi_dot = inv(D) (kappa - C(q, xi))``, gravity included; (8.3) of Jain & Rodriguez.
        """
        plain = wrenches is None and not losses and out is None and threads is None
        options = {} if plain else {"wrenches": wrenches, "losses": losses, "out": out, "threads": threads}
        return _two(self._rates(q, xi, tau, **options))

    @single_state_fast
    def _rates(
        self,
        q: ArrayLike,
        xi: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: bool = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        make = motion.unnormalized_equations_plan
        return self._right_hand_side(make, q, xi, tau, wrenches, losses, out, threads)

    def inertia(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """D (..., nv, nv), block diagonal: ``H P H* + A``."""
        self._independent()
        return self._robot.factorization(q, threads=threads).D

    def inertia_rate(self, q: ArrayLike, v: ArrayLike, *, threads: int | None = None) -> Array:
        """D_dot (..., nv, nv), block diagonal: ``H P_dot H*``, Algorithm 6.1 and row 5 of Table 4. O(n)."""
        self._independent()
        robot, arguments = self._robot, {"q": q, "v": v}
        freedoms = [joint.kind.nv for joint in robot.model.joints]
        entries = robot._evaluate(
            motion.INERTIA_RATES,
            arguments,
            lambda values: gathering.flat(gathering.flat(values.lists.get("Ddot", []))),
            (sum(n * n for n in freedoms),),
            None,
            threads,
            key="D",
            store=robot._joint_space,
        )
        robot._require_finite(entries, arguments)
        return block_diagonal(entries, freedoms)


class Diagonal(_Rates, Metric):
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
    _rate, _moment = "nu", "eps"
    _plans: ClassVar = {
        "total": tables.TOTAL_RATES,
        "joint": tables.JOINT_RATES,
        "working": tables.WORKING_MOMENTS,
        "moments": tables.JOINT_MOMENTS,
    }
    _coriolis = coriolis.NORMALIZED

    def __init__(self, robot: FactorizationMethods) -> None:
        super().__init__(robot)
        self.unnormalized = Unnormalized(robot)

    def __repr__(self) -> str:
        return f"<diagonalised equations of {self._robot!r}>"

    # ---- rates and moments -----------------------------------------------------------------------------------------

    @single_state_fast
    def total_rates(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Normalised total joint rates (..., nv): ``nu = m* v``, Table 2. O(n); units sqrt(J)."""
        return self._to_total(q, v, out, threads)

    @single_state_fast
    def joint_rates(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The joint rates (..., nv) of total rates: ``v = inv(m)* nu``, Table 2. O(n)."""
        return self._to_joint(q, nu, out, threads)

    @single_state_fast
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
        return self._to_working(q, tau, out, threads)

    @single_state_fast
    def joint_moments(
        self, q: ArrayLike, eps: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The torques (..., nv) of working moments: ``tau = m eps``, Table 3 corrected. O(n)."""
        return self._from_working(q, eps, out, threads)

    # ---- equations of motion ---------------------------------------------------------------------------------------

    @single_state_fast
    def coriolis(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        *,
        method: Literal["short", "7.1"] = "short",
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
        return self._coriolis_term(q, nu, method, out, threads)

    def rates(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: bool = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """The equations of motion for integration: (v, nu_dot), each (..., nv). O(n), three sweeps.

        ``v = inv(m)* nu`` and ``nu_dot = eps - C(q, nu)``; gravity is included, ``wrenches`` and ``losses`` are as in
        :meth:`Robot.forward_dynamics`. ``d/dt (1/2 nu nu)`` is the power of all these forces. Jain & Rodriguez (7.5)
        and Algorithm 8.1 with V of this q. ``out`` takes both, (..., 2, nv).

        >>> import numpy as np, recursa as rc
        >>> robot = rc.robots.puma560().with_gravity((0, 0, 0))
        >>> (q, v), d, tau = robot.random_state(0), robot.diagonal, np.ones(6)
        >>> nu = d.total_rates(q, v)
        >>> speed, nu_dot = d.rates(q, nu, tau)
        >>> bool(np.allclose(speed, v)), bool(np.isclose(nu @ nu_dot, v @ tau))
        (True, True)
        """
        plain = wrenches is None and not losses and out is None and threads is None
        options = {} if plain else {"wrenches": wrenches, "losses": losses, "out": out, "threads": threads}
        return _two(self._rates(q, nu, tau, **options))

    @single_state_fast
    def _rates(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: bool = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        return self._right_hand_side(motion.equations_plan, q, nu, tau, wrenches, losses, out, threads)

    def articulated_rates(self, q: ArrayLike, v: ArrayLike, *, threads: int | None = None) -> Array:
        """P_dot (..., nbodies, 6, 6): how articulated-body inertias change, in link axes. Algorithm 6.1 (6.5). O(n).

        The derivative of :attr:`Factorization.P`, entry by entry, while the joints move with v.
        """
        self._independent()
        robot, arguments = self._robot, {"q": q, "v": v}
        result = robot._evaluate(
            motion.INERTIA_RATES,
            arguments,
            lambda values: chain.from_iterable(six_by_six(rate) for rate in values.lists.get("Pdot", [])),
            (robot.model.nbodies, 6, 6),
            None,
            threads,
            key="P",
        )
        robot._require_finite(result, arguments)
        return result


def _two(both: Array) -> tuple[Array, Array]:
    return both[..., 0, :], both[..., 1, :]


class DiagonalMethods(FactorizationMethods):
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
            found = self._diagonal = Diagonal(self)
        return found
