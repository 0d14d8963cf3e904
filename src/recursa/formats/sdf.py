"""SDF, versions 1.4 to 1.12: from XML text to the records of a :class:`~recursa.model.description.Description`.

A robot is one model. It flies freely unless a joint holds it to the world or it is static, as the format says. Frames
become named frames; models inside keep their names before ``::``. A universal or revolute2 joint becomes two revolute
joints with a link without mass between them. Joints that close loops, and gearboxes, are kept as data. What would act
on the robot and is not modelled (springs, links without gravity) is noted; sensors, plugins and contacts are passed
over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from recursa.errors import ModelError, did_you_mean, shortened
from recursa.formats.sdf_files import Documents
from recursa.formats.sdf_joints import Joints, relations_of, relative
from recursa.formats.sdf_scope import WORLD, Scope
from recursa.formats.sdf_tree import Tree, tree_of
from recursa.formats.sdf_values import flag, marked, number, numbers, pose_of, vector, word
from recursa.formats.source import Source
from recursa.formats.xml import Element, clipped
from recursa.model.description import Description, JointRecord, LinkRecord, Note
from recursa.model.geometry import NO_SCALE, ROLES, Geometry, Material, Role
from recursa.model.inputs import claimed
from recursa.spatial.rotation import IDENTITY
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform, composed
from recursa.spatial.vec3 import SymMat3, Vec3

# ---- the links of SDF: masses and shapes. Meshes are references; no file is opened -----------------------------------


_DIAGONAL = ("xx", "yy", "zz")
_SIZES: dict[str, tuple[str, ...]] = {
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
}
_VECTORS = {"box": "size", "ellipsoid": "radii"}


def link_record(name: str, element: Element) -> LinkRecord:
    """A link under its full name. What is not said is as the format says: one kilogram, one kilogram metre squared."""
    owner = f"link '{clipped(name)}'"
    inertial = element.child("inertial")
    if inertial is None:
        reason = f"{owner} has no <inertial>, which in SDF means 1 kg and 1 kg m^2 about every axis."
        element.forgive("default-mass", reason, "Write the masses that it has.")
    elif marked(inertial, "auto"):
        what = f'{owner}: <inertial auto="true"> leaves mass and inertia to be computed from shapes'
        raise inertial.error(f"{what}, which is not done here; write them down")
    elif inertial.child("fluid_added_mass") is not None:
        inertial.forgive("added-mass", f"{owner}: <fluid_added_mass> was passed over.", "Expect it to be missing.")
    _unmodelled(element, owner)
    placed = pose_of(None if inertial is None else inertial.child("pose"), owner)
    moments = None if inertial is None else inertial.child("inertia")
    entries = (number(moments, f"i{entry}", owner, float(entry in _DIAGONAL)) for entry in SymMat3._fields)
    tensor = SymMat3(*entries)
    return LinkRecord(
        name,
        mass=number(inertial, "mass", owner, 1.0),
        com=placed.translation,
        inertia=tensor if placed.rotation == IDENTITY else placed.rotation.symmetric(tensor),
        inertial=True,
        geometry=tuple(_shapes(element, owner)),
        line=element.own_line,
    )


def _unmodelled(element: Element, owner: str) -> None:
    if not flag(element, "gravity", owner, True):
        element.forgive("weightless", f"{owner} is not to feel gravity, but it does here.", "Remove <gravity>.")
    if flag(element, "kinematic", owner):
        element.forgive("kinematic", f"{owner} is kinematic, but forces move it here.", "Remove <kinematic>.")
    decay = element.child("velocity_decay")
    if any(number(decay, tag, owner, 0.0) for tag in ("linear", "angular")):
        element.forgive("decay", f"{owner}: <velocity_decay> was passed over.", "Give the joints damping.")


def _shapes(link: Element, owner: str) -> Iterator[Geometry]:
    """The shapes of a link, those of which the geometry is missing passed over."""
    for part in link.children:
        role = next((role for role in ROLES if role == part.tag), None)
        holder = part.child("geometry") if role is not None else None
        if role is not None and holder is not None and holder.children:
            yield _shape(part, role, holder.children[0], owner)


def _shape(part: Element, role: Role, shape: Element, owner: str) -> Geometry:
    return Geometry(
        shape.tag,
        role,
        size=_size(shape, owner),
        pose=pose_of(part.child("pose"), owner),
        mesh=word(shape, "uri") if shape.tag == "mesh" else "",
        scale=vector(shape, "scale", owner, NO_SCALE) if shape.tag == "mesh" else NO_SCALE,
        material=_material(part.child("material"), owner),
        name=part.attributes.get("name", ""),
    )


def _size(shape: Element, owner: str) -> tuple[float, ...]:
    """What is not said is one metre; a plane without a size has no bounds."""
    if shape.tag in _VECTORS:
        return tuple(vector(shape, _VECTORS[shape.tag], owner, NO_SCALE))
    if shape.tag == "plane":
        given = shape.child("size")
        edges = () if given is None else tuple(numbers(given, owner))
        return edges if len(edges) == 2 else ()
    return tuple(number(shape, tag, owner, 1.0) for tag in _SIZES.get(shape.tag, ()))


def _material(element: Element | None, owner: str) -> Material | None:
    """The diffuse colour; one that makes no sense is passed over."""
    diffuse = None if element is None else element.child("diffuse")
    rgba = () if diffuse is None else tuple(numbers(diffuse, owner))
    if len(rgba) == 3:
        rgba = (*rgba, 1.0)
    return Material(rgba=(rgba[0], rgba[1], rgba[2], rgba[3])) if len(rgba) == 4 else None


_GRAVITY = Vec3(0.0, 0.0, -9.8)  # of a world that does not say
_CHOICE = "model"  # the argument that chooses one of several models


def read_sdf(source: Source, arguments: Mapping[str, str] | None = None) -> Description:
    """The description in an SDF text; ``arguments={"model": name}`` chooses one of several models.

    >>> from recursa.formats.source import Assets
    >>> text = "<sdf version='1.9'><model name='box'><link name='body'/></model></sdf>"
    >>> read_sdf(Source(text, None, Assets())).floating
    True
    """
    documents = Documents(source.assets)
    root = documents.root(source.content, source.path)
    world, element = _world(root, documents, source.path)
    try:
        model = _chosen(world, dict(arguments or {}))
        found = _Reading(world, model).description()
        return replace(found, gravity=_gravity(element), source=source.path, notes=tuple(root.notes))
    except RecursionError:
        raise root.error("models are nested too deeply") from None


def _world(root: Element, documents: Documents, path: str | None) -> tuple[Scope, Element | None]:
    """The scope of the world, and its element if there is one."""
    worlds = [child for child in root.children if child.tag == "world"]
    if len(worlds) > 1:
        raise worlds[1].error("there are two worlds; keep one of them")
    element = worlds[0] if worlds else None
    scope = Scope(element or root, "", None, documents)
    for child in (element or root).children:
        try:
            scope.read([child], () if path is None else (path,))
        except ModelError as error:
            if child.tag != "include" or element is None or (error.source, error.line) != (child.source, child.line):
                raise
            reason = f"an <include> was passed over: {error.reason}."
            child.forgive("include", reason, "Name the folder that it is in: assets=, --assets.")
    return scope, element


def _chosen(world: Scope, arguments: dict[str, str]) -> Scope:
    """The one model, the one that is not static, or the one that was asked for."""
    name = arguments.pop(_CHOICE, None)
    if arguments:
        raise world.element.error(f"SDF has no argument '{next(iter(arguments))}'; '{_CHOICE}' chooses a model")
    if name is not None and name not in world.models:
        raise world.element.error(f"there is no model '{name}'. {did_you_mean(name, world.models)}")
    if not world.models:
        raise world.element.error("there is no model")
    moving = {one: scope for one, scope in world.models.items() if not scope.static} or world.models
    if name is None and len(moving) > 1:
        listed = shortened([f"'{clipped(one)}'" for one in moving])
        hint = f"choose one: arguments={{'{_CHOICE}': ...}}, or --arg {_CHOICE}:=NAME"
        raise world.element.error(f"there are {len(moving)} models: {listed}; a robot is one of them; {hint}")
    found = world.models[name] if name is not None else next(iter(moving.values()))
    for scope in world.models.values():
        if scope is not found:
            element, severity = scope.element, "note" if scope.static else "warning"  # scenery is no fault
            reason = f"model '{clipped(element.attributes['name'])}' was left out: a robot is one model."
            fix = "Load it by itself, or remove it."
            element.notes.append(Note("models", reason, fix, element.line, severity))  # type: ignore[arg-type]
    return found


def _gravity(world: Element | None) -> tuple[float, float, float] | None:
    if world is None:
        return None
    physics = world.child("physics")  # where versions up to 1.5 have it
    holder = world if world.child("gravity") is not None or physics is None else physics
    return tuple(vector(holder, "gravity", "the world", _GRAVITY))  # type: ignore[return-value]


class _Reading:
    """One model of a world, from frames to records."""

    def __init__(self, world: Scope, model: Scope) -> None:
        self.world, self.model = world, model
        self.stand = world.pose(model.path.removesuffix("::"))
        model.become_root()
        self.poses: dict[str, Transform] = {WORLD: self.stand.inverse}
        self.stands: dict[str, Transform] = {model.path: IDENTITY_TRANSFORM}
        self.links: list[LinkRecord] = []
        for scope in model.scopes():
            self._place(scope)

    def _place(self, scope: Scope) -> None:
        stand = self.stands[scope.path]
        for name, inner in scope.models.items():
            self.stands[inner.path] = composed(stand, scope.pose(name))
        for name, node in scope.links.items():
            self.poses[scope.path + name] = composed(stand, scope.pose(name))
            self.links.append(link_record(scope.path + name, node.element))

    def description(self) -> Description:
        """The links and joints of the model."""
        if not self.links:
            raise self.model.element.error(f"{self.model.owner} has no links")
        joints = Joints(self.poses)
        for scope in self.model.scopes():
            if not scope.static:
                for name, node in scope.joints.items():
                    joints.add(scope, self.stands[scope.path], name, node)
        self._world_joints(joints)
        records = [*joints.records, *self._welds({joint.name for joint in joints.records})]
        links = [*self.links, *joints.between]
        tree = tree_of([link.name for link in links], records, [link.name for link in joints.between])
        self._note_tree(tree, {link.name for link in joints.between})
        frames = self._frames({joint.name for joint in tree.joints})
        return Description(
            name=self.model.element.attributes["name"],
            links=(*([LinkRecord(WORLD)] if tree.anchored else []), *links, *(link for link, _ in frames)),
            joints=(*self._with_ties(tree.joints), *(joint for _, joint in frames)),
            closures=tree.closures,
            relations=relations_of(joints.gears, tree.joints, self.poses),
            floating=not tree.anchored,
        )

    def _world_joints(self, joints: Joints) -> None:
        """Joints that the world has, between this model and the world or itself."""
        for name, node in self.world.joints.items():
            ends = {
                self.world.link(end.text.strip()) for tag in ("parent", "child") if (end := node.element.child(tag))
            }
            if ends <= self.poses.keys():
                joints.add(self.world, self.stand.inverse, name, node)
            elif ends & self.poses.keys() - {WORLD}:
                reason = f"joint '{clipped(name)}' holds this model to another, which was left out."
                node.element.forgive("models", reason, "Put both into one model.")

    def _welds(self, taken: set[str]) -> list[JointRecord]:
        """Joints that fix the links of static models to the world."""
        found = []
        for scope in self.model.scopes():
            for name in scope.links if scope.static else ():
                full = scope.path + name
                place = relative(self.poses[WORLD], self.poses[full])
                found.append(JointRecord(claimed(f"{full}_static", taken), "fixed", WORLD, full, place))
        return found

    def _frames(self, taken: set[str]) -> list[tuple[LinkRecord, JointRecord]]:
        """The named frames, each on the link that it is fixed to."""
        found = []
        for scope in self.model.scopes():
            for name, node in scope.frames.items():
                full, link = scope.path + name, scope.link(name)
                if link not in self.poses or node.element.tag != "frame" or link == WORLD:
                    continue
                joint = claimed(f"{full}_frame", taken)
                pose = composed(self.stands[scope.path], scope.pose(name))
                placed = JointRecord(joint, "fixed", link, full, relative(self.poses[link], pose))
                found.append((LinkRecord(full, frame=True, line=node.element.own_line), placed))
        return found

    def _note_tree(self, tree: Tree, between: set[str]) -> None:
        element = self.model.element
        for closure in tree.closures:
            if {closure.first, closure.second} & between:
                raise element.error(
                    f"joint '{clipped(closure.name)}' closes a loop of joints with two axes; change one"
                )
        if tree.closures:
            listed = shortened([f"'{closure.name}'" for closure in tree.closures])
            reason = f"joints that close loops are kept as data, and the dynamics are those of the open tree: {listed}."
            element.forgive("loop", reason, "Constrain them, or remove them.")

    def _with_ties(self, joints: tuple[JointRecord, ...]) -> list[JointRecord]:
        """The joints; one that mimics a joint that closes a loop is free."""
        names = {joint.name for joint in joints}
        return [
            replace(joint, mimic=None) if joint.mimic is not None and joint.mimic.joint not in names else joint
            for joint in joints
        ]
