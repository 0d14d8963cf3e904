"""Inverse dynamics by Newton's and Euler's equations in link frames: Algorithms 5.3 (vectors) and 5.6 (tensors)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recursa.book.augmented_recursion import TENSOR_RATES, TensorRates
from recursa.book.augmented_recursion import rates as tensor_rates
from recursa.book.on_axes import CENTRED, Centred, less_external, two_sweeps
from recursa.book.rigid_body import euler_from_inertia, torque_from_euler
from recursa.model.model import Joint
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import ScrewChain
from recursa.spatial.vec3 import SYM_ZERO, Z_AXIS, ZERO, SymMat3, Vec3
from recursa.sweeps import Buffer, Given, Step

# ---- Algorithm 5.3: Luh, Walker & Paul ("luh-walker-paul") -----------------------------------------------------------


class LinkRates(NamedTuple):
    """omega, its rate, the origin's acceleration."""

    w: Vec3
    wd: Vec3
    sdd: Vec3


def resting(given: Given) -> LinkRates:
    """The base: at rest, accelerating upwards."""
    return LinkRates(ZERO, ZERO, -given.gravity)


def rates(joint: Joint, step: ScrewChain, parent: LinkRates, v: Sequence[Scalar], a: Sequence[Scalar]) -> LinkRates:
    """Forward recursion (5.2.23a-c)."""
    (w, wd, sdd), s, z = parent, step.origin(), Z_AXIS
    above = step.inverse_rotate(w)  # w' = A^T w_i
    wd_above = step.inverse_rotate(wd)
    point = step.inverse_rotate(sdd + wd.cross(s) + w.cross(w.cross(s)))
    return behind_joint(joint, LinkRates(above, wd_above, point), z, v, a)


def behind_joint(joint: Joint, here: LinkRates, z: Vec3, v: Sequence[Scalar], a: Sequence[Scalar]) -> LinkRates:
    """What a joint about or along z adds to the rates in front of it, in any axes."""
    w, wd, sdd = here
    if joint.kind.slides:
        return LinkRates(w, wd, sdd + w.cross(z * v[0]) * 2.0 + z * a[0])  # (5.2.23c)
    return LinkRates(w + z * v[0], wd + w.cross(z * v[0]) + z * a[0], sdd)  # (5.2.23a, b)


def link_force(link: Centred, here: LinkRates) -> tuple[Vec3, Vec3]:
    """What the link itself takes: F_i, and its moment about o_i."""
    w, wd, sdd = here
    rdd = wd.cross(link.r) + w.cross(w.cross(link.r)) + sdd  # (5.2.23d)
    force = rdd * link.mass  # (5.2.23e)
    moment = link.moment @ wd + w.cross(link.moment @ w)  # (5.2.23f)
    return force, moment + link.r.cross(force)


def joint_force(joint: Joint, step: ScrewChain, f: Vec3, eta: Vec3) -> tuple[tuple[Scalar, ...], Vec3, Vec3]:
    """Backward recursion: tau_i, and what the link hands to its parent."""
    torque = f.z if joint.kind.slides else eta.z  # (5.2.24c)
    there = step.rotate(f)  # (5.2.24a)
    return (torque,), there, step.origin().cross(there) + step.rotate(eta)  # (5.2.24b)


_EXTERNAL = Step(less_external, ("f", "eta", "E"), ("f", "eta"), "f -= external force, eta -= its moment about o_i")
JOINT_FORCE = Step(
    joint_force,
    ("joint", "X", "f", "eta"),
    ("T", "f@parent", "eta@parent"),
    "f = F + A f, eta = M + r x F + s x A f + A eta, tau = z.eta or z.f   (5.2.24)",
)
_FORCES = (Buffer("f", ZERO), Buffer("eta", ZERO))


LUH_WALKER_PAUL = two_sweeps(
    "luh-walker-paul",
    (*_FORCES, Buffer("rates", LinkRates(ZERO, ZERO, ZERO), resting)),
    (
        CENTRED,
        Step(rates, ("joint", "X", "rates@parent", "v", "a"), ("rates",), "omega, omegad, sdd   (5.2.23a-c)"),
        Step(link_force, ("link", "rates"), ("f", "eta"), "F = m rdd, M = I omegad + omega x I omega   (5.2.23d-f)"),
        _EXTERNAL,
    ),
    JOINT_FORCE,
)


# ---- Algorithm 5.6: the same with tensors ("tensor") -----------------------------------------------------------------


def euler_tensor(link: Centred) -> SymMat3:
    """``J_c = tr(I_c) 1/2 - I_c``, off-line."""
    return euler_from_inertia(link.moment)  # (5.3.5a)


def tensor_link_force(link: Centred, euler: SymMat3, here: TensorRates) -> tuple[Vec3, Vec3]:
    """What the link itself takes: F_i, and its moment about o_i."""
    rdd = here.omega @ link.r + here.sdd  # (5.3.7e)
    force = rdd * link.mass  # (5.3.7f)
    moment = torque_from_euler(euler, here.omega)  # dual of Omega J - (Omega J)^T    (5.3.7g, h)
    return force, moment + link.r.cross(force)


TENSOR = two_sweeps(
    "tensor",
    (*_FORCES, Buffer("J", SYM_ZERO), TENSOR_RATES),
    (
        CENTRED,
        Step(euler_tensor, ("link",), ("J",), "J_c   (5.3.5a)"),
        Step(tensor_rates, ("joint", "X", "rates@parent", "v", "a"), ("rates",), "omega, Omega, sdd   (5.3.7a-d)"),
        Step(
            tensor_link_force,
            ("link", "J", "rates"),
            ("f", "eta"),
            "F = m rdd, ~M = Omega J - (Omega J)^T (5.3.7e-h)",
        ),
        _EXTERNAL,
    ),
    JOINT_FORCE,
)
