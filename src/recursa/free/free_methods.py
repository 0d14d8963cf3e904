"""Free flyers with another base link: states, velocities, accelerations and forces mapped to it and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recursa.evaluation.answering import Facade, as_given
from recursa.free import change_of_base
from recursa.sweeps.batching import Array, cut


class ChangeOfBaseMethods(Facade):
    """Between the coordinates of a free flyer and those of ``robot.with_base(link)``."""

    __slots__ = ()

    @as_given
    def rebase_state(self, q: ArrayLike, v: ArrayLike, link: str, *, threads: int | None = None) -> tuple[Array, Array]:
        """The same state (q', v') in the coordinates of ``robot.with_base(link)``.

        The free joint's part is the pose and velocity of the link; joints of one freedom keep their values, in the new
        robot's order. A spherical or planar joint (or an inner free one) between the two bases gets the values of the
        inverse motion, because its child is now the other link. Jain & Rodriguez (41). Cost: O(n).

        >>> import recursa as rc
        >>> robot = rc.robots.free_flyer(2)
        >>> q, v = robot.random_state(1)
        >>> q2, v2 = robot.rebase_state(q, v, "link2")
        >>> other = robot.with_base("link2")
        >>> bool(np.allclose(other.poses(q2)[other.link_names.index("bus")], robot.pose(q, "bus")))
        True
        >>> bool(np.isclose(other.kinetic_energy(q2, v2), robot.kinetic_energy(q, v)))
        True
        """
        both = self._answer(change_of_base.REBASE_STATE, {"q": q, "v": v}, {"link": link}, None, threads)
        new_q, new_v = cut(both, [self.nq])
        return np.ascontiguousarray(new_q), np.ascontiguousarray(new_v)

    @as_given
    def base_transform(self, q: ArrayLike, link: str, *, out: Array | None = None, threads: int | None = None) -> Array:
        """T (..., nv, nv) with ``v' = T v``: the speeds of ``robot.with_base(link)`` from this robot's.

        T_kn of Jain & Rodriguez (41)-(43). Then ``mass' = T^-T mass T^-1`` (44) and ``tau' = T^-T tau``; the inverse of
        T is the ``base_transform`` of the other robot back to this one's base. Rows are in the other robot's order.

        >>> import recursa as rc
        >>> robot = rc.robots.free_flyer(2)
        >>> q, v = robot.random_state(1)
        >>> T = robot.base_transform(q, "link2")
        >>> q2, v2 = robot.rebase_state(q, v, "link2")
        >>> bool(np.allclose(T @ v, v2))
        True
        >>> other = robot.with_base("link2")
        >>> bool(np.allclose(T.T @ other.mass_matrix(q2) @ T, robot.mass_matrix(q)))
        True
        """
        return self._answer(change_of_base.BASE_TRANSFORM, {"q": q}, {"link": link}, out, threads)

    @as_given
    def base_transform_derivative(
        self, q: ArrayLike, v: ArrayLike, link: str, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """dT/dt (..., nv, nv) along v, of :meth:`base_transform`: ``a' = T a + dT/dt v``.

        >>> import recursa as rc
        >>> robot = rc.robots.free_flyer(2)
        >>> q, v = robot.random_state(1)
        >>> robot.base_transform_derivative(q, v, "link2").shape
        (8, 8)
        """
        options = {"link": link}
        return self._answer(change_of_base.BASE_TRANSFORM_DERIVATIVE, {"q": q, "v": v}, options, out, threads)

    @as_given
    def rebase_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        link: str,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Accelerations a' (..., nv) of ``robot.with_base(link)``: ``a' = T a + dT/dt v``.

        >>> import recursa as rc
        >>> robot = rc.robots.free_flyer(2)
        >>> q, v = robot.random_state(1)
        >>> robot.rebase_acceleration(q, v, np.zeros(8), "link2")[6:]      # joints keep theirs
        array([0., 0.])
        """
        options = {"link": link}
        return self._answer(change_of_base.REBASE_ACCELERATION, {"q": q, "v": v, "a": a}, options, out, threads)

    @as_given
    def rebase_forces(
        self, q: ArrayLike, tau: ArrayLike, link: str, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Forces tau' (..., nv) of ``robot.with_base(link)`` that do the same: ``tau' = T^-T tau``, same power.

        A wrench on the present base becomes one on the new base, and torques of the joints between them.

        >>> import recursa as rc
        >>> robot = rc.robots.free_flyer(2)
        >>> (q, v), tau = robot.random_state(1), np.arange(8.0)
        >>> other = robot.rebase_forces(q, tau, "link2")
        >>> bool(np.isclose(other @ robot.rebase_state(q, v, "link2")[1], tau @ v))
        True
        """
        return self._answer(change_of_base.REBASE_FORCES, {"q": q, "tau": tau}, {"link": link}, out, threads)
