"""Christoffel symbols and curvature of the mass matrix: known answers, symmetries, and what a sample shows."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close, complex_step
from questions import interpreted
from recursa.diagonal.diagonal_coriolis import structure_of
from recursa.model.joints import KINDS
from zoo import flyer

POINT = (0.0, 0.0, 0.0)
MASSLESS = (0.0, POINT, POINT)


def arm(name: str, *joints, gravity=(0.0, 0.0, 0.0)) -> rc.Robot:
    """A chain of (kind, axis, offset, mass, com, inertia)."""
    b = rc.Builder(name)
    parent = "world"
    for k, (kind, axis, xyz, mass, com, inertia) in enumerate(joints):
        b.link(f"l{k}", mass=mass, com=com, inertia=inertia)
        along = {} if axis is None else {"axis": axis}
        b.joint(f"j{k}", kind, parent=parent, child=f"l{k}", xyz=xyz, **along)
        parent = f"l{k}"
    return b.build(strict=False).with_gravity(gravity)


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)


def sliding_on_an_arm(inertia: float) -> rc.Robot:
    """A point mass of 1.7 kg on a turning arm, with J about the pivot: M = diag(J + m r^2, m)."""
    return arm(
        "RP", ("revolute", Z, POINT, 0.0, POINT, (0, 0, inertia)), ("prismatic", X, (0.9, 0, 0), 1.7, POINT, POINT)
    )


def planar_arm(offset: float = 0.75) -> rc.Robot:
    """M = [[a + 2b cos, d + b cos], [., d]] with a = 2.295, b = offset, d = 0.405 at b = 0.75."""
    reach = 0.5 * offset / 0.75
    return arm(
        "2R",
        ("revolute", Z, POINT, 1.0, (0.5, 0, 0), (0, 0, 0.14)),
        ("revolute", Z, (1.0, 0, 0), 1.5, (reach, 0, 0), (0, 0, 0.405 - 1.5 * reach**2)),
    )


def gantry() -> rc.Robot:
    solid = ((0.1, 0.2, 0.3), 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    return arm("PPP", *(("prismatic", axis, *solid) for axis in (X, Y, Z)))


def point_in_space() -> rc.Robot:
    """Yaw, pitch, slide: spherical coordinates."""
    return arm(
        "RRP",
        ("revolute", Z, POINT, *MASSLESS),
        ("revolute", Y, POINT, *MASSLESS),
        ("prismatic", X, (2.0, 0, 0), 1.3, POINT, POINT),
    )


def gimbal() -> rc.Robot:
    """Concurrent z, y, x axes, massless rings and an isotropic body."""
    body = ("revolute", X, POINT, 2.0, POINT, (0.3, 0.3, 0.3))
    return arm("gimbal", ("revolute", Z, POINT, *MASSLESS), ("revolute", Y, POINT, *MASSLESS), body)


FLAT = {
    "one freedom": lambda: rc.robots.planar(1),
    "gantry": gantry,
    "balanced 2R": lambda: planar_arm(0.0),
    "point on an arm": lambda: sliding_on_an_arm(0.0),
    "point in space": point_in_space,
}
CURVED = {
    "2R": planar_arm,
    "arm with inertia": lambda: sliding_on_an_arm(0.4),
    "gimbal": gimbal,
    "puma560": rc.robots.puma560,
    "mixed": lambda: rc.robots.chain(4, seed=5, joints="mixed"),
}


def curvature_of_surface(robot: rc.Robot, q) -> float:
    return float(robot.diagonal.curvature(q)[0, 1, 0, 1] / np.linalg.det(robot.mass_matrix(q)))


@pytest.mark.parametrize("q2", [0.7, 2.0, -1.1])
def test_planar_arm_has_the_known_curvature(q2):
    robot, a, b, d = planar_arm(), 2.295, 0.75, 0.405
    c = np.cos(q2)
    close(robot.mass_matrix([0.2, q2]), [[a + 2 * b * c, d + b * c], [d + b * c, d]], 1e-14)
    expected = b * c * (a * d - d * d - b * b) / (a * d - d * d - b * b * c * c) ** 2
    assert np.isclose(curvature_of_surface(robot, [0.2, q2]), expected, rtol=1e-11)


def test_planar_arm_has_the_known_numbers():
    robot = planar_arm()
    close(robot.diagonal.curvature([0.2, 0.7])[0, 1, 0, 1], 0.266772252124, 2e-12)
    close(curvature_of_surface(robot, [0.2, 0.7]), 0.611306701046, 2e-12)
    close(curvature_of_surface(robot, [0.2, 2.0]), -0.141936971213, 2e-12)
    close(curvature_of_surface(robot, [0.2, np.pi / 2]), 0.0, 1e-14)  # so one configuration proves nothing


def test_arm_with_inertia_has_the_known_curvature():
    robot, q = sliding_on_an_arm(0.4), np.array([0.3, 0.2])
    assert np.isclose(curvature_of_surface(robot, q), -0.4 / (0.4 + 1.7 * 1.1**2) ** 2, rtol=1e-11)


def test_gimbal_has_constant_curvature():
    """R_hijk = (M_hj M_ik - M_hk M_ij)/(4J)."""
    robot = gimbal()
    q = np.array([0.4, 0.8, -0.3])
    mass = robot.mass_matrix(q)
    expected = (np.einsum("hj,ik->hijk", mass, mass) - np.einsum("hk,ij->hijk", mass, mass)) / (4 * 0.3)
    close(robot.diagonal.curvature(q), expected, 1e-12)


@pytest.mark.parametrize("name", FLAT)
def test_flat_arms_have_no_curvature(name):
    robot = FLAT[name]()
    found = robot.diagonal.is_flat(samples=8)
    assert found and found.flat
    assert found.samples == 8
    assert found.largest < 1e-9
    assert "cannot prove" in str(found)


@pytest.mark.parametrize("name", CURVED)
def test_curved_arms_are_found(name):
    robot = CURVED[name]()
    found = robot.diagonal.is_flat(samples=6, seed=3)
    assert not found
    assert found.relative > 1e-3
    assert "No coordinates" in found.verdict
    assert np.abs(robot.diagonal.curvature(found.at)).max() > 0.0
    if robot.nv == 2:  # the Gaussian curvature there
        assert np.isclose(found.largest, abs(curvature_of_surface(robot, found.at)), rtol=1e-9)


def test_flat_metric_still_has_a_coriolis_term():
    """The innovations factor is not the one that decouples: a point mass in polar coordinates."""
    robot = sliding_on_an_arm(0.0)
    assert np.abs(robot.diagonal.coriolis([0.3, 0.2], [1.0, 1.0])).max() > 0.1


@pytest.mark.parametrize("name", ["puma560", "mixed"])
def test_curvature_has_its_symmetries_and_matches_the_other_formula(name):
    robot = CURVED[name]()
    q, _ = robot.random_state(2)
    r = robot.diagonal.curvature(q)
    close(r, -r.swapaxes(0, 1), 1e-13)
    close(r, -r.swapaxes(2, 3), 1e-13)
    close(r, np.einsum("jkhi->hijk", r), 1e-13)
    close(r + np.einsum("hjki->hijk", r) + np.einsum("hkij->hijk", r), np.zeros_like(r), 1e-13)

    # M_hl (d_j G^l_ik - d_k G^l_ij + G^l_jm G^m_ik - G^l_km G^m_ij), complex steps on symbols of the second kind
    def second_kind(q):
        first = robot.diagonal.christoffel(q)
        return np.einsum("ijl,kl->kij", first, np.linalg.inv(robot.mass_matrix(q)))

    symbols = second_kind(q)
    close(robot.diagonal.christoffel(q, kind=2), np.einsum("kij->ijk", symbols), 1e-11)
    rates = np.stack([complex_step(lambda t, e=e: second_kind(q + t * e)) for e in np.eye(robot.nv)])  # (j, l, i, k)
    mixed = (
        np.einsum("jlik->lijk", rates)
        - np.einsum("klij->lijk", rates)
        + np.einsum("ljm,mik->lijk", symbols, symbols)
        - np.einsum("lkm,mij->lijk", symbols, symbols)
    )
    close(np.einsum("hl,lijk->hijk", robot.mass_matrix(q), mixed), r, 1e-10)


def test_christoffel_symbols_match_the_coriolis_matrix():
    robot = rc.robots.puma560()
    q, v = robot.random_state(1)
    symbols = robot.diagonal.christoffel(q)
    close(np.einsum("ijk,i->kj", symbols, v), robot.coriolis_matrix(q, v), 1e-12)
    rows = np.stack([robot.random_state(k)[0] for k in range(3)])
    assert robot.diagonal.christoffel(rows, kind=2).shape == (3, 6, 6, 6)
    close(robot.diagonal.curvature(rows)[1], robot.diagonal.curvature(rows[1]), 1e-12)


@pytest.mark.parametrize(
    "make",
    [rc.robots.puma560, lambda: rc.robots.chain(13, seed=1, joints="mixed"), lambda: rc.robots.tree(40, seed=2)],
    ids=["every entry", "chain of 13", "tree of 40"],
)
def test_christoffel_symbols_match_their_definition(make):
    """Complex steps of the mass matrix; large robots have them from Coriolis matrices at unit speeds."""
    robot = make()
    q, _ = robot.random_state(1)
    by = complex_step(lambda t: interpreted(robot.mass_matrix, q + t * np.eye(robot.nv)))  # (k, i, j)
    expected = 0.5 * (np.einsum("jik->ijk", by) + np.einsum("ijk->ijk", by) - np.einsum("kij->ijk", by))
    close(robot.diagonal.christoffel(np.stack([q, q]))[1], expected, 1e-12)
    close(robot.diagonal.sensitivity(q), np.einsum("kij->ijk", by), 1e-12)


def test_tensors_are_written_into_out():
    robot = rc.robots.planar(2)
    q, d = np.array([[0.3, 0.7], [0.1, -0.4]]), robot.diagonal
    for ask, rank in ((d.curvature, 4), (d.christoffel, 3), (lambda q, **o: d.christoffel(q, 2, **o), 3)):
        out = np.empty((2, *(2,) * rank))
        assert ask(q, out=out) is out
        assert np.array_equal(out, ask(q))
    with pytest.raises(rc.ShapeError, match="the result has"):
        d.curvature(q, out=np.empty(3))


# ---- joints whose speeds are no rates of coordinates -----------------------------------------------------------------

SOLID = (1.3, (0.1, -0.05, 0.08), (0.3, 0.2, 0.25, 0.01, -0.02, 0.015))
HAND = ("revolute", (0.0, 0.6, 0.8), (0.3, 0.1, -0.2), 0.7, (0.05, 0.2, 0.1), (0.03, 0.02, 0.04, 0.002, 0.001, -0.003))
CHAINS = {  # the same joint in coordinates: kinds and axes, and which rows of the body Jacobian are its speeds
    "spherical": ([("revolute", Z), ("revolute", Y), ("revolute", X)], [0, 1, 2]),
    "planar": ([("prismatic", X), ("prismatic", Y), ("revolute", Z)], [2, 3, 4]),
    "translation": ([("prismatic", X), ("prismatic", Y), ("prismatic", Z)], [3, 4, 5]),
    "free": (
        [*(("prismatic", axis) for axis in (X, Y, Z)), *(("revolute", axis) for axis in (Z, Y, X))],
        [0, 1, 2, 3, 4, 5],
    ),
}


@pytest.mark.parametrize("kind", CHAINS)
def test_curvature_along_speeds_is_that_in_coordinates(kind):
    """A tensor does not depend on the axes it is written in: the same body on a chain of simple joints."""
    chain, rows = CHAINS[kind]
    rings = [(k, axis, POINT, *MASSLESS) for k, axis in chain[:-1]]
    twin = arm("chain", *rings, (*chain[-1], POINT, *SOLID), HAND)
    robot = arm(kind, (kind, None if kind in ("spherical", "free", "translation") else Z, POINT, *SOLID), HAND)
    x = np.random.default_rng(3).normal(size=twin.nv)
    speeds = np.eye(twin.nv)  # v by the rates of x
    speeds[:-1, :-1] = twin.jacobian(x, f"l{len(chain) - 1}", frame="body")[rows, :-1]
    pose = twin.poses(x)[-2]
    q = robot.neutral()
    q[robot.nq - 1] = x[-1]
    q[: robot.nq - 1] = robot.model.joints[0].kind.coordinates(robot.model.joints[0].hinge, _transform(pose))
    close(speeds.T @ robot.mass_matrix(q) @ speeds, twin.mass_matrix(x), 1e-13)
    expected = twin.diagonal.curvature(x)
    close(np.einsum("abcd,ah,bi,cj,dk->hijk", robot.diagonal.curvature(q), *[speeds] * 4), expected, 1e-11)


def _transform(pose):
    from recursa.spatial import Rotation, Transform, Vec3

    return Transform(Rotation(*pose[:3, :3].ravel()), Vec3(*pose[:3, 3]))


def test_free_body_has_milnors_curvature():
    """Left-invariant metrics on SO(3) (Milnor 1976): K(1, 2) = l3 m3 - m1 m2, l3 = sqrt(I3/(I1 I2)), m = sum(l)/2 - l.

    Where the centre of mass is does not matter, if rotations are about it: translations are flat and independent.
    """
    moments = np.array([0.3, 0.5, 0.7])
    at = np.array([0.2, -0.1, 0.4])
    robot = arm("body", ("free", None, POINT, 1.7, tuple(at), tuple(moments)))
    q, _ = robot.random_state(0)
    about = np.eye(6)  # v per speeds about the centre of mass
    about[3:, :3] = -np.array([[0, at[2], -at[1]], [-at[2], 0, at[0]], [at[1], -at[0], 0]]) @ np.eye(3)
    r = np.einsum("abcd,ah,bi,cj,dk->hijk", robot.diagonal.curvature(q), *[about] * 4)
    ratios = moments / np.sqrt(np.prod(moments))
    mu = 0.5 * ratios.sum() - ratios
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        found = r[i, j, i, j] / (moments[i] * moments[j])
        assert np.isclose(found, ratios[k] * mu[k] - mu[i] * mu[j], rtol=1e-12)
        r[i, j, i, j] = r[j, i, j, i] = r[i, j, j, i] = r[j, i, i, j] = 0.0
    close(r, np.zeros_like(r), 1e-13)  # translations, and all that would mix


def test_ball_on_a_spherical_joint_has_constant_curvature():
    """Isotropic inertia J about the joint: a sphere S^3 of radius 2 sqrt(J)."""
    robot = arm("ball", ("spherical", None, POINT, 2.0, POINT, (0.3, 0.3, 0.3)))
    mass = 0.3 * np.eye(3)
    expected = (np.einsum("hj,ik->hijk", mass, mass) - np.einsum("hk,ij->hijk", mass, mass)) / (4 * 0.3)
    close(robot.diagonal.curvature(robot.random_state(0)[0]), expected, 1e-13)
    assert np.isclose(robot.diagonal.is_flat(samples=3).largest, 1.0 / (4 * 0.3))


def test_bodies_in_a_plane_and_in_translation_are_flat():
    sheet = arm("sheet", ("planar", Z, POINT, *SOLID))
    crate = arm("crate", ("translation", None, POINT, *SOLID), ("prismatic", X, POINT, *SOLID))
    for robot in (sheet, crate):
        assert robot.diagonal.is_flat(samples=5)
    assert not arm("bent", ("planar", Z, POINT, *SOLID), HAND).diagonal.is_flat(samples=3)


@pytest.mark.parametrize("make", [lambda: tree_of_kinds(9, seed=5), lambda: tree_of_kinds(3, seed=7)], ids=["19", "3"])
def test_symbols_of_every_joint_kind_match_koszul(make):
    """Both ways to the symbols, armature included, against Koszul's formula on arrays; bias forces; the torsion."""
    robot = make().with_gravity((0, 0, 0))
    q, v = robot.random_state(1)
    n, mass, by = robot.nv, robot.mass_matrix(q), robot.diagonal.sensitivity(q)
    c = np.zeros((n, n, n))
    for i, j, k, value in structure_of(robot.model):
        c[i, j, k] = value
    bracket = np.einsum("ijl,lk->ijk", c, mass)
    koszul = np.einsum("jki->ijk", by) + np.einsum("kij->ijk", by) - by
    koszul += bracket - np.einsum("jki->ijk", bracket) + np.einsum("kij->ijk", bracket)
    found = robot.diagonal.christoffel(np.stack([q, q]))[1]
    close(found, 0.5 * koszul, 1e-13)
    close(found - found.swapaxes(0, 1), bracket, 1e-13)
    plain = _without_armature(robot)
    close(np.einsum("ijk,i,j->k", plain.diagonal.christoffel(q), v, v), plain.bias_forces(q, v), 1e-12)


