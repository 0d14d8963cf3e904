"""The verbs in groups, a proposal where one is misspelt, and words that a shell can complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from recursa.bundled import BUNDLED, FILES
from recursa.errors import did_you_mean
from recursa.formats.source import SUFFIXES

SECTIONS = {
    "Start here": ("demo", "examples", "info", "view", "doctor"),
    "Motions": ("ik", "time", "inverse", "simulate", "plot"),
    "Models": ("excite", "identify", "linearize", "compare"),
    "Many at once": ("study",),
    "Formulas and counts": ("explain", "counts"),
    "Code and speed": ("export", "bench", "cache"),
    "Shell": ("completion",),
}


_SENTENCE = 500  # characters, more than any first sentence of a help text: lines are wrapped, never cut


class Whole(click.Group):
    """Commands with their first sentences, which are wrapped and not cut."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section of the help page."""
        rows = [(name, self.commands[name].get_short_help_str(_SENTENCE)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Verbs(click.Group):
    """Commands under headings; those that no heading names come last."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of the help page."""
        named = {name for names in SECTIONS.values() for name in names}
        others = tuple(name for name in self.list_commands(ctx) if name not in named)
        for title, names in {**SECTIONS, "Others": others}.items():
            rows = [
                (name, self.commands[name].get_short_help_str(_SENTENCE)) for name in names if name in self.commands
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

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


TO_STANDARD_OUTPUT = "-"


class WithJsonFile(click.Command):
    """A verb whose ``--json`` takes the next word if that is the name of a JSON file, and prints else."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put down what an option without a file means."""
        pairs = zip(args, [*args[1:], ""], strict=False)
        spelled = f"--json={TO_STANDARD_OUTPUT}"
        return super().parse_args(
            ctx, [spelled if one == "--json" and not after.endswith(".json") else one for one, after in pairs]
        )


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
TABLE = Word(_tables)
QUANTITY = Word(_quantities)


def completion_script(shell: Any, group: click.Group) -> str:
    """What a shell has to read once to complete the verbs of a program called recursa."""
    from click.shell_completion import ShellComplete, get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # the choice of shells is click's
    return ShellComplete.source(found(group, {}, "recursa", "_RECURSA_COMPLETE"))  # without asking for its version
