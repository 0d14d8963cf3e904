"""Which spellings of a single call go straight into native code: nearly all. And what becomes of their results."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest

import recursa as rc
from calling import counted_evaluations, straight_in
from numeric import same_bits
from recursa.methods.inverse_and_forward import ForwardMethod, InverseMethod
from recursa.methods.matrices import MassMethod

native = pytest.importorskip("recursa._entry", reason="the extension was not built")
pytestmark = pytest.mark.compiled

Call = Callable[[rc.Robot, Any], Any]


def given(robot: rc.Robot, seed: int) -> SimpleNamespace:
    """What calls are made of."""
    (q, v), (_, a) = robot.random_state(seed), robot.random_state(seed + 50)
    rng = np.random.default_rng(seed)
    names = [joint.name for joint in robot.model.joints]
    one = robot.nq == robot.nv
    return SimpleNamespace(
        q=q, v=v, a=a, tip=robot.link_names[-1],
        lists=[x.tolist() for x in (q, v, a)],
        whole=[rng.integers(-3, 4, robot.nv) for _ in range(3)],
        named=[dict(zip(names, x.tolist(), strict=True)) for x in (q, v, a)] if one else None,
        strided=[np.repeat(x, 2)[::2] for x in (q, v, a)],
        rows=rng.normal(size=(robot.nlinks, 6)),
        twist=rng.normal(size=6),
        parameters=np.concatenate([x.components() for x in robot.model.inertias]) * rng.uniform(1.0, 1.1),
        vector=np.empty(robot.nv), matrix=np.empty((robot.nv, robot.nv)), jacobian=np.empty((6, robot.nv)),
    )  # fmt: skip


def wrench(s: SimpleNamespace, frame: str) -> rc.Wrench:
    return rc.Wrench(at=s.tip, force=tuple(s.twist[:3]), moment=tuple(s.twist[3:]), frame=frame)


TABLE: dict[str, Call] = {
    "arrays": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a),
    "lists": lambda r, s: r.inverse_dynamics(*s.lists),
    "tuples": lambda r, s: r.inverse_dynamics(*map(tuple, s.lists)),
    "mappings": lambda r, s: r.inverse_dynamics(*s.named),
    "whole numbers": lambda r, s: r.inverse_dynamics(*s.whole),
    "lists of whole numbers": lambda r, s: r.inverse_dynamics(*(x.tolist() for x in s.whole)),
    "strided arrays": lambda r, s: r.inverse_dynamics(*s.strided),
    "some of each": lambda r, s: r.inverse_dynamics(s.q, s.lists[1], s.named[2]),
    "keywords": lambda r, s: r.inverse_dynamics(q=s.q, v=s.v, a=s.a),
    "keywords, another order": lambda r, s: r.inverse_dynamics(a=s.a, q=s.q, v=s.v),
    "keywords after one, another order": lambda r, s: r.inverse_dynamics(s.q, a=s.lists[2], v=s.v),
    "keywords with options between": lambda r, s: r.inverse_dynamics(a=s.a, losses=True, q=s.q, out=s.vector, v=s.v),
    "optional arrays before inputs": lambda r, s: r.inverse_dynamics(
        parameters=s.parameters, a=s.a, wrenches=s.rows, v=s.v, q=s.q
    ),
    "out": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, out=s.vector),
    "losses": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, losses=True),
    "wrenches, an array": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, wrenches=s.rows),
    "wrenches, one": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, wrenches=wrench(s, "link")),
    "wrenches, a list": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, wrenches=[wrench(s, "world")]),
    "wrenches by link": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, wrenches={s.tip: s.twist}),
    "base acceleration": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, base_acceleration=s.twist),
    "parameters": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, parameters=s.parameters),
    "all of them": lambda r, s: r.inverse_dynamics(
        s.q, s.v, s.a, wrenches=s.rows, base_acceleration=s.twist, parameters=s.parameters, losses=True, out=s.vector
    ),
    "forward dynamics": lambda r, s: r.forward_dynamics(s.q, s.v, s.a),
    "forward dynamics, out": lambda r, s: r.forward_dynamics(s.q, s.v, s.a, out=s.vector),
    "forward dynamics, losses": lambda r, s: r.forward_dynamics(s.q, s.v, s.a, losses=True),
    "forward dynamics, wrenches": lambda r, s: r.forward_dynamics(s.q, s.v, s.a, wrenches=s.rows),
    "forward dynamics, parameters": lambda r, s: r.forward_dynamics(s.q, s.v, s.a, parameters=s.parameters),
    "forward dynamics, parameters first": lambda r, s: r.forward_dynamics(
        parameters=s.parameters, tau=s.a, v=s.v, q=s.q, wrenches={s.tip: s.twist}
    ),
    "mass matrix": lambda r, s: r.mass_matrix(s.q),
    "mass matrix, out": lambda r, s: r.mass_matrix(s.named[0], out=s.matrix),
    "mass matrix, packed": lambda r, s: r.mass_matrix(s.q, packed=True),
    "mass matrix, parameters": lambda r, s: r.mass_matrix(s.q, parameters=s.parameters),
    "Coriolis matrix, packed": lambda r, s: r.coriolis_matrix(s.q, s.v, packed=True),
    "regressor, packed": lambda r, s: r.regressor(s.q, s.v, s.a, packed=True),
    "Jacobian": lambda r, s: r.jacobian(s.q, s.tip),
    "Jacobian, frame": lambda r, s: r.jacobian(s.q, s.tip, frame="world"),
    "Jacobian, keywords": lambda r, s: r.jacobian(frame="mixed", link=s.tip, out=s.jacobian, q=s.q),
    "velocities, frame": lambda r, s: r.velocities(s.q, s.v, "mixed"),
    "accelerations, kind": lambda r, s: r.accelerations(s.q, s.v, s.a, kind="classical", frame="world"),
    "kinetic energy": lambda r, s: r.kinetic_energy(s.q, s.v),
    "derivatives": lambda r, s: np.array(r.inverse_dynamics_derivatives(s.q, s.v, s.a)),
    "derivatives, wrenches": lambda r, s: np.array(r.forward_dynamics_derivatives(s.q, s.v, s.a, wrenches=s.rows)),
    "along a direction": lambda r, s: r.linearize(s.q, s.v, s.a, direction=(s.a, s.q, s.v)),
    "operational inertia": lambda r, s: r.operational_inertia(s.q, s.tip, frame="world"),
}  # fmt: skip
TABLE |= {
    f"inverse dynamics, {name}": lambda r, s, name=name: r.inverse_dynamics(s.q, s.v, s.a, method=name)
    for name in get_args(InverseMethod)
}
TABLE |= {
    f"forward dynamics, {name}": lambda r, s, name=name: r.forward_dynamics(s.q, s.v, s.a, method=name)
    for name in get_args(ForwardMethod)
    if name not in ("composite", "conjugate-gradients", "least-squares", "base-invariant")  # made of others; flyers
    and name not in ("augmentation", "projection")  # of robots with constraints
}
TABLE |= {
    f"mass matrix, {name}": lambda r, s, name=name: r.mass_matrix(s.q, method=name) for name in get_args(MassMethod)
}
TABLE |= {
    "single precision": lambda r, s: r.inverse_dynamics(*(x.astype(np.float32) for x in (s.q, s.v, s.a))),
    "single precision, batch": lambda r, s: r.inverse_dynamics(*(_rows(x).astype(np.float32) for x in (s.q, s.v, s.a))),
    "single and double": lambda r, s: r.inverse_dynamics(_rows(s.q).astype(np.float32), _rows(s.v), _rows(s.a)),
    "a batch of one": lambda r, s: r.inverse_dynamics(s.q[None], s.v[None], s.a[None]),
    "an empty batch": lambda r, s: r.inverse_dynamics(*(_rows(x)[:0] for x in (s.q, s.v, s.a))),
    "one thread": lambda r, s: r.inverse_dynamics(_rows(s.q), _rows(s.v), _rows(s.a), threads=1),
    "two threads": lambda r, s: r.inverse_dynamics(_rows(s.q), _rows(s.v), _rows(s.a), threads=2, losses=True),
    "one state on threads": lambda r, s: r.mass_matrix(s.q, threads=3),
    "broadcast": lambda r, s: r.inverse_dynamics(s.q, _rows(s.v), _rows(s.a)[:, None]),
    "rows as lists": lambda r, s: r.inverse_dynamics(_rows(s.q).tolist(), _rows(s.v).tolist(), s.a.tolist()),
    "whole numbers in rows": lambda r, s: r.inverse_dynamics(_rows(s.q), np.arange(33).reshape(11, 3), s.a > 0),
    "columns": lambda r, s: r.inverse_dynamics(*(np.asfortranarray(_rows(x)) for x in (s.q, s.v, s.a))),
    "a few with parameters": lambda r, s: r.forward_dynamics(_rows(s.q), s.v, s.a, parameters=s.parameters),
}


def _rows(x: np.ndarray) -> np.ndarray:
    return x + 0.1 * np.arange(11)[:, None]


OTHERWISE: dict[str, Call] = {  # as docs/notes/measurements.md says
    "several results": lambda r, s: r.forward_dynamics(s.q, s.v, s.a, links=True),
    "mass matrix and solve": lambda r, s: r.forward_dynamics(s.q, s.v, s.a, method="composite"),
}


@pytest.fixture(scope="module")
def arm() -> rc.Robot:
    return rc.load(
        rc.robots.planar(3).to_urdf().replace("</joint>", '<dynamics damping="0.3" friction="0.2"/></joint>')
    )


@pytest.mark.parametrize("what", TABLE)
def test_this_spelling_goes_straight_in(arm: rc.Robot, what: str) -> None:
    call, later = TABLE[what], given(arm, 2)
    expected = np.copy(call(rc.Robot(arm.model), later))
    for _ in range(2):  # the first call learns; poses are learned by the first wrench that asks for them
        call(arm, given(arm, 1))
    with straight_in():
        found = call(arm, later)
    same_bits(np.asarray(found), expected, what)


@pytest.mark.parametrize("what", OTHERWISE)
def test_these_take_the_general_way(arm: rc.Robot, what: str) -> None:
    """If one of them no longer does, the page that says so is to be changed."""
    for _ in range(2):
        OTHERWISE[what](arm, given(arm, 1))
    with counted_evaluations() as counted:
        OTHERWISE[what](arm, given(arm, 1))
    assert counted


def test_a_free_flyer_goes_straight_in() -> None:
    robot = rc.robots.free_flyer(2)
    s = given(robot, 0)
    calls: list[Call] = [
        lambda r, s: r.forward_dynamics(s.q, s.v, s.a, method="base-invariant"),
        lambda r, s: r.forward_dynamics(tau=s.a, parameters=s.parameters, v=s.v, q=s.q),
        lambda r, s: r.mass_matrix(s.q.tolist(), packed=True),
    ]
    for call in calls:
        expected = call(robot, s)
        call(robot, s)
        with straight_in():
            same_bits(call(robot, s), expected)


# ---- parameters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["articulated", "three-sweep"])
def test_parameters_are_judged_at_every_state(arm: rc.Robot, method: str) -> None:
    """Also where the entry is there: a link without inertia is named, not divided by."""
    s = given(arm, 0)
    for _ in range(2):
        arm.forward_dynamics(s.q, s.v, s.a, parameters=s.parameters, method=method)
    without = s.parameters.copy()
    without[-10:] = 0.0
    for options in ({}, {"out": s.vector}):
        with pytest.raises(rc.SingularHingeError, match="in parameters="):
            arm.forward_dynamics(s.q, s.v, s.a, parameters=without, method=method, **options)
    without[-10:] = s.parameters[-10:] * 1e-20  # finite accelerations of nothing: judged by the margin
    expected = outcome(lambda: rc.Robot(arm.model).forward_dynamics(s.q, s.v, s.a, parameters=without, method=method))
    assert outcome(lambda: arm.forward_dynamics(s.q, s.v, s.a, parameters=without, method=method)) == expected


def outcome(call: Callable[[], np.ndarray]) -> Any:
    try:
        return call().tobytes()
    except rc.RecursaError as error:
        return str(error)


# ---- results that are handed out again ------------------------------------------------------------------------------


def results(robot: rc.Robot) -> Iterator[Callable[[], np.ndarray]]:
    s = given(robot, 0)
    for call in (
        lambda: robot.inverse_dynamics(s.q, s.v, s.a),
        lambda: robot.mass_matrix(s.q),
        lambda: robot.jacobian(s.q, s.tip, frame="world"),
    ):
        call(), call()
        yield call


def test_results_that_somebody_has_are_left_alone(arm: rc.Robot) -> None:
    for call in results(arm):
        many = [call() for _ in range(6)]
        assert len({x.ctypes.data for x in many}) == 6
        expected = many[0].copy()
        views = [call().T, call()[..., :1], memoryview(call()), call().reshape(-1).data, np.asarray(call())]
        kept = [np.array(x) for x in views]
        for x in many:
            x[...] = np.nan
        for _ in range(5):
            found = call()
            same_bits(found, expected)
            found[...] = -1.0
        for view, before in zip(views, kept, strict=True):
            assert np.array_equal(np.asarray(view), before)


def test_a_loop_takes_turns_between_two_results(arm: rc.Robot) -> None:
    for call in results(arm):
        seen = set()
        for _ in range(20):
            held = call()
            seen.add(held.ctypes.data)
        assert len(seen) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.setflags(write=False),
        lambda x: setattr(x, "shape", (1, *x.shape)),
        lambda x: setattr(x, "shape", (x.size,)),
        lambda x: setattr(x, "dtype", np.int64),
        lambda x: setattr(x, "dtype", ">f8"),
        lambda x: x.resize(1, refcheck=False),
        lambda x: x.fill(np.nan),
    ],
)
@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")
def test_changed_results_are_not_handed_out_again(arm: rc.Robot, change: Callable[[np.ndarray], None]) -> None:
    for call in results(arm):
        expected = call().copy()
        for _ in range(4):
            change(call())
            found = call()
            same_bits(found, expected)
            assert (found.shape, found.dtype, found.flags.writeable) == (expected.shape, expected.dtype, True)
            assert found.flags.owndata and found.base is None


def test_watched_results_are_not_handed_out_again(arm: rc.Robot) -> None:
    for call in results(arm):
        reference = weakref.ref(call())
        others = [call() for _ in range(3)]
        assert all(reference() is not x for x in others)
        assert reference() is None  # others have taken its place


def test_results_go_with_their_robot() -> None:
    robot = rc.robots.planar(2)
    q = np.zeros(2)
    reference = weakref.ref([robot.mass_matrix(q) for _ in range(3)][-1])
    del robot
    gc.collect()
    assert reference() is None


def test_only_small_results_are_kept() -> None:
    robot = rc.robots.chain(33)
    q = np.zeros(33)
    for call, kept in ((robot.mass_matrix, False), (robot.gravity_forces, True)):
        call(q), call(q)
        found = weakref.ref(call(q))
        assert (found() is not None) == kept


def test_a_given_out_takes_no_memory(arm: rc.Robot) -> None:
    s = given(arm, 0)
    calls: dict[str, Callable[[], object]] = {
        "vector": lambda: arm.inverse_dynamics(s.q, s.v, s.a, out=s.vector),
        "lists": lambda: arm.inverse_dynamics(*s.lists, out=s.vector),
        "options": lambda: arm.inverse_dynamics(s.q, s.v, s.a, losses=True, wrenches=s.rows, out=s.vector),
        "parameters": lambda: arm.forward_dynamics(s.q, s.v, s.a, parameters=s.parameters, out=s.vector),
        "matrix": lambda: arm.mass_matrix(s.q, out=s.matrix),
        "Jacobian": lambda: arm.jacobian(s.q, s.tip, frame="world", out=s.jacobian),
    }
    for name, call in calls.items():
        for _ in range(3):
            call()
        tracemalloc.start()
        try:
            call()
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            call()
            taken = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
        assert taken <= 300, f"{name}: {taken} bytes"  # the key of its spelling; an array's header alone is more


# ---- exceptions ------------------------------------------------------------------------------------------------------


def test_what_is_raised_while_looking_is_not_swallowed(arm: rc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: object) -> None:
        raise KeyboardInterrupt

    class Odd:
        _calls = property(interrupted)

    s = given(arm, 0)
    with pytest.raises(KeyboardInterrupt):
        rc.Robot.mass_matrix(Odd(), s.q)
    acting = wrench(s, "link")
    for _ in range(2):
        arm.inverse_dynamics(s.q, s.v, s.a, wrenches=acting)
    monkeypatch.setattr(rc.Wrench, "force", property(interrupted))
    with pytest.raises(KeyboardInterrupt):
        arm.inverse_dynamics(s.q, s.v, s.a, wrenches=acting)


def test_an_entry_that_is_asked_while_it_reads_answers_right(arm: rc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    s = given(arm, 0)
    acting = wrench(s, "link")
    expected = [arm.inverse_dynamics(x, x, x, wrenches=acting) for x in (s.lists[0], s.lists[1])]
    force, found = acting.force, []

    def asking(self: object) -> Any:
        monkeypatch.undo()
        found.append(arm.inverse_dynamics(s.lists[1], s.lists[1], s.lists[1], wrenches=acting))
        return force

    monkeypatch.setattr(rc.Wrench, "force", property(asking))
    found.append(arm.inverse_dynamics(s.lists[0], s.lists[0], s.lists[0], wrenches=acting))
    same_bits(found[0], expected[1])
    same_bits(found[1], expected[0])


def entry(*inputs: tuple[int, ...], shape: tuple[int, ...] = (2,), code: tuple[int, ...] | None = None) -> Any:
    return native.Entry(tuple(map(native.Input, inputs)), shape, None, (code, None, None, None), True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: native.Input((2**40, 2**40)),
        lambda: native.Input((2**62,)),
        lambda: entry((2,), shape=(2**32, 2**32)),
        lambda: entry((2,), shape=(2**21, 2**21, 2**21)),
        lambda: entry((2,), (3,)).ordered((0, 0)),
        lambda: entry((2,)).ordered((1,)),
        lambda: entry((2,)).guarded(entry((3,)), (0,)),
        lambda: entry((2,), code=(1, 1, 1)),
        lambda: entry((2,), code=(0, 1)),
    ],
)
def test_sizes_that_do_not_fit_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"needs|order|guard"):
        make()
