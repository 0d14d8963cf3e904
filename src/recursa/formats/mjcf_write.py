"""MJCF: from the records of a robot to XML text for MuJoCo."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from recursa.errors import ModelError, ModelWarning, shortened
from recursa.formats.mjcf_chains import Spelled, chains, spelled
from recursa.formats.mjcf_geoms import accepted, carries, mass_data, quaternion
from recursa.formats.mjcf_numbers import ENDLESS, reordered
from recursa.formats.xml import element, empty_tag, numbers
from recursa.model.closures import as_told
from recursa.model.description import Actuator, Closure, Description, JointRecord, LinkRecord, NamedState, Relation
from recursa.model.inputs import claimed, unused
from recursa.model.joints import KINDS
from recursa.model.model import WORLD_LINK, Model
from recursa.model.model_variations import with_free_base
from recursa.spatial.rotation import IDENTITY
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import ZERO

_DEEPEST = 450  # bodies inside bodies; MuJoCo's reader stops at 500
_THRUST = -1  # in the place of the number of a frame
_STAND_IN = {"pos": "0.1 0.2 0.3", "quat": "0.5 0.1 0.7 0.3", "mass": "1", "diaginertia": "1 1.1 1.2"}


def write_mjcf(model: Model, *, stand_in: bool = False) -> str:
    """The robot as MJCF text, which MuJoCo compiles to the same dynamics in the same coordinates.

    Every link is a body and every named frame a site. A link without mass between two joints, with nothing else on it,
    becomes no body: its joints are those of the next link. What MuJoCo has no words for is a ModelError with the name:
    screws, rotors that spin on a link, armature along link axes of a free or planar joint, inertias that no body can
    have. Ranges without width, which MuJoCo refuses, are left out with a warning.

    ``stand_in`` writes the tree alone, a body for every link, with stand-ins for the inertias of moving bodies, for
    programs that put in other numbers afterwards.

    >>> import recursa as rc
    >>> print(write_mjcf(rc.robots.planar(1).with_gravity((0, 0, 0)).model))
    <mujoco model="planar1">
      <compiler angle="radian" autolimits="false"/>
      <option gravity="0.0 0.0 0.0"/>
      <worldbody>
        <body name="link1">
          <inertial pos="0.15 0.0 0.0" mass="0.5" diaginertia="2e-15 0.00375 0.00375"/>
          <joint name="joint1" type="hinge" axis="0.0 0.0 1.0"/>
          <site name="tip" pos="0.3 0.0 0.0"/>
        </body>
      </worldbody>
    </mujoco>
    """
    description = as_told(with_free_base(model), "MJCF")
    if stand_in:
        bare = tuple(
            replace(joint, armature=(), damping=(), friction=(), rotor=None, stiffness=0.0)
            for joint in description.joints
        )
        description = replace(description, joints=bare)
    return _Writing(description, model, stand_in).text()


def body_name(link: str, links: Collection[str]) -> str:
    """What the body of a link is called: as the link, unless that is MuJoCo's own name of the world."""
    return unused(f"{WORLD_LINK}_link", links) if link == WORLD_LINK else link


