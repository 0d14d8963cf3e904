"""Which batches go straight into native code, and that they have the answers of the general way, to the bit."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import recursa as rc
from calling import counted_evaluations, straight_in
from numeric import same_bits
from recursa.kernels.dispatch import Switch
from zoo import large_flyer, mixed_tree

pytest.importorskip("recursa._entry", reason="the extension was not built")
pytestmark = pytest.mark.compiled

ROBOTS = {
    "arm": rc.robots.panda_like,
    "flyer": lambda: rc.robots.free_flyer(2),
    "mixed": mixed_tree,
    "long": lambda: rc.robots.chain(19),
    "large flyer": large_flyer,
}
CALLS: dict[str, Any] = {
    "inverse dynamics": lambda r, q, v, **more: r.inverse_dynamics(q, v, v, **more),
    "forward dynamics": lambda r, q, v, **more: r.forward_dynamics(q, v, v, **more),
    "mass matrix": lambda r, q, v, **more: r.mass_matrix(q, **more),
    "poses": lambda r, q, v, **more: r.poses(q, **more),
    "keywords": lambda r, q, v, **more: r.inverse_dynamics(a=v, q=q, losses=True, v=v, **more),
    "a link": lambda r, q, v, **more: r.jacobian(q, r.link_names[-1], frame="world", **more),
    "wrenches": lambda r, q, v, **more: r.forward_dynamics(
        q, v, v, wrenches=np.ones((*q.shape[:-1], r.nlinks, 6)), **more
    ),
}


def states(robot: rc.Robot, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    found = [robot.random_state(k) for k in range(int(np.prod(shape)))]
    q, v = (np.array(x) for x in zip(*found, strict=True))
    return q.reshape(*shape, robot.nq), v.reshape(*shape, robot.nv)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ROBOTS)
def test_batches_have_the_bits_of_the_general_way_and_of_single_states(name: str, call: str) -> None:
    robot, ask = ROBOTS[name](), CALLS[call]
    ask(robot, *states(robot, 3))
    for shape in ((2,), (8,), (13,), (4, 3), (1, 5)):
        q, v = states(robot, *shape)
        if "keywords" in call and name in ("long", "large flyer"):
            found = ask(robot, q, v)  # loops have one scratch, which belongs to the call in the usual order
        else:
            with straight_in():
                found = ask(robot, q, v)
        same_bits(found, ask(robot, q, v, threads=1), f"{shape}")
        rows = found.reshape(-1, *found.shape[len(shape) :])
        same_bits(rows[-1], ask(robot, q.reshape(-1, robot.nq)[-1], v.reshape(-1, robot.nv)[-1]), f"{shape}")


def test_out_is_filled_and_returned_where_it_can_take_the_result() -> None:
    robot = rc.robots.panda_like()
    q, v = states(robot, 11)
    expected = robot.inverse_dynamics(q, v, v, threads=1)
    out = np.full_like(v, np.nan)
    robot.inverse_dynamics(q, v, v)
    with straight_in():
        assert robot.inverse_dynamics(q, v, v, out=out) is out
    same_bits(out, expected)
    shared = v.copy()
    assert robot.inverse_dynamics(q, shared, v, out=shared) is shared  # by the general way: it is read first
    same_bits(shared, expected)
    wide = np.zeros((11, 14))
    robot.inverse_dynamics(q, v, v, out=wide[:, ::2])
    same_bits(wide[:, ::2], expected)
    whole = np.empty((11, 7), np.float32)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, v, out=whole), expected, rtol=1e-5)
    with pytest.raises(rc.ShapeError, match="out has shape"):
        robot.inverse_dynamics(q, v, v, out=np.empty((12, 7)))
    out.flags.writeable = False
    with pytest.raises(rc.ShapeError, match="read-only"):
        robot.inverse_dynamics(q, v, v, out=out)


def test_what_does_not_fit_takes_the_general_way() -> None:
    robot = rc.robots.panda_like()
    q, v = states(robot, 9)
    robot.inverse_dynamics(q, v, v)
    expected = robot.inverse_dynamics(q, v, v, threads=1)
    for given in (
        (np.asfortranarray(q), v, v),
        (q, v[:1] * 0 + v, np.repeat(v, 2, axis=1)[:, ::2]),
        (q.tolist(), v, v),
        (q.astype(">f8"), v, v),
    ):
        same_bits(robot.inverse_dynamics(*given), expected)
    same_bits(robot.inverse_dynamics(q, v[0], v)[0], expected[0])
    assert robot.inverse_dynamics(q[:0], v[:0], v[:0]).shape == (0, 7)
    assert robot.inverse_dynamics(q.astype(np.float32), v.astype(np.float32), v.astype(np.float32)).dtype == np.float32
    with pytest.raises(rc.ShapeError, match="batch axes do not fit"):
        robot.inverse_dynamics(q, v[:4], v)


def test_nan_stays_in_its_row_and_quaternions_are_named() -> None:
    robot = rc.robots.free_flyer(2)
    q, v = states(robot, 12)
    robot.inverse_dynamics(q, v, v)
    broken = v.copy()
    broken[5, 2] = np.nan
    found = robot.forward_dynamics(q, broken, v), robot.forward_dynamics(q, broken, v)
    same_bits(*found)
    assert np.isnan(found[0][5]).any() and np.isfinite(np.delete(found[0], 5, axis=0)).all()
    q[7, 3:7] *= 1.1
    with pytest.raises(rc.StateError, match=r"row \(7,\)"):
        robot.inverse_dynamics(q, v, v)


def test_a_pose_without_hinge_inertia_is_named_in_a_batch() -> None:
    b = rc.Builder("needle")
    b.link("cross", mass=0.0)
    b.link("rod", mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.0, 0.1, 0.1))
    b.joint("turn", "revolute", parent="world", child="cross", axis=(1, 0, 0))
    b.joint("bend", "revolute", parent="cross", child="rod", axis=(0, 0, 1))
    robot = b.build()
    q, v = states(robot, 9)
    good = robot.forward_dynamics(q, v, v)
    with straight_in():
        same_bits(robot.forward_dynamics(q, v, v), good)
    q[4, 1] = 0.0  # the rod along the first axis
    with pytest.raises(rc.SingularHingeError, match="turn"):
        robot.forward_dynamics(q, v, v)


def test_entries_belong_to_the_setting_under_which_they_were_made() -> None:
    robot = rc.robots.planar(3)
    q, _ = states(robot, 10)
    for _ in range(2):
        robot.mass_matrix(q)
    Switch.on = False
    with counted_evaluations() as general:
        robot.mass_matrix(q)
        robot.mass_matrix(q[0])
    assert general == ["mass_matrix"] * 2
    Switch.on = True
    with straight_in():
        robot.mass_matrix(q)


def test_a_batch_compiles_nothing_for_single_states() -> None:
    robot = rc.robots.chain(3)
    q, _ = states(robot, 10)
    for _ in range(3):
        robot.mass_matrix(q)
    kernels = [kernel for store in robot.evaluator.stores for _, kernel in store._kernels.values()]
    assert [list(kernel._compiled) for kernel in kernels] == [[max(kernels[0]._compiled)]]
    assert 1 not in kernels[0]._compiled


@pytest.mark.parametrize("bodies", [7, 19])
def test_threads_that_share_an_entry_get_their_own_answers(bodies: int) -> None:
    robot = rc.robots.chain(bodies)
    batches = [states(robot, 40 + k) for k in range(4)]
    expected = [robot.forward_dynamics(q, v, v, threads=1) for q, v in batches]
    robot.forward_dynamics(*batches[0], batches[0][1])
    wrong: list[int] = []

    def work(number: int) -> None:
        q, v = batches[number]
        for _ in range(200):
            if not np.array_equal(robot.forward_dynamics(q, v, v), expected[number]):
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


@pytest.mark.parametrize("threads", [None, 2])
def test_results_that_no_cache_holds_have_the_bits_of_small_ones(threads: int | None) -> None:
    robot = rc.robots.tree(40, seed=3)
    few, _ = states(robot, 7)
    q = np.tile(few, (400, 1))  # 36 MB of matrices, the last block incomplete; 7 rows, so that lanes change
    expected = robot.mass_matrix(few)
    room = np.empty(len(q) * robot.nv**2 + 3)
    out = room[3:].reshape(len(q), robot.nv, robot.nv)  # no line of the cache begins with it
    robot.mass_matrix(q, out=out, threads=threads)
    same_bits(out, np.tile(expected, (400, 1, 1)))
