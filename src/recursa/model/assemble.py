"""From a description to a Model: structure checked, order fixed, fixed joints merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from recursa.errors import ModelError, did_you_mean, shortened
from recursa.model.canonical import added_inertia
from recursa.model.constraints import WORLD_NAME, with_link_names
from recursa.model.description import Description, JointRecord, LinkRecord, Mimic
from recursa.model.inputs import finite_scalar, scalars
from recursa.model.joint_kind import Hinge
from recursa.model.joints import KINDS
from recursa.model.model import WORLD, Joint, Link, MimicMode, Model, Tie
from recursa.model.transmissions import expanded, with_rotors
from recursa.spatial.constants import NOTHING, placed, rigid_inertia, unit_axis
from recursa.spatial.constants import finite as all_finite
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform

FREE_BASE_JOINT = "root"
STANDARD_GRAVITY = (0.0, 0.0, -9.81)
_ZEROS = tuple((0.0,) * freedoms for freedoms in range(7))


def assemble(
    description: Description,
    *,
    gravity: Sequence[float] = STANDARD_GRAVITY,
    floating: bool = False,
    mimic: MimicMode = "free",
) -> Model:
    """Check the structure of a description and make the Model; a broken structure is a :class:`ModelError`.

    Order: depth first from the root, siblings in the order in which their joints are declared.
    """
    if mimic not in ("free", "tie"):
        raise ModelError(f"mimic must be 'free' or 'tie', not {mimic!r}")
    acceleration = _gravity(gravity)
    description = expanded(description)
    tree = _Tree.of(description)
    if description.constraints and not floating and WORLD_NAME not in tree.links:  # the root stands on the world
        description = standing_on(description, tree.root.name)
    assembly = _Assembly(tree, mimic)
    assembly.add_root(floating)
    for record in tree.order:
        assembly.add(record)
    joints, inertias = with_rotors(assembly.finish(), assembly.inertias)
    model = Model(
        description=description,
        gravity=acceleration,
        floating=bool(floating),
        mimic=mimic,
        joints=joints,
        inertias=inertias,
        links=tuple(assembly.links),
        nq=assembly.nq,
        nv=assembly.nv,
    )
    if description.constraints:
        assert len(model.equations) == len(description.constraints)  # which are checked when equations are made of them
    return model


def standing_on(description: Description, root: str) -> Description:
    """The description with a root instead of the world in its constraints: it goes along where the robot is put."""

    def held_by(name: str) -> str:
        return root if name == WORLD_NAME else name

    constraints = tuple(with_link_names(one, held_by) for one in description.constraints)
    return replace(description, constraints=constraints)


def _gravity(gravity: Sequence[float]) -> tuple[float, float, float]:
    if type(gravity) is tuple and len(gravity) == 3 and {*map(type, gravity)} == {float} and all_finite(*gravity):
        return gravity
    x, y, z = (finite_scalar(g, "gravity") for g in scalars(gravity, 3, "gravity"))
    return x, y, z


# ---- structure ---------------------------------------------------------------------------------------------------


@dataclass
class _Tree:
    """A description known to be a tree; ``order`` is that of its joints, depth first."""

    description: Description
    links: dict[str, LinkRecord]
    root: LinkRecord
    order: list[JointRecord]

    @staticmethod
    def of(description: Description) -> _Tree:
        fail = _Failure(description)
        links: dict[str, LinkRecord] = {}
        for link in description.links:
            if link.name in links:
                raise fail(f"two links are called '{link.name}'", link)
            links[link.name] = link
        if not links:
            raise ModelError("the robot has no links", source=description.source)
        children: dict[str, list[JointRecord]] = {name: [] for name in links}
        parent_joint: dict[str, JointRecord] = {}
        names: set[str] = set()
        for joint in description.joints:
            if joint.name in names:
                raise fail(f"two joints are called '{joint.name}'", joint)
            names.add(joint.name)
            if joint.parent not in links or joint.child not in links:
                role = "child" if joint.parent in links else "parent"
                missing = joint.child if joint.parent in links else joint.parent
                hint = did_you_mean(missing, links)
                raise fail(f"joint '{joint.name}': its {role} link '{missing}' does not exist. {hint}", joint)
            if joint.parent == joint.child:
                raise fail(f"joint '{joint.name}' connects link '{joint.child}' to itself", joint)
            if joint.child in parent_joint:
                other = parent_joint[joint.child].name
                raise fail(
                    f"link '{joint.child}' is the child of two joints, '{other}' and '{joint.name}': that closes a "
                    "loop, and only trees are supported. Cut the loop at one of them",
                    joint,
                )
            parent_joint[joint.child] = joint
            children[joint.parent].append(joint)
        roots = [link for name, link in links.items() if name not in parent_joint]
        if not roots:
            closing = _closing_joint(next(iter(links)), parent_joint, description)
            raise fail("every link is the child of some joint: the joints form a cycle, there is no root", closing)
        if len(roots) > 1:
            listed = shortened([f"'{r.name}'" for r in roots])
            raise fail(
                f"{len(roots)} links have no parent joint: {listed}. A robot has one root; connect the others with "
                "joints (a fixed one if they do not move)",
                roots[1],
            )
        order, pending = list[JointRecord](), children[roots[0].name][::-1]
        while pending:  # without recursion: chains of thousands of links are fine
            order.append(joint := pending.pop())
            if below := children[joint.child]:
                pending += reversed(below)
        if len(order) + 1 < len(links):
            reached = {roots[0].name, *(joint.child for joint in order)}
            lost = [name for name in links if name not in reached]
            listed = shortened([f"'{name}'" for name in lost])
            closing = _closing_joint(lost[0], parent_joint, description)
            raise fail(f"links {listed} form a cycle that is not connected to the root '{roots[0].name}'", closing)
        return _Tree(description, links, roots[0], order)


def _closing_joint(link: str, parent_joint: dict[str, JointRecord], description: Description) -> JointRecord:
    """The joint declared last on the cycle that one meets on the way inward from a link."""
    seen: dict[str, int] = {}
    path: list[JointRecord] = []
    while link not in seen:
        seen[link] = len(path)
        path.append(parent_joint[link])
        link = path[-1].parent
    declared = {joint.name: number for number, joint in enumerate(description.joints)}
    return max(path[seen[link] :], key=lambda joint: declared[joint.name])


@dataclass
class _Failure:
    """Makes the error for a record, with its line."""

    description: Description

    def __call__(self, message: str, record: LinkRecord | JointRecord) -> ModelError:
        return ModelError(message, line=record.line, source=self.description.source)

    def of_joint(self, message: str, name: str) -> ModelError:
        """The same for the joint of that name."""
        return self(message, next(joint for joint in self.description.joints if joint.name == name))


# ---- bodies --------------------------------------------------------------------------------------------------------


@dataclass
class _Assembly:
    """Links and bodies laid down one by one, parents first."""

    tree: _Tree
    mimic: MimicMode
    links: list[Link] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    inertias: list[RigidInertia] = field(default_factory=list)
    where: dict[str, Link] = field(default_factory=dict)
    nq: int = 0
    nv: int = 0
    tied: bool = False

    def add_root(self, floating: bool) -> None:
        root = self.tree.root
        if not floating:
            self._lay(root, WORLD, IDENTITY_TRANSFORM)
            return
        if any(joint.name == FREE_BASE_JOINT for joint in self.tree.description.joints):
            raise _Failure(self.tree.description).of_joint(
                f"floating=True adds a free joint called '{FREE_BASE_JOINT}', but the robot has a joint of that name. "
                "Rename it",
                FREE_BASE_JOINT,
            )
        base = JointRecord(FREE_BASE_JOINT, "free", "", root.name)
        self._lay(root, self._new_body(base, WORLD, IDENTITY_TRANSFORM), IDENTITY_TRANSFORM)

    def add(self, record: JointRecord) -> None:
        parent = self.where[record.parent]
        pose, link = placed(parent.offset, record.placement), self.tree.links[record.child]
        if record.kind == "fixed":
            after = record.after
            self._lay(link, parent.body, pose if after is IDENTITY_TRANSFORM else placed(pose, after))
        else:
            self._lay(link, self._new_body(record, parent.body, pose), IDENTITY_TRANSFORM)

    def _lay(self, record: LinkRecord, body: int, offset: Transform) -> None:
        name = record.name
        link = self.where[name] = Link(name, body, offset, record.frame)
        self.links.append(link)
        if body != WORLD and record.inertial:
            about, before = record.about_origin, self.inertias[body]
            own = NOTHING + about if about else rigid_inertia(record.mass, record.com, record.inertia)
            if offset is not IDENTITY_TRANSFORM and offset != IDENTITY_TRANSFORM:
                own = added_inertia(before, own, offset)
            elif before is not NOTHING:
                own = before + own
            self.inertias[body] = own

    def _new_body(self, record: JointRecord, parent: int, placement: Transform) -> int:
        kind, after = KINDS[record.kind], record.after
        zeros = _ZEROS[kind.nv]
        joint = Joint(
            record.name,
            kind,
            record.child,
            parent,
            placement,
            None if after is IDENTITY_TRANSFORM or after == IDENTITY_TRANSFORM else after,
            _hinge(record),
            self.nq,
            self.nv,
            record.armature or zeros,
            record.damping or zeros,
            record.friction or zeros,
            record.limits,
            record.effort,
            record.velocity,
            record.mimic,
            None,
            record.stiffness,
            record.rest,
            record.rotor,
            acceleration=record.acceleration,
            jerk=record.jerk,
        )
        self.joints.append(joint)
        self.inertias.append(NOTHING)
        if record.mimic is not None and _follows(record.mimic, self.mimic):
            self.tied = True
        else:
            self.nq += kind.nq
            self.nv += kind.nv
        return len(self.joints) - 1

    def finish(self) -> tuple[Joint, ...]:
        """The joints, ties resolved."""
        if not self.tied:
            return tuple(self.joints)
        numbers = {joint.name: number for number, joint in enumerate(self.joints)}
        fail = _Failure(self.tree.description)
        return tuple(_tied(joint, self.joints, numbers, self.mimic, fail) for joint in self.joints)


def _follows(mimic: Mimic | None, mode: MimicMode) -> bool:
    """Whether a joint with such a tie has no coordinates of its own."""
    return mimic is not None and (mode == "tie" or mimic.rigid)


def _hinge(record: JointRecord) -> Hinge:
    axis = unit_axis(record.axis)
    return Hinge(axis, record.pitch, Rotation.z_to(axis).snapped() if KINDS[record.kind].has_plane else IDENTITY)


_MOST_TIES = 1000  # from a joint to the one that moves it: every joint follows its own
_SHOWN = 12  # of these in a message


def _tied(joint: Joint, joints: Sequence[Joint], by_name: dict[str, int], mode: MimicMode, fail: _Failure) -> Joint:
    """The joint with its chain of ties followed to an independent joint."""
    if not _follows(joint.mimic, mode):
        return joint
    multiplier, offset = 1.0, 0.0
    mimic: Mimic | None = joint.mimic
    seen = {joint.name: None}  # in order
    last = joint.name
    while mimic is not None and _follows(mimic, mode):
        if mimic.joint not in by_name:
            hint = did_you_mean(mimic.joint, by_name)
            raise fail.of_joint(
                f"joint '{last}' mimics '{mimic.joint}', which is not a moving joint of the robot. {hint}",
                last,
            )
        if mimic.joint in seen:
            through = " -> ".join([*list(seen)[:_SHOWN], *["..."] * (len(seen) > _SHOWN)])
            raise fail.of_joint(f"joint '{joint.name}' mimics itself, through {through}", joint.name)
        if len(seen) > _MOST_TIES:
            raise fail.of_joint(
                f"joint '{joint.name}' follows more than {_MOST_TIES} joints, each of which mimics the next. Let it "
                "mimic the last of them",
                joint.name,
            )
        offset = offset + multiplier * mimic.offset
        multiplier = multiplier * mimic.multiplier
        last = mimic.joint
        seen[last] = None
        mimic = joints[by_name[mimic.joint]].mimic
    origin = joints[by_name[last]]
    if joint.kind.nv != 1 or origin.kind.nv != 1:
        raise fail.of_joint(
            f"joint '{joint.name}' ({joint.kind}) mimics '{origin.name}' ({origin.kind}): only joints with one "
            "freedom can be tied",
            joint.name,
        )
    tie = Tie(by_name[origin.name], multiplier, offset)
    return replace(joint, q_start=origin.q_start, v_start=origin.v_start, tie=tie)
