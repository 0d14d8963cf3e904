"""Mass, centre of mass, momentum and energies, of the robot and of its subtrees, and how they change."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import mass_properties, momentum_rates, subtrees
from recursa.dynamics.base_velocity import BaseVelocity
from recursa.dynamics.mass_matrix import CENTER_OF_MASS_JACOBIAN, MOMENTUM_MATRIX
from recursa.dynamics.sparsity import PATTERNS, Sparsity
from recursa.errors import unknown_name
from recursa.evaluation.answering import Facade, answers, two_matrices
from recursa.methods import matrices
from recursa.methods.matrices import MassMethod
from recursa.sweeps.batching import Array

About = Literal["com", "world"]


class MassPropertyMethods(Facade):
    """What moves as a whole."""

    __slots__ = ()

    # ---- centre of mass ----------------------------------------------------------------------------------------------

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

    @answers(momentum_rates.CENTER_OF_MASS_VELOCITY)
    def center_of_mass_velocity(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Velocity of the centre of mass in world axes, (..., 3): linear momentum over mass. Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(1).center_of_mass_velocity([0.0], [2.0]).round(12) + 0.0      # 0.15 m from the axis
        array([0. , 0.3, 0. ])
        """

    @answers(momentum_rates.CENTER_OF_MASS_ACCELERATION)
    def center_of_mass_acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Acceleration of the centre of mass in world axes, without gravity, (..., 3): ``J a + dJ/dt v``.

        With a = 0 it is the bias acceleration ``dJ/dt v``. Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(1).center_of_mass_acceleration([0.0], [2.0], [0.0]).round(12) + 0.0    # w^2 r, inward
        array([-0.6,  0. ,  0. ])
        """

    @answers(CENTER_OF_MASS_JACOBIAN)
    def center_of_mass_jacobian(
        self,
        q: ArrayLike,
        *,
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The matrix (..., 3, nv) that takes v to the velocity of the centre of mass, world axes.

        ``base_velocity``: "body", "mixed" or "world", the axes of the velocity of a free base; see :doc:`/arguments`.

        >>> import recursa as rc
        >>> rc.robots.planar(1).center_of_mass_jacobian([0.0]).round(3)[:, 0] + 0.0
        array([0.  , 0.15, 0.  ])
        """

    @answers(momentum_rates.CENTER_OF_MASS_JACOBIAN_DERIVATIVE)
    def center_of_mass_jacobian_derivative(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Time derivative of the matrix ``center_of_mass_jacobian(q)`` along v, (..., 3, nv), world axes.

        Its second derivative by q, times v: ``dJ/dt v`` is the centre's acceleration at a = 0. Cost: O(n).

        >>> import recursa as rc
        >>> arm, v = rc.robots.planar(1), np.array([2.0])
        >>> (arm.center_of_mass_jacobian_derivative([0.0], v) @ v).round(12) + 0.0
        array([-0.6,  0. ,  0. ])
        """

    # ---- subtrees ----------------------------------------------------------------------------------------------------

    @property
    def subtree_masses(self) -> Array:
        """Mass of every body together with all bodies outward of it, (nbodies,); body k is that of joint k.

        >>> import recursa as rc
        >>> rc.robots.stanford().subtree_masses.round(2)
        array([21.1, 12.1,  6.1,  2.1,  1.1,  0.5])
        """
        return np.array(subtrees.subtree_masses(self.model))

    @answers(subtrees.SUBTREE_CENTERS_OF_MASS)
    def subtree_centers_of_mass(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Centre of mass of every body with all bodies outward of it, in the world, (..., nbodies, 3).

        ``sum m c / sum m`` over body k and those outward. Where these have no mass it is the origin of body k's link.
        Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(2).subtree_centers_of_mass([0.0, 0.0]).round(3)         # 0.5 kg at 0.15, 0.4 kg at 0.425 m
        array([[0.272, 0.   , 0.   ],
               [0.425, 0.   , 0.   ]])
        """

    @answers(subtrees.SUBTREE_CENTER_OF_MASS_VELOCITIES)
    def subtree_center_of_mass_velocities(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Velocities of :meth:`subtree_centers_of_mass` in world axes, (..., nbodies, 3): momentum over mass.

        Cost: O(n).

        >>> import recursa as rc
        >>> rc.robots.planar(2).subtree_center_of_mass_velocities([0.0, 0.0], [1.0, 0.0]).round(3) + 0.0
        array([[0.   , 0.272, 0.   ],
               [0.   , 0.425, 0.   ]])
        """

    @answers(subtrees.SUBTREE_CENTER_OF_MASS_JACOBIANS)
    def subtree_center_of_mass_jacobians(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Jacobians of :meth:`subtree_centers_of_mass`, (..., nbodies, 3, nv): times v their velocities, world axes.

        A joint outward moves what is outward of it, ``(R s) linear / m``; a joint inward moves the centre as a point of
        a rigid body. Cost: O(n d) for depth d beside the zeros.

        >>> import recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, v = robot.random_state(0)
        >>> moved = robot.subtree_center_of_mass_jacobians(q) @ v
        >>> bool(np.allclose(moved, robot.subtree_center_of_mass_velocities(q, v)))
        True
        """

    # ---- momentum ----------------------------------------------------------------------------------------------------

    @answers(mass_properties.MOMENTUM_OF_ROBOT)
    def momentum(
        self,
        q: ArrayLike,
        v: ArrayLike,
        about: About = "com",
        *,
        base_twist: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Momentum (angular, linear) in world axes, (..., 6), about the centre of mass ("com") or the world origin
        ("world").

        ``sum of phi(0, k) M(k) V(k)``: armature is left out, which has no axis, the spin of rotors is not.
        ``base_twist``: velocity (..., 6) of a base that is moved, as in :meth:`inverse_dynamics`. Cost: O(n).
        Constraints do not change it: it is the momentum of the bodies with these speeds.

        >>> import recursa as rc
        >>> float(rc.robots.planar(1).momentum([0.0], [2.0])[4])           # 0.5 kg at 0.15 m, turning with 2 rad/s
        0.15
        """

    @answers(momentum_rates.MOMENTUM_RATE_OF_ROBOT)
    def momentum_rate(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        about: About = "com",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """How fast the :meth:`momentum` changes, (angular, linear) in world axes, (..., 6): ``A a + dA/dt v``.

        ``sum of phi(0, k) (M alpha + crf(V) M V)``, without gravity; with a = 0 it is ``dA/dt v``. ``about``: "com",
        the centre of mass, which moves; "world", the world origin. Cost: O(n).

        >>> import recursa as rc
        >>> robot = rc.robots.puma560()
        >>> (q, v), a = robot.random_state(0), np.ones(6)
        >>> rate = robot.momentum_matrix(q) @ a + robot.momentum_matrix_derivative(q, v) @ v
        >>> bool(np.allclose(robot.momentum_rate(q, v, a), rate))
        True
        """

    @answers(momentum_rates.MOMENTUM_DERIVATIVES, parts=two_matrices)
    def momentum_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        about: About = "com",
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """(by q, by v), each (..., 6, nv): how the :meth:`momentum` changes with the state, world axes.

        With R, h inertia and momentum of everything outward of a joint and U the velocity of its parent, about the
        world origin: ``phi (crf(s) h + R crm(U) s)`` by q and ``phi R s`` by v; the latter is :meth:`momentum_matrix`
        about the centre of mass. Derivatives by q are with respect to dq of ``integrate(q, dq)``. ``about``: "com", the
        centre of mass, or "world", the world origin. ``out`` takes both, (..., 2, 6, nv). Cost: O(n).

        >>> import recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, v = robot.random_state(0)
        >>> by_q, by_v = robot.momentum_derivatives(q, v)
        >>> step = 1e-6 * np.eye(6)[2]
        >>> change = robot.momentum(q + step, v) - robot.momentum(q - step, v)
        >>> bool(np.allclose(change / 2e-6, by_q[:, 2])), bool(np.allclose(by_v, robot.momentum_matrix(q)))
        (True, True)
        """

    @answers(MOMENTUM_MATRIX)
    def momentum_matrix(
        self,
        q: ArrayLike,
        *,
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The matrix (..., 6, nv) with ``momentum(q, v) = A v`` about the centre of mass, world axes.

        ``base_velocity``: "body", "mixed" or "world", the axes of the velocity of a free base; see :doc:`/arguments`.
        """

    @answers(momentum_rates.MOMENTUM_MATRIX_DERIVATIVE)
    def momentum_matrix_derivative(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Time derivative of the matrix ``momentum_matrix(q)`` along v, (..., 6, nv): ``phi (dR/dt s + R crm(V) s)``.

        About the centre of mass in world axes. ``momentum_rate(q, v, a) = A a + dA/dt v``. Cost: O(n).

        >>> import recursa as rc
        >>> robot, step = rc.robots.puma560(), 1e-6
        >>> q, v = robot.random_state(0)
        >>> change = robot.momentum_matrix(q + step * v) - robot.momentum_matrix(q - step * v)
        >>> bool(np.allclose(change / (2 * step), robot.momentum_matrix_derivative(q, v)))
        True
        """

    # ---- energies ----------------------------------------------------------------------------------------------------

    @answers(mass_properties.KINETIC_ENERGY)
    def kinetic_energy(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        base_twist: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Kinetic energy in joule, (...): ``(V* M V + v* A v)/2`` with the armature A. Cost: O(n).

        ``base_twist``: velocity (..., 6) of a base that is moved, as in :meth:`inverse_dynamics`. Constraints do not
        change it: it is the energy of the bodies with these speeds.

        >>> import recursa as rc
        >>> float(rc.robots.planar(1).kinetic_energy([0.0], [2.0]).round(12))      # m l^2 w^2/6
        0.03
        """

    @answers(mass_properties.POTENTIAL_ENERGY)
    def potential_energy(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Potential energy in joule, (...): ``-sum m g.c`` over the moving bodies, and that of springs. Cost: O(n).

        Constraints do not change it.

        >>> import recursa as rc
        >>> float(rc.robots.planar(1).potential_energy([np.pi / 2]).round(12))     # 0.5 kg at a height of 0.15 m
        0.73575
        """


# ---- the mass matrix and its relatives -------------------------------------------------------------------------------


class MatrixMethods(Facade):
    """Matrices of the equations of motion."""

    __slots__ = ()

    @answers(matrices.MASS_MATRIX)
    def mass_matrix(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        method: MassMethod = "composite",
        packed: bool = False,
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The mass matrix (..., nv, nv): ``H phi M phi* H* + A``. Constraints do not change it: its rows and columns
        are the coordinates of the tree.

        - ``"composite"``: composite bodies, Rodriguez & Kreutz-Delgado (28)-(33); for every robot.
        - ``"augmented"``: augmented and generalised links, Balafoutis & Patel, Algorithm 6.2 (6.3.28)-(6.3.30).
        - ``"walker-orin"``: composite bodies about their mass centres, Algorithm 6.1 (6.2.8), (6.2.9).
        - ``"column"``: inverse dynamics with unit accelerations, Balafoutis & Patel (6.2.4); for every robot.
        - ``"denoc"``: composite bodies about the mass centres of links, Saha (23b), (24); for every robot.

        ``"augmented"`` and ``"walker-orin"`` are for joints that turn or slide and take no ``parameters``.
        ``packed=True`` leaves out what is zero for good, (..., n) entries at the places of :meth:`sparsity`.

        ``base_velocity``: ``"body"``, ``"mixed"`` or ``"world"``, the axes of the velocity of a free base. In
        others the same motion has other numbers, ``v = T u``, and the matrix is ``T* M T``; see :doc:`/arguments`.

        >>> import recursa as rc
        >>> rc.robots.stanford().mass_matrix([0, np.pi / 2, 0, 0, 0, 0])[2, 2].round(12)
        np.float64(6.1)
        """

    @answers(matrices.MASS_MATRIX_INVERSE)
    def mass_matrix_inverse(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """The inverse of the mass matrix (..., nv, nv): ``(I - H psi K)* inv(D) (I - H psi K)``, Identity 6 (46).

        Kernels of robots with few bodies take both factors from the entries of the mass matrix: fewer operations. A
        robot with constraints responds in another way and is refused: see :meth:`constrained_compliance`.
        """

    @answers(matrices.CORIOLIS_MATRIX)
    def coriolis_matrix(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        packed: bool = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The Coriolis matrix (..., nv, nv) of Christoffel symbols: ``C v`` is the bias without gravity, and
        ``dM/dt - 2 C`` is skew (Echeandia & Wensing 2020). ``packed`` as for :meth:`mass_matrix`. Constraints do not
        change it: its rows and columns are the coordinates of the tree.
        """

    def sparsity(self, name: str) -> Sparsity:
        """Where the entries of a packed matrix belong, for the methods that take ``packed=True``: "mass_matrix",
        "coriolis_matrix", "regressor", "inverse_dynamics_derivatives" (of each of the three). Where the inverse of
        the mass matrix takes part, as in derivatives of forward dynamics, only different trees at the world make zeros.

        >>> import recursa as rc
        >>> where = rc.robots.tree(15).sparsity("mass_matrix")
        >>> where.shape, where.rows[:5], where.columns[:5]
        ((15, 15), array([0, 0, 0, 0, 0]), array([0, 1, 2, 3, 4]))
        """
        if name not in PATTERNS:
            raise unknown_name("packed matrix", name, PATTERNS)
        return PATTERNS[name](self.model)
