"""What the tool called xacro makes of a file, to compare our own expansion with."""

from __future__ import annotations

import math
import re
import sysconfig
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from recursa.formats.source import Assets, source_of
from recursa.formats.xacro import expand
from recursa.formats.xml import Element

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

Tree = tuple[str, dict[str, str], str, list[Any]]


def ours(path: Path, folder: Path, arguments: Mapping[str, str]) -> Tree:
    """Our expansion of a file."""
    return _of_element(expand(source_of(path, Assets(folder)), arguments))


def reference(path: Path, folder: Path, arguments: Mapping[str, str]) -> Tree:
    """The tool's expansion; ``$(find NAME)`` is the folder NAME below ``folder``."""
    xacro = pytest.importorskip("xacro")
    from xacro import substitution_args

    def find(name: str) -> str:
        return str(folder / name)

    before = substitution_args._eval_dict["find"], substitution_args._eval_find
    substitution_args._eval_dict["find"] = substitution_args._eval_find = find
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            document = xacro.process_file(str(path), mappings=dict(arguments), verbosity=0)
    finally:
        substitution_args._eval_dict["find"], substitution_args._eval_find = before
    return _of_dom(document.documentElement, str(folder))


def _of_element(element: Element) -> Tree:
    attributes = {name: value for name, value in element.attributes.items() if not name.startswith("xmlns")}
    return element.tag, attributes, _text(element.text), [_of_element(child) for child in element.children]


def _of_dom(node: Any, folder: str) -> Tree:
    attributes = {name: value for name, value in node.attributes.items() if not name.startswith("xmlns")}
    named = {
        name: str(value).replace(f"file://{folder}/", "package://").replace(f"{folder}/", "package://")
        for name, value in attributes.items()
    }
    text = "".join(child.data for child in node.childNodes if child.nodeType == node.TEXT_NODE)
    children = [_of_dom(child, folder) for child in node.childNodes if child.nodeType == node.ELEMENT_NODE]
    return node.tagName, named, _text(text), children


def _text(text: str) -> str:
    return " ".join(text.split())


def differences(a: Tree, b: Tree, where: str = "") -> Iterator[str]:
    """Where two trees differ; numbers may by rounding."""
    where = f"{where}/{a[0]}"
    if a[0] != b[0]:
        yield f"{where}: <{a[0]}> and <{b[0]}>"
        return
    if a[1].keys() != b[1].keys():
        yield f"{where}: {a[1]} and {b[1]}"
    for name in a[1].keys() & b[1].keys():
        if not same(a[1][name], b[1][name]):
            yield f"{where}: {name}={a[1][name]!r} and {b[1][name]!r}"
    if not same(a[2], b[2]):
        yield f"{where}: {a[2]!r} and {b[2]!r}"
    if len(a[3]) != len(b[3]):
        yield f"{where}: {[child[0] for child in a[3]]} and {[child[0] for child in b[3]]}"
    for one, other in zip(a[3], b[3], strict=False):
        yield from differences(one, other, where)


def same(a: str, b: str) -> bool:
    """Whether two texts are the same but for the rounding of numbers."""
    if a == b:
        return True
    if _NUMBER.sub("#", a) != _NUMBER.sub("#", b):
        return False
    pairs = zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=True)
    return all(math.isclose(float(x), float(y), rel_tol=1e-14, abs_tol=1e-300) for x, y in pairs)


def real_files() -> list[tuple[Path, Path]]:
    """xacro files of the packages rtb-data and example-robot-data with the folder of their packages."""
    site = Path(sysconfig.get_path("purelib"))
    folders = [site / "rtbdata" / "xacro", site / "cmeel.prefix" / "share" / "example-robot-data" / "robots"]
    return [(path, folder) for folder in folders for path in sorted(folder.rglob("*.xacro"))]
