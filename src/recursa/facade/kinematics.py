"""Poses, velocities, accelerations, Jacobians, and how the motion of a link changes."""

from __future__ import annotations

import numpy as np  # noqa: F401  (in examples)
from numpy.typing import ArrayLike

from recursa.dynamics import kinematics
from recursa.dynamics.base_velocity import BaseVelocity
from recursa.dynamics.jacobian_rates import JACOBIAN_SECOND_DERIVATIVE
from recursa.dynamics.kinematics import Frame, Kind
from recursa.dynamics.link_derivatives import ACCELERATION_DERIVATIVES, VELOCITY_DERIVATIVES
from recursa.evaluation.answering import answers, three_matrices, two_matrices
from recursa.evaluation.facade import Facade
from recursa.sweeps.batching import Array
from recursa.walks.jacobians import JACOBIANS


class KinematicsMethods(Facade):
    """Where links are, and how they move."""

    __slots__ = ()

    @answers(kinematics.POSES)
    def poses(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Poses of all links in the world: homogeneous matrices (..., nlinks, 4, 4), link to world components.

        ``W(k) = W(parent) placement J(q)``; Balafoutis & Patel (2.3.6). Cost: O(n). Constraints do not change them: q
        need not close the loops of the robot.

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> robot.poses([0.0, 0.0])[-1, :3, 3]          # the tip of a stretched arm
        array([0.55, 0.  , 0.  ])
        """

    @answers(kinematics.POSE_OF_LINK)
    def pose(self, q: ArrayLike, link: str, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Pose of one link in the world, (..., 4, 4): the product of the transforms on the way to it.

        Cost: O(depth of the link).

        >>> import recursa as rc
        >>> rc.robots.planar(2).pose([0.0, 0.0], "tip")[:3, 3]
        array([0.55, 0.  , 0.  ])
        """

    @answers(kinematics.VELOCITIES)
    def velocities(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: Frame = "body",
        *,
        base_twist: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Spatial velocities (angular, linear) of all links, (..., nlinks, 6).

        ``V(k) = phi* V(parent) + H* v``; Rodriguez & Kreutz-Delgado (7). ``frame``: "body", "mixed" or "world" axes;
        ``base_twist``: velocity (..., 6) of a base that is moved; see :doc:`/arguments`. Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(2).velocities([0.0, 0.0], [1.0, 0.0])[-1]       # the tip turns, and goes sideways
        array([0.  , 0.  , 1.  , 0.  , 0.55, 0.  ])
        """

    @answers(kinematics.ACCELERATIONS)
    def accelerations(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: Frame = "body",
        kind: Kind = "spatial",
        *,
        base_twist: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Accelerations (angular, linear) of all links without gravity, (..., nlinks, 6).

        ``alpha(k) = phi* alpha(parent) + H* a + crm(V) H* v``; Rodriguez & Kreutz-Delgado (8), body derivative.
        Cost: O(n).

        - ``frame``: "body", "mixed" or "world" axes; see :doc:`/arguments`.
        - ``kind``: "spatial", as above; "classical" adds ``w x v``: the acceleration of the point at the frame's
          origin.
        - ``base_twist``, ``base_acceleration``: the motion (..., 6) of a base that is moved in a known way.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> arm.accelerations([0, 0], [1, 0], [0, 0], kind="classical")[-1, 3:]    # the tip, towards the centre
        array([-0.55, 0.  , 0.  ])
        """

    @answers(kinematics.JACOBIAN)
    def jacobian(
        self,
        q: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Jacobian of a link, (..., 6, nv): ``velocity of the link = J v``, in the same frame.

        ``J = B* phi* H*``; Rodriguez & Kreutz-Delgado (20). Cost: O(depth of the link). ``frame`` and
        ``base_velocity``: "body", "mixed" or "world" axes of its rows and of the velocity of a free base,
        :doc:`/arguments`.
        Constraints do not change it: its columns are all speeds of the tree. Times the basis of
        :meth:`free_directions` it is the Jacobian of a closed mechanism.

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> q, v = robot.random_state(0)
        >>> bool(np.allclose(robot.jacobian(q, "tip") @ v, robot.velocities(q, v)[-1]))
        True
        """

    @answers(JACOBIANS)
    def jacobians(
        self, q: ArrayLike, *, frame: Frame = "body", out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Jacobians of all links at once, (..., nlinks, 6, nv): each as :meth:`jacobian` gives it, in the same frame.

        ``velocities(q, v, frame) = J v``, rows (angular, linear); columns of joints that do not move a link are zero.
        Every joint's column is carried outward once. Cost: O(n d) for depth d beside the zeros. ``frame``: "body",
        "mixed" or "world".

        >>> import recursa as rc
        >>> robot = rc.robots.stanford()
        >>> q, v = robot.random_state(0)
        >>> J = robot.jacobians(q, frame="world")
        >>> J.shape, bool(np.allclose(J @ v, robot.velocities(q, v, "world")))
        ((7, 6, 6), True)
        """

    @answers(kinematics.JACOBIAN_DERIVATIVE)
    def jacobian_derivative(
        self,
        q: ArrayLike,
        v: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Time derivative of the matrix ``jacobian(q, link, frame=frame)`` along v, (..., 6, nv).

        The classical acceleration of the link's origin at a = 0 is ``dJ/dt v`` in the mixed frame. Cost: O(depth).

        - ``frame``: "body", "mixed" or "world", as of :meth:`jacobian`.
        - ``base_velocity``: "body", "mixed" or "world", the axes of the velocity of a free base, :doc:`/arguments`; the
          matrix is that of ``jacobian(base_velocity=)``, and "at a = 0" then means that these numbers do not change.

        >>> import recursa as rc
        >>> arm, v = rc.robots.planar(2), np.array([1.0, 0.0])
        >>> (arm.jacobian_derivative([0, 0], v, "tip", frame="mixed") @ v)[3:]
        array([-0.55, 0.  , 0.  ])
        """

    @answers(JACOBIAN_SECOND_DERIVATIVE)
    def jacobian_second_derivative(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Second time derivative of the matrix ``jacobian(q, link, frame=frame)`` along a motion, (..., 6, nv).

        In link axes ``J'' = crm(B - A - crm(V) U) J + crm(U - V) J'`` with U, B velocity and acceleration of the body
        of a joint and V, A those of the link. The jerk of the link is ``J da/dt + 2 dJ/dt a + d2J/dt2 v``. O(depth).
        ``frame``: "body", "mixed" or "world", as of :meth:`jacobian`.

        >>> import recursa as rc
        >>> arm, v = rc.robots.planar(2), np.array([1.0, 0.0])
        >>> (arm.jacobian_second_derivative([0, 0], v, [0, 0], "tip", frame="mixed") @ v)[3:]
        array([ 0.  , -0.55,  0.  ])
        """

    # ---- derivatives of one link's motion ----------------------------------------------------------------------------

    @answers(VELOCITY_DERIVATIVES, parts=two_matrices)
    def velocity_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """(by q, by v), each (..., 6, nv): how the velocity of a link, as :meth:`velocities` gives it, changes.

        By q is ``phi*(k, link) crm(U) H*`` with U the velocity of the parent of joint k, in the frame "body"; in others
        the axes do not turn with the link, which adds ``(J angular) x V`` ("mixed") or ``crm(J) V`` ("world"). By v it
        is the Jacobian. Derivatives by q are with respect to dq of ``integrate(q, dq)``. ``out`` takes both,
        (..., 2, 6, nv). Cost: O(depth of the link).

        >>> import recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, v = robot.random_state(0)
        >>> by_q, by_v = robot.velocity_derivatives(q, v, "link6", frame="mixed")
        >>> step = 1e-6 * np.eye(6)[1]
        >>> change = [robot.velocities(q + s, v, "mixed")[-1] for s in (step, -step)]
        >>> bool(np.allclose((change[0] - change[1]) / 2e-6, by_q[:, 1]))
        True
        """

    @answers(ACCELERATION_DERIVATIVES, parts=three_matrices)
    def acceleration_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        kind: Kind = "spatial",
        out: Array | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array, Array]:
        """(by q, by v, by a), each (..., 6, nv): how the acceleration of a link, as :meth:`accelerations` gives it,
        changes.

        With c, s', s'' of :meth:`inverse_dynamics_derivatives` (without gravity) carried to the link, whose velocity is
        V, in the body frame::

            by q = s'' + crm(s') V,    by v = s' + crm(V_k) c + crm(c) V,    by a = c

        In other frames ("mixed", "world" instead of "body") the axes do not turn with the link, as in
        :meth:`velocity_derivatives`; ``kind="classical"`` instead of "spatial" adds the changes of ``w x v``. ``out``
        takes all three, (..., 3, 6, nv). Cost: O(depth of the link).

        >>> import recursa as rc
        >>> robot = rc.robots.puma560()
        >>> (q, v), a = robot.random_state(0), np.ones(6)
        >>> by_q, by_v, by_a = robot.acceleration_derivatives(q, v, a, "link6", frame="mixed", kind="classical")
        >>> bool(np.allclose(by_v[3:], 2 * robot.jacobian_derivative(q, v, "link6", frame="mixed")[3:]))
        True
        >>> bool(np.allclose(by_a, robot.jacobian(q, "link6", frame="mixed")))
        True
        """
