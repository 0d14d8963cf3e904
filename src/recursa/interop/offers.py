"""What peers offer for a quantity, as one table by its name: their own calls, and how an answer becomes ours.

``recursa compare`` checks that the answers are the same, ``recursa bench`` times the calls. A call is as bare as a user
would write it: it takes the quantity's arrays in the peer's own conventions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recursa.dynamics.kinematics import PINOCCHIO_FRAMES

Array = NDArray[Any]
Call = Callable[..., Any]


def _as_array(peer: Any, answer: Any) -> Array:
    return np.array(answer, dtype=float)


class Offer(NamedTuple):
    """A peer's way to a quantity.

    - ``call``: ``call(peer, **options)`` is a function of the quantity's arrays; None where the peer lacks an option.
    - ``axes``: what the axes of the answer are, a letter each, so that :class:`Translation` can make them ours: "f"
      joint forces or columns by joint motions, "c" forces that lack those of dS/dt v, "m" joint motions, "a" joint
      accelerations, "6" six-vectors, "." anything else. None where the numbers are about other frames than ours.
    - ``made``: ``made(peer, answer)`` is the answer as an array.
    """

    call: Callable[..., Call | None]
    axes: str | None
    made: Callable[[Any, Any], Array] = _as_array


# ---- Pinocchio -------------------------------------------------------------------------------------------------------


def _pin(name: str, **fixed: Any) -> Callable[..., Call | None]:
    """One function of Pinocchio's, for certain values of the options alone."""

    def call(peer: Any, **options: Any) -> Call | None:
        usual = all(options.get(name, value) == value for name, value in fixed.items())
        return partial(getattr(peer.pin, name), peer.model, peer.data) if usual else None

    return call


def _pin_integrated(name: str) -> Callable[..., Call]:
    return lambda peer: partial(getattr(peer.pin, name), peer.model)


def _pin_made_poses(peer: Any, answer: Any) -> Array:
    return np.stack([peer.data.oMf[number].homogeneous for number in peer.links])


def _pin_pose(peer: Any, *, link: str) -> Call:
    pin, model, data, number = peer.pin, peer.model, peer.data, peer.frame(link)

    def pose(q: Array) -> Any:
        pin.forwardKinematics(model, data, q)
        return pin.updateFramePlacement(model, data, number)

    return pose


def _pin_jacobian(peer: Any, *, link: str, frame: str = "body") -> Call:
    compute, model, data, number = peer.pin.computeFrameJacobian, peer.model, peer.data, peer.frame(link)
    reference = getattr(peer.pin.ReferenceFrame, PINOCCHIO_FRAMES[frame])
    return lambda q: compute(model, data, q, number, reference)


def _pin_jacobian_derivative(peer: Any, *, link: str, frame: str = "body") -> Call:
    pin, model, data, number = peer.pin, peer.model, peer.data, peer.frame(link)
    reference = getattr(pin.ReferenceFrame, PINOCCHIO_FRAMES[frame])

    def derivative(q: Array, v: Array) -> Any:
        pin.computeJointJacobiansTimeVariation(model, data, q, v)
        return pin.getFrameJacobianTimeVariation(model, data, number, reference)

    return derivative


def _pin_kinetic_energy(peer: Any) -> Call:
    pin, model, data = peer.pin, peer.model, peer.data
    if peer.full_energy:  # with the rotors, which its own lacks for some joints
        return lambda q, v: 0.5 * v @ _symmetric(peer, pin.crba(model, data, q)) @ v
    return partial(pin.computeKineticEnergy, model, data)


def _by_freedoms(peer: Any, answer: Any) -> Array:
    return np.reshape(answer, (-1, peer.model.nv)).copy()  # flat where there is one column


def _symmetric(peer: Any, answer: Any) -> Array:
    """From the upper triangle, which is all that is filled in."""
    upper = np.triu(np.reshape(answer, (peer.model.nv, peer.model.nv)))
    return upper + np.triu(upper, 1).T