@dataclass
class _Writing:
    """One run over a description."""

    description: Description
    model: Model
    stand_in: bool
    order: list[Spelled] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.links = {link.name: link for link in self.description.links}
        self.below: dict[str, list[JointRecord]] = {name: [] for name in self.links}
        for joint in self.description.joints:
            self.below[joint.parent].append(joint)
        children = {joint.child for joint in self.description.joints}
        self.root = next(name for name in self.links if name not in children)
        self.world = self.root == WORLD_LINK or any(joint.kind == "free" for joint in self.below[self.root])
        if not self.stand_in:
            self.links, lost = accepted(self.links, self.below, self.root, self.world)
            if lost:
                names = shortened([f"'{name}'" for name in lost])
                self.left_out.append(f"inertias that MuJoCo refuses, of links that do not move: {names}")
        self.joint_names = {joint.name for joint in self.description.joints}
        self.extra_sites = self._new_sites()

    def text(self) -> str:
        content = [
            empty_tag("compiler", {"angle": "radian", "autolimits": "false"}),
            empty_tag("option", {"gravity": numbers(*self.model.gravity)}),
            *element("worldbody", {}, self._world()),
        ]
        if not self.stand_in:
            content += self._section("equality", self._equalities())
            tendons, motors = self._motors()
            content += self._section("tendon", tendons) + self._section("actuator", motors)
            content += self._section("keyframe", map(self._key, self.description.states))
        if self.left_out:
            text = f"the MJCF of robot '{self.description.name}' leaves out {'; '.join(self.left_out)}"
            warnings.warn(text, ModelWarning, stacklevel=4)
        return "\n".join([*element("mujoco", {"model": self.description.name}, content), ""])

    def _section(self, tag: str, lines: Iterable[str]) -> list[str]:
        inside = list(lines)
        return element(tag, {}, inside) if inside else []

    # ---- bodies ------------------------------------------------------------------------------------------------------

    def _world(self) -> list[str]:
        if self.world:
            return self._inside(self.root, 1)
        root = self.links[self.root]
        return element(
            "body", {"name": self._name(self.root)}, [*self._inertial(root, False), *self._inside(self.root, 2)]
        )

    def _name(self, link: str) -> str:
        return body_name(link, self.links)

    def _inside(self, link: str, depth: int) -> list[str]:
        """What hangs on a link: sites and bodies."""
        lines = [self._site(name, placed) for name, placed in self.extra_sites.get(link, ())]
        for joint in self.below[link]:
            child = self.links[joint.child]
            if child.frame and joint.kind == "fixed" and not self.below[child.name]:
                lines.append(self._site(child.name, joint.placement @ joint.after))
            else:
                lines += self._body(joint, depth)
        return lines

    def _body(self, first: JointRecord, depth: int) -> list[str]:
        if depth > _DEEPEST:
            raise ModelError(f"link '{first.child}' has more than {_DEEPEST} links before it; MuJoCo reads no more")
        joints = [first] if self.stand_in else chains(first, self.links, self.below, self._pinned)
        last = joints[-1]
        link = self.links[last.child]
        moves = last.kind != "fixed"
        placed, ends, tail = spelled(joints, self.joint_names, self.root if self.world else None)
        self.order += ends
        own = [self._joint(end) for end in ends]
        inertial, inside = self._inertial(link, moves), self._inside(link.name, depth + 1)
        if tail == IDENTITY_TRANSFORM:
            return element("body", {"name": self._name(link.name)} | _at(placed), [*inertial, *own, *inside])
        holder = unused(f"{link.name}_joint_frame", self.links)  # a ball joint whose link stands askew on it
        fixed = element("body", {"name": self._name(link.name)} | _at(tail), [*inertial, *inside])
        return element("body", {"name": holder} | _at(placed), [*own, *fixed])

    @property
    def _pinned(self) -> set[str]:
        """Links that must stay bodies because something refers to them."""
        return {end for closure in self.description.closures for end in (closure.first, closure.second)}

    def _inertial(self, link: LinkRecord, moves: bool) -> list[str]:
        if self.stand_in:
            return [empty_tag("inertial", _STAND_IN)] if moves else []
        least = moves and not carries(link.name, self.links, self.below)
        if not (link.mass or any(link.inertia)) and not least:
            return []
        return [empty_tag("inertial", mass_data(link, least))]

    def _site(self, name: str, placed: Transform) -> str:
        return empty_tag("site", {"name": name} | _at(placed))

    def _joint(self, end: Spelled) -> str:
        joint = end.joint
        if end.kind == "free" and (self.stand_in or not (end.armature or end.damping or end.friction)):
            return empty_tag("freejoint", {"name": end.name})
        attributes = {"name": end.name, "type": end.kind}
        if end.kind in ("hinge", "slide"):
            attributes["axis"] = numbers(*end.axis)
        if end.position != ZERO:
            attributes["pos"] = numbers(*end.position)
        if self.stand_in:
            return empty_tag("joint", attributes)
        for name, value in (("armature", end.armature), ("damping", end.damping), ("frictionloss", end.friction)):
            if value:
                attributes[name] = numbers(value)
        if joint.stiffness:
            attributes |= {"stiffness": numbers(joint.stiffness), "springref": numbers(joint.rest)}
        if KINDS[joint.kind].nv == 1:
            owner, effort = f"joint '{joint.name}'", joint.effort
            attributes |= self._range("", joint.limits, f"the range of {owner}")
            if effort is not None and math.isfinite(effort):
                attributes |= self._range("actuatorfrc", (-effort, effort), f"the largest effort of {owner}")
        return empty_tag("joint", attributes)

    def _range(self, prefix: str, bounds: tuple[float, float] | None, what: str) -> dict[str, str]:
        """The attributes of a range. MuJoCo refuses one that has no width, so it is left out with a warning."""
        if bounds is None:
            return {}
        low, high = map(_bounded, bounds)
        if not low < high:
            self.left_out.append(f"{what}, ({bounds[0]:g}, {bounds[1]:g}), because MuJoCo requires lower < upper")
            return {}
        return {f"{prefix}limited": "true", f"{prefix}range": numbers(low, high)}

    # ---- constraints -------------------------------------------------------------------------------------------------

    def _new_sites(self) -> dict[str, list[tuple[str, Transform]]]:
        """Sites for closures and thrusters: ``ends`` are named frames of the robot where there are such, else new."""
        self.ends: dict[tuple[str, int], str] = {}
        wanted: list[tuple[str, int, str, Transform]] = []
        if not self.stand_in:
            for closure in self.description.closures:
                wanted += ((closure.name, k, link, placed) for k, (link, placed) in enumerate(_frames_of(closure)))
            child = {joint.name: joint.child for joint in self.description.joints if joint.kind == "free"}
            for actuator in self.description.actuators:
                joint = _thruster(actuator, child)
                wanted += [(actuator.name, _THRUST, child[joint], IDENTITY_TRANSFORM)] if joint else []
        frames = {
            joint.child: (joint.parent, joint.placement @ joint.after)
            for joint in self.description.joints
            if joint.kind == "fixed" and self.links[joint.child].frame and not self.below[joint.child]
        }
        known = {place: name for name, place in frames.items()}
        taken, new = set(self.links), dict[str, list[tuple[str, Transform]]]()
        for owner, number, link, placed in wanted:
            if link in frames:  # which is a site itself, and carries none
                link, placed = frames[link][0], frames[link][1] @ placed
            if (link, placed) not in known:
                name = claimed(f"{owner}_site" if number == _THRUST else f"{owner}_{number + 1}", taken)
                new.setdefault(link, []).append((name, placed))
                known[link, placed] = name
            self.ends[owner, number] = known[link, placed]
        return new

    def _equalities(self) -> Iterator[str]:
        for closure in self.description.closures:
            names = [self.ends[closure.name, k] for k in range(len(list(_frames_of(closure))))]
            for number, (one, other) in enumerate(zip(names[::2], names[1::2], strict=True)):
                name = closure.name if number == 0 else f"{closure.name}_{number + 1}"
                tag = "weld" if closure.kind in ("weld", "fixed") else "connect"
                yield empty_tag(tag, {"name": name, "site1": one, "site2": other})
        moving = {joint.name for joint in self.description.joints if joint.kind != "fixed"}
        fixed = {joint.name for joint in self.description.joints} - moving  # which are no joints there
        for joint in self.description.joints:
            tie = joint.mimic
            if tie is None or joint.name in fixed:
                continue
            if tie.joint not in moving | fixed:
                self.left_out.append(f"the tie of joint '{joint.name}' to '{tie.joint}', which the robot does not have")
                continue
            name = unused(f"{joint.name}_mimic", {relation.name for relation in self.description.relations})
            leader = None if tie.joint in fixed else tie.joint
            yield self._relation(Relation(name, joint.name, leader, (tie.offset, tie.multiplier)))
        for relation in self.description.relations:
            yield self._relation(relation)

    def _relation(self, relation: Relation) -> str:
        if len(relation.polynomial) > 5:
            raise ModelError(f"relation '{relation.name}' has powers above the fourth; MuJoCo has none")
        coefficients = [*relation.polynomial, *[0.0] * (5 - len(relation.polynomial))]
        other = {"joint2": relation.other} if relation.other is not None else {}
        attributes = {"name": relation.name, "joint1": relation.joint, **other, "polycoef": numbers(*coefficients)}
        return empty_tag("joint", attributes)

    # ---- motors ------------------------------------------------------------------------------------------------------

    def _motors(self) -> tuple[list[str], list[str]]:
        """Fixed tendons for those that pull at several joints, and the motors."""
        tendons, motors = list[str](), list[str]()
        for actuator in self.description.actuators:
            attributes = {"name": actuator.name}
            if len(actuator.gears) == 1:
                attributes |= self._gear(actuator)
            else:
                parts = [empty_tag("joint", {"joint": name, "coef": numbers(*gear)}) for name, gear in actuator.gears]
                if any(len(gear) != 1 for _, gear in actuator.gears) or not parts:
                    raise ModelError(f"actuator '{actuator.name}': MuJoCo pulls at several joints of one freedom only")
                tendons += element("fixed", {"name": actuator.name}, parts)
                attributes["tendon"] = actuator.name
            attributes |= self._range("force", actuator.force, f"the force range of motor '{actuator.name}'")
            motors.append(empty_tag("motor", attributes))
        return tendons, motors

    def _gear(self, actuator: Actuator) -> dict[str, str]:
        """What a motor pulls at: a joint, or a site where it pushes a body that flies freely."""
        ((name, gear),) = actuator.gears
        if (actuator.name, _THRUST) in self.ends:
            return {"site": self.ends[actuator.name, _THRUST], "gear": numbers(*reordered(gear))}
        ends = [end for end in self.order if end.joint.name == name]
        if ends and ends[-1].joint.kind == "planar" and any(gear[1:]):
            what = "no forces along link axes on a joint that turns; give the force as a wrench instead"
            raise ModelError(f"actuator '{actuator.name}': MuJoCo's motors have {what}")
        if ends and ends[-1].kind == "free":
            return {"joint": name, "gear": numbers(*reordered(gear))}
        turning = 3 if len(gear) == 6 else 1 if len(gear) == 3 and ends[-1].kind == "hinge" else len(gear)
        return {"joint": ends[-1].name if ends else name, "gear": numbers(*gear[:turning])}

    # ---- states ------------------------------------------------------------------------------------------------------

    def _key(self, state: NamedState) -> str:
        q, v = dict(state.q), dict(state.v)
        qpos: list[float] = []
        qvel: list[float] = []
        for end in self.order:
            kind = KINDS[end.joint.kind]
            own, speed = q.get(end.joint.name, kind.neutral()), v.get(end.joint.name, (0.0,) * kind.nv)
            qpos += end.coordinates(own)
            qvel += end.speeds(own, speed)
        moving = {"qvel": numbers(*qvel)} if any(qvel) else {}
        return empty_tag("key", {"name": state.name, "qpos": numbers(*qpos), **moving})


