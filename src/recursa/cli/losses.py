"""Options that say which losses count: both, none, damping alone, friction alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from recursa.dynamics.wrenches import Losses

_MEANING: dict[str, Losses] = {"both": True, "none": False, "damping": "damping", "friction": "friction"}
WORDS: dict[Losses, str] = {
    True: "damping and friction included",
    False: "damping and friction left out",
    "damping": "damping included, friction left out",
    "friction": "friction included, damping left out",
}
"""Which losses count, in words."""

WITH: dict[Losses, str] = {
    True: "with damping and friction",
    False: "without damping and friction",
    "damping": "with damping alone",
    "friction": "with friction alone",
}
"""What a robot has of them."""

OPTION: dict[Losses, str] = {
    True: "--losses", False: "--no-losses", "damping": "--damping-only", "friction": "--friction-only",
}  # fmt: skip
"""The option that says so."""


def losses_options(words: str, default: Losses | None) -> Callable[[Any], Any]:
    """``--losses``, ``--damping-only``, ``--friction-only``; where losses are the default, ``--no-losses`` too.

    The command has them as one argument ``losses``.
    """
    unless = [("--no-losses", "none", "Neither damping nor friction.")] if default is not False else []
    flags = [
        ("--losses", "both", words),
        *unless,
        ("--damping-only", "damping", "Of these, damping alone."),
        ("--friction-only", "friction", "Of these, friction alone."),
    ]

    def meant(ctx: click.Context, param: click.Parameter, value: str | None) -> Losses | None:
        return _MEANING.get(value or "", default)

    def decorate(command: Any) -> Any:
        for name, value, said in reversed(flags):
            command = click.option(name, "losses", flag_value=value, type=str, callback=meant, help=said)(command)
        return command

    return decorate