def _without_armature(robot: rc.Robot) -> rc.Robot:
    for joint in robot.model.joints:
        robot = robot.with_joint(joint.name, armature=0.0)
    return robot


def tree_of_kinds(bodies: int, seed: int) -> rc.Robot:
    """Bodies on joints of several freedoms, with armature there, and revolute ones between."""
    b = rc.Builder("kinds")
    rng = np.random.default_rng(seed)
    kinds = ("free", "spherical", "planar", "revolute", "translation")
    for k in range(bodies):
        kind = kinds[(k + seed) % len(kinds)]
        b.link(f"l{k}", mass=1.0 + k, com=rng.normal(size=3), inertia=(0.3 + k, 0.4 + k, 0.5 + k))
        parent = "world" if k == 0 else f"l{rng.integers(k)}"
        armature = tuple(rng.uniform(0.1, 0.5, len(KINDS[kind].v_parts) or 1))
        axis = {"axis": tuple(rng.normal(size=3))} if kind in ("planar", "revolute") else {}
        b.joint(f"j{k}", kind, parent=parent, child=f"l{k}", xyz=rng.normal(size=3), armature=armature, **axis)
    return b.build(strict=False)


def test_curvature_of_a_large_flyer_has_its_symmetries():
    robot = flyer("flyer13", [-1, *(k // 2 for k in range(12))], 7, ["revolute", "spherical", "planar"])
    q, _ = robot.random_state(2)
    r = robot.diagonal.curvature(q)
    for other, sign in ((r.swapaxes(0, 1), -1), (r.swapaxes(2, 3), -1), (np.einsum("jkhi->hijk", r), 1)):
        close(r, sign * other, 1e-11)
    close(r + np.einsum("hjki->hijk", r) + np.einsum("hkij->hijk", r), np.zeros_like(r), 1e-11)


def test_curvature_of_single_precision_is_single():
    robot = rc.robots.puma560()
    q = robot.random_state(1)[0]
    found = robot.diagonal.curvature(q.astype(np.float32))
    assert found.dtype == np.float32
    close(found, robot.diagonal.curvature(q.astype(np.float32).astype(np.float64)), 1e-6)
