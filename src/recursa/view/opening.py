"""The user's browser."""

from __future__ import annotations

import os
import sys
import webbrowser


def open_in_browser(address: str) -> bool:
    """Whether a browser shows it; where there is no screen, none is tried."""
    screen = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen) and webbrowser.open(address)
