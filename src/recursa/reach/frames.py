"""What goals need of a configuration: poses of links, the motions of joints in the world, the centre of mass.

All of it in one plan; how its results lie in a row of numbers is told by :class:`Frames`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from recursa.dynamics.kinematics import BUFFERS, LINK_BUFFERS, LINK_POSE, POSE, RELATIVE
from recursa.dynamics.mass_properties import FIRST_MOMENT, require_mass
from recursa.dynamics.subtrees import subtree_masses
from recursa.model.model import WORLD, Joint, Model
from recursa.reach.tasks import MASS_CENTER, Configuration, Row, Task
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, each_link, tip_to_base

Numbers = Sequence[Scalar]


def world_columns(joint: Joint, pose: Transform) -> tuple[Motion, ...]:
    """Motion of everything outward per unit speed of the joint, at the world origin in world axes."""
    return tuple(pose.motion(column) for column in joint.columns())


COLUMNS = Step(world_columns, ("joint", "W"), ("S",), "s(k) = W H*(k), about the world origin      (20)")
POSITION = Step(lambda q: q[0], ("q",), ("position",), "q")
OUTWARD = Step(lambda mc: mc, ("mc",), ("mc@parent",), "m c of all that is outward")


@dataclass(frozen=True)
class Frames:
    """What the tasks of a robot need of a configuration.

    A row of numbers has per link twelve (rotation row by row, position), per freedom of the bodies six (angular,
    linear), and, if the centre of mass is wanted, three per body: ``m c`` of all that is outward of its joint; at last
    the positions of joints that tasks are about by themselves.
    """

    model: Model
    tasks: tuple[Task, ...]

    @cached_property
    def links(self) -> tuple[int, ...]:
        """Whose poses are needed."""
        return tuple(sorted({n for task in self.tasks for n in task.links if n != MASS_CENTER}))

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """The joints whose own positions are needed, by number."""
        return tuple(sorted({joint for task in self.tasks for joint in task.joints}))

    @cached_property
    def massive(self) -> bool:
        """Whether the centre of mass is needed."""
        return any(MASS_CENTER in task.links for task in self.tasks)

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """Those that move any of it; all, where none does."""
        every = tuple(range(self.model.nbodies))
        if self.massive:
            return every
        moving = {body for link in self.links for body in self.model.support(self.model.links[link].body)}
        moving |= set(self.positions)
        return tuple(sorted(moving)) or every

    @cached_property
    def masses(self) -> tuple[float, ...]:
        """Of every body with all that is outward of it."""
        return subtree_masses(self.model)

    @property
    def size(self) -> int:
        """Numbers in a row."""
        freedoms = sum(self.model.joints[k].kind.nv for k in self.bodies)
        moments = 3 * len(self.bodies) if self.massive else 0
        return 12 * len(self.links) + 6 * freedoms + moments + len(self.positions)

    @property
    def plan(self) -> Plan:
        """The sweeps."""
        only = None if len(self.bodies) == self.model.nbodies else self.bodies
        outward = (RELATIVE, POSE, COLUMNS, *((FIRST_MOMENT,) if self.massive else ()))
        sweeps = [base_to_tip(*outward, only=only)]
        if self.links:
            sweeps.append(each_link(LINK_POSE, only=self.links))
        if self.massive:
            require_mass(self.model)
            sweeps.append(tip_to_base(OUTWARD))
        buffers = (*BUFFERS, *LINK_BUFFERS, Buffer("S", ()), Buffer("mc", ZERO))
        if self.positions:
            sweeps.append(base_to_tip(POSITION, only=self.positions))
            buffers = (*buffers, Buffer("position", 0.0))
        return Plan("frames", buffers, tuple(sweeps))

    def gather(self, values: Values) -> Iterator[Scalar]:
        """The row of numbers."""
        for link in self.links:
            pose = values["L"][link]
            for row in pose.rotation.rows():
                yield from row
            yield from pose.translation
        for body in self.bodies:
            for column in values["S"][body]:
                yield from column.components()
        for body in self.bodies if self.massive else ():
            yield from values["mc"][body]
        for joint in self.positions:
            yield values["position"][joint]

    def read(self, row: Numbers) -> Read:
        """A row of numbers as poses, motions and first moments."""
        at, poses, columns, moments = 0, {}, {}, {}
        for link in self.links:
            rotation = Rotation.from_rows([row[at + k : at + k + 3] for k in (0, 3, 6)])
            poses[link] = Transform(rotation, Vec3(*row[at + 9 : at + 12]))
            at += 12
        for body in self.bodies:
            count = self.model.joints[body].kind.nv
            columns[body] = [Motion.of(row[at + 6 * i : at + 6 * i + 6]) for i in range(count)]
            at += 6 * count
        for body in self.bodies if self.massive else ():
            moments[body] = Vec3(*row[at : at + 3])
            at += 3
        positions = dict(zip(self.positions, row[at:], strict=True))
        return Read(self, poses, columns, moments, positions)


@dataclass(frozen=True)
class Read:
    """Poses of links, motions of joints by body, ``m c`` of all that is outward of a body, positions of joints."""

    frames: Frames
    poses: dict[int, Transform]
    columns: dict[int, list[Motion]]
    moments: dict[int, Vec3]
    positions: dict[int, Scalar]

    @property
    def configuration(self) -> Configuration:
        """What tasks look at."""
        return Configuration(self.poses, self.center, self.positions)

    @property
    def center(self) -> Vec3 | None:
        """The centre of mass, if it is wanted."""
        model = self.frames.model
        if not self.frames.massive:
            return None
        roots = [self.moments[k] for k in self.frames.bodies if model.joints[k].parent == WORLD]
        return sum(roots, start=ZERO) * (1.0 / model.total_mass)

    def jacobian(self, row: Row) -> list[Scalar]:
        """How fast an error shrinks per unit of each speed (nv)."""
        model = self.frames.model
        entries: list[Scalar] = [0.0] * model.nv
        for target, wrench in row.wrenches.items():
            path = self.frames.bodies if target == MASS_CENTER else model.support(model.links[target].body)
            for body in path:
                joint, own = model.joints[body], self._at(body, target, wrench)
                share = 1.0 if joint.tie is None else joint.tie.multiplier
                for number, column in enumerate(self.columns[body]):
                    entries[joint.v_start + number] = entries[joint.v_start + number] + share * column.dot(own)
        for number, slope in row.joints.items():
            joint = model.joints[number]
            share = 1.0 if joint.tie is None else joint.tie.multiplier
            entries[joint.v_start] = entries[joint.v_start] + share * slope
        return entries

    def _at(self, body: int, target: int, wrench: Force) -> Force:
        """The wrench that a body has to do with: of the centre of mass its share, at the centre of what is outward."""
        if target != MASS_CENTER:
            return wrench
        model = self.frames.model
        share, mass = 1.0 / model.total_mass, self.frames.masses[body]
        return Force(self.moments[body].cross(wrench.force), wrench.force * mass) * share
