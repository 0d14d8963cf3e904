"""Every relation of chapter 4 of Balafoutis & Patel, against clouds of point masses in a known motion.

The motion is R(t) = exp(A1 p1(t)) exp(A2 p2(t)) exp(A3 p3(t)) with polynomials p, and a polynomial s(t). Its
derivatives come from the product rule, and those of derived quantities from a complex step, so nothing is differenced.
Forces and moments of the oracle are sums over the particles; they know no angular velocity. Test names carry equation
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import sympy

from comparing import different, same
from numeric import expm
from recursa.book.rigid_body import (
    PseudoInertia,
    angular_acceleration_tensor,
    angular_acceleration_tensor_from_rotation,
    angular_momentum_general,
    angular_momentum_tensor_euler,
    angular_momentum_tensor_inertia,
    angular_momentum_transfer,
    angular_momentum_vector_euler,
    angular_momentum_vector_inertia,
    angular_velocity_tensor,
    body_tensor_rate,
    body_tensor_rotated,
    euler_about,
    euler_from_inertia,
    inertia_about,
    inertia_from_euler,
    newton_euler_tensor,
    newton_euler_vector,
    point_acceleration_tensor,
    point_acceleration_vector,
    point_velocity_tensor,
    point_velocity_vector,
    rate_tensor,
    second_rate_tensor,
    torque_about_moving_point,
    torque_from_euler,
    torque_tensor_about_moving_point,
    torque_tensor_euler,
    torque_tensor_inertia,
    torque_transfer,
    torque_vector_euler,
    torque_vector_inertia,
)
from recursa.book.tensors import dual, skew_part, symmetric_part, vect
from recursa.spatial import RigidInertia, Rotation, SymMat3, Vec3
from recursa.spatial.mat3 import Mat3

STEP = 1e-30
TIME = 0.7


# ---- the oracle: particles -------------------------------------------------------------------------------------------


class Motion:
    """A smooth random motion in n dimensions, analytic in t so that t may be complex."""

    def __init__(self, seed: int, n: int = 3) -> None:
        rng = np.random.default_rng(seed)
        raw = rng.uniform(-1.0, 1.0, (3, n, n))
        self.generators = raw - raw.swapaxes(-1, -2)
        self.angles = [np.poly1d(rng.uniform(-1.0, 1.0, 4)) for _ in range(3)]
        self.path = [np.poly1d(rng.uniform(-1.0, 1.0, 5)) for _ in range(n)]

    def rotation(self, t: complex) -> list[np.ndarray]:
        """R and its first two derivatives by the product rule."""
        total = [np.eye(self.generators.shape[-1]), 0.0, 0.0]
        for a, p in zip(self.generators, self.angles, strict=True):
            e, p1, p2 = expm(a * p(t)), p.deriv(1)(t), p.deriv(2)(t)
            factor = [e, p1 * a @ e, (p2 * a + p1 * p1 * a @ a) @ e]
            f, g = total, factor
            total = [
                f[0] @ g[0],
                _times(f[1], g[0]) + f[0] @ g[1],
                _times(f[2], g[0]) + 2.0 * _times(f[1], g[1]) + f[0] @ g[2],
            ]
        return total

    def origin(self, t: complex) -> list[np.ndarray]:
        """s and its first two derivatives."""
        return [np.array([p.deriv(k)(t) if k else p(t) for p in self.path]) for k in range(3)]

    def rate(self, t: complex) -> np.ndarray:
        """Rdot R^T, with the plain transpose so that it stays analytic."""
        r, r1, _ = self.rotation(t)
        return r1 @ r.T


def _times(a, b):
    return a @ b if isinstance(a, np.ndarray) else np.zeros_like(b)


def derivative(function, t: float = TIME) -> np.ndarray:
    """d/dt of an analytic function by a complex step: exact to rounding."""
    return np.imag(function(t + 1j * STEP)) / STEP


@dataclass
class Body:
    """Particles in motion; every array may carry a leading batch axis, and particles are on the last but one."""

    mass: np.ndarray  # (..., k)
    shape: np.ndarray  # (..., k, 3) positions in the body
    r: list[np.ndarray]  # rotation and its derivatives
    s: list[np.ndarray]  # origin o of the body and its derivatives
    w: np.ndarray
    wd: np.ndarray
    inertia_dot: np.ndarray  # d/dt of the inertia tensor about o
    euler_dot: np.ndarray
    momentum_o_dot: np.ndarray  # d/dt of the angular momentum about o, o held fixed
    momentum_c_dot: np.ndarray  # d/dt of the angular momentum about c, o moving

    @property
    def total(self) -> np.ndarray:
        return self.mass.sum(-1)

    def relative(self, order: int) -> np.ndarray:
        """Particles relative to o, and derivatives."""
        return np.einsum("...ij,...kj->...ki", self.r[order], self.shape)

    def absolute(self, order: int) -> np.ndarray:
        return self.s[order][..., None, :] + self.relative(order)

    def mean(self, x: np.ndarray) -> np.ndarray:
        return np.einsum("...k,...ki->...i", self.mass, x) / self.total[..., None]

    def com(self, order: int = 0) -> np.ndarray:
        """Mass centre relative to o, and derivatives of the rotating vector."""
        return self.mean(self.relative(order))

    def moment(self, arm: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Sum of m arm x x over the particles."""
        return np.einsum("...k,...ki->...i", self.mass, np.cross(arm, x))

    def from_com(self) -> np.ndarray:
        return self.relative(0) - self.com()[..., None, :]

    def inertia(self, arm: np.ndarray) -> np.ndarray:
        return inertia_of(self.mass, arm)

    def euler(self, arm: np.ndarray) -> np.ndarray:
        return euler_of(self.mass, arm)


