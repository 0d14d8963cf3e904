"""The verbs in groups, a proposal where one is misspelt, and words that a shell can complete."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from recursa.bundled import BUNDLED, FILES
from recursa.errors import did_you_mean
from recursa.formats.source import SUFFIXES

# ---- -----------------------------------------------------------------------------------------------------------------
# Help texts from source files: sentences about verbs that are not imported, docstrings that -OO has dropped.


SENTENCE = 500  # characters, more than any first sentence of a help text: lines are wrapped, never cut


def first_sentence(module: str, verb: str) -> str:
    """Return the first sentence of the help of a verb, whose module would take longer to import than to read."""
    source = Path(__file__).with_name(f"{module}.py").read_text("utf-8")
    docstring = source.partition(f"def {verb}(")[2].split('"""')[1]
    return click.Command(verb, help=docstring).get_short_help_str(SENTENCE)


def restore_help(command: click.Command) -> None:
    """Give a command, and the commands below it, the docstrings of their functions where they have no help."""
    if not command.help and command.callback is not None:
        code = inspect.unwrap(command.callback).__code__
        command.help = _docstrings(code.co_filename).get(code.co_name)
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        restore_help(below)


@cache
def _docstrings(file: str) -> dict[str, str]:
    """Return the docstrings of the functions of a module, by their names."""
    tree = ast.parse(Path(file).read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {node.name: text for node in functions if (text := ast.get_docstring(node)) is not None}


VERBS: dict[str, dict[str, str]] = {
    "Start here": {
        "demo": "demo",
        "examples": "examples_command",
        "info": "commands",
        "view": "view_command",
        "doctor": "commands",
    },
    "Motions": {
        "ik": "reach_command",
        "time": "time_command",
        "inverse": "motion_commands",
        "simulate": "simulate",
        "plot": "runs",
    },
    "Models": {
        "excite": "identify_command",
        "identify": "identify_command",
        "linearize": "linearize",
        "compare": "compare",
    },
    "Many at once": {"study": "study_commands"},
    "Formulas and counts": {"explain": "formula_commands", "counts": "commands"},
    "Code and speed": {"export": "formula_commands", "bench": "bench", "cache": "commands"},
    "Shell": {"completion": "commands"},
}
"""The headings of the help page; below each its verbs, and the module of each."""

_MODULES = {name: module for verbs in VERBS.values() for name, module in verbs.items()}


class Whole(click.Group):
    """Commands with their first sentences, which are wrapped and not cut."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section of the help page."""
        rows = [(name, self.commands[name].get_short_help_str(SENTENCE)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Verbs(click.Group):
    """Commands under headings, each imported when it is used or its own help is asked for."""

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        """Every verb by name, without importing any."""
        return sorted({*_MODULES, *self.commands})

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        """The command of a verb, from its module."""
        if cmd_name in _MODULES and cmd_name not in self.commands:
            command = getattr(import_module(f"recursa.cli.{_MODULES[cmd_name]}"), cmd_name)
            if sys.flags.optimize > 1:
                restore_help(command)
            self.add_command(command, cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of the help page."""
        for title, verbs in VERBS.items():
            with formatter.section(title):
                formatter.write_dl([(name, first_sentence(module, name)) for name, module in verbs.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The verbs that begin like this, and the options."""
        verbs = [
            CompletionItem(name, help=first_sentence(module, name))
            for name, module in _MODULES.items()
            if name.startswith(incomplete)
        ]
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
