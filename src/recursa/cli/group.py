"""The verbs in groups, a proposal where one is misspelt, and words that a shell can complete."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from recursa.bundled import BUNDLED, FILES
from recursa.cli.help_texts import restore_help
from recursa.errors import did_you_mean
from recursa.formats.source import SUFFIXES

VERBS: dict[str, dict[str, tuple[str, str]]] = {
    "Start here": {
        "demo": (
            "demo",
            "The two arms of Saha's paper: torques along a motion, then let fall; pictures, animations, results.",
        ),
        "examples": ("examples_command", "Copy examples into a folder: scripts, and the same as notebooks."),
        "info": ("commands", "Show a robot: tree, joints, masses, conventions, provenance."),
        "view": (
            "view_command",
            "Show a robot, a run or a trajectory in the browser: one page that needs no network and can be mailed.",
        ),
        "doctor": ("commands", "Check a robot's data."),
    },
    "Motions": {
        "ik": (
            "reach_command",
            "Inverse kinematics: joint positions that put links where they are wanted, within the limits.",
        ),
        "time": (
            "time_command",
            "The fastest motion through points within the robot's limits, and which limit holds it where.",
        ),
        "inverse": ("motion", "Torques for a motion: a CSV file, or a cycloid between two postures."),
        "simulate": ("simulate", "How a robot moves from a state, under torques from a file, or none."),
        "plot": ("runs", "Draw a result of recursa simulate."),
    },
    "Models": {
        "excite": (
            "identify_command",
            "A motion that excites all parameters of a robot, for identification; within its limits, from rest to "
            "rest.",
        ),
        "identify": (
            "identify_command",
            "Masses, inertias, friction and armature of a robot from logs of its motion.",
        ),
        "linearize": ("linearize", "Stiffness, damping and mass near a state: d tau = P dq + V dv + D da."),
        "compare": ("compare", "Our terms against a peer's, and the reason where they differ."),
    },
    "Many at once": {
        "study": (
            "study_commands",
            "Many variations of one question: run them, on threads or a cluster, and look at what came out.",
        ),
    },
    "Formulas and counts": {
        "explain": (
            "formulas",
            "What becomes of an operator formula: identities, sweeps, the step at a body, its arithmetic.",
        ),
        "counts": (
            "commands",
            "Operation counts: the papers' tables with ours beside the printed numbers, and what the code for a robot "
            "costs.",
        ),
    },
    "Code and speed": {
        "export": (
            "formulas",
            "Write a quantity of a robot as C99 (source, header and a test program), or as a JavaScript module.",
        ),
        "bench": (
            "bench",
            "Speed on this machine, beside the peers that are installed (pin, mujoco), as ratios in one run.",
        ),
        "cache": ("commands", "The compiled kernels that are kept on disk."),
    },
    "Shell": {
        "completion": (
            "commands",
            "Print what a shell needs to complete verbs, options, bundled robots, methods, tables.",
        ),
    },
}
"""The headings of the help page; below each its verbs, the module of each and the first sentence of its help."""

_PLACES = {name: place for verbs in VERBS.values() for name, place in verbs.items()}
_SENTENCE = 500  # characters, more than any first sentence of a help text: lines are wrapped, never cut


class Whole(click.Group):
    """Commands with their first sentences, which are wrapped and not cut."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section of the help page."""
        rows = [(name, self.commands[name].get_short_help_str(_SENTENCE)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Verbs(click.Group):
    """Commands under headings, each imported when it is used or its own help is asked for."""

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        """Every verb by name, without importing any."""
        return sorted({*_PLACES, *self.commands})

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        """The command of a verb, from its module."""
        if cmd_name in _PLACES and cmd_name not in self.commands:
            command = getattr(import_module(f"recursa.cli.{_PLACES[cmd_name][0]}"), cmd_name)
            if sys.flags.optimize > 1:
                restore_help(command)
            self.add_command(command, cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of the help page."""
        for title, verbs in VERBS.items():
            with formatter.section(title):
                formatter.write_dl([(name, sentence) for name, (_, sentence) in verbs.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The verbs that begin like this, and the options."""
        verbs = [CompletionItem(name, help=_PLACES[name][1]) for name in _PLACES if name.startswith(incomplete)]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without a verb: the help page, and exit code 2 with every version of click."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was typed, or the nearest as a proposal."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            raise click.UsageError(
                f"No such command '{args[0]}'. {did_you_mean(args[0], self.list_commands(ctx))}", ctx
            ) from None


# ---- words -----------------------------------------------------------------------------------------------------------


class RobotWord(click.ParamType):  # type: ignore[type-arg] # generic from click 8.4 on
    """A robot file or the name of a bundled robot."""

    name = "robot"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Bundled names, folders and files that look like robots."""
        names = [CompletionItem(name, help="bundled") for name in BUNDLED + FILES if name.startswith(incomplete)]
        return names + [CompletionItem(path) for path in _paths(incomplete, SUFFIXES)]


class Word(click.ParamType):  # type: ignore[type-arg] # generic from click 8.4 on
    """Text for which a shell has proposals; whether it is known is decided where it is used."""

    name = "text"

    def __init__(self, words: Callable[[], Iterable[str]]) -> None:
        self._words = words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The words that begin like this."""
        return [CompletionItem(word) for word in self._words() if word.startswith(incomplete)]


def _paths(incomplete: str, suffixes: tuple[str, ...]) -> list[str]:
    head, _, tail = incomplete.rpartition("/")
    start = f"{head}/" if head or incomplete.startswith("/") else ""
    try:
        inside = sorted(Path(start or ".").iterdir())
        found = [entry for entry in inside if entry.name.startswith(tail) and (tail or not entry.name.startswith("."))]
        return [
            f"{start}{entry.name}{'/' * entry.is_dir()}"
            for entry in found
            if entry.is_dir() or entry.suffix.lower() in suffixes
        ]
    except OSError:
        return []


def _inverse_methods() -> Iterable[str]:
    from typing import get_args

    from recursa.methods.inverse_and_forward import InverseMethod

    return get_args(InverseMethod)


def _tables() -> Iterable[str]:
    from recursa.counts.tables import TABLES

    return TABLES


def _quantities() -> Iterable[str]:
    from recursa.facade.asking import exported

    return exported()


ROBOT = RobotWord()
METHOD = Word(_inverse_methods)
ACTUATED = click.option(
    "--actuated", multiple=True, metavar="NAME", help="A joint that has a motor; repeat it for each.  [default: all]"
)
BY_JOINT = partial(click.option, "--by-joint", is_flag=True)
TABLE = Word(_tables)
QUANTITY = Word(_quantities)


def completion_script(shell: Any, group: click.Group) -> str:
    """What a shell has to read once to complete the verbs of a program called recursa."""
    from click.shell_completion import ShellComplete, get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # the choice of shells is click's
    return ShellComplete.source(found(group, {}, "recursa", "_RECURSA_COMPLETE"))  # without asking for its version
