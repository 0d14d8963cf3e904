"""Which geoms of an MJCF model make up the masses of bodies: only their meshes have to be there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from recursa.errors import ModelError
from recursa.formats.mjcf_numbers import inertial_frame
from recursa.formats.xml import Element, numbers
from recursa.model.description import JointRecord, LinkRecord
from recursa.spatial.constants import principal_axes
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import SYM_ZERO, ZERO

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


# ---- -----------------------------------------------------------------------------------------------------------------
# Masses and moments as MuJoCo accepts them: positive, within the triangle inequality, and some in every moving body.
# What moves is a link with everything that is fixed to it. MuJoCo looks at every link alone: where it would refuse one
# of them, all of their mass is written with the link that carries the others.


LEAST = 2e-15
"""MuJoCo requires masses and moments of moving bodies above 1e-15: where there is nothing, this is written."""

_ROUNDING = 1e-9  # moments may miss the triangle inequality by this fraction, as for the doctor

Links = Mapping[str, LinkRecord]
Below = Mapping[str, Sequence[JointRecord]]
"""The joints on every link, by its name."""


def accepted(links: Links, below: Below, root: str, in_world: bool) -> tuple[dict[str, LinkRecord], list[str]]:
    """The links with inertias that MuJoCo accepts, and the names of those that stand still and have lost theirs.

    ``root`` is the link that does not move, ``in_world`` whether it is the world itself, which has no inertia there.
    A body that moves and has an inertia that none can have is a ModelError.
    """
    changed, lost = dict(links), list[str]()
    moving = [joint.child for joints in below.values() for joint in joints if joint.kind != "fixed"]
    for carrier in (root, *moving):
        group = [(links[name], placed) for name, placed in _fixed_together(carrier, below)]
        if not any(_objection(link) for link, _ in group):
            continue
        merged = _merged(links[carrier], group)
        reason = _objection(merged)
        if carrier == root and (in_world or reason):
            lost += [link.name for link, _ in group if _objection(link)]
            changed |= {name: _massless(links[name]) for name in lost}
        elif reason:
            raise _impossible(merged, [link.name for link, _ in group], reason)
        else:
            changed |= {link.name: _massless(link) for link, _ in group} | {carrier: merged}
    return changed, lost


def _fixed_together(carrier: str, below: Below) -> list[tuple[str, Transform]]:
    """A link and all that are fixed to it, with their poses in it."""
    found = [(carrier, IDENTITY_TRANSFORM)]
    for name, placed in found:
        found += [
            (joint.child, placed @ joint.placement @ joint.after) for joint in below[name] if joint.kind == "fixed"
        ]
    return found


def _merged(carrier: LinkRecord, group: Sequence[tuple[LinkRecord, Transform]]) -> LinkRecord:
    total = RigidInertia.zero()
    for link, placed in group:
        total += placed.inertia(RigidInertia.from_com(link.mass, link.com, link.inertia))
    com = total.com() if total.mass else ZERO
    return replace(carrier, mass=total.mass, com=com, inertia=total.moment_about_com() if total.mass else total.moment)


def _massless(link: LinkRecord) -> LinkRecord:
    return replace(link, mass=0.0, com=ZERO, inertia=SYM_ZERO)


def _objection(link: LinkRecord) -> str:
    """Why MuJoCo refuses the inertia of a link; empty if it does not."""
    if not all(math.isfinite(x) for x in (link.mass, *link.com, *link.inertia)):
        return "masses and moments must be finite"
    low, middle, high = sorted(principal_axes(link.inertia)[0])
    rounding = max(_ROUNDING * high, LEAST)
    if link.mass < 0.0 or low < -rounding:
        return "masses and moments must not be negative"
    short = high - middle - low
    return f"the largest moment exceeds the sum of the others by {short:.3g} kg m^2" if short > rounding else ""


def _impossible(link: LinkRecord, names: Sequence[str], reason: str) -> ModelError:
    moments = ", ".join(f"{x:.4g}" for x in principal_axes(link.inertia)[0])
    others = [f"'{name}'" for name in names if name != link.name]
    those = f" with what is fixed to it ({', '.join(others)})" if others else ""
    what = f"link '{link.name}'{those} has a mass of {link.mass:g} kg and principal moments ({moments}) kg m^2"
    return ModelError(f"{what}, which MuJoCo refuses: {reason}. robot.doctor() tells more")


def mass_data(link: LinkRecord, least: bool) -> dict[str, str]:
    """The attributes of an accepted inertia; ``least``: with as much as a moving body must have."""
    moments, axes = inertial_frame(link.inertia, link.com)
    floor = LEAST if least else 0.0
    kept = [max(moment, floor) for moment in moments]
    place = kept.index(max(kept))
    kept[place] = min(kept[place], sum(kept) - kept[place])
    turned = {"quat": quaternion(axes)} if axes != IDENTITY else {}
    mass = {"mass": numbers(max(link.mass, floor)), "diaginertia": numbers(*kept)}
    return {"pos": numbers(*link.com), **turned, **mass}


def carries(link: str, links: Links, below: Below) -> bool:
    """Whether something that is fixed to a link satisfies MuJoCo's compiler in its place."""
    others = (links[name] for name, _ in _fixed_together(link, below)[1:])
    return any(other.mass >= LEAST and min(principal_axes(other.inertia)[0]) >= LEAST for other in others)


def quaternion(rotation: Rotation) -> str:
    """The quaternion of a rotation as MuJoCo reads it, w first."""
    x, y, z, w = rotation.quaternion()
    return numbers(w, x, y, z)
