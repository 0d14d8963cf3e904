"""Which geoms of an MJCF model make up the masses of bodies: only their meshes have to be there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from recursa.formats.xml import Element

FROM_FILES = frozenset({"mesh", "hfield", "sdf"})
"""Types of geoms that need files."""

_SPREAD = ("frame", "replicate")  # what stands inside belongs to the body around


class Defaults:
    """The defaults of a model: attributes by class and tag, classes inside classes."""

    def __init__(self, root: Element) -> None:
        self.top = "main"
        self._parents: dict[str, str | None] = {}
        self._values: dict[tuple[str, str], dict[str, str]] = {}
        for section in root.children:
            if section.tag == "default":
                self.top = section.attributes.get("class", self.top)
                self._enter(section, self.top, None)

    def _enter(self, section: Element, name: str, parent: str | None) -> None:
        self._parents.setdefault(name, parent)
        for child in section.children:
            if child.tag == "default":
                self._enter(child, child.attributes.get("class", ""), name)
            else:
                self._values.setdefault((name, child.tag), {}).update(child.attributes)

    def value(self, element: Element, attribute: str, around: str | None) -> str | None:
        """What an attribute of an element is: its own, or that of its class; ``around`` is the class of its body."""
        if attribute in element.attributes:
            return element.attributes[attribute]
        name: str | None = element.attributes.get("class", around or self.top)
        seen: set[str] = set()
        while name is not None and name not in seen:
            seen.add(name)
            found = self._values.get((name, element.tag), {})
            if attribute in found:
                return found[attribute]
            name = self._parents.get(name)
        return None


class SortedGeoms(NamedTuple):
    """Geoms that need files: those whose mass does not count, and the others by the mesh that they need.

    The ``optional`` ones are on bodies that never move.
    """

    idle: list[Element]
    optional: dict[str, list[Element]]
    needed: dict[str, list[Element]]


class Masses:
    """Where masses come from: the ``inertial`` of a body or its geoms, as the compiler is told."""

    def __init__(self, root: Element, defaults: Defaults, settings: dict[str, str]) -> None:
        self.root = root
        self.defaults = defaults
        self.from_geoms = settings.get("inertiafromgeom", "auto")
        words = settings.get("inertiagrouprange", "0 5").split()
        self.groups = tuple(_number(word, 0.0) for word in words) if len(words) == 2 else (0.0, 5.0)

    def sorted_geoms(self, gone: set[int]) -> SortedGeoms:
        """All geoms that need files, sorted; ``gone`` are elements that do not count any more."""
        found = SortedGeoms([], {}, {})
        for world in self.root.children:
            if world.tag == "worldbody":
                self._sort(world, None, False, gone, found)
        return found

    def _sort(self, body: Element, around: str | None, moves: bool, gone: set[int], found: SortedGeoms) -> None:
        members = [(child, kind) for child, kind in _members(body, around) if id(child) not in gone]
        tags = {child.tag for child, _ in members}
        moves = moves or bool(tags & {"joint", "freejoint"})
        by_geoms = self.from_geoms == "true" or (self.from_geoms != "false" and "inertial" not in tags)
        for child, kind in members:
            if child.tag == "body":
                self._sort(child, child.attributes.get("childclass", kind), moves, gone, found)
            elif child.tag == "geom":
                self._sort_geom(child, kind, by_geoms and body.tag == "body", moves, found)

    def _sort_geom(self, geom: Element, around: str | None, counts: bool, moves: bool, found: SortedGeoms) -> None:
        mesh = self.defaults.value(geom, "mesh", around)
        shape = self.defaults.value(geom, "type", around)
        if mesh is None and shape not in FROM_FILES:
            return
        if not counts or shape == "hfield" or not self._weighs(geom, around):
            found.idle.append(geom)
        elif shape == "sdf":
            if moves:
                raise geom.error(
                    "the mass of its body comes from a shape that a plugin makes; give the body an inertial"
                )
            found.idle.append(geom)
        elif mesh is None:
            raise geom.error("the geom is a mesh and does not say which: mesh=... is missing")
        else:
            (found.needed if moves else found.optional).setdefault(mesh, []).append(geom)

    def _weighs(self, geom: Element, around: str | None) -> bool:
        lowest, highest = self.groups
        group = _number(self.defaults.value(geom, "group", around), 0.0)
        mass, density = self.defaults.value(geom, "mass", around), self.defaults.value(geom, "density", around)
        return lowest <= group <= highest and _number(density if mass is None else mass, 1.0) != 0.0


def _members(body: Element, around: str | None) -> Iterator[tuple[Element, str | None]]:
    """What stands in a body, frames looked into, each with the class that is in force there."""
    for child in body.children:
        if child.tag in _SPREAD:
            yield from _members(child, child.attributes.get("childclass", around))
        else:
            yield child, around


def _number(text: str | None, otherwise: float) -> float:
    try:
        return float(text) if text is not None else otherwise
    except ValueError:
        return otherwise
