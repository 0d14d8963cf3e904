"""DeNOC against the paper's examples, and against the paper's matrices written out with NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import recursa as rc
from numeric import close, skew, states, tied_gripper
from recursa.examples.two_arms import ARMS, MOTION
from zoo import ZOO, floating_tree_with_rotors, large_interpreted

# ---- the examples ----------------------------------------------------------------------------------------------------


def cycloid(t: float, start: np.ndarray, end: np.ndarray, duration: float) -> tuple[np.ndarray, ...]:
    """Joint motion (38), (39), corrected: it starts at ``start``."""
    rate, w = (end - start) / duration, 2 * math.pi / duration
    return (
        start + rate * (t - math.sin(w * t) / w),
        rate * (1 - math.cos(w * t)),
        rate * w * math.sin(w * t),
    )


TIMES = (0.0, 2.5, 5.0, 7.5, 10.0)
TURN = math.pi / 3
STANFORD_START = np.array([0.0, math.pi / 2, 0.0, 0.0, 0.0, 0.0])
STANFORD_END = np.array([TURN, TURN, 0.1, TURN, TURN, TURN])
STANFORD_TORQUES = np.array(
    [
        [0, 13.34160000, 0, 0, 0, 0],
        [0.1043025753, 13.82271583, -2.786294032, 3.271951632e-4, 4.690658794e-5, 2.683875343e-4],
        [-5.708588676e-3, 15.75378540, -15.57439190, 4.002845236e-5, -9.809941893e-5, -6.979725158e-5],
        [-9.983697611e-2, 16.73286727, -27.51835368, -2.104238183e-4, 3.198493130e-5, -2.174700583e-4],
        [0, 16.73654715, -29.92050000, 0, 0, 0],
    ]
)
PLANAR_TORQUES = np.array(
    [
        [4.34583, 1.54998, 0.32373],
        [3.982914426246, 1.274541631561, 0.221226314113],
        [-1.286948067067, -1.227730440660, 0.013027877809],
        [-1.869508480881, 0.818789239436, -0.213141935143],
        [-1.89333, 0.90252, -0.32373],
    ]
)
UNIT_PLANAR_TORQUES = np.array(
    [
        [44.145, 19.62, 4.905],
        [41.564122526565, 17.159900903804, 3.766414459764],
        [-17.478489232305, -15.109784176044, 0.789568352087],
        [-14.536942104734, 9.064276543365, -3.276452097892],
        [-14.715, 9.81, -4.905],
    ]
)
FREE_FALL = {
    0.5: (
        [-0.0406348075, 0.5667771536, 0.3480179831, -0.0240587010, 1.0041563702, 0.0129165740],
        [-0.1119167371, -2.4457577815, 2.5455312409, -0.0423929589, 2.4453857902, -0.0268842847],
    ),
    1.0: (
        [0.0025434783, 0.0809666575, 2.9996616196, 0.0444530563, 1.4895769770, -0.0035945922],
        [0.1938993164, -0.2562876911, 7.8949809256, 0.2379952821, 0.2561783834, -0.0078791145],
    ),
}


def torques(robot: rc.Robot, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    q, v, a = (np.array(x) for x in zip(*(cycloid(t, start, end, 10.0) for t in TIMES), strict=True))
    return robot.inverse_dynamics(q, v, a, method="denoc")


def test_stanford_torques_match_the_table():
    """Ten significant digits are known: 1e-9 of each entry (to 1e-14 where that is zero)."""
    found = torques(rc.robots.stanford(), STANFORD_START, STANFORD_END)
    assert np.all(np.abs(found - STANFORD_TORQUES) <= 1e-9 * np.abs(STANFORD_TORQUES) + 1e-14)


def unit_planar() -> rc.Robot:
    """Three uniform rods of 1 m and 1 kg."""
    rod = rc.DHLink(joint="revolute", a=1.0, mass=1.0, com=(-0.5, 0, 0), inertia=(0, 1 / 12, 1 / 12))
    return rc.from_dh([rod] * 3, convention="standard", name="rods", gravity=(0, -9.81, 0))


@pytest.mark.parametrize(("make", "expected"), [(rc.robots.planar, PLANAR_TORQUES), (unit_planar, UNIT_PLANAR_TORQUES)])
def test_planar_torques_match_the_table(make, expected):
    assert np.abs(torques(make(), np.zeros(3), np.full(3, math.pi)) - expected).max() < 1e-11


def test_stanford_factors_match_their_decimals_at_the_start_pose():
    """Only U13 = 0.1, U25 = U46 = 1 are not zero off the diagonal."""
    U, D = rc.denoc.udu(rc.robots.stanford(), STANFORD_START)
    expected = np.eye(6)
    expected[0, 2], expected[1, 4], expected[3, 5] = 0.1, 1.0, 1.0
    assert np.abs(U - expected).max() < 1e-14
    assert np.abs(D - np.diag([1.4205, 1.3465, 6.1, 0.0012, 0.0015, 0.002])).max() < 1e-14


def test_stanford_lets_go_with_the_known_acceleration():
    a = rc.robots.stanford().forward_dynamics(STANFORD_START, np.zeros(6), np.zeros(6), method="denoc")
    assert np.abs(a - [0, -9.9083549944, 0, 0, 9.9083549944, 0]).max() < 1e-9


@pytest.mark.compiled
def test_stanford_falls_as_known():
    robot = rc.robots.stanford()
    none = np.zeros(6)

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[6:], robot.forward_dynamics(x[:6], x[6:], none, method="denoc")])

    start = np.concatenate([STANFORD_START, none])
    run = solve_ivp(rates, (0, 1), start, method="DOP853", t_eval=list(FREE_FALL), rtol=1e-11, atol=1e-12)
    assert run.success
    for found, (q, v) in zip(run.y.T, FREE_FALL.values(), strict=True):
        assert np.abs(found - np.concatenate([q, v])).max() < 1e-7


METHODS = ("newton-euler", "denoc")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("make", "start", "end", "expected"),
    [
        (rc.robots.stanford, STANFORD_START, STANFORD_END, STANFORD_TORQUES),
        (rc.robots.planar, np.zeros(3), np.full(3, math.pi), PLANAR_TORQUES),
        (unit_planar, np.zeros(3), np.full(3, math.pi), UNIT_PLANAR_TORQUES),
    ],
)
def test_torques_along_the_cycloid_match_the_tables(make, start, end, expected, method):
    """As ``recursa demo`` computes them."""
    q, v, a = rc.Trajectory.cycloid(start, end, 10.0).sample(np.array(TIMES))
    found = make().inverse_dynamics(q, v, a, method=method)
    assert np.all(np.abs(found - expected) <= 1e-9 * np.abs(expected) + 1e-13)


EXTREMES = {  # least and most of every joint, and when; the notes have four to six digits
    "planar": [(-1.8973, 8.75, 4.3853, 1.19), (-1.3118, 4.73, 1.5670, 1.10), (-0.3243, 9.25, 0.3304, 5.85)],
    "stanford": [
        (-0.100796, 7.27, 0.104387, 2.56), (13.33279, 0.48, 16.76987, 8.46), (-29.92940, 9.71, 0.00921, 0.28),
        (-2.2178e-4, 7.02, 3.2761e-4, 2.42), (-9.9071e-5, 5.12, 4.7905e-5, 2.27), (-2.4817e-4, 6.64, 2.6844e-4, 2.53),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ARMS)
def test_extremes_of_the_torques_match_the_known_ones(name):
    robot = rc.robots.by_name(name)
    motion = rc.Trajectory.cycloid(*ARMS[name], MOTION)
    t = motion.times(1001)
    tau = robot.inverse_dynamics(*motion.sample(t))
    for curve, (least, low, most, high) in zip(tau.T, EXTREMES[name], strict=True):
        assert [curve.min(), curve.max()] == pytest.approx([least, most], rel=2e-4)
        assert [t[curve.argmin()], t[curve.argmax()]] == pytest.approx([low, high], abs=0.011)


@pytest.mark.compiled
def test_stanford_falls_as_known_when_simulated():
    run = rc.robots.stanford().simulate(STANFORD_START, duration=1.0, samples=[0.0, *FREE_FALL])
    for q, v, (known_q, known_v) in zip(run.q[1:], run.v[1:], FREE_FALL.values(), strict=True):
        assert np.abs(q - known_q).max() < 1e-8
        assert np.abs(v - known_v).max() < 1e-8
    assert run.energy_drift < 1e-10


@pytest.mark.compiled
def test_planar_arm_falls_as_its_closed_form():
    """By the absolute angles phi = L theta: L' F = 0, F as the closed form has it; up to 1 s, as nearby runs part."""
    lengths, masses = np.array([0.3, 0.25, 0.22]), np.array([0.5, 0.4, 0.3])
    A = np.tril(np.tile(lengths, (3, 1)), -1) + np.diag(lengths / 2)
    h, weights = A.T @ np.diag(masses) @ A, 9.81 * A.T @ masses

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        phi, rate = x[:3], x[3:]
        apart = phi[:, None] - phi
        inertia = h * np.cos(apart) + np.diag(masses * lengths**2 / 12)
        return np.concatenate([rate, np.linalg.solve(inertia, -(h * np.sin(apart)) @ rate**2 - weights * np.cos(phi))])

    known = solve_ivp(rates, (0, 1), np.zeros(6), method="DOP853", t_eval=[0.1, 0.5, 1.0], rtol=1e-12, atol=1e-13).y.T
    run = rc.robots.planar().simulate(np.zeros(3), duration=1.0, samples=[0.0, 0.1, 0.5, 1.0])
    theta = np.diff(known[:, :3], axis=1, prepend=0.0)
    assert np.abs(run.q[1:] - theta).max() < 1e-7
    assert run.q[1, 0] < 0.0  # theta_1 goes negative first, as the paper says
    assert run.energy_drift < 1e-9


