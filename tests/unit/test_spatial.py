"""The spatial types against dense matrices written from the definitions, and conversions of rotations both ways."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numeric import (
    Draw,
    articulated_matrix,
    close,
    crf,
    crm,
    expm,
    flat,
    force_matrix,
    homogeneous,
    motion_matrix,
    rigid_matrix,
    rotation_matrix,
    skew,
    symmetric_matrix,
)
from recursa.spatial import (
    ArticulatedInertia,
    Force,
    Mat3,
    Mat4,
    Motion,
    Quaternion,
    RigidInertia,
    Rotation,
    Screw,
    ScrewChain,
    SymMat3,
    Transform,
    Vec3,
    dh_transform,
    log_of,
)
from recursa.spatial.rotation import rotation_about

# ---- strategies: directions everywhere, angles everywhere and close to where formulas break --------------------------

SEEDS = st.integers(0, 2**32 - 1)
NEAR = st.sampled_from([0.0, 1e-200, 1e-20, 1e-16, 1e-12, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2])
ANGLES = st.one_of(st.floats(0.0, math.pi), NEAR, NEAR.map(lambda x: math.pi - x))
PITCHES = st.one_of(st.floats(-1.5, 1.5), NEAR.map(lambda x: math.pi / 2 - x), NEAR.map(lambda x: x - math.pi / 2))
TURNS = st.floats(-math.pi, math.pi)


def cardinal_or_random(seed: int) -> Vec3:
    """A unit vector; one in four is along or against a coordinate axis."""
    draw = Draw(seed)
    if draw.rng.integers(4):
        return draw.unit()
    return Vec3.of(np.eye(3)[draw.rng.integers(3)] * draw.rng.choice([-1.0, 1.0]))


DIRECTIONS = SEEDS.map(cardinal_or_random)


def orthogonal_and_right_handed(rotation: Rotation) -> None:
    matrix = rotation_matrix(rotation)
    close(matrix @ matrix.T, np.eye(3), 4e-15, "R R^T")
    assert np.linalg.det(matrix) > 0.0


# ---- rotations -------------------------------------------------------------------------------------------------------


@given(DIRECTIONS, ANGLES)
def test_exp_matches_matrix_exponential(axis, angle):
    close(rotation_matrix(Rotation.exp(axis * angle)), expm(skew(axis * angle)), 1e-14)


@given(DIRECTIONS, st.floats(-20.0, 20.0))
def test_axis_angle_matches_matrix_exponential(axis, angle):
    rotation = Rotation.from_axis_angle(axis, angle)
    close(rotation_matrix(rotation), expm(skew(axis * angle)), 1e-13)
    assert rotation == Rotation.from_axis_cos_sin(axis, float(np.cos(angle)), float(np.sin(angle)))


@given(DIRECTIONS, ANGLES)
def test_quaternion_exp_matches_matrix_exponential(axis, angle):
    q = Quaternion.exp(axis * angle)
    assert abs(q.norm_squared() - 1.0) < 2e-15
    close(rotation_matrix(Rotation.from_quaternion(q)), expm(skew(axis * angle)), 1e-14)


@given(DIRECTIONS, ANGLES)
def test_log_is_inverse_of_exp(axis, angle):
    """To rounding relative to the vector itself, however small; at half a turn both signs are right."""
    w = axis * angle
    for found in (Rotation.exp(w).log(), Quaternion.exp(w).log()):
        error = min(np.abs(flat(found) - flat(w)).max(), np.abs(flat(found) + flat(w)).max() + abs(angle - math.pi))
        assert error <= 4e-15 * angle + 1e-300


@given(DIRECTIONS, ANGLES)
def test_exp_is_inverse_of_log(axis, angle):
    rotation = Rotation.from_axis_angle(axis, angle)
    w = rotation.log()
    assert w.norm() <= math.pi * (1 + 1e-15)
    close(flat(Rotation.exp(w)), flat(rotation), 4e-15)


@pytest.mark.parametrize("axis", range(3))
def test_exact_half_turns_have_a_logarithm(axis):
    """The quaternion's w is exactly zero there."""
    q = Quaternion(*(1.0 if i == axis else 0.0 for i in range(4)))
    expected = math.pi * np.eye(3)[axis]
    assert np.array_equal(flat(q.log()), expected)
    assert np.array_equal(flat(Rotation.from_quaternion(q).log()), expected)


