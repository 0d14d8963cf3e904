"""The one table of integrators, and who reads it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import recursa as rc
from recursa.integrators import INTEGRATORS, Integrator, names
from recursa.integrators.explicit import LinksIntegrator, RolloutIntegrator, SimulationIntegrator, runge_kutta_4

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("use", "typed"), [("simulate", SimulationIntegrator), ("rollout", RolloutIntegrator), ("links", LinksIntegrator)]
)
def test_types_name_what_the_table_offers(use, typed):
    assert get_args(typed) == names(use)


@pytest.mark.parametrize(("use", "page"), [("simulate", "simulation.md"), ("rollout", "rollout.md")])
def test_pages_tell_of_every_integrator(use, page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert [name for name in names(use) if f'"{name}"' not in text] == []


def test_page_tells_the_orders_of_the_table():
    rows = re.findall(r'^\| `"([\w-]+)"` \| (\d)', (DOCS / "simulation.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: int(order) for name, order in rows} == {name: INTEGRATORS[name].order for name in names("simulate")}


def test_help_tells_of_every_integrator(capsys, monkeypatch):
    from click.testing import CliRunner

    from recursa.cli.root import recursa

    text = CliRunner().invoke(recursa, ["simulate", "--help"], env={"COLUMNS": "200"}).output
    assert [name for name in names("simulate") if name not in text] == []


def test_a_new_entry_is_offered_everywhere(monkeypatch):
    """Heun's method, written here, moves one robot and a batch of robots without another line."""

    def heun(on, q, v):
        k1, a1 = on.slope(q, v, 0.0)
        u2, v2 = on.combined(None, (1.0, k1)), on.combined(v, (1.0, a1))
        speeds, a2 = on.slope(on.moved(q, u2), v2, 1.0)
        u = on.combined(None, (0.5, k1), (0.5, on.local_rate(u2, speeds)))
        return on.moved(q, u), on.combined(v, (0.5, a1), (0.5, a2))

    monkeypatch.setitem(INTEGRATORS, "heun", Integrator("heun", 2, ("simulate", "rollout", "links"), heun))
    robot = rc.robots.free_flyer(2)
    q, v = robot.random_state(1)
    exact = robot.simulate(q, v, duration=0.1).q[-1]
    ends = []
    for step in (0.01, 0.005):
        one = robot.simulate(q, v, duration=0.1, integrator="heun", step=step).q[-1]
        many, _ = rc.rollout(robot, q[None], v[None], None, step, round(0.1 / step), "heun")
        assert np.abs(one - many[0, -1]).max() < 1e-13
        ends.append(np.abs(robot.difference(exact, one)).max())
    assert 3.0 < ends[0] / ends[1] < 5.0
    apart = rc.free.simulate_links(robot, q, v, 0.1, step=0.005, integrator="heun")
    assert np.abs(robot.difference(exact, apart.q[-1])).max() < 4.0 * ends[1]


def test_one_robot_matches_a_batch_step_by_step():
    robot = rc.robots.tree(5, seed=2)
    q, v = robot.random_state(3)
    for name in ("rk4", "semi-implicit"):
        run = robot.simulate(q, v, duration=0.02, integrator=name, step=0.002, losses=False)
        many_q, many_v = rc.rollout(robot, q, v, None, 0.002, 10, name, losses=False)
        assert np.abs(run.q[1:] - many_q).max() < 1e-12
        assert np.abs(run.v[1:] - many_v).max() < 1e-11


def test_the_step_of_order_four_follows_a_known_motion():
    """``q' = v(t)`` with a speed that is a polynomial of degree three is integrated exactly."""

    class Known:
        def __init__(self, t, h):
            self.t, self.h = t, h

        def slope(self, q, v, at):
            t = self.t + at * self.h
            return np.array([4.0 * t**3]), np.array([3.0 * t**2])

        moved = staticmethod(lambda q, u: q + u)
        local_rate = staticmethod(lambda u, speeds: speeds)
        settled = staticmethod(lambda q, v: (v, v))

        def combined(self, start, *terms):
            return sum((c * self.h * x for c, x in terms), 0.0 if start is None else start)

    q, v = runge_kutta_4(Known(1.0, 2.0), np.array([1.0]), np.array([1.0]))
    assert q[0] == pytest.approx(81.0, rel=1e-15)
    assert v[0] == pytest.approx(27.0, rel=1e-15)
