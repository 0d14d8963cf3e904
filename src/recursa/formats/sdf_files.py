"""SDF documents: read, brought to what the newest version means, and those that they include.

Versions differ in what an axis is relative to, in the name of the attribute that poses are relative to, and in where
gravity stands. Everything else of the format that is read here has kept its meaning since 1.4.
"""

from __future__ import annotations

import re

from recursa.errors import ModelError
from recursa.formats.sdf_values import flag, word
from recursa.formats.source import Assets
from recursa.formats.xml import Element, NotesElsewhere, clipped, parse
from recursa.model.description import Note

MAX_INCLUDED = 1000  # files in one robot
MAX_DEPTH = 20  # of files that include each other
MAX_ELEMENTS = 1_000_000

_VERSION = re.compile(r"1\.(\d{1,2})\Z")
_OLDEST, _NEWEST = 4, 12
_AXIS_OF_MODEL = 4  # the last version in which axes are always those of the model
_POSE_FRAME = 6  # the last version that says frame= for relative_to=
MODEL = "__model__"


class Documents:
    """The documents of one robot: opened below the folders that the user named, counted, never in a circle."""

    def __init__(self, assets: Assets) -> None:
        self.assets = assets
        self.notes: list[Note] = []
        self.opened = 0
        self.elements = 0

    def root(self, content: str | bytes, path: str | None) -> Element:
        """The root of a document as version 1.11 would have written it."""
        notes = NotesElsewhere(self.notes, str(path)) if self.opened else self.notes
        root = parse(content, path, with_text=True, notes=notes)
        if root.tag != "sdf":
            hint = "; only SDF files can be included" if self.opened else ""
            raise root.error(f"expected the root element <sdf>, found <{clipped(root.tag)}>{hint}")
        self.elements += _modernize(root, _version(root))
        if self.elements > MAX_ELEMENTS:
            raise root.error(f"the files have more than {MAX_ELEMENTS} elements together")
        return root

    def included(self, include: Element, path: str | None, within: tuple[str, ...]) -> tuple[Element, tuple[str, ...]]:
        """The model that an ``<include>`` means, with what it says of it, and the files that it stands in."""
        uri = word(include, "uri")
        if not uri:
            raise include.error("an <include> has no <uri>")
        try:
            content, found = self._content(uri, path)
        except ModelError as error:
            raise include.error(error.reason) if error.line is None else error from None
        self.opened += 1
        if found in within or len(within) >= MAX_DEPTH or self.opened > MAX_INCLUDED:
            what = "in a circle" if found in within else f"more than {MAX_DEPTH} deep or {MAX_INCLUDED} times"
            raise include.error(f"files include each other {what}: '{clipped(uri)}'")
        root = self.root(content, found)
        models = [child for child in root.children if child.tag == "model"]
        if len(models) != 1:
            raise include.error(f"the included file '{clipped(found)}' has {len(models)} models; it must have one")
        return _overridden(models[0], include), (*within, found)

    def _content(self, uri: str, path: str | None) -> tuple[bytes, str]:
        if re.match(r"(https?|fuel)://", uri):
            raise ModelError(f"'{clipped(uri)}' is on the network, from where nothing is read; download it")
        config = None if uri.endswith((".sdf", ".world", ".xml")) else f"{uri.rstrip('/')}/model.config"
        if config is not None:
            content, folder = self.assets.read(config, path, "<include>")
            uri, path = self._in_config(content, str(folder)), str(folder)
        content, found = self.assets.read(uri, path, "<include>")
        return content, str(found)

    @staticmethod
    def _in_config(content: bytes, path: str) -> str:
        """The file of the newest version that a model.config names."""
        root = parse(content, path, with_text=True)
        named = [
            (one, _VERSION.match(one.attributes.get("version", "1.0"))) for one in root.children if one.tag == "sdf"
        ]
        fitting = [(int(v[1]) if v else 0, one.text.strip()) for one, v in named if one.text.strip()]
        if not fitting:
            raise root.error("this model.config names no <sdf> file")
        return max(fitting)[1]


def _version(root: Element) -> int:
    text = root.attributes.get("version", "").strip()
    match = _VERSION.match(text)
    if match is None or not _OLDEST <= int(match[1]) <= _NEWEST:
        raise root.error(f"SDF of version '{clipped(text)}' is not read; 1.{_OLDEST} to 1.{_NEWEST} are")
    return int(match[1])


def _modernize(root: Element, version: int) -> int:
    """Bring a document to what the newest version means, in place; the number of its elements."""
    pending, count = [root], 0
    while pending:
        element = pending.pop()
        count += 1
        pending.extend(element.children)
        if version > _POSE_FRAME:
            continue
        if element.tag == "pose" and element.attributes.get("frame"):
            element.attributes["relative_to"] = element.attributes.pop("frame")
        if element.tag in ("axis", "axis2"):
            of_model = flag(element, "use_parent_model_frame", "an axis", version <= _AXIS_OF_MODEL)
            xyz = element.child("xyz")
            if of_model and xyz is not None:
                xyz.attributes["expressed_in"] = MODEL
    return count


def _overridden(model: Element, include: Element) -> Element:
    """The included model with the name, pose and so on that the ``<include>`` gives it."""
    name = word(include, "name")
    if name:
        model.attributes["name"] = name
    if "placement_frame" in (child.tag for child in include.children):
        model.attributes["placement_frame"] = word(include, "placement_frame")
    for tag in ("pose", "static"):
        given = include.child(tag)
        if given is not None:
            model.children = [given, *(child for child in model.children if child.tag != tag)]
    return model
