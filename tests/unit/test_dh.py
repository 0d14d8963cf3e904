"""Denavit-Hartenberg tables: both conventions of one arm agree, each matches its printed matrix, mistakes are told."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import recursa as rc
from numeric import close

GRAVITY = np.array([1.7, -3.1, -8.9])
ARMS = [(n, seed) for n in range(2, 8) for seed in range(3)]
anew = pytest.mark.interpreted(reason="every random arm would compile anew")
every_arm = pytest.mark.parametrize(
    ("n", "seed"), [pytest.param(*arm, marks=anew if arm[0] > 3 else ()) for arm in ARMS]
)


# ---- matrices written out in the test ------------------------------------------------------------------------------


def standard_matrix(a: float, alpha: float, d: float, theta: float) -> np.ndarray:
    """Rz(theta) Tz(d) Tx(a) Rx(alpha), multiplied out."""
    ct, st, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0.0, sa, ca, d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def modified_matrix(a: float, alpha: float, d: float, theta: float) -> np.ndarray:
    """Balafoutis & Patel (2.3.2)."""
    ct, st, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
    return np.array(
        [
            [ct, -st, 0.0, a],
            [ca * st, ca * ct, -sa, -d * sa],
            [sa * st, sa * ct, ca, d * ca],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def along_x(a: float, alpha: float) -> np.ndarray:
    """Tx(a) Rx(alpha), which the two conventions attach to different links."""
    return standard_matrix(a, alpha, 0.0, 0.0)


MATRICES: dict[str, Callable[..., np.ndarray]] = {"standard": standard_matrix, "modified": modified_matrix}


# ---- random arms -----------------------------------------------------------------------------------------------------


class Arm:
    """Numbers of a random arm in one convention: kinds, (a, alpha, d, theta) rows, and a body per link."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng([n, seed])
        self.n = n
        self.kinds = [str(kind) for kind in rng.permutation(["revolute", "prismatic", *rng.choice(KINDS, n - 2)])]
        self.rows = rng.normal(size=(n, 4)) * [0.4, 1.2, 0.3, 1.5]
        self.masses = rng.uniform(0.5, 3.0, size=n)
        self.coms = rng.normal(scale=0.2, size=(n, 3))
        self.inertias = [random_inertia(rng) for _ in range(n)]
        self.rotors = rng.uniform(0.01, 0.1, size=n)
        self.q = rng.normal(size=n)
        self.v = rng.normal(size=n)

    def robot(self, convention: str, *, frames: list[np.ndarray] | None = None, gravity: object = GRAVITY) -> rc.Robot:
        """The arm from the table, each link's body as it stands in ``frames`` (poses in the link frames)."""
        table = []
        for k, frame in enumerate(frames or [np.eye(4)] * self.n):
            a, alpha, d, theta = self.rows[k]
            turn = frame[:3, :3]
            table.append(
                rc.DHLink(
                    joint=self.kinds[k],
                    a=a,
                    alpha=alpha,
                    d=d,
                    theta=theta,
                    mass=self.masses[k],
                    com=frame[:3, :3] @ self.coms[k] + frame[:3, 3],
                    inertia=turn @ self.inertias[k] @ turn.T,
                    armature=self.rotors[k],
                )
            )
        return rc.from_dh(table, convention=convention, gravity=gravity, strict=False)

    def with_rows(self, rows: np.ndarray) -> Arm:
        other = object.__new__(Arm)
        other.__dict__ = {**self.__dict__, "rows": rows}
        return other


KINDS = ("revolute", "prismatic")


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """Of a random cloud of points, hence valid."""
    points = rng.normal(scale=0.2, size=(6, 3))
    second = points.T @ points
    return np.trace(second) * np.eye(3) - second


