"""Second derivatives of inverse dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import second_derivatives, second_tangent
from recursa.errors import ShapeError
from recursa.facade.base import single_state_fast
from recursa.facade.derivatives import DerivativeMethods
from recursa.kernels.dispatch import Columns, KernelStore
from recursa.model.moving import MayMove
from recursa.sweeps.batching import Array, Batch, as_array

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


@dataclass(frozen=True)
class _Rows(Columns):
    """The blocks row by row, as products with unit directions: the way for robots too large for straight-line code.

    A direction along q gives a row each of qq, qv and qa; one along v a row of vv.
    """

    def fill(self, store: KernelStore, batch: Batch, flat: Array, workers: int) -> bool:
        """Fill rows (B, 4 nv nv); False if there is no kernel."""
        nv = self.count
        sizes = {name: rows.shape[1] for name, rows in batch.rows.items()} | dict.fromkeys(second_tangent.DIRECTION, nv)
        kernel = store.kernel(self.plan, None, sizes, self.gather, single=batch.dtype == np.float32)
        if kernel is None:
            return False
        blocks = flat.reshape(batch.size, BLOCKS, nv, nv)
        at_once = max(1, ROWS_AT_ONCE // nv)
        for start in range(0, batch.size, at_once):
            some = slice(start, min(start + at_once, batch.size))
            states = some.stop - some.start
            rows = {name: np.repeat(values[some], nv, axis=0) for name, values in batch.rows.items()}
            unit = np.tile(np.eye(nv, dtype=batch.dtype), (states, 1))
            made = np.empty((states * nv, 3 * nv), batch.dtype)
            for along, parts in ((0, ((0, 0), (1, 1), (3, 2))), (1, ((2, 1),))):
                rows |= {
                    name: unit if place == along else np.zeros_like(unit)
                    for place, name in enumerate(second_tangent.DIRECTION)
                }
                kernel(rows, made, workers)
                for block, part in parts:
                    blocks[some, block] = made.reshape(states, nv, 3, nv)[:, :, part]
        return True


ROWS_AT_ONCE = 8192


class SecondDerivativeMethods(DerivativeMethods):
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
        if direction is not None:
            return HessianDirection(*self._second_along(q, v, a, contract, direction, out, threads))
        if contract is None:
            every = self._second_of_each(q, v, a, out, threads)
            return SecondDerivatives(*(every[..., block, :, :, :] for block in range(BLOCKS)))
        if out is None and threads is None:
            found = self._second_contracted(q, v, a, contract)  # spelled so that single states go straight in
        else:
            found = self._second_contracted(q, v, a, contract, out=out, threads=threads)
        return SecondDerivatives(*(found[..., block, :, :] for block in range(BLOCKS)))

    @single_state_fast
    def _second_contracted(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        contract: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The blocks of one Hessian, (..., 4, nv, nv)."""
        cut, labels = second_derivatives.SECOND_CUT, {second_derivatives.COVECTOR: "contract"}
        arguments: dict[str, Any] = {"q": q, "v": v, "a": a, second_derivatives.COVECTOR: contract}
        return self._evaluate(
            cut.plan,
            arguments,
            lambda values: cut.matrices(self.model, values),
            (BLOCKS, self.nv, self.nv),
            out,
            threads,
            labels=labels,
            entry=("_second_contracted",),
            may_move=MayMove.INERTIAS,
            columns=self._parts(cut, arguments)
            or _Rows(
                second_tangent.SECOND_TANGENT,
                lambda values: second_tangent.second_tangent_entries(self.model, values),
                "joint:dq",
                self.nv,
            ),
        )

    def _second_of_each(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, out: Array | None, threads: int | None
    ) -> Array:
        """The blocks of every torque's Hessian, (..., 4, nv, nv, nv): contractions with unit vectors."""
        q, v, a, units = self._for_each_torque(q, v, a)
        swapped = _torque_first(out, (BLOCKS, self.nv, self.nv, self.nv))
        return np.swapaxes(self._second_contracted(q, v, a, units, out=swapped, threads=threads), -4, -3)

    def _second_along(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        contract: ArrayLike | None,
        direction: Sequence[ArrayLike],
        out: Array | None,
        threads: int | None,
    ) -> Array:
        """Hessians times a direction, parts first."""
        try:
            dq, dv, da = direction
        except (TypeError, ValueError):
            raise ShapeError("a direction is three arrays (dq, dv, da), each (..., nv)") from None
        ways = {"dq": dq, "dv": dv, "da": da}
        if contract is None:
            q, v, a, contract = self._for_each_torque(q, v, a)
            ways = {name: as_array(self.model, name, x, coordinates=False)[..., None, :] for name, x in ways.items()}
            made = self._second_tangent(q, v, a, contract, ways, _torque_first(out, (3, self.nv, self.nv)), threads)
            return np.moveaxis(made, -2, 0)
        return np.moveaxis(self._second_tangent(q, v, a, contract, ways, out, threads), -2, 0)

    def _second_tangent(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        contract: ArrayLike,
        ways: dict[str, Any],
        out: Array | None,
        threads: int | None,
    ) -> Array:
        """One Hessian times a direction, (..., 3, nv)."""
        along = {f"joint:{name}": x for name, x in ways.items()}
        return self._evaluate(
            second_tangent.SECOND_TANGENT,
            {"q": q, "v": v, "a": a, second_derivatives.COVECTOR: contract} | along,
            lambda values: second_tangent.second_tangent_entries(self.model, values),
            (3, self.nv),
            out,
            threads,
            labels={second_derivatives.COVECTOR: "contract"} | {f"joint:{name}": name for name in ways},
            may_move=MayMove.INERTIAS,
        )

    def _for_each_torque(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array, Array]:
        """A state with one more batch axis, and the unit vectors along it."""
        q = as_array(self.model, "q", q, coordinates=True)
        v, a = (as_array(self.model, name, x, coordinates=False) for name, x in (("v", v), ("a", a)))
        units = np.eye(self.nv, dtype=np.result_type(q, v, a))
        return q[..., None, :], v[..., None, :], a[..., None, :], units


def _torque_first(out: Array | None, wanted: tuple[int, ...]) -> Array | None:
    """The caller's array with the torque's axis before that of the blocks; its last axes have to be as wanted."""
    if out is None:
        return None
    axes = len(wanted)
    if np.shape(out)[-axes:] != wanted:
        batch = "..., " if np.ndim(out) != axes else ""
        shape = ", ".join(str(n) for n in wanted)
        raise ShapeError(f"out has shape {np.shape(out)}, the result has ({batch}{shape})")
    return np.swapaxes(out, -axes, 1 - axes)
