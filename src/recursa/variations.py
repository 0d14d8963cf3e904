"""Robots made from others. A robot never changes: each of these methods returns a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from recursa.doctor import Report, examine
from recursa.dynamics.kinematics import POSES
from recursa.errors import ModelError, ShapeError, unknown_name
from recursa.evaluation.answering import Facade
from recursa.evaluation.hints import warn_of_grams, warn_of_millimetres
from recursa.lookups import Lookups
from recursa.model.assemble import assemble
from recursa.model.branches import attached, chain, without
from recursa.model.columns import symbols_of
from recursa.model.constraints import Constraint, Contact, JointRelation, Loop, Prescribed
from recursa.model.description import MimicMode
from recursa.model.geometry import ROLES, Role
from recursa.model.inputs import finite, name_of, placement
from recursa.model.locking import reduced
from recursa.model.model import WORLD, Model
from recursa.model.model_variations import ready_for, with_frame, with_inertias, with_joint, with_payload
from recursa.model.naming import prefixed, renamed
from recursa.model.rebase import require_free_flyer, with_base
from recursa.model.scaling import scaled
from recursa.model.solids import with_solid_links
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.scalars import listed
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array, as_numbers

if TYPE_CHECKING:
    from recursa.robot import Robot

_AS_IT_IS: Any = object()
_UNPHYSICAL = ("mass", "inertia", "triangle", "pseudo-inertia", "hinge")  # findings about inertias that nothing has


class Variations(Facade):
    """The same robot with something changed. Constraints, actuators, named states and provenance stay where they still
    mean something; what had to go is a finding of ``robot.doctor()``."""

    __slots__ = ()

    def _changed(self, **changes: Any) -> Self:
        model = self.model
        options = {"gravity": model.gravity, "floating": model.floating, "mimic": model.mimic, **changes}
        description = options.pop("description", model.description)
        changed = assemble(description, **options)
        if symbols := symbols_of(changed):
            raise ModelError(
                f"robot '{model.name}' has numbers, and {listed(symbols)} is a symbol. Robots with symbols are built "
                "so from the start, by rc.Builder or rc.from_dh"
            )
        return type(self)(changed)

    # ---- surroundings ------------------------------------------------------------------------------------------------

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """The same robot under another gravity, a vector in world axes.

        >>> import recursa as rc
        >>> rc.robots.planar(2).with_gravity((0, 0, -1.62)).gravity
        (0.0, 0.0, -1.62)
        """
        return self._changed(gravity=gravity)

    def with_frame(self, name: str, parent: str, xyz: ArrayLike = (0, 0, 0), rpy: ArrayLike = (0, 0, 0)) -> Self:
        """The same robot with one more named frame, fixed in the link ``parent``.

        >>> import recursa as rc
        >>> rc.robots.planar(1).with_frame("camera", "link1", xyz=(0, 0, 0.1)).pose([0.0], "camera")[:3, 3]
        array([0. , 0. , 0.1])
        """
        self.model.link_index(parent)
        description = with_frame(self.model.description, name, parent, xyz, rpy)
        distance = float(description.joints[-1].placement.translation.norm())
        warn_of_millimetres(self.model, distance, f"frame '{name}' on link '{parent}'")
        return self._changed(description=description)

    def with_base(self, link: str) -> Self:
        """The same free flyer with another base: the tree re-rooted at a link, whose pose the free joint then is.

        Links keep their frames, and joints of one freedom their names, values, signs and limits; ``rebase_state`` maps
        states. Jain & Rodriguez, appendix A. What depends on no choice of base (energies, momenta, accelerations of
        links) stays the same.

        >>> import recursa as rc
        >>> robot = rc.robots.free_flyer(2)
        >>> robot.with_base("link2").link_names
        ('world', 'link2', 'link1', 'bus', 'gripper')
        >>> robot.with_base("link2").joint_names
        ('root', 'joint2', 'joint1')
        """
        require_free_flyer(self.model, "another base")
        return self._changed(description=with_base(self.model, link))

    # ---- masses and joints -------------------------------------------------------------------------------------------

    def with_payload(self, link: str, mass: float, com: ArrayLike = (0, 0, 0), inertia: ArrayLike = (0, 0, 0)) -> Self:
        """The same robot with a body welded to a link; ``com`` and ``inertia`` as for :meth:`Builder.link`.

        The payload appears as a link of its own, ``<link>_payload``: ``M + phi M_payload phi*``. A negative mass is
        refused; what the doctor finds doubtful about it is a :class:`~recursa.ModelWarning`.

        >>> import recursa as rc
        >>> rc.robots.planar(2).with_payload("tip", 1.5, inertia=(0.01, 0.01, 0.01)).link_names[-1]
        'tip_payload'
        """
        self.model.link_index(link)
        description = with_payload(self.model.description, link, mass, com, inertia)
        payload = description.links[-1]
        warn_of_grams(self.model, float(payload.mass), f"the payload on link '{link}'")
        warn_of_millimetres(
            self.model, float(payload.com.norm()), f"the centre of mass of the payload on link '{link}'"
        )
        robot = self._changed(description=description)
        examine(robot.model).about("link", description.links[-1].name).warn(stacklevel=2)
        return robot

    def with_parameters(self, parameters: ArrayLike | Mapping[str, float]) -> Self:
        """The same robot with other inertial parameters: all (10*nbodies,) as :attr:`parameters`, or some by name.

        Of every body the link that its joint carries gets all of it, and links on fixed joints, which are part of the
        same body, are left without mass: parameters are those of bodies, and do not say how links share them.
        Parameters that no body can have (a negative mass, or moments that no distribution of mass makes) are a
        :class:`~recursa.ModelWarning`, not an error, since torques can be fitted with them. Such a robot is kept by
        :meth:`save`; a URDF has no words for first moments without a mass.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> heavier = arm.with_parameters({"link2.m": 1.0})
        >>> (heavier.parameters - arm.parameters).nonzero()[0].tolist(), float(heavier.parameters[10])
        ([10], 1.0)
        """
        numbers = self._parameter_values(parameters).reshape(-1, 10).tolist()
        inertias = [RigidInertia.from_components(x) for x in numbers]
        robot = self._changed(description=with_inertias(self.model, inertias))
        unphysical = [finding for finding in examine(robot.model) if finding.code in _UNPHYSICAL]
        if unphysical:
            known = set(examine(self.model))
            Report(robot.model.name, [finding for finding in unphysical if finding not in known]).warn(stacklevel=2)
        return robot

    def _parameter_values(self, parameters: Any) -> Array:
        lookups = Lookups(self.model, self.evaluator)
        values = lookups.parameters
        if isinstance(parameters, Mapping):
            places = {name: k for k, name in enumerate(lookups.parameter_names)}
            for name, value in parameters.items():
                if name not in places:
                    raise unknown_name("parameter", name, places, owner=f"robot '{self.model.name}'")
                values[places[name]] = finite(value, f"parameter '{name}'")
            return values
        given = as_numbers("parameters", parameters, len(values))
        if given.shape != values.shape:
            raise ShapeError(
                f"parameters has shape {given.shape}, expected {values.shape}: ten of each of the {self.model.nbodies} "
                f"bodies of robot '{self.model.name}'"
            )
        wrong = np.flatnonzero(~np.isfinite(given))
        if len(wrong):
            raise ModelError(f"parameter '{lookups.parameter_names[wrong[0]]}' must be finite, not {given[wrong[0]]}")
        return given.astype(float)

    def with_inertia_from_geometry(
        self, density: float = 1000.0, *, links: Iterable[str] | None = None, role: Role = "collision"
    ) -> Self:
        """The same robot with masses, centres and inertias of links estimated from their shapes, as solid bodies.

        - ``density``: of all of them, kg/m^3.
        - ``links``: whose data are replaced; None for the links that move, have such shapes and have no mass data.
        - ``role``: which shapes, "collision" or "visual".

        Boxes, spheres, cylinders, capsules and ellipsoids have closed forms. Meshes need the extra ``recursa[meshes]``
        and a robot loaded with ``assets=``; of a mesh that is not closed the convex hull is taken. Shapes of a link
        add up, also where they overlap. ``robot.doctor()`` names every link whose data are such an estimate.

        >>> import recursa as rc
        >>> shape = '<collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision>'
        >>> crate = rc.load(f'<robot name="crate"><link name="box">{shape}</link></robot>', floating=True, strict=False)
        >>> filled = crate.with_inertia_from_geometry(density=500.0)
        >>> round(filled.mass, 12)
        3.0
        >>> print(filled.doctor()[0].reason)
        its mass, 3 kg, and inertia are an estimate from its collision shapes (box) at 500 kg/m^3.
        """
        from recursa.formats.meshes import mesh_solid  # opens files: not before somebody asks

        weight = finite(density, "density")
        if not weight > 0.0:
            raise ModelError(f"density must be positive, in kg/m^3, not {weight:g}")
        if role not in ROLES:
            raise unknown_name("role", str(role), ROLES)
        names = None if links is None else {links} if isinstance(links, str) else set(links)
        for name in names or ():
            self.model.link_index(name)
        return self._changed(description=with_solid_links(self.model, weight, names, role, mesh_solid))

    def with_joint(
        self,
        name: str,
        *,
        damping: float | ArrayLike = _AS_IT_IS,
        friction: Any = _AS_IT_IS,
        armature: float | ArrayLike = _AS_IT_IS,
        limits: tuple[float, float] | None = _AS_IT_IS,
        effort: float | None = _AS_IT_IS,
        velocity: float | None = _AS_IT_IS,
        stiffness: float = _AS_IT_IS,
        rest: float = _AS_IT_IS,
        rotor: Any = _AS_IT_IS,
        elastic: Any = _AS_IT_IS,
    ) -> Self:
        """The same robot with other properties of one joint; those that are not given stay as they are.

        Damping, friction and armature are one number, or one per freedom; friction may have pairs of numbers, for
        positive and for negative speeds. None takes limits away. ``stiffness`` and ``rest`` are those of a spring at
        the joint, ``rotor`` is an :class:`~recursa.Rotor` or None, ``elastic`` the spring behind the gear, as for
        :meth:`Builder.joint`; see :doc:`/transmissions`.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2).with_joint("joint2", damping=0.3, limits=(-1, 1))
        >>> arm.position_limits[:, 1].tolist(), arm.joint_losses([1.0, 1.0]).tolist()
        ([-1.0, 1.0], [0.0, 0.3])
        >>> geared = arm.with_joint("joint2", rotor=rc.Rotor(inertia=2e-5, ratio=100.0))
        >>> (geared.mass_matrix([0.0, 0.0]) - arm.mass_matrix([0.0, 0.0])).round(12)
        array([[0.   , 0.002],
               [0.002, 0.2  ]])
        """
        self.model.joint_index(name)
        if name not in {record.name for record in self.model.description.joints}:
            raise ModelError(
                f"joint '{name}' is the free base that floating=True adds; it has no properties. Take a free joint of "
                "the robot's own, as robot.to_urdf() writes it"
            )
        changes = {
            "damping": damping, "friction": friction, "armature": armature, "limits": limits, "effort": effort,
            "velocity": velocity, "stiffness": stiffness, "rest": rest, "rotor": rotor, "elastic": elastic,
        }  # fmt: skip
        changes = {what: value for what, value in changes.items() if value is not _AS_IT_IS}
        before = ready_for(self.model.description, name, changes)
        joints = tuple(with_joint(record, changes) if record.name == name else record for record in before.joints)
        return self._changed(description=replace(before, joints=joints))

    # ---- constraints -------------------------------------------------------------------------------------------------

    def with_constraints(self, *constraints: Constraint) -> Self:
        """The same robot with loops, contacts, relations and prescribed motions, which its motion then obeys.

        They are added to those that it has: :class:`~recursa.Loop`, :class:`~recursa.Contact`,
        :class:`~recursa.JointRelation`, :class:`~recursa.Prescribed`. What says how the robot responds obeys them, such
        as :meth:`forward_dynamics`, or refuses and names what to call, as :meth:`inverse_dynamics` does. The mass
        matrix, poses and energies are in the coordinates of the tree. See :doc:`/constraints`.

        >>> import recursa as rc
        >>> robot = rc.robots.planar(3).with_constraints(rc.Loop("revolute", "world", "tip", at=(0.5, 0, 0)))
        >>> robot.ncon, len(robot.constraints)
        (5, 1)
        """
        for one in constraints:
            if isinstance(one, list | tuple):
                raise ModelError(
                    f"with_constraints takes constraints one by one, not a {type(one).__name__} of them: unpack it "
                    "with *, as in robot.with_constraints(*constraints)"
                )
            if not isinstance(one, Loop | Contact | JointRelation | Prescribed):
                raise ModelError(
                    f"with_constraints takes rc.Loop, rc.Contact, rc.JointRelation and rc.Prescribed, not {one!r}"
                )
        description = self.model.description
        return self._changed(description=replace(description, constraints=(*description.constraints, *constraints)))

    def with_contacts_at(self, q: ArrayLike) -> Self:
        """The same robot with its contacts anchored where they are at a configuration: held at that place for good.

        Their errors are then measured from there, and :meth:`assemble` brings them back.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2).with_constraints(rc.Contact("point", "tip", normal=(0, 1, 0)))
        >>> anchored = arm.with_contacts_at([0.0, 0.0])
        >>> abs(anchored.constraint_error([0.0, 0.1])).max().round(3), abs(arm.constraint_error([0.0, 0.1])).max()
        (np.float64(0.025), np.float64(0.0))
        """
        model = self.model
        poses = self._answer(POSES, {"q": q})
        if poses.ndim != 3:
            raise ShapeError(f"with_contacts_at takes one configuration, q of shape ({model.nq},)")
        placed = {
            link.name: Transform.from_matrix(pose.tolist()) for link, pose in zip(model.links, poses, strict=True)
        }

        def anchored(one: Constraint) -> Constraint:
            if not isinstance(one, Contact):
                return one
            on = placed.get(one.other, IDENTITY_TRANSFORM)
            return replace(one, anchor=on.inverse @ placed[one.link] @ Transform(IDENTITY, Vec3(*one.at)))

        constraints = tuple(anchored(one) for one in model.description.constraints)
        return self._changed(description=replace(model.description, constraints=constraints))

    def without_constraints(self, *names: str) -> Self:
        """The same robot without the constraints of these names, or without any: the tree.

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2).with_constraints(rc.JointRelation({"joint1": 1, "joint2": 2}, name="gear"))
        >>> robot.without_constraints("gear") == rc.robots.planar(2)
        True
        """
        there = self.model.description.constraints
        for name in names:
            if name not in [one.name for one in there]:
                raise unknown_name(
                    "constraint", name, [one.name for one in there if one.name], owner=f"robot '{self.model.name}'"
                )
        kept = tuple(one for one in there if names and one.name not in names)
        return self._changed(description=replace(self.model.description, constraints=kept))

    # ---- parts -------------------------------------------------------------------------------------------------------

    def attach(
        self, other: Robot, at: str, *, xyz: ArrayLike = (0, 0, 0), rpy: ArrayLike = (0, 0, 0), prefix: str = ""
    ) -> Self:
        """The robot with another one on it, whose root link is welded to the link or frame ``at``.

        - ``xyz``, ``rpy``: where the other's root link is in the link ``at``.
        - ``prefix``: stands before every name of the other. Names that both robots have are an error.

        Gravity and the free base are this robot's; the other is held, whatever it stood on. States of the same name
        become one. A root of the other that is the world (``Builder``) becomes a massless link with the other's name.
        Two arms on one base are two calls of ``attach``.

        >>> import recursa as rc
        >>> arm, finger = rc.robots.panda_like(), rc.robots.planar(1)
        >>> both = arm.attach(finger, at="flange", xyz=(0, 0, 0.1), prefix="finger_")
        >>> both.nv, both.link_names[-4:]
        (8, ('flange', 'finger_planar1', 'finger_link1', 'finger_tip'))
        """
        if not isinstance(other, Facade):
            raise ModelError(f"attach takes a robot, not {type(other).__name__}")
        self.model.link_index(at)
        if prefix != "":
            name_of(prefix, "prefix")
        placed = placement(xyz, rpy, f"attach '{other.model.name}'")
        description = attached(self.model.description, other.model.description, at, placed, prefix)
        return self._changed(description=description, mimic=_ties_of_both(self.model, other.model))

    def reduced(self, lock: Mapping[str, Any] | Iterable[str]) -> Self:
        """The robot with some joints locked: ``{"finger": 0.02}``, or names alone for joints locked at neutral.

        A joint of several freedoms takes its coordinates. The links stay and are fixed where the joints hold them; the
        mass matrix loses the rows and columns of these joints. What is tied to a locked joint is locked, too.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(3).reduced(lock={"joint2": 0.5})
        >>> arm.joint_names, arm.link_names
        (('joint1', 'joint3'), ('world', 'link1', 'link2', 'link3', 'tip'))
        """
        description, floating = reduced(self.model, lock)
        return self._changed(description=description, floating=floating)

    def chain(self, base: str, tip: str) -> Self:
        """The part of the robot between two links: the joints on the way, and all that is fixed to what they move.

        The link ``base`` becomes the root, its frame the world's; gravity is turned into it as it stands when all
        joints are neutral. Side branches that move are left out with their masses. On the way from hand to hand the
        joints of the first arm are turned round; joints of one freedom keep their values and signs.

        >>> import recursa as rc
        >>> leg = rc.load(rc.robots.urdf("quadruped")).chain("trunk", "rear_left_foot")
        >>> leg.joint_names
        ('rear_left_roll', 'rear_left_pitch', 'rear_left_knee')
        """
        description = chain(self.model, base, tip)
        turn = _axes_at_neutral(self.model, base)
        gravity = tuple(turn.inverse_times(Vec3(*self.model.gravity)))
        return self._changed(description=description, floating=False, gravity=gravity)

    def without(self, *names: str) -> Self:
        """The robot without links or joints of these names, and without all that hangs on them.

        >>> import recursa as rc
        >>> rc.robots.planar(3).without("joint3").link_names
        ('world', 'link1', 'link2')
        """
        return self._changed(description=without(self.model.description, names))

    def renamed(
        self,
        *,
        prefix: str = "",
        name: str | None = None,
        links: Mapping[str, str] | None = None,
        joints: Mapping[str, str] | None = None,
    ) -> Self:
        """The same robot under other names: single links and joints by their old ones, then a prefix for all.

        A massless root called "world" keeps its name, which means the world; so does the free joint of a floating base.

        >>> import recursa as rc
        >>> rc.robots.planar(2).renamed(prefix="left_", joints={"joint2": "elbow"}).joint_names
        ('left_joint1', 'left_elbow')
        """
        description = renamed(self.model.description, links or {}, joints or {})
        if prefix != "":
            description = prefixed(description, name_of(prefix, "prefix"))
        if name is not None:
            description = replace(description, name=name_of(name, "the name of a robot"))
        return self._changed(description=description)

    def scaled(self, *, length: float = 1.0, mass: float = 1.0) -> Self:
        """The same robot of another size: all lengths times one factor, all masses times another.

        Inertias, rotors, pitches, limits and states of sliding joints follow. Damping, friction, springs, efforts and
        largest speeds stay: how they scale depends on the motors.

        >>> import recursa as rc
        >>> big = rc.robots.planar(2).scaled(length=2.0, mass=8.0)
        >>> float(big.mass_matrix([0, 0])[1, 1] / rc.robots.planar(2).mass_matrix([0, 0])[1, 1])
        32.0
        """
        factors = {"length": finite(length, "length"), "mass": finite(mass, "mass")}
        for what, factor in factors.items():
            if not factor > 0.0:
                raise ModelError(f"{what} must be a positive factor, not {factor:g}")
        return self._changed(description=scaled(self.model.description, **factors))


def _ties_of_both(one: Model, other: Model) -> MimicMode:
    """How joints that mimic others are treated: as in the robot that has some."""
    ties = {model.mimic: [joint.mimic for joint in model.joints if joint.mimic] for model in (one, other)}
    modes = {mode for mode, found in ties.items() if not all(tie.rigid for tie in found)}
    if len(modes) > 1:
        raise ModelError(
            f"robot '{one.name}' has mimic='{one.mimic}' and robot '{other.name}' mimic='{other.mimic}': "
            "load both the same way"
        )
    return next(iter(modes), one.mimic)


def _axes_at_neutral(model: Model, link: str) -> Rotation:
    """The axes of a link in world axes when all joints are neutral."""
    found = model.links[model.link_index(link)]
    turn = IDENTITY
    for body in model.support(found.body) if found.body != WORLD else ():
        joint = model.joints[body]
        tied = joint.tie is not None
        q = (joint.tie.offset,) if tied else joint.kind.neutral()  # type: ignore[union-attr]
        turn = turn @ joint.transform(q).rotation
    return (turn @ found.offset.rotation).snapped()
