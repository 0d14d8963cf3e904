"""The robot in a browser: pages that need nothing but themselves, with the robot's own dynamics in them."""

from __future__ import annotations
