"""The same operation on floats, arrays, symbols, complex and counted numbers; the special functions against mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy

import recursa as rc
from numeric import Draw, batched, central, close, complex_step, flat, leaves, same_bits, states
from recursa.dynamics.kinematics import poses_plan, velocities_plan
from recursa.spatial import Counter, Counts, Motion, Quaternion, Rotation, Screw, Transform, Vec3, log_of
from recursa.spatial.scalars import atan2, cos, cosc, half_cotangent, log, sin, sinc, sinc3, sqrt, where
from recursa.sweeps import run

ROWS = 23

# every operation of the spatial types: function, and arguments by the names of Draw's methods
OPERATIONS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "vector sum": (lambda u, v: u + v, ("vec3", "vec3")),
    "vector difference": (lambda u, v: u - v, ("vec3", "vec3")),
    "vector scaled": (lambda u, k: (u * k, k * u, -u), ("vec3", "number")),
    "dot": (lambda u, v: u.dot(v), ("vec3", "vec3")),
    "cross": (lambda u, v: u.cross(v), ("vec3", "vec3")),
    "norm": (lambda u: u.norm(), ("vec3",)),
    "symmetric sum": (lambda s, t: s + t - s * 2.0, ("symmetric", "symmetric")),
    "symmetric times": (lambda s, u: s @ u, ("symmetric", "vec3")),
    "symmetric dyad": (lambda s, u, k: s.plus_diagonal(k) + s.dyad(u, k), ("symmetric", "vec3", "number")),
    "symmetric dyad pair": (lambda s, u, v: s.dyad_pair(u, v), ("symmetric", "vec3", "vec3")),
    "matrix product": (lambda m, n: m @ n + m, ("matrix", "matrix")),
    "matrix times": (lambda m, u: (m @ u, m.transpose_times(u), m.cross_columns(u)), ("matrix", "vec3")),
    "matrix scalars": (lambda m: (m.trace(), m.det()), ("matrix",)),
    "matrix rotated": (lambda m, r: m.rotated(r), ("matrix", "rotation")),
    "rotation times": (lambda r, u: (r @ u, r.inverse_times(u)), ("rotation", "vec3")),
    "rotation product": (lambda r, s: r @ s.T, ("rotation", "rotation")),
    "rotation of symmetric": (lambda r, s: r.symmetric(s), ("rotation", "symmetric")),
    "rotation to quaternion": (lambda r: r.quaternion(), ("rotation",)),
    "rotation to rpy": (lambda r: r.rpy(), ("rotation",)),
    "rotation log": (lambda r: r.log(), ("rotation",)),
    "rotation exp": (Rotation.exp, ("vec3",)),
    "small rotation exp": (lambda u: Rotation.exp(u * 1e-3), ("vec3",)),
    "axis and angle": (Rotation.from_axis_angle, ("unit", "number")),
    "rpy": (Rotation.from_rpy, ("number", "number", "number")),
    "quaternion to rotation": (Rotation.from_quaternion, ("quaternion",)),
    "quaternion exp": (Quaternion.exp, ("vec3",)),
    "quaternion log": (lambda q: q.log(), ("quaternion",)),
    "quaternion product": (lambda p, q: p @ q.conjugate(), ("quaternion", "quaternion")),
    "quaternion normalized": (lambda q, k: q.scaled(k).normalized(), ("quaternion", "number")),
    "transform exp": (Transform.exp, ("motion",)),
    "transform log": (lambda x: x.log(), ("transform",)),
    "log of": (log_of, ("vec3", "vec3")),
    "transform product": (lambda x, y: x @ y.inverse, ("transform", "transform")),
    "transform point": (lambda x, u: (x @ u, x.inverse_point(u)), ("transform", "vec3")),
    "transform motion": (lambda x, m: (x.motion(m), x.inverse_motion(m)), ("transform", "motion")),
    "transform force": (lambda x, f: (x.force(f), x.inverse_force(f)), ("transform", "force")),
    "transform inertia": (lambda x, i: x.inertia(i), ("transform", "rigid")),
    "transform articulated": (lambda x, p: x.articulated(p), ("transform", "articulated")),
    "screw": (lambda k, d: Screw.turning(1, k, d).general(), ("number", "number")),
    "motion algebra": (lambda m, n, k: m * k - n + k * -m, ("motion", "motion", "number")),
    "force algebra": (lambda f, g, k: f * k - g + k * -f, ("force", "force", "number")),
    "power": (lambda m, f: m.dot(f), ("motion", "force")),
    "cross motion": (lambda m, n: m.cross_motion(n), ("motion", "motion")),
    "cross force": (lambda m, f: m.cross_force(f), ("motion", "force")),
    "momentum": (lambda i, m: i @ m, ("rigid", "motion")),
    "inertia sum": (lambda i, j: i + j, ("rigid", "rigid")),
    "inertia about com": (lambda i: (i.com(), i.moment_about_com()), ("rigid",)),
    "inertia from com": (lambda i, u: i.from_com(i.mass, u, i.moment), ("rigid", "vec3")),
    "articulated times": (lambda p, m: p @ m, ("articulated", "motion")),
    "articulated sum": (lambda p, o: p + o, ("articulated", "articulated")),
    "articulated minus dyad": (lambda p, f, k: p.minus_dyad(f, f * k), ("articulated", "force", "number")),
    "special functions": (lambda x: tuple(f(x * x) for f in (sinc, cosc, sinc3, half_cotangent)), ("number",)),
    "elementary functions": (lambda x, y: (sin(x), cos(x), sqrt(x * x), atan2(x, y)), ("number", "number")),
}
for _axis in range(3):  # a batch shares its axis, so every axis is an operation of its own
    for _kind, _argument in (("force", "force"), ("motion", "motion"), ("inertia", "rigid")):
        OPERATIONS[f"screw {_kind} about {'xyz'[_axis]}"] = (
            lambda c, s, d, x, axis=_axis, kind=_kind: getattr(Screw(axis, c, s, d), kind)(x),
            ("number", "number", "number", _argument),
        )
    for _kind in ("force", "motion"):
        OPERATIONS[f"screw inverse {_kind} about {'xyz'[_axis]}"] = (
            lambda c, s, d, x, axis=_axis, kind=_kind: getattr(Screw(axis, c, s, d), f"inverse_{kind}")(x),
            ("number", "number", "number", _kind),
        )


def samples(kinds: tuple[str, ...]) -> list[tuple[Any, ...]]:
    draw = Draw(21)
    return [tuple(getattr(draw, kind)() for kind in kinds) for _ in range(ROWS)]


@pytest.mark.parametrize("name", OPERATIONS)
def test_arrays_match_floats_bitwise(name):
    operation, kinds = OPERATIONS[name]
    rows = samples(kinds)
    one_by_one = np.array([list(leaves(operation(*row))) for row in rows])
    together = operation(*batched(rows))
    columns = np.stack([np.broadcast_to(x, (ROWS,)) for x in leaves(together)], axis=1)
    same_bits(columns, one_by_one)


@pytest.mark.parametrize("name", OPERATIONS)
def test_float32_stays_float32_and_close_to_float64(name):
    operation, kinds = OPERATIONS[name]
    rows = samples(kinds)
    exact, single = operation(*batched(rows)), operation(*batched(rows, np.float32))
    for ours, theirs in zip(leaves(single), leaves(exact), strict=True):
        if isinstance(theirs, np.ndarray):  # the others are constants of the geometry
            assert ours.dtype == np.float32
        scale = np.maximum(1.0, np.abs(theirs))
        assert np.median(np.abs(ours - theirs) / scale) < 2e-5


# ---- symbols ---------------------------------------------------------------------------------------------------------


def test_symbolic_poses_match_closed_form_of_two_link_arm():
    robot = rc.robots.planar(2)
    q1, q2 = sympy.symbols("q1 q2", real=True)
    poses = run(poses_plan(), robot.model, {"q": [q1, q2]})["L"]
    tip = poses[robot.link_names.index("tip")]
    l1, l2 = sympy.Rational(3, 10), sympy.Rational(1, 4)
    x = l1 * sympy.cos(q1) + l2 * sympy.cos(q1 + q2)
    y = l1 * sympy.sin(q1) + l2 * sympy.sin(q1 + q2)
    c, s = sympy.cos(q1 + q2), sympy.sin(q1 + q2)
    closed = [[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, 0], [0, 0, 0, 1]]
    for ours, theirs in zip(leaves(tip.rows()), leaves(closed), strict=True):
        assert sympy.simplify(sympy.nsimplify(ours) - theirs) == 0
    q, _, _ = states(robot, 1)
    numbers = sympy.Matrix(tip.rows()).subs(dict(zip((q1, q2), q[0], strict=True)))
    close(np.array(numbers.evalf(17), float), robot.pose(q[0], "tip"), 1e-15)


def test_symbolic_velocities_match_derivative_of_symbolic_poses():
    robot = rc.robots.planar(2)
    q, v = sympy.symbols("q1 q2", real=True), sympy.symbols("v1 v2", real=True)
    values = run(velocities_plan("mixed"), robot.model, {"q": q, "v": v})
    for pose, motion in zip(values["L"], values["VF"], strict=True):
        for place, speed in zip(pose.translation, motion.linear, strict=True):
            rate = sum(sympy.diff(place, angle) * rate for angle, rate in zip(q, v, strict=True))
            assert sympy.simplify(sympy.nsimplify(rate - speed)) == 0


def test_symbolic_exp_matches_numbers():
    """Branches become pieces: the expression holds on both sides of the switch to the series."""
    w = sympy.symbols("wx wy wz", real=True)
    rotation, q = Rotation.exp(Vec3(*w)), Quaternion.exp(Vec3(*w))
    for scale in (1e-3, 1.0):
        values = [0.3 * scale, -0.5 * scale, 0.7 * scale]
        for symbolic, numeric in ((rotation, Rotation.exp(Vec3(*values))), (q, Quaternion.exp(Vec3(*values)))):
            found = [float(x.subs(dict(zip(w, values, strict=True)))) for x in symbolic]
            close(found, flat(numeric), 1e-15)


def test_unknown_scalars_are_refused():
    with pytest.raises(TypeError, match="'object'"):
        sin(object())


# ---- complex numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fn",
    [
        lambda t: Rotation.exp(Vec3(0.3 + t, -0.5, 0.7 - 2.0 * t)),
        lambda t: Rotation.exp(Vec3(t, 0.02 + t, 0.01)),  # the series
        lambda t: Quaternion.exp(Vec3(0.3 + t, -0.5, 0.7 - 2.0 * t)),
        lambda t: Transform.exp(Motion(Vec3(0.9 + t, 1.2, t), Vec3(1.0, t, 2.0))),
        lambda t: Rotation.from_rpy(0.4 + t, 0.5 - t, 0.6 * t),
        lambda t: Rotation.from_quaternion(Quaternion(0.4 + t, 0.5 - t, 0.6 * t, 0.7)),
        lambda t: Screw.turning(0, 0.4 + t, 0.2 - t).inertia(Draw(5).rigid()),
        lambda t: log_of(Vec3(0.9, -1.1 + t, 0.4), Vec3(t, 2.0, 3.0)),
    ],
)
def test_complex_step_matches_differences(fn):
    exact = complex_step(lambda t: np.array(list(leaves(fn(t)))))
    assert np.abs(exact).max() > 0.1
    close(exact, central(lambda t: flat(fn(t))), 1e-10)


def test_complex_states_give_the_jacobian():
    robot = rc.robots.panda_like()
    q, v, _ = states(robot, 1)
    rate = complex_step(lambda t: robot.pose(q[0] + t * v[0], "flange"))
    close(rate[:3, 3], robot.jacobian(q[0], "flange", frame="mixed")[3:] @ v[0], 1e-13)


# ---- special functions -----------------------------------------------------------------------------------------------

SPECIAL = {
    sinc: lambda x: mpmath.sin(x) / x,
    cosc: lambda x: (1 - mpmath.cos(x)) / x**2,
    sinc3: lambda x: (x - mpmath.sin(x)) / x**3,
    half_cotangent: lambda x: (1 - x / 2 * mpmath.cot(x / 2)) / x**2,
}
BORDERS = [b * (1.0 + e) for b in (0.01, 0.04, 1.0) for e in (-1e-15, 0.0, 1e-15)]  # where series and closed form meet


@pytest.mark.parametrize("fn", SPECIAL, ids=lambda fn: fn.__name__)
def test_special_functions_match_mpmath(fn):
    points = np.concatenate([np.geomspace(1e-20, 9.0, 400), np.random.default_rng(0).uniform(0.0, 9.0, 400), BORDERS])
    with mpmath.workdps(60):
        exact = [float(SPECIAL[fn](mpmath.sqrt(mpmath.mpf(float(x2))))) for x2 in points]
    error = np.abs(fn(points) / exact - 1.0)
    assert error.max() < 5e-15, f"worst at x^2 = {points[error.argmax()]}"


@pytest.mark.parametrize(
    ("fn", "limit"), [(sinc, 1.0), (cosc, 1 / 2), (sinc3, 1 / 6), (half_cotangent, 1 / 12)], ids=lambda x: str(x)[:20]
)
def test_special_functions_match_their_limits_at_zero(fn, limit):
    assert fn(0.0) == limit
    assert np.array_equal(fn(np.zeros(3)), np.full(3, limit))


def test_where_picks_row_by_row():
    assert where(True, 1.0, 2.0) == 1.0
    assert where(np.bool_(False), 1.0, 2.0) == 2.0
    assert np.array_equal(where(np.array([True, False]), np.array([1.0, 2.0]), 3.0), [1.0, 3.0])
    x = sympy.Symbol("x")
    assert where(x < 1, x, 2.0).subs(x, 3) == 2.0


@pytest.mark.parametrize(("y", "x"), [(0.3, -0.4), (-0.3, -0.4), (0.0, -1.0), (2, 1)])
def test_atan2_matches_numpy_for_every_mixture(y, x):
    expected = float(np.arctan2(y, x))
    assert atan2(y, x) == expected
    assert atan2(np.array([y]), x) == expected
    assert float(atan2(sympy.Float(y), sympy.Float(x))) == pytest.approx(expected, abs=1e-15)
    counter = Counter()
    assert float(atan2(y, counter.number(x))) == expected
    assert counter.counts() == Counts(trig=1)


# ---- scaling from the left -------------------------------------------------------------------------------------------


def test_array_times_vector_is_a_vector_of_arrays():
    k = np.array([2.0, 3.0])
    draw = Draw(0)
    for value in (draw.vec3(), draw.symmetric(), draw.matrix(), draw.motion(), draw.force()):
        scaled = k * value
        assert type(scaled) is type(value)
        assert np.array_equal(np.array(list(leaves(scaled))), np.outer(flat(value), k))


# ---- counting --------------------------------------------------------------------------------------------------------


def tally(fn: Callable[..., Any]) -> tuple[Any, Counts]:
    """The result of a function of two counted numbers 3 and 5, and its cost."""
    counter = Counter()
    return fn(counter.number(3.0), counter.number(5.0)), counter.counts()


@pytest.mark.parametrize(
    ("fn", "value", "cost"),
    [
        (lambda x, y: x + y, 8.0, Counts(add=1)),
        (lambda x, y: x - y, -2.0, Counts(add=1)),
        (lambda x, y: x * y, 15.0, Counts(mul=1)),
        (lambda x, y: x / y, 0.6, Counts(div=1)),
        (lambda x, y: -x, -3.0, Counts()),
        (lambda x, y: +x, 3.0, Counts()),
        (lambda x, y: x + 2.0, 5.0, Counts(add=1)),
        (lambda x, y: 2.0 - x, -1.0, Counts(add=1)),
        (lambda x, y: x - 2.0, 1.0, Counts(add=1)),
        (lambda x, y: x * 2.0, 6.0, Counts(mul=1)),
        (lambda x, y: 2.0 * x, 6.0, Counts(mul=1)),
        (lambda x, y: x / 2.0, 1.5, Counts(mul=1)),
        (lambda x, y: 6.0 / x, 2.0, Counts(div=1)),
        (lambda x, y: x + 0.0, 3.0, Counts()),
        (lambda x, y: 0.0 + x, 3.0, Counts()),
        (lambda x, y: x - 0.0, 3.0, Counts()),
        (lambda x, y: 0.0 - x, -3.0, Counts()),
        (lambda x, y: x * 1.0, 3.0, Counts()),
        (lambda x, y: -1.0 * x, -3.0, Counts()),
        (lambda x, y: x / 1.0, 3.0, Counts()),
        (lambda x, y: 0.0 / x, 0.0, Counts()),
        (lambda x, y: sum([x, y, x]), 11.0, Counts(add=2)),
        (lambda x, y: sqrt(x * x), 3.0, Counts(mul=1, sqrt=1)),
        (lambda x, y: sin(x) + cos(y), float(np.sin(3.0) + np.cos(5.0)), Counts(add=1, trig=2)),
        (lambda x, y: atan2(x, y), float(np.arctan2(3.0, 5.0)), Counts(trig=1)),
        (lambda x, y: where(x < y, x, y), 3.0, Counts()),
    ],
)
def test_counted_operation_matches_float_and_rule(fn, value, cost):
    result, counts = tally(fn)
    assert float(result) == pytest.approx(value, abs=1e-15)
    assert counts == cost


def test_products_with_zero_fold_to_constants():
    """A constant zero is a plain float and folds on: what is multiplied by it later is free too."""
    product, counts = tally(lambda x, y: (x * 0.0) * y + (0.0 * x) * 7.0)
    assert (type(product), product, counts) == (float, 0.0, Counts())


def test_equal_values_are_not_folded():
    """Only constants fold: a counted number that happens to be 1 or 0 costs as any other."""
    counter = Counter()
    one, zero = counter.number(1.0), counter.number(0.0)
    _ = one * one + zero * one
    assert counter.counts() == Counts(mul=2, add=1)


def test_counts_add_up_and_reset():
    counter = Counter()
    x, y = counter.numbers([2.0, 3.0])
    _ = x * y / x
    assert counter.counts() + Counts(mul=1, trig=2) == Counts(mul=2, div=1, trig=2)
    assert (counter.counts() + Counts(mul=1, trig=2)).total == 5
    counter.reset()
    assert counter.counts() == Counts()


@pytest.mark.parametrize("compare", ["__lt__", "__le__", "__gt__", "__ge__"])
@pytest.mark.parametrize("pair", [(1.0, 2.0), (2.0, 1.0), (2.0, 2.0)])
def test_comparing_counted_matches_floats_and_is_free(compare, pair):
    counter = Counter()
    x, y = counter.numbers(pair)
    expected = getattr(pair[0], compare)(pair[1])
    assert getattr(x, compare)(y) == expected
    assert getattr(x, compare)(pair[1]) == expected
    assert counter.counts() == Counts()


@pytest.mark.parametrize(("kind", "cost"), [("vec3", 3), ("symmetric", 6), ("matrix", 9), ("motion", 6), ("force", 6)])
def test_scaling_by_a_counted_number_costs_the_same_from_either_side(kind, cost):
    counter, value = Counter(), getattr(Draw(9), kind)()
    for scaled in (counter.number(2.0) * value, value * counter.number(2.0)):
        assert type(scaled) is type(value)
        assert np.array_equal(flat(scaled), 2.0 * flat(value))
    assert counter.counts() == Counts(mul=2 * cost)


# ---- complex numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.3, 1.7, -2.9, math.pi, -math.pi / 2, math.pi - 1e-9, 0.0])
def test_complex_atan2_carries_the_derivative(angle):
    x, y, dx, dy = 2.0 * math.cos(angle), 2.0 * math.sin(angle), 0.7, -0.4
    found = atan2(np.array([y + 1e-30j * dy]), np.array([x + 1e-30j * dx]))
    assert found.real[0] == pytest.approx(math.atan2(y, x), abs=1e-15)
    assert found.imag[0] / 1e-30 == pytest.approx((x * dy - y * dx) / 4.0, rel=1e-14)
    assert atan2(complex(y, 1e-30 * dy), x).real == found.real[0]


def test_complex_atan2_is_the_continuation():
    rng = np.random.default_rng(3)
    x, y = (rng.normal(size=50) + 0.2j * rng.normal(size=50) for _ in range(2))
    angle = atan2(y, x)
    radius = np.sqrt(x * x + y * y)
    radius = np.where(np.real(radius * np.cos(angle) / x) < 0, -radius, radius)
    assert np.allclose(radius * np.cos(angle), x, atol=1e-13)
    assert np.allclose(radius * np.sin(angle), y, atol=1e-13)
    assert np.all(np.abs(angle.real - np.arctan2(y.real, x.real)) < math.pi / 2)


def test_logarithms_by_arithmetic_match_the_library():
    """As counted and traced numbers have them: very large and very small ones, powers of two, near 1."""
    rng = np.random.default_rng(3)
    far, near = np.exp(rng.uniform(-700.0, 700.0, 300)), 1.0 + rng.uniform(-0.3, 0.4, 300)
    for value in (*far, *near, *2.0 ** np.arange(-9.0, 9.0), 2.3e-308, 1.7e308):
        found = log(Counter().number(float(value))).value
        assert abs(found - math.log(value)) <= 4e-16 * max(abs(math.log(value)), 1e-2), value
    assert log(0.0) == -math.inf and math.isnan(log(-1.0)) and log(1) == 0.0
    assert np.array_equal(log(near), np.log(near)) and log(sympy.Symbol("x")) == sympy.log(sympy.Symbol("x"))
