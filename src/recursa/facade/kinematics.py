"""Configurations, poses, velocities, Jacobians, mass properties and energies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import configuration, kinematics, mass_properties
from recursa.dynamics.kinematics import Frame, Kind
from recursa.evaluation.answering import answers
from recursa.evaluation.evaluator import NO_OPTIONS
from recursa.evaluation.facade import Facade
from recursa.sweeps.batching import Array


class KinematicsMethods(Facade):
    """Where things are, how they move, and what they weigh."""

    __slots__ = ()

    # ---- configurations --------------------------------------------------------------------------------------------

    def neutral(self) -> Array:
        """The configuration with every joint at zero (quaternions at identity), shape (nq,).

        >>> import recursa as rc
        >>> rc.robots.free_flyer(1).neutral()
        array([0., 0., 0., 0., 0., 0., 1., 0.])
        """
        return configuration.neutral(self.model)

    def random_state(self, seed: int | np.random.Generator | None = None) -> tuple[Array, Array]:
        """A random state (q, v): q within the limits, v standard normal. The same seed gives the same state.

        Where a limit is missing, angles are drawn from a range of 2 pi and displacements from one of 2 m.

        >>> import recursa as rc
        >>> q, v = rc.robots.stanford().random_state(1)
        >>> q.shape, v.shape
        ((6,), (6,))
        """
        return configuration.random_state(self.model, seed)

    @answers(configuration.INTEGRATE)
    def integrate(self, q: ArrayLike, dv: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """``q`` composed with ``exp(dv)``, joint by joint: where one gets by moving with speed dv for unit time.

        q (..., nq), dv (..., nv) -> (..., nq). Sums for revolute and prismatic joints; SE(3) for a free joint.
        Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(2).integrate([0.1, 0.2], [1.0, -1.0])
        array([ 1.1, -0.8])
        """
        return self._answer(configuration.INTEGRATE, {"q": q, "dv": dv}, NO_OPTIONS, out, threads)

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
        return self._answer(configuration.DIFFERENCE, {"q0": q0, "q1": q1}, NO_OPTIONS, out, threads)

    # ---- kinematics ------------------------------------------------------------------------------------------------

    @answers(kinematics.POSES)
    def poses(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Poses of all links in the world: homogeneous matrices (..., nlinks, 4, 4), link to world components.

        ``W(k) = W(parent) placement J(q)``; Balafoutis & Patel (2.3.6). Cost: O(n).

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> robot.poses([0.0, 0.0])[-1, :3, 3]          # the tip of a stretched arm
        array([0.55, 0.  , 0.  ])
        """
        return self._answer(kinematics.POSES, {"q": q}, NO_OPTIONS, out, threads)

    @answers(kinematics.POSE_OF_LINK)
    def pose(self, q: ArrayLike, link: str, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Pose of one link in the world, (..., 4, 4): the product of the transforms on the way to it.

        Cost: O(depth of the link).

        >>> import recursa as rc
        >>> rc.robots.planar(2).pose([0.0, 0.0], "tip")[:3, 3]
        array([0.55, 0.  , 0.  ])
        """
        return self._answer(kinematics.POSE_OF_LINK, {"q": q}, {"link": link}, out, threads)

    @answers(kinematics.VELOCITIES)
    def velocities(
        self, q: ArrayLike, v: ArrayLike, frame: Frame = "body", *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Spatial velocities (angular, linear) of all links, (..., nlinks, 6).

        ``V(k) = phi* V(parent) + H* v``; Rodriguez & Kreutz-Delgado (7). ``frame``: "body" = link axes at the link
        origin, "mixed" = world axes at the link origin, "world" = world axes at the world origin. Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(2).velocities([0.0, 0.0], [1.0, 0.0])[-1]       # the tip turns, and goes sideways
        array([0.  , 0.  , 1.  , 0.  , 0.55, 0.  ])
        """
        return self._answer(kinematics.VELOCITIES, {"q": q, "v": v}, {"frame": frame}, out, threads)

    @answers(kinematics.ACCELERATIONS)
    def accelerations(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: Frame = "body",
        kind: Kind = "spatial",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Accelerations (angular, linear) of all links without gravity, (..., nlinks, 6).

        ``alpha(k) = phi* alpha(parent) + H* a + crm(V) H* v``; Rodriguez & Kreutz-Delgado (8), body derivative.
        ``kind="classical"`` adds ``w x v``: the acceleration of the point at the frame's origin. Cost: O(n).

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> arm.accelerations([0, 0], [1, 0], [0, 0], kind="classical")[-1, 3:]    # the tip, towards the centre
        array([-0.55, 0.  , 0.  ])
        """
        return self._answer(
            kinematics.ACCELERATIONS, {"q": q, "v": v, "a": a}, {"frame": frame, "kind": kind}, out, threads
        )

    @answers(kinematics.JACOBIAN)
    def jacobian(
        self,
        q: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Jacobian of a link, (..., 6, nv): ``velocity of the link = J v``, in the same frame.

        ``J = B* phi* H*``; Rodriguez & Kreutz-Delgado (20). Cost: O(depth of the link).

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> q, v = robot.random_state(0)
        >>> bool(np.allclose(robot.jacobian(q, "tip") @ v, robot.velocities(q, v)[-1]))
        True
        """
        return self._answer(kinematics.JACOBIAN, {"q": q}, {"link": link, "frame": frame}, out, threads)

    @answers(kinematics.JACOBIAN_DERIVATIVE)
    def jacobian_derivative(
        self,
        q: ArrayLike,
        v: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Time derivative of the matrix ``jacobian(q, link, frame=frame)`` along v, (..., 6, nv).

        The classical acceleration of the link's origin at a = 0 is ``dJ/dt v`` in the mixed frame. Cost: O(depth).

        >>> import recursa as rc
        >>> arm, v = rc.robots.planar(2), np.array([1.0, 0.0])
        >>> (arm.jacobian_derivative([0, 0], v, "tip", frame="mixed") @ v)[3:]
        array([-0.55, 0.  , 0.  ])
        """
        return self._answer(
            kinematics.JACOBIAN_DERIVATIVE, {"q": q, "v": v}, {"link": link, "frame": frame}, out, threads
        )

    # ---- mass properties -------------------------------------------------------------------------------------------

    @property
    def mass(self) -> float:
        """Total mass of the moving bodies.

        >>> import recursa as rc
        >>> rc.robots.stanford().mass
        21.1
        """
        return self.model.total_mass

    @answers(mass_properties.CENTER_OF_MASS)
    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Centre of mass of the moving bodies in the world, (..., 3): ``sum m c / sum m``. Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(1).center_of_mass([0.0])
        array([0.15, 0.  , 0.  ])
        """
        return self._answer(mass_properties.CENTER_OF_MASS, {"q": q}, NO_OPTIONS, out, threads)

    @answers(mass_properties.MOMENTUM_OF_ROBOT)
    def momentum(
        self,
        q: ArrayLike,
        v: ArrayLike,
        about: str = "com",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Momentum (angular, linear) in world axes, (..., 6), about the centre of mass ("com") or the world origin.

        ``sum of phi(0, k) M(k) V(k)``, armature left out. Cost: O(n).

        >>> import recursa as rc
        >>> float(rc.robots.planar(1).momentum([0.0], [2.0])[4])           # 0.5 kg at 0.15 m, turning with 2 rad/s
        0.15
        """
        return self._answer(mass_properties.MOMENTUM_OF_ROBOT, {"q": q, "v": v}, {"about": about}, out, threads)

    @answers(mass_properties.KINETIC_ENERGY)
    def kinetic_energy(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Kinetic energy in joule, (...): ``(V* M V + v* A v)/2`` with the armature A. Cost: O(n).

        >>> import recursa as rc
        >>> float(rc.robots.planar(1).kinetic_energy([0.0], [2.0]).round(12))      # m l^2 w^2/6
        0.03
        """
        return self._answer(mass_properties.KINETIC_ENERGY, {"q": q, "v": v}, NO_OPTIONS, out, threads)

    @answers(mass_properties.POTENTIAL_ENERGY)
    def potential_energy(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Potential energy in joule, (...): ``-sum m g.c`` over the moving bodies. Cost: O(n).

        >>> import recursa as rc
        >>> float(rc.robots.planar(1).potential_energy([np.pi / 2]).round(12))     # 0.5 kg at a height of 0.15 m
        0.73575
        """
        return self._answer(mass_properties.POTENTIAL_ENERGY, {"q": q}, NO_OPTIONS, out, threads)
