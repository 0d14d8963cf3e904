"""``recursa explain --diagonal``: total rates, working moments and Coriolis terms, joint by joint, at a state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

import recursa as rc
from recursa.cli import show
from recursa.cli.state_file import State, read_state
from recursa.errors import NoSweepError, StateError
from recursa.model.columns import freedom_names
from recursa.sweeps.batching import Array

REDUCED = (
    "The reduced manipulator of a joint is all that is outward of it, with the joints there let go: a broken bicycle "
    "chain that swings from the joint. D is the inertia it shows to the joint; locked, the outward joints would show "
    "the diagonal of the mass matrix, which is never less."
)
RATES = (
    "If the parent were jerked into its motion and the joint let go as well, it would take the passive rate by itself. "
    "xi is what the joint does beyond that, v = passive + xi, and nu = sqrt(D) xi (of several freedoms: W* xi). The "
    "kinetic energy of the robot is the sum of nu^2/2, without products between joints."
)
MOMENTS = (
    "Torques outward react on a joint. kappa is what is left of its own torque after that, eps = kappa / sqrt(D); "
    "gravity is the part that weight would take. The power is v tau = xi kappa = nu eps."
)
CORIOLIS = (
    "C(q, xi) has three causes, in the order of a sweep from the tips to the base. Past: the links outward change "
    "shape, and D with them, P_dot H* xi. Present: the link turns and carries its momentum round, -V~* M V. "
    "Future: the parent moves, and the joint turns what it carries against that motion, -S P+ V+. C(q, nu) is what "
    "remains after half of the change of D: it does no work, nu C = 0."
)


@dataclass(frozen=True)
class Account:
    """The numbers of one state, an entry per freedom in each."""

    robot: rc.Robot
    state: State
    columns: dict[str, Array]

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        head = {
            "robot": self.robot.name,
            "digest": self.robot.model.digest,
            "freedoms": freedom_names(self.robot.model),
        }
        given = {"q": self.state.q.tolist(), "v": self.state.v.tolist(), "tau": self.state.tau.tolist()}
        return head | given | {name: column.tolist() for name, column in self.columns.items() if name not in given}


def run_explain(robot: rc.Robot, state: str | None, plot: Path | None, as_json: bool) -> None:
    """The verb: a state from a file or at random, tables or JSON, a picture."""
    if state is None:
        q, v = robot.random_state(1)
        found = State(q, v, 0.0 * v, robot.inverse_dynamics(q, v, 0.0 * v))
    else:
        found = read_state(robot, state)
    told = account(robot, found)
    if plot is not None:
        from recursa.plotting import plot_diagonal  # matplotlib is slow to import

        plot_diagonal(robot, found.q, found.v, plot)
    if as_json:
        click.echo(show.json_text(told.as_data()))
        return
    show_account(told)
    if plot is not None:
        click.echo(f"wrote {plot}")


def account(robot: rc.Robot, state: State) -> Account:
    """Everything of a state in diagonal coordinates."""
    if robot.nv == 0:
        raise StateError(f"robot '{robot.name}' has no joints that move: there is nothing to diagonalise")
    if any(not joint.independent for joint in robot.model.joints):
        gears = [joint.name for joint in robot.model.joints if joint.mimic and joint.mimic.rigid]
        fix = robot.model.how_to_untie if gears else "Use --mimic free"
        raise NoSweepError(f"robot '{robot.name}' has tied joints. {fix}")
    q, v, tau = state.q, state.v, state.tau
    d, u = robot.diagonal, robot.diagonal.unnormalized
    xi, nu = u.total_rates(q, v), d.total_rates(q, v)
    causes = u.coriolis_causes(q, xi)
    weight = robot.gravity_forces(q)
    columns = {
        "v": v,
        "passive": v - xi,
        "xi": xi,
        "nu": nu,
        "energy": 0.5 * nu * nu,
        "D": np.diagonal(u.inertia(q)),
        "locked": np.diagonal(robot.mass_matrix(q)),
        "tau": tau,
        "kappa": u.working_moments(q, tau),
        "gravity": u.working_moments(q, weight),
        "eps": d.working_moments(q, tau),
        "past": causes.outward,
        "present": causes.own,
        "future": causes.inward,
        "C_xi": u.coriolis(q, xi),
        "C_nu": d.coriolis(q, nu),
    }
    if not all(np.isfinite(column).all() for column in columns.values()):
        raise StateError("the numbers of the state are too large: not everything about it is finite")
    return Account(robot, state, columns)


def show_account(told: Account) -> None:
    """Four tables with what they mean."""
    out = show.console()
    names = freedom_names(told.robot.model)
    columns = told.columns | {"D/locked": told.columns["D"] / told.columns["locked"]}
    out.print(f"[bold]{told.robot.name}[/] in diagonal coordinates, at q = {told.state.q.round(4).tolist()}")
    for title, words, shown, total in (
        ("the reduced manipulators", REDUCED, ("D", "locked", "D/locked"), ()),
        ("rates", RATES, ("v", "passive", "xi", "nu", "energy"), ("energy",)),
        ("moments", MOMENTS, ("tau", "kappa", "gravity", "eps"), ()),
        ("Coriolis terms", CORIOLIS, ("past", "present", "future", "C_xi", "C_nu"), ()),
    ):
        table = Table(title=title, title_justify="left", show_footer=bool(total))
        table.add_column("joint", footer="sum")
        for column in shown:
            table.add_column(column, justify="right", footer=f"{columns[column].sum():.6g}" if column in total else "")
        for k, name in enumerate(names):
            table.add_row(escape(name), *(f"{columns[column][k]:.6g}" for column in shown))
        out.print()
        show.put(out, table)
        out.print(words, soft_wrap=not out.is_terminal)
    work = float(told.columns["nu"] @ told.columns["C_nu"])
    size = float(np.linalg.norm(told.columns["nu"]) * np.linalg.norm(told.columns["C_nu"]))
    out.print(f"\nnu C(q, nu) = {work:.2g}, of {size:.3g} that two such vectors could have")