# ---- the paper's equations, element by element, with 6 x 6 matrices --------------------------------------------------


class Written:
    """The quantities of sections 2 to 4 of the paper at one state, in base axes, from B_ij, p_i, M_i, t_i alone.

    ``outward[i]``: links outward of link i, itself included; the paper's i..n.
    """

    def __init__(self, robot: rc.Robot, q: np.ndarray, v: np.ndarray) -> None:
        model, n = robot.model, robot.nbodies
        parents = [joint.parent for joint in model.joints]
        above = [[i] for i in range(n)]
        for i, parent in enumerate(parents):
            above[i] += above[parent] if parent >= 0 else []
        self.n, self.above = n, above
        self.outward = [[k for k in range(n) if i in above[k]] for i in range(n)]
        names = [joint.child for joint in model.joints]
        numbers = [robot.link_names.index(name) for name in names]
        self.offsets = [model.links[number].offset for number in numbers]
        assert all(np.allclose(offset.rows(), np.eye(4)) for offset in self.offsets)
        pose, speed = robot.poses(q)[numbers], robot.velocities(q, v, "mixed")[numbers]
        com = [np.array(inertia.com()) if inertia.mass else np.zeros(3) for inertia in model.inertias]
        arm = [pose[i, :3, :3] @ com[i] for i in range(n)]
        self.C = [pose[i, :3, 3] + arm[i] for i in range(n)]
        self.w = [speed[i, :3] for i in range(n)]
        self.v = [speed[i, 3:] + np.cross(speed[i, :3], arm[i]) for i in range(n)]
        self.p, self.M, self.Md, self.Om = [], [], [], []
        for i, (joint, inertia) in enumerate(zip(model.joints, model.inertias, strict=True)):
            R = pose[i, :3, :3]
            columns = [np.array(column.components()) for column in joint.columns()]
            turned = [(R @ c[:3], R @ c[3:]) for c in columns]
            self.p.append(np.array([[*w, *(x + np.cross(w, arm[i]))] for w, x in turned]).T)
            tensor = R @ np.array([list(row) for row in inertia.moment_about_com().rows()]) @ R.T
            zero = np.zeros((3, 3))
            self.M.append(np.block([[tensor, zero], [zero, inertia.mass * np.eye(3)]]))
            self.Md.append(np.block([[skew(self.w[i]) @ tensor, zero], [zero, zero]]))
            self.Om.append(np.kron(np.eye(2), skew(self.w[i])))
        self.at = [slice(joint.v_start, joint.v_start + joint.kind.nv) for joint in model.joints]
        self.rotors = np.diag(np.concatenate([joint.armature for joint in model.joints]))
        self.nv = robot.nv

    def B(self, i: int, j: int) -> np.ndarray:
        result = np.eye(6)
        result[3:, :3] = skew(self.C[j] - self.C[i])
        return result

    def Bdot(self, i: int, j: int) -> np.ndarray:
        result = np.zeros((6, 6))
        result[3:, :3] = skew(self.v[j] - self.v[i])
        return result

    def Mt(self, i: int) -> np.ndarray:
        return sum(self.B(k, i).T @ self.M[k] @ self.B(k, i) for k in self.outward[i])

    def Mdt(self, i: int) -> np.ndarray:
        return sum(self.Md[k] for k in self.outward[i])

    def H(self, i: int, j: int) -> np.ndarray:
        """(28), unrolled: over links outward of i, whose shifts are taken from j."""
        return sum((self.B(k, i).T @ self.M[k] @ self.Bdot(k, j) for k in self.outward[i]), np.zeros((6, 6)))

    def inertia(self) -> np.ndarray:
        """(24)."""
        result = self.rotors.copy()
        for i in range(self.n):
            for j in self.above[i]:
                block = self.p[i].T @ self.Mt(i) @ self.B(i, j) @ self.p[j]
                result[self.at[i], self.at[j]] += block
                if i != j:
                    result[self.at[j], self.at[i]] += block.T
        return result

    def convective(self) -> np.ndarray:
        """(29); (27) says H_{j+1,j} where several links may hang on link j, so here a sum."""
        result = np.zeros((self.nv, self.nv))
        for j in range(self.n):
            beyond = sum(
                (self.B(k, j).T @ self.M[k] @ self.Bdot(k, j) for k in self.outward[j] if k != j), np.zeros((6, 6))
            )
            for i in self.above[j]:
                inner = self.B(j, i).T @ (self.Mt(j) @ self.Om[j] + beyond) + self.Mdt(j)
                result[self.at[i], self.at[j]] = self.p[i].T @ inner @ self.p[j]
                if i != j:
                    outer = self.Mt(j) @ self.B(j, i) @ self.Om[i] + self.H(j, i) + self.Mdt(j)
                    result[self.at[j], self.at[i]] = self.p[j].T @ outer @ self.p[i]
        return result


