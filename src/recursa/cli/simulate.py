"""The verb ``recursa simulate``: a run to a file, with checkpoints, going on after a crash or Ctrl-C."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

import recursa as rc
from recursa.cli import runs, show
from recursa.cli.group import BY_JOINT, ROBOT
from recursa.cli.losses import OPTION, WITH, losses_options
from recursa.cli.motion_commands import entries
from recursa.cli.root import open_robot, robot_options
from recursa.cli.state_file import read_state
from recursa.dynamics.wrenches import Losses
from recursa.integrators import named, names
from recursa.runs.journal import SUFFIX, Journal
from recursa.runs.npz_files import run_file
from recursa.simulation.checkpoint import Kept, checkpoint_of, claimed, held_journal


@click.command()
@click.argument("robot", required=False, type=ROBOT)
@click.option("--duration", type=float, help="Seconds.")
@click.option(
    "--torque", type=click.Path(path_type=Path), help="CSV: t, and a column per joint; the last row holds on."
)
@click.option("--between", type=click.Choice(["linear", "cubic", "hold"]), help="Its rows.  [default: linear]")
@click.option("--state", metavar="S.json", help='Where it starts, {"q": ..., "v": ...}; - is standard input.')
@click.option("--q0", multiple=True, metavar="NAME=VALUE", help="Where it starts; else neutral.")
@click.option("--v0", multiple=True, metavar="NAME=VALUE", help="How fast, such as root.rx=1; else at rest.")
@click.option("--integrator", help=f"{', '.join(names('simulate'))}.  [default: dop853]")
@click.option("--rtol", type=float, help="Of adaptive integrators.  [default: 1e-10]")
@click.option("--atol", type=float, help="Of adaptive integrators.  [default: 1e-12]")
@click.option("--step", type=float, help="Fixed, s (default 0.001); of adaptive integrators the longest.")
@click.option("--samples", type=int, help="So many, evenly spread; else one per step.")
@click.option("--save-every", type=int, help="Every so many steps one sample.")
@click.option("--stops", is_flag=True, help="Springs and dampers at joint limits.")
@losses_options("Damping and friction act.  [default: as --torque says, else they do]", default=None)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="File for the result: .npz (all of it) or .csv.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw angles, speeds, torques, energy (png, pdf, svg).")
@BY_JOINT(help="Draw the positions alone, a panel for each joint.")
@click.option("--gif", type=click.Path(path_type=Path), help="Draw the motion of the robot as an animated GIF.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="RUN", help="Go on with a run that was cut short.")
@click.option("--restart", is_flag=True, help="Start again, although a run that was cut short could go on.")
@click.option("--checkpoint-every", type=float, metavar="SECONDS", help="By the clock; 0: every step.  [default: 10]")
@robot_options
def simulate(
    robot: str | None,
    resume: Path | None,
    out: Path | None,
    plot: Path | None,
    by_joint: bool,
    gif: Path | None,
    restart: bool,
    checkpoint_every: float | None,
    as_json: bool,
    **given: Any,
) -> None:
    """How a robot moves from a state, under torques from a file, or none.

    \b
    Examples:
      recursa simulate stanford --duration 2 --q0 joint2=1.5708 -o fall.npz --plot fall.png
      recursa simulate arm.urdf --duration 10 --torque torque.csv --state S.json -o run.npz
      recursa simulate --resume run.npz

    While it runs, what there is of it goes to RUN.part; after Ctrl-C or a crash --resume goes on from there, and the
    result is the same to the bit. Joints pass their limits unless --stops; which, when and how far is told. Exit code
    0: to the end, 1: failed, 2: bad input, 130: interrupted. What there is of a run is written in any case.
    """
    of = None if robot is None else partial(open_robot, robot)
    runs.require_drawable(plot, gif)
    part: Path | None
    if resume is not None:
        part = checkpoint_of(resume)
        out = _result_of(part) if out is None else out
        _refuse_given(given, restart)
    elif of is None:
        raise click.UsageError("which robot? Give a robot file or a bundled name; recursa info --list shows those.")
    else:
        part = None if out is None else out.with_name(out.name + SUFFIX)
    if out is not None:
        run_file(out)
        show.require_other_file(given.get("torque"), out)
    with ExitStack() as stack:  # the checkpoint stays ours until the result is safe
        with _terminable():
            if resume is not None and part is not None:
                journal: Journal | None = stack.enter_context(held_journal(part))
                run = _caught(lambda: _resumed(part, journal, of, checkpoint_every))
            else:
                assert of is not None
                journal = None
                chosen, options = of(), dict(given)
                start = _start(chosen, options)
                options["torque"] = torque = _torque(chosen, options.pop("torque"), options.pop("between"))
                options["losses"] = _losses(options["losses"], torque)
                adaptive = named(options["integrator"] or "dop853", "simulate").adaptive
                options["dense"] = adaptive and (plot is not None or gif is not None)
                options["stops"] = options["stops"] or None
                if part is not None:
                    journal = stack.enter_context(claimed(part, partial(_require_given_up, restart)))
                    options |= {"checkpoint": journal}
                    options |= {} if checkpoint_every is None else {"checkpoint_every": checkpoint_every}
                wanted = {name: value for name, value in options.items() if value is not None}
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", rc.LimitWarning)  # the hint below says as much
                    run = _caught(lambda: chosen.simulate(*start, **wanted))
        files = [] if out is None else [_saved(run, out, journal)]
    files += runs.draw(run, plot, gif, by_joint=by_joint)
    _tell(run, files, part, out, as_json)
    if not (as_json or given.get("stops") or resume) and any(one.quantity == "position" for one in run.violations):
        click.echo("hint: nothing holds joints at their limits; --stops puts springs and dampers there", err=True)
    sys.exit({"finished": 0, "stopped": 0, "interrupted": 130}.get(run.status, 1))


def _caught(simulated: Callable[[], rc.Run]) -> rc.Run:
    """The run, as far as it got."""
    try:
        return simulated()
    except rc.SimulationError as error:
        if not isinstance(error.run, rc.Run):
            raise
        return error.run


def _resumed(part: Path, journal: Any, robot: Callable[[], rc.Robot] | None, every: float | None) -> rc.Run:
    if robot is not None and robot().model != Kept(part).model:
        raise rc.StateError(
            f"file '{part}' is of another robot than the one given, or that was changed since; a run goes on with its "
            "own: leave the robot out"
        )
    return rc.resume(journal, checkpoint_every=every)


def _saved(run: rc.Run, out: Path, journal: Journal | None) -> Path:
    """Write the result; then the checkpoint has done its work."""
    try:
        saved = run.save(out)
    except rc.RecursaError as error:
        hint = "" if journal is None else f". The run is still in '{journal.path}': recursa simulate --resume {out}"
        raise rc.RecursaError(f"{error}{hint}") from None
    if journal is not None and run.status != "interrupted":
        journal.discard()
    return saved


def _result_of(part: Path) -> Path:
    if part.suffix != SUFFIX:
        raise click.UsageError(f"where is the result of '{part}' to go? Add -o FILE.")
    return part.with_suffix("")


def _refuse_given(given: dict[str, Any], restart: bool) -> None:
    """A run that goes on has its options already."""
    losses = given["losses"]
    typed = [name for name, value in given.items() if value not in (None, False, ()) and name != "losses"]
    listed = [f"--{name.replace('_', '-')}" for name in typed + ["restart"] * restart]
    listed += [] if losses is None else [OPTION[losses]]
    if listed:
        raise click.UsageError(
            f"{', '.join(listed)}: a run that goes on does so as it began; leave it out with --resume."
        )


def _start(robot: rc.Robot, options: dict[str, Any]) -> tuple[Any, Any]:
    state, q0, v0 = (options.pop(name) for name in ("state", "q0", "v0"))
    if options["duration"] is None:
        raise click.UsageError("how long? Add --duration SECONDS.")
    if state is None:
        return entries(robot, q0, "--q0", coordinates=True), entries(robot, v0, "--v0", coordinates=False)
    if q0 or v0:
        raise click.UsageError("--state and --q0, --v0 say the same: give one of them.")
    found = read_state(robot, state, only=("q", "v"))
    return found.q, found.v


def _torque(robot: rc.Robot, file: Path | None, between: Any) -> rc.TorqueTable | None:
    if file is None:
        if between is not None:
            raise click.UsageError("--between is for the rows of a --torque file.")
        return None
    return rc.TorqueTable.from_csv(file, robot, between or "linear")


def _losses(wanted: Losses | None, torque: rc.TorqueTable | None) -> Losses:
    """Which losses act: as is asked for, else as the torques were made for, else all."""
    made_for = None if torque is None else torque.losses
    if wanted is None:
        return True if made_for is None else made_for
    if made_for is not None and made_for != wanted:
        click.echo(
            f"warning: the torques were computed for a robot {WITH[made_for]}, and this run is {WITH[wanted]}; leave "
            f"{OPTION[wanted]} out to follow the file",
            err=True,
        )
    return wanted


def _require_given_up(restart: bool, kept: Kept) -> None:
    """Hours of work may be in a checkpoint: it is not replaced unless that is wanted."""
    if not restart:
        raise rc.ResultFileError(
            f"file '{kept.path}' holds a run that was cut short (at t = {kept.t:.6g} of {kept.options.duration:g} s): "
            f"go on with recursa simulate --resume {kept.path.with_suffix('')}, or add --restart to start again"
        )


@contextmanager
def _terminable() -> Iterator[None]:
    """A polite kill (SIGTERM, as queues of clusters send it) is taken as Ctrl-C: what was computed is kept.

    Also where Ctrl-C itself is ignored, as it is by what a shell runs in the background.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell(run: rc.Run, files: list[Path], part: Path | None, out: Path | None, as_json: bool) -> None:
    more = f"recursa simulate --resume {out}" if run.status == "interrupted" and part is not None else None
    if as_json:
        show.print_json({**runs.run_data(run), "files": [str(file) for file in files], "resume": more})
    else:
        runs.show_run(run)
        show.wrote(*files)
    if run.status == "failed":
        click.echo(f"failed: {run.message}", err=True)
    if run.status == "interrupted":
        hint = f"go on with: {more}" if more else "it cannot go on: with -o FILE it could"
        click.echo(f"interrupted {run.message}; {hint}", err=True)
