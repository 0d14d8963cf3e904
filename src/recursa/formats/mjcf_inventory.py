"""What there is in an MJCF model before it is compiled, and how many elements it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from recursa.formats.mjcf_geoms import FROM_FILES
from recursa.formats.xml import Element, clipped
from recursa.formats.xml_text import is_ordinary

MAX_ELEMENTS = 20_000  # copies included; the compiler's time grows with the square, to some seconds

SILENT = {"visual", "statistic", "size", "custom", "sensor", "camera", "light", "texture", "material", "lengthrange"}
"""Looks, measurements and sizes of buffers: nothing about the robot itself."""

LEFT_OUT = {
    "contact": ("contact", "contacts are not modelled"),
    "extension": ("plugin", "plugins are not run"),
    "plugin": ("plugin", "plugins are not run"),
    "hfield": ("hfield", "contacts are not modelled"),
    "skin": ("skin", "skins are not modelled"),
    "flex": ("flex", "only rigid bodies are modelled"),
    "flexcomp": ("flex", "only rigid bodies are modelled; its bodies and masses are missing"),
    "flexvert": ("flex", "only rigid bodies are modelled"),
    "flexstrain": ("flex", "only rigid bodies are modelled"),
}
"""What the motion of a tree of rigid bodies does not have: code and reason of the note."""

OMITTED = frozenset(SILENT | LEFT_OUT.keys())

_COPIES = frozenset({"attach", "replicate"})


class Inventory(NamedTuple):
    """What there is in a model: most of what has to be done about files, copies and omissions, few models need."""

    elements: int
    tags: frozenset[str]
    names: frozenset[str]
    """Of attributes."""
    shapes: frozenset[str]
    """Values of the attribute ``type``."""
    ordinary: bool
    """Whether no value is blank, has a character that would have to be escaped, or could be no number."""

    @classmethod
    def of(cls, root: Element) -> Inventory:
        """Of a root element and all inside."""
        every, tags, names, shapes, values = [root], set[str](), set[str](), set[str](), list[str]()
        for element in every:
            attributes = element.attributes
            every += element.children
            tags.add(element.tag)
            names.update(attributes)
            values += attributes.values()
            if "type" in attributes:
                shapes.add(attributes["type"])
        text = "".join(values)
        ordinary = is_ordinary(text) and "nan" not in text.lower() and all(map(str.strip, values))
        return cls(len(every), frozenset(tag.lower() for tag in tags), frozenset(names), frozenset(shapes), ordinary)

    @property
    def files(self) -> bool:
        """Whether there may be shapes that come from files."""
        return "mesh" in self.tags or "mesh" in self.names or not self.shapes.isdisjoint(FROM_FILES)

    @property
    def copies(self) -> bool:
        """Whether there may be more elements, or fewer, than stand there."""
        return "count" in self.names or not self.tags.isdisjoint(OMITTED | _COPIES)

    @property
    def file_names(self) -> frozenset[str]:
        """The attributes that name files."""
        return frozenset(name for name in self.names if name.lower().startswith("file"))


class Growth:
    """How many elements there are when everything is copied as often as the compiler would."""

    def __init__(self, root: Element, gone: set[int], sizes: dict[str, int]) -> None:
        self.root, self.gone, self.sizes = root, gone, sizes
        self.targets = dict(_named(root, ("body", "frame")))
        self.known: dict[int, int] = {}
        self.open: set[int] = set()

    def of(self, element: Element) -> int:
        """The number for an element and all inside."""
        if id(element) in self.known:
            return self.known[id(element)]
        if id(element) in self.open:
            raise element.error("it attaches itself")
        self.open.add(id(element))
        inside = sum(self.of(child) for child in element.children if id(child) not in self.gone)
        if element.tag == "attach":
            inside += self._attached(element)
        found = 1 + inside * _times(element) if element.tag == "replicate" else (1 + inside) * _times(element)
        self.open.discard(id(element))
        self.known[id(element)] = found
        if found > MAX_ELEMENTS:
            raise element.error(
                f"<{clipped(element.tag)}> stands for more than the {MAX_ELEMENTS} elements that are read"
            )
        return found

    def _attached(self, attach: Element) -> int:
        given = attach.attributes
        if "model" in given:
            return self.sizes.get(given["model"], 0)
        target = self.targets.get(given.get("body", given.get("frame", "")))
        return self.of(target) if target is not None else 0


def _named(element: Element, tags: tuple[str, ...]) -> Iterator[tuple[str, Element]]:
    if element.tag in tags and "name" in element.attributes:
        yield element.attributes["name"], element
    for child in element.children:
        yield from _named(child, tags)


def _times(element: Element) -> int:
    """How often an element is copied: the product of the numbers in its count."""
    times = 1
    for word in element.attributes.get("count", "").split():
        try:
            times *= max(1, int(float(word)))
        except (ValueError, OverflowError):
            continue
    return times
