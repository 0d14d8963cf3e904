"""Files as people publish them, damaged: 2,000 of every format, the same in every run.

A loader returns or raises ModelError, whatever it is given, with the line where there is one to name; and it opens no
file, not even one whose name stands in the text. The files are those of installed packages, and robots and tables made
of them.
"""

from __future__ import annotations

import random
import re
import sysconfig
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

import recursa as rc
from damage import ELEMENTS, NASTY, VALUES, Way, copied, damaged, exchanged, moved, nasty, removed, spoilt
from mjcf_texts import MANY_JOINTS
from recursa.formats.recursa_json import write_recursa
from robot_data import small_urdf_files
from robot_files import YAML
from watching import watched_opens
from xacro_reference import real_files
from xacro_texts import macro_arm

CASES = 2000
LEAST_LINES = {"mjcf": 0.95, "recursa": 0.8, "dh": 0.8}  # MuJoCo names some elements; in JSON a path is named
SITE = Path(sysconfig.get_path("purelib"))
CASSIE = SITE / "cmeel.prefix/share/example-robot-data/robots/cassie_description/robots"


def urdfs() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in small_urdf_files(13_000)]


def mjcfs() -> list[str]:
    """That of the package mujoco, and one that says more about joints."""
    found = sorted((SITE / "mujoco" / "testdata").glob("*.xml"))
    return [*(path.read_text(encoding="utf-8") for path in found), MANY_JOINTS] if found else []


def xacros() -> list[str]:
    found = [path.read_text(encoding="utf-8") for path, _ in real_files() if path.stat().st_size < 6000]
    return [macro_arm(2), macro_arm(3), *found]


def sdfs() -> list[str]:
    """Cassie, cut down to a world with its first links and joints, which load in a tenth of the time, and all of it."""
    whole = [path.read_text(encoding="utf-8") for path in sorted(CASSIE.glob("*.sdf"))][:1]
    return [text for one in whole for text in (*[cut_down(one, 4, 3)] * 12, one)]


def cut_down(text: str, links: int, joints: int) -> str:
    for tag, count in (("link", links), ("joint", joints)):
        for extra in re.findall(rf"<{tag} name=.*?</{tag}>", text, re.DOTALL)[count:]:
            text = text.replace(extra, "")
    return text


def robots() -> list[str]:
    return [write_recursa(rc.load(text).model) for text in urdfs() if len(text) < 4100 and "<joint" in text]


def tables() -> list[str]:
    arms = [rc.robots.stanford().to_dh(), rc.robots.puma560().to_dh("standard")]
    with tempfile.TemporaryDirectory() as folder:
        files = [arm.save(Path(folder, f"arm{ending}")) for arm in arms for ending in (".json", ".csv")]
        found = [file.read_text(encoding="utf-8") for file in files]
    return [*found, YAML.replace("CONVENTION", "modified")] if find_spec("yaml") else found


EXPRESSION, BETWEEN = re.compile(r"(?<=\$\{)[^}]*(?=\})"), re.compile(r"(?<=>)[^<>]+(?=<)")
VALUE, PIECE = re.compile(r'"[^"\n]*"|-?\d+\.?\d*(?:e-?\d+)?|\b[a-z]+\b'), re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|[^\n]+")
XML = [*VALUES, *ELEMENTS]
PLAIN: list[Way] = [
    nasty(VALUE, NASTY),
    exchanged(VALUE),
    removed(PIECE),
    copied(PIECE, PIECE, ", "),
    moved(PIECE, PIECE),
]

FORMATS: dict[str, tuple[Callable[[], list[str]], list[Way]]] = {
    "urdf": (urdfs, XML),
    "xacro": (xacros, [*XML, spoilt(EXPRESSION, ["(", "]", "**", "x.y", "'", " if ", "${", "1"])]),
    "sdf": (sdfs, [*XML, spoilt(BETWEEN, NASTY), spoilt(BETWEEN, NASTY)]),
    "mjcf": (mjcfs, XML),
    "recursa": (robots, PLAIN),
    "dh": (tables, PLAIN),
}


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_are_refused_or_read(name: str) -> None:
    if name == "mjcf":
        pytest.importorskip("mujoco")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make, ways = FORMATS[name]
        texts = make()
        if not texts:
            pytest.skip("the package that has such files is not installed")
        rng, counts = random.Random(0), Counter[str]()

        def work() -> None:
            for _ in range(CASES):
                data = damaged(texts, ways, rng)
                try:
                    rc.load(data, format=name, strict=False)  # type: ignore[arg-type]
                    counts["read"] += 1
                except rc.ModelError as error:
                    counts["refused"] += 1
                    counts["with its line"] += error.line is not None

        opened = watched_opens(work)
    assert opened == []
    assert counts["read"] > CASES / 100  # not all of the damage is done at the door
    assert counts["with its line"] > LEAST_LINES.get(name, 1.0) * counts["refused"] - 1