def _three_matrices(peer: Any, answer: Any) -> Array:
    first, second, last = (np.reshape(matrix, (peer.model.nv, peer.model.nv)) for matrix in answer)
    return np.stack([first, second, _symmetric(peer, last)])


# ---- MuJoCo ----------------------------------------------------------------------------------------------------------


def full_mass(model: Any, data: Any, out: Array) -> Array:
    """MuJoCo's own mass matrix as a full one; the order of the arguments changed with version 4."""
    import mujoco

    if hasattr(data, "qM"):
        mujoco.mj_fullM(model, out, data.qM)
    else:
        mujoco.mj_fullM(model, data, out)
    return out


def _mj_inverse_dynamics(peer: Any, *, losses: bool = False, method: str = "newton-euler") -> Call | None:
    inverse, model, data = peer.mujoco.mj_inverse, peer.model, peer.data

    def call(q: Array, v: Array, a: Array) -> Any:
        data.qpos, data.qvel, data.qacc = q, v, a
        inverse(model, data)
        return data.qfrc_inverse

    return None if losses or method != "newton-euler" else call


def _mj_forward_dynamics(peer: Any, **options: Any) -> Call | None:
    forward, model, data = peer.mujoco.mj_forward, peer.model, peer.data
    model.opt.enableflags &= ~int(peer.mujoco.mjtEnableBit.mjENBL_ENERGY)  # energies, which nobody asks for here

    def call(q: Array, v: Array, tau: Array) -> Any:
        data.qpos, data.qvel, data.qfrc_applied = q, v, tau
        forward(model, data)
        return data.qacc

    return None if any(options.values()) else call


def _mj_mass_matrix(peer: Any, *, method: str = "composite") -> Call | None:
    model, data, composite, placed = peer.model, peer.data, peer.mujoco.mj_crb, _mj_placed(peer)
    full = np.zeros((model.nv, model.nv))

    def call(q: Array) -> Array:
        placed(q)
        composite(model, data)
        return full_mass(model, data, full)

    return call if method == "composite" else None


def _mj_bias_forces(peer: Any) -> Call:
    mujoco, model, data, placed = peer.mujoco, peer.model, peer.data, _mj_placed(peer)
    out = np.zeros(model.nv)

    def call(q: Array, v: Array) -> Array:
        data.qvel = v
        placed(q)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 0, out)
        return out

    return call


def _mj_gravity_forces(peer: Any) -> Call:
    bias, rest = _mj_bias_forces(peer), np.zeros(peer.model.nv)
    return lambda q: bias(q, rest)


def _mj_placed(peer: Any) -> Call:
    """Where the bodies are."""
    kinematics, centres, model, data = peer.mujoco.mj_kinematics, peer.mujoco.mj_comPos, peer.model, peer.data

    def place(q: Array) -> Any:
        data.qpos = q
        kinematics(model, data)
        centres(model, data)
        return data

    return place


def _mj_center_of_mass(peer: Any) -> Call:
    placed = _mj_placed(peer)
    return lambda q: placed(q).subtree_com[0]


def _mj_potential_energy(peer: Any) -> Call:
    energy, model, placed = peer.mujoco.mj_energyPos, peer.model, _mj_placed(peer)

    def call(q: Array) -> Any:
        data = placed(q)
        energy(model, data)
        return data.energy[0]

    return call


def _mj_kinetic_energy(peer: Any) -> Call:
    mujoco, model, placed = peer.mujoco, peer.model, _mj_placed(peer)

    def call(q: Array, v: Array) -> Any:
        data = placed(q)
        data.qvel = v
        mujoco.mj_crb(model, data)
        mujoco.mj_energyVel(model, data)
        return data.energy[1]

    return call


def _mj_made_poses(peer: Any, answer: Any) -> Array:
    return np.stack([peer.pose_of(number) for number in range(len(peer.free.model.links))])


