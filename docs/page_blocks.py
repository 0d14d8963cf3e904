"""The blocks of code of a page, and what it says they print: for the test of the pages and for tools/strangers_path.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"```(python|sh)\n(.*?)```(?:\n\n```(?:text|c)\n(.*?)```)?", flags=re.DOTALL)
ALONE = ("README.md", "index.md", "robots.md")  # pages whose blocks do not build on each other
SETTING_UP = ("pip ", "make ", "cc ")  # lines of shell that are not ours to run
PEERS = {
    "pinocchio": ("import pinocchio", "--with pin"),
    "mujoco": ("interop.mujoco", "--with mujoco"),
    "casadi": ("import casadi", ".casadi("),
    "jax": ("import jax",),
}


class Block(NamedTuple):
    """Code, and what the page says it prints: a block of text or C right below."""

    language: str
    code: str
    printed: str


def blocks(page: Path) -> list[Block]:
    """Those of a page, from its top."""
    return [Block(*found) for found in BLOCK.findall(page.read_text("utf-8"))]