@given(SEEDS)
def test_log_takes_the_short_way_round(seed):
    q = Draw(seed).quaternion()
    w = q.log()
    assert w.norm() <= math.pi
    close(flat(w), flat(q.scaled(-1.0).log()), 1e-15)
    close(flat(Rotation.exp(w)), flat(Rotation.from_quaternion(q)), 4e-15)


@given(DIRECTIONS, ANGLES)
def test_rotations_leave_their_axis_where_it_is(axis, angle):
    """Euler's theorem, Theorem 2.1 of Balafoutis & Patel."""
    rotation = Rotation.from_axis_angle(axis, angle)
    w = rotation.log()
    close(flat(rotation @ w), flat(w), 1e-14)


@given(DIRECTIONS, ANGLES)
def test_quaternion_of_rotation_round_trips(axis, angle):
    rotation = Rotation.from_axis_angle(axis, angle)
    q = rotation.quaternion()
    assert q.w >= 0.0
    assert abs(q.norm_squared() - 1.0) < 1e-15
    close(flat(Rotation.from_quaternion(q)), flat(rotation), 4e-15)
    expected = np.array([*(math.sin(angle / 2) * flat(axis)), math.cos(angle / 2)])
    assert min(np.abs(flat(q) - expected).max(), np.abs(flat(q) + expected).max()) < 2e-15


@given(SEEDS, st.floats(0.1, 10.0))
def test_quaternion_of_any_length_is_the_rotation_of_its_direction(seed, length):
    q = Draw(seed).quaternion()
    close(flat(Rotation.from_quaternion(q.scaled(length))), flat(Rotation.from_quaternion(q)), 2e-15)
    close(flat(q.scaled(length).normalized()), flat(q), 1e-15)
    orthogonal_and_right_handed(Rotation.from_quaternion(q.scaled(length)))


@given(SEEDS)
def test_quaternion_product_matches_matrix_product(seed):
    draw = Draw(seed)
    p, q = draw.quaternion(), draw.quaternion()
    left, right = Rotation.from_quaternion(p), Rotation.from_quaternion(q)
    close(rotation_matrix(Rotation.from_quaternion(p @ q)), rotation_matrix(left) @ rotation_matrix(right), 3e-15)
    close(rotation_matrix(left @ right), rotation_matrix(left) @ rotation_matrix(right), 1e-15)
    close(flat(Rotation.from_quaternion(p.conjugate())), flat(left.T), 2e-15)
    assert p @ Quaternion.identity() == p


@given(TURNS, PITCHES, TURNS)
def test_rpy_matches_product_of_elementary_rotations(roll, pitch, yaw):
    about_x, about_y, about_z = (expm(skew(np.eye(3)[k]) * t) for k, t in enumerate((roll, pitch, yaw)))
    close(rotation_matrix(Rotation.from_rpy(roll, pitch, yaw)), about_z @ about_y @ about_x, 1e-14)


@given(TURNS, PITCHES, TURNS)
def test_rpy_of_rotation_round_trips(roll, pitch, yaw):
    """The matrix comes back everywhere, at gimbal lock and close to it too; the angles where they are unique."""
    rotation = Rotation.from_rpy(roll, pitch, yaw)
    angles = rotation.rpy()
    close(flat(Rotation.from_rpy(*angles)), flat(rotation), 3e-15)
    assert abs(angles[1]) <= math.pi / 2
    if abs(pitch) < 1.5:
        turns = np.array(angles) - (roll, pitch, yaw)
        close(np.exp(1j * turns), np.ones(3), 1e-13)


