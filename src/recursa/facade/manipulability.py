"""How well a link can be moved: errors of poses, manipulability, condition, singular directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np  # noqa: F401  (in examples)
from numpy.typing import ArrayLike

from recursa.dynamics import manipulability
from recursa.dynamics.kinematics import Frame
from recursa.dynamics.manipulability import TaskName
from recursa.evaluation.answering import answers
from recursa.evaluation.facade import Facade
from recursa.sweeps.batching import Array


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
