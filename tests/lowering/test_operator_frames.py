"""Formulas with multiples of the identity beside link inertias: compiled code agrees with matrices on every robot.

Compiled code may move link frames onto joint axes where that leaves a value unchanged. An identity in a sum leaves it
unchanged only where the other terms of the sum give what they take.
"""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
import zoo
from expressions import by_matrices, gap, largest_part
from recursa.operators.compiled_expression import CompiledExpression
from recursa.operators.expression import Expression
from recursa.operators.frame_rules import frame_free
from recursa.operators.leaves import Operators
from recursa.operators.values import input_name
from recursa.sweeps import run

ROBOTS = {
    "puma560": rc.robots.puma560,
    "small_mixed_tree": zoo.small_mixed_tree,
    "small_flyer": zoo.small_flyer,
    "planar": lambda: rc.robots.planar(3),
}
robot_of = cache(lambda name: ROBOTS[name]())
CC = shutil.which("cc")

MIXED = [
    "H phi (M + 0.1 I) phi* H*",
    "inv(H phi (M + 0.1 I) phi* H*)",
    "V* (M + 0.1 I) V",
    "H phi (R + 0.5 I) phi* H*",
    "H (P - I) H*",
    "H phi (Upsilon + I) phi* H*",
    "G* (Upsilon + I) G",
    "inv(mass + H phi phi* H*)",
]
"""The identity takes motions for forces: the value depends on where the link frames sit."""

APART = ["H (I - E_phi) M H*", "(1 - H psi K) T", "H (2 I - tau_bar) P H*", "inv(mass + 0.1 I)", "V* M V + 1"]
"""The other terms give what they take: the value does not depend on the link frames."""


def vectors_of(f: CompiledExpression) -> dict[str, np.ndarray]:
    return {x.name: np.cos(np.arange(x.space.size)) for x in f._vectors.values()}


@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize("text", MIXED + APART)
def test_identities_beside_inertias_match_matrices(text, form):
    for name in ("puma560", "small_mixed_tree"):
        robot = robot_of(name)
        expression = rc.parse(text, robot)
        f = rc.compile(expression, form=form)
        q, v = robot.random_state(5)
        numbers = vectors_of(f)
        expected = by_matrices(expression, q, v, numbers)
        assert gap(f(q, v, *numbers.values()), expected, largest_part(expression, q, v, **numbers)) < 1e-10, (
            f"{text} of {name}"
        )


@pytest.mark.parametrize("text", MIXED)
def test_explanations_say_that_frames_stay(text):
    told = rc.explain(text, robot_of("puma560"))
    assert told.as_dict()["frames_moved"] is False
    assert "in link axes at link origins" in told.levels[-1].about


@pytest.mark.parametrize("text", APART)
def test_frames_still_move_where_the_identity_keeps_motions_and_forces_apart(text):
    assert frame_free(rc.parse(text, robot_of("puma560")))


@pytest.mark.skipif(CC is None, reason="no C compiler")
@pytest.mark.parametrize("text", ["inv(H phi (M + 0.1 I) phi* H*)", "V* (M + 0.1 I) V"])
def test_exported_c_matches_matrices(text, tmp_path):
    robot = robot_of("puma560")
    f = rc.compile(text, robot)
    q, v = robot.random_state(5)
    numbers = vectors_of(f)
    export = robot.export_c(f, tmp_path / "formula.c")
    arrays = [q, *([v] if "v" in f.plan.inputs else []), *numbers.values()]
    expected = np.atleast_1d(by_matrices(f.expression, q, v, numbers))
    assert gap(called(export.files[0], export.function, arrays, expected.size), expected, 1.0) < 1e-10


def called(source: Path, function: str, arrays: list[np.ndarray], size: int) -> np.ndarray:
    library = source.with_suffix(".so")
    subprocess.run([str(CC), "-shared", "-fPIC", source.name, "-o", library.name, "-lm"], cwd=source.parent, check=True)
    out = np.full(size, np.nan)
    getattr(ctypes.CDLL(str(library)), function)(*(ctypes.c_void_p(x.ctypes.data) for x in (*arrays, out)))
    return out


