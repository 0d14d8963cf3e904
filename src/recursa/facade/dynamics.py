"""Inverse and forward dynamics."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import (
    articulated,
    four_algorithms,
    free_flying,
    gathering,
    inertia,
    inverse,
)
from recursa.dynamics.book import methods as book
from recursa.dynamics.book.augmented_links import AugmentedLinks, augmented_links
from recursa.dynamics.book.on_axes import require_axes
from recursa.dynamics.denoc import elimination
from recursa.dynamics.denoc.inverse import inverse_plan as denoc_inverse_plan
from recursa.dynamics.diagonal import motion as diagonal
from recursa.dynamics.kinematics import motion_entries
from recursa.errors import NoSweepError, SingularHingeError
from recursa.facade.base import given, single_state_fast
from recursa.facade.joint_space import into, known_method
from recursa.facade.matrices import MassMethod, MatrixMethods
from recursa.model.moving import MayMove
from recursa.sweeps.batching import Array
from recursa.sweeps.plan import Plan

InverseMethod = Literal[
    "newton-euler", "augmented", "tensor", "luh-walker-paul", "featherstone", "rodriguez", "kane", "hollerbach-4x4",
    "hollerbach-3x3", "uicker-kahn", "closed-form", "denoc",
]  # fmt: skip
ForwardMethod = Literal[
    "articulated", "four-sweep", "four-sweep-links", "three-sweep", "three-sweep-bias", "composite", "denoc",
    "diagonal", "base-invariant",
]  # fmt: skip

_FORWARD: dict[str, Callable[..., Plan]] = {
    "articulated": articulated.forward_plan,
    "four-sweep": four_algorithms.four_sweep_plan,
    "four-sweep-links": four_algorithms.four_sweep_links_plan,
    "three-sweep": four_algorithms.three_sweep_plan,
    "three-sweep-bias": four_algorithms.three_sweep_bias_plan,
    "denoc": elimination.forward_plan,
    "base-invariant": free_flying.base_invariant_plan,
    "diagonal": diagonal.forward_plan,
}
_LOSING = ("articulated", "diagonal", "base-invariant")  # those that take losses off on their way
_WITHOUT_LINKS = ("four-sweep", "denoc")  # those that do not come past the links' accelerations


class DynamicsMethods(MatrixMethods):
    """What moves the robot, and how it then moves."""

    __slots__ = ()

    @single_state_fast
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        wrenches: Any = None,
        losses: bool = False,
        base_acceleration: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        method: InverseMethod = "newton-euler",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Joint torques (..., nv) that cause the accelerations a: ``tau = H f``, ``f = phi (M alpha + b)``.

        Armature included, gravity as an upward acceleration of the base. Frames: forces of a free joint are (moment,
        force) at the link origin in link axes. All methods give the same torques; the first and the
        last are for every robot, those of Balafoutis & Patel are for joints that turn or slide, and they take
        ``losses`` but no wrenches:

        - ``"newton-euler"``: Rodriguez & Kreutz-Delgado (6)-(12). Kernels use "augmented" where they can.
        - ``"augmented"``: augmented links, Algorithm 5.7 (5.3.44)-(5.3.46), O(n), the fewest operations.
        - ``"tensor"``: Newton-Euler with Cartesian tensors, Algorithm 5.6 (5.3.7), (5.3.8), O(n).
        - ``"luh-walker-paul"``: Newton-Euler in link frames, Algorithm 5.3 (5.2.23), (5.2.24), O(n).
        - ``"featherstone"``: spatial vectors in link frames, Algorithm 5.4 (5.2.25)-(5.2.29), O(n).
        - ``"rodriguez"``: state and co-state in base axes, Algorithm 5.5 (5.2.31)-(5.2.35), O(n).
        - ``"kane"``: partial velocities times inertia forces (5.2.36), (5.2.37), O(n).
        - ``"hollerbach-4x4"``: Lagrange with 4x4 matrices, Algorithm 5.1 (5.2.12), (5.2.13), O(n).
        - ``"hollerbach-3x3"``: Lagrange with 3x3 matrices, Algorithm 5.2 (5.2.15), (5.2.16), O(n).
        - ``"uicker-kahn"``: Lagrange in closed form with 4x4 matrices (5.2.7), O(n^4).
        - ``"closed-form"``: Christoffel symbols of generalised links (5.2.17)-(5.2.20), O(n^3), revolute joints only.
        - ``"denoc"``: twists at mass centres, Saha (30)-(32) and section 5.1, O(n); see :mod:`recursa.denoc`.

        - ``wrenches``: what acts on links: a list of :class:`recursa.Wrench`; an array (..., nlinks, 6) of (moment,
          force) in link axes at link origins; or such rows (..., 6) by link, ``{"flange": [0, 0, 0, 0, 0, -9.81]}``.
        - ``losses``: add damping and friction.
        - ``base_acceleration``: prescribed spatial acceleration of the base (..., 6), world axes.
        - ``parameters``: inertial parameters (..., 10 nbodies) instead of the model's, in the regressor's order.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(1)                       # a rod of 0.5 kg and 0.3 m, held level
        >>> arm.inverse_dynamics([0.0], [0.0], [0.0]).round(6)
        array([0.73575])
        """
        known_method("inverse dynamics", method, ("newton-euler", *book.INVERSE, "denoc"))
        arguments = {"q": q, "v": v, "a": a}
        extra = {"base_acceleration": base_acceleration, "parameters": parameters}
        entry = ("inverse_dynamics", *given(wrenches=wrenches, losses=bool(losses), **extra), method)
        if method in book.INVERSE:
            refused = given(wrenches=wrenches, **extra)
            plan = book.inverse_method(self._on_axes.model, method, losses=bool(losses), given=refused)
            return self._joint_vector(plan, "T", arguments, out, threads, entry, store=self._on_axes)
        arguments |= self._extra(q, wrenches, base_acceleration, parameters)
        if method == "denoc":
            self._require_centers(arguments)
            plan = denoc_inverse_plan(wrenches=wrenches is not None, losses=bool(losses))
            reached = entry if len(arguments) == 3 else None
            return self._joint_vector(plan, "T", arguments, out, threads, reached, may_move=MayMove.FRAMES)
        plan = inverse.inverse_plan(wrenches=wrenches is not None, losses=bool(losses))
        if len(arguments) > 3:
            return self._joint_vector(plan, "T", arguments, out, threads, entry, may_move=MayMove.INERTIAS)
        fewer, may_move = self._augmented(accelerating=True, losses=bool(losses))
        return self._joint_vector(plan, "T", arguments, out, threads, entry, fewer, may_move=may_move)

    def augmented_links(self) -> AugmentedLinks:
        """The augmented links of Balafoutis & Patel, Definition 5.1: what Algorithm 5.7 computes once, off-line.

        Mass outward, first moment u, inertia and Euler tensor of every augmented link (5.3.44), in frames on the joint
        axes; of a link that carries a prismatic joint, the coefficients in that joint's coordinate.

        >>> import recursa as rc
        >>> links = rc.robots.stanford().augmented_links()
        >>> links.mass.round(2)
        array([21.1, 12.1,  6.1,  2.1,  1.1,  0.5])
        >>> links.online                                    # it carries the joint that slides
        ('link2',)
        """
        moved = self._on_axes.model
        require_axes(moved, "augmented", instead="newton-euler")
        return augmented_links(self.model, moved)

    @single_state_fast
    def bias_forces(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Torques (..., nv) that keep the joints from accelerating: Coriolis, centrifugal and gravity."""
        plan, arguments = inverse.bias_plan(), {"q": q, "v": v}
        fewer, may_move = self._augmented(accelerating=False)
        return self._joint_vector(plan, "T", arguments, out, threads, ("bias_forces",), fewer, may_move=may_move)

    @single_state_fast
    def gravity_forces(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Torques (..., nv) that hold the robot still against gravity: the gradient of the potential energy."""
        plan, entry = inverse.gravity_plan(), ("gravity_forces",)
        return self._joint_vector(plan, "T", {"q": q}, out, threads, entry, may_move=MayMove.INERTIAS)

    @single_state_fast
    def joint_losses(self, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Torques (..., nv) lost to damping and Coulomb friction: ``damping v + friction sign(v)``."""
        plan, entry = inverse.LOSSES_PLAN, ("joint_losses",)
        return self._joint_vector(plan, "T", {"v": v}, out, threads, entry, may_move=MayMove.INERTIAS)

    @single_state_fast
    def reaction_wrenches(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Wrenches (..., nbodies, 6) across each joint, on the child, in link axes at the link origin: f of (11)."""
        return self._evaluate(
            inverse.inverse_plan(),
            {"q": q, "v": v, "a": a},
            lambda values: gathering.flat(force.components() for force in values.lists.get("f", [])),
            (self.model.nbodies, 6),
            out,
            threads,
            entry=("reaction_wrenches",),
        )

    @single_state_fast
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: bool = False,
        links: bool = False,
        parameters: ArrayLike | None = None,
        method: ForwardMethod | None = None,
        mass: MassMethod | None = None,
        bias: InverseMethod | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Any:
        """Accelerations (..., nv) that the torques cause; with ``links`` also those of all links.

        All but ``"composite"`` compute ``qdd = (I - H psi K)* inv(D) (I - H psi K) (T - C)``, Identity 6 (46) of
        Rodriguez & Kreutz-Delgado, in O(n); they differ in where velocities and gravity enter:

        - ``"articulated"``: three sweeps; Algorithm 4 as arranged by Jain & Rodriguez (Algorithm 2.3).
        - ``"four-sweep"``: Algorithm 1 (47)-(54), torques freed of their bias first, ``T' = T - C``.
        - ``"four-sweep-links"``: Algorithm 2 (55)-(59), the same with the accelerations of links and tip.
        - ``"three-sweep-bias"``: Algorithm 3 (60)-(65), bias forces and torques through one filter.
        - ``"three-sweep"``: Algorithm 4 (66)-(73), without forces of the bias accelerations beforehand.
        - ``"denoc"``: Saha's three steps (34)-(37) after bias torques, ``I = U D U*``, twists at mass centres.
        - ``"base-invariant"``: free flyers; two messages a hinge, then every link by itself, Jain & Rodriguez,
          Algorithm 3.3 (16)-(26); no link is special.
        - ``"diagonal"``: by way of total joint rates, Jain & Rodriguez, Algorithm 8.1; see :attr:`diagonal`.
        - ``"composite"``: mass matrix and solve, O(n^3); what robots with tied joints use.

        - ``wrenches``: what acts on links: a list of :class:`recursa.Wrench`; an array (..., nlinks, 6) of (moment,
          force) in link axes at link origins; or such rows (..., 6) by link, ``{"flange": [0, 0, 0, 0, 0, -9.81]}``.
        - ``losses``: damping and friction act too.
        - ``mass``, ``bias``: with ``"composite"``, the methods of :meth:`mass_matrix` and of :meth:`inverse_dynamics`,
          which at a = 0 gives the bias: the three steps of Balafoutis & Patel, chapter 6, in any pairing.
        - ``links``: return (a, alpha) with the true spatial accelerations of all links (..., nlinks, 6) in body axes,
          a by-product of every sweep method but ``"four-sweep"`` and ``"denoc"``.
        - ``parameters``: inertial parameters (..., 10 nbodies) instead of the model's, in the regressor's order.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(1)                       # a rod of 0.5 kg and 0.3 m, let go when level
        >>> arm.forward_dynamics([0.0], [0.0], [0.0]).round(6)
        array([-49.05])
        >>> a, links = arm.forward_dynamics([0.0], [0.0], [0.0], links=True, method="four-sweep-links")
        >>> links[-1].round(6) + 0.0                        # the tip, where the rod ends
        array([  0.   ,   0.   , -49.05 ,   0.   , -14.715,   0.   ])
        """
        chosen = method or ("composite" if self._tied else "articulated")
        known_method("forward dynamics", chosen, (*_FORWARD, "composite"))
        if chosen != "composite" and (mass is not None or bias is not None):
            raise NoSweepError(
                f"mass= and bias= choose how the mass matrix and the bias are made, and {chosen!r} makes neither. "
                'Use method="composite"'
            )
        inside = {"losses": True} if losses and chosen in _LOSING and not self._tied else {}
        if losses and not inside:
            tau = np.asarray(tau) - self.joint_losses(v)
        extra = self._extra(q, wrenches, None, parameters)
        if chosen == "composite" or self._tied:
            if chosen not in ("composite", "articulated"):
                raise NoSweepError(
                    f"robot '{self.model.name}' has tied joints, and {chosen!r} needs independent ones. "
                    'Use method="composite", or load the robot with mimic="free"'
                )
            self._require_hinges({"q": q} | extra)
            if mass is None and bias is None:
                result = self._composite_forward(q, v, np.asarray(tau), extra)
            else:
                C = self.inverse_dynamics(
                    q, v, np.zeros_like(v), wrenches=wrenches, parameters=parameters, method=bias or "newton-euler"
                )
                M = self.mass_matrix(q, parameters=parameters, method=mass or "composite")
                result = self._solved(M, np.asarray(tau) - C)
            result = into(out, result)
            return (result, self.accelerations(q, v, result)) if links else result
        arguments = {"q": q, "v": v, "tau": tau} | extra
        lossy = bool(inside)
        if chosen == "base-invariant":
            free_flying.require_free_flyer(self.model, 'method "base-invariant"')
            inside["branching"] = free_flying.branches(self.model)
        if links and chosen not in _WITHOUT_LINKS:
            plan = _FORWARD[chosen](wrenches=wrenches is not None, links=True, **inside)
            return self._forward_with_links(plan, arguments, out, threads)
        plan = _FORWARD[chosen](wrenches=wrenches is not None, **inside)
        options = given(wrenches=wrenches, losses=bool(losses), parameters=parameters)
        reachable = (chosen != "denoc" or not extra) and not links and lossy == bool(losses)
        entry = ("forward_dynamics", *options, *((method,) if method else ())) if reachable else None
        if chosen == "denoc":
            self._require_centers(arguments)
        may_move = MayMove.FRAMES if chosen == "denoc" else MayMove.INERTIAS
        result = self._joint_vector(plan, "qdd", arguments, out, threads, entry, may_move=may_move)
        self._require_finite(result, arguments)
        return (result, self.accelerations(q, v, result)) if links else result

    def _forward_with_links(
        self, plan: Plan, arguments: dict[str, Any], out: Array | None, threads: int | None
    ) -> tuple[Array, Array]:
        """Accelerations of the joints, and those of all links that came with them."""
        both = self._evaluate(
            plan,
            arguments,
            lambda values: chain(
                gathering.joint_vector(self.model, values.lists.get("qdd", [])),
                motion_entries(values.lists.get("AL", [])),
            ),
            (self.nv + 6 * self.nlinks,),
            None,
            threads,
            may_move=MayMove.INERTIAS,
        )
        self._require_finite(both, arguments)
        joints, links = np.split(both, [self.nv], axis=-1)
        return into(out, np.ascontiguousarray(joints)), links.reshape(*links.shape[:-1], self.nlinks, 6).copy()

    def _composite_forward(self, q: ArrayLike, v: ArrayLike, tau: Array, extra: dict[str, Any]) -> Array:
        """``M a = tau - C``, solved with the mass matrix (chapter 6 of Balafoutis & Patel)."""
        arguments = {"q": q, "v": v} | extra
        both = self._evaluate(
            inertia.equations_of_motion_plan(wrenches="wrench" in extra),
            arguments,
            lambda values: chain(
                gathering.joint_matrix(self.model, values.lists.get("rows", []), symmetric=True),
                gathering.joint_vector(self.model, values.lists.get("T", [])),
            ),
            (self.nv * self.nv + self.nv,),
            None,
            None,
            may_move=MayMove.INERTIAS,
        )
        entries, bias = np.split(both, [self.nv * self.nv], axis=-1)
        return self._solved(entries.reshape(*bias.shape, self.nv), tau - bias)

    def _solved(self, mass: Array, moments: Array) -> Array:
        """``inv(M) (tau - C)``."""
        return self._solved_columns(mass, moments[..., None])[..., 0]

    def _solved_columns(self, mass: Array, columns: Array) -> Array:
        """``inv(M) X``."""
        try:
            return np.linalg.solve(mass, columns)
        except np.linalg.LinAlgError:
            raise SingularHingeError(
                f"robot '{self.model.name}': the mass matrix is singular. robot.doctor() names the joint"
            ) from None
