"""The native way in for single states: every method, every spelling of its options, out=, and when it declines."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import recursa as rc
from calling import counted_evaluations
from numeric import close, states, tied_gripper
from questions import interpreted
from recursa.kernels.dispatch import Switch
from recursa.quantities import quantity
from zoo import ZOO

native = pytest.importorskip("recursa._entry", reason="the extension was not built")
pytestmark = pytest.mark.compiled

FRAMES, KINDS = ("body", "mixed", "world"), ("spatial", "classical")


def native_method(name):
    """The method that native code answers; of one that returns parts of its answer, that of the whole."""
    found = inspect.getattr_static(rc.Robot, name)
    return found if isinstance(found, native.Method) else getattr(found, "__wrapped__", None)


METHODS = [name for name in dir(rc.Robot) if isinstance(native_method(name), native.Method)]
OPTIONS = {  # beside these, methods have none that entries know
    "pose": {"link": ("link1", "tip")},
    "velocities": {"frame": FRAMES},
    "accelerations": {"frame": FRAMES, "kind": KINDS},
    "jacobian": {"link": ("tip",), "frame": FRAMES},
    "jacobian_derivative": {"link": ("tip",), "frame": FRAMES},
    "jacobian_second_derivative": {"link": ("tip",), "frame": FRAMES},
    "jacobians": {"frame": FRAMES},
    "pose_error": {"link": ("tip",)},
    "manipulability": {"link": ("tip",), "task": ("pose", "position", "orientation")},
    "velocity_derivatives": {"link": ("tip",), "frame": FRAMES},
    "acceleration_derivatives": {"link": ("tip",), "frame": FRAMES, "kind": KINDS},
    "link_regressor": {"link": ("tip",)},
    "momentum_rate": {"about": ("com", "world")},
    "momentum_derivatives": {"about": ("com", "world")},
    "momentum": {"about": ("com", "world")},
    "inverse_dynamics": {"method": ("newton-euler",), "losses": (False, True, "damping"), "wrenches": (None,)},
    "forward_dynamics": {"method": (None, "articulated"), "losses": (False, True, "friction"), "links": (False,)},
    "_hybrid_dynamics": {"prescribed": (("joint1",),), "losses": (False, True)},
    "mass_matrix": {"method": ("composite",), "parameters": (None,)},
    "operational_compliance": {"link": (None, "tip"), "frame": ("body",)},
    "operational_inertia": {"link": ("tip",), "frame": FRAMES},
    "operational_compliance_between": {"link": ("tip",), "other": ("link1",), "frame": ("world",)},
}
ROBOTS = {
    "straight": lambda: with_losses(rc.robots.planar(2)),
    "loop": lambda: with_losses(rc.robots.planar(2)),
    "free_flyer": lambda: rc.robots.free_flyer(1).with_frame("tip", "link1", xyz=(0.1, 0.2, 0.3)),
}


def with_losses(robot):
    urdf = robot.to_urdf(extensions=True).replace("</joint>", '<dynamics damping="0.3" friction="0.2"/></joint>')
    return rc.load(urdf)


@pytest.fixture(params=ROBOTS)
def robot(request, monkeypatch):
    monkeypatch.setattr(Switch, "form", "loop" if request.param == "loop" else None)
    return ROBOTS[request.param]()


@pytest.fixture
def evaluations():
    """Counts the calls that take the general way."""
    with counted_evaluations() as counted:
        yield counted


def parameters(name):
    return dict(itertools.islice(inspect.signature(getattr(rc.Robot, name)).parameters.items(), 1, None))


def inputs(robot, name, seed=0):
    """Arrays by name, for those arguments that are."""
    (q, v), (q1, a) = robot.random_state(seed), robot.random_state(seed + 100)
    known = {"q": q, "q0": q, "q1": q1, "v": v, "dq": a, "dv": v, "a": a, "da": v, "tau": a, "contract": a}
    known |= {"v_r": a, "a_r": v}
    known["pose"] = robot.pose(q1, robot.link_names[-1])
    return {one: known[one] for one, p in parameters(name).items() if p.default is p.empty and one in known}


def general(robot, name, *args, **kwargs):
    return native_method(name).__wrapped__(robot, *args, **kwargs)


def choices(name):
    options = OPTIONS.get(name, {})
    return [dict(zip(options, values, strict=True)) for values in itertools.product(*options.values())]


def spellings(name, arrays, options):
    """Arguments by position or keyword, keywords in any order, defaults there or not."""
    form = parameters(name)
    shorter = {one: value for one, value in options.items() if value != form[one].default}
    for chosen in [options] if shorter == options else [options, shorter]:
        values = {one: (arrays | chosen)[one] for one in form if one in arrays | chosen}
        orderly = [one for one, p in form.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        for count in range(len(orderly) + 1):
            if not set(orderly[:count]) <= values.keys():
                continue
            args = [values[one] for one in orderly[:count]]
            rest = {one: value for one, value in values.items() if one not in orderly[:count]}
            for names in (rest, [*sorted(rest.keys() - arrays, reverse=True), *(x for x in rest if x in arrays)]):
                yield args, {one: rest[one] for one in names}


def test_every_method_of_states_has_a_native_way():
    batched = [n for n in dir(rc.Robot) if callable(getattr(rc.Robot, n)) and n[0] != "_" and "out" in parameters(n)]
    several = {  # arrays, made of one
        "linearize", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
        "inverse_dynamics_second_derivatives",
    }  # fmt: skip
    composed = {"interpolate", "condition"}
    inverted = {"delassus", "delassus_inverse"}  # lists of links
    rebased = {"base_transform", "base_transform_derivative", "rebase_acceleration", "rebase_forces"}  # seldom asked
    assert set(batched) - set(METHODS) == {*composed, *several, *inverted, *rebased}
    assert {name for name in METHODS if name[0] != "_"} <= set(batched)
    assert {"_inverse_derivatives", "_forward_derivatives", "_state_space", "_second_contracted", "_tangent"} <= set(
        METHODS
    )
    assert set(OPTIONS) <= set(METHODS)


CONSTRAINED = ("project_velocity", *(name for name in METHODS if name.startswith(("constraint_", "constrained_"))))


@pytest.mark.parametrize("name", [name for name in METHODS if name != "constrained_compliance"])  # made of others
def test_entries_agree_with_the_general_way_in_every_spelling(robot, name, evaluations):
    if name in CONSTRAINED:
        robot = robot.with_constraints(rc.Contact("point", robot.link_names[-1], at=(0.1, 0.0, 0.0)))
    method = native_method(name).__get__(robot)
    for options in choices(name):
        arrays, later = inputs(robot, name), inputs(robot, name, seed=1)
        expected = general(robot, name, **later, **options)
        method(**arrays, **options)
        learned = {call if isinstance(call, str) else call[0] for call in robot._calls}
        if native_method(name).quantity.name not in learned and Switch.form == "loop":
            pytest.skip("no kernel, so no entry")
        for (args, kwargs), (others, more) in zip(
            spellings(name, arrays, options), spellings(name, later, options), strict=True
        ):
            method(*args, **kwargs)
            evaluations.clear()
            found = method(*others, **more)
            assert not evaluations, f"{name} {[*kwargs]} {options} took the general way"
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected)
            assert found is not method(*others, **more)
            out = np.full(expected.shape, np.nan)
            assert method(*others, **more, out=out) is out
            evaluations.clear()
            assert method(*others, out=out, **more) is out
            assert method(*others, out=None, **more) is not out
            method(*others, out=None, threads=None, **more)
            evaluations.clear()
            assert np.array_equal(method(*others, out=None, threads=None, **more), expected)
            assert not evaluations
            assert np.array_equal(out, expected)


def test_inputs_by_keyword_in_another_order_are_not_mixed_up():
    robot = rc.robots.planar(2)
    q, v = robot.random_state(0)
    a = robot.random_state(1)[1]
    expected = robot.inverse_dynamics(q, v, a)
    for names in itertools.permutations("qva"):
        given = {"q": q, "v": v, "a": a}
        for _ in range(3):
            assert np.array_equal(robot.inverse_dynamics(**{one: given[one] for one in names}), expected)
            assert np.array_equal(robot.inverse_dynamics(q, a=a, v=v), expected)


def test_options_are_not_mixed_up():
    robot = rc.robots.panda_like()
    q, v = robot.random_state(1)
    moved = {frame: general(robot, "velocities", q, v, frame) for frame in FRAMES}
    for frame in FRAMES * 3:
        assert np.array_equal(robot.velocities(q, v, frame=frame), moved[frame])
        assert np.array_equal(robot.velocities(q, v, frame), moved[frame])
        assert np.array_equal(robot.velocities(q, v), moved["body"])
        for link in ("link3", "flange"):
            expected = general(robot, "jacobian", q, link, frame=frame)
            assert np.array_equal(robot.jacobian(q, frame=frame, link=link), expected)
            assert np.array_equal(robot.jacobian(q, link, frame=frame), expected)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda r, q: r.velocities(q, q, "wrld"), "wrld"),
        (lambda r, q: r.velocities(q, q, frame=True), "True"),
        (lambda r, q: r.velocities(q, q, frame=["world"]), "world"),
        (lambda r, q: r.velocities(q, q, frame=None), "None"),
        (lambda r, q: r.accelerations(q, q, q, kind="klassical"), "klassical"),
        (lambda r, q: r.jacobian(q, "tipp", frame="world"), "tipp"),
        (lambda r, q: r.jacobian(q, "tip", frame="tip"), "tip"),
        (lambda r, q: r.momentum(q, q, about="tip"), "tip"),
        (lambda r, q: r.momentum(q, q, about={}), "reference point"),
        (lambda r, q: r.inverse_dynamics(q, q, q, method="lagrange"), "lagrange"),
        (lambda r, q: r.forward_dynamics(q, q, q, method="lagrange"), "lagrange"),
        (lambda r, q: r.mass_matrix(q, method="lagrange"), "lagrange"),
        (lambda r, q: r.velocities(q, q, fram="world"), "fram"),
        (lambda r, q: r.velocities(q, q, "world", frame="world"), "frame"),
        (lambda r, q: r.velocities(q, frame="world"), "'v'"),
        (lambda r, q: r.velocities(q, q[:1], frame="world"), r"\(1,\)"),
        (lambda r, q: r.velocities("world", q, q), "no frame"),
        (lambda r, q: r.velocities("world", q), "numbers"),
        (lambda r, q: r.velocities(q, q, threads="two"), "threads"),
        (lambda r, q: r.velocities(q, q, frame="world", threads=0), "threads"),
    ],
)
def test_bad_options_keep_their_errors_and_leave_nothing(call, error):
    robot, other = rc.robots.planar(2), rc.robots.planar(2)
    q = np.zeros(2)
    for ask in (robot.velocities, robot.momentum):
        for _ in range(2):
            ask(q, q)
            ask(q, q, "world")
    robot.jacobian(q, "tip")
    known = dict(robot._calls), dict(robot.evaluator._resolved)
    for one in (robot, other, robot):  # with and without entries
        with pytest.raises((rc.RecursaError, TypeError, ValueError), match=error):
            call(one, q)
    assert (robot._calls, robot.evaluator._resolved) == known
    assert not other._calls


def test_dictionaries_are_bounded_by_what_can_be_asked():
    robot = rc.robots.planar(2)
    q = np.zeros(2)
    for k in range(300):
        robot.velocities(q + k, q, frame="".join(["wor", "ld"]))  # a new string each time
        robot.pose(q, "tip", out=np.empty((4, 4)))
        robot.inverse_dynamics(q, q, q, wrenches=np.zeros((robot.nlinks, 6)))
        robot.inverse_dynamics(q, q, q, base_acceleration=np.zeros(6))
        robot.inverse_dynamics(q, q, q, wrenches=[rc.Wrench(force=(k, 0, 0), at="tip")])
        robot.velocities(q, q, threads=k + 1)
    assert {call for call in robot._calls if isinstance(call, str) or isinstance(call[0], str)} == {
        ("velocities", ..., ..., ("frame",), "world"),
        ("pose", ..., "tip", ("out",), ...),
        ("inverse_dynamics", ..., ..., ..., ("wrenches",), ...),
        ("inverse_dynamics", ..., ..., ..., ("base_acceleration",), ...),
        "poses",  # by which wrenches find their link
        "velocities",  # with any number of threads
    }
    asked = [(question.quantity.name, *question.given) for question in robot._evaluator._resolved]
    assert sorted(asked) == [
        ("inverse_dynamics", "base_acceleration"),
        ("inverse_dynamics", "wrenches"),
        ("pose",),
        ("poses",),
        ("velocities",),
        ("velocities",),
    ]


def test_optional_arrays_are_never_taken_for_inputs():
    robot = rc.robots.planar(2)
    q = np.full(2, 0.3)
    plain = robot.inverse_dynamics(q, q, q)
    for _ in range(3):
        assert not np.allclose(robot.inverse_dynamics(q, q, q, base_acceleration=np.ones(6)), plain)
        assert not np.allclose(robot.mass_matrix(q, parameters=np.ones(20)), robot.mass_matrix(q))


# ---- out= ----------------------------------------------------------------------------------------------------------


def warm(robot):
    q, v = robot.random_state(3)
    a = robot.random_state(4)[1]
    for _ in range(2):
        robot.inverse_dynamics(q, v, a)
        robot.inverse_dynamics(q, v, a, losses=True)
    return q, v, a


@pytest.mark.parametrize("options", [{}, {"losses": True}])
@pytest.mark.parametrize("form", ["straight", "loop"])
def test_out_may_be_an_input(form, options, monkeypatch):
    monkeypatch.setattr(Switch, "form", form)
    robot = rc.robots.puma560()
    q, v, a = warm(robot)
    expected = robot.inverse_dynamics(q, v, a, **options)
    for which in range(3):
        state = [q.copy(), v.copy(), a.copy()]
        assert robot.inverse_dynamics(*state, out=state[which], **options) is state[which]
        assert np.array_equal(state[which], expected)
    for shift in (-3, -1, 1, 5, 6):
        room = np.zeros(30)
        mine, out = room[12:18], room[12 + shift : 18 + shift]
        mine[:] = v
        robot.inverse_dynamics(q, mine, a, out=out, **options)
        assert np.array_equal(out, expected)


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
def test_out_of_a_batch_may_overlap_an_input(shift):
    robot = rc.robots.stanford()
    q, v, a = (np.tile(x, (4, 1)) for x in states(robot, 10))
    expected = robot.inverse_dynamics(q, v, a)
    for ask in (robot.inverse_dynamics, lambda *x, **k: interpreted(lambda: robot.inverse_dynamics(*x, **k))):
        room = np.zeros((44, 6))
        mine, out = room[2:42], room[2 + shift : 42 + shift]
        mine[:] = a
        ask(q, v, mine, out=out)
        assert np.allclose(out, expected, rtol=1e-12)


def test_out_that_does_not_fit_is_explained_or_converted():
    robot = rc.robots.puma560()
    q, v, a = warm(robot)
    expected = robot.inverse_dynamics(q, v, a)
    readonly = np.empty(6)
    readonly.flags.writeable = False
    wrong = {
        "shape": np.empty(7),
        r"shape \(1, 6\)": np.empty((1, 6)),
        "writeable": readonly,
        "int": np.empty(6, int),
        "NumPy array": [0.0] * 6,
        "not str": "out",
        "not bool": True,
    }
    for message, out in wrong.items():
        for options in ({}, {"method": "newton-euler"}):
            with pytest.raises(rc.ShapeError, match=message):
                robot.inverse_dynamics(q, v, a, out=out, **options)
    for out in (np.empty(6, ">f8"), np.empty(12)[::2], np.empty(6, complex), np.empty(49, np.int8)[1:].view(float)):
        assert robot.inverse_dynamics(q, v, a, out=out) is out
        assert np.array_equal(out, expected)
    single = np.empty(6, np.float32)
    assert np.allclose(robot.inverse_dynamics(q, v, a, out=single), expected, rtol=1e-5)


def test_subclasses_take_the_general_way():
    robot = rc.robots.puma560()
    q, v, a = warm(robot)
    expected = robot.inverse_dynamics(q, v, a)

    class Mine(np.ndarray):
        pass

    assert np.array_equal(robot.inverse_dynamics(q.view(Mine), v, a), expected)
    out = np.empty(6).view(Mine)
    assert robot.inverse_dynamics(q, v, a, out=out) is out
    assert np.array_equal(out, expected)
    with pytest.raises(rc.StateError, match="masked"):
        robot.inverse_dynamics(np.ma.array(q), v, a)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_pass_through(bad):
    robot = rc.robots.puma560()
    q, v, a = warm(robot)
    a[2] = bad
    expected = general(robot, "inverse_dynamics", q, v, a)
    assert not np.isfinite(expected).all()
    out = np.zeros(6)
    assert robot.inverse_dynamics(q, v, a, out=out) is out
    assert np.array_equal(out, expected, equal_nan=True)
    assert np.array_equal(robot.inverse_dynamics(q, v, a, method="newton-euler"), expected, equal_nan=True)


def test_singular_hinges_are_named_after_the_entry_is_there():
    b = rc.Builder("loose")
    b.link("arm", mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02)).link("tip", mass=1.0, com=(0, 0.1, 0))
    b.joint("shoulder", "prismatic", parent="world", child="arm")
    b.joint("wrist", "revolute", parent="arm", child="tip", axis=(0, 1, 0), xyz=(0.4, 0, 0))
    robot = b.build(strict=False)
    state = np.zeros((3, 2))
    for out in (None, np.empty(2)):
        for options in ({}, {"method": "articulated"}, {"losses": True}):
            for _ in range(3):
                with pytest.raises(rc.SingularHingeError, match="'wrist'"):
                    robot.forward_dynamics(*state, out=out, **options)


def test_quaternions_are_checked_in_every_argument():
    robot = rc.robots.free_flyer()
    (q, v), (q1, _) = robot.random_state(1), robot.random_state(2)
    for _ in range(2):
        robot.difference(q, q1)
        robot.integrate(q, v)
    wrong = q.copy()
    wrong[6] += 0.1
    for call in (
        lambda: robot.difference(wrong, q1),
        lambda: robot.difference(q, wrong),
        lambda: robot.integrate(wrong, v),
    ):
        with pytest.raises(rc.StateError, match="quaternion"):
            call()


# ---- robots ----------------------------------------------------------------------------------------------------------


def test_robots_do_not_share_entries():
    robot = rc.robots.puma560()
    q, v, a = warm(robot)
    expected = robot.inverse_dynamics(q, v, a)
    others = [pickle.loads(pickle.dumps(robot)), copy.copy(robot), copy.deepcopy(robot), robot.with_gravity((0, 0, 0))]
    for other in others:
        assert not other._calls
        found = [other.inverse_dynamics(q, v, a, method="newton-euler") for _ in range(2)]
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(found[0], expected) == (other == robot)
    assert np.array_equal(robot.inverse_dynamics(q, v, a), expected)


def test_methods_look_like_functions():
    method = rc.Robot.jacobian
    assert method.__name__ == "jacobian" and method.__doc__.startswith("Jacobian of a link")
    assert inspect.isroutine(method) and "frame" in inspect.signature(method).parameters
    robot = rc.robots.planar(2)
    q = np.zeros(2)
    assert [*inspect.signature(robot.jacobian).parameters][:2] == ["q", "link"]
    expected = robot.jacobian(q, "tip")
    assert np.array_equal(rc.Robot.jacobian(robot, q, "tip"), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(robot.jacobian))(q, "tip"), expected)

    class Mine(rc.Robot):
        def jacobian(self, q, link, **options):
            return 2.0 * super().jacobian(q, link, **options)

    mine = Mine(robot.model)
    for _ in range(3):
        assert np.array_equal(mine.jacobian(q, "tip", frame="body"), 2.0 * expected)


def test_tied_robots_answer_with_every_option():
    robot = tied_gripper()
    q, v = robot.random_state(1)
    for options in ({}, {"losses": True}, {"method": "composite"}):
        first = robot.forward_dynamics(q, v, v, **options)
        for _ in range(2):
            assert np.array_equal(robot.forward_dynamics(q, v, v, **options), first)
    robot.inverse_dynamics(q, v, v, losses=True)
    lossless = robot.inverse_dynamics(q, v, v)
    assert np.allclose(robot.inverse_dynamics(q, v, v, losses=True), lossless + robot.joint_losses(v), rtol=1e-13)


def test_threads_may_share_a_robot():
    robot = rc.robots.puma560()
    drawn = [robot.random_state(seed) for seed in range(8)]
    expected = [general(robot, "velocities", q, v, "mixed") for q, v in drawn]
    wrong = []

    def work(k):
        q, v = drawn[k]
        out = np.empty_like(expected[k])
        for _ in range(300):
            robot.velocities(q, v, frame="mixed", out=out)
            if not np.array_equal(out, expected[k]):
                wrong.append(k)

    crowd = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert not wrong


# ---- losses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["puma560", "mixed_tree"])
def test_losses_are_those_of_the_joints(name):
    robot = with_losses(ZOO[name]()) if name == "mixed_tree" else ZOO[name]()
    q, v, a = states(robot, 5)
    v[2] = 0.0
    lost = robot.joint_losses(v)
    assert np.abs(lost).max() > 0.01

    wrenches = np.random.default_rng(0).normal(size=(robot.nlinks, 6))
    for options in ({}, {"wrenches": wrenches}):
        torque = robot.inverse_dynamics(q, v, a, losses=True, **options)
        close(torque, robot.inverse_dynamics(q, v, a, **options) + lost, 1e-12)
        close(interpreted(lambda o=options: robot.inverse_dynamics(q, v, a, losses=True, **o)), torque, 1e-12)
        assert np.array_equal(robot.inverse_dynamics(q[1], v[1], a[1], losses=True, **options), torque[1])
        out = np.empty_like(torque)
        assert robot.inverse_dynamics(q, v, a, losses=True, out=out, **options) is out
        assert np.array_equal(out, torque)
        for method in ("articulated", "composite"):
            found = robot.forward_dynamics(q, v, torque, losses=True, method=method, **options)
            assert np.abs(found - a).max() <= 1e-7 * np.abs(a).max()


@pytest.mark.parametrize("lacking", ["recursa._entry", "llvmlite"])
def test_what_is_missing_leaves_quantities_and_says_what_cannot_run(lacking):
    """As in the wheel for all systems, which has no extension, and as on Emscripten, which has no llvmlite either."""
    code = (
        f"import sys; sys.modules[{lacking!r}] = None\n"
        "import numpy as np, recursa as rc\n"
        "r = rc.robots.planar(2); q = np.zeros(2); out = np.empty((6, 2))\n"
        "for _ in range(2): assert r.jacobian(q, 'tip', frame='world', out=out) is out\n"
        "assert r.simulate(q, duration=0.01, progress=False).q.shape[1] == 2\n"
        "assert r.inverse_dynamics(q, q, q, wrenches={'tip': np.ones(6)}).shape == (2,)\n"
        "assert r.operational_inertia(q, 'tip').shape == (6, 6)\n"
        "print(len(r._calls), out[4])\n"
        "rc.inverse_kinematics(r, 'tip', [1.0, 0.0, 0.0], task='position')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split()[0] == "0"
    assert done.stderr.count("NoCompilerWarning: ") == 1
    assert "NativeCodeError: inverse kinematics runs in native code alone" in done.stderr


def test_accelerations_of_links_come_with_every_call():
    """What is taken apart after the kernel has no entry that would give it whole."""
    robot = rc.robots.stanford()
    q, v = robot.random_state(0)
    for _ in range(3):
        joints, links = robot.forward_dynamics(q, v, v, links=True)
        assert joints.shape == (6,) and links.shape == (robot.nlinks, 6)


def test_more_states_than_memory_are_refused_after_calls_too():
    robot = rc.robots.puma560()
    q, v = robot.random_state(0)
    many = np.broadcast_to(q, (2**41, 6))
    for _ in range(2):
        robot.inverse_dynamics(q, v, v)
        robot.inverse_dynamics(np.array([q, q]), v, v)
        with pytest.raises(rc.TooLargeError):
            robot.inverse_dynamics(many, v, v)


def test_the_evaluator_goes_straight_in_too(monkeypatch):
    robot, record = rc.robots.panda_like(), quantity("forward_dynamics")
    q, v = robot.random_state(5)
    ask, rows = robot.evaluator.evaluate, np.array([v, -v])
    single = {"q": q, "v": v, "tau": v, "wrenches": None}
    batch = {"tau": rows, "q": q, "v": v}
    expected = [ask(record, single).copy(), ask(record, batch, {"losses": True}).copy()]
    with monkeypatch.context() as patch:
        patch.setattr(type(robot.evaluator), "_evaluated", None)
        assert np.array_equal(ask(record, single), expected[0])
        assert np.array_equal(ask(record, batch, {"losses": True}, threads=2), expected[1])
        out = np.empty((2, 7))
        assert ask(record, batch, {"losses": True}, out) is out
    for _ in range(2):  # what is no argument of it is never passed over
        with pytest.raises((rc.RecursaError, KeyError)):
            ask(record, {**single, "torque": v})
