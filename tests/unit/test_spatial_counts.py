"""What the spatial operations cost, by counting, against the numbers of the literature.

A Denavit-Hartenberg step is a pair of screws: 20 mul 12 add for a vector, 32 mul 33 add for a rigid inertia.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from numeric import Draw, flat, mapped
from recursa.spatial import Counter, Counts, ScrewChain, Vec3

# operation, arguments by the names of Draw's methods, expected (mul, add)
COSTS: dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[int, int]]] = {
    "dot product": (lambda u, v: u.dot(v), ("vec3", "vec3"), (3, 2)),
    "cross product": (lambda u, v: u.cross(v), ("vec3", "vec3"), (6, 3)),
    "rotation of a vector": (lambda r, v: r @ v, ("rotation", "vec3"), (9, 6)),
    "inverse rotation of a vector": (lambda r, v: r.inverse_times(v), ("rotation", "vec3"), (9, 6)),
    "product of rotations": (lambda r, s: r @ s, ("rotation", "rotation"), (27, 18)),
    "rotation of a symmetric matrix": (lambda r, s: r.symmetric(s), ("rotation", "symmetric"), (31, 28)),
    "symmetric matrix times vector": (lambda s, v: s @ v, ("symmetric", "vec3"), (9, 6)),
    "matrix times vector": (lambda m, v: m @ v, ("matrix", "vec3"), (9, 6)),
    "transposed matrix times vector": (lambda m, v: m.transpose_times(v), ("matrix", "vec3"), (9, 6)),
    "product of matrices": (lambda m, n: m @ n, ("matrix", "matrix"), (27, 18)),
    "power": (lambda m, f: m.dot(f), ("motion", "force"), (6, 5)),
    "cross product of motions": (lambda v, m: v.cross_motion(m), ("motion", "motion"), (18, 12)),
    "cross product with a force": (lambda v, f: v.cross_force(f), ("motion", "force"), (18, 12)),
    "force through a transform": (lambda x, f: x.force(f), ("transform", "force"), (24, 18)),
    "force back through a transform": (lambda x, f: x.inverse_force(f), ("transform", "force"), (24, 18)),
    "motion through a transform": (lambda x, m: x.motion(m), ("transform", "motion"), (24, 18)),
    "motion back through a transform": (lambda x, m: x.inverse_motion(m), ("transform", "motion"), (24, 18)),
    "inertia through a transform": (lambda x, i: x.inertia(i), ("transform", "rigid"), (52, 52)),
    "product of transforms": (lambda x, y: x @ y, ("transform", "transform"), (36, 27)),
    "force through a screw": (lambda x, f: x.force(f), ("screw", "force"), (10, 6)),
    "force back through a screw": (lambda x, f: x.inverse_force(f), ("screw", "force"), (10, 6)),
    "motion through a screw": (lambda x, m: x.motion(m), ("screw", "motion"), (10, 6)),
    "motion back through a screw": (lambda x, m: x.inverse_motion(m), ("screw", "motion"), (10, 6)),
    "inertia through a screw": (lambda x, i: x.inertia(i), ("screw", "rigid"), (16, 16)),
    "symmetric tensor through a screw": (lambda x, t: x.symmetric(t), ("screw", "symmetric"), (8, 8)),
    "tensor through a screw": (lambda x, t: x.tensor(t), ("screw", "matrix"), (12, 11)),
    "tensor through a DH step": (lambda x, t: x.tensor(t), ("screw_pair", "matrix"), (24, 22)),
    "symmetric tensor through a DH step": (lambda x, t: x.symmetric(t), ("screw_pair", "symmetric"), (16, 16)),
    "force through a DH step": (lambda x, f: x.force(f), ("screw_pair", "force"), (20, 12)),
    "force back through a DH step": (lambda x, f: x.inverse_force(f), ("screw_pair", "force"), (20, 12)),
    "motion through a DH step": (lambda x, m: x.motion(m), ("screw_pair", "motion"), (20, 12)),
    "motion back through a DH step": (lambda x, m: x.inverse_motion(m), ("screw_pair", "motion"), (20, 12)),
    "inertia through a DH step": (lambda x, i: x.inertia(i), ("screw_pair", "rigid"), (32, 32)),
    "momentum": (lambda i, m: i @ m, ("rigid", "motion"), (24, 18)),
    "shift of an inertia": (lambda i, r: i.shifted(r), ("rigid", "vec3"), (12, 18)),
    "articulated inertia times motion": (lambda p, m: p @ m, ("articulated", "motion"), (36, 30)),
    "articulated inertia less a pair of dyads": (
        lambda p, f, g: p.minus_pair(f, g),
        ("articulated", "force", "force"),
        (42, 36),
    ),
    "quaternion product": (lambda p, q: p @ q, ("quaternion", "quaternion"), (16, 12)),
}


def counted(counter: Counter, values: list[Any]) -> list[Any]:
    return [mapped(counter.number, value) for value in values]


@pytest.mark.parametrize("name", COSTS)
def test_count_matches_literature(name):
    operation, arguments, (mul, add) = COSTS[name]
    draw, counter = Draw(12), Counter()
    values = [getattr(draw, kind)() for kind in arguments]
    result = operation(*counted(counter, values))
    assert counter.counts() == Counts(mul=mul, add=add)
    assert (flat(result) == flat(operation(*values))).all()  # it is the same computation that was counted


def test_dh_step_of_an_inertia_costs_no_more_than_the_literature():
    """At most 32 mul 33 add; one general rotation and shift would be 52 mul 52 add."""
    draw, counter = Draw(2), Counter()
    for first, second in ((0, 2), (2, 0)):  # modified and standard convention
        counter.reset()
        pair, inertia = counted(counter, [ScrewChain((draw.screw(first), draw.screw(second))), draw.rigid()])
        pair.inertia(inertia)
        assert counter.counts().mul <= 32
        assert counter.counts().add <= 33


def test_screw_turns_an_articulated_inertia_with_few_products():
    draw, counter = Draw(3), Counter()
    for axis in range(3):
        counter.reset()
        screw, inertia = counted(counter, [draw.screw(axis), draw.articulated()])
        screw.articulated(inertia)
        assert counter.counts() == Counts(mul=39, add=41)


def test_constant_zeros_of_a_geometry_cost_nothing():
    """A force whose lever is along z only: two products instead of six, and nothing to add to the z moment."""
    draw, counter = Draw(4), Counter()
    force, lever = counted(counter, [draw.vec3()])[0], Vec3(0.0, 0.0, 0.7)
    assert lever.cross(force).z == 0.0
    assert counter.counts() == Counts(mul=2)