def _mj_jacobian(peer: Any, *, link: str, frame: str = "body") -> Call | None:
    """Of one link, in world axes at its origin; it has no other."""
    placed, number = _mj_placed(peer), peer.free.model.link_index(link)

    def call(q: Array) -> Array:
        placed(q)
        return peer.jacobian_of(number)  # type: ignore[no-any-return]

    return call if frame == "mixed" else None


# ---- the table -------------------------------------------------------------------------------------------------------

OFFERS: dict[str, dict[str, Offer]] = {
    "poses": {
        "pinocchio": Offer(_pin("framesForwardKinematics"), "...", _pin_made_poses),
        "mujoco": Offer(_mj_placed, "...", _mj_made_poses),
    },
    "pose": {"pinocchio": Offer(_pin_pose, "..", lambda _, placement: placement.homogeneous.copy())},
    "jacobian": {
        "pinocchio": Offer(_pin_jacobian, "6f", _by_freedoms),
        "mujoco": Offer(_mj_jacobian, ".f"),
    },
    "jacobian_derivative": {"pinocchio": Offer(_pin_jacobian_derivative, "6f", _by_freedoms)},
    "center_of_mass": {
        "pinocchio": Offer(_pin("centerOfMass"), "."),
        "mujoco": Offer(_mj_center_of_mass, "."),
    },
    "center_of_mass_jacobian": {"pinocchio": Offer(_pin("jacobianCenterOfMass"), ".f", _by_freedoms)},
    "momentum": {"pinocchio": Offer(_pin("computeCentroidalMomentum", about="com"), "6")},
    "momentum_matrix": {"pinocchio": Offer(_pin("computeCentroidalMap"), "6f", _by_freedoms)},
    "mass_matrix": {
        "pinocchio": Offer(_pin("crba", method="composite"), "ff", _symmetric),
        "mujoco": Offer(_mj_mass_matrix, "ff"),
    },
    "mass_matrix_inverse": {"pinocchio": Offer(_pin("computeMinverse"), "mm", _symmetric)},
    "coriolis_matrix": {"pinocchio": Offer(_pin("computeCoriolisMatrix"), "ff", _by_freedoms)},
    "gravity_forces": {
        "pinocchio": Offer(_pin("computeGeneralizedGravity"), "f"),
        "mujoco": Offer(_mj_gravity_forces, "f"),
    },
    "bias_forces": {"pinocchio": Offer(_pin("nonLinearEffects"), "f"), "mujoco": Offer(_mj_bias_forces, "c")},
    "inverse_dynamics": {
        "pinocchio": Offer(_pin("rnea", losses=False, method="newton-euler"), "f"),
        "mujoco": Offer(_mj_inverse_dynamics, "f"),
    },
    "forward_dynamics": {
        "pinocchio": Offer(_pin("aba", losses=False, method=None, mass=None, bias=None), "a"),
        "mujoco": Offer(_mj_forward_dynamics, "a"),
    },
    "kinetic_energy": {"pinocchio": Offer(_pin_kinetic_energy, ""), "mujoco": Offer(_mj_kinetic_energy, "")},
    "potential_energy": {
        "pinocchio": Offer(_pin("computePotentialEnergy"), ""),
        "mujoco": Offer(_mj_potential_energy, ""),
    },
    "inverse_dynamics_derivatives": {"pinocchio": Offer(_pin("computeRNEADerivatives"), ".ff", _three_matrices)},
    "forward_dynamics_derivatives": {"pinocchio": Offer(_pin("computeABADerivatives"), ".mf", _three_matrices)},
    "regressor": {"pinocchio": Offer(_pin("computeJointTorqueRegressor"), None)},
    "integrate": {"pinocchio": Offer(_pin_integrated("integrate"), None)},
    "difference": {"pinocchio": Offer(_pin_integrated("difference"), None)},
}
