"""The table of input kinds: kinds that are defined outside the package work interpreted, straight and in loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import recursa as rc
from recursa.errors import ShapeError, UnknownNameError
from recursa.evaluation.resolved_quantity import ResolvedQuantity
from recursa.kernels.dispatch import KernelStore
from recursa.kernels.kernel import Kernel
from recursa.model.model import Model
from recursa.quantities.quantity import Recipe
from recursa.spatial.vec3 import Vec3
from recursa.sweeps import Buffer, Given, Plan, Step, base_to_tip, each_link, run
from recursa.sweeps.batching import prepare
from recursa.sweeps.input_kinds import (
    CONSTANTS,
    INPUT_KINDS,
    InputKind,
    Over,
    coordinates,
    for_all,
    kind_of_input,
    per_body,
    per_link,
    readers,
    speeds,
)
from zoo import floating_tree_with_rotors, small_mixed_tree

KINDS = (
    coordinates("rest"),
    speeds("load"),
    per_body("wind:", 3, "three numbers per body"),
    per_link("heat", 2, "two numbers per link"),
    for_all("time", Over.EITHER, 1, "one number"),
    for_all("pull", Over.EITHER, 3, "a gravity of its own", value=lambda x: Vec3(*x), replaces="gravity"),
)
NAMES = ("q", "rest", "load", "wind:a", "wind:b", "heat", "time", "pull")
ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "arm": rc.robots.puma560,
    "tree with a spherical joint": small_mixed_tree,
    "floating tree with tied joints": floating_tree_with_rotors,
}


def weighed(*parts: Sequence[Any]) -> Any:
    """A sum in which every number counts differently, so that none can stand in for another."""
    total = 0.0
    for number, x in enumerate(x for part in parts for x in part):
        total = total + (number + 1.0) * x
    return total


def reading_all() -> Plan:
    """Made in a test, since plans are checked when they are made."""
    of_joint = ("q", "rest", "load", "wind:a", "wind:b", "time", "gravity")
    at_bodies = base_to_tip(Step(weighed, of_joint, ("at body",)))
    at_links = each_link(Step(weighed, ("heat", "time"), ("at link",)))
    return Plan("kinds from outside", (Buffer("at body", 0.0), Buffer("at link", 0.0)), (at_bodies, at_links))


def gather(values: Any) -> list[Any]:
    return [*values["at body"], *values["at link"]]


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in KINDS:
        monkeypatch.setitem(INPUT_KINDS, kind.name, kind)


def rows_of(model: Model, count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {name: rng.normal(size=(count, kind_of_input(name).size(model))) for name in NAMES}


def expected(model: Model, row: dict[str, np.ndarray]) -> list[float]:
    """By places alone, without the table."""
    found = []
    for k, joint in enumerate(model.joints):
        at_q, at_v = slice(joint.q_start, joint.q_start + joint.kind.nq), slice(joint.v_start, None)
        q, rest, load = row["q"][at_q], row["rest"][at_q], row["load"][at_v][: joint.kind.nv]
        if joint.tie is not None:
            q, rest = (joint.tie.multiplier * x + joint.tie.offset for x in (q, rest))
            load = joint.tie.multiplier * load
        winds = [row[name][3 * k : 3 * k + 3] for name in ("wind:a", "wind:b")]
        found.append(weighed(q, rest, load, *winds, row["time"], row["pull"]))
    return [*found, *(weighed(row["heat"][2 * k : 2 * k + 2], row["time"]) for k in range(len(model.links)))]


@pytest.mark.parametrize("name", ROBOTS)
def test_interpreted(name):
    plan, model = reading_all(), ROBOTS[name]().model
    assert set(plan.inputs) == {*NAMES} - {"pull"}  # which need not be given
    row = {key: x[0] for key, x in rows_of(model, 1).items()}
    found = gather(run(plan, model, {key: x.tolist() for key, x in row.items()}))
    assert np.allclose(found, expected(model, row), rtol=1e-13, atol=1e-13)
    del row["pull"]
    found = gather(run(plan, model, {key: x.tolist() for key, x in row.items()}))
    assert np.allclose(found, expected(model, row | {"pull": np.array(model.gravity)}), rtol=1e-13, atol=1e-13)


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize("name", ROBOTS)
def test_compiled(name, form):
    model = ROBOTS[name]().model
    rows = rows_of(model, 9)
    kernel = Kernel(reading_all(), model, {key: x.shape[1] for key, x in rows.items()}, gather, form=form)
    assert kernel.form == form
    found = np.empty((9, model.nbodies + len(model.links)))
    kernel(rows, found)
    for k, one in enumerate(found):
        row = {key: x[k] for key, x in rows.items()}
        assert np.allclose(one, expected(model, row), rtol=1e-13, atol=1e-13)


@pytest.mark.compiled
def test_arguments_are_checked_and_read_by_native_entries():
    model = small_mixed_tree().model
    row = {key: x[0] for key, x in rows_of(model, 1).items()}
    for joint in model.joints:
        if joint.kind.quaternion is not None:
            for vector in (row["q"], row["rest"]):
                part = vector[joint.q_start + joint.kind.quaternion :][:4]
                part /= np.linalg.norm(part)
    row["heat"] = row["heat"].reshape(len(model.links), 2)
    recipe = Recipe(reading_all(), gather, (model.nbodies + len(model.links),))
    sizes = {name: kind_of_input(name).size(model) for name in NAMES}
    asked = ResolvedQuantity("kinds", recipe, KernelStore(model), sizes)
    found = asked.answer(row)
    assert np.allclose(found, expected(model, row | {"heat": row["heat"].ravel()}), rtol=1e-13, atol=1e-13)
    with pytest.raises(ShapeError, match=r"heat has shape \(4,\).*two numbers per link"):
        prepare(model, {"heat": np.zeros(4)}, {})
    entry = asked.entry()
    assert entry is not None
    assert np.array_equal(entry(*row.values()), found)
    parts = {joint.name: kind_of_input("load").part(model, k) for k, joint in enumerate(model.joints)}
    numbers = {joint: row["load"][part].tolist() for joint, part in parts.items()}
    by_name = {joint: x[0] if len(x) == 1 else x for joint, x in numbers.items()}
    assert np.array_equal(entry(*(row | {"load": by_name}).values()), found)


# ---- the table itself ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", INPUT_KINDS.values(), ids=list(INPUT_KINDS))
def test_parts_cover_every_number_of_a_state(kind: InputKind):
    """What bodies or links read is all there is, and nothing is read beyond it."""
    model = floating_tree_with_rotors().model
    assert kind.name not in CONSTANTS
    assert kind.over is not Over.BASE or kind.name in Given._fields
    assert not kind.replaces or (kind.replaces in CONSTANTS and readers(kind.replaces) is kind.over)
    size = kind.size(model)
    count = model.nbodies if kind.over is Over.BODIES else len(model.links)
    places = {place for k in range(count) for place in range(size + 1)[kind.part(model, k)] if place < size}
    assert places == set(range(size))
    if kind.part(model, 0).stop is not None:
        assert max(kind.part(model, k).stop for k in range(count)) == size


def test_unknown_kinds_are_named():
    with pytest.raises(UnknownNameError, match="no kind of input 'joints:T'"):
        kind_of_input("joints:T")
    assert readers("joints:T") is None
