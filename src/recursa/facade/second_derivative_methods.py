"""Second derivatives of inverse dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import second_derivatives
from recursa.dynamics.second_tangent import three_arrays
from recursa.evaluation.answering import Facade, as_given, asks, foreign
from recursa.evaluation.evaluator import NO_OPTIONS
from recursa.methods.second_order import (
    EACH_SECOND_DERIVATIVE_ALONG,
    INVERSE_DYNAMICS_SECOND_DERIVATIVES,
    SECOND_DERIVATIVES_ALONG,
)
from recursa.sweeps.batching import Array

BLOCKS = len(second_derivatives.BLOCKS)


class SecondDerivatives(NamedTuple):
    """Second derivatives of inverse dynamics: ``qv[..., i, j, k]`` is ``d2 tau(i) / d q(j) d v(k)``.

    Each (..., nv, nv, nv); contracted with a vector on the torques (..., nv, nv), without the index i. By v and a, and
    by a twice, there is nothing: tau is linear in a. qq and vv are symmetric in j and k.
    """

    qq: Array
    qv: Array
    vv: Array
    qa: Array


class HessianDirection(NamedTuple):
    """A Hessian times a direction, by what the gradient is taken: each (..., nv)."""

    by_q: Array
    by_v: Array
    by_a: Array


class SecondDerivativeMethods(Facade):
    """How the derivatives of the torques change."""

    __slots__ = ()

    @overload
    def inverse_dynamics_second_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        contract: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> SecondDerivatives: ...
    @overload
    def inverse_dynamics_second_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        direction: Sequence[ArrayLike],
        contract: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> HessianDirection: ...
    def inverse_dynamics_second_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        contract: ArrayLike | None = None,
        direction: Sequence[ArrayLike] | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> SecondDerivatives | HessianDirection:
        """Second derivatives (qq, qv, vv, qa) of :meth:`inverse_dynamics`, each (..., nv, nv, nv).

        ``qv[..., i, j, k]`` is ``d2 tau(i)/d q(j) d v(k)``; there are none by v and a, nor by a twice.

        With ``contract=lambda`` (..., nv) those of the number ``lambda* tau``, (..., nv, nv), at a small part of the
        cost: one outward and one inward sweep, O(n d) for depth d. With U, A, Y the velocity, acceleration and virtual
        velocity ``phi* H* lambda`` of the parent, columns s of ``H*``, ``w = crm(Y) s``, ``s' = crm(U) s``,
        ``s'' = crm(A) s + crm(U) s'``, and R, B, f, p, Z, c sums over everything outward (``second_derivatives.py``)::

            d2/dq(i) dq(j) = w(i).(R s'' + 2B s' + crf(s) f)(j) + s''(i).(R w + crf(s) p)(j)
                             + s'(i).(2B* w + crf(s) c + crf(s') p - Z s')(j)        i inward of j, or j

        With ``direction=(dq, dv, da)`` the Hessian times that direction, (by_q, by_v, by_a), each (..., nv), in O(n);
        without ``contract`` what the direction makes of the three matrices of :meth:`inverse_dynamics_derivatives`.

        Derivatives with respect to q are with respect to dq of ``integrate(q, dq)`` at dq = 0, so qq is symmetric for
        every kind of joint. As in the first derivatives armature is included (it is linear in a, so it adds nothing
        here) and losses are not. ``out`` takes all blocks, (..., 4, nv, nv, nv) or (..., 4, nv, nv); with a direction
        all parts, (..., 3, nv, nv) or (..., 3, nv).

        >>> import recursa as rc
        >>> arm = rc.robots.planar(1)                       # a rod of 0.5 kg and 0.3 m, held out level
        >>> arm.inverse_dynamics_second_derivatives([0.0], [0.0], [0.0]).qq.round(6)    # -m g l/2
        array([[[-0.73575]]])
        >>> robot = rc.robots.puma560()
        >>> (q, v), a, weights = robot.random_state(0), np.ones(6), np.arange(6.0)
        >>> full = robot.inverse_dynamics_second_derivatives(q, v, a)
        >>> contracted = robot.inverse_dynamics_second_derivatives(q, v, a, contract=weights)
        >>> bool(np.allclose(contracted.qv, np.einsum("i,ijk", weights, full.qv)))
        True
        """
        if (direction is not None or contract is None) and foreign((q, v, a)) is not None:
            ask: Any = as_given(self.inverse_dynamics_second_derivatives)
            return ask(q, v, a, contract=contract, direction=direction, out=out, threads=threads)
        arrays: dict[str, Any] = {"q": q, "v": v, "a": a}
        if direction is not None:
            arrays["dq"], arrays["dv"], arrays["da"] = three_arrays(direction)
            if contract is None:
                every = self._answer(EACH_SECOND_DERIVATIVE_ALONG, arrays, NO_OPTIONS, out, threads)
                return HessianDirection(*np.moveaxis(every, -3, 0))
            arrays["contract"] = contract
            parts = self._answer(SECOND_DERIVATIVES_ALONG, arrays, NO_OPTIONS, out, threads)
            return HessianDirection(*np.moveaxis(parts, -2, 0))
        if contract is None:
            every = self._answer(INVERSE_DYNAMICS_SECOND_DERIVATIVES, arrays, NO_OPTIONS, out, threads)
            return SecondDerivatives(*(every[..., block, :, :, :] for block in range(BLOCKS)))
        found = self._second_contracted(q, v, a, contract=contract, out=out, threads=threads)
        return SecondDerivatives(*(found[..., block, :, :] for block in range(BLOCKS)))

    _second_contracted = asks(INVERSE_DYNAMICS_SECOND_DERIVATIVES, "contract")
