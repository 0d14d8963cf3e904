"""Robots with loops, contacts and relations: errors, rows, forces; closing loops, allowed speeds, mobility."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from numpy.typing import ArrayLike

from recursa.constraints.assembling import assembled
from recursa.constraints.factors import DELASSUS_FACTORS, DelassusFactors
from recursa.constraints.free_directions import Mobility, mobility_of
from recursa.constraints.quantities import (
    CONSTRAINT_BIAS,
    CONSTRAINT_DELASSUS,
    CONSTRAINT_ERROR,
    CONSTRAINT_FORCES,
    CONSTRAINT_JACOBIAN,
    CONSTRAINT_WRENCHES,
    PROJECT_VELOCITY,
    Impact,
    impact_of,
)
from recursa.dynamics.wrenches import Losses
from recursa.evaluation.answering import Facade, answers
from recursa.methods.constrained_motion import CONSTRAINED_COMPLIANCE
from recursa.methods.manifold import FreeDirections, free_directions
from recursa.model.constraints import Constraint
from recursa.sweeps.batching import Array


class ConstraintMethods(Facade):
    """What the constraints of a robot say, and what they do."""

    __slots__ = ()

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The loops, contacts, relations and prescribed motions that its motion obeys.

        >>> import recursa as rc
        >>> rc.robots.planar(2).constraints
        ()
        """
        return self.model.description.constraints

    @property
    def ncon(self) -> int:
        """Number of scalar equations of its constraints.

        >>> import recursa as rc
        >>> rc.robots.planar(2).with_constraints(rc.Contact("point", "tip")).ncon
        3
        """
        return self.model.ncon

    @answers(CONSTRAINT_ERROR)
    def constraint_error(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """How far the constraints are from being kept, (..., ncon), in the order of :attr:`constraints`; zero: kept.

        Of a loop joint turning first, as ``2 sin(angle/2)`` about its axes, then lengths in m, both in axes of the
        first frame, z along the joint's axis. Of a relation its sum. Contacts without an anchor and prescribed motions
        hold wherever they are: theirs is zero.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2).with_constraints(rc.Loop("point", "world", "tip", at=(0.5, 0, 0)))
        >>> arm.constraint_error([0.0, 0.0]).round(12)
        array([0.05, 0.  , 0.  ])
        """

    @answers(CONSTRAINT_JACOBIAN)
    def constraint_jacobian(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """G (..., ncon, nv): its product with v is the rate of :meth:`constraint_error`, exactly, at every q.

        Row by row what a unit constraint force does at the joints: each is a wrench on the second link and its opposite
        on the first, carried inward.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2).with_constraints(rc.JointRelation({"joint1": 1, "joint2": -3}))
        >>> arm.constraint_jacobian([0.1, 0.2])
        array([[ 1., -3.]])
        """

    @answers(CONSTRAINT_BIAS)
    def constraint_bias(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        prescribed: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The accelerations of the errors while the joints have none, (..., ncon): ``G a + bias = 0`` is what holds.

        ``prescribed``: accelerations of the prescribed joints and links, zero by default; they are taken off.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(1).with_constraints(rc.Loop("point", "world", "tip"))
        >>> arm.constraint_bias([0.0], [2.0]).round(12) + 0.0  # towards the axis, 0.3 m away
        array([-1.2,  0. ,  0. ])
        """

    @answers(CONSTRAINT_FORCES)
    def constraint_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: Losses = False,
        parameters: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The multipliers lambda (..., ncon): ``mass a + bias_forces = tau + G* lambda``.

        Each is the force (N) or moment (N m) with which its equation is kept, positive where it acts on the second link
        along the equation. Where constraints are redundant, several lambdas do the same; this is the shortest, in N and
        N m. Accelerations do not depend on the choice. Arguments as of :meth:`forward_dynamics`; ``losses``: True,
        "damping" or "friction".

        >>> import recursa as rc
        >>> arm = rc.robots.planar(1).with_constraints(rc.Prescribed("joint1"))
        >>> arm.constraint_forces([0.0], [0.0], [0.0]).round(6)  # what holds the rod level
        array([0.73575])
        """

    @answers(CONSTRAINT_WRENCHES)
    def constraint_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: Losses = False,
        parameters: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """What loops and contacts do to each link, (..., nlinks, 6): (moment, force) in link axes at the link origin.

        Given as ``wrenches=`` to the tree, they make it move in the same way, where no relation acts. Arguments as of
        :meth:`forward_dynamics` (``losses``: True, "damping", "friction"); of redundant constraints as
        :meth:`constraint_forces` says.

        >>> import recursa as rc
        >>> robot = rc.robots.free_flyer(1).with_gravity((0, 0, -9.81)).with_constraints(rc.Contact("surface", "bus"))
        >>> q, still = robot.neutral(), [0.0] * 7
        >>> tau, _ = robot.actuator_torques(q, still, still, actuated=["joint1"])
        >>> force = robot.constraint_wrenches(q, still, tau)[robot.link_names.index("bus"), 3:]
        >>> bool(abs(force[2] - 9.81 * robot.mass) < 1e-9)
        True
        """

    @answers(CONSTRAINT_DELASSUS)
    def constraint_delassus(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The Delassus matrix of the constraints, (..., ncon, ncon): ``A = G inv(mass) G*``, without forming either.

        What unit constraint forces do to the accelerations of the errors. Each row goes inward once through the
        eliminations of forward dynamics; A is the sum of ``eps inv(D) eps*`` over joints.

        >>> import numpy as np
        >>> import recursa as rc
        >>> arm = rc.robots.panda_like().with_constraints(rc.Contact("point", "flange"))
        >>> q, _ = arm.random_state(1)
        >>> G = arm.constraint_jacobian(q)
        >>> bool(np.allclose(arm.constraint_delassus(q), G @ arm.without_constraints().mass_matrix_inverse(q) @ G.T))
        True
        """

    @answers(PROJECT_VELOCITY)
    def project_velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The nearest speeds (..., nv) that the constraints allow, ``G v = 0``: nearest in the kinetic energy.

        ``v - inv(mass) G* inv(A) G v``, what impulses along the constraints leave. Prescribed joints and links stop.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(3).with_constraints(rc.Loop("point", "world", "tip", at=(0.5, 0, 0)))
        >>> q = arm.assemble([0.5, 0.8, 0.4])
        >>> v = arm.project_velocity(q, [1.0, 2.0, 3.0])
        >>> bool(abs(arm.constraint_jacobian(q) @ v).max() < 1e-12)
        True
        """

    @answers(CONSTRAINED_COMPLIANCE)
    def constrained_compliance(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """K (..., nv, nv): how torques accelerate a robot that obeys its constraints, ``d a/d tau``.

        ``K = inv(mass) - inv(mass) G* inv(A) G inv(mass)`` with A of :meth:`constraint_delassus`. In directions that
        the constraints forbid it is zero, ``G K = 0``; its rank is the number of freedoms that they leave.

        >>> import numpy as np
        >>> import recursa as rc
        >>> arm = rc.robots.panda_like().with_constraints(rc.Contact("point", "flange"))
        >>> q, _ = arm.random_state(1)
        >>> K = arm.constrained_compliance(q)
        >>> bool(np.allclose(arm.constraint_jacobian(q) @ K, 0.0)), int(np.linalg.matrix_rank(K, 1e-9))
        (True, 4)
        """

    def free_directions(self, q: ArrayLike) -> FreeDirections:
        """The directions that the constraints leave free at a configuration, with mass matrix and compliance there.

        With independent speeds y, ``v = Z y``, the kinetic energy is ``y* (Z* mass Z) y / 2``, and torques tau do the
        same as ``Z* tau`` on the independent speeds.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(3).with_constraints(rc.Loop("revolute", "world", "tip", at=(0.5, 0, 0)))
        >>> free = arm.free_directions(arm.assemble([0.5, 0.8, 0.4]))
        >>> free.independent, free.basis.shape, free.mass_matrix.shape
        (('joint1',), (3, 1), (1, 1))
        """
        return free_directions(self._evaluator, q)

    def constraint_delassus_factors(
        self, q: ArrayLike, *, parameters: ArrayLike | None = None, threads: int | None = None
    ) -> DelassusFactors:
        """The Delassus matrix of :meth:`constraint_delassus` in factors, ``A = L D L*``, with its rank judged.

        Of equations that may depend on each other the one with the largest remaining pivot is taken in every step, of
        equal ones the earlier; where nothing but rounding is left, D is zero. Keep the factors to solve with, or to see
        which equations are redundant.

        >>> import numpy as np
        >>> import recursa as rc
        >>> hold = rc.Contact("point", "flange")
        >>> arm = rc.robots.panda_like().with_constraints(hold, hold)       # the same twice
        >>> q, _ = arm.random_state(1)
        >>> factors = arm.constraint_delassus_factors(q)
        >>> factors.independent.tolist(), int(factors.rank)
        ([True, True, True, False, False, False], 3)
        >>> bool(np.allclose((factors.L * factors.D) @ factors.L.T, arm.constraint_delassus(q)))
        True
        """
        flat = self._answer(DELASSUS_FACTORS, {"q": q, "parameters": parameters}, {}, None, threads)
        return DelassusFactors.of(flat, self.model.ncon)

    def impact(self, q: ArrayLike, v: ArrayLike, restitution: float = 0.0) -> Impact:
        """Compute an impact in which all constraints begin to hold at once, as when a loop snaps shut.

        Returns an :class:`~recursa.Impact`: the speeds ``v`` (..., nv) after it, the ``impulses`` (..., ncon) that the
        equations transfer, and the kinetic energy that is lost, ``energy_lost`` (...), in J.

        ``M (v+ - v-) = G* impulses`` and ``G v+ = -restitution G v-``, so that ``v+ = v- - (1 + e)(v- -
        project_velocity(q, v-))``. Where constraints are redundant the impulses are the shortest, as those of
        :meth:`constraint_forces`. Energy never grows for ``restitution`` in 0 .. 1; with 1 it is kept. For single
        contacts that may also lift or slide see :class:`recursa.Touch`.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2).with_constraints(rc.Contact("point", "tip", normal=(0, 1, 0)))
        >>> hit = arm.impact([0.4, 0.8], [1.0, -2.0])  # a tip that is caught
        >>> hit.v.round(12) + 0.0
        array([0., 0.])
        >>> bool(abs(hit.energy_lost - arm.kinetic_energy([0.4, 0.8], [1.0, -2.0])) < 1e-12)
        True
        """
        return impact_of(self._evaluator, q, v, restitution)

    def assemble(self, q: ArrayLike, fixed: Collection[str] = (), *, limits: bool = True) -> Array:
        """Return a configuration (..., nq) near q that closes the loops and keeps the relations.

        Gauss-Newton steps on the manifold, each as short as possible, halved where they do not help. If the constraints
        cannot be kept, a :class:`~recursa.StateError` says which, by how much, and which limits are in the way.

        - ``fixed``: names of joints that stay where they are.
        - ``limits``: True keeps joints within their limits; one that starts beyond a limit goes no further beyond it.
          False ignores limits.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(3).with_constraints(rc.Loop("point", "world", "tip", at=(0.5, 0, 0)))
        >>> q = arm.assemble([0.5, 0.8, 0.4], fixed=["joint1"])
        >>> float(q[0]), bool(abs(arm.constraint_error(q)).max() < 1e-12)
        (0.5, True)
        """
        return assembled(self._evaluator, q, fixed, limits=limits)

    def mobility(self, q: ArrayLike, *, tolerance: float | None = None) -> Mobility:
        """How many freedoms the constraints leave at a configuration, and which speeds can be chosen freely.

        The rank is that of G, its rows made orthogonal with the largest first. What is left of a row counts as zero
        if it is not more than ``tolerance`` (5e-13 by default) of the usual size of a row, 1 where it turns and the
        robot's own length where it moves. The independent speeds are those that determine the others best.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(3).with_constraints(rc.Loop("revolute", "world", "tip", at=(0.5, 0, 0)))
        >>> arm.mobility(arm.assemble([0.5, 0.8, 0.4])).freedoms
        1
        """
        return mobility_of(self._evaluator, q, tolerance)