def _thruster(actuator: Actuator, free: Collection[str]) -> str | None:
    """The free joint along which a motor pushes, if it does."""
    ((joint, gear), *others) = actuator.gears or (("", ()),)
    return joint if not others and joint in free and any(gear[3:]) else None


def _frames_of(closure: Closure) -> Iterator[tuple[str, Transform]]:
    """The frames, two by two, that are held together; a hinge takes two points on its axis."""
    first, second = (closure.first, closure.placement), (closure.second, closure.placement_on_second)
    if closure.kind in ("weld", "fixed", "point", "spherical"):
        yield from (first, second)
    elif closure.kind in ("revolute", "continuous"):
        length = math.sqrt(closure.axis.norm_squared()) or 1.0
        along = Transform(IDENTITY, closure.axis * (1.0 / length))
        yield from (first, second, (closure.first, first[1] @ along), (closure.second, second[1] @ along))
    else:
        raise ModelError(f"closure '{closure.name}': MuJoCo has no {closure.kind} constraints")


def _at(placed: Transform) -> dict[str, str]:
    """The attributes of a place; none where it is the origin."""
    position = {"pos": numbers(*placed.translation)} if placed.translation != ZERO else {}
    return position | ({"quat": quaternion(placed.rotation)} if placed.rotation != IDENTITY else {})


def _bounded(value: float) -> float:
    return max(-ENDLESS, min(ENDLESS, value))
