"""Augmented and generalised links of Balafoutis & Patel, and what their recursion finds on its way."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.book import recursion
from recursa.book.augmented_recursion import AugmentedLinks, augmented_links
from recursa.book.on_axes import require_axes
from recursa.evaluation.answering import Facade, as_given, asks
from recursa.sweeps.batching import Array, cut

BookFrames = Literal["axes", "link"]


class AugmentedRecursion(NamedTuple):
    """What :meth:`Robot.augmented_recursion` returns: the torques, then one row per body, batch axes in front.

    All components are in the frame of the body itself (see ``frames``); moments are about its origin o_i; dots are
    absolute rates; accelerations are with gravity, as if the base went upwards.

    - ``tau`` (..., nv): the torques (5.3.46c), rotors included.
    - ``mass`` (n,), ``first`` u_i (n, 3), ``inertia`` K_i and ``euler``, its Euler tensor (n, 3, 3): of the augmented
      link, at this state (5.3.44).
    - ``angular_velocity`` omega_i, ``angular_acceleration`` its rate, ``acceleration_tensor`` Omega_i (5.3.45a-c).
    - ``sliding_acceleration`` zeta_i (5.3.45d), zero where the joint turns; ``origin_acceleration`` sdd_0i (5.3.45e).
    - ``moment`` mu_i of the augmented link (5.3.45g).
    - ``first_acceleration``: Udd_i, of the first moment of the generalised link (5.3.46a).
    - ``joint_moment`` eta_i (5.3.46b) and ``joint_force`` f_i = mbar_i sdd_0i + Udd_i (5.3.38): across the joint, on
      the body.
    """

    tau: Array
    mass: Array
    first: Array
    inertia: Array
    euler: Array
    angular_velocity: Array
    angular_acceleration: Array
    acceleration_tensor: Array
    sliding_acceleration: Array
    origin_acceleration: Array
    moment: Array
    first_acceleration: Array
    joint_moment: Array
    joint_force: Array


class GeneralizedLinks(NamedTuple):
    """Every body with all that is outward of it, frozen together; one row per body, in link axes.

    - ``mass`` (..., n): mbar_i.
    - ``first`` (..., n, 3): U_i, the first moment about the link's origin (6.3.3).
    - ``inertia`` (..., n, 3, 3): E_i, the inertia tensor about it (6.3.4).
    """

    mass: Array
    first: Array
    inertia: Array

    @property
    def center(self) -> Array:
        """R_i = U_i / mbar_i (..., n, 3), the mass centre (6.3.7); nan where nothing has mass."""
        with np.errstate(all="ignore"):
            return self.first / self.mass[..., None]

    @property
    def central_inertia(self) -> Array:
        """E_ci = E_i + mbar_i ~R_i ~R_i (..., n, 3, 3), about the mass centre (6.3.8); nan where nothing has mass."""
        r = self.center
        square = np.sum(r * r, axis=-1)[..., None, None] * np.eye(3) - r[..., :, None] * r[..., None, :]  # -~R ~R
        return self.inertia - self.mass[..., None, None] * square


class BookMethods(Facade):
    """What Balafoutis & Patel's methods are made of."""

    __slots__ = ()

    def augmented_links(self, *, frames: BookFrames = "axes") -> AugmentedLinks:
        """The augmented links of Balafoutis & Patel, Definition 5.1: what Algorithm 5.7 computes once, off-line.

        Mass outward, first moment u, inertia and Euler tensor of every augmented link (5.3.44); of a link that carries
        a prismatic joint, the coefficients in that joint's coordinate.

        - ``frames="axes"``: in frames on the joint axes, wherever those of links are; the result's ``frames`` tell.
        - ``frames="link"``: in the frames of the links. These are the book's own where a robot comes from a modified
          Denavit-Hartenberg table; a joint that is not on the z axis of its link's frame is a :class:`NoSweepError`.

        >>> import recursa as rc
        >>> links = rc.robots.stanford().augmented_links()
        >>> links.mass.round(2)
        array([21.1, 12.1,  6.1,  2.1,  1.1,  0.5])
        >>> links.online                                    # it carries the joint that slides
        ('link2',)
        """
        if recursion.known_frames(frames) == "link":
            recursion.require_book_frames(self.model, "augmented_links")
            return augmented_links(self.model, self.model)
        moved = self.evaluator.subject.on_axes
        require_axes(moved, "augmented", instead="newton-euler")
        return augmented_links(self.model, moved)

    def augmented_recursion(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        wrenches: Any = None,
        frames: BookFrames = "axes",
        threads: int | None = None,
    ) -> AugmentedRecursion:
        """Inverse dynamics by Algorithm 5.7 with all that it finds: omega, Omega, sdd, mu, Udd, eta, f of every body.

        For joints that turn or slide. ``frames``: "axes", the book's own on the joint axes, or "link", as for
        :meth:`augmented_links`; ``wrenches`` as for
        :meth:`inverse_dynamics`; a wrench on a body is taken off its Udd, eta and f.

        >>> import recursa as rc
        >>> robot = rc.robots.stanford()
        >>> (q, v), a = robot.random_state(1), np.ones(6)
        >>> found = robot.augmented_recursion(q, v, a)
        >>> bool(np.allclose(found.tau, robot.inverse_dynamics(q, v, a)))
        True
        >>> found.joint_moment[1, 2].round(12) == found.tau[1].round(12)     # about the z axis of joint 2
        np.True_
        """
        arrays = {"q": q, "v": v, "a": a, "wrenches": wrenches}
        numbers = self._answer(recursion.AUGMENTED_RECURSION, arrays, {"frames": frames}, None, threads)
        tau, bodies = cut(numbers, [self.nv])
        bodies = bodies.reshape(*numbers.shape[:-1], self.model.nbodies, -1)
        parts = cut(bodies, [*accumulate(3 ** len(shape) for shape in recursion.SHAPES.values())][:-1])
        shaped = (
            part.reshape(*bodies.shape[:-1], *shape)
            for part, shape in zip(parts, recursion.SHAPES.values(), strict=True)
        )
        return AugmentedRecursion(tau, *shaped)

    @as_given
    def generalized_links(self, q: ArrayLike, *, threads: int | None = None) -> GeneralizedLinks:
        """The generalised links of Balafoutis & Patel, Definition 5.2: mbar, U, E of everything outward, for any robot.

        ``U_i = sum of m_j r_ij`` (6.3.3), ``E_i = sum of I_cj - m_j ~r_ij ~r_ij`` (6.3.4) over body i and those
        outward; ``center`` and ``central_inertia`` of the result are R_i and E_ci (6.3.7), (6.3.8).

        >>> import recursa as rc
        >>> links = rc.robots.puma560().generalized_links(np.zeros(6))
        >>> links.first.shape, links.inertia.shape
        ((6, 3), (6, 3, 3))
        >>> bool(np.allclose(links.mass[0], rc.robots.puma560().mass))
        True
        """
        ten = self._generalized_links(q) if threads is None else self._generalized_links(q, threads=threads)
        places = np.array([[4, 5, 7], [5, 6, 8], [7, 8, 9]])
        return GeneralizedLinks(ten[..., 0], ten[..., 1:4], ten[..., places])

    _generalized_links = asks(recursion.GENERALIZED_LINKS)
