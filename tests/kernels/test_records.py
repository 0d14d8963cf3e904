"""Kernels found again by what was asked: nothing is traced, bits stay, and what decides a kernel decides its name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from recursa.dynamics.inverse import GRAVITY_FORCES
from recursa.evaluation.resolved_quantity import Question
from recursa.kernels import kernel, records
from recursa.kernels.dispatch import KernelStore, Switch
from recursa.kernels.native import Effort
from recursa.model.joints import Revolute
from recursa.quantities import Quantity, quantities, quantity
from recursa.sweeps import Plan

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and sources that are old enough to be known."""
    monkeypatch.setenv("RECURSA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(records, "_LOADED", math.inf)
    records._sources.cache_clear()
    return tmp_path / "cache"


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The plans that are traced."""
    seen: list[str] = []
    original = kernel.program

    def noted(plan: Plan, *more: object) -> kernel.Program:
        seen.append(plan.name)
        return original(plan, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(kernel, "program", noted)
    return seen


def answers(robot: rc.Robot, what: str = "forward_dynamics", dtype: type = np.float64) -> bytes:
    """One state, and a batch with an incomplete block, of a robot that has no kernels yet."""
    rng = np.random.default_rng(3)
    q, v, tau = (rng.standard_normal((21, n)).astype(dtype) for n in (robot.nq, robot.nv, robot.nv))
    given = (q,) if what == "mass_matrix" else (q, v, tau)
    ask = getattr(robot, what)
    return bytes(ask(*(x[4] for x in given)).tobytes() + ask(*given).tobytes())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("what", ["forward_dynamics", "mass_matrix", "regressor"])
@pytest.mark.parametrize("n", [3, 15])
def test_second_robot_matches_the_first_without_tracing(n: int, what: str, dtype: type, traced: list[str]) -> None:
    first = answers(rc.robots.chain(n), what, dtype)
    assert len(traced) == 1
    assert answers(rc.robots.chain(n), what, dtype) == first
    assert len(traced) == 1


def test_form_and_operations_match_those_that_were_traced() -> None:
    def made() -> kernel.Kernel:
        robot = rc.robots.chain(15)
        answers(robot)
        (found,) = (one for store in robot.evaluator.stores for _, one in store._kernels.values())
        assert found is not None
        return found

    first, second = made(), made()
    assert (second.form, second.operations) == (first.form, first.operations)
    assert second.source() == first.source()
    assert second.source("c") == first.source("c")


def test_what_cannot_be_traced_is_known_too(traced: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Switch, "form", "straight")

    def made() -> kernel.Kernel | None:
        store, question = KernelStore(rc.robots.chain(80).model), Question.of(quantity("regressor"), (), {})
        recipe = question.quantity.recipe(rc.robots.chain(80).evaluator.subject, frozenset())
        return store.kernel(recipe.plan, question, dict.fromkeys("qva", 80), recipe.gather)

    assert made() is None and made() is None
    assert len(traced) == 1


def other_gravity() -> rc.Robot:
    return rc.robots.chain(4).with_gravity((0.0, 0.0, -1.0))


@pytest.mark.parametrize("other", [other_gravity, partial(rc.robots.chain, 4, seed=9), partial(rc.robots.chain, 5)])
def test_other_robots_are_traced(other: Callable[[], rc.Robot], traced: list[str]) -> None:
    answers(rc.robots.chain(4))
    answers(other())
    assert len(traced) == 2


@pytest.mark.parametrize("change", ["form", "version", "sources", "numpy", "number type", "options"])
def test_whatever_decides_a_kernel_is_part_of_its_name(
    change: str, traced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(rc.robots.chain(4))
    robot = rc.robots.chain(4)
    if change == "options":
        robot.forward_dynamics(*np.zeros((3, 4)), method="denoc")
    else:
        dtype = np.float32 if change == "number type" else np.float64
        changes: dict[str, tuple[object, str, object]] = {
            "form": (Switch, "form", "loop"),
            "version": (records, "__version__", "other"),
            "sources": (records, "_sources", lambda: "other"),
            "numpy": (np, "__version__", "other"),
        }
        if change in changes:
            monkeypatch.setattr(*changes[change])
        answers(robot, dtype=dtype)
    assert len(traced) == 2


def test_code_of_another_effort_is_other_code(folder: Path, traced: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Effort, "level", 0)
    first = answers(rc.robots.chain(4))
    count = len(list(folder.glob("*.o")))
    monkeypatch.setattr(Effort, "level", 1)
    assert answers(rc.robots.chain(4)) == first
    assert len(list(folder.glob("*.o"))) == 2 * count


def test_sign_of_a_zero_is_part_of_the_name() -> None:
    model = rc.robots.chain(2).model
    inertia = model.inertias[0]
    plus, minus = (replace(model, inertias=(inertia._replace(mass=zero), *model.inertias[1:])) for zero in (0.0, -0.0))
    assert plus.digest == minus.digest
    assert plus.fingerprint != minus.fingerprint


def test_object_code_that_is_gone_is_made_again(folder: Path, traced: list[str]) -> None:
    first = answers(rc.robots.chain(15))
    for path in folder.glob("*.o"):
        path.unlink()
    assert answers(rc.robots.chain(15)) == first
    assert len(traced) == 2


def test_damaged_records_are_not_read(folder: Path, traced: list[str]) -> None:
    first = answers(rc.robots.chain(15))
    for path in folder.glob("*.record"):
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert answers(rc.robots.chain(15)) == first
    assert len(traced) == 2


def test_every_quantity_of_the_package_lasts() -> None:
    """Those that tests make do not, as they do not stand in a module of the package."""
    assert len([one for one in quantities() if one.lasting]) > 100


def test_questions_of_a_user_are_traced_every_time(traced: list[str]) -> None:
    mine = Quantity("gravity_of_my_own", ("q",), GRAVITY_FORCES.recipe, GRAVITY_FORCES.units)
    for _ in range(2):
        rc.robots.chain(3).evaluator.evaluate(mine, {"q": np.zeros(3)})
    assert len(traced) == 2


def test_joint_kinds_of_a_user_do_not_last() -> None:
    class Mine(Revolute):
        """A kind from elsewhere."""

    model = rc.robots.chain(2).model
    assert model.lasting
    assert not replace(model, joints=(replace(model.joints[0], kind=Mine("mine")), model.joints[1])).lasting


def test_sources_that_changed_since_they_were_loaded_have_no_name(
    traced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_LOADED", os.stat(records.__file__).st_mtime)
    for _ in range(2):
        records._sources.cache_clear()
        answers(rc.robots.chain(3))
    assert len(traced) == 2
    records._sources.cache_clear()
