"""Forward dynamics as filtering and smoothing: what a robot says of every step on the way."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from recursa.dynamics import filtering
from recursa.dynamics.losses import Losses, known_losses
from recursa.evaluation.arrays import as_given
from recursa.evaluation.facade import Facade
from recursa.sweeps.batching import Array


class Filtering(NamedTuple):
    """What :meth:`Robot.filtering` returns, each with the batch axes in front.

    Vectors of bodies are (..., nbodies, 6), angular part first, in the body's axes at its origin; those of joints are
    (..., nv), places as in v. Gravity and wrenches are forces in b, so accelerations are true ones, in body axes
    ("spatial").

    - ``z``: the predicted force, ``z = E_phi z_plus + P a + b`` (12a): what the bodies outward, their joints free,
      exert at the joint while its parent does not accelerate.
    - ``z_plus``: the updated one, ``z + G epsilon`` (12b): the joint's torque is taken into account.
    - ``epsilon``: innovations ``T - H z`` (12c): what the torque is more than was predicted.
    - ``nu``: ``inv(D) epsilon`` (12d): the acceleration of the joint while its parent does not accelerate.
    - ``a``: joint accelerations ``nu - G* alpha_plus`` (12f), those of :meth:`Robot.forward_dynamics`.
    - ``alpha``: smoothed accelerations of the bodies, lambda in Rodriguez & Kreutz-Delgado's Algorithm 4 (12g).
    - ``f``: the force that the parent exerts on the body across the joint, ``P (alpha - c) + z`` (20) with
      the bias acceleration ``c = crm(V) H* v``.
    - ``f_plus``: the same from the parent's side, ``P_plus alpha_plus + z_plus`` (20): equal but for rounding.
    """

    z: Array
    z_plus: Array
    epsilon: Array
    nu: Array
    a: Array
    alpha: Array
    f: Array
    f_plus: Array


class FilteringMethods(Facade):
    """Forward dynamics as filtering and smoothing."""

    __slots__ = ()

    @as_given
    def filtering(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Any = None,
        losses: Losses = False,
        threads: int | None = None,
    ) -> Filtering:
        """Forward dynamics with all that its filter (inward) and its smoother (outward) find. O(n).

        Rodriguez & Kreutz-Delgado's analogy: bodies are instants, P is the covariance of the prediction, G the Kalman
        gain, epsilon the innovations; the smoother adds what only bodies inward know. ``wrenches`` and ``losses``
        (True, "damping", "friction") are as in :meth:`Robot.forward_dynamics`. Tied joints are a :class:`NoSweepError`.

        >>> import numpy as np, recursa as rc
        >>> robot = rc.robots.puma560()
        >>> q, v = robot.random_state(0)
        >>> found = robot.filtering(q, v, np.ones(6))
        >>> bool(np.allclose(found.a, robot.forward_dynamics(q, v, np.ones(6))))
        True
        >>> bool(np.allclose(found.f, found.f_plus)), found.z.shape
        (True, (6, 6))
        """
        arrays = {"q": q, "v": v, "tau": tau, "wrenches": wrenches}
        numbers = self._answer(filtering.FILTERING, arrays, {"losses": known_losses(losses)}, None, threads)
        batch, counts = numbers.shape[:-1], (len(filtering.JOINT_VECTORS), len(filtering.BODY_VECTORS))
        first = counts[0] * self.nv
        joints = numbers[..., :first].reshape(*batch, counts[0], self.nv)
        bodies = numbers[..., first:].reshape(*batch, counts[1], self.model.nbodies, 6)
        epsilon, nu, a = (joints[..., k, :] for k in range(counts[0]))
        z, z_plus, alpha, f, f_plus = (bodies[..., k, :, :] for k in range(counts[1]))
        return Filtering(z, z_plus, epsilon, nu, a, alpha, f, f_plus)
