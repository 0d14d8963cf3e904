"""MJCF text made ready for MuJoCo's compiler, which then opens no file and cannot be made to run for ever.

The XML is read with our own reader. Included files are put in their places, and files that the masses of bodies depend
on (meshes, attached models) are read through the folders that the user named and handed over in memory, under names of
our own. What says nothing about the motion of a tree of bodies is left out before anything is compiled: looks, sensors,
sizes of buffers, meshes of geoms whose mass does not count. What is left is written again, one tag to a line, so that
the compiler's messages lead back to the lines of the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from recursa.errors import ModelError
from recursa.formats.mjcf_geoms import FROM_FILES, Defaults, Masses
from recursa.formats.source import Assets, Source
from recursa.formats.xml import Element, clipped, is_ordinary, parse, start_tag
from recursa.model.description import Note

# ---- what there is in an MJCF model before it is compiled, and how many elements it stands for -----------------------


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


MAX_DEPTH = 400  # MuJoCo's own reader stops at 500
MAX_COPIES = 4_000  # elements that replicate and attach make, which take it ten times as long
MAX_FILES = 256 * 1024 * 1024  # bytes of all files together

_SERIOUS = ("plugin", "flex")  # the bodies may move otherwise there, whatever they touch
_ONLY_LOOKS = frozenset({"user", "material"})
_OF_FILES = {"meshdir", "texturedir", "assetdir", "strippath"}
_DROPPED = {
    "compiler": _ONLY_LOOKS | _OF_FILES
    | {"fusestatic", "discardvisual", "usethread", "passthrough", "saveinertial", "savecompiled"},
    "key": _ONLY_LOOKS | {"act", "ctrl", "mpos", "mquat", "plastic"},  # their sizes are those of what is left out
    "site": _ONLY_LOOKS | {"mesh"},
}  # fmt: skip
"""Attributes that are left out, by tag."""
_SOMEWHERE_DROPPED = _ONLY_LOOKS.union(*_DROPPED.values())
_MESHES = (".stl", ".obj", ".msh")
_OWN_COMPILER = '<compiler fusestatic="false" usethread="false"><lengthrange mode="none"/></compiler>'
"""No body is merged, and no simulation is run to find how far muscles reach."""

_NAMES = {"name", "class", "childclass", "model", "prefix"}
_NOT_A_NUMBER = re.compile(r"(?<![^\s+-])nan(?![^\s(])", re.I)  # the compiler would only warn
_LINE = re.compile(r"\bline (\d+)")


@dataclass
class Prepared:
    """Text for MuJoCo's compiler with the files it asks for, the element of every line, and what was left out."""

    text: str
    source: str | None
    name: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    places: Sequence[Element] = ()
    notes: Sequence[Note] = ()
    originals: Mapping[str, str] = field(default_factory=dict)

    def refused(self, message: str) -> ModelError:
        """The error for what MuJoCo says about the text, at the line of the source."""
        words = " ".join(message.split()).removeprefix("XML Error: ").removeprefix("Error: ")
        attached = [name for name in self.originals if name.endswith(".xml") and name in words]
        found = None if attached else _LINE.search(words)
        for name, original in self.originals.items():
            words = words.replace(name, clipped(original))
        number = int(found[1]) if found else 0
        if found and 0 < number <= len(self.places):
            place = self.places[number - 1]
            return place.error(f"MuJoCo refuses it: {clipped(words.replace(found[0], f'line {place.line}'), 300)}")
        return ModelError(f"MuJoCo refuses it: {clipped(words, 300)}", source=self.source)

    def lines(self, *tags: str) -> Mapping[str, int]:
        """Where elements with these tags stand in the main file, by name."""
        found = [self._lines[tag] for tag in tags if tag in self._lines]
        if len(found) == 1:
            return found[0]
        return {name: line for one in found for name, line in one.items()}

    @cached_property
    def _lines(self) -> Mapping[str, Mapping[str, int]]:
        found = dict[str, dict[str, int]]()
        for one in self.places:
            if "name" in one.attributes and one.source == self.source:
                found.setdefault(one.tag, {})[one.attributes["name"]] = one.line
        return found


