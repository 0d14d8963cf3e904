"""Configurations, poses, velocities, Jacobians, mass properties and energies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import configuration, kinematics, mass_properties
from recursa.dynamics.kinematics import Frame, Kind
from recursa.facade.base import Facade, single_state_fast
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array
from recursa.sweeps.engine import Values
from recursa.sweeps.plan import Plan


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

    @single_state_fast
    def integrate(self, q: ArrayLike, dv: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """``q`` composed with ``exp(dv)``, joint by joint: where one gets by moving with speed dv for unit time.

        q (..., nq), dv (..., nv) -> (..., nq). Sums for revolute and prismatic joints; SE(3) for a free joint.
        Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(2).integrate([0.1, 0.2], [1.0, -1.0])
        array([ 1.1, -0.8])
        """
        return self._evaluate(
            configuration.INTEGRATE,
            {"q": q, "v": dv},
            configuration.next_entries,
            (self.nq,),
            out,
            threads,
            labels={"v": "dv"},
            entry=("integrate",),
        )

    @single_state_fast
    def difference(
        self, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The dv (..., nv) with ``integrate(q0, dv) = q1``: ``log(q0^-1 q1)``, joint by joint.

        Quaternions and planar angles go the short way round; angles of revolute joints are subtracted. Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(2).difference([0.1, 0.2], [1.1, -0.8])
        array([ 1., -1.])
        """
        return self._evaluate(
            configuration.DIFFERENCE,
            {"q": q0, "q1": q1},
            configuration.step_entries,
            (self.nv,),
            out,
            threads,
            labels={"q": "q0"},
            entry=("difference",),
        )

    # ---- kinematics ------------------------------------------------------------------------------------------------

    @single_state_fast
    def poses(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Poses of all links in the world: homogeneous matrices (..., nlinks, 4, 4), link to world components.

        ``W(k) = W(parent) placement J(q)``; Balafoutis & Patel (2.3.6). Cost: O(n).

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> robot.poses([0.0, 0.0])[-1, :3, 3]          # the tip of a stretched arm
        array([0.55, 0.  , 0.  ])
        """
        plan = self._plan("poses", kinematics.poses_plan)
        return self._evaluate(
            plan,
            {"q": q},
            lambda values: kinematics.pose_entries(values["L"]),
            (self.nlinks, 4, 4),
            out,
            threads,
            entry=("poses",),
        )

    @single_state_fast
    def pose(self, q: ArrayLike, link: str, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Pose of one link in the world, (..., 4, 4): the product of the transforms on the way to it.

        Cost: O(depth of the link).

        >>> import recursa as rc
        >>> rc.robots.planar(2).pose([0.0, 0.0], "tip")[:3, 3]
        array([0.55, 0.  , 0.  ])
        """
        number = self.model.link_index(link)
        plan = self._plan("pose", partial(kinematics.poses_plan, number, self.model), number)
        return self._evaluate(
            plan,
            {"q": q},
            lambda values: kinematics.pose_entries([values["L"][number]]),
            (4, 4),
            out,
            threads,
            entry=("pose", link),
        )

    @single_state_fast
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
        plan = self._plan("velocities", partial(kinematics.velocities_plan, frame), frame)
        return self._evaluate(
            plan,
            {"q": q, "v": v},
            lambda values: kinematics.motion_entries(values["VF"]),
            (self.nlinks, 6),
            out,
            threads,
            entry=("velocities", frame),
        )

    @single_state_fast
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
        plan = self._plan("accelerations", partial(kinematics.accelerations_plan, frame, kind), frame, kind)
        name = "AC" if kind == "classical" else "AF"
        return self._evaluate(
            plan,
            {"q": q, "v": v, "a": a},
            lambda values: kinematics.motion_entries(values[name]),
            (self.nlinks, 6),
            out,
            threads,
            entry=("accelerations", frame, kind),
        )

    @single_state_fast
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
        return self._link_matrix("jacobian", kinematics.jacobian_plan, {"q": q}, link, frame, out, threads)

    @single_state_fast
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
        return self._link_matrix(
            "jacobian_derivative", kinematics.jacobian_derivative_plan, {"q": q, "v": v}, link, frame, out, threads
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

    @single_state_fast
    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Centre of mass of the moving bodies in the world, (..., 3): ``sum m c / sum m``. Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(1).center_of_mass([0.0])
        array([0.15, 0.  , 0.  ])
        """
        self._require_mass(mass_properties.CENTER_OF_MASS)
        return self._evaluate(
            mass_properties.CENTER_OF_MASS,
            {"q": q},
            lambda values: mass_properties.center_of_mass_of(self.model, values),
            (3,),
            out,
            threads,
            entry=("center_of_mass",),
        )

    @single_state_fast
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
        mass_properties.check_about(about)
        if about == "com":
            self._require_mass(mass_properties.MOMENTUM_PLAN)
        return self._evaluate(
            mass_properties.MOMENTUM_PLAN,
            {"q": q, "v": v},
            lambda values: mass_properties.momentum_of(self.model, values, about).components(),
            (6,),
            out,
            threads,
            key=about,
            entry=("momentum", about),
        )

    @single_state_fast
    def kinetic_energy(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Kinetic energy in joule, (...): ``(V* M V + v* A v)/2`` with the armature A. Cost: O(n).

        >>> import recursa as rc
        >>> float(rc.robots.planar(1).kinetic_energy([0.0], [2.0]).round(12))      # m l^2 w^2/6
        0.03
        """
        return self._evaluate(
            mass_properties.KINETIC_ENERGY,
            {"q": q, "v": v},
            lambda values: [values.robot.get("T", 0.0)],
            (),
            out,
            threads,
            entry=("kinetic_energy",),
        )

    @single_state_fast
    def potential_energy(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Potential energy in joule, (...): ``-sum m g.c`` over the moving bodies. Cost: O(n).

        >>> import recursa as rc
        >>> float(rc.robots.planar(1).potential_energy([np.pi / 2]).round(12))     # 0.5 kg at a height of 0.15 m
        0.73575
        """
        return self._evaluate(
            mass_properties.POTENTIAL_ENERGY,
            {"q": q},
            lambda values: [values.robot.get("U", 0.0)],
            (),
            out,
            threads,
            entry=("potential_energy",),
        )

    def _link_matrix(
        self,
        name: str,
        make: Callable[[Model, int, str], Plan],
        arguments: dict[str, ArrayLike],
        link: str,
        frame: str,
        out: Array | None,
        threads: int | None,
    ) -> Array:
        number = self.model.link_index(link)
        plan = self._plan(name, partial(make, self.model, number, frame), number, frame)

        def gather(values: Values) -> Iterator[Scalar]:
            return kinematics.jacobian_entries(self.model, number, values.lists.get("JF", []))

        return self._evaluate(plan, arguments, gather, (6, self.nv), out, threads, entry=(name, link, frame))
