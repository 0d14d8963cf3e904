"""Arguments of single calls in other forms than arrays: the same bits, straight into native code, the same errors."""

from __future__ import annotations

import gc
import itertools
import sys
from functools import cache

import numpy as np
import pytest

import recursa as rc
from calling import straight_in
from numeric import same_bits
from questions import ONE_OF_EVERY_SORT, QUESTIONS, arguments, interpreted
from recursa.operational.pseudo_inverse import _by_numpy, pseudo_inverse
from zoo import mixed_tree

native = pytest.importorskip("recursa._entry", reason="the extension was not built")
pytestmark = pytest.mark.compiled

ROBOTS = {
    "stanford": rc.robots.stanford,
    "free_flyer": lambda: rc.robots.free_flyer(2).with_gravity((0.3, -0.2, -9.8)),  # joints of several freedoms
}
every_robot = pytest.mark.parametrize("name", ROBOTS)


@cache
def make(name):
    return ROBOTS[name]()


def by_name(robot, values, coordinates):
    """A vector as a mapping; joints with one number have a number."""
    named = {}
    for joint in robot.model.joints:
        start, count = (joint.q_start, joint.kind.nq) if coordinates else (joint.v_start, joint.kind.nv)
        part = values[start : start + count].tolist()
        named[joint.name] = part[0] if count == 1 else part
    return named


def strided(x):
    room = np.full(2 * len(x), np.nan)
    room[::2] = x
    return room[::2]


