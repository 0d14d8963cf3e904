"""Derivatives of inverse and forward dynamics, and linearised models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import gathering
from recursa.dynamics.derivatives import discrete
from recursa.dynamics.kinematics import JACOBIAN, POSE_OF_LINK
from recursa.dynamics.second_tangent import three_arrays
from recursa.dynamics.sparsity import PATTERNS
from recursa.dynamics.wrenches import (
    DAMPING,
    JOINT_LOSSES,
    Losses,
    known_losses,
    listed_wrenches,
    standing,
    turned_back,
)
from recursa.errors import NoSweepError, known_method
from recursa.evaluation.answering import Facade, as_given, asks, foreign, three_matrices
from recursa.methods import first_order
from recursa.methods.manifold import reduced_state_space
from recursa.sweeps.batching import Array, as_array, fitting

LinearizeMethod = Literal["spatial", "balafoutis-patel", "direct"]


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

    A (..., 2 nv, 2 nv), B (..., 2 nv, nv). With ``dt=`` of :meth:`Robot.state_space` they are those of steps of dt
    seconds: ``(dq, dv)(t + dt) = A (dq, dv)(t) + B dtau``.
    """

    A: Array
    B: Array


class DerivativeMethods(Facade):
    """How torques change with the motion, and motions with the torques."""

    __slots__ = ()

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        wrenches: Any = None,
        packed: bool = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array, Array]:
        """(d tau/d q, d tau/d v, d tau/d a), each (..., nv, nv): of :meth:`inverse_dynamics`, armature included.

        With U = phi* V(parent), A = phi* alpha(parent), R, h, f inertia, momentum and force of everything outward,
        ``2 B = dR/dt + icrf(h)``, and columns s of ``H*`` with ``s' = crm(U) s``, ``s'' = crm(A) s + crm(U) s'``::

            d tau(i)/d q(j) = s(i).(R(i) s''(j) + 2 B(i) s'(j))                          j inward of i, or i
            d tau(j)/d q(i) = s(j).(R(i) s''(i) + 2 B(i) s'(i) + crf(s(i)) f(i))         j inward of i
            d tau/d v       = the same with s, s' + crm(V) s in place of s', s'', without f

        Singh, Russell & Wensing (2022). The derivative with respect to q is that with respect to dq of
        ``integrate(q, dq)``. Two sweeps, O(n d) for depth d; beyond 12 bodies walks inward from every body, with the
        same cost. ``out`` takes all three, (..., 3, nv, nv). ``packed=True`` leaves out of each what is zero for good,
        (..., n) entries at the places of :meth:`sparsity`.

        - ``wrenches``: what acts on links, in the forms that :meth:`inverse_dynamics` takes. Those given in link axes,
          all arrays among them, turn with their links as q changes; a :class:`recursa.Wrench` in world axes keeps its
          direction in the world. Points stay fixed on links.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(1)                       # a rod of 0.5 kg and 0.3 m, hanging down
        >>> by_q, by_v, by_a = arm.inverse_dynamics_derivatives([-np.pi / 2], [0.0], [0.0])
        >>> by_q.round(6), by_a.round(6)                    # m g l/2 and m l^2/3
        (array([[0.73575]]), array([[0.015]]))
        >>> lifted = rc.Wrench(at="link1", force=(0, 0.5 * 9.81, 0), point=(0.15, 0, 0))  # what holds it is its weight
        >>> arm.inverse_dynamics_derivatives([0.4], [0.0], [0.0], wrenches=[lifted])[0].round(12) + 0.0
        array([[0.]])
        """
        if out is None and threads is None and wrenches is None:
            if not packed:  # spelled so that single states go straight in
                return three_matrices(self._inverse_derivatives(q, v, a))
            return _three_packed(self._inverse_derivatives(q, v, a, packed=True))
        if foreign((q, v, a, wrenches)) is not None:
            ask = as_given(self.inverse_dynamics_derivatives)
            return ask(q, v, a, wrenches=wrenches, packed=packed, out=out, threads=threads)
        wrenches = _listed(wrenches)
        result = self._inverse_derivatives(q, v, a, wrenches=wrenches, packed=packed, out=out, threads=threads)
        by_q, by_v, by_a = _three_packed(result) if packed else three_matrices(result)
        where = PATTERNS["inverse_dynamics_derivatives"](self.model) if packed else None
        for forces in self._turned_back(q, wrenches):
            by_q -= (forces if where is None else where.entries(forces)).astype(by_q.dtype)
        return by_q, by_v, by_a

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array, Array]:
        """(d a/d q, d a/d v, d a/d tau), each (..., nv, nv): of :meth:`forward_dynamics`.

        ``d a/d tau = inv(mass) = (I - H psi K)* inv(D) (I - H psi K)``, Identity 6 (46) of Rodriguez &
        Kreutz-Delgado, and ``d a/d x = -inv(mass) d tau/d x`` with the derivatives of inverse dynamics at the
        accelerations that tau causes. ``out`` takes all three, (..., 3, nv, nv). Robots with tied joints invert their
        mass matrix instead.

        - ``wrenches``: what acts on links, as in :meth:`inverse_dynamics_derivatives`: in link axes it turns with the
          link, in world axes it does not.

        >>> import recursa as rc
        >>> robot = rc.robots.puma560()
        >>> (q, v), tau = robot.random_state(0), np.ones(6)
        >>> by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau)
        >>> by_id = robot.inverse_dynamics_derivatives(q, v, robot.forward_dynamics(q, v, tau))
        >>> bool(np.allclose(by_q, -by_tau @ by_id[0]))
        True
        """
        if out is None and threads is None and wrenches is None:
            return three_matrices(self._forward_derivatives(q, v, tau))
        if foreign((q, v, tau, wrenches)) is not None:
            return as_given(self.forward_dynamics_derivatives)(q, v, tau, wrenches=wrenches, out=out, threads=threads)
        wrenches = _listed(wrenches)
        result = self._forward_derivatives(q, v, tau, wrenches=wrenches, out=out, threads=threads)
        by_q, by_v, by_tau = three_matrices(result)
        for forces in self._turned_back(q, wrenches):
            by_q += by_tau @ forces.astype(by_q.dtype)
        return by_q, by_v, by_tau

    @overload
    def linearize(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        method: LinearizeMethod = "spatial",
        wrenches: Any = None,
        losses: Losses = False,
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
        wrenches: Any = None,
        losses: Losses = False,
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
        wrenches: Any = None,
        losses: Losses = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Linearization | Array:
        """Inverse dynamics near a state, ``d tau = D da + V dv + P dq``: (stiffness P, damping V, mass D).

        With ``direction=(dq, dv, da)`` only what they make of the torques, d tau (..., nv), in O(n): Newton-Euler
        differentiated line by line. ``out`` takes P, V and D together, (..., 3, nv, nv), or d tau.

        - ``"spatial"``: :meth:`inverse_dynamics_derivatives`, for every kind of joint.
        - ``"balafoutis-patel"``: Algorithm 7.1 (7.3.18)-(7.3.19), for joints that turn or slide, also in trees.
        - ``"direct"``: (7.3.2)-(7.3.4), every entry for itself in base axes, for the same joints.

        ``wrenches``: what acts on links, as in :meth:`inverse_dynamics_derivatives`; for the default method.

        ``losses=True`` (or "damping") adds those of the joints: their damping to V. Coulomb friction, ``f sign(v)``,
        does not change while a joint slides, so it (and ``losses="friction"``) adds nothing; for a joint at rest, where
        it jumps, there is no linear model of it.

        >>> import recursa as rc
        >>> robot = rc.robots.stanford()
        >>> (q, v), a = robot.random_state(0), np.ones(6)
        >>> model = robot.linearize(q, v, a)
        >>> dq, dv, da = np.eye(6)[[1, 2, 3]]
        >>> change = robot.linearize(q, v, a, direction=(dq, dv, da))
        >>> bool(np.allclose(change, model.mass @ da + model.damping @ dv + model.stiffness @ dq))
        True
        """
        known_method("linearization", method, tuple(first_order.LINEARIZATIONS))
        damped = known_losses(losses) in DAMPING
        if wrenches is not None and method != "spatial":
            raise NoSweepError(f"{method!r} knows no wrenches on links: they are for the default method")
        if (damped or direction is not None) and foreign((q, v, a, wrenches)) is not None:
            ask: Any = as_given(self.linearize)
            return ask(q, v, a, direction=direction, method=method, losses=losses, wrenches=wrenches, threads=threads)
        if direction is None:
            if method == "spatial":
                three = self.inverse_dynamics_derivatives(q, v, a, wrenches=wrenches, out=out, threads=threads)
            else:
                whole = self._answer(first_order.LINEARIZE, {"q": q, "v": v, "a": a}, {"method": method}, out, threads)
                three = three_matrices(whole)
            model = Linearization(*three)
            if damped:
                np.einsum("...ii->...i", model.damping)[...] += self._joint_damping
            return model
        if method != "spatial":
            raise NoSweepError(f"{method!r} makes the matrices; a direction is for the default method")
        dq, dv, da = three_arrays(direction)
        wrenches = _listed(wrenches)
        change = self._tangent(q, v, a, dq, dv, da, wrenches=wrenches, out=out, threads=threads)
        for forces in self._turned_back(q, wrenches):
            moved = as_array(self.model, "dq", dq, coordinates=False)
            change -= (forces @ moved[..., None])[..., 0].astype(change.dtype)
        if damped:
            change += (self._joint_damping * as_array(self.model, "dv", dv, coordinates=False)).astype(change.dtype)
        return change

    def state_space(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: Losses = False,
        dt: float | None = None,
        threads: int | None = None,
    ) -> StateSpace:
        """Motion near a state: ``d/dt (dq, dv) = A (dq, dv) + B dtau``, Balafoutis & Patel (7.2.2).

        A's lower half are the derivatives of :meth:`forward_dynamics`, B's is ``inv(mass)``. In A's upper left block
        stands ``-ad_v`` on free, spherical and planar joints, whose coordinates move along: ``d/dt dq = dv - crm(v)
        dq``; elsewhere it is zero.

        ``wrenches``: what acts on links, as in :meth:`inverse_dynamics_derivatives`: in link axes it turns with the
        link, in world axes it keeps its direction.

        ``losses=True``: damping and friction act too, as in ``forward_dynamics(losses=True)``; "damping" or "friction":
        one of them. ``-inv(mass) damping`` is then part of A's lower right block; Coulomb friction slows the motion
        about which A is taken, and does not change near it while a joint slides. For a joint at rest it is left out: it
        jumps there.

        ``dt``: the model in discrete time instead, for steps of dt seconds in which dtau is held. It is exact for the
        linear model with A and B as they are at this state: with ``F = [[A, B], [0, 0]]`` the upper rows of ``exp(F
        dt)`` are (A, B) of a step. Along a motion A and B change; a model for every step is then right to the order of
        dt. Deviations are those from the motion that goes on from this state under tau.

        A robot with constraints moves on the manifold that they allow: dq and dv are then the entries of its f
        independent speeds, :attr:`Mobility.independent` in the order of v, A is (2 f, 2 f) and B (2 f, nv). The others
        follow, ``dq = Z dq[independent]`` with Z of :meth:`free_directions`. States have to obey the constraints
        (:meth:`assemble`, :meth:`project_velocity`); those of a batch share the independent speeds of the first one.

        >>> import recursa as rc
        >>> pendulum = rc.robots.planar(1)
        >>> A, B = pendulum.state_space([-np.pi / 2], [0.0], [0.0])
        >>> A.round(6) + 0.0                                # hanging down: -3 g / 2 l
        array([[  0.  ,   1.  ],
               [-49.05,   0.  ]])
        >>> step = pendulum.state_space([-np.pi / 2], [0.0], [0.0], dt=0.01)
        >>> bool(np.allclose(step.A[0, 0], np.cos(np.sqrt(49.05) * 0.01)))          # it swings
        True
        >>> puma = rc.robots.puma560()
        >>> q, v = puma.random_state(0)
        >>> slower = puma.state_space(q, v, v, losses=True).A - puma.state_space(q, v, v - puma.joint_losses(v)).A
        >>> damping = [joint.damping[0] for joint in puma.model.joints]
        >>> bool(np.allclose(slower[6:, 6:], -puma.mass_matrix_inverse(q) * damping))
        True
        """
        plain = dt is None and not losses and wrenches is None and threads is None
        if not plain and foreign((q, v, tau, wrenches)) is not None:
            ask = as_given(self.state_space)
            return ask(q, v, tau, wrenches=wrenches, losses=losses, dt=dt, threads=threads)
        if dt is not None:
            return StateSpace(
                *discrete(*self.state_space(q, v, tau, wrenches=wrenches, losses=losses, threads=threads), dt)
            )
        which = known_losses(losses)
        if self.model.description.constraints:
            return self._on_manifold(q, v, tau, wrenches, which)
        if which:
            driving = as_array(self.model, "tau", tau, coordinates=False)
            lost = self._answer(JOINT_LOSSES, {"v": v}, {"losses": which})
            fitting(tau=driving, v=lost)
            A, B = self.state_space(q, v, driving - lost, wrenches=wrenches, threads=threads)
            if which not in DAMPING:
                return StateSpace(A, B)
            A[..., self.nv :, self.nv :] -= (B[..., self.nv :, :] * self._joint_damping).astype(A.dtype)
            return StateSpace(A, B)
        if plain:  # spelled so that single states go straight in
            return StateSpace(*first_order.state_space_halves(self._state_space(q, v, tau), self.nv))
        wrenches = _listed(wrenches)
        both = self._state_space(q, v, tau, wrenches=wrenches, threads=threads)
        A, B = first_order.state_space_halves(both, self.nv)
        for forces in self._turned_back(q, wrenches):
            A[..., self.nv :, : self.nv] += B[..., self.nv :, :] @ forces.astype(A.dtype)
        return StateSpace(A, B)

    def _on_manifold(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: Any, losses: Losses) -> StateSpace:
        """In independent entries of dq and dv, of states that obey the constraints."""
        q, v = (as_array(self.model, name, x, coordinates=name == "q") for name, x in (("q", q), ("v", v)))
        driving = as_array(self.model, "tau", tau, coordinates=False)
        if losses:
            driving = driving - self._answer(JOINT_LOSSES, {"v": v}, {"losses": losses})
        by_q, by_v, by_tau = self.forward_dynamics_derivatives(q, v, driving, wrenches=wrenches)
        if losses in DAMPING:
            by_v = by_v - by_tau * self._joint_damping
        return StateSpace(*reduced_state_space(self._evaluator, q, v, (by_q, by_v, by_tau)))

    # ---- shared ------------------------------------------------------------------------------------------------------

    # in all of them wrenches turn with their links
    _tangent = asks(first_order.LINEARIZE_ALONG)
    _inverse_derivatives = asks(first_order.INVERSE_DYNAMICS_DERIVATIVES)
    _forward_derivatives = asks(first_order.FORWARD_DYNAMICS_DERIVATIVES)
    _state_space = asks(first_order.STATE_SPACE)

    @property
    def _joint_damping(self) -> Array:
        """``d joint_losses/d v`` (nv,), of joints that slide: damping, that of tied joints with their sources'."""
        return np.array(gathering.damping_coefficients(self.model))

    def _turned_back(self, q: ArrayLike, wrenches: Any) -> Iterator[Array]:
        """Joint forces (..., nv, nv) per dq of each wrench in world axes, beyond those of one that turns along."""
        for wrench in standing(wrenches):
            jacobian = self._answer(JACOBIAN, {"q": q}, {"link": wrench.at, "frame": "body"})
            pose = self._answer(POSE_OF_LINK, {"q": q}, {"link": wrench.at})
            yield np.swapaxes(jacobian, -1, -2) @ turned_back(wrench, pose) @ jacobian[..., :3, :]


def _listed(wrenches: Any) -> Any:
    """The same, to be read more than once."""
    listed = listed_wrenches(wrenches)
    return wrenches if listed is None else listed


def _three_packed(result: Array) -> tuple[Array, Array, Array]:
    return result[..., 0, :], result[..., 1, :], result[..., 2, :]
