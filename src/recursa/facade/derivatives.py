"""Derivatives of inverse and forward dynamics, and linearised models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import derivatives, forward_derivatives, gathering, linearized, link_derivatives, tangent
from recursa.errors import NoSweepError, ShapeError, unknown_name
from recursa.facade.base import single_state_fast
from recursa.facade.parts import PartMethods
from recursa.kernels import native
from recursa.kernels.dispatch import Columns, Switch
from recursa.model.model import Model
from recursa.model.moving import MayMove
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array, as_array, fitting
from recursa.sweeps.engine import Values
from recursa.sweeps.plan import Plan

LinearizeMethod = Literal["spatial", "balafoutis-patel"]
FUSED_BODIES = 12  # up to which derivatives of forward dynamics may be one kernel


class Linearization(NamedTuple):
    """Inverse dynamics near a state: ``d tau = D da + V dv + P dq``, Balafoutis & Patel (7.2.1).

    Each (..., nv, nv); dq is that of ``integrate(q, dq)``. D is the mass matrix with armature; V and P are not
    symmetric.
    """

    stiffness: Array
    damping: Array
    mass: Array


class StateSpace(NamedTuple):
    """Motion near a state: ``d/dt (dq, dv) = A (dq, dv) + B dtau``, Balafoutis & Patel (7.2.2).

    A (..., 2 nv, 2 nv), B (..., 2 nv, nv).
    """

    A: Array
    B: Array


class DerivativeMethods(PartMethods):
    """How torques change with the motion, and motions with the torques."""

    __slots__ = ()

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> tuple[Array, Array, Array]:
        """(d tau/d q, d tau/d v, d tau/d a), each (..., nv, nv): of :meth:`inverse_dynamics`, armature included.

        With U = phi* V(parent), A = phi* alpha(parent), R, h, f inertia, momentum and force of everything outward,
        ``2 B = dR/dt + icrf(h)``, and columns s of ``H*`` with ``s' = crm(U) s``, ``s'' = crm(A) s + crm(U) s'``::

            d tau(i)/d q(j) = s(i).(R(i) s''(j) + 2 B(i) s'(j))                          j inward of i, or i
            d tau(j)/d q(i) = s(j).(R(i) s''(i) + 2 B(i) s'(i) + crf(s(i)) f(i))         j inward of i
            d tau/d v       = the same with s, s' + crm(V) s in place of s', s'', without f

        Singh, Russell & Wensing (2022). The derivative with respect to q is that with respect to dq of
        ``integrate(q, dq)``. Two sweeps, O(n d) for depth d; robots too large for code that spells out every entry
        get columns in O(n) each. ``out`` takes all three, (..., 3, nv, nv).

        >>> import recursa as rc
        >>> arm = rc.robots.planar(1)                       # a rod of 0.5 kg and 0.3 m, hanging down
        >>> by_q, by_v, by_a = arm.inverse_dynamics_derivatives([-np.pi / 2], [0.0], [0.0])
        >>> by_q.round(6), by_a.round(6)                    # m g l/2 and m l^2/3
        (array([[0.73575]]), array([[0.015]]))
        """
        if out is None and threads is None:
            return _three(self._inverse_derivatives(q, v, a))  # spelled so that single states go straight in
        return _three(self._inverse_derivatives(q, v, a, out=out, threads=threads))

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> tuple[Array, Array, Array]:
        """(d a/d q, d a/d v, d a/d tau), each (..., nv, nv): of :meth:`forward_dynamics`.

        ``d a/d tau = inv(mass) = (I - H psi K)* inv(D) (I - H psi K)``, Identity 6 (46) of Rodriguez &
        Kreutz-Delgado, and ``d a/d x = -inv(mass) d tau/d x`` with the derivatives of inverse dynamics at the
        accelerations that tau causes. One kernel for robots of up to 12 bodies. ``out`` takes all three, (..., 3, nv,
        nv). Robots with tied joints invert their mass matrix instead.

        >>> import recursa as rc
        >>> robot = rc.robots.puma560()
        >>> (q, v), tau = robot.random_state(0), np.ones(6)
        >>> by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau)
        >>> by_id = robot.inverse_dynamics_derivatives(q, v, robot.forward_dynamics(q, v, tau))
        >>> bool(np.allclose(by_q, -by_tau @ by_id[0]))
        True
        """
        if out is None and threads is None:
            return _three(self._forward_derivatives(q, v, tau))
        return _three(self._forward_derivatives(q, v, tau, out=out, threads=threads))

    @overload
    def linearize(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        method: LinearizeMethod = "spatial",
        losses: bool = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Linearization: ...
    @overload
    def linearize(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        direction: Sequence[ArrayLike],
        method: LinearizeMethod = "spatial",
        losses: bool = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array: ...
    def linearize(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        direction: Sequence[ArrayLike] | None = None,
        method: LinearizeMethod = "spatial",
        losses: bool = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Linearization | Array:
        """Inverse dynamics near a state, ``d tau = D da + V dv + P dq``: (stiffness P, damping V, mass D).

        With ``direction=(dq, dv, da)`` only what they make of the torques, d tau (..., nv), in O(n): Newton-Euler
        differentiated line by line. ``out`` takes P, V and D together, (..., 3, nv, nv), or d tau.

        - ``"spatial"``: :meth:`inverse_dynamics_derivatives`, for every kind of joint.
        - ``"balafoutis-patel"``: Algorithm 7.1 (7.3.18)-(7.3.19), for joints that turn or slide, also in trees.

        ``losses=True`` adds those of the joints: their damping to V. Coulomb friction, ``f sign(v)``, does not change
        while a joint slides, so it adds nothing; for a joint at rest, where it jumps, there is no linear model of it.

        >>> import recursa as rc
        >>> robot = rc.robots.stanford()
        >>> (q, v), a = robot.random_state(0), np.ones(6)
        >>> model = robot.linearize(q, v, a)
        >>> dq, dv, da = np.eye(6)[[1, 2, 3]]
        >>> change = robot.linearize(q, v, a, direction=(dq, dv, da))
        >>> bool(np.allclose(change, model.mass @ da + model.damping @ dv + model.stiffness @ dq))
        True
        """
        arguments: dict[str, Any] = {"q": q, "v": v, "a": a}
        if method not in ("spatial", "balafoutis-patel"):
            raise unknown_name("method of linearization", method, ("spatial", "balafoutis-patel"))
        if direction is None:
            model = Linearization(
                *_three(self._algorithm_7_1(arguments, out, threads))
                if method == "balafoutis-patel"
                else self.inverse_dynamics_derivatives(q, v, a, out=out, threads=threads)
            )
            if losses:
                np.einsum("...ii->...i", model.damping)[...] += self._joint_damping
            return model
        if method != "spatial":
            raise NoSweepError(f"{method!r} makes the matrices; a direction is for the default method")
        try:
            dq, dv, da = direction
        except (TypeError, ValueError):
            raise ShapeError("a direction is three arrays (dq, dv, da), each (..., nv)") from None
        options: dict[str, Any] = {} if out is None and threads is None else {"out": out, "threads": threads}
        change = self._tangent(q, v, a, dq, dv, da, **options)
        if losses:
            change += (self._joint_damping * as_array(self.model, "dv", dv, coordinates=False)).astype(change.dtype)
        return change

    def state_space(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, losses: bool = False, threads: int | None = None
    ) -> StateSpace:
        """Motion near a state: ``d/dt (dq, dv) = A (dq, dv) + B dtau``, Balafoutis & Patel (7.2.2).

        A's lower half are the derivatives of :meth:`forward_dynamics`, B's is ``inv(mass)``. In A's upper left block
        stands ``-ad_v`` on free, spherical and planar joints, whose coordinates move along: ``d/dt dq = dv - crm(v)
        dq``; elsewhere it is zero.

        ``losses=True``: damping and friction act too, as in ``forward_dynamics(losses=True)``. ``-inv(mass) damping``
        is then part of A's lower right block; Coulomb friction slows the motion about which A is taken, and does not
        change near it while a joint slides. For a joint at rest it is left out: it jumps there.

        >>> import recursa as rc
        >>> pendulum = rc.robots.planar(1)
        >>> A, B = pendulum.state_space([-np.pi / 2], [0.0], [0.0])
        >>> A.round(6) + 0.0                                # hanging down: -3 g / 2 l
        array([[  0.  ,   1.  ],
               [-49.05,   0.  ]])
        >>> puma = rc.robots.puma560()
        >>> q, v = puma.random_state(0)
        >>> slower = puma.state_space(q, v, v, losses=True).A - puma.state_space(q, v, v - puma.joint_losses(v)).A
        >>> damping = [joint.damping[0] for joint in puma.model.joints]
        >>> bool(np.allclose(slower[6:, 6:], -puma.mass_matrix_inverse(q) * damping))
        True
        """
        if losses:
            given, lost = as_array(self.model, "tau", tau, coordinates=False), self.joint_losses(v)
            fitting(tau=given, v=lost)
            A, B = self.state_space(q, v, given - lost, threads=threads)
            A[..., self.nv :, self.nv :] -= (B[..., self.nv :, :] * self._joint_damping).astype(A.dtype)
            return StateSpace(A, B)
        known = ("_state_space",) in self._entries
        if not known and not self._fits(
            forward_derivatives.STATE_SPACE_BY_FACTORS,
            forward_derivatives.state_space_entries,
            (6 * self.nv * self.nv,),
        ):
            return self._state_space_apart(q, v, tau, threads)
        both = self._state_space(q, v, tau) if threads is None else self._state_space(q, v, tau, threads=threads)
        split, batch, nv = 4 * self.nv * self.nv, both.shape[:-1], self.nv
        return StateSpace(
            both[..., :split].reshape(*batch, 2 * nv, 2 * nv), both[..., split:].reshape(*batch, 2 * nv, nv)
        )

    # ---- shared ------------------------------------------------------------------------------------------------------

    @property
    def _joint_damping(self) -> Array:
        """``d joint_losses/d v`` (nv,), of joints that slide: damping, that of tied joints with their sources'."""
        return np.array(gathering.loss_coefficients(self.model)[0])

    @single_state_fast
    def _tangent(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        dq: ArrayLike,
        dv: ArrayLike,
        da: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """d tau (..., nv) along a direction."""
        return self._evaluate(
            tangent.TANGENT,
            {"q": q, "v": v, "a": a, "joint:dq": dq, "joint:dv": dv, "joint:da": da},
            lambda values: tangent.tangent_entries(self.model, values),
            (self.nv,),
            out,
            threads,
            labels={"joint:dq": "dq", "joint:dv": "dv", "joint:da": "da"},
            entry=("_tangent",),
            may_move=MayMove.INERTIAS,
        )

    @single_state_fast
    def _inverse_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """d tau by q, v and a, (..., 3, nv, nv)."""
        arguments: dict[str, Any] = {"q": q, "v": v, "a": a}
        return self._evaluate(
            derivatives.INVERSE_DERIVATIVES,
            arguments,
            lambda values: derivatives.derivative_entries(self.model, values),
            (3, self.nv, self.nv),
            out,
            threads,
            entry=("_inverse_derivatives",),
            may_move=MayMove.INERTIAS,
            columns=self._parts(derivatives.INVERSE_CUT, arguments)
            or Columns(tangent.TANGENTS, lambda values: tangent.column_entries(self.model, values), "joint:x", self.nv),
        )

    @single_state_fast
    def _forward_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """d a by q, v and tau, (..., 3, nv, nv)."""
        if not self._fits(
            forward_derivatives.FORWARD_DERIVATIVES_BY_FACTORS,
            forward_derivatives.forward_derivative_entries,
            (3, self.nv, self.nv),
        ):
            return self._forward_derivatives_apart(q, v, tau, out, threads)
        arguments: dict[str, Any] = {"q": q, "v": v, "tau": tau}
        result = self._evaluate(
            forward_derivatives.FORWARD_DERIVATIVES,
            arguments,
            lambda values: forward_derivatives.forward_derivative_entries(self.model, values),
            (3, self.nv, self.nv),
            out,
            threads,
            entry=("_forward_derivatives",),
            may_move=MayMove.INERTIAS,
            compiled_plan=forward_derivatives.FORWARD_DERIVATIVES_BY_FACTORS,
        )
        plan = forward_derivatives.FORWARD_DERIVATIVES_BY_FACTORS
        pivots = self._pivots(result[..., 2, :, :], plan, (3, self.nv, self.nv), tuple(arguments))
        self._require_finite(result, arguments, pivots)
        return result

    @single_state_fast
    def _state_space(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """A and B, one after the other, (..., 6 nv^2)."""
        arguments: dict[str, Any] = {"q": q, "v": v, "tau": tau}
        result = self._evaluate(
            forward_derivatives.STATE_SPACE,
            arguments,
            lambda values: forward_derivatives.state_space_entries(self.model, values),
            (6 * self.nv * self.nv,),
            out,
            threads,
            entry=("_state_space",),
            may_move=MayMove.INERTIAS,
            compiled_plan=forward_derivatives.STATE_SPACE_BY_FACTORS,
        )
        inverse = result[..., 5 * self.nv * self.nv :].reshape(*result.shape[:-1], self.nv, self.nv)
        plan = forward_derivatives.STATE_SPACE_BY_FACTORS
        pivots = self._pivots(inverse, plan, (6 * self.nv * self.nv,), tuple(arguments))
        self._require_finite(result, arguments, pivots)
        return result

    def _state_space_apart(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, threads: int | None) -> StateSpace:
        by_q, by_v, by_tau = self.forward_dynamics_derivatives(q, v, tau, threads=threads)
        nv, batch = self.nv, by_q.shape[:-2]
        A, B = np.zeros((*batch, 2 * nv, 2 * nv), by_q.dtype), np.zeros((*batch, 2 * nv, nv), by_q.dtype)
        A[..., :nv, :nv] = self._evaluate(
            forward_derivatives.MOVING_COORDINATES,
            {"v": v},
            lambda values: forward_derivatives.moving_entries(self.model, values),
            (nv, nv),
            None,
            threads,
        )
        A[..., :nv, nv:] = np.eye(nv)
        A[..., nv:, :nv], A[..., nv:, nv:], B[..., nv:, :] = by_q, by_v, by_tau
        return StateSpace(A, B)

    def _algorithm_7_1(self, arguments: dict[str, Any], out: Array | None, threads: int | None) -> Array:
        """d tau by q, v and a, (..., 3, nv, nv), in Cartesian tensors."""
        if not linearized.suits(self.model):
            other = next(joint for joint in self.model.joints if not linearized.suits_joint(joint))
            raise NoSweepError(
                f"joint '{other.name}' is {other.kind.name}: Algorithm 7.1 is for revolute and prismatic joints. "
                'Use method="spatial"'
            )
        return self._evaluate(
            linearized.ALGORITHM_7_1,
            arguments,
            lambda values: derivatives.derivative_entries(self.model, values),
            (3, self.nv, self.nv),
            out,
            threads,
            store=self._on_axes,
        )

    def _link_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, link: str, threads: int | None = None
    ) -> tuple[Array, Array, Array]:
        """dV/dq, dalpha/dq and dalpha/dv of a link, each (..., 6, nv): mixed frame, classical acceleration."""
        number = self.model.link_index(link)
        plan = self._plan(
            "link_derivatives", lambda: link_derivatives.link_derivatives_plan(self.model, number), number
        )
        return _three(
            self._evaluate(
                plan,
                {"q": q, "v": v, "a": a},
                lambda values: link_derivatives.link_derivative_entries(self.model, number, values),
                (3, 6, self.nv),
                None,
                threads,
            )
        )

    def _fits(self, plan: Plan, entries: Callable[[Model, Values], Iterator[Scalar]], shape: tuple[int, ...]) -> bool:
        """Whether a plan about forward dynamics is one kernel; where nothing is compiled, whether that is likely."""
        if self._tied or self.model.nbodies > FUSED_BODIES:
            return False
        if not (Switch.on and native.available() and self.nv):
            return True
        sizes = {"q": self.nq, "v": self.nv, "tau": self.nv}
        store = self._store(MayMove.INERTIAS)
        return store.kernel(plan, (None, shape), sizes, partial(entries, self.model)) is not None

    def _forward_derivatives_apart(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, out: Array | None, threads: int | None
    ) -> Array:
        """The same: accelerations, derivatives and inverse mass matrix one by one."""
        a = self.forward_dynamics(q, v, tau, threads=threads)
        result = self._inverse_derivatives(q, v, a, out=out, threads=threads)
        inverse = self.mass_matrix_inverse(q, threads=threads)
        np.negative(inverse, out=inverse)
        result[..., :2, :, :] = inverse[..., None, :, :] @ result[..., :2, :, :]
        np.negative(inverse, out=result[..., 2, :, :])
        return result


def _three(result: Array) -> tuple[Array, Array, Array]:
    return result[..., 0, :, :], result[..., 1, :, :], result[..., 2, :, :]
