"""Inverse and forward dynamics."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, NamedTuple, overload

from numpy.typing import ArrayLike

from recursa.dynamics import inverse
from recursa.dynamics.base_velocity import BaseVelocity
from recursa.dynamics.wrenches import JOINT_LOSSES, Losses, known_losses
from recursa.evaluation.answering import Facade, answers, as_given, asks, learns
from recursa.evaluation.evaluator import into
from recursa.methods.constrained_motion import ACTUATOR_TORQUES
from recursa.methods.inverse_and_forward import (
    BIAS_FORCES,
    FORWARD_DYNAMICS,
    FORWARD_DYNAMICS_WITH_LINKS,
    HYBRID_DYNAMICS,
    INVERSE_DYNAMICS,
    ForwardMethod,
    InverseMethod,
    names_of,
)
from recursa.methods.matrices import MassMethod
from recursa.sweeps.batching import Array


class HybridDynamics(NamedTuple):
    """Accelerations a and torques tau of all joints, (..., nv) each: what was given beside what followed from it."""

    a: Array
    tau: Array


class ActuatorTorques(NamedTuple):
    """Torques of motors, and the generalised forces that neither motors nor constraints supply, (..., nv) each."""

    tau: Array
    residual: Array


class DynamicsMethods(Facade):
    """What moves the robot, and how it then moves."""

    __slots__ = ()

    @answers(INVERSE_DYNAMICS)
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        wrenches: Any = None,
        losses: Losses = False,
        base_twist: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        method: InverseMethod = "newton-euler",
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Joint torques (..., nv) that cause the accelerations a: ``tau = H f``, ``f = phi (M alpha + b)``.

        Armature and springs included, gravity as an upward acceleration of the base. Frames: forces of a free joint are
        (moment, force) at the link origin in link axes. All methods give the same torques; the first and the
        last are for every robot, those of Balafoutis & Patel are for joints that turn or slide, and they take
        ``losses`` and ``wrenches`` but no motion of the base:

        - ``"newton-euler"``: Rodriguez & Kreutz-Delgado (6)-(12). Kernels use "augmented" where they can.
        - ``"augmented"``: augmented links, Algorithm 5.7 (5.3.44)-(5.3.46), O(n), the fewest operations.
        - ``"tensor"``: Newton-Euler with Cartesian tensors, Algorithm 5.6 (5.3.7), (5.3.8), O(n).
        - ``"luh-walker-paul"``: Newton-Euler in link frames, Algorithm 5.3 (5.2.23), (5.2.24), O(n).
        - ``"featherstone"``: spatial vectors in link frames, Algorithm 5.4 (5.2.25)-(5.2.29), O(n).
        - ``"rodriguez"``: state and co-state in base axes, Algorithm 5.5 (5.2.31)-(5.2.35), O(n).
        - ``"kane"``: partial velocities times inertia forces (5.2.36), (5.2.37), O(n).
        - ``"hollerbach-4x4"``: Lagrange with 4x4 matrices, Algorithm 5.1 (5.2.12), (5.2.13), O(n).
        - ``"hollerbach-3x3"``: Lagrange with 3x3 matrices, Algorithm 5.2 (5.2.15), (5.2.16), O(n).
        - ``"waters"``: Lagrange with 4x4 matrices, backward sums (5.2.9), (5.2.10), O(n^2).
        - ``"uicker-kahn"``: Lagrange in closed form with 4x4 matrices (5.2.7), O(n^4).
        - ``"closed-form"``: Christoffel symbols of generalised links (5.2.17)-(5.2.20), O(n^3), revolute joints only.
        - ``"denoc"``: twists at mass centres, Saha (30)-(32) and section 5.1, O(n); see :mod:`recursa.denoc`.

        :doc:`/arguments` describes these arguments in full:

        - ``wrenches``: what acts on links: a list of :class:`recursa.Wrench`, or (moment, force) in link axes.
        - ``losses``: True adds damping and friction, "damping" or "friction" one of them.
        - ``base_twist``, ``base_acceleration``: the motion (..., 6) of a base that is moved in a known way.
        - ``parameters``: inertial parameters (..., 10 nbodies) instead of the model's, in the regressor's order.
        - ``base_velocity``: "body", "mixed" or "world", the axes of velocities and forces of a free base.

        A robot with constraints needs other torques than the open tree: it is a :class:`NoSweepError`, and
        :meth:`actuator_torques` has the torques of its motors.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(1)                       # a rod of 0.5 kg and 0.3 m, held level
        >>> arm.inverse_dynamics([0.0], [0.0], [0.0]).round(6)
        array([0.73575])
        """

    @as_given
    def actuator_torques(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        actuated: Collection[str] | None = None,
        wrenches: Any = None,
        losses: Losses = False,
        base_twist: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        threads: int | None = None,
    ) -> ActuatorTorques:
        """Torques of the joints that have motors for the accelerations a, while the constraints carry what they can.

        ``mass a + bias_forces = tau + G* lambda + residual`` with tau zero at joints without a motor and G of
        :meth:`constraint_jacobian`. Of several solutions tau is the shortest (N, N m); where there is none, tau leaves
        the shortest residual.

        - ``actuated``: names of the joints that have motors. On a robot without constraints the default is all of them;
          a robot with constraints needs the names.
        - ``wrenches``, ``losses`` (True, "damping", "friction"), ``base_twist``, ``base_acceleration``,
          ``parameters``: see :doc:`/arguments`.

        Returns (tau, residual), each (..., nv). The residual is zero where motors and constraints supply all forces.
        Whether q, v and a obey the constraints is not checked here; :meth:`constraint_error` says it of q.

        >>> import recursa as rc
        >>> press = rc.robots.slider_crank()
        >>> q, still = press.neutral(), [0.0, 0.0, 0.0]
        >>> tau, residual = press.actuator_torques(q, still, still, actuated=["crank_joint"])
        >>> tau.round(6), bool(abs(residual).max() < 1e-12)   # what holds the crank
        (array([1.4715, 0.    , 0.    ]), True)
        """
        arrays = {"q": q, "v": v, "a": a, "wrenches": wrenches, "parameters": parameters}
        base = {"base_twist": base_twist, "base_acceleration": base_acceleration}
        driven = None if actuated is None else names_of(actuated, "actuated")
        options = {"losses": known_losses(losses), "actuated": driven}
        both = self._answer(ACTUATOR_TORQUES, {**arrays, **base}, options, None, threads)
        return ActuatorTorques(both[..., 0, :], both[..., 1, :])

    @answers(BIAS_FORCES)
    def bias_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Torques (..., nv) that keep the joints from accelerating: Coriolis, centrifugal, gravity, springs.

        Constraints do not change them: they are forces at all joints of the tree, whichever have motors.
        ``base_velocity``: "body", "mixed" or "world", the axes of velocities and forces of a free base; see
        :doc:`/arguments`.
        """

    @answers(inverse.GRAVITY_FORCES)
    def gravity_forces(
        self,
        q: ArrayLike,
        *,
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Torques (..., nv) that hold the robot still against gravity: the gradient of its energy, without springs.

        Constraints do not change them: they are forces at all joints of the tree. What the motors of a closed
        mechanism have to supply is :meth:`actuator_torques` at rest.
        ``base_velocity``: "body", "mixed" or "world", the axes and origin of the wrench on a free base; see
        :doc:`/arguments`.
        """

    @answers(JOINT_LOSSES)
    def joint_losses(
        self, v: ArrayLike, *, losses: Losses = True, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Torques (..., nv) lost to damping and Coulomb friction: ``damping v + friction sign(v)``.

        ``losses``: True for both, "damping" or "friction" for one of them. Friction that differs by direction is that
        of the direction in which a joint moves.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(1).with_joint("joint1", damping=0.1, friction=(0.4, 0.5))
        >>> arm.joint_losses([[2.0], [-2.0]]).ravel().tolist()
        [0.6000000000000001, -0.7]
        >>> arm.joint_losses([-2.0], losses="friction").tolist()
        [-0.5]
        """

    @answers(inverse.REACTION_WRENCHES)
    def reaction_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        wrenches: Any = None,
        base_twist: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Wrenches (..., nbodies, 6) across each joint, on the child, in link axes at the link origin: f of (11).

        For trees: a robot with constraints is a :class:`NoSweepError`.
        ``wrenches``, ``base_twist``, ``base_acceleration``: loads and the motion of the base, :doc:`/arguments`.
        """

    @answers(inverse.BASE_WRENCH)
    def base_wrench(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        wrenches: Any = None,
        base_twist: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """What the base exerts on the robot, (moment, force) (..., 6), in world axes at the world origin. O(n).

        ``f(0) = sum of phi(0, k) (M alpha + b)``: what a mount has to carry, T(N+1) of Rodriguez & Kreutz-Delgado (77)
        for a base without mass. ``wrenches``, ``base_twist``, ``base_acceleration``: see :doc:`/arguments`.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(1)                       # a rod of 0.5 kg and 0.3 m, held level
        >>> arm.base_wrench([0.0], [0.0], [0.0]).round(6) + 0.0
        array([0.     , 0.     , 0.73575, 0.     , 4.905  , 0.     ])
        """

    @overload
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: Losses = False,
        links: Literal[False] = False,
        base_twist: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        method: ForwardMethod | None = None,
        mass: MassMethod | None = None,
        bias: InverseMethod | None = None,
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array: ...

    @overload
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: Losses = False,
        links: Literal[True],
        base_twist: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        method: ForwardMethod | None = None,
        mass: MassMethod | None = None,
        bias: InverseMethod | None = None,
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]: ...

    @learns(FORWARD_DYNAMICS)
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: Losses = False,
        links: bool = False,
        base_twist: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        method: ForwardMethod | None = None,
        mass: MassMethod | None = None,
        bias: InverseMethod | None = None,
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array | tuple[Array, Array]:
        """Accelerations (..., nv) that the torques cause; with ``links`` also those of all links.

        All but the last three compute ``qdd = (I - H psi K)* inv(D) (I - H psi K) (T - C)``, Identity 6 (46) of
        Rodriguez & Kreutz-Delgado, in O(n); they differ in where velocities and gravity enter:

        - ``"articulated"``: three sweeps; Algorithm 4 as arranged by Jain & Rodriguez (Algorithm 2.3).
        - ``"four-sweep"``: Algorithm 1 (47)-(54), torques freed of their bias first, ``T' = T - C``.
        - ``"four-sweep-links"``: Algorithm 2 (55)-(59), the same with the accelerations of links and tip.
        - ``"three-sweep-bias"``: Algorithm 3 (60)-(65), bias forces and torques through one filter.
        - ``"three-sweep"``: Algorithm 4 (66)-(73), without forces of the bias accelerations beforehand.
        - ``"denoc"``: Saha's three steps (34)-(37) after bias torques, ``I = U D U*``, twists at mass centres.
        - ``"base-invariant"``: free flyers; two messages a hinge, then every link by itself, Jain & Rodriguez,
          Algorithm 3.3 (16)-(26); no link is special. Errors grow faster than the others' where masses differ by
          many powers of ten: about 1e-10 at 1e4 to one and 1e-6 at 1e12, where "articulated" has 1e-13 and 1e-11.
        - ``"diagonal"``: by way of total joint rates, Jain & Rodriguez, Algorithm 8.1; see :attr:`diagonal`.
        - ``"composite"``: mass matrix and solve, O(n^3); what robots with tied joints use.
        - ``"conjugate-gradients"``: ``mass a = tau - C`` from products of the mass matrix with vectors alone, Walker &
          Orin's fourth method (Balafoutis & Patel, section 6.2); raises :class:`ConvergenceError` where it fails.
        - ``"least-squares"``: ``P* x = tau - C``, ``P a = x`` with ``mass = P* P``, Angeles & Ma, (6.2.10)-(6.2.17).

        :doc:`/arguments` describes those that other methods take, too:

        - ``wrenches``: what acts on links: a list of :class:`recursa.Wrench`, or (moment, force) in link axes.
        - ``losses``: True lets damping and friction act too, "damping" or "friction" one of them.
        - ``mass``, ``bias``: with ``"composite"``, methods of :meth:`mass_matrix` ("composite", "augmented",
          "walker-orin", "column", "denoc") and of :meth:`inverse_dynamics` ("newton-euler", "augmented", "tensor",
          "luh-walker-paul", "featherstone", "rodriguez", "kane", "hollerbach-4x4", "hollerbach-3x3", "waters",
          "uicker-kahn", "closed-form", "denoc"), which at a = 0 gives the bias: the three steps of Balafoutis & Patel,
          chapter 6, in any pairing.
        - ``links``: return (a, alpha) with the true spatial accelerations of all links (..., nlinks, 6) in body axes,
          a by-product of every sweep method but ``"four-sweep"`` and ``"denoc"``.
        - ``base_twist``, ``base_acceleration``: the motion (..., 6) of a base that is moved in a known way; for every
          method but ``"diagonal"``.
        - ``parameters``: inertial parameters (..., 10 nbodies) instead of the model's, in the regressor's order.
        - ``prescribed``: accelerations of joints and links that are :class:`~recursa.Prescribed`, zero by default.
        - ``base_velocity``: "body", "mixed" or "world", the axes of velocities and forces of a free base.

        The motion of a robot with constraints obeys them (:meth:`with_constraints`), by these methods:

        - ``"augmentation"``: multipliers from the Delassus matrix ``A = G inv(mass) G*``, all in sweeps;
          ``a = a_free + inv(mass) G* lambda``, ``A lambda = -(G a_free + constraint_bias)``. The default.
        - ``"projection"``: the mass matrix between projections onto the speeds that the constraints allow, O(n^3); what
          robots with tied joints use.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(1)                       # a rod of 0.5 kg and 0.3 m, let go when level
        >>> arm.forward_dynamics([0.0], [0.0], [0.0]).round(6)
        array([-49.05])
        >>> a, links = arm.forward_dynamics([0.0], [0.0], [0.0], links=True, method="four-sweep-links")
        >>> links[-1].round(6) + 0.0                        # the tip, where the rod ends
        array([  0.   ,   0.   , -49.05 ,   0.   , -14.715,   0.   ])
        """
        arrays = {"q": q, "v": v, "tau": tau, "wrenches": wrenches, "parameters": parameters}
        arrays |= {"base_twist": base_twist, "base_acceleration": base_acceleration, "prescribed": prescribed}
        chosen = {"losses": known_losses(losses), "method": method, "mass": mass, "bias": bias, "links": bool(links)}
        options = {**chosen, "base_velocity": base_velocity}
        if not links:
            return self._answer(FORWARD_DYNAMICS, arrays, options, out, threads)
        both = self._answer(FORWARD_DYNAMICS_WITH_LINKS, arrays, options, None, threads)
        joints, of_links = both[..., : self.nv], both[..., self.nv :]
        return into(out, joints.copy()), of_links.copy().reshape(*both.shape[:-1], self.nlinks, 6)

    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        *,
        prescribed: Collection[str],
        wrenches: Any = None,
        losses: Losses = False,
        threads: int | None = None,
    ) -> HybridDynamics:
        """Accelerations and torques of all joints, when some joints are ``prescribed`` and the others are driven.

        ``prescribed`` are names of joints, each with all its freedoms. Of a (..., nv) only their entries are read, of
        tau (..., nv) only those of the other joints, and the result (a, tau) has what was missing of both: with
        the equations of motion ``M a + C = tau`` in two groups of rows, ``M_ff a_f = tau_f - C_f - M_fp a_p``, then
        ``tau_p``. No matrix is made: the articulated recursion goes through prescribed joints without eliminating
        them, and ``tau = H (P alpha + y) + A a`` there, in O(n). Without prescribed joints it is
        :meth:`forward_dynamics`, with all of them :meth:`inverse_dynamics`. Robots with tied joints take the mass
        matrix, O(n^3); a joint that moves with another cannot be prescribed itself.

        - ``wrenches``: what acts on links; see :doc:`/arguments`.
        - ``losses``: True, damping and friction act at all joints; "damping" or "friction", one of them.

        >>> import numpy as np, recursa as rc
        >>> robot = rc.robots.free_flyer(2)                 # its base floats, its joints are servoed
        >>> q, v = robot.random_state(1)
        >>> a = np.array([0, 0, 0, 0, 0, 0, 0.1, -0.3])     # of the base nothing is known,
        >>> tau = np.zeros(8)                               # but that nothing pushes it
        >>> a, tau = robot.hybrid_dynamics(q, v, a, tau, prescribed=("joint1", "joint2"))
        >>> bool(np.allclose(robot.forward_dynamics(q, v, tau), a)), bool(np.all(tau[:6] == 0.0))
        (True, True)
        """
        options = {"prescribed": names_of(prescribed), "losses": known_losses(losses)}
        both = self._hybrid_dynamics(q, v, a, tau, **options, wrenches=wrenches, threads=threads)
        return HybridDynamics(both[..., 0, :], both[..., 1, :])

    _hybrid_dynamics = asks(HYBRID_DYNAMICS)