FORMS = {
    "lists": lambda robot, x, letter: x.tolist(),
    "tuples": lambda robot, x, letter: tuple(x.tolist()),
    "lists of NumPy's numbers": lambda robot, x, letter: list(x),
    "mappings": lambda robot, x, letter: by_name(robot, x, letter == "q"),
    "mappings in another order": lambda robot, x, letter: dict(reversed(by_name(robot, x, letter == "q").items())),
    "strided arrays": lambda robot, x, letter: strided(x),
    "mixed": lambda robot, x, letter: x.tolist() if letter == "q" else by_name(robot, x, False),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", ONE_OF_EVERY_SORT)
@every_robot
def test_forms_give_the_bits_of_arrays(name, what, form):
    robot = make(name)
    method, letters = QUESTIONS[what].method(robot), QUESTIONS[what].names
    rows = arguments(robot, 3)
    states = [[rows[letter][k] for letter in letters] for k in range(3)]
    others = [[FORMS[form](robot, x, letter) for x, letter in zip(state, letters, strict=True)] for state in states]
    method(*others[0])  # whatever comes first, is learned
    expected = [method(*state) for state in states]
    out = np.full_like(expected[0], np.nan)
    method(*others[0], out=out)
    with straight_in():
        for state, want in zip(others, expected, strict=True):
            same_bits(method(*state), want, form)
            assert method(*state, out=out) is out
            same_bits(out, want, f"{form}, out")


def test_joints_that_are_not_named_rest():
    robot = make("free_flyer")
    root, first, _ = (joint.name for joint in robot.model.joints)
    q = np.array([0, 0, 0, 0, 0, 0, 1, 0.4, 0.0])
    v = np.array([0, 0, 0, 0.1, 0.2, 0.3, 0, 0])
    expected = robot.bias_forces(q, v)
    given = {first: 0.4}, {root: (0, 0, 0, 0.1, 0.2, 0.3)}
    robot.bias_forces(*given)
    with straight_in():
        same_bits(robot.bias_forces(*given), expected)
        same_bits(robot.bias_forces({first: 0.4}, {root: v[:6]}), expected)
        same_bits(robot.bias_forces({}, {}), robot.bias_forces(robot.neutral(), np.zeros(8)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_pass_through(bad):
    robot = make("stanford")
    v = [0.1, bad, 0.2, 0.3, 0.4, 0.5]
    q = [0.3] * 6
    expected = robot.bias_forces(np.array(q), np.array(v))
    assert not np.isfinite(expected).all()
    assert np.array_equal(robot.bias_forces(q, v), expected, equal_nan=True)
    named = {joint.name: x for joint, x in zip(robot.model.joints, v, strict=True)}
    assert np.array_equal(robot.bias_forces(q, named), expected, equal_nan=True)


BAD = {
    "wrong length": ([0.1] * 5, rc.ShapeError, r"v has shape \(5,\), expected \(..., 6\)"),
    "wrong length of a tuple": ((0.1,) * 7, rc.ShapeError, r"v has shape \(7,\)"),
    "empty": ([], rc.ShapeError, r"v has shape \(0,\)"),
    "ragged": ([[0.1] * 6, [0.1] * 5], rc.ShapeError, "rows differ in length"),
    "strings": (["a"] * 6, rc.StateError, "v must be numbers"),
    "a string": ("zero", rc.StateError, "v must be numbers"),
    "numbers as strings": (["0.1"] * 6, rc.StateError, "v must be numbers"),
    "nothing": ([None] * 6, rc.StateError, "v must be numbers"),
    "a number": (0.1, rc.ShapeError, r"v has shape \(\)"),
    "too large a whole number": ([2**70] * 6, rc.StateError, "v must be numbers"),
    "unknown joint": ({"joint1": 0.1, "joynt2": 0.2}, rc.UnknownNameError, r"joynt2.*(?s:.*)joint2"),
    "another kind of name": ({"joint1": 0.1, 2: 0.2}, rc.UnknownNameError, "2"),
    "a string by name": ({"joint1": "far"}, rc.StateError, r"v\['joint1'\] must be numbers"),
    "too much by name": ({"joint1": [[0.1, 0.2], [0.3]]}, rc.ShapeError, r"v\['joint1'\]"),
    "masked": (np.ma.array([0.1] * 6), rc.StateError, "masked"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_forms_keep_their_errors(what):
    given, error, message = BAD[what]
    robot, q = rc.robots.stanford(), np.full(6, 0.3)
    texts = []
    for warm in (False, True):
        if warm:
            for v in (q, q.tolist(), {"joint1": 0.1}):
                for _ in range(2):
                    robot.bias_forces(q, v)
        with pytest.raises(error, match=message) as caught:
            robot.bias_forces(q, given)
        texts.append(str(caught.value))
    with pytest.raises(error) as caught:
        interpreted(lambda: robot.bias_forces(q, given))
    assert texts == [str(caught.value)] * 2


def test_a_free_joint_by_name_is_checked():
    robot = make("free_flyer")
    root = robot.model.joints[0].name
    v = np.zeros(robot.nv)
    for _ in range(2):
        robot.bias_forces({root: [0, 0, 0, 0, 0, 0, 1.0]}, v)
    with pytest.raises(rc.StateError, match="quaternion"):
        robot.bias_forces({root: [0, 0, 0, 0, 0, 0, 2.0]}, v)
    with pytest.raises(rc.StateError, match="quaternion"):
        robot.bias_forces([0, 0, 0, 0, 0, 0, 2, 0, 0], v)
    with pytest.raises(rc.ShapeError, match=rf"q\['{root}'\] has shape \(6,\), expected \(..., 7\)"):
        robot.bias_forces({root: [0, 0, 0, 0, 0, 1.0]}, v)


def test_single_precision_needs_single_precision_everywhere():
    robot = rc.robots.stanford()
    q, v = (x.astype(np.float32) for x in robot.random_state(1))
    for _ in range(2):
        assert robot.bias_forces(q.tolist(), v.tolist()).dtype == np.float64
        assert robot.bias_forces(q, v).dtype == np.float32
        assert robot.bias_forces(list(q), list(v)).dtype == np.float32
        assert robot.bias_forces(q, v.tolist()).dtype == np.float64
        assert robot.bias_forces(q.tolist(), v).dtype == np.float64
        assert robot.bias_forces(q, v.astype(float)).dtype == np.float64
        named = dict(zip((joint.name for joint in robot.model.joints), v, strict=True))
        assert robot.bias_forces(q, named).dtype == np.float32
        assert robot.bias_forces(q, named | {"joint1": 0.5}).dtype == np.float64
    assert robot.bias_forces(np.zeros(6, int).tolist(), [True, 0, 0, 0, 0, 0]).dtype == np.float64


def test_batches_in_lists_are_batches():
    robot = make("stanford")
    q, v = robot.random_state(1)
    for _ in range(2):
        robot.bias_forces(q.tolist(), v.tolist())
    same_bits(robot.bias_forces([q.tolist()] * 3, v.tolist()), np.stack([robot.bias_forces(q, v)] * 3))
    same_bits(robot.bias_forces({"joint1": [0.0, 1.0]}, v)[1], robot.bias_forces({"joint1": 1.0}, v))


# ---- optional arrays -------------------------------------------------------------------------------------------------


def test_optional_arrays_go_straight_in_and_by_name():
    robot = mixed_tree()
    plain = rc.Robot(robot.model)  # which is only asked where nothing is compiled, and so learns no native entries
    (q, v), a = robot.random_state(1), robot.random_state(2)[1]
    rng = np.random.default_rng(0)
    options = {
        "wrenches": rng.normal(size=(robot.nlinks, 6)),
        "losses": True,
        "base_acceleration": rng.normal(size=6),
        "parameters": np.concatenate([i.components() for i in robot.model.inertias]) * 1.1,
    }
    for count in range(5):
        for names in itertools.combinations(options, count):
            given = {name: options[name] for name in names}
            expected = interpreted(lambda given=given: plain.inverse_dynamics(q, v, a, **given))
            robot.inverse_dynamics(q, v, a, **given)
            with straight_in():
                found = robot.inverse_dynamics(q, v, a, **given)
            assert np.allclose(found, expected, rtol=1e-11, atol=1e-11)
            backwards = dict(reversed(given.items()))
            for _ in range(2):
                same_bits(robot.inverse_dynamics(q, v, a, **backwards), found, f"{[*backwards]}")
            if "base_acceleration" in names:
                continue
            for ask in (robot.forward_dynamics, robot.forward_dynamics):
                answer = ask(q, v, a, **given)
            expected = interpreted(lambda given=given: plain.forward_dynamics(q, v, a, **given))
            assert np.allclose(answer, expected, rtol=1e-9, atol=1e-9)
    robot.mass_matrix(q, parameters=options["parameters"])
    with straight_in():
        found = robot.mass_matrix(q, parameters=options["parameters"])
    assert np.allclose(found, interpreted(lambda: plain.mass_matrix(q, parameters=options["parameters"])))


def wrenches_of(robot):
    links = robot.link_names
    first = rc.Wrench(at=links[-1], force=(1.0, -2.0, 3.0), moment=(0.1, 0.2, 0.3), point=(0.3, -0.1, 0.2))
    second = rc.Wrench(at=links[1], force=[0, 5, 0], point=np.array([0.0, 0.1, 0.7]), frame="link")
    third = rc.Wrench(at=links[-1], moment=np.array([1.0, 2.0, 3.0]))
    return {
        "one": first,
        "a list": [first],
        "a tuple": (second,),
        "several": [first, second, third, first],
        "none": [],
    }


class General(list):
    """A list that entries do not know."""


@pytest.mark.parametrize("which", wrenches_of(rc.robots.planar()))
@every_robot
def test_wrenches_give_the_bits_of_their_array(name, which):
    robot = make(name)
    (q, v), a = robot.random_state(1), robot.random_state(2)[1]
    wrenches = wrenches_of(robot)[which]
    robot.inverse_dynamics(q, v, a, wrenches=np.zeros((robot.nlinks, 6)))  # an array first: poses are not known yet
    for ask in (robot.inverse_dynamics, robot.forward_dynamics, robot.diagonal.rates):
        expected = ask(q, v, a, wrenches=General(wrenches if isinstance(wrenches, list | tuple) else [wrenches]))
        ask(q, v, a, wrenches=wrenches)
        with straight_in():
            same_bits(ask(q, v, a, wrenches=wrenches), expected, which)
            same_bits(ask(q.tolist(), v, a, wrenches=wrenches), expected, which)


def test_wrenches_by_link_are_rows_of_the_array():
    robot = make("stanford")
    (q, v), a = robot.random_state(1), robot.random_state(2)[1]
    array = np.zeros((robot.nlinks, 6))
    array[2], array[-1] = np.arange(6.0), -np.arange(6.0)
    second, last = robot.link_names[2], robot.link_names[-1]
    expected = robot.inverse_dynamics(q, v, a, wrenches=array)
    same_bits(robot.inverse_dynamics(q, v, a, wrenches={second: array[2], last: array[-1].tolist()}), expected)
    push = rc.Wrench(at=last, force=array[-1, 3:], moment=array[-1, :3], frame="link")
    same_bits(robot.inverse_dynamics(q, v, a, wrenches={second: tuple(array[2]), last: push}), expected)
    for wrong in ({second: push}, {"wrist": push}, {second: [1.0, 2.0, 3.0]}):
        with pytest.raises((rc.RecursaError, TypeError)):
            robot.inverse_dynamics(q, v, a, wrenches=wrong)


def test_wrenches_are_read_anew_in_every_call():
    robot = make("stanford")
    (q, v), a = robot.random_state(1), robot.random_state(2)[1]
    tip = robot.link_names[-1]
    plain = robot.inverse_dynamics(q, v, a)
    J = robot.jacobian(q, tip, frame="mixed")
    for k in range(5):
        force = np.array([k, -2.0 * k, 1.0])
        found = robot.inverse_dynamics(q, v, a, wrenches=[rc.Wrench(at=tip, force=force)])
        assert np.allclose(found, plain - J[3:].T @ force)


@pytest.mark.parametrize(
    ("wrench", "message"),
    [
        (lambda: rc.Wrench(at="tipp", force=(1, 0, 0)), "tipp"),
        (lambda: rc.Wrench(at="tip", force=(1, 0)), r"force.*\(2,\)"),
        (lambda: rc.Wrench(at="tip", frame="body"), "body"),
        (lambda: np.zeros((2, 6)), r"wrenches has shape \(.*2, 6\)"),
    ],
)
def test_bad_wrenches_keep_their_errors(wrench, message):
    robot, x = rc.robots.planar(2), np.zeros(2)
    for _ in range(2):
        robot.inverse_dynamics(x, x, x, wrenches=[rc.Wrench(at="tip", force=(1, 0, 0))])
    for given in (wrench(), [wrench()]):
        with pytest.raises(rc.RecursaError, match=message):
            robot.inverse_dynamics(x, x, x, wrenches=given)


def test_batches_of_wrenches_are_batches():
    robot = make("stanford")
    (q, v), a = robot.random_state(1), robot.random_state(2)[1]
    forces = np.arange(6.0).reshape(2, 3)
    tip = robot.link_names[-1]
    one = [robot.inverse_dynamics(q, v, a, wrenches=rc.Wrench(at=tip, force=force)) for force in forces]
    same_bits(robot.inverse_dynamics(q, v, a, wrenches=rc.Wrench(at=tip, force=forces)), np.stack(one))


# ---- sensitivities ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stanford", "free_flyer"])
@pytest.mark.parametrize(
    "vectors", [c for k in range(4) for c in itertools.combinations(("left", "right", "along"), k)]
)
def test_sensitivities_go_straight_in(name, vectors):
    robot = make(name)
    q, rng = robot.random_state(3)[0], np.random.default_rng(1)
    given = {one: rng.normal(size=robot.nv) for one in vectors}
    ask = robot.diagonal.sensitivity
    ask(q, **given)
    with straight_in():
        found = ask(q, **given)
        lists = ask(q.tolist(), **{one: x.tolist() for one, x in given.items()})
    same_bits(lists, found)
    same_bits(found, ask(q[None], **given)[0])
    whole = interpreted(lambda: ask(q))
    axes = {"left": "i", "right": "j", "along": "k"}
    rest = "".join(axis for one, axis in axes.items() if one not in given)
    expected = np.einsum(",".join(["ijk", *(axes[one] for one in given)]) + "->" + rest, whole, *given.values())
    assert np.abs(found - expected).max() <= 1e-12 * max(1.0, np.abs(whole).max())


@pytest.mark.parametrize("name", ["stanford", "free_flyer"])
def test_formulas_with_constants_go_straight_in(name, monkeypatch):
    """The sensitivity of an expression by a joint has that joint's unit vector in it."""
    robot = make(name)
    joint = robot.model.joints[1].name
    q, x = robot.random_state(3)[0], robot.random_state(4)[1]
    for expression in (robot.operators.mass.sensitivity(joint), robot.operators.mass):
        f = rc.compile(expression)
        expected = f(q, None, x)
        single = f(q.astype(np.float32), None, x.astype(np.float32))
        assert single.dtype == np.float32 and np.allclose(single, expected, rtol=1e-3, atol=1e-3)
        with monkeypatch.context() as patch:
            patch.delattr("recursa.evaluation.resolved_quantity.prepare")
            same_bits(f(q, None, x), expected)
            same_bits(f(q.tolist(), None, by_name(robot, x, False)), expected)
            out = np.empty_like(expected)
            assert f(q, None, x, out=out) is out
            same_bits(out, expected)
        same_bits(f(q[None], None, x)[0], expected)
        with pytest.raises(rc.ShapeError, match="x has shape"):
            f(q, None, x[:-1])
        with pytest.raises(rc.ShapeError, match="out has shape"):
            f(q, None, x, out=np.empty(3))


# ---- inverses with a rank --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ["body", "mixed", "world"])
@pytest.mark.parametrize(
    ("robot", "link", "ranks"),
    [
        (rc.robots.panda_like(), "flange", {5, 6}),
        (rc.robots.panda_like(), "link3", {2, 3}),
        (rc.robots.planar(3), "tip", {2, 3}),
        (rc.robots.puma560(), "link6", {5, 6}),
        (rc.robots.free_flyer(2), "link2", {6}),
    ],
    ids=["panda", "its third link", "planar", "puma", "free_flyer"],
)
def test_operational_inertia_goes_straight_in(robot, link, ranks, frame):
    states = [robot.random_state(seed)[0] for seed in range(4)]
    if robot.nq != 9:
        states += [np.zeros(robot.nq)]
    robot.operational_inertia(states[0], link, frame=frame)
    with straight_in():
        found = [robot.operational_inertia(q, link, frame=frame) for q in states]
        listed = robot.operational_inertia(states[1].tolist(), link, frame=frame)
    together = robot.operational_inertia(np.stack(states), link, frame=frame)
    assert {x.rank for x in found} == ranks
    for q, one, row in zip(states, found, together, strict=True):
        same_bits(one, row)
        assert one.rank == row.rank and type(one) is type(row) and type(one.rank) is int
        compliance = robot.operational_compliance(q, link, frame=frame)
        assert np.abs(one @ compliance @ one - one).max() <= 1e-6 * np.abs(one).max()
        assert np.array_equal(one, one.T) or robot.nq == 9
        out = np.empty((6, 6))
        assert robot.operational_inertia(q, link, frame=frame, out=out) is out
        same_bits(out, one)
        keeper = one.copy()
        keeper.rank = None
        assert robot.operational_inertia(q, link, frame=frame, out=keeper).rank == one.rank
    assert listed.rank == found[1].rank
    for _ in range(2):
        assert robot.operational_inertia(states[0], link, frame=frame, tolerance=0.99).rank < 6 or robot.nq == 9


@pytest.mark.parametrize("size", [1, 3, 6, 12, 24])
def test_pseudo_inverses_agree_with_eigenvectors(size):
    rng = np.random.default_rng(size)
    scale = rng.uniform(0.3, 3.0, size)
    for rank in {0, 1, size // 2, size}:
        factors = rng.normal(size=(50, size, rank))
        found, ranks = pseudo_inverse(factors, scale)
        expected, wanted = _by_numpy(factors, scale, 1e-12)
        assert set(ranks) == set(wanted) == {rank}
        error = np.abs(found - expected).max(axis=(1, 2))
        matrices = factors @ factors.swapaxes(1, 2)
        conditions = np.abs(matrices).max(axis=(1, 2)) * np.abs(expected).max(axis=(1, 2)) * size
        assert (error <= 1e-13 * conditions * np.abs(expected).max(axis=(1, 2))).all()
        for k in (0, 49):
            same_bits(pseudo_inverse(factors[k], scale)[0], found[k])


@pytest.mark.parametrize("tolerance", [None, 1e-3, 1e-8, 0.0])
def test_ranks_count_eigenvalues_above_the_limit(tolerance):
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    limit = 1e-12 if tolerance is None else tolerance
    for least in (1.0, 1e-2, 2e-3, 5e-4, 1e-6, 2e-8, 5e-9, 2e-12, 5e-13):
        values = np.array([1.0, 0.9, 0.8, 0.7, 0.6, least])
        _, rank = pseudo_inverse(basis * np.sqrt(values) @ basis.T, np.ones(6), tolerance)
        assert int(rank) == 5 + (least > limit)


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_nothing_is_kept_of_the_arguments():
    robot = rc.robots.planar(2)
    numbers, text = [0.25, 0.75], "joint1"
    named = {text: numbers[0]}
    force = (1.0, 2.0, 3.0)
    wrench = rc.Wrench(at="tip", force=force)
    forms = [numbers, tuple(numbers), named, [wrench], ["far"], {"joynt": 0.1}, {text: "far"}]

    def ask():
        for x in forms[:3]:
            robot.bias_forces(x, x)
            robot.inverse_dynamics(x, x, x, wrenches=forms[3])
            robot.operational_inertia(x, "tip")
        for x in forms[4:]:
            with pytest.raises(rc.RecursaError):
                robot.bias_forces(x, numbers)

    held = (*forms, *numbers, text, force, wrench)
    for _ in range(3):
        ask()
    gc.collect()
    before = [sys.getrefcount(x) for x in held]
    blocks = sys.getallocatedblocks()
    for _ in range(50):
        ask()
    gc.collect()
    assert [sys.getrefcount(x) for x in held] == before
    assert sys.getallocatedblocks() - blocks < 200


def test_robots_that_know_wrenches_are_collected():
    def entries():
        gc.collect()
        return sum(type(x) in (native.Entry, native.Input) for x in gc.get_objects())

    before = entries()
    robot, x = rc.robots.planar(2), np.zeros(2)
    for _ in range(2):
        robot.inverse_dynamics(x, x, x, wrenches=[rc.Wrench(at="tip", force=(1, 0, 0))])
        robot.operational_inertia(x, "tip")
    assert entries() > before
    del robot
    assert entries() == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"shape": ()},
        {"shape": (-1,)},
        {"shape": (2, 3, 4)},
        {"shape": ("x",)},
        {"shape": (2,), "quaternions": (0,)},
        {"shape": (2,), "places": {"a": (1, 2)}, "neutral": np.zeros(2)},
        {"shape": (2,), "places": {"a": (0, 1)}, "neutral": np.zeros(3)},
        {"shape": (2,), "places": {"a": (0, 1)}},
        {"shape": (2,), "places": {"a": 0}, "neutral": np.zeros(2)},
        {"shape": (2, 6), "places": {"a": 2}, "wrench": rc.Wrench, "entries": {}, "poses": "poses"},
        {"shape": (2, 6), "places": {"a": 1}, "wrench": rc.Wrench},
    ],
)
def test_inputs_that_cannot_be_read_are_refused(wrong):
    with pytest.raises((ValueError, TypeError)):
        native.Input(**wrong)
