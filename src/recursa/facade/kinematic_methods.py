"""Poses, velocities, accelerations, Jacobians, and how the motion of a link changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np  # noqa: F401  (in examples)
from numpy.typing import ArrayLike

from recursa.dynamics import kinematics, manipulability
from recursa.dynamics.base_velocity import BaseVelocity
from recursa.dynamics.kinematics import Frame, Kind
from recursa.dynamics.link_derivatives import ACCELERATION_DERIVATIVES, VELOCITY_DERIVATIVES
from recursa.dynamics.manipulability import TaskName
from recursa.dynamics.momentum_rates import JACOBIAN_SECOND_DERIVATIVE
from recursa.evaluation.answering import Facade, answers, three_matrices, two_matrices
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


# ---- how well a link can be moved: errors of poses, manipulability, condition, singular directions -------------------


class SingularDirections(NamedTuple):
    """What :meth:`Robot.singular_directions` returns, the direction that is moved with most ease first.

    - ``gains`` (..., m): how fast the link goes along each direction, per unit of joint speed: singular values of J.
    - ``directions`` (..., m, m): unit vectors, one per row, over the rows of the task (angular, linear).
    - ``speeds`` (..., m, nv): joint speeds of unit length that move the link that way; zero where nothing does.
    """

    gains: Array
    directions: Array
    speeds: Array


class ManipulabilityMethods(Facade):
    """How far a link is from where it should be, and how well it can be moved."""

    __slots__ = ()

    @answers(manipulability.POSE_ERROR)
    def pose_error(
        self, q: ArrayLike, link: str, pose: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """What a link lacks of a wanted pose (..., 4, 4), as the motion (..., 6) that takes it there: ``log(L^-1 T)``.

        (angular, linear) in rad and m, in link axes at the link origin: moving with this velocity, constant in link
        axes, brings the link from L to T in a second. The angle is at most pi. ``J dq = error`` is the equation of one
        Newton step, with the Jacobian of ``frame="body"``. Cost: O(depth of the link).

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> there = robot.pose([0.0, 0.3], "tip")
        >>> there[:3, 3] += [0.0, 0.0, 0.1]
        >>> robot.pose_error([0.0, 0.3], "tip", there).round(12) + 0.0
        array([0. , 0. , 0. , 0. , 0. , 0.1])
        >>> robot.pose_error([0.0, 0.1], "tip", robot.pose([0.2, 0.1], "tip"))[:3].round(12) + 0.0
        array([0. , 0. , 0.2])
        """

    @answers(manipulability.MANIPULABILITY)
    def manipulability(
        self, q: ArrayLike, link: str, *, task: TaskName = "pose", out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Yoshikawa's manipulability of a link, (...): ``w = sqrt(det(J J*))``, the product of J's singular values.

        ``task``: the rows of J that count: "pose" (all six), "position" (linear ones), "orientation" (angular ones). It
        does not depend on axes. It is zero where the link cannot be moved in every direction of the task, hence always
        for arms with fewer joints than the task has directions. For rotary joints it is in m^3 ("orientation": no
        unit). Cost: O(depth of the link), since J J* adds up along the path.

        >>> import recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, _ = robot.random_state(0)
        >>> bool(np.isclose(robot.manipulability(q, "link6"), abs(np.linalg.det(robot.jacobian(q, "link6")))))
        True
        >>> float(robot.manipulability([0.0, 0.4, 0.2, 0.0, 0.0, 0.0], "link6"))      # the wrist is stretched
        0.0
        """

    def condition(
        self,
        q: ArrayLike,
        link: str,
        *,
        task: TaskName = "pose",
        length: float = 1.0,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The condition number of a link's Jacobian, (...): its largest singular value over its smallest, or infinity.

        ``task``: "pose", "position" or "orientation", as in :meth:`manipulability`. ``length``: how many metres count
        as much as a radian, where a task has both; the number depends on it. In the same bits for a state alone and in
        a batch.

        >>> import recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, _ = robot.random_state(0)
        >>> bool(np.isclose(robot.condition(q, "link6"), np.linalg.cond(robot.jacobian(q, "link6"))))
        True
        """
        options = {"link": link, "task": task, "length": length}
        return self._answer(manipulability.CONDITION, {"q": q}, options, out, threads)

    def singular_directions(
        self,
        q: ArrayLike,
        link: str,
        *,
        task: TaskName = "pose",
        frame: Frame = "body",
        length: float = 1.0,
        threads: int | None = None,
    ) -> SingularDirections:
        """In which directions a link is moved with ease, and in which hardly: singular vectors of its Jacobian.

        ``task`` ("pose", "position", "orientation") and ``length`` as in :meth:`condition`; ``frame`` ("body", "mixed",
        "world") as in :meth:`jacobian`. Each direction has its largest entry positive.

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> found = robot.singular_directions([0.0, 0.0], "tip", task="position", frame="mixed")
        >>> found.directions[0]                     # a stretched arm goes sideways, and neither along itself nor upward
        array([0., 1., 0.])
        >>> found.gains[1:]
        array([0., 0.])
        """
        options = {"link": link, "task": task, "frame": frame, "length": length}
        found = self._answer(manipulability.SINGULAR_DIRECTIONS, {"q": q}, options, None, threads)
        m = found.shape[-2]
        return SingularDirections(found[..., 0], found[..., 1 : 1 + m], found[..., 1 + m :])
