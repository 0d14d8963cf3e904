"""Torques, forces and energies as linear functions of the inertial parameters."""

from __future__ import annotations

import numpy as np  # noqa: F401  (in examples)
from numpy.typing import ArrayLike

from recursa.dynamics.reference import REFERENCE_DYNAMICS
from recursa.dynamics.regressor import KINETIC_ENERGY_REGRESSOR, LINK_REGRESSOR, POTENTIAL_ENERGY_REGRESSOR
from recursa.evaluation.answering import Facade, answers
from recursa.methods import matrices
from recursa.sweeps.batching import Array


class RegressorMethods(Facade):
    """What the inertial parameters are multiplied with."""

    __slots__ = ()

    @answers(matrices.REGRESSOR)
    def regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        packed: bool = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The matrix Y (..., nv, 10 nbodies) with ``tau = Y pi`` (without losses, springs and armature).

        pi per body: (m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) about the link origin in link axes. ``packed``
        as for :meth:`mass_matrix`; most of a humanoid's regressor is zero. Constraints do not change it: tau are forces
        at all joints of the tree, those of constraints among them.
        """

    @answers(matrices.STATIC_REGRESSOR)
    def static_regressor(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """The matrix Y (..., nv, 10 nbodies) of a robot at rest: ``gravity_forces(q) = Y pi``.

        :meth:`regressor` at v = a = 0, with the same columns; those of the moments of inertia are zero. Cost: O(n d)
        for depth d beside the zeros.

        >>> import recursa as rc
        >>> rc.robots.planar(1).static_regressor([0.0])[0, :3].round(6) + 0.0      # level: g times m cx
        array([0.  , 9.81, 0.  ])
        """

    @answers(matrices.REFERENCE_REGRESSOR)
    def reference_regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        v_r: ArrayLike,
        a_r: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The matrix Y (..., nv, 10 nbodies) with ``Y pi = M(q) a_r + C(q, v) v_r + g(q)``, along a reference velocity.

        What adaptive control multiplies its estimates with (Slotine & Li, 1987): C is :meth:`coriolis_matrix`, with
        ``dM/dt - 2 C`` skew. With ``v_r = v``, ``a_r = a`` it is :meth:`regressor`. Without losses, springs, armature.

        >>> import numpy as np, recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> q, v, v_r, a_r = [0.3, -0.5], [1.0, 2.0], [0.9, 2.2], [0.1, 0.4]
        >>> by_hand = arm.mass_matrix(q) @ a_r + arm.coriolis_matrix(q, v) @ v_r + arm.gravity_forces(q)
        >>> bool(np.allclose(arm.reference_regressor(q, v, v_r, a_r) @ arm.parameters, by_hand))
        True
        """

    @answers(REFERENCE_DYNAMICS)
    def reference_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        v_r: ArrayLike,
        a_r: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Torques (..., nv) along a reference velocity: ``M(q) a_r + C(q, v) v_r + g(q)``, with springs. O(n).

        C is :meth:`coriolis_matrix`, which is not formed; with ``v_r = v``, ``a_r = a`` this is
        :meth:`inverse_dynamics`. ``parameters`` (..., 10 nbodies) instead of the model's, in the regressor's order.

        >>> import numpy as np, recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> q, v, v_r, a_r = [0.3, -0.5], [1.0, 2.0], [0.9, 2.2], [0.1, 0.4]
        >>> by_hand = arm.mass_matrix(q) @ a_r + arm.coriolis_matrix(q, v) @ v_r + arm.gravity_forces(q)
        >>> bool(np.allclose(arm.reference_dynamics(q, v, v_r, a_r), by_hand))
        True
        """

    @answers(LINK_REGRESSOR)
    def link_regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        link: str,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The matrix (..., 6, 10) with ``(moment, force) = Y pi``: what moves a body that is fixed to a link.

        pi are ten parameters in the order of :meth:`regressor`, about the link's origin in its axes, and so are moment
        and force; gravity is included, as an upward acceleration. ``f = M alpha + crf(V) M V``. The child link of a
        joint gives the regressor of its body alone; a flange that of a load. Cost: O(depth of the link).

        >>> import recursa as rc
        >>> robot, still = rc.robots.planar(1), [0.0]
        >>> load = np.array([2.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])                       # 2 kg at the tip
        >>> (robot.link_regressor([np.pi / 2], still, still, "tip") @ load).round(6) + 0.0
        array([ 0.  ,  0.  ,  0.  , 19.62,  0.  ,  0.  ])
        """

    @answers(KINETIC_ENERGY_REGRESSOR)
    def kinetic_energy_regressor(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The vector (..., 10 nbodies) with kinetic energy ``Y pi``, without armature: ``V* M V/2`` per parameter.

        Columns as in :meth:`regressor`. Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(1).kinetic_energy_regressor([0.0], [2.0])[-1]          # w^2/2 times Izz
        np.float64(2.0)
        """

    @answers(POTENTIAL_ENERGY_REGRESSOR)
    def potential_energy_regressor(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The vector (..., 10 nbodies) with potential energy ``Y pi``, without springs: ``-m g.c`` per parameter.

        Columns as in :meth:`regressor`; those of the moments of inertia are zero. Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(1).potential_energy_regressor([np.pi / 2])[:4].round(6) + 0.0     # upright: g times m cx
        array([0.  , 9.81, 0.  , 0.  ])
        """
