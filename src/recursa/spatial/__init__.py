"""Vectors, rotations, transforms and inertias over any scalar; knows no robots.

The types are named tuples of components, and a component may be a float, a NumPy array (a whole batch at once), a
counted number or a symbol. See ``docs/conventions.md`` for the sense of every map.
"""

from recursa.spatial.counter import Counted, Counter, Counts
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.mat4 import Mat4, Vec4
from recursa.spatial.rotation import Quaternion, Rotation
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Screw, ScrewChain, Transform, dh_transform, log_of
from recursa.spatial.vec3 import SymMat3, Vec3

__all__ = [
    "ArticulatedInertia",
    "Counted",
    "Counter",
    "Counts",
    "Force",
    "Mat3",
    "Mat4",
    "Motion",
    "Quaternion",
    "RigidInertia",
    "Rotation",
    "Scalar",
    "Screw",
    "ScrewChain",
    "SymMat3",
    "Transform",
    "Vec3",
    "Vec4",
    "dh_transform",
    "log_of",
]
