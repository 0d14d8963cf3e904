"""The frames of SDF: every model is a scope of links, joints, frames and models, whose poses name each other.

A pose is found in the frame of its model; ``a::b`` is the frame b of the model a inside. What is relative to what is
followed with loops and not by recursion, so that long chains are fine and circles are errors.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from recursa.errors import did_you_mean
from recursa.formats.sdf_files import MODEL, Documents
from recursa.formats.sdf_values import base_of, flag, marked, name_of, pose_of, word
from recursa.formats.xml import Element, clipped
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform, composed

WORLD = "world"
MAX_NESTING = 40  # of models in models

_LONGEST = 4096  # characters of a name with those of models before it
_KINDS = ("link", "frame", "model", "joint")


class Node(NamedTuple):
    """Something with a pose: where it stands, relative to what, and what it is fixed to."""

    element: Element
    pose: Transform
    base: str
    fixed_to: str


class Scope:
    """One model, or the world, with all that is named in it. ``path`` is the prefix of full names."""

    def __init__(self, element: Element, path: str, outer: Scope | None, documents: Documents) -> None:
        self.element = element
        self.path = path
        self.outer = outer
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.owner = f"{element.tag} '{clipped(element.attributes.get('name', ''))}'"
        self.links: dict[str, Node] = {}
        self.joints: dict[str, Node] = {}
        self.frames: dict[str, Node] = {}
        self.models: dict[str, Scope] = {}
        self._placed: dict[str, Node] = {}
        self._poses: dict[str, Transform] = {MODEL: IDENTITY_TRANSFORM, "": IDENTITY_TRANSFORM}
        if outer is None:
            self._poses[WORLD] = IDENTITY_TRANSFORM
        self._held: dict[str, tuple[Scope, str]] = {}
        self._documents = documents
        self.static: bool = flag(element, "static", self.owner) or (outer is not None and outer.static)
        if self.depth > MAX_NESTING:
            raise element.error(f"models are nested deeper than {MAX_NESTING}")

    # ---- reading -----------------------------------------------------------------------------------------------------

    def read(self, children: Sequence[Element], within: tuple[str, ...]) -> None:
        """Take in the children of a model; ``within`` are the files that it stands in."""
        for child in children:
            if child.tag in _KINDS:
                self.add(child, within)
            elif child.tag == "include":
                model, files = self._documents.included(child, child.source, within)
                if marked(child, "merge"):
                    self._merge(model, files)
                else:
                    self.add(model, files)

    def add(self, child: Element, within: tuple[str, ...]) -> None:
        """Take in a link, joint, frame or model."""
        name = name_of(child, child.tag)
        owner = f"{child.tag} '{clipped(name)}'"
        known: Container[str] = getattr(self, f"{child.tag}s")
        if name in known:
            raise child.error(f"two {child.tag}s of {self.owner} are called '{clipped(name)}'; rename one of them")
        if name in (WORLD, MODEL):
            raise child.error(f"{owner}: the name '{name}' is reserved")
        pose = child.child("pose")
        node = Node(child, pose_of(pose, owner), base_of(pose), "")
        if child.tag == "link":
            self.links[name] = node
        elif child.tag == "frame":
            fixed_to = child.attributes.get("attached_to", "")
            self.frames[name] = node._replace(fixed_to=fixed_to, base=node.base or fixed_to)
        elif child.tag == "joint":
            end = word(child, "child")
            self.joints[name] = node._replace(fixed_to=end, base=node.base or end)
        else:
            inner = self.models[name] = Scope(child, f"{self.path}{name}::", self, self._documents)
            self._placed[name] = node
            inner.read(child.children, within)

    def _merge(self, model: Element, within: tuple[str, ...]) -> None:
        """Take in what is in a model as if it stood here; its frame stays, as a frame with a name of its own."""
        alone = Scope(model, self.path, self, self._documents)
        alone.read(model.children, within)
        name = f"_merged__{model.attributes.get('name', '')}__model__"
        pose = model.child("pose")
        stand = composed(pose_of(pose, alone.owner), alone.pose(alone.placement()).inverse)
        canonical = alone.canonical()
        self.frames[name] = Node(model, stand, base_of(pose), canonical)

        def here(reference: str) -> str:
            return name if reference in (MODEL, "") else reference

        for one, node in alone.links.items():
            self._take(self.links, one, node._replace(base=here(node.base)))
        for one, node in alone.frames.items():
            self._take(self.frames, one, node._replace(base=here(node.base), fixed_to=here(node.fixed_to)))
        for one, node in alone.joints.items():
            _rename_model(node.element, name)
            self._take(self.joints, one, node._replace(base=here(node.base), fixed_to=here(node.fixed_to)))
        for one, inner in alone.models.items():
            if one in self.models:
                raise inner.element.error(f"two models of {self.owner} are called '{clipped(one)}'")
            inner.outer, self.models[one] = self, inner
            self._placed[one] = alone._placed[one]._replace(base=here(alone._placed[one].base))

    def _take(self, known: dict[str, Node], name: str, node: Node) -> None:
        if name in known:
            raise node.element.error(f"two {node.element.tag}s of {self.owner} are called '{clipped(name)}'")
        known[name] = node

    def become_root(self) -> None:
        """Leave the name of this model out of all full names in it."""
        prefix = self.path
        for scope in self.scopes():
            scope.path = scope.path.removeprefix(prefix)

    # ---- asking ------------------------------------------------------------------------------------------------------

    def placement(self) -> str:
        """The frame that the pose of the model is about."""
        return self.element.attributes.get("placement_frame", "")

    def canonical(self) -> str:
        """The link that the frame of the model is fixed to."""
        named = self.element.attributes.get("canonical_link", "")
        if named:
            return named
        if self.links:
            return next(iter(self.links))
        for name, inner in self.models.items():
            found = inner.canonical()
            if found:
                return f"{name}::{found}"
        return ""

    def scopes(self) -> Iterator[Scope]:
        """This one and all inside, outer ones first."""
        pending = [self]
        while pending:
            scope = pending.pop()
            yield scope
            pending.extend(reversed(scope.models.values()))

    def pose(self, name: str) -> Transform:
        """The pose of a frame in the frame of this model."""
        chain: list[tuple[str, Transform]] = []
        seen: set[str] = set()
        while name not in self._poses:
            if name in seen:
                raise self._circle(name)
            seen.add(name)
            base, step = self._step(name)
            chain.append((name, step))
            name = base
        found = self._poses[name]
        for one, step in reversed(chain):
            found = composed(found, step)
            self._poses[one] = found
        return found

    def _step(self, name: str) -> tuple[str, Transform]:
        """What a frame is relative to, and its pose there."""
        node = self.node(name)
        if node is not None:
            return node.base, node.pose
        first, inside = self._split(name)
        inner = self.models[first]
        if inside:
            return first, inner.pose(inside)
        placed = self._placed[first]
        back = inner.pose(inner.placement())
        return placed.base, composed(placed.pose, back.inverse)

    def node(self, name: str) -> Node | None:
        """The link, frame or joint of that name in this very scope."""
        return self.links.get(name) or self.frames.get(name) or (
            self.joints.get(name) if name not in self.models else None
        )  # fmt: skip

    def _split(self, name: str) -> tuple[str, str]:
        """The model inside that a name begins with, and the rest."""
        if name in self.models:
            return name, ""
        first, _, rest = name.partition("::") if len(name) <= _LONGEST else (name, "", "")
        while rest and first not in self.models:
            more, _, rest = rest.partition("::")
            first = f"{first}::{more}"
        if first not in self.models or not rest:
            known = [*self.links, *self.frames, *self.models, *self.joints]
            raise self.element.error(
                f"{self.owner} has nothing called '{clipped(name)}'. {did_you_mean(clipped(name), known)}"
            )
        return first, rest

    def link(self, name: str) -> str:
        """The full name of the link that a frame is fixed to, or "world"."""
        scope: Scope = self
        passed: dict[tuple[int, str], Scope] = {}
        while name != WORLD and name not in scope.links and name not in scope._held:
            if (id(scope), name) in passed:
                raise scope._circle(name)
            passed[id(scope), name] = scope
            scope, name = scope._holder(name)
        end = scope._held.get(name, (scope, name))
        for (_, one), on_the_way in passed.items():
            on_the_way._held[one] = end
        return WORLD if end[1] == WORLD else end[0].path + end[1]

    def _holder(self, name: str) -> tuple[Scope, str]:
        """What a frame that is no link is fixed to: a frame here or in a model inside."""
        if name in (MODEL, ""):
            canonical = self.canonical()
            if self.outer is None or not canonical:
                return self, WORLD
            return self, canonical
        node = self.node(name)
        if node is not None:
            return self, node.fixed_to
        first, inside = self._split(name)
        return self.models[first], inside

    def _circle(self, name: str) -> Exception:
        return self.element.error(f"{self.owner}: frame '{clipped(name)}' is relative to itself, by way of others")


def _rename_model(joint: Element, name: str) -> None:
    """Let a joint of a merged model say the name that the model's frame has now."""
    for tag in ("axis", "axis2"):
        axis = joint.child(tag)
        xyz = None if axis is None else axis.child("xyz")
        if xyz is not None and xyz.attributes.get("expressed_in") == MODEL:
            xyz.attributes["expressed_in"] = name
    for tag in ("parent", "child"):
        end = joint.child(tag)
        if end is not None and end.text.strip() == MODEL:
            end.text = name
