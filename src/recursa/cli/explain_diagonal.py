"""``recursa explain --diagonal``: total rates, working moments and Coriolis terms, joint by joint, at a state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.markup import escape

import recursa as rc
from recursa.cli import show
from recursa.cli.state_file import State, read_state
from recursa.dynamics.requirements import refuse_constraints
from recursa.errors import NoSweepError, StateError
from recursa.model.columns import freedom_names
from recursa.quantities import refusals
from recursa.sweeps.batching import Array

_TABLES = (  # title, columns, what they mean
    (
        "the reduced manipulators",
        ("D", "locked", "D/locked"),
        "The reduced manipulator of a joint is all that is outward of it, with the joints there let go: a broken "
        "bicycle chain that swings from the joint. D is the inertia it shows to the joint; locked, the outward joints "
        "would show the diagonal of the mass matrix, which is never less.",
    ),
    (
        "rates",
        ("v", "passive", "xi", "nu", "energy"),
        "If the parent were jerked into its motion and the joint let go as well, it would take the passive rate by "
        "itself. xi is what the joint does beyond that, v = passive + xi, and nu = sqrt(D) xi (of several freedoms: W* "
        "xi). The kinetic energy of the robot is the sum of nu^2/2, without products between joints.",
    ),
    (
        "moments",
        ("tau", "kappa", "gravity", "eps"),
        "Torques outward react on a joint. kappa is what is left of its own torque after that, eps = kappa / sqrt(D); "
        "gravity is the part that weight would take. The power is v tau = xi kappa = nu eps.",
    ),
    (
        "Coriolis terms",
        ("past", "present", "future", "C_xi", "C_nu"),
        "C(q, xi) has three causes, in the order of a sweep from the tips to the base. Past: the links outward change "
        "shape, and D with them, P_dot H* xi. Present: the link turns and carries its momentum round, -V~* M V. "
        "Future: the parent moves, and the joint turns what it carries against that motion, -S P+ V+. C(q, nu) is what "
        "remains after half of the change of D: it does no work, nu C = 0.",
    ),
)


def run_explain(robot: rc.Robot, state: str | None, plot: Path | None, as_json: bool) -> None:
    """A state from a file or at random, tables or JSON, a picture."""
    refuse_constraints(robot.model, "explain --diagonal", refusals.ACCELERATIONS)
    if state is None:
        q, v = robot.random_state(1)
        at = State(q, v, 0.0 * v, robot.inverse_dynamics(q, v, 0.0 * v))
    else:
        at = read_state(robot, state)
    columns = account(robot, at)
    names = freedom_names(robot.model)
    if plot is not None:
        from recursa.plotting import plot_diagonal  # matplotlib is slow to import

        plot_diagonal(robot, at.q, at.v, plot)
    if as_json:
        head = {"robot": robot.name, "digest": robot.model.digest, "freedoms": names, "q": at.q.tolist()}
        show.print_json(head | {name: column.tolist() for name, column in columns.items()})
        return
    out = show.console()
    out.print(f"[bold]{escape(robot.name)}[/] in diagonal coordinates, at q = {at.q.round(4).tolist()}")
    for title, shown, words in _TABLES:
        rows = ((escape(name), *(f"{columns[column][k]:.6g}" for column in shown)) for k, name in enumerate(names))
        out.print()
        show.put(out, show.table(("joint", *shown), rows, title))
        out.print(words, soft_wrap=not out.is_terminal)
    nu, coriolis = columns["nu"], columns["C_nu"]
    size = float(np.linalg.norm(nu) * np.linalg.norm(coriolis))
    out.print(f"\nkinetic energy {columns['energy'].sum():.6g} J, the sum of nu^2/2")
    out.print(f"nu C(q, nu) = {float(nu @ coriolis):.2g}, of {size:.3g} that two such vectors could have")
    show.wrote(plot)


def account(robot: rc.Robot, state: State) -> dict[str, Array]:
    """Everything of a state in diagonal coordinates, an entry per freedom in each column."""
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
    inertia, locked = np.diagonal(u.inertia(q)), np.diagonal(robot.mass_matrix(q))
    columns = {
        "v": v,
        "passive": v - xi,
        "xi": xi,
        "nu": nu,
        "energy": 0.5 * nu * nu,
        "D": inertia,
        "locked": locked,
        "D/locked": inertia / locked,
        "tau": tau,
        "kappa": u.working_moments(q, tau),
        "gravity": u.working_moments(q, robot.gravity_forces(q)),
        "eps": d.working_moments(q, tau),
        "past": causes.outward,
        "present": causes.own,
        "future": causes.inward,
        "C_xi": u.coriolis(q, xi),
        "C_nu": d.coriolis(q, nu),
    }
    if not all(np.isfinite(column).all() for column in columns.values()):
        raise StateError("the numbers of the state are too large: not everything about it is finite")
    return columns
