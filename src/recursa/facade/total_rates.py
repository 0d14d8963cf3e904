"""Total rates and working moments: what both sets of diagonal coordinates share, and those without square roots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

from numpy.typing import ArrayLike

from recursa.dynamics import gathering
from recursa.dynamics.diagonal import coriolis, motion, tables
from recursa.errors import NoSweepError, known_method
from recursa.facade.base import given, single_state_fast
from recursa.facade.factorization import block_diagonal
from recursa.facade.metric import Asking
from recursa.model.moving import MayMove
from recursa.sweeps.batching import Array
from recursa.sweeps.plan import Plan


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


class TotalRates(Asking):
    """What both sets of coordinates can be asked."""

    __slots__ = ()

    _rate: ClassVar[str]
    _moment: ClassVar[str]
    _plans: ClassVar[dict[str, Plan]]
    _coriolis: ClassVar[dict[str, Plan]]

    def _to_total(self, q: ArrayLike, v: ArrayLike, out: Array | None, threads: int | None) -> Array:
        self._independent()
        name = "eps" if self._rate == "nu" else "xi"
        return self._vector(
            self._plans["total"], (name,), {"q": q, "v": v}, MayMove.INERTIAS, out, threads, ("total_rates",)
        )

    def _to_joint(self, q: ArrayLike, rate: ArrayLike, out: Array | None, threads: int | None) -> Array:
        self._independent()
        arguments = {"q": q, f"joint:{self._rate}": rate}
        return self._vector(
            self._plans["joint"], ("rate",), arguments, MayMove.INERTIAS, out, threads, ("joint_rates",)
        )

    def _to_working(self, q: ArrayLike, tau: ArrayLike, out: Array | None, threads: int | None) -> Array:
        self._independent()
        return self._vector(
            self._plans["working"], ("eps",), {"q": q, "tau": tau}, MayMove.INERTIAS, out, threads, ("working_moments",)
        )

    def _from_working(self, q: ArrayLike, moment: ArrayLike, out: Array | None, threads: int | None) -> Array:
        self._independent()
        arguments = {"q": q, f"joint:{self._moment}": moment}
        return self._vector(
            self._plans["moments"], ("T",), arguments, MayMove.INERTIAS, out, threads, ("joint_moments",)
        )

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
        return self._vector(
            self._coriolis[method], ("C",), arguments, MayMove.INERTIAS, out, threads, ("coriolis", method)
        )

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
        entry = ("_rates", *given(wrenches=wrenches, losses=bool(losses)))
        plan = make(wrenches=wrenches is not None, losses=bool(losses))
        return self._vector(plan, ("rate", "eps"), arguments | extra, MayMove.INERTIAS, out, threads, entry)


class Unnormalized(TotalRates):
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

    def coriolis_causes(self, q: ArrayLike, xi: ArrayLike, *, threads: int | None = None) -> CoriolisCauses:
        """``C(q, xi)`` by its causes, three terms (..., nv) whose sum it is; (7.9) term by term. O(n).

        >>> import numpy as np, recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, xi = robot.random_state(0)
        >>> u = robot.diagonal.unnormalized
        >>> bool(np.allclose(sum(u.coriolis_causes(q, xi)), u.coriolis(q, xi)))
        True
        """
        self._independent()
        robot, arguments = self._robot, {"q": q, "joint:xi": xi}
        freedoms = [joint.kind.nv for joint in robot.model.joints]
        flat = robot._evaluate(
            coriolis.CAUSES,
            arguments,
            lambda values: gathering.flat(values.lists.get("causes", [])),
            (3 * robot.nv,),
            None,
            threads,
            labels={"joint:xi": "xi"},
            may_move=MayMove.FRAMES,  # regrouping keeps the sum of the causes, not each of them
        )
        robot._require_finite(flat, arguments)
        starts = [3 * sum(freedoms[:k]) for k in range(len(freedoms))]
        places = [
            [start + cause * n + i for start, n in zip(starts, freedoms, strict=True) for i in range(n)]
            for cause in range(3)
        ]
        return CoriolisCauses(*(flat[..., place] for place in places))

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
        return both_of(self._rates(q, xi, tau, **options))

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
            may_move=MayMove.INERTIAS,
        )
        robot._require_finite(entries, arguments)
        return block_diagonal(entries, freedoms)


def both_of(both: Array) -> tuple[Array, Array]:
    """Two joint vectors of (..., 2, nv)."""
    return both[..., 0, :], both[..., 1, :]