ROBOTS = {
    name: ZOO[name]
    for name in ("pendulum", "stanford", "puma560", "chain_mixed", "tree", "mixed_tree", "one_of_each", "free")
} | {"floating_tree_with_rotors": floating_tree_with_rotors}


@pytest.mark.parametrize("name", large_interpreted(ROBOTS))
def test_matrices_match_the_elements_written_out(name):
    robot = ROBOTS[name]()
    q, v, _ = (x[0] for x in states(robot, 1, 2))
    written = Written(robot, q, v)
    close(rc.denoc.generalized_inertia(robot, q), written.inertia(), 1e-12)
    close(rc.denoc.convective_matrix(robot, q, v), written.convective(), 1e-12)
    close(rc.denoc.twists(robot, q, v), np.concatenate([written.w, written.v], axis=1), 1e-12)


# ---- against the other methods ---------------------------------------------------------------------------------------

CHAINS = [(n, seed) for n in (1, 2, 3, 5, 8, 10) for seed in (0, 1)]


@pytest.mark.parametrize(
    ("n", "seed"), [pytest.param(n, seed, marks=pytest.mark.slow if n >= 8 and seed else ()) for n, seed in CHAINS]
)
def test_denoc_matches_the_other_methods_on_mixed_chains(n, seed):
    """Joints that turn and slide, gravity in any direction."""
    rng = np.random.default_rng(n + 10 * seed)
    robot = rc.robots.chain(n, seed=seed, joints="mixed").with_gravity(rng.normal(size=3) * 9.81)
    check(robot, rng)


