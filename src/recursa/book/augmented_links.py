"""The off-line step of Algorithm 5.7 as data: what of the augmented links does not depend on the state."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recursa.book.augmented import AUGMENT, AUGMENTED_BUFFERS
from recursa.book.rigid_body import inertia_from_euler
from recursa.dynamics.kinematics import RELATIVE
from recursa.model.canonical import axis_frames
from recursa.model.model import Model
from recursa.spatial.mat3 import array_of
from recursa.spatial.screws import ScrewChain
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Z_AXIS
from recursa.sweeps import Plan, base_to_tip, run, tip_to_base

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AugmentedLinks:
    """The constants of Algorithm 5.7, Step 1 (5.3.44), one row per body, in frames on the axes or of the links.

    Augmented link i is link i with the mass of everything outward of each of its joints put at that joint's origin.

    - ``mass`` (n,): mbar_i, the mass of link i and all outward of it (5.3.44a).
    - ``first`` (n, 3): u_i, the first moment about the frame's origin (5.3.44b).
    - ``inertia`` (n, 3, 3): K_i, the inertia tensor about it (5.3.44c).
    - ``euler`` (n, 3, 3): its Euler tensor (5.3.44d).
    - ``frames`` (n, 4, 4): pose of the frame, z along the joint's axis, in the link's frame.
    - ``first_slope`` (n, 3), ``euler_slope``, ``euler_curvature`` (n, 3, 3): where joint j slides, its parent's moments
      depend on q_j: add ``q_j first_slope[j]`` to u, ``q_j euler_slope[j] + q_j**2 euler_curvature[j]`` to the Euler
      tensor of the parent, whose rows above are those at q_j = 0. Zero where joint j turns.
    - ``online``: the links whose moments therefore depend on the state; kernels work these out each time.
    """

    mass: Array
    first: Array
    inertia: Array
    euler: Array
    frames: Array
    first_slope: Array
    euler_slope: Array
    euler_curvature: Array
    online: tuple[str, ...]

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


_OFFLINE = Plan("augmented links", AUGMENTED_BUFFERS, (base_to_tip(RELATIVE), tip_to_base(AUGMENT)))


def augmented_links(model: Model, moved: Model) -> AugmentedLinks:
    """Of a model and the same with its frames on the joint axes; ``moved`` may be the model itself, if they are."""
    free = replace(moved, joints=tuple(replace(joint, tie=None) for joint in moved.joints))  # q_j is joint j's own
    values = run(_OFFLINE, free, {"q": [0.0] * model.nq})
    n = model.nbodies
    first_slope, euler_slope, curvature = np.zeros((n, 3)), np.zeros((n, 3, 3)), np.zeros((n, 3, 3))
    online = []
    for j, joint in enumerate(moved.joints):
        if not joint.kind.slides:
            continue
        step: ScrewChain | Transform = values["X"][j]
        s, z, mass = np.array(step.origin()), np.array(step.rotate(Z_AXIS)), values["mass"][j]
        first_slope[j] = mass * z
        euler_slope[j] = mass * (np.outer(s, z) + np.outer(z, s))
        curvature[j] = mass * np.outer(z, z)
        if joint.parent >= 0:
            online.append(moved.joints[joint.parent].child)
    return AugmentedLinks(
        mass=np.array(values["mass"], float).reshape(n),
        first=np.array(values["u"], float).reshape(n, 3),
        inertia=np.array([array_of(inertia_from_euler(K).rows()) for K in values["K"]]).reshape(n, 3, 3),
        euler=np.array([array_of(K.rows()) for K in values["K"]]).reshape(n, 3, 3),
        frames=_frames(model, moved).reshape(n, 4, 4),
        first_slope=first_slope,
        euler_slope=euler_slope,
        euler_curvature=curvature,
        online=tuple(dict.fromkeys(online)),
    )


def _frames(model: Model, moved: Model) -> Array:
    """Poses of the frames in those of the links."""
    if moved is model:
        return np.tile(np.eye(4), (model.nbodies, 1, 1))
    return np.array([array_of(frame.rows()) for frame in axis_frames(model)])