def compare(one: rc.Robot, other: rc.Robot, arm: Arm, base: np.ndarray, links: dict[str, str]) -> None:
    """Two robots of the same arm; ``base`` is the pose of the second one's world in the first's."""
    q, v = arm.q, arm.v
    turn = np.kron(np.eye(2), base[:3, :3])
    for here, there in links.items():
        close(one.pose(q, here), base @ other.pose(q, there), what=f"pose of {here}")
        close(one.jacobian(q, here), other.jacobian(q, there), what=f"Jacobian of {here} in body axes")
        mixed = turn @ other.jacobian(q, there, frame="mixed")
        close(one.jacobian(q, here, frame="mixed"), mixed, what=f"Jacobian of {here} in world axes")
    close(one.kinetic_energy(q, v), other.kinetic_energy(q, v), what="kinetic energy")
    lift = -one.mass * GRAVITY @ base[:3, 3]
    close(one.potential_energy(q), other.potential_energy(q) + lift, what="potential energy")


@every_arm
def test_modified_table_matches_the_standard_table_it_was_made_from(n: int, seed: int) -> None:
    """Modified row i is (alpha_{i-1}, a_{i-1}, d_i, theta_i); what is left of the last row places the tool."""
    arm = Arm(n, seed)
    ends = [along_x(a, alpha) for a, alpha, _, _ in arm.rows]  # standard frame i in modified frame i
    shifted = np.column_stack([np.vstack([[0.0, 0.0], arm.rows[:-1, :2]]), arm.rows[:, 2:]])
    standard = arm.robot("standard")
    modified = arm.with_rows(shifted).robot("modified", frames=ends)
    for k, (a, alpha, _, _) in enumerate(arm.rows, start=1):
        modified = modified.with_frame(f"end{k}", f"link{k}", (a, 0, 0), (alpha, 0, 0))
    compare(standard, modified, arm, np.eye(4), {f"link{k}": f"end{k}" for k in range(1, n + 1)})


@every_arm
def test_standard_table_matches_the_modified_table_it_was_made_from(n: int, seed: int) -> None:
    """The first row's a and alpha place the standard arm's base; the last standard row has none."""
    arm = Arm(n, seed)
    base = along_x(*arm.rows[0, :2])
    shifted = np.column_stack([np.vstack([arm.rows[1:, :2], [0.0, 0.0]]), arm.rows[:, 2:]])
    back = [np.linalg.inv(along_x(a, alpha)) for a, alpha, _, _ in shifted]  # modified frame i in standard frame i
    modified = arm.robot("modified")
    standard = arm.with_rows(shifted).robot("standard", frames=back, gravity=base[:3, :3].T @ GRAVITY)
    compare(modified, standard, arm, base, {f"link{n}": f"link{n}"})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("convention", MATRICES)