def prepare(source: Source) -> Prepared:
    """The text of a source made ready; a file that may not be opened, or would grow too large, is a ModelError."""
    root = _parsed(source.content, source.path)
    shared = _Shared(source.assets)
    lines, places = _Model(root, shared, ()).written()
    notes = tuple(dict.fromkeys((*root.notes, *shared.notes)))
    name = root.attributes.get("model", "")
    return Prepared("\n".join(lines), source.path, name, shared.files, places, notes, shared.originals)


def _parsed(content: str | bytes, path: str | None) -> Element:
    root = parse(content, path, depth=MAX_DEPTH)
    if root.tag == "mujocoinclude":
        raise root.error("this is a part of an MJCF model; load the file that includes it")
    if root.tag != "mujoco":
        raise root.error(f"expected the root element <mujoco> of an MJCF file, found <{clipped(root.tag)}>")
    return root


class _Shared:
    """What a model and those that it attaches have in common."""

    def __init__(self, assets: Assets) -> None:
        self.assets = assets
        self.files: dict[str, bytes] = {}
        self.originals: dict[str, str] = {}
        self.notes: list[Note] = []
        self.size = 0
        self.elements = 0

    def read(self, element: Element, reference: str, beside: str | None) -> tuple[bytes, Path]:
        """A file that an element refers to, looked for beside its own file, beside the main one, in the folders."""
        path = self.assets.find(reference, element.source) or self.assets.find(reference, beside)
        what = f"<{clipped(element.tag)}>"
        try:
            content, path = self.assets.read(str(path) if path else reference, beside, what)
        except ModelError as error:
            raise element.error(error.reason) from None
        self.size += len(content)
        if self.size > MAX_FILES:
            raise element.error(f"the files of this model have more than the {MAX_FILES} bytes that are read")
        return content, path

    def handed_over(self, content: bytes, suffix: str, original: str) -> str:
        """The name under which MuJoCo finds a content."""
        name = f"recursa_asset_{len(self.files)}{suffix}"
        self.files[name], self.originals[name] = content, original
        return name

    def left_out(self, element: Element, main: str | None, code: str, reason: str) -> None:
        """Note what was left out."""
        fix = "Nothing, if you ask for the motion of the bodies alone."
        line = element.line if element.source == main else None
        self.notes.append(Note(code, reason, fix, line, "warning" if code in _SERIOUS else "note"))


