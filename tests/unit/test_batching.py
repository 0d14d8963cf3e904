"""Arrays in, arrays out: a state alone and the same state in any batch, type or thread give the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import recursa as rc
from layouts import LAYOUTS
from numeric import close, quaternion_starts, same_bits, states, tied_gripper
from questions import QUESTIONS, last
from questions import arguments as rows_of
from zoo import ZOO, each_kind

pytestmark = pytest.mark.interpreted(reason="blocks, types and threads of the interpreter; kernels have tests/kernels/")

ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    **{name: ZOO[name] for name in ("pendulum", "stanford", "chain_mixed", "mixed_tree", "floating_tree")},
    **{f"only {kind}": partial(each_kind, kind) for kind in ("helical", "spherical", "planar", "free")},
    "tied_gripper": tied_gripper,
}


@cache
def make(name: str) -> rc.Robot:
    return ROBOTS[name]()


NAMES = (
    "poses", "pose", "center_of_mass", "momentum", "kinetic_energy", "potential_energy", "integrate", "difference",
    "velocities", "accelerations", "jacobian", "jacobian_derivative",
)  # fmt: skip
METHODS = [  # kinematics and mass properties, in every frame
    text
    for text, one in QUESTIONS.items()
    if one.home == "robot"
    and one.name in NAMES
    and one.options.get("link", last) is last
    and not one.options.get("base_velocity")  # of robots on a free base only
]


def methods(robot: rc.Robot) -> dict[str, tuple[Callable[..., np.ndarray], tuple[str, ...]]]:
    """The functions, and their arguments by name."""
    return {text: (QUESTIONS[text].method(robot), QUESTIONS[text].names) for text in METHODS}


ONE_ROBOT = "mixed_tree"  # has every kind of joint


def batch(robot: rc.Robot, count: int) -> dict[str, np.ndarray]:
    """Arguments by name, ``count`` rows each."""
    drawn = rows_of(robot, count)
    return {name: drawn[name] for name in ("q", "q0", "q1", "v", "dv", "a", "base_twist", "base_acceleration")}


def arguments(names: Iterable[str], values: dict[str, Any], change: Callable[[Any], Any] = lambda x: x) -> list[Any]:
    return [change(values[name]) for name in names]


# ---- rows do not know of each other ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ROBOTS)
def test_batch_row_matches_single_state_bitwise(name, method):
    robot = make(name)
    function, names = methods(robot)[method]
    values = batch(robot, 6)
    singles = np.stack([function(*arguments(names, values, lambda x, k=k: x[k])) for k in range(6)])
    assert np.isfinite(singles).all()
    inner = singles.shape[1:]
    for shape in ((6,), (2, 3), (2, 1, 3), (6, 1)):
        found = function(*arguments(names, values, lambda x, s=shape: x.reshape(*s, -1)))
        same_bits(found, singles.reshape(shape + inner), f"{method} over a batch of shape {shape}")
    same_bits(function(*arguments(names, values, lambda x: x[:1])), singles[:1], "a batch of one")
    for shape in ((0,), (0, 3), (2, 0)):
        empty = function(*arguments(names, values, lambda x, s=shape: np.zeros((*s, x.shape[-1]))))
        assert (empty.shape, empty.dtype) == (shape + inner, np.float64)


@pytest.mark.parametrize("method", METHODS)
def test_large_batch_matches_its_parts_bitwise(method):
    """4100 rows: two whole blocks and a tail small enough to run on plain floats; threads change nothing."""
    robot = make(ONE_ROBOT)
    function, names = methods(robot)[method]
    few = batch(robot, 41)
    values = {name: np.tile(x, (100, 1)) for name, x in few.items()}
    expected = function(*arguments(names, few))
    whole = function(*arguments(names, values))
    same_bits(whole, np.tile(expected, (100, *[1] * (expected.ndim - 1))))
    for threads in (2, 4):
        same_bits(function(*arguments(names, values), threads=threads), whole, f"{threads} threads")


def test_rows_of_a_large_batch_match_single_states():
    robot = make(ONE_ROBOT)
    q, v, _ = states(robot, 2051)
    whole = robot.velocities(q, v, frame="world")
    for row in (0, 1, 1023, 2046, 2047, 2048, 2049, 2050):
        same_bits(whole[row], robot.velocities(q[row], v[row], frame="world"), f"row {row}")


@pytest.mark.parametrize("name", ["mixed_tree", "tied_gripper"])
def test_broadcasting_matches_loops_bitwise(name):
    robot = make(name)
    values = batch(robot, 12)
    q, v, a = values["q"][:4, None, :], values["v"][:3], values["a"]
    found = robot.velocities(q, v)
    assert found.shape == (4, 3, robot.nlinks, 6)
    for i in range(4):
        for j in range(3):
            same_bits(found[i, j], robot.velocities(values["q"][i], values["v"][j]))
    same_bits(robot.accelerations(q, v, a.reshape(4, 3, -1))[2, 1], robot.accelerations(q[2, 0], v[1], a[7]))
    same_bits(robot.integrate(values["q"][0], v)[1], robot.integrate(values["q"][0], v[1]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_numbers_stay_in_their_row(method, bad):
    """Nothing is raised, nothing is warned of, and the other rows keep their bits; one by one and in columns."""
    robot = make(ONE_ROBOT)
    function, names = methods(robot)[method]
    starts = quaternion_starts(robot)
    quaternions = {start + k for _, start in starts for k in range(4)}
    for count in (3, 9):
        values = batch(robot, count)
        good = function(*arguments(names, values))
        for name in names:
            spoilt = {key: x.copy() for key, x in values.items()}
            for column in range(spoilt[name].shape[-1]):
                if name[0] == "q" and column in quaternions and np.isinf(bad):
                    continue  # its norm is not one: refused
                spoilt[name][1, column] = bad
            found = function(*arguments(names, spoilt))
            assert not np.isfinite(found[1]).all()
            others = np.arange(count) != 1
            same_bits(found[others], good[others])


# ---- types and layouts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["mixed_tree", "tied_gripper"])
def test_float32_stays_float32_and_close(name, method):
    robot = make(name)
    function, names = methods(robot)[method]
    values = batch(robot, 7)
    exact = function(*arguments(names, values))
    single = function(*arguments(names, values, lambda x: x.astype(np.float32)))
    assert single.dtype == np.float32
    close(single, exact, 2e-4)
    assert not np.array_equal(single, exact)
    same_bits(function(*arguments(names, values, lambda x: x[3].astype(np.float32))), single[3], "one row")
    if len(names) > 1:
        mixed = arguments(names, values)
        mixed[-1] = mixed[-1].astype(np.float32)
        assert function(*mixed).dtype == np.float64


@pytest.mark.parametrize("count", [2, 9])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_of_arguments_does_not_matter(layout, count):
    robot = make(ONE_ROBOT)
    for method, (function, names) in methods(robot).items():
        values = batch(robot, count)
        expected = function(*arguments(names, values))
        changed = arguments(names, values, LAYOUTS[layout])
        same_bits(function(*changed), expected, method)
        for name, array in zip(names, changed, strict=True):
            assert np.array_equal(array, values[name])  # and nothing was written into


def test_whole_numbers_match_floats():
    robot = make("stanford")
    whole = [[1, 2, 0, -1, 3, 2], [0, 1, 1, 2, -2, 1]]
    expected = robot.velocities(np.array(whole, float), np.array(whole[0], float))
    for values in (whole, np.array(whole), np.array(whole, np.int8), np.array(whole, ">i4")):
        same_bits(robot.velocities(values, whole[0]), expected)


def test_big_endian_single_precision_stays_float32():
    robot = make("stanford")
    q, _, _ = states(robot, 3)
    same_bits(robot.poses(q.astype(">f4")), robot.poses(q.astype(np.float32)))


def own_part(rows, start, count):
    """What a joint is given by name: one number per state, or the last axis for joints with several coordinates."""
    return rows[..., start] if count == 1 else rows[..., start : start + count]


def test_joint_named_alone_keeps_the_batch_of_one():
    robot = rc.robots.free_flyer()
    for count in (1, 2):
        assert robot.pose({"joint1": np.zeros(count)}, "gripper").shape == (count, 4, 4)


def test_joint_names_match_positions():
    robot = make(ONE_ROBOT)
    q, v, _ = states(robot, 5)
    joints = [joint for joint in robot.model.joints if joint.independent]
    for rows in (slice(None), 2):
        q_named = {j.name: own_part(q[rows], j.q_start, j.kind.nq) for j in joints}
        v_named = {j.name: own_part(v[rows], j.v_start, j.kind.nv) for j in joints}
        same_bits(robot.velocities(q_named, v_named), robot.velocities(q[rows], v[rows]))


def test_joints_left_out_are_neutral_and_at_rest():
    robot = rc.robots.free_flyer()
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[robot.model.joints[2].q_start] = 0.7
    v[robot.model.joints[1].v_start] = -0.4
    same_bits(robot.velocities({"joint2": 0.7}, {"joint1": -0.4}), robot.velocities(q, v))
    same_bits(robot.poses({}), robot.poses(robot.neutral()))
    angles = np.linspace(0.0, 1.0, 5)
    assert robot.poses({"joint2": angles, "joint1": 0.1}).shape == (5, robot.nlinks, 4, 4)


def test_tied_joints_match_the_rule_they_follow():
    """The same robot with all joints free, at the coordinates that the ties dictate."""
    tied = make("tied_gripper")
    free = tied._changed(mimic="free")
    assert (tied.nv, free.nv) == (2, 4)
    q, v, a = states(tied, 5)
    ties = {"wrist": (0, 1.0, 0.0), "drive": (1, 1.0, 0.0), "follower": (1, -0.9, 0.02), "pan": (0, 1.7, -0.3)}
    spread = np.zeros((4, 2))
    offset = np.zeros(4)
    for row, name in enumerate(free.joint_names):
        source, multiplier, offset[row] = ties[name]
        spread[row, source] = multiplier
    full = (q @ spread.T + offset, v @ spread.T, a @ spread.T)
    close(tied.accelerations(q, v, a, "world"), free.accelerations(*full, "world"))
    close(tied.kinetic_energy(q, v), free.kinetic_energy(*full[:2]))
    close(tied.jacobian(q, "lens"), free.jacobian(full[0], "lens") @ spread)
    close(tied.jacobian_derivative(q, v, "lens"), free.jacobian_derivative(*full[:2], "lens") @ spread)


# ---- out -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_out_is_filled_and_returned(method):
    robot = make(ONE_ROBOT)
    function, names = methods(robot)[method]
    for count in (1, 2, 9):
        given = arguments(names, batch(robot, count))
        expected = function(*given)
        out = np.full(expected.shape, np.nan)
        assert function(*given, out=out) is out
        same_bits(out, expected)
        holder = np.full((*expected.shape, 2), np.nan)
        view = holder[..., 0]
        assert function(*given, out=view) is view
        same_bits(holder[..., 0].copy(), expected, "a view")
        assert np.isnan(holder[..., 1]).all()
        narrow = np.empty(expected.shape, np.float32)
        function(*given, out=narrow)
        same_bits(narrow, expected.astype(np.float32), "into float32")


def test_out_may_be_an_argument():
    robot = make(ONE_ROBOT)
    q, v, _ = states(robot, 9)
    expected, place = robot.integrate(q, v), q.copy()
    same_bits(robot.integrate(place, v, out=place), expected)


@pytest.mark.parametrize("method", METHODS)
def test_wrong_out_is_refused(method):
    robot = make("pendulum")
    function, names = methods(robot)[method]
    given = arguments(names, batch(robot, 3))
    right = function(*given).shape
    locked = np.empty(right)
    locked.flags.writeable = False
    untouched = np.full((*right, 1), 7.0)
    for out in (untouched, np.empty(right[1:]), np.empty((4, *right[1:]))):
        with pytest.raises(rc.ShapeError, match="out") as error:
            function(*given, out=out)
        assert str(out.shape) in str(error.value)
        assert str(right) in str(error.value)
    for out in (locked, np.empty(right, int), np.empty(right, object).tolist()):
        with pytest.raises(rc.ShapeError, match="out must be"):
            function(*given, out=out)
    assert (untouched == 7.0).all()


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (5,), (3, 5), (7, 3), (0,), (3, 0)])
def test_wrong_shapes_are_named(shape):
    robot = make("stanford")
    q, v, _ = states(robot, 3)
    wrong = np.zeros(shape)
    for call, name in (
        (lambda: robot.poses(wrong), "q"),
        (lambda: robot.velocities(q, wrong), "v"),
        (lambda: robot.accelerations(q, v, wrong), "a"),
        (lambda: robot.jacobian(wrong, "link3"), "q"),
        (lambda: robot.difference(q, wrong), "q1"),
        (lambda: robot.difference(wrong, q), "q0"),
        (lambda: robot.integrate(q, wrong), "dv"),
    ):
        with pytest.raises(rc.ShapeError) as error:
            call()
        message = str(error.value)
        assert message.startswith(f"{name} has shape {shape}, expected (..., 6)")
        assert f"robot 'stanford' has {'nq' if name.startswith('q') else 'nv'} = 6" in message


def test_batches_that_do_not_fit_are_named():
    robot = make("stanford")
    with pytest.raises(rc.ShapeError, match=r"q \(2, 6\), v \(3, 6\)"):
        robot.velocities(np.zeros((2, 6)), np.zeros((3, 6)))
    with pytest.raises(rc.ShapeError, match=r"q\['joint1'\] \(2,\), q\['joint2'\] \(3,\)"):
        robot.poses({"joint1": [1.0, 2.0], "joint2": [1.0, 2.0, 3.0]})


def test_ragged_rows_are_refused():
    robot = make("stanford")
    with pytest.raises(rc.ShapeError, match=r"q must have shape \(\.\.\., 6\), but its rows differ"):
        robot.poses([[0.0] * 6, [0.0] * 5])


@pytest.mark.parametrize("text", ["home", ["1"] * 6, [0, 0, 0, 0, 0, "x"], [None] * 6, [object()] * 6, b"123456"])
def test_text_is_refused(text):
    robot = make("stanford")
    with pytest.raises(rc.StateError, match="q must be numbers"):
        robot.poses(text)
    with pytest.raises(rc.StateError, match="v must be numbers"):
        robot.velocities(robot.neutral(), text)


@pytest.mark.parametrize("text", ["home", "1.5", None, [1.0, "x"]])
def test_text_by_joint_name_is_refused(text):
    with pytest.raises(rc.StateError, match=r"q\['joint2'\] must be numbers"):
        make("stanford").poses({"joint2": text})


def test_wrong_size_by_joint_name_is_refused():
    with pytest.raises(rc.ShapeError, match=r"q\['root'\] has shape \(6,\), expected \(\.\.\., 7\)"):
        rc.robots.free_flyer().poses({"root": np.zeros(6)})


def test_unknown_joint_names_get_a_proposal():
    with pytest.raises(rc.UnknownNameError, match=r"'jiont2' in robot 'stanford'\. Did you mean 'joint2'"):
        make("stanford").poses({"jiont2": 0.1})
    with pytest.raises(rc.UnknownNameError, match="no independent joint 'pan'"):
        make("tied_gripper").poses({"pan": 0.1})


@pytest.mark.parametrize("name", ["only free", "only spherical", "mixed_tree", "floating_tree"])
@pytest.mark.parametrize(("dtype", "fine", "off"), [(np.float64, 5e-7, 2e-6), (np.float32, 5e-4, 2e-3)])
def test_quaternions_off_unit_length_are_refused(name, dtype, fine, off):
    robot = make(name)
    q, _, _ = states(robot, 6)
    for joint, start in quaternion_starts(robot):
        for sign in (1.0, -1.0):
            near, far = q.copy(), q.copy()
            near[4, start : start + 4] *= 1.0 + sign * fine
            far[4, start : start + 4] *= 1.0 + sign * off
            close(robot.poses(near.astype(dtype)), robot.poses(q.astype(dtype)), 1e-4)  # normalised on the way
            with pytest.raises(rc.StateError, match=rf"q in row \(4,\): the quaternion of joint '{joint}'"):
                robot.poses(far.astype(dtype))
            with pytest.raises(rc.StateError, match=rf"q in row \(1, 1\): .* entries {start}\.\.{start + 3}"):
                robot.poses(far.reshape(2, 3, -1).astype(dtype))
            with pytest.raises(rc.StateError, match=rf"q: the quaternion of joint '{joint}'"):
                robot.poses(far[4].astype(dtype))


def test_second_configuration_is_checked_too():
    robot = make("only spherical")
    q, _, _ = states(robot, 2)
    with pytest.raises(rc.StateError, match=r"q1 in row \(0,\): the quaternion of joint 'joint1'"):
        robot.difference(q, q * 1.1)


def test_slightly_off_quaternions_give_the_poses_of_normalised_ones():
    robot = make("mixed_tree")
    q, _, _ = states(robot, 3)
    scaled = q.copy()
    for _, start in quaternion_starts(robot):
        scaled[:, start : start + 4] *= 1.0 + 9e-7
    close(robot.poses(scaled), robot.poses(q), 1e-14)


def test_quaternions_of_nan_pass_through():
    robot = make("only spherical")
    q, _, _ = states(robot, 3)
    q[1, :4] = np.nan
    found = robot.poses(q)
    assert np.isnan(found[1, 1:, :3, :3]).any()
    assert np.isfinite(found[[0, 2]]).all()


def test_unknown_names_get_a_proposal():
    robot = make("stanford")
    q, v, a = states(robot, 1)
    for call, message in (
        (lambda: robot.velocities(q, v, "wrold"), "no frame 'wrold'. Did you mean 'world'"),
        (lambda: robot.accelerations(q, v, a, "boddy"), "no frame 'boddy'. Did you mean 'body'"),
        (lambda: robot.accelerations(q, v, a, kind="clasical"), "'clasical'. Did you mean 'classical'"),
        (lambda: robot.jacobian(q, "link3", frame="fixed"), "Did you mean 'mixed'"),
        (lambda: robot.jacobian_derivative(q, v, "link3", frame="ground"), "There are: body, mixed, world"),
        (lambda: robot.jacobian(q, "lnik3"), "no link 'lnik3' in robot 'stanford'. Did you mean 'link3'"),
        (lambda: robot.jacobian_derivative(q, v, "lnik3"), "Did you mean 'link3'"),
        (lambda: robot.pose(q, "lnik3"), "Did you mean 'link3'"),
        (lambda: robot.pose(q, 3), "no link '3'"),
        (lambda: robot.momentum(q, v, about="wrld"), "no reference point 'wrld'. Did you mean 'world'"),
    ):
        with pytest.raises(rc.UnknownNameError, match=message):
            call()


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
def test_thread_numbers_are_checked(threads):
    with pytest.raises(rc.RecursaError, match=f"threads must be a positive whole number or None, not {threads!r}"):
        make("pendulum").poses([0.1], threads=threads)


@pytest.mark.parametrize("threads", [1, 2, np.int64(3)])
def test_small_batches_take_any_number_of_threads(threads):
    same_bits(make("pendulum").poses([0.1], threads=threads), make("pendulum").poses([0.1]))