def euler_of(mass: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """Sum of m r (x) r, (4.3.4)."""
    return np.einsum("...k,...ki,...kj->...ij", mass, arm, arm)


def inertia_of(mass: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """Sum of m (r.r 1 - r (x) r), (4.3.3)."""
    return np.einsum("...k,...ki,...ki,ab->...ab", mass, arm, arm, np.eye(3)) - euler_of(mass, arm)


def make_body(seed: int) -> Body:
    rng = np.random.default_rng(1000 + seed)
    motion = Motion(seed)
    mass = rng.uniform(0.2, 1.5, 7)
    shape = rng.uniform(-1.0, 1.0, (7, 3)) + rng.uniform(0.3, 1.0, 3)  # mass centre away from o

    def arms(t):
        return shape @ motion.rotation(t)[0].T

    def momentum_o(t):
        r, r1, _ = motion.rotation(t)
        return (mass[:, None] * np.cross(shape @ r.T, shape @ r1.T)).sum(0)

    def momentum_c(t):
        r, r1, _ = motion.rotation(t)
        x, v = shape @ r.T, shape @ r1.T + motion.origin(t)[1]
        return (mass[:, None] * np.cross(x - mass @ x / mass.sum(), v)).sum(0)

    phi, phi_dot = motion.rate(TIME), derivative(motion.rate)
    return Body(
        mass=mass,
        shape=shape,
        r=motion.rotation(TIME),
        s=motion.origin(TIME),
        w=np.array([phi[2, 1], phi[0, 2], phi[1, 0]]),
        wd=np.array([phi_dot[2, 1], phi_dot[0, 2], phi_dot[1, 0]]),
        inertia_dot=derivative(lambda t: inertia_of(mass, arms(t))),
        euler_dot=derivative(lambda t: euler_of(mass, arms(t))),
        momentum_o_dot=derivative(momentum_o),
        momentum_c_dot=derivative(momentum_c),
    )


def stacked(bodies: list[Body]) -> Body:
    """Several bodies as one batch."""
    fields = {}
    for name in Body.__dataclass_fields__:
        values = [getattr(b, name) for b in bodies]
        fields[name] = [np.stack(v) for v in zip(*values, strict=True)] if name in "rs" else np.stack(values)
    return Body(**fields)


@pytest.fixture(scope="module", params=[0, 1, 2, 3, "batch"])
def body(request) -> Body:
    if request.param == "batch":
        return stacked([make_body(seed) for seed in range(10, 18)])
    return make_body(request.param)


# ---- between arrays and types ----------------------------------------------------------------------------------------


def vec(a: np.ndarray) -> Vec3:
    return Vec3(*a.tolist()) if a.ndim == 1 else Vec3(*np.moveaxis(a, -1, 0))


def sym(a: np.ndarray) -> SymMat3:
    m = Mat3.from_array(a)
    return SymMat3(m.x.x, m.y.y, m.z.z, m.x.y, m.x.z, m.y.z)


def rot(a: np.ndarray) -> Rotation:
    return Rotation.from_rows(Mat3.from_array(a))


def num(a: np.ndarray):
    return float(a) if a.ndim == 0 else a


def rates(body: Body) -> tuple[Vec3, Vec3, Mat3]:
    w, wd = vec(body.w), vec(body.wd)
    return w, wd, angular_acceleration_tensor(w, wd)


# ---- 4.2 kinematics --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_theorem_4_1_rate_tensor_in_n_dimensions(n, seed):
    motion = Motion(seed, n)
    q = motion.rotation(TIME)[0]
    q_dot = derivative(lambda t: motion.rotation(t)[0])
    phi = rate_tensor(q, q_dot)
    same(phi, -phi.T)
    same(phi @ q, q_dot)
    different(phi, np.zeros((n, n)))


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_theorem_4_2_second_rate_tensor_in_n_dimensions(n, seed):
    motion = Motion(seed, n)
    q, _, q_ddot = motion.rotation(TIME)
    phi, phi_dot = motion.rate(TIME), derivative(motion.rate)
    same(second_rate_tensor(phi, phi_dot) @ q, q_ddot, 1e-11)
    different(phi_dot @ q, q_ddot)  # the square is needed


def test_rate_tensors_of_a_batch_of_matrices():
    motions = [Motion(seed, 5) for seed in range(4)]
    q, q1, _ = (np.stack(x) for x in zip(*(m.rotation(TIME) for m in motions), strict=True))
    phi = rate_tensor(q, q1)
    for k, motion in enumerate(motions):
        same(phi[k], motion.rate(TIME))
    same(second_rate_tensor(phi, phi)[2], phi[2] + phi[2] @ phi[2])


def test_4_2_5_and_6_angular_velocity_tensor(body):
    r, r1, _ = body.r
    w_tensor = angular_velocity_tensor(rot(r), Mat3.from_array(r1))
    same(w_tensor @ Mat3.from_array(r), r1)
    same(dual(w_tensor), body.w)
    same(w_tensor, -w_tensor.T)


def test_angular_velocity_tensor_is_the_left_one(body):
    r, r1, _ = body.r
    right = Mat3.from_array(np.swapaxes(r, -1, -2) @ r1)
    same(dual(right), rot(r).inverse_times(vec(body.w)))
    different(dual(right), body.w)


def test_4_2_11_to_13_angular_acceleration_tensor(body):
    r, _, r2 = body.r
    w, wd, omega = rates(body)
    same(omega @ Mat3.from_array(r), r2, 1e-11)
    same(angular_acceleration_tensor_from_rotation(rot(r), Mat3.from_array(r2)), omega, 1e-11)
    same(omega, dual(wd) + dual(w) @ dual(w))


def test_4_2_12_is_the_cartesian_decomposition(body):
    w, wd, omega = rates(body)
    same(skew_part(omega), dual(wd))
    same(symmetric_part(omega), dual(w) @ dual(w))


def test_4_2_14_vect_of_omega(body):
    _, wd, omega = rates(body)
    same(vect(omega), wd)


def test_omega_is_built_the_same_way_in_body_axes(body):
    w, wd, omega = rates(body)
    r = rot(body.r[0])
    same(omega.rotated(r.T), angular_acceleration_tensor(r.inverse_times(w), r.inverse_times(wd)))


def test_4_2_19_and_23_velocity_of_every_particle(body):
    w, _, _ = rates(body)
    sdot = vec(body.s[1])
    for k in range(7):
        r = vec(body.relative(0)[..., k, :])
        same(point_velocity_vector(sdot, w, r), body.absolute(1)[..., k, :])
        same(point_velocity_tensor(sdot, dual(w), r), body.absolute(1)[..., k, :])


def test_4_2_20_and_24_acceleration_of_every_particle(body):
    w, wd, omega = rates(body)
    sddot = vec(body.s[2])
    for k in range(7):
        r = vec(body.relative(0)[..., k, :])
        same(point_acceleration_vector(sddot, w, wd, r), body.absolute(2)[..., k, :], 1e-11)
        same(point_acceleration_tensor(sddot, omega, r), body.absolute(2)[..., k, :], 1e-11)


def test_4_2_21_and_22_derivatives_of_vectors_constant_in_the_body(body):
    w, _, omega = rates(body)
    r = vec(body.com())
    same(dual(w) @ r, body.com(1))
    same(omega @ r, body.com(2), 1e-11)


# ---- 4.3.1 mass distribution -----------------------------------------------------------------------------------------


def test_4_3_3_to_5_inertia_tensor_by_skew_tensors(body):
    total = Mat3.zero()
    for k in range(7):
        r = dual(vec(body.relative(0)[..., k, :]))
        total = total - (r @ r) * num(body.mass[..., k])
    same(total, body.inertia(body.relative(0)))


def test_4_3_6_and_7_euler_tensor_and_inertia_tensor(body):
    arm = body.relative(0)
    same(euler_from_inertia(sym(body.inertia(arm))), body.euler(arm))
    same(inertia_from_euler(sym(body.euler(arm))), body.inertia(arm))


def test_4_3_8_and_9_parallel_axes_of_the_inertia_tensor(body):
    inertia_c, com = sym(body.inertia(body.from_com())), vec(body.com())
    inertia_o = body.inertia(body.relative(0))
    same(inertia_about(inertia_c, num(body.total), com), inertia_o)
    same(Mat3.of(inertia_c) - (dual(com) @ dual(com)) * num(body.total), inertia_o)
    different(inertia_c, inertia_o)


def test_4_3_10_parallel_axes_of_the_euler_tensor(body):
    euler_c = sym(body.euler(body.from_com()))
    same(euler_about(euler_c, num(body.total), vec(body.com())), body.euler(body.relative(0)))


def test_4_3_11_trace_under_parallel_axes(body):
    inertia_c, com = sym(body.inertia(body.from_com())), vec(body.com())
    shifted = inertia_about(inertia_c, num(body.total), com)
    same(shifted.trace(), inertia_c.trace() + 2.0 * body.total * com.dot(com))


def test_4_3_12_euler_tensor_at_the_mass_centre(body):
    arm = body.from_com()
    same(euler_from_inertia(sym(body.inertia(arm))), body.euler(arm))


def test_4_3_13_and_14_component_forms(body):
    i, j = sym(body.inertia(body.relative(0))), sym(body.euler(body.relative(0)))
    same(j.xx, (-i.xx + i.yy + i.zz) / 2)
    same(j.yy, (i.xx - i.yy + i.zz) / 2)
    same(j.zz, (i.xx + i.yy - i.zz) / 2)
    from_i, from_j = euler_from_inertia(i), inertia_from_euler(j)
    for name in ("xx", "yy", "zz"):
        same(getattr(from_i, name), getattr(j, name))
        same(getattr(from_j, name), j.trace() - getattr(j, name))
    for name in ("xy", "xz", "yz"):
        same(getattr(from_i, name), -getattr(i, name))
        same(getattr(from_j, name), -getattr(j, name))


def test_sign_of_the_products_of_inertia(body):
    x, y, _ = np.moveaxis(body.relative(0), -1, 0)
    integral = (body.mass * x * y).sum(-1)
    same(sym(body.inertia(body.relative(0))).xy, -integral)
    same(euler_from_inertia(sym(body.inertia(body.relative(0)))).xy, integral)


def test_4_3_15_rotation_to_reference_axes(body):
    r = rot(body.r[0])
    at_rest = body.shape - body.mean(body.shape)[..., None, :]
    same(body_tensor_rotated(sym(body.inertia(at_rest)), r), body.inertia(body.from_com()))
    same(body_tensor_rotated(sym(body.euler(at_rest)), r), body.euler(body.from_com()))


def test_4_3_16_to_19_time_derivatives(body):
    w = vec(body.w)
    i, j = sym(body.inertia(body.relative(0))), sym(body.euler(body.relative(0)))
    same(body_tensor_rate(i, w), body.inertia_dot)  # 4.3.17
    same(body_tensor_rate(j, w), body.euler_dot)  # 4.3.19
    same(body.inertia_dot, -body.euler_dot)  # 4.3.18
    same(body_tensor_rate(i, w), dual(w) @ i - Mat3.of(i) @ dual(w))
    different(body.inertia_dot, np.zeros((3, 3)))


def test_4_3_16_time_derivative_about_the_mass_centre(body):
    w, com, com_dot = vec(body.w), vec(body.com()), vec(body.com(1))
    m = num(body.total)
    steiner_dot = (dual(com) @ dual(com_dot) + dual(com_dot) @ dual(com)) * -m
    inertia_c_dot = Mat3.from_array(body.inertia_dot) - steiner_dot
    same(body_tensor_rate(sym(body.inertia(body.from_com())), w), inertia_c_dot, 1e-11)


def test_4_3_29_traces(body):
    i = sym(body.inertia(body.relative(0)))
    same(i.trace(), 2.0 * sym(body.euler(body.relative(0))).trace())
    same(euler_from_inertia(i).trace(), 0.5 * i.trace())


def test_5_2_3_pseudo_inertia_of_particles(body):
    arm = body.relative(0)
    rigid = RigidInertia(num(body.total), vec(body.com()) * num(body.total), sym(body.inertia(arm)))
    pseudo = PseudoInertia.from_rigid(rigid)
    homogeneous = np.concatenate([arm, np.ones((*arm.shape[:-1], 1))], axis=-1)
    same(pseudo.array(), np.einsum("...k,...ki,...kj->...ij", body.mass, homogeneous, homogeneous))
    same(pseudo.euler, body.euler(arm))
    back = pseudo.rigid()
    same(back.moment, rigid.moment)
    same(back.first, rigid.first)
    same(back.mass, rigid.mass)


def test_pseudo_inertia_under_a_displacement(body):
    r, s = body.r[0], body.s[0]
    w = np.zeros((*r.shape[:-2], 4, 4))
    w[..., :3, :3], w[..., :3, 3], w[..., 3, 3] = r, s, 1.0
    rigid = RigidInertia.from_com(num(body.total), vec(body.mean(body.shape)),
                                  sym(body.inertia(body.shape - body.mean(body.shape)[..., None, :])))  # fmt: skip
    moved = rigid.rotated(rot(r)).shifted(vec(s))
    pushed = w @ PseudoInertia.from_rigid(rigid).array() @ np.swapaxes(w, -1, -2)
    same(PseudoInertia.from_rigid(moved).array(), pushed)


# ---- 4.3.2 angular momentum ------------------------------------------------------------------------------------------


def test_4_3_20_general_angular_momentum(body):
    inertia_o = sym(body.inertia(body.relative(0)))
    truth = body.moment(body.absolute(0), body.absolute(1))
    args = num(body.total), inertia_o, vec(body.w), vec(body.s[0]), vec(body.s[1]), vec(body.com())
    same(angular_momentum_general(*args), truth)


def test_4_3_21_angular_momentum_with_o_at_rest(body):
    """sdot = 0, s not: the velocities are those of the rotation alone."""
    w, s, com, m = vec(body.w), vec(body.s[0]), vec(body.com()), num(body.total)
    inertia_o = sym(body.inertia(body.relative(0)))
    truth = body.moment(body.absolute(0), body.relative(1))
    same(angular_momentum_general(m, inertia_o, w, s, Vec3.zero(), com), truth)
    same(s.cross(w.cross(com)) * m + inertia_o @ w, truth)


def test_4_3_22_and_26_vector_forms_about_a_fixed_point(body):
    arm, w = body.relative(0), vec(body.w)
    truth = body.moment(arm, body.relative(1))
    same(angular_momentum_vector_inertia(sym(body.inertia(arm)), w), truth)
    same(angular_momentum_vector_euler(sym(body.euler(arm)), w), truth)


def test_4_3_23_and_26_vector_forms_about_the_mass_centre(body):
    arm, w = body.from_com(), vec(body.w)
    truth = body.moment(arm, body.absolute(1))  # the origin moves, and it does not matter
    same(angular_momentum_vector_inertia(sym(body.inertia(arm)), w), truth)
    same(angular_momentum_vector_euler(sym(body.euler(arm)), w), truth)


def test_4_3_24_and_25_transfer_from_the_mass_centre(body):
    w, com, com_dot = vec(body.w), vec(body.com()), vec(body.com(1))
    at_c = angular_momentum_vector_inertia(sym(body.inertia(body.from_com())), w)
    truth = body.moment(body.relative(0), body.relative(1))
    same(angular_momentum_transfer(at_c, num(body.total), com, com_dot), truth)
    same(at_c + (dual(com) @ com_dot) * num(body.total), truth)


@pytest.mark.parametrize("about", ["o", "c"])
def test_4_3_27_to_32_tensor_forms(body, about):
    arm = body.relative(0) if about == "o" else body.from_com()
    velocity = body.relative(1) if about == "o" else body.absolute(1)
    i, j, w = sym(body.inertia(arm)), sym(body.euler(arm)), vec(body.w)
    truth = dual(vec(body.moment(arm, velocity)))
    same(angular_momentum_tensor_inertia(i, w), truth)  # 4.3.28, 4.3.31
    same(angular_momentum_tensor_euler(j, w), truth)  # 4.3.30, 4.3.32
    same(Mat3.of(j) @ dual(w) + dual(w) @ j, truth)


# ---- 4.3.3 torque ----------------------------------------------------------------------------------------------------


def all_torques(inertia: SymMat3, euler: SymMat3, w: Vec3, wd: Vec3, omega: Mat3) -> dict[str, Vec3]:
    return {
        "vector, inertia": torque_vector_inertia(inertia, w, wd),
        "vector, Euler": torque_vector_euler(euler, w, wd),
        "tensor, inertia": dual(torque_tensor_inertia(inertia, omega)),
        "tensor, Euler": dual(torque_tensor_euler(euler, omega)),
        "tensor, Euler, symmetric": torque_from_euler(euler, omega),
        "tensor, Euler, general": torque_from_euler(Mat3.of(euler), omega),
    }


def test_4_3_2_and_39_and_43_and_44_torque_about_the_mass_centre_of_a_moving_body(body):
    arm = body.from_com()
    truth = body.moment(arm, body.absolute(2))
    for torque in all_torques(sym(body.inertia(arm)), sym(body.euler(arm)), *rates(body)).values():
        same(torque, truth, 1e-11)


def test_4_3_35_and_38_and_41_and_42_torque_about_a_fixed_point(body):
    arm = body.relative(0)
    truth = body.moment(arm, body.relative(2))  # o at rest: the particles have the rotational acceleration only
    for torque in all_torques(sym(body.inertia(arm)), sym(body.euler(arm)), *rates(body)).values():
        same(torque, truth, 1e-11)


def test_4_3_33_and_34_torque_is_the_rate_of_angular_momentum(body):
    w, wd, _ = rates(body)
    same(torque_vector_inertia(sym(body.inertia(body.relative(0))), w, wd), body.momentum_o_dot, 1e-11)
    same(torque_vector_inertia(sym(body.inertia(body.from_com())), w, wd), body.momentum_c_dot, 1e-11)


def test_4_3_36_transfer_of_torque(body):
    w, wd, omega = rates(body)
    com, m = vec(body.com()), num(body.total)
    at_c = torque_vector_inertia(sym(body.inertia(body.from_com())), w, wd)
    at_o = torque_vector_inertia(sym(body.inertia(body.relative(0))), w, wd)
    same(torque_transfer(at_c, com, (omega @ com) * m), at_o)
    # with the whole force of a body in any motion, the moment about the moving o
    force = vec(body.mean(body.absolute(2))) * m
    same(torque_transfer(at_c, com, force), body.moment(body.relative(0), body.absolute(2)), 1e-11)


def test_4_3_37_transfer_written_out(body):
    w, wd, _ = rates(body)
    r, m = dual(vec(body.com())), num(body.total)
    at_c = torque_vector_inertia(sym(body.inertia(body.from_com())), w, wd)
    at_o = torque_vector_inertia(sym(body.inertia(body.relative(0))), w, wd)
    same(at_c - (r @ r @ wd + r @ dual(w) @ r @ w) * m, at_o)
    same(at_c - (r @ r @ wd + dual(w) @ r @ r @ w) * m, at_o)


def test_4_3_40_torque_tensors_are_skew(body):
    arm = body.from_com()
    _, _, omega = rates(body)
    for tensor in (
        torque_tensor_inertia(sym(body.inertia(arm)), omega),
        torque_tensor_euler(sym(body.euler(arm)), omega),
    ):
        same(tensor, -tensor.T)


def test_4_3_42_fails_about_a_moving_point_and_the_guard_mends_it(body):
    arm = body.relative(0)
    truth = body.moment(arm, body.absolute(2))
    com, m, sddot = vec(body.com()), num(body.total), vec(body.s[2])
    w, wd, omega = rates(body)
    i, j = sym(body.inertia(arm)), sym(body.euler(arm))
    for torque in all_torques(i, j, w, wd, omega).values():
        different(torque, truth)
        same(torque_about_moving_point(torque, m, com, sddot), truth, 1e-11)
    for tensor in (torque_tensor_inertia(i, omega), torque_tensor_euler(j, omega)):
        same(torque_tensor_about_moving_point(tensor, m, com, sddot), dual(vec(truth)), 1e-11)


def test_torque_is_covariant_under_change_of_axes(body):
    """Omega and J both in body axes give the torque in body axes."""
    w, wd, omega = rates(body)
    r, j = rot(body.r[0]), sym(body.euler(body.from_com()))
    in_body = torque_from_euler(body_tensor_rotated(j, r.T), omega.rotated(r.T))
    same(r @ in_body, torque_vector_euler(j, w, wd))


def test_newton_euler_in_both_forms_matches_the_particles(body):
    arm = body.from_com()
    force = np.einsum("...k,...ki->...i", body.mass, body.absolute(2))
    torque = body.moment(arm, body.absolute(2))
    w, wd, omega = rates(body)
    m, com, sddot = num(body.total), vec(body.com()), vec(body.s[2])
    i, j = sym(body.inertia(arm)), sym(body.euler(arm))
    for f, n in (
        newton_euler_vector(m, i, w, wd, sddot, com),
        newton_euler_tensor(m, j, omega, sddot, com),
        newton_euler_tensor(m, Mat3.of(j), omega, sddot, com),
    ):
        same(f, force, 1e-11)
        same(n, torque, 1e-11)


# ---- for all bodies at once, by symbols ------------------------------------------------------------------------------


@pytest.mark.parametrize("full", [False, True])
def test_4_3_44_equals_4_3_2_symbolically(full):
    w, wd = (Vec3(*sympy.symbols(f"{name}1:4", real=True)) for name in ("w", "a"))
    inertia = SymMat3(*sympy.symbols("Ixx Iyy Izz Ixy Ixz Iyz", real=True))
    euler = euler_from_inertia(inertia)
    torque = torque_from_euler(Mat3.of(euler) if full else euler, angular_acceleration_tensor(w, wd))
    for difference in torque - torque_vector_inertia(inertia, w, wd):
        assert sympy.expand(sympy.nsimplify(difference)) == 0


def test_4_3_41_equals_4_3_42_symbolically():
    w, wd = (Vec3(*sympy.symbols(f"{name}1:4", real=True)) for name in ("w", "a"))
    inertia = SymMat3(*sympy.symbols("Ixx Iyy Izz Ixy Ixz Iyz", real=True))
    omega = angular_acceleration_tensor(w, wd)
    difference = torque_tensor_inertia(inertia, omega) - torque_tensor_euler(euler_from_inertia(inertia), omega)
    assert all(sympy.expand(sympy.nsimplify(entry)) == 0 for row in difference for entry in row)
