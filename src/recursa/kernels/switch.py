"""Whether plans are compiled, and into what; and what is said where they cannot be."""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from recursa.errors import NativeCodeError

native_module: Any = None
with suppress(ImportError):  # the wheel for all systems has none, and it is for the main interpreter of a process alone
    native_module = import_module("recursa._entry")


class NoCompilerWarning(UserWarning):
    """Quantities are interpreted: the results are the same, slower."""


class _Setting(type):
    """Native entries serve the setting under which they were made; they are told when it changes."""

    on: bool
    form: str | None

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if native_module is not None:
            native_module.choose({None: 1, "straight": 2, "loop": 3}.get(cls.form, 4) if cls.on else 0)


class Switch(metaclass=_Setting):
    """Whether plans are compiled, and into what: RECURSA_COMPILE=0 turns it off, RECURSA_FORM=straight or =loop insists
    on one form of code.
    """

    on = os.environ.get("RECURSA_COMPILE", "1") not in ("0", "off", "no")
    form: str | None = os.environ.get("RECURSA_FORM") or None


Switch.on = Switch.on  # the first setting, told too


def compiles() -> bool:
    """Whether quantities are compiled: the C extension and llvmlite are installed, and nobody turned it off."""
    return Switch.on and native_module is not None and _has_llvm()


@cache
def _has_llvm() -> bool:
    return find_spec("llvmlite") is not None


def _obstacle() -> tuple[str, str]:
    """Why nothing is compiled, and what helps."""
    if native_module is None:
        return (
            "Recursa's C extension is not installed",
            "Install a wheel for your system (pip install --force-reinstall recursa), or build from source with a C "
            "compiler",
        )
    if not _has_llvm():
        return "llvmlite is not installed", "Install it: pip install llvmlite"
    return "RECURSA_COMPILE turns compiling off", "Run Python without RECURSA_COMPILE=0"


def warn_of_interpreting() -> None:
    """A :class:`NoCompilerWarning` that says why quantities are interpreted, once."""
    if not _warned:
        _warned.append(True)
        message = f"{_obstacle()[0]}, so quantities are interpreted: the results are the same, slower"
        warnings.warn(message, NoCompilerWarning, stacklevel=4)


_warned: list[bool] = []


def extension(job: str, *, kernels: bool = True) -> Any:
    """The C extension, for a ``job`` that runs in native code alone; an error that says what is missing without it.

    ``kernels``: the job also needs code that is compiled for the robot.

    >>> extension("the timing of paths").__name__
    'recursa._entry'
    """
    if native_module is None or (kernels and not compiles()):
        reason, remedy = _obstacle()
        raise NativeCodeError(f"{job} runs in native code alone, and {reason}. {remedy}")
    return native_module
