"""Help texts from source files: sentences about verbs that are not imported, docstrings that -OO has dropped."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path

import click

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