@pytest.mark.parametrize("name", large_interpreted(name for name in ROBOTS if name != "pendulum"))
def test_denoc_matches_the_other_methods_on_trees_and_other_joints(name):
    check(ROBOTS[name](), np.random.default_rng(5))


def check(robot: rc.Robot, rng: np.random.Generator) -> None:
    q, v, a = states(robot, 3, 6)
    pushes = rng.normal(size=(3, robot.nlinks, 6))
    parameters = np.concatenate([i.components() for i in robot.model.inertias]) * rng.uniform(0.9, 1.1, (3, 1))
    every = {"wrenches": pushes, "losses": True, "parameters": parameters, "base_acceleration": rng.normal(size=(3, 6))}
    for options in ({}, *({name: value} for name, value in every.items()), every):
        expected = robot.inverse_dynamics(q, v, a, **options)
        close(robot.inverse_dynamics(q, v, a, method="denoc", **options), expected, 1e-11, str(list(options)))
    close(robot.mass_matrix(q, method="denoc"), robot.mass_matrix(q), 1e-11)
    varied = robot.mass_matrix(q, parameters=parameters)
    close(robot.mass_matrix(q, method="denoc", parameters=parameters), varied, 1e-11)
    every.pop("base_acceleration")
    for options in ({}, {"wrenches": pushes}, every):
        tau = a
        found = robot.forward_dynamics(q, v, tau, method="denoc", **options)
        close(found, robot.forward_dynamics(q, v, tau, **options), 1e-11, str(list(options)))
        close(robot.inverse_dynamics(q, v, found, method="denoc", **options), tau, 1e-12, str(list(options)))
    C = rc.denoc.convective_matrix(robot, q, v)
    close(np.einsum("bij,bj->bi", C, v), robot.bias_forces(q, v) - robot.gravity_forces(q), 1e-11)
    external = rc.denoc.generalized_forces(robot, q, pushes)
    close(external, -robot.inverse_dynamics(q, 0 * v, 0 * v, wrenches=pushes), 1e-11)


def test_denoc_serves_tied_joints_where_it_can():
    robot = tied_gripper()
    q, v, a = states(robot, 3)
    close(robot.inverse_dynamics(q, v, a, method="denoc"), robot.inverse_dynamics(q, v, a), 1e-12)
    close(robot.mass_matrix(q, method="denoc"), robot.mass_matrix(q), 1e-12)
    (N_l, N_d), M = rc.denoc.natural_orthogonal_complement(robot, q), rc.denoc.extended_mass(robot, q)
    N = N_l @ N_d
    bodies = robot.mass_matrix(q) - np.swapaxes(N, -1, -2) @ M @ N
    close(bodies, bodies * np.eye(robot.nv), 1e-12)  # what is left are the rotors
    found = robot.forward_dynamics(q, v, a, method="composite", mass="denoc", bias="denoc")
    close(found, robot.forward_dynamics(q, v, a), 1e-11)