def test_poses_match_the_printed_matrix_entry_by_entry(convention: str, kind: str) -> None:
    """The joint variable is added to theta or d, whose values in the row are offsets."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(3, 4))
    q = rng.normal(size=3)
    table = [rc.DHLink(joint=kind, a=a, alpha=alpha, d=d, theta=theta) for a, alpha, d, theta in rows]
    robot = rc.from_dh(table, convention=convention, strict=False)
    expected = np.eye(4)
    for k, (a, alpha, d, theta) in enumerate(rows):
        moved = (d, theta + q[k]) if kind == "revolute" else (d + q[k], theta)
        expected = expected @ MATRICES[convention](a, alpha, *moved)
        np.testing.assert_allclose(robot.pose(q, f"link{k + 1}"), expected, atol=2e-15)


def test_names_are_those_of_the_interface() -> None:
    robot = rc.from_dh([rc.DHLink(mass=1.0, inertia=(1, 1, 1))] * 3, convention="modified")
    assert robot.name == "arm"
    assert robot.joint_names == ("joint1", "joint2", "joint3")
    assert robot.link_names == ("base", "link1", "link2", "link3")
    assert robot.gravity == (0.0, 0.0, -9.81)


@pytest.mark.parametrize("convention", MATRICES)
def test_joint_data_of_a_row_reach_the_joint(convention: str) -> None:
    row = rc.DHLink(
        joint="prismatic", mass=1.5, inertia=(1, 1, 1), armature=0.3, damping=0.4, friction=0.5, limits=(-0.6, 0.7),
        effort=8, velocity=9,
    )  # fmt: skip
    joint = rc.from_dh([row], convention=convention).model.joints[0]
    assert (joint.kind.name, joint.armature, joint.damping, joint.friction) == ("prismatic", (0.3,), (0.4,), (0.5,))
    assert (joint.limits, joint.effort, joint.velocity) == ((-0.6, 0.7), 8.0, 9.0)


def test_the_three_spellings_of_an_inertia_agree() -> None:
    def robot(inertia: object) -> rc.Robot:
        return rc.from_dh([rc.DHLink(mass=2.0, com=(0.1, 0.2, 0.3), inertia=inertia)], convention="modified")

    rows = [[0.31, 0.01, -0.02], [0.01, 0.32, 0.03], [-0.02, 0.03, 0.33]]
    assert robot(rows) == robot(np.array(rows)) == robot((0.31, 0.32, 0.33, 0.01, -0.02, 0.03))
    assert robot((0.31, 0.32, 0.33)) == robot(np.diag([0.31, 0.32, 0.33]))
    assert robot(rows) != robot((0.31, 0.32, 0.33))


GOOD = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


@pytest.mark.parametrize(
    ("rows", "convention", "message"),
    [
        ([rc.DHLink(**GOOD)], "craig", "convention must be 'standard' .* or 'modified' .*, not 'craig'"),
        ([rc.DHLink(**GOOD)], "standart", "Did you mean 'standard'?"),
        ([rc.DHLink(**GOOD)], None, "not None"),
        ([], "modified", "table has no rows"),
        ([rc.DHLink(**GOOD), (0.1, 0, 0, 0)], "modified", "row 2 .* must be a DHLink, not tuple"),
        ([rc.DHLink(joint="revolut", **GOOD)], "modified", "row 1 .* not 'revolut'. Did you mean 'revolute'?"),
        ([rc.DHLink(joint="fixed", **GOOD)], "modified", "joint must be 'revolute' or 'prismatic', not 'fixed'"),
        ([rc.DHLink(a=math.nan, **GOOD)], "modified", "row 1 .*: a must be finite, not nan"),
        ([rc.DHLink(**GOOD), rc.DHLink(alpha=math.inf, **GOOD)], "modified", "row 2 .*: alpha must be finite, not inf"),
        ([rc.DHLink(d="long", **GOOD)], "modified", "d must be a number, not 'long'"),
        ([rc.DHLink(theta=(1, 2), **GOOD)], "modified", "theta must be a number, not 2"),
        ([rc.DHLink(mass=1, com=(1, 2))], "modified", "com must be 3 numbers, not 2"),
        ([rc.DHLink(mass=1, inertia=(1, 2))], "modified", r"inertia must be 3x3, or \(xx, yy, zz\), or"),
        ([rc.DHLink(mass=1, inertia=[[1, 0], [0, 1]])], "modified", "inertia must be 3x3"),
        ([rc.DHLink(mass=1, inertia=[(1, 0, 0), (0.1, 1, 0), (0, 0, 1)])], "modified", "must be symmetric"),
        ([rc.DHLink(mass=math.nan, inertia=(1, 1, 1))], "modified", "link 'link1': .*nan or infinity"),
        ([rc.DHLink(limits=(1, 2, 3), **GOOD)], "modified", "limits must be 2 numbers, not 3"),
        ([rc.DHLink(effort="strong", **GOOD)], "modified", "effort must be a number, not 'strong'"),
    ],
)  # fmt: skip
def test_mistakes_in_a_table_name_row_and_number(rows: list[object], convention: str, message: str) -> None:
    with pytest.raises(rc.ModelError, match=message):
        rc.from_dh(rows, convention=convention)


def test_products_of_inertia_may_differ_by_rounding() -> None:
    nearly = [(1.0, 0.1, 0.0), (0.1 + 1e-12, 1.0, 0.0), (0.0, 0.0, 1.0)]
    assert rc.from_dh([rc.DHLink(mass=1, inertia=nearly)], convention="modified").nv == 1
