"""Configurations: neutral, random, moved, compared, between two, and how that changes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import configuration
from recursa.dynamics import configuration_derivatives as derivatives
from recursa.evaluation.answering import Facade, answers, as_given, two_matrices
from recursa.evaluation.evaluator import NO_OPTIONS
from recursa.sweeps.batching import Array


class ConfigurationMethods(Facade):
    """Configurations, and the motions between them."""

    __slots__ = ()

    def neutral(self) -> Array:
        """The configuration with every joint at zero (quaternions at identity), shape (nq,).

        >>> import recursa as rc
        >>> rc.robots.free_flyer(1).neutral()
        array([0., 0., 0., 0., 0., 0., 1., 0.])
        """
        return configuration.neutral(self.model)

    def random_state(
        self, seed: int | np.random.Generator | None = None, *, within_limits: bool | None = None
    ) -> tuple[Array, Array]:
        """A random state (q, v): q within the limits, v standard normal. The same seed gives the same state.

        Where a limit is missing, angles are drawn from a range of 2 pi and displacements from one of 2 m.
        ``within_limits=True``: speeds that have a limit are drawn from the range within it, too; False: limits do not
        count, neither of coordinates nor of speeds.

        >>> import recursa as rc
        >>> q, v = rc.robots.stanford().random_state(1)
        >>> q.shape, v.shape
        ((6,), (6,))
        """
        return configuration.random_state(self.model, seed, within_limits)

    @answers(configuration.INTEGRATE)
    def integrate(self, q: ArrayLike, dv: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """``q`` composed with ``exp(dv)``, joint by joint: where one gets by moving with speed dv for unit time.

        q (..., nq), dv (..., nv) -> (..., nq). Sums for revolute and prismatic joints; SE(3) for a free joint.
        Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(2).integrate([0.1, 0.2], [1.0, -1.0])
        array([ 1.1, -0.8])
        """

    @answers(configuration.DIFFERENCE)
    def difference(
        self, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The dv (..., nv) with ``integrate(q0, dv) = q1``: ``log(q0^-1 q1)``, joint by joint.

        Quaternions and planar angles go the short way round; angles of revolute joints are subtracted. Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(2).difference([0.1, 0.2], [1.1, -0.8])
        array([ 1., -1.])
        """

    @as_given
    def interpolate(
        self,
        q0: ArrayLike,
        q1: ArrayLike,
        s: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The configuration (..., nq) a part s of the way from q0 to q1: ``q0 exp(s log(q0^-1 q1))``, joint by joint.

        ``s`` (...,) is 0 at q0 and 1 at q1, and may go beyond; it is one number for every pair of configurations. Free
        joints move along a screw, ball joints about one axis; for revolute and prismatic joints it is the straight
        line. Cost: O(n).

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> arm.interpolate([0.0, 0.0], [1.0, -2.0], [0.0, 0.25, 1.0])
        array([[ 0.  ,  0.  ],
               [ 0.25, -0.5 ],
               [ 1.  , -2.  ]])
        """
        return self._answer(derivatives.INTERPOLATE, {"q0": q0, "q1": q1, "s": s}, NO_OPTIONS, out, threads)

    @answers(derivatives.D_INTEGRATE, parts=two_matrices)
    def d_integrate(
        self, q: ArrayLike, dv: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> tuple[Array, Array]:
        """(by q, by dv), each (..., nv, nv): how :meth:`integrate` changes with its arguments.

        A change of a configuration is the small dq of ``integrate(q, dq)``, here of q and of the result: for ball,
        planar and free joints in the moving axes, never of a quaternion's entries. With ``ad e = [dv, e]`` by q is
        ``exp(-ad)`` and by dv ``(1 - exp(-ad))/ad``, blocks on the diagonal; both are 1 where a joint has one freedom.
        ``out`` takes both, (..., 2, nv, nv). Cost: O(n) beside the zeros.

        >>> import recursa as rc
        >>> robot = rc.robots.free_flyer(1)
        >>> q, dv = robot.random_state(1)
        >>> by_q, by_dv = robot.d_integrate(q, dv)
        >>> small = 1e-7 * np.arange(robot.nv)
        >>> there, near = robot.integrate(q, dv), robot.integrate(robot.integrate(q, small), dv)
        >>> bool(np.allclose(robot.difference(there, near), by_q @ small, atol=1e-11))
        True
        """

    @answers(derivatives.D_DIFFERENCE, parts=two_matrices)
    def d_difference(
        self, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> tuple[Array, Array]:
        """(by q0, by q1), each (..., nv, nv): how :meth:`difference` changes with its arguments.

        Changes of configurations as in :meth:`d_integrate`. With ``ad e = [dv, e]``, dv the difference, by q0 is
        ``-ad/(exp(ad) - 1)`` and by q1 ``ad/(1 - exp(-ad))``, blocks on the diagonal; -1 and 1 where a joint has one
        freedom. ``out`` takes both, (..., 2, nv, nv). Cost: O(n) beside the zeros.

        >>> import recursa as rc
        >>> robot = rc.robots.free_flyer(1)
        >>> q, dv = robot.random_state(1)
        >>> dv = 0.5 * dv
        >>> by_q0, by_q1 = robot.d_difference(q, robot.integrate(q, dv))
        >>> bool(np.allclose(by_q1 @ robot.d_integrate(q, dv)[1], np.eye(robot.nv)))       # one undoes the other
        True
        """