@given(SEEDS)
def test_rotation_acts_as_its_matrix(seed):
    draw = Draw(seed)
    rotation, v, s = draw.rotation(), draw.vec3(), draw.symmetric()
    matrix = rotation_matrix(rotation)
    close(flat(rotation @ v), matrix @ flat(v), 1e-15)
    close(flat(rotation.inverse_times(v)), matrix.T @ flat(v), 1e-15)
    close(rotation_matrix(rotation.T), matrix.T, 0.0)
    close(np.array(rotation.rows()), matrix, 0.0)
    close(np.array(rotation.columns()), matrix.T, 0.0)
    close(symmetric_matrix(rotation.symmetric(s)), matrix @ symmetric_matrix(s) @ matrix.T, 1e-14)
    assert Rotation.from_rows(matrix.tolist()) == rotation


@given(DIRECTIONS)
def test_z_to_takes_z_to_the_axis_by_the_shortest_rotation(axis):
    rotation = Rotation.z_to(axis)
    orthogonal_and_right_handed(rotation)
    assert rotation @ Vec3(0.0, 0.0, 1.0) == pytest.approx(axis, abs=1e-15)
    w = rotation.log()
    assert abs(w.z) < 1e-14  # shortest: about an axis normal to z
    assert w.norm() == pytest.approx(math.acos(max(-1.0, min(1.0, axis.z))), abs=3e-8)


