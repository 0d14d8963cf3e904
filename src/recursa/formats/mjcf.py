"""MJCF: MuJoCo's XML, by MuJoCo's own compiler, as the records of a :class:`~recursa.model.description.Description`.

The compiler knows what the text means: defaults, classes, frames, copies, inertias from shapes. What it makes of that
is translated here: bodies become links, sites become frames, the several joints of one body a chain with links without
mass between them. Coordinates are MuJoCo's ``qpos``, quaternions with w last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from threading import Lock
from typing import Any

from recursa.errors import ModelError
from recursa.formats.mjcf_extras import Extras, reflected
from recursa.formats.mjcf_numbers import (
    BALL,
    FREE,
    HINGE,
    Names,
    Tables,
    names_in,
    pose,
    reordered,
    shift,
    unbounded,
)
from recursa.formats.mjcf_text import Prepared, prepare
from recursa.formats.source import Source
from recursa.model.description import Description, JointRecord, JointType, LinkRecord
from recursa.model.geometry import Geometry, Material
from recursa.model.joints import KINDS
from recursa.model.model import WORLD_LINK
from recursa.processes import safe_paths
from recursa.spatial.constant_trig import cos_sin
from recursa.spatial.constants import finite, rotation_of
from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform, composed
from recursa.spatial.vec3 import X_AXIS, ZERO, SymMat3, Vec3


def read_mjcf(source: Source) -> Description:
    """The description in an MJCF text; what is wrong with it is a :class:`~recursa.errors.ModelError` with the line.

    What is in the file and not in the model is listed in ``notes``.

    >>> from recursa.formats.source import Assets
    >>> text = '''<mujoco model="rod"><worldbody><body name="rod"><joint name="hinge" axis="0 1 0" damping="0.1"/>
    ...   <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -1" mass="2"/></body></worldbody></mujoco>'''
    >>> rod = read_mjcf(Source(text, None, Assets()))
    >>> [link.name for link in rod.links], rod.joints[0].kind, round(rod.links[1].com.z, 12)
    (['world', 'rod'], 'continuous', -0.5)
    """
    return _Translation(*compile_mjcf(source)).description(source.path)


_SPOILING = "unknown exception"  # after it MuJoCo 4.0 waits for a lock of its own in the next call, for ever
_spoiled: list[str] = []
_compiling = Lock()  # what is done with warnings is said for all threads together


def compile_mjcf(source: Source) -> tuple[Any, Prepared]:
    """MuJoCo's model of a source, and the text that its compiler was given; it opens no file itself."""
    mujoco, prepared = mujoco_library(), prepare(source)
    with _compiling:
        if _spoiled:
            raise prepared.refused(f"an earlier text has spoiled its library ({_spoiled[0]}); start Python anew")
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(_no_log)
        try:
            return mujoco.MjModel.from_xml_string(prepared.text, prepared.files), prepared
        except (ValueError, RuntimeError, MemoryError, mujoco.FatalError, mujoco.UnexpectedError) as error:
            if _SPOILING in str(error):
                _spoiled.append(str(error))
            raise prepared.refused(str(error)) from None
        finally:
            mujoco.set_mju_user_warning(before)


def _no_log(text: str) -> None:
    """A warning of MuJoCo's that nobody sees; it would write a log file into the current folder."""


def mujoco_library() -> Any:
    """MuJoCo's package, imported without modules from the working directory."""
    try:
        with safe_paths():
            import mujoco
        return mujoco
    except ImportError:
        raise ModelError(
            "MJCF is read with MuJoCo's own compiler, which is not installed: pip install 'recursa[mujoco]'"
        ) from None


# ---- records ---------------------------------------------------------------------------------------------------------


