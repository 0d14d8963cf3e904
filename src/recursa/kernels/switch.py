"""Whether plans are compiled, and into what."""

from __future__ import annotations

import os
from typing import Any

try:
    from recursa._entry import choose
except ImportError:  # the optional extension was not built

    def choose(setting: int) -> None:
        """Nothing has been learned that would have to be left aside."""


class _Setting(type):
    """Native entries serve the setting under which they were made; they are told when it changes."""

    on: bool
    form: str | None

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        choose({None: 1, "straight": 2, "loop": 3}.get(cls.form, 4) if cls.on else 0)


class Switch(metaclass=_Setting):
    """Whether plans are compiled, and into what: RECURSA_COMPILE=0 turns it off, RECURSA_FORM=straight or =loop insists
    on one form of code.
    """

    on = os.environ.get("RECURSA_COMPILE", "1") not in ("0", "off", "no")
    form: str | None = os.environ.get("RECURSA_FORM") or None


Switch.on = Switch.on  # the first setting, told too