# ---- random sums with identities -------------------------------------------------------------------------------------

_SQUARE = {
    "joint": ("D", "A", "I", "mass", "W"),
    "link": ("phi", "psi", "E_phi", "E_psi", "M", "P", "R", "tau_bar", "Upsilon", "I", "S", "S_V", "N", "P_dot"),
}


def square(o: Operators, rng: random.Random, space: str, depth: int) -> Expression:
    """A random square operator of joints or links, with multiples of the identity in most of its sums."""
    choice = rng.random()
    if depth == 0 or choice < 0.15:
        letter = getattr(o, rng.choice(_SQUARE[space]))
        return letter.T if rng.random() < 0.4 else letter
    if choice < 0.55:
        other = o.I if rng.random() < 0.7 else square(o, rng, space, depth - 1)
        return square(o, rng, space, depth - 1) + rng.choice([1.0, -1.0, 0.1, 2.5, -0.5]) * other
    if choice < 0.8:
        return square(o, rng, space, depth - 1) @ square(o, rng, space, depth - 1)
    away, back = (o.H, o.G.T, o.K.T), (o.H.T, o.G, o.K)
    left, right, between = (away, back, "link") if space == "joint" else (back, away, "joint")
    return rng.choice(left) @ square(o, rng, between, depth - 1) @ rng.choice(right)


def formula(o: Operators, rng: random.Random) -> Expression:
    """A random formula between joints: most of these are candidates for moved frames."""
    choice = rng.random()
    if choice < 0.15:
        return o.V.T @ square(o, rng, "link", 3) @ o.V
    if choice < 0.5:
        left, right = rng.choice([o.phi, o.I, o.psi]), rng.choice([o.phi.T, o.I, o.psi.T])
        return rng.choice([o.H, o.G.T]) @ left @ square(o, rng, "link", 3) @ right @ o.H.T
    return square(o, rng, "joint", 4)


@pytest.mark.parametrize(("seed", "count"), [(1, 150), pytest.param(2, 3000, marks=pytest.mark.slow)])
def test_random_sums_with_identities_match_matrices_where_frames_move(seed, count):
    """The sweeps of the compiled code, on the robot with moved frames, against matrices of the robot as it is."""
    rng = random.Random(seed)
    moved = 0
    for number in range(count):
        robot = robot_of(rng.choice(sorted(ROBOTS)))
        expression = formula(robot.operators, rng)
        if expression.shape is None:
            continue
        f = rc.compile(expression, robot)
        if not f.frame_free:
            continue
        moved += 1
        q, v = robot.random_state(number)
        numbers = vectors_of(f)
        inputs = {input_name(x): numbers[x.name].tolist() for x in f.lowered.inputs} | dict(f.lowered.constants)
        values = run(f.plan, f.kernel_model, {"q": q.tolist(), "v": v.tolist(), **inputs})
        expected = by_matrices(expression, q, v, numbers)
        found = np.array(list(f.lowered.entries(values)), float).reshape(np.shape(expected))
        assert gap(found, expected, largest_part(expression, q, v, **numbers)) < 1e-9, f"{expression} of {robot.name}"
    assert moved > count / 20


@pytest.mark.parametrize("form", ["straight", "loop"])
def test_random_sums_with_identities_match_matrices_compiled(form):
    rng = random.Random(7)
    for number in range(12):
        robot = robot_of(rng.choice(["small_mixed_tree", "planar"]))
        expression = formula(robot.operators, rng)
        if expression.shape is None:
            continue
        f = rc.compile(expression, robot, form=form)
        q, v = robot.random_state(number)
        numbers = vectors_of(f)
        expected = by_matrices(expression, q, v, numbers)
        assert gap(f(q, v, *numbers.values()), expected, largest_part(expression, q, v, **numbers)) < 1e-9, str(
            expression
        )