class _Translation:
    """A compiled model, and its records."""

    def __init__(self, compiled: Any, prepared: Prepared) -> None:
        self.compiled = compiled
        self.model = model = Tables(compiled)
        self.prepared = prepared
        self.names = Names.of(model)
        self.geom_names = names_in(model, "geom")
        self.armature, self.damping = (reflected(model, what) for what in ("armature", "damping"))
        self.body_lines = prepared.lines("body")
        self.joint_lines = prepared.lines("joint", "freejoint")
        self.site_lines = prepared.lines("site")
        self.extras = Extras(model, self.names, prepared)

    def description(self, source: str | None) -> Description:
        self._check_numbers()
        records = [*self._bodies(), *map(self._site, range(len(self.names.sites)))]
        extras = self.extras
        return Description(
            name=self.prepared.name or "robot",
            links=(LinkRecord(WORLD_LINK), *[link for link, _ in records]),
            joints=tuple([joint for _, joint in records]),
            closures=extras.closures(),
            relations=extras.relations(),
            actuators=extras.actuators,
            states=extras.states(),
            gravity=extras.gravity(),
            source=source,
            notes=(*self.prepared.notes, *extras.notes),
        )

    def _check_numbers(self) -> None:
        for count, names in _NUMBERS.items():
            if not getattr(self.compiled, count) or finite(*[getattr(self.model, name) for name in names]):
                continue
            name = next(name for name in names if not finite(getattr(self.model, name)))
            row = next(row for row, values in enumerate(getattr(self.model, name)) if not finite(values))
            where = f"body '{self.names.bodies[row]}'" if name.startswith("body") else f"entry {row} of {name}"
            line = self.body_lines.get(self.names.bodies[row]) if name.startswith("body") else None
            raise ModelError(
                f"{where} has numbers that are not finite ({name}); are some in the file too large?",
                line=line,
                source=self.prepared.source,
            )

    def _site(self, site: int) -> tuple[LinkRecord, JointRecord]:
        model, name = self.model, self.names.sites[site]
        link = LinkRecord(name, frame=True, line=self.site_lines.get(name))
        placed = pose(model.site_pos[site], model.site_quat[site])
        parent = self.names.bodies[model.site_bodyid[site]]
        return link, JointRecord(self.names.frames[site], "fixed", parent, name, placed)

    def _bodies(self) -> Iterator[tuple[LinkRecord, JointRecord]]:
        """The links of bodies with the joints that they hang on, before each the links between its joints."""
        model, names = self.model, self.names.bodies
        columns = zip(model.body_parentid, model.body_pos, model.body_quat, model.body_jntadr, model.body_jntnum,
                      self._links(), strict=True)  # fmt: skip
        for body, (inner, position, quaternion, first, count, link) in enumerate(columns):
            if body == 0:
                continue
            parent, placed = names[inner], Transform(rotation_of(quaternion), Vec3(*position))
            if count == 0:
                yield link, JointRecord(self.names.welds[body], "fixed", parent, link.name, placed, line=link.line)
            elif model.jnt_type[first] == FREE:
                yield link, self._joint(first, parent, link.name, IDENTITY_TRANSFORM, IDENTITY_TRANSFORM)
            else:
                yield from self._chain(range(first, first + count), parent, link, placed)

    def _chain(
        self, joints: range, parent: str, link: LinkRecord, placed: Transform
    ) -> Iterator[tuple[LinkRecord, JointRecord]]:
        """The link of a body, before it those between its joints."""
        for joint in joints:
            anchor = Vec3(*self.model.jnt_pos[joint])
            start, back = composed(placed, shift(anchor)) if any(anchor) else placed, self._back(joint)
            start = start if back is IDENTITY_TRANSFORM else composed(start, back)
            if joint == joints[-1]:
                yield link, self._joint(joint, parent, link.name, start, shift(-anchor))
                return
            between = self.names.between[joint]
            yield (
                LinkRecord(between, frame=True, line=link.line),
                self._joint(joint, parent, between, start, IDENTITY_TRANSFORM),
            )
            parent, placed = between, shift(-anchor)

    def _ref(self, joint: int) -> float:
        """The coordinate, of those of a joint the first, at which it stands as the file says."""
        return self.model.qpos0[self.model.jnt_qposadr[joint]]

    def _back(self, joint: int) -> Transform:
        """From where a joint stands at its ``ref`` to where it would stand at zero."""
        kind, ref = self.model.jnt_type[joint], self._ref(joint)
        if kind == BALL or ref == 0.0:
            return IDENTITY_TRANSFORM
        axis = Vec3(*self.model.jnt_axis[joint])
        if kind != HINGE:
            return shift(axis * -ref)
        return Transform(Rotation.from_axis_cos_sin(axis, *cos_sin(-ref)).snapped(), ZERO)

    def _links(self) -> Iterator[LinkRecord]:
        """The links of bodies."""
        model = self.model
        columns = zip(self.names.bodies, model.body_mass, model.body_inertia, model.body_ipos, model.body_iquat,
                      model.body_geomnum, strict=True)  # fmt: skip
        for body, (name, mass, (xx, yy, zz), com, quaternion, shapes) in enumerate(columns):
            turn, tensor = rotation_of(quaternion), SymMat3(xx, yy, zz, 0.0, 0.0, 0.0)
            yield LinkRecord(
                name,
                mass,
                Vec3(*com),
                tensor if turn is IDENTITY else turn.symmetric(tensor),
                bool(mass or xx or yy or zz),
                False,
                tuple(self._shapes(body)) if shapes and body else (),
                None,
                "",
                self.body_lines.get(name),
            )

    def _shapes(self, body: int) -> Iterator[Geometry]:
        model, first = self.model, self.model.body_geomadr[body]
        for geom in range(first, first + model.body_geomnum[body]):
            shape, sizes = _SHAPES.get(model.geom_type[geom], ("mesh", ()))
            collides, given = model.geom_contype[geom] or model.geom_conaffinity[geom], model.geom_size[geom]
            size = tuple([factor * given[k] for k, factor in sizes])
            yield Geometry(
                shape,
                "collision" if collides else "visual",
                size=size if all(size) else (),  # a plane without bounds
                pose=pose(model.geom_pos[geom], model.geom_quat[geom]),
                material=Material(rgba=tuple(model.geom_rgba[geom])),
                name=self.geom_names[geom],
            )

    def _joint(self, joint: int, parent: str, child: str, placed: Transform, after: Transform) -> JointRecord:
        model, name = self.model, self.names.joints[joint]
        limits = self._limits(joint)
        kind = self._kind(joint, limits)
        first, nv = model.jnt_dofadr[joint], KINDS[kind].nv
        own = slice(first, first + nv)
        stiffness, rest = self._spring(joint)
        rotation = placed.rotation.snapped()
        return JointRecord(
            name,
            kind,
            parent,
            child,
            placed if rotation is placed.rotation else Transform(rotation, placed.translation),
            after if any(after.translation) else IDENTITY_TRANSFORM,
            Vec3(*model.jnt_axis[joint]) if KINDS[kind].has_axis else X_AXIS,
            0.0,
            reordered([x + self.armature.get(joint, 0.0) for x in model.dof_armature[own]]),
            reordered([x + self.damping.get(joint, 0.0) for x in model.dof_damping[own]]),
            reordered(model.dof_frictionloss[own]),
            limits if nv == 1 else None,
            self.extras.effort(joint) if nv == 1 else None,
            stiffness=stiffness,
            rest=rest,
            line=self.joint_lines.get(name),
        )

    def _spring(self, joint: int) -> tuple[float, float]:
        """Stiffness and rest; of joints with several freedoms neither is read."""
        stiffness = self.model.jnt_stiffness[joint]
        if not stiffness or self.model.jnt_type[joint] in (BALL, FREE):
            return 0.0, 0.0
        return stiffness, self.model.qpos_spring[self.model.jnt_qposadr[joint]]

    def _kind(self, joint: int, limits: tuple[float, float] | None) -> JointType:
        kind = self.model.jnt_type[joint]
        if kind == HINGE:
            return "revolute" if limits else "continuous"
        return "free" if kind == FREE else "spherical" if kind == BALL else "prismatic"

    def _limits(self, joint: int) -> tuple[float, float] | None:
        if not self.model.jnt_limited[joint]:
            return None
        lower, upper = map(unbounded, self.model.jnt_range[joint])
        return None if lower == -math.inf and upper == math.inf else (lower, upper)


_NUMBERS = {
    "nbody": ("body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia",
              "actuator_gear"),
    "njnt": ("jnt_pos", "jnt_axis", "jnt_range", "jnt_stiffness", "dof_armature", "dof_damping", "dof_frictionloss",
             "qpos0", "qpos_spring"),
    "nsite": ("site_pos", "site_quat"), "nkey": ("key_qpos", "key_qvel"), "neq": ("eq_data",),
}  # fmt: skip
"""What has to be finite, by the number of what it is about."""

_SHAPES: dict[int, tuple[str, tuple[tuple[int, float], ...]]] = {
    0: ("plane", ((0, 2.0), (1, 2.0))),
    2: ("sphere", ((0, 1.0),)),
    3: ("capsule", ((0, 1.0), (1, 2.0))),
    4: ("ellipsoid", ((0, 1.0), (1, 1.0), (2, 1.0))),
    5: ("cylinder", ((0, 1.0), (1, 2.0))),
    6: ("box", ((0, 2.0), (1, 2.0), (2, 2.0))),
}
"""Shapes by MuJoCo's numbers: which of its sizes are ours, and times what, since many of its are half as long."""