class _Model:
    """One model, the main one or one that is attached; ``opened`` are the files on the way to it."""

    def __init__(self, root: Element, shared: _Shared, opened: tuple[Path, ...]) -> None:
        self.root = root
        self.shared = shared
        self.opened = opened
        self.main = root.source
        self.gone: set[int] = set()
        self.renamed: dict[int, dict[str, str]] = {}
        self.sizes: dict[str, int] = {}

    def written(self) -> tuple[list[str], list[Element]]:
        """The lines of the text, and the element of each."""
        has = Inventory.of(self.root)
        if "include" in has.tags:
            self._include(self.root, set(), 1)
            has = Inventory.of(self.root)
        if not has.tags.isdisjoint(OMITTED):
            self._leave_out(self.root)
        settings = self._settings()
        if "model" in has.tags:
            self._open_models(settings)
        if has.files:
            self._open_meshes(settings)
        self.size = self._grown() if has.copies else has.elements
        self.shared.elements += self.size
        if self.shared.elements > MAX_ELEMENTS:
            raise self.root.error(f"it has {self.shared.elements} elements, copies included; {MAX_ELEMENTS} are read")
        lines: list[str] = []
        places: list[Element] = []
        self._write(self.root, None if self._plain(has) else has.file_names, lines, places)
        return lines, places

    def _plain(self, has: Inventory) -> bool:
        """Whether all attributes can be written as they stand."""
        named = bool(has.file_names or has.files or self.renamed)  # files
        return has.ordinary and not named and has.names.isdisjoint(_SOMEWHERE_DROPPED)

    def _grown(self) -> int:
        """How many elements there are with all copies."""
        growth = Growth(self.root, self.gone, self.sizes)
        grown = growth.of(self.root)
        copies = grown - len(growth.known)
        if copies > MAX_COPIES:
            raise self.root.error(f"copies (replicate, attach) stand for {copies} elements; {MAX_COPIES} are read")
        return grown

    # ---- includes ----------------------------------------------------------------------------------------------------

    def _include(self, element: Element, included: set[Path], depth: int) -> None:
        """Put the content of included files in the places of the elements that include them."""
        if depth > MAX_DEPTH:
            raise element.error(f"elements are nested deeper than {MAX_DEPTH}")
        if not any(child.tag.lower() == "include" for child in element.children):
            for child in element.children:
                self._include(child, included, depth + 1)
            return
        children: list[Element] = []
        for child in element.children:
            inside = self._content(child, included) if child.tag.lower() == "include" else [child]
            holder = Element(element.tag, {}, child.line, child.source, child.notes)
            holder.children = inside
            self._include(holder, included, depth + (child.tag.lower() == "include"))
            children += holder.children
        element.children = children

    def _content(self, include: Element, included: set[Path]) -> list[Element]:
        reference = include.attributes.get("file", "")
        content, path = self.shared.read(include, reference, self.main)
        real = path.resolve()
        if real in included or (self.main and real == Path(self.main).resolve()):
            raise include.error(f"'{clipped(reference)}' is included a second time; a file can be included once")
        included.add(real)
        root = parse(content, str(path), depth=MAX_DEPTH)
        self.shared.notes += root.notes
        return root.children

    # ---- what is left out --------------------------------------------------------------------------------------------

    def _leave_out(self, element: Element) -> None:
        for child in element.children:
            tag = child.tag.lower()
            if tag in SILENT:
                self.gone.add(id(child))
            elif tag in LEFT_OUT:
                self.gone.add(id(child))
                code, why = LEFT_OUT[tag]
                self.shared.left_out(child, self.main, code, f"<{tag}> was left out: {why}.")
            else:
                self._leave_out(child)

    def _under(self, *tags: str) -> Iterator[Element]:
        """The elements inside sections of the model, as ``asset``, ``mesh``."""
        level = [self.root]
        for tag in tags:
            inside = (child for element in level for child in element.children if id(child) not in self.gone)
            level = [child for child in inside if child.tag == tag]
        yield from level

    def _settings(self) -> dict[str, str]:
        """The attributes of the compiler; the last of several counts."""
        found: dict[str, str] = {}
        for compiler in self._under("compiler"):
            found |= compiler.attributes
        return found

    # ---- files -------------------------------------------------------------------------------------------------------

    def _open_models(self, settings: dict[str, str]) -> None:
        for model in self._under("asset", "model"):
            reference = model.attributes.get("file", "")
            content, path = self.shared.read(model, _below(settings.get("assetdir", ""), reference), self.main)
            real = path.resolve()
            if real in self.opened or (self.main and real == Path(self.main).resolve()):
                raise model.error(f"'{clipped(reference)}' attaches itself")
            child = _Model(_parsed(content, str(path)), self.shared, (*self.opened, real))
            lines, _ = child.written()
            name = self.shared.handed_over("\n".join(lines).encode(), ".xml", reference)
            self.renamed[id(model)] = {"file": name}
            self.sizes[model.attributes.get("name", child.root.attributes.get("model", ""))] = child.size

    def _open_meshes(self, settings: dict[str, str]) -> None:
        """Read the meshes that masses come from, and leave out geoms that need other ones."""
        masses = Masses(self.root, Defaults(self.root), settings)
        idle, optional, needed = masses.sorted_geoms(self.gone)
        for geom in idle:
            self._without(geom, "its mass does not count")
        folder = settings.get("meshdir", settings.get("assetdir", ""))
        strip = settings.get("strippath") == "true"
        for mesh in list(self._under("asset", "mesh")):
            name = _mesh_name(mesh)
            if "file" not in mesh.attributes and name in needed | optional:
                continue
            reference = mesh.attributes.get("file", "")
            path = _below(folder, PurePosixPath(reference).name if strip else reference)
            found = self.shared.assets.find(path, mesh.source) or self.shared.assets.find(path, self.main)
            if name in needed or (name in optional and found is not None):
                content, _ = self.shared.read(mesh, path, self.main)
                self.renamed[id(mesh)] = {"name": name, "file": self._mesh_file(mesh, content, reference)}
                continue
            self.gone.add(id(mesh))
            for geom in optional.get(name, ()):
                self._without(geom, "its body does not move")

    def _mesh_file(self, mesh: Element, content: bytes, reference: str) -> str:
        suffix = PurePosixPath(reference).suffix.lower()
        if suffix not in _MESHES:
            raise mesh.error(f"the mesh '{clipped(reference)}' ends with none of {', '.join(_MESHES)}")
        return self.shared.handed_over(content, suffix, reference)

    def _without(self, geom: Element, why: str) -> None:
        self.gone.add(id(geom))
        name = f" '{clipped(geom.attributes['name'])}'" if "name" in geom.attributes else ""
        reason = f"the geom{name} was left out with its mesh: {why}, and contacts are not modelled."
        self.shared.left_out(geom, self.main, "mesh", reason)

    # ---- text --------------------------------------------------------------------------------------------------------

    def _write(self, element: Element, files: frozenset[str] | None, lines: list[str], places: list[Element]) -> None:
        """The lines of an element; ``files`` are attributes that name files, None where nothing has to be looked at."""
        inside: Sequence[Element] = element.children
        if self.gone and inside:
            inside = [child for child in inside if id(child) not in self.gone]
        whole = element is not self.root and not inside
        if files is None:
            words = "".join([f' {name}="{value}"' for name, value in element.attributes.items()])
            lines.append(f"<{element.tag}{words}/>" if whole else f"<{element.tag}{words}>")
        else:
            lines.append(start_tag(element.tag, self._attributes(element, files), empty=whole))
        places.append(element)
        for child in inside:
            self._write(child, files, lines, places)
        if element is self.root:
            lines.append(_OWN_COMPILER)
            places.append(element)
        if not whole:
            lines.append(f"</{element.tag}>")
            places.append(element)

    def _attributes(self, element: Element, files: frozenset[str]) -> dict[str, str]:
        """The attributes that are kept; ``files`` are those that name files."""
        own, tag, kept = self.renamed.get(id(element)), element.tag.lower(), element.attributes
        dropped = _DROPPED.get(tag, _ONLY_LOOKS)
        if own or not dropped.isdisjoint(kept):
            kept = {name: value for name, value in kept.items() if name not in dropped} | (own or {})
        if tag == "site" and kept.get("type") == "mesh":
            kept = {name: value for name, value in kept.items() if name != "type"}
        values = kept.values()
        fine = all(map(str.strip, values)) and "nan" not in " ".join(values).lower()
        return kept if fine and files.isdisjoint(kept) else self._checked(element, tag, kept, own or {})

    def _checked(self, element: Element, tag: str, given: dict[str, str], own: dict[str, str]) -> dict[str, str]:
        """Attributes without those that say nothing; what is no number, and files nobody knows, are errors."""
        kept = dict(given)
        for name in [name for name, value in kept.items() if name not in _NAMES and not value.strip()]:
            del kept[name]  # as if it were not there; some that must be there make the library hang, see mjcf.py
            reason = f"the attribute '{clipped(name)}' of <{clipped(tag)}> is empty and was passed over."
            self.shared.left_out(element, self.main, "empty", reason)
        for name in kept:
            if name.lower().startswith("file") and name not in own:
                raise element.error(
                    f"<{clipped(tag)} {clipped(name)}=...> refers to a file of a kind that is not known"
                )
            if name not in _NAMES and _NOT_A_NUMBER.search(kept[name]):
                raise element.error(f'<{clipped(tag)} {clipped(name)}="{clipped(kept[name])}"> is not a number')
        return kept


def _below(folder: str, reference: str) -> str:
    """A reference in a folder; one that is absolute stays as it is."""
    absolute = reference.startswith("/") or "://" in reference
    return reference if absolute or not folder else f"{folder.rstrip('/')}/{reference}"


def _mesh_name(mesh: Element) -> str:
    """The name of a mesh: its own, or that of its file without folders and ending."""
    return mesh.attributes.get("name") or PurePosixPath(mesh.attributes.get("file", "")).stem