@pytest.mark.parametrize("sideways", [1e-2, 1e-4, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("up", [1.0, -1.0])
def test_z_to_is_a_rotation_close_to_the_poles(sideways, up):
    axis = Vec3(0.6 * sideways, -0.8 * sideways, up * math.sqrt(1.0 - sideways * sideways))
    rotation = Rotation.z_to(axis)
    orthogonal_and_right_handed(rotation)
    close(flat(rotation.columns()[2]), flat(axis), 1e-15)
    assert abs(rotation.log().z) < 1e-14


def test_z_to_minus_z_is_the_half_turn_about_x():
    assert Rotation.z_to(Vec3(0.0, 0.0, -1.0)) == Rotation(1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0)
    assert Rotation.z_to(Vec3(0.0, 0.0, 1.0)) == Rotation.identity()
    assert Rotation.z_to(Vec3(1e-17, 1e-17, -1.0)) == Rotation.z_to(Vec3(0.0, 0.0, -1.0))


def test_snapped_makes_right_angles_exact_and_nothing_else():
    quarter = Rotation.from_rpy(math.pi / 2, 0.0, -math.pi / 2)
    assert any(x not in (0.0, 1.0, -1.0) for x in quarter)
    exact = quarter.snapped()
    assert all(x in (0.0, 1.0, -1.0) for x in exact)
    close(flat(exact), flat(quarter), 1e-15)
    general = Draw(3).rotation()
    assert general.snapped() == general
    near = Rotation(*(x + 1e-13 for x in exact))
    assert near.snapped() == near
    assert near.snapped(tolerance=1e-12) == exact


@pytest.mark.parametrize("index", range(3))
def test_rotation_about_matches_matrix_exponential(index):
    close(rotation_matrix(rotation_about(index, 0.7)), expm(skew(np.eye(3)[index]) * 0.7), 1e-15)
    right = rotation_matrix(rotation_about(index, math.pi / 2))
    assert np.array_equal(right, np.round(expm(skew(np.eye(3)[index]) * math.pi / 2)))


# ---- vectors and 3x3 matrices ----------------------------------------------------------------------------------------


@given(SEEDS)
def test_vec3_matches_numpy(seed):
    draw = Draw(seed)
    u, v, k = draw.vec3(), draw.vec3(), draw.number()
    a, b = flat(u), flat(v)
    close(flat(u.cross(v)), np.cross(a, b), 1e-15)
    close(u.dot(v), a @ b, 1e-15)
    close(u.norm(), np.linalg.norm(a), 1e-15)
    close(flat(u + v), a + b, 0.0)
    close(flat(u - v), a - b, 0.0)
    close(flat(-u), -a, 0.0)
    for scaled in (u * k, k * u, u * np.float64(k), np.float64(k) * u):
        assert isinstance(scaled, Vec3)
        close(flat(scaled), k * a, 0.0)


@given(SEEDS)
def test_symmetric_matrix_matches_numpy(seed):
    draw = Draw(seed)
    s, t, u, v, k = draw.symmetric(), draw.symmetric(), draw.vec3(), draw.vec3(), draw.number()
    a, b = symmetric_matrix(s), symmetric_matrix(t)
    close(flat(s @ u), a @ flat(u), 2e-15)
    close(symmetric_matrix(s + t * k), a + k * b, 1e-15)
    close(symmetric_matrix(k * s - t), k * a - b, 1e-15)
    close(symmetric_matrix(-s), -a, 0.0)
    close(s.trace(), np.trace(a), 1e-15)
    close(symmetric_matrix(s.plus_diagonal(k)), a + k * np.eye(3), 0.0)
    close(symmetric_matrix(SymMat3.dyad(u, k)), k * np.outer(u, u), 1e-15)
    close(symmetric_matrix(SymMat3.dyad_pair(u, v)), np.outer(u, v) + np.outer(v, u), 1e-15)
    close(np.array(s.rows()), a, 0.0)
    close(symmetric_matrix(SymMat3.diagonal(*u)), np.diag(u), 0.0)


@given(SEEDS)
def test_mat3_matches_numpy(seed):
    draw = Draw(seed)
    m, n, u, v, r, s = draw.matrix(), draw.matrix(), draw.vec3(), draw.vec3(), draw.rotation(), draw.symmetric()
    a, b, turn = np.array(m), np.array(n), rotation_matrix(r)
    close(flat(m @ u), a @ flat(u), 2e-15)
    close(np.array(m @ n), a @ b, 2e-15)
    close(np.array(m @ s), a @ symmetric_matrix(s), 2e-15)
    close(np.array(m @ r), a @ turn, 2e-15)
    close(np.array(m + n), a + b, 0.0)
    close(np.array(m - n), a - b, 0.0)
    close(np.array(-m), -a, 0.0)
    close(np.array(2.5 * m), 2.5 * a, 0.0)
    close(np.array(m.T), a.T, 0.0)
    close(flat(m.transpose_times(u)), a.T @ flat(u), 2e-15)
    close(m.trace(), np.trace(a), 1e-15)
    close(m.det(), np.linalg.det(a), 2e-14)
    close(np.array(m.plus_diagonal(u.x)), a + u.x * np.eye(3), 0.0)
    close(np.array(m.rotated(r)), turn @ a @ turn.T, 5e-15)
    close(np.array(m.cross_columns(u)), skew(u) @ a, 2e-15)
    close(np.array(Mat3.skew(u)), skew(u), 0.0)
    close(np.array(Mat3.dyad(u, v)), np.outer(u, v), 0.0)
    close(Mat3.of(s).array(), symmetric_matrix(s), 0.0)
    assert Mat3.from_array(a) == m
    assert Mat3.identity() @ u == u


# ---- six-vectors -----------------------------------------------------------------------------------------------------


@given(SEEDS)
def test_cross_products_match_six_by_six_matrices(seed):
    draw = Draw(seed)
    v, m, f = draw.motion(), draw.motion(), draw.force()
    close(flat(v.cross_motion(m)), crm(flat(v)) @ flat(m), 2e-15)
    close(flat(v.cross_force(f)), crf(flat(v)) @ flat(f), 2e-15)
    close(v.cross_motion(m).dot(f), -m.dot(v.cross_force(f)), 2e-14)
    close(m.dot(f), flat(m) @ flat(f), 2e-15)


@given(SEEDS)
def test_six_vectors_are_a_vector_space(seed):
    draw = Draw(seed)
    k = draw.number()
    for a, b in ((draw.motion(), draw.motion()), (draw.force(), draw.force())):
        close(flat(a + k * b), flat(a) + k * flat(b), 1e-15)
        close(flat(a * k - b), flat(a) * k - flat(b), 1e-15)
        assert a + type(a).zero() == a
        assert type(a).of(a.components()) == a
        assert np.array_equal(a.components(), flat(a))
        assert np.array_equal(flat(-a), -flat(a))


# ---- transforms: general, along one axis, along two ------------------------------------------------------------------


def displacements(seed: int) -> list[Transform | Screw | ScrewChain]:
    """One of every structure: general, a screw about each axis, and all nine pairs of screws."""
    draw = Draw(seed)
    singles = [draw.screw(axis) for axis in range(3)]
    pairs = [ScrewChain((draw.screw(i), draw.screw(j))) for i in range(3) for j in range(3)]
    return [draw.transform(), *singles, *pairs]


def dense_pose(x: Transform | Screw | ScrewChain) -> np.ndarray:
    """The 4x4 pose, for screws from their cosine, sine and distance."""
    if isinstance(x, Transform):
        return homogeneous(x)
    if isinstance(x, ScrewChain):
        return dense_pose(x.screws[0]) @ dense_pose(x.screws[1])
    along, pose = np.eye(3)[x.axis], np.eye(4)
    pose[:3, :3] = x.c * np.eye(3) + x.s * skew(along) + (1.0 - x.c) * np.outer(along, along)
    pose[:3, 3] = x.d * along
    return pose


@given(SEEDS)
def test_displacements_match_six_by_six_matrices(seed):
    draw = Draw(seed + 1)
    m, f, inertia = draw.motion(), draw.force(), draw.rigid()
    for x in displacements(seed):
        pose = dense_pose(x)
        motions, forces = motion_matrix(pose), force_matrix(pose)
        close(flat(x.motion(m)), motions @ flat(m), 1e-14, "motion")
        close(flat(x.inverse_motion(m)), np.linalg.solve(motions, flat(m)), 2e-14, "inverse motion")
        close(flat(x.force(f)), forces @ flat(f), 1e-14, "force")
        close(flat(x.inverse_force(f)), np.linalg.solve(forces, flat(f)), 2e-14, "inverse force")
        close(rigid_matrix(x.inertia(inertia)), forces @ rigid_matrix(inertia) @ forces.T, 2e-14, "inertia")


@given(SEEDS)
def test_screws_match_general_transforms(seed):
    for x in displacements(seed)[1:]:
        close(homogeneous(x.general()), dense_pose(x), 2e-15)
    angle, d = Draw(seed).numbers(2)
    for axis in range(3):
        along = np.eye(3)[axis]
        twist = np.block([[skew(along) * angle, d * along[:, None]], [np.zeros((1, 4))]])
        close(homogeneous(Screw.turning(axis, angle, d).general()), expm(twist), 1e-14)


@given(SEEDS)
def test_power_is_the_same_in_every_frame(seed):
    draw = Draw(seed + 1)
    m, f = draw.motion(), draw.force()
    for x in displacements(seed):
        close(x.motion(m).dot(x.force(f)), m.dot(f), 5e-14)
        close(x.inverse_motion(m).dot(x.inverse_force(f)), m.dot(f), 5e-14)
        close(x.inverse_motion(m).dot(f), m.dot(x.force(f)), 5e-14)  # phi* is the transpose of phi


@given(SEEDS)
def test_chains_of_screws_act_as_general_transforms(seed):
    draw = Draw(seed)
    chain = ScrewChain(tuple(draw.screw(axis) for axis in (2, 0, 1, 2)))
    p, v, t = draw.articulated(), draw.vec3(), draw.symmetric()
    for x in (*chain.screws, chain):
        pose = x.general()
        forces = force_matrix(homogeneous(pose))
        close(articulated_matrix(x.articulated(p)), forces @ articulated_matrix(p) @ forces.T, 2e-13)
        close(flat(x.rotate(v)), flat(pose.rotation @ v))
        close(flat(x.symmetric(t)), flat(pose.rotation.symmetric(t)))
        matrix = draw.matrix()
        close(flat(x.tensor(matrix)), flat(matrix.rotated(pose.rotation)))
        close(flat(x.inverse_rotate(v)), flat(pose.rotation.inverse_times(v)))
        close(homogeneous(x.inverse.general()), np.linalg.inv(homogeneous(pose)), 1e-12)
    close(flat(chain.origin()), flat(chain.general().translation))
    close(flat(chain.screws[1].point(v)), flat(chain.screws[1].general() @ v))


@given(SEEDS)
def test_solving_with_an_articulated_inertia_matches_six_by_six_matrices(seed):
    draw = Draw(seed)
    root = draw.rng.normal(size=(6, 6))
    a = root @ root.T + 0.1 * np.eye(6)
    rows = a.tolist()
    top, side, bottom = a[:3, :3], [Vec3(*row[3:]) for row in rows[:3]], a[3:, 3:]
    half = [SymMat3(*(m[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))) for m in (top, bottom)]
    p, f = ArticulatedInertia(half[0], Mat3(*side), half[1]), draw.force()
    close(articulated_matrix(p), a)
    close(flat(p.solve(f)), np.linalg.solve(a, flat(f)), 1e-15 * np.linalg.cond(a) * 10)


@given(SEEDS)
def test_four_by_four_matrices_match_dense_ones(seed):
    a, b = (Mat4.from_rows([Draw(seed + k).numbers(4) for k in range(i, i + 4)]) for i in (0, 4))
    dense_a, dense_b = np.array(a), np.array(b)
    close(np.array(a @ b), dense_a @ dense_b, 1e-14)
    close(np.array(a @ b.x), dense_a @ dense_b[0], 1e-14)
    close(np.array(a + b * 2.0), dense_a + 2.0 * dense_b, 1e-15)
    close(np.array(a.T), dense_a.T, 0.0)
    close(a.inner(b), np.trace(dense_a @ dense_b.T), 1e-14)
    assert a @ Mat4.identity() == a
    assert a + Mat4.zero() == a


@given(SEEDS)
def test_articulated_inertia_matches_six_by_six_matrices(seed):
    draw = Draw(seed)
    p, x, m, other = draw.articulated(), draw.transform(), draw.motion(), draw.articulated()
    dense, forces = articulated_matrix(p), force_matrix(homogeneous(x))
    close(flat(p @ m), dense @ flat(m), 3e-15)
    close(articulated_matrix(p + other), dense + articulated_matrix(other), 0.0)
    close(articulated_matrix(p * 1.7), dense * 1.7, 0.0)
    turning = crf(flat(m))
    close(articulated_matrix(p.carried_along(m)), turning @ dense + dense @ turning.T)
    f, g = draw.force(), draw.force()
    pair = np.outer(flat(f), flat(g))
    close(articulated_matrix(p.minus_pair(f, g)), dense - pair - pair.T)
    close(articulated_matrix(x.articulated(p)), forces @ dense @ forces.T, 2e-14)
    u, weight = draw.force(), draw.number()
    close(articulated_matrix(p.minus_dyad(u, u * weight)), dense - weight * np.outer(flat(u), flat(u)), 3e-15)


@given(SEEDS)
def test_rigid_inertia_matches_six_by_six_matrices(seed):
    draw = Draw(seed)
    i, m, other = draw.rigid(), draw.motion(), draw.rigid()
    close(flat(i @ m), rigid_matrix(i) @ flat(m), 3e-15)
    close(rigid_matrix(i + other), rigid_matrix(i) + rigid_matrix(other), 0.0)
    close(articulated_matrix(ArticulatedInertia.from_rigid(i)), rigid_matrix(i), 0.0)
    assert i.components()[:4] == (i.mass, *i.first)
    lower = symmetric_matrix(i.moment)[np.tril_indices(3)]  # xx, yx, yy, zx, zy, zz
    assert np.array_equal(i.components()[4:], lower)


@given(SEEDS)
def test_inertia_about_the_origin_matches_mass_points(seed):
    """A cloud of mass points, summed one by one about the origin and about the centre of mass."""
    rng = np.random.default_rng(seed)
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.1, 1.0, 6)
    mass, com = masses.sum(), masses @ points / masses.sum()

    def moment_about(centre: np.ndarray) -> np.ndarray:
        return sum(m * skew(r - centre) @ skew(r - centre).T for m, r in zip(masses, points, strict=True))

    about_com, about_origin = moment_about(com), moment_about(np.zeros(3))
    xx, yy, zz, xy, xz, yz = (about_com[i] for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    body = RigidInertia.from_com(float(mass), Vec3.of(com), SymMat3(*map(float, (xx, yy, zz, xy, xz, yz))))
    close(flat(body.first), mass * com, 1e-14)
    close(symmetric_matrix(body.moment), about_origin, 1e-13)
    close(flat(body.com()), com, 1e-14)
    close(symmetric_matrix(body.moment_about_com()), about_com, 1e-13)
    shift = Draw(seed).vec3()
    moved = body.shifted(shift)
    close(flat(moved.com()), com + flat(shift), 1e-13)
    close(symmetric_matrix(moved.moment), moment_about(-flat(shift)), 1e-13)


def test_massless_inertia_about_com_is_its_moment():
    rotor = RigidInertia(0.0, Vec3.zero(), SymMat3(1.0, 2.0, 3.0, 0.1, 0.2, 0.3))
    assert rotor.moment_about_com() == rotor.moment


# ---- exp, log, composition of displacements --------------------------------------------------------------------------


@given(DIRECTIONS, st.one_of(ANGLES, st.floats(3.0, 6.2)), SEEDS)
def test_transform_exp_matches_matrix_exponential(axis, angle, seed):
    w, v = axis * angle, Draw(seed).vec3()
    twist = np.block([[skew(w), np.array(v)[:, None]], [np.zeros((1, 4))]])
    close(homogeneous(Transform.exp(Motion(w, v))), expm(twist), 2e-14)


@given(DIRECTIONS, ANGLES, SEEDS)
def test_transform_exp_is_inverse_of_log(axis, angle, seed):
    x = Transform(Rotation.from_axis_angle(axis, angle), Draw(seed).vec3())
    close(homogeneous(Transform.exp(x.log())), homogeneous(x), 2e-14)
    assert x.log() == log_of(x.rotation.log(), x.translation)


@given(DIRECTIONS, st.one_of(st.floats(0.0, 3.1), NEAR), SEEDS)
def test_transform_log_is_inverse_of_exp(axis, angle, seed):
    m = Motion(axis * angle, Draw(seed).vec3())
    close(flat(Transform.exp(m).log()), flat(m), 1e-13)


@given(SEEDS)
def test_transforms_compose_as_matrices(seed):
    draw = Draw(seed)
    x, y, p = draw.transform(), draw.transform(), draw.vec3()
    a, b = homogeneous(x), homogeneous(y)
    close(homogeneous(x @ y), a @ b, 2e-15)
    close(homogeneous(x.inverse), np.linalg.inv(a), 1e-14)
    close(flat(x @ p), (a @ [*p, 1.0])[:3], 2e-15)
    close(flat(x.inverse_point(p)), np.linalg.solve(a, [*p, 1.0])[:3], 2e-14)
    assert np.array_equal(np.array(x.rows()), a)
    assert Transform.from_matrix(a.tolist()) == x
    assert x @ Transform.identity() == x


@given(SEEDS)
def test_dh_steps_match_their_definition(seed):
    a, alpha, d, theta = Draw(seed).numbers(4)
    about_x = np.block([[expm(skew([1, 0, 0]) * alpha), np.array([[a], [0], [0]])], [0, 0, 0, 1]])
    about_z = np.block([[expm(skew([0, 0, 1]) * theta), np.array([[0], [0], [d]])], [0, 0, 0, 1]])
    close(homogeneous(dh_transform("modified", a, alpha, d, theta)), about_x @ about_z, 1e-14)
    close(homogeneous(dh_transform("standard", a, alpha, d, theta)), about_z @ about_x, 1e-14)


def test_origin_of_urdf_has_exact_right_angles():
    x = Transform.from_xyz_rpy((1, 2, 3), (math.pi / 2, 0, math.pi / 2))
    assert np.array_equal(rotation_matrix(x.rotation), [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    assert x.translation == Vec3(1.0, 2.0, 3.0)
    y = Transform.from_xyz_rpy((1, 2, 3), (0.1, -0.2, 0.3))
    assert y.rotation == Rotation.from_rpy(0.1, -0.2, 0.3)


def test_zeros_are_zero():
    draw = Draw(1)
    m, x = draw.motion(), draw.transform()
    assert np.array_equal(flat(RigidInertia.zero() @ m), np.zeros(6))
    assert np.array_equal(flat(ArticulatedInertia.zero() @ m), np.zeros(6))
    assert np.array_equal(flat(x.force(Force.zero())), np.zeros(6))
    assert np.array_equal(flat(SymMat3.zero() @ m.angular), np.zeros(3))
    assert np.array_equal(flat(Mat3.zero() @ m.angular), np.zeros(3))
