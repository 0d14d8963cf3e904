"""Appendix C of Balafoutis & Patel, derivatives of what Algorithm 5.7 finds, against complex steps; U and E."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close, states, tied_gripper
from zoo import ZOO

pytestmark = pytest.mark.interpreted(reason="complex steps")

TINY = 1e-200
N = 4


def random_arm(joints: str = "R" * N) -> rc.Robot:
    """An arm of the book: nothing about it is special; its link frames are the book's."""
    rng = np.random.default_rng(7)
    kinds = {"R": "revolute", "P": "prismatic"}
    rows = [
        rc.DHLink(joint=kinds[letter], a=x, alpha=y, d=z, theta=0.3 * y, mass=m, com=c, inertia=(0.03, 0.04, 0.05))
        for letter, x, y, z, m, c in zip(
            joints, *rng.uniform(0.2, 1.2, (4, len(joints))), rng.normal(scale=0.2, size=(len(joints), 3)), strict=True
        )
    ]
    return rc.from_dh(rows, convention="modified", gravity=(1.0, -2.0, -9.0))


def skew(u: np.ndarray) -> np.ndarray:
    return np.cross(u[..., None, :], np.eye(3), axisb=0, axisc=-2)


class Nominal:
    """An arm at a state, in the book's letters; vectors of link i in its frame, others turned there by ``seen``."""

    def __init__(self) -> None:
        self.robot = random_arm()
        self.state = tuple(x[0] for x in states(self.robot, 1, 3))
        found = self.at(*self.state)
        self.w, self.wd, self.Omega = found["w"], found["wd"], found["Omega"]
        self.u, self.K, self.Khat = found["u"], found["K"], found["Khat"]
        poses = self.robot.poses(self.state[0])[1:]
        self.R, self.o = poses[:, :3, :3], poses[:, :3, 3]
        q, v, _ = self.state
        self.od = self.robot.velocities(q, v, frame="mixed")[1:, 3:]
        links = self.robot.generalized_links(q)
        self.E, self.U = links.inertia, links.first
        self.Udot = self.rate_of_first_moment(q, v)
        self.found = found

    def at(self, q, v, a) -> dict[str, np.ndarray]:
        """All vector functions of the appendix at a state; W and its rates from those of the first axis on."""
        x = self.robot.augmented_recursion(q, v, a, frames="link")
        return {
            "w": x.angular_velocity, "wd": x.angular_acceleration, "Omega": x.acceleration_tensor, "mu": x.moment,
            "Udd": x.first_acceleration, "sdd": x.origin_acceleration, "eta": x.joint_moment, "u": x.first,
            "K": x.inertia, "Khat": x.euler, "tau": x.tau,
        }  # fmt: skip

    def rate_of_first_moment(self, q, v) -> np.ndarray:
        """Udot_i, absolute, in frame i: a complex step of ``W_i U_i`` along the motion."""
        stepped = q + 1j * TINY * v
        turned = self.robot.poses(stepped)[1:, :3, :3] @ self.robot.generalized_links(stepped).first[..., None]
        return np.swapaxes(self.R, 1, 2) @ (turned[..., 0].imag / TINY)[..., None]

    def derivatives(self, name: str, by: int) -> np.ndarray:
        """d(function of link i)/d(q_j, qd_j or qdd_j): (j, i, ...)."""
        steps = 1j * TINY * np.eye(N)
        state = [np.broadcast_to(x, (N, N)) for x in self.state]
        state[by] = state[by] + steps
        return self.at(*state)[name].imag / TINY

    def seen(self, vector: np.ndarray, of: int, to: int) -> np.ndarray:
        """A vector of frame ``of`` in frame ``to``."""
        return self.R[to].T @ self.R[of] @ vector

    def axis(self, j: int, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z_j, zdot_j, zddot_j in frame i."""
        z = np.array([0.0, 0.0, 1.0])
        return tuple(self.seen(x, j, i) for x in (z, skew(self.w[j]) @ z, self.Omega[j] @ z))

    def s(self, j: int, i: int) -> tuple[np.ndarray, np.ndarray]:
        """s_{j,i} and its rate in frame i."""
        return self.R[i].T @ (self.o[i] - self.o[j]), self.R[i].T @ (self.od[i] - self.od[j])


@pytest.fixture(scope="module")
def nominal() -> Nominal:
    return Nominal()


def lemma(nominal: Nominal, name: str, by_q, by_v, by_a, outward=None) -> None:
    """Every i and j: as stated where j is not outward of i; else zero, or what ``outward`` states."""
    for by, stated in enumerate((by_q, by_v, by_a)):
        found = nominal.derivatives(name, by)
        for i in range(N):
            for j in range(N):
                expected = stated(i, j) if j <= i else np.zeros_like(found[j, i])
                if j > i and outward is not None:
                    expected = outward[by](i, j)
                close(found[j, i], expected, 1e-12, f"{name} of link {i} by {'qva'[by]} of joint {j}")


def test_c3_rotations(nominal):
    """dW_i/dq_j = W_i ~z_j in frame i."""
    q, _, _ = nominal.state
    for j in range(N):
        slope = nominal.robot.poses(q + 1j * TINY * np.eye(N)[j])[1:, :3, :3].imag / TINY
        for i in range(N):
            z, _, _ = nominal.axis(j, i)
            close(slope[i], nominal.R[i] @ skew(z) if j <= i else np.zeros((3, 3)), 1e-13)


def test_c5_angular_velocity(nominal):
    lemma(
        nominal, "w", lambda i, j: nominal.axis(j, i)[1], lambda i, j: nominal.axis(j, i)[0], lambda i, j: np.zeros(3)
    )


def test_c6_acceleration_tensor(nominal):
    n = nominal

    def parts(i, j):
        return (*(skew(x) for x in n.axis(j, i)), skew(n.w[i]))

    def by_q(i, j):
        _, zd, zdd, w = parts(i, j)
        return zdd + 2.0 * zd @ w

    def by_v(i, j):
        z, zd, _, w = parts(i, j)
        return 2.0 * (zd + z @ w)

    lemma(n, "Omega", by_q, by_v, lambda i, j: parts(i, j)[0])


def test_c7_angular_acceleration(nominal):
    n = nominal
    lemma(
        n, "wd",
        lambda i, j: n.axis(j, i)[2] + np.cross(n.axis(j, i)[1], n.w[i]),
        lambda i, j: 2.0 * n.axis(j, i)[1] + np.cross(n.axis(j, i)[0], n.w[i]),
        lambda i, j: n.axis(j, i)[0],
    )  # fmt: skip


def test_c8_moments_of_augmented_links(nominal):
    n = nominal

    def of(i, j):
        return (*n.axis(j, i), n.K[i], skew(n.w[i]) @ n.Khat[i])

    def by_q(i, j):
        _, zd, zdd, K, L = of(i, j)
        return K @ zdd - 2.0 * L @ zd

    def by_v(i, j):
        z, zd, _, K, L = of(i, j)
        return 2.0 * (K @ zd - L @ z)

    lemma(n, "mu", by_q, by_v, lambda i, j: n.K[i] @ n.axis(j, i)[0])


def test_c9_first_moments(nominal):
    """Udd_i depends on joints outward, too: then with U, Udot and Udd of link j."""
    n = nominal

    def of(i, j):
        k = max(i, j)
        U, Ud, Udd = (n.seen(x[k].ravel(), k, i) for x in (n.U, n.Udot, n.found["Udd"]))
        return (*n.axis(j, i), U, Ud, Udd)

    def by_q(i, j):
        z, zd, zdd, U, Ud, Udd = of(i, j)
        inward = np.cross(zdd, U) + 2.0 * np.cross(zd, Ud)
        return inward + np.cross(z, Udd) if j > i else inward

    def by_v(i, j):
        z, zd, _, U, Ud, _ = of(i, j)
        return 2.0 * (np.cross(zd, U) + np.cross(z, Ud))

    def by_a(i, j):
        z, _, _, U, _, _ = of(i, j)
        return np.cross(z, U)

    lemma(n, "Udd", by_q, by_v, by_a, (by_q, by_v, by_a))


def test_c11_accelerations_of_origins(nominal):
    """sdd_0i (C-11), and with it sdd_{i,i+1}, the difference of two (C-10)."""
    n = nominal

    def by_q(i, j):
        (z, zd, zdd), (s, sd) = n.axis(j, i), n.s(j, i)
        return np.cross(zdd, s) + 2.0 * np.cross(zd, sd) - np.cross(z, n.seen(n.found["sdd"][j], j, i))

    def by_v(i, j):
        (z, zd, _), (s, sd) = n.axis(j, i), n.s(j, i)
        return 2.0 * (np.cross(zd, s) + np.cross(z, sd))

    lemma(n, "sdd", by_q, by_v, lambda i, j: np.cross(n.axis(j, i)[0], n.s(j, i)[0]))


def test_c12_joint_moments(nominal):
    """eta_i along its axis is (7.3.2)-(7.3.4); the whole vector against the torques of an arm whose axis i differs."""
    n = nominal
    q, v, a = n.state
    model = n.robot.linearize(q, v, a, method="direct")
    for by, matrix in enumerate(model):
        found = n.derivatives("eta", by)  # (j, i, 3)
        close(found[:, :, 2].T, matrix, 1e-11)


def test_identities_of_the_proofs(nominal):
    """dual(K w) = tr(K) ~w - K ~w - ~w K, and ~zddot = -Omega^T ~z - ~z Omega + tr(Omega) ~z (C.11)."""
    z = np.array([0.0, 0.0, 1.0])
    for K, w, Omega in zip(nominal.K, nominal.w, nominal.Omega, strict=True):
        close(skew(K @ w), np.trace(K) * skew(w) - K @ skew(w) - skew(w) @ K)
        close(skew(Omega @ z), -Omega.T @ skew(z) - skew(z) @ Omega + np.trace(Omega) * skew(z))


# ---- what is found, by name ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frames", ["axes", "link"])
def test_recursion_matches_reactions_and_link_motion(frames):
    """Of an arm that also slides, pushed: f and eta are the reactions, omega and sdd those of the links."""
    robot = random_arm("RPRP")
    q, v, a = states(robot, 2)
    push = np.random.default_rng(3).normal(size=(2, robot.nlinks, 6))
    found = robot.augmented_recursion(q, v, a, frames=frames)
    close(found.tau, robot.inverse_dynamics(q, v, a), 1e-12)
    frame = robot.augmented_links(frames=frames).frames
    turn, point = frame[:, :3, :3], frame[:, :3, 3]
    reactions = robot.reaction_wrenches(q, v, a)
    force = np.einsum("kij,bkj->bki", turn, found.joint_force)
    close(force, reactions[..., 3:], 1e-12)
    moment = np.einsum("kij,bkj->bki", turn, found.joint_moment) + np.cross(point, force)
    close(moment, reactions[..., :3], 1e-12)
    spin = np.einsum("kij,bkj->bki", turn, found.angular_velocity)
    close(spin, robot.velocities(q, v)[:, 1:, :3], 1e-12)
    w = skew(found.angular_velocity)
    close(found.acceleration_tensor, skew(found.angular_acceleration) + w @ w)
    pushed = robot.augmented_recursion(q, v, a, wrenches=push, frames=frames)
    close(pushed.tau, robot.inverse_dynamics(q, v, a, wrenches=push), 1e-12)
    close(pushed.first_acceleration[:, -1] - found.first_acceleration[:, -1], -push[:, -1, 3:] @ turn[-1], 1e-12)


def test_augmented_links_in_the_frames_of_the_book():
    """(5.3.44) written out; the known numbers of two links are in test_book_methods.py."""
    robot = random_arm("RRPR")
    links = robot.augmented_links(frames="link")
    close(links.frames, np.tile(np.eye(4), (4, 1, 1)))
    own, poses = robot.parameters.reshape(4, 10), robot.poses(np.zeros(4))[1:]
    outward = own[::-1, 0].cumsum()[::-1]
    for i in range(4):
        s = poses[i, :3, :3].T @ (poses[i + 1, :3, 3] - poses[i, :3, 3]) if i < 3 else np.zeros(3)
        further = outward[i + 1] if i < 3 else 0.0
        m, h, moment = own[i, 0], own[i, 1:4], own[i][[[4, 5, 7], [5, 6, 8], [7, 8, 9]]]
        close(links.mass[i], m + further)
        close(links.first[i], h + further * s)
        close(links.inertia[i], moment - further * skew(s) @ skew(s), 1e-12)
    assert links.online == ("link2",)
    with pytest.raises(rc.NoSweepError, match=r"frames=\"link\": joint 'shoulder' does not lie on the z axis"):
        b = rc.Builder("arm")
        b.link("upper", mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.joint("shoulder", "revolute", parent="world", child="upper", axis=(0, 1, 0))
        b.build().augmented_links(frames="link")
    with pytest.raises(rc.UnknownNameError, match="axes"):
        robot.augmented_links(frames="world")


OTHERS = {"book": random_arm, "tied_gripper": tied_gripper}


@pytest.mark.parametrize("name", ["book", "puma560", "mixed_tree", "tied_gripper"])
def test_generalized_links_are_the_bodies_outward(name):
    """Summed from poses, masses and centres of mass, for every joint (6.3.3), (6.3.4), (6.3.7), (6.3.8)."""
    robot = (OTHERS | ZOO)[name]()
    (q,), _, _ = states(robot, 1)
    links = robot.generalized_links(q)
    centers = robot.subtree_centers_of_mass(q)
    at = [robot.link_names.index(joint.child) for joint in robot.model.joints]
    poses = robot.poses(q)[at]
    close(np.einsum("kij,kj->ki", poses[:, :3, :3], links.center) + poses[:, :3, 3], centers, 1e-12)
    moments = np.trace(links.central_inertia, axis1=-2, axis2=-1) + 2.0 * links.mass * np.sum(links.center**2, axis=-1)
    close(moments, np.trace(links.inertia, axis1=-2, axis2=-1), 1e-12)
    assert (np.linalg.eigvalsh(links.central_inertia) > -1e-12).all()
    if name == "book":
        close(links.inertia[:, 2, 2], np.diag(robot.mass_matrix(q)), 1e-12)  # d_ii = z.E z    (6.3.29f)
