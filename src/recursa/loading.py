"""Ways to get a robot: from a file, a Denavit-Hartenberg table, or built link by link."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import ModelError, ModelWarning, printable, shortened
from recursa.examination import examined
from recursa.formats.meshes import with_mesh_paths
from recursa.formats.recursa_json import read_constraints
from recursa.formats.source import Assets, Source, source_of
from recursa.formats.table import FormatName, Options, read
from recursa.formats.xml import clipped
from recursa.model.assemble import STANDARD_GRAVITY, assemble
from recursa.model.builder import DescriptionBuilder
from recursa.model.closures import obeyed
from recursa.model.description import Description
from recursa.model.dh import Convention, DHLink, describe_dh
from recursa.model.inputs import pose_of
from recursa.model.model import MimicMode
from recursa.model.naming import require_printable
from recursa.robot import Robot
from recursa.spatial.transform import Transform
from recursa.symbolic_robot import robot_of


def load(
    source: str | bytes | os.PathLike[str],
    *,
    format: FormatName | None = None,
    floating: bool | None = None,
    gravity: Sequence[float] | None = None,
    strict: bool = True,
    mimic: MimicMode | None = None,
    assets: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    arguments: Mapping[str, str] | None = None,
    constraints: bool | str | os.PathLike[str] = False,
) -> Robot:
    """Load a robot from a file, or from the text itself; the format is told by what the text says.

    - ``format``: None to find out, or one to insist on: "urdf", "xacro", "sdf", "mjcf", "recursa", "dh".
    - ``floating``: True puts a free joint, named "root", under the root link; False welds that to the world. None: what
      the file says (an SDF model flies unless something holds it), welded where it says nothing.
    - ``gravity``: m/s^2 in world axes; None: what the file says, (0, 0, -9.81) where it says nothing.
    - ``strict``: refuse meaningless data (negative mass, nan, zero axis, a joint with nothing to move in a robot that
      has masses). Doubtful data are a :class:`~recursa.ModelWarning` and findings of ``robot.doctor()`` in any case; so
      is a robot without any masses: what needs inertia then raises.
    - ``mimic``: "free" keeps a mimicking joint independent and the tie as data; "tie" ties it, reducing nv. None: what
      the file says, "free" where it says nothing.
    - ``assets``: a folder, or several, in which included files, meshes and ``package://`` are looked for, in addition
      to the folder of the robot file and the ROS package around it. No other file is opened, text opens none at all,
      and no mesh is opened here. :func:`recursa.ros_paths` has the folders of an installed ROS. Meshes that are not
      found are a :class:`~recursa.ModelWarning`.
    - ``arguments``: values for the arguments of a file that has some: those of xacro, and ``{"model": name}`` for an
      SDF world with several models.
    - ``constraints``: True obeys what the file has beside its tree (equality constraints of MJCF, loops and gearboxes
      of SDF, mimic joints that ``mimic`` leaves free), which is kept as data otherwise. A path is a file of
      constraints, YAML or JSON, for formats without words for them: see :doc:`/constraints`. Robot files of our own
      have theirs in any case.

    A file that cannot be used is a :class:`~recursa.ModelError` naming element and line.

    >>> import recursa as rc
    >>> rc.load('<robot name="box"><link name="base"/></robot>')
    <Robot 'box': 0 bodies, nq=0, nv=0, 1 links>
    """
    if floating is not None and not isinstance(floating, bool | np.bool_):
        raise ModelError(
            f"floating is True, False or None, not {floating!r}: the root link of the file is what floats. To see the "
            "robot from another link, use robot.rebase_state"
        )
    file = source_of(source, Assets(assets))
    description = read(file, format, Options(strict, dict(arguments or {})))
    require_printable(description)
    description = _with_meshes(description, file)
    if gravity is None:
        gravity = description.gravity or STANDARD_GRAVITY
    floating = description.floating if floating is None else floating
    mimic = mimic or description.mimic or "free"
    if constraints is True:
        description = obeyed(description, mimic)
    elif constraints is not False:
        more = read_constraints(source_of(constraints, Assets()))
        description = replace(description, constraints=(*description.constraints, *more))
    return examined(assemble(description, gravity=gravity, floating=floating, mimic=mimic), strict)


def _with_meshes(description: Description, file: Source) -> Description:
    """The description with the paths of its meshes; those that were looked for in vain are a warning."""
    assets = file.assets
    if not assets.folders and assets.home is None:
        return description  # text opens nothing
    description, missing = with_mesh_paths(description, assets)
    if missing:
        names = shortened([f"'{printable(clipped(name, 100))}'" for name in missing])
        what = "a mesh was" if len(missing) == 1 else f"{len(missing)} meshes were"
        warnings.warn(
            f"robot '{description.name}': {what} not found in {assets.places}: {names}. Pages are drawn without them, "
            "the dynamics need none. Name the folders that they are in: assets=['FOLDER'], or --assets FOLDER",
            ModelWarning,
            stacklevel=3,
        )
    return description


def from_dh(
    table: Iterable[DHLink],
    *,
    convention: Convention,
    name: str = "arm",
    gravity: Sequence[float] = STANDARD_GRAVITY,
    strict: bool = True,
    provenance: str = "",
    base: ArrayLike | tuple[ArrayLike, ArrayLike] | Transform | None = None,
    tool: ArrayLike | tuple[ArrayLike, ArrayLike] | Transform | None = None,
) -> Robot:
    """A serial arm from a Denavit-Hartenberg table; joints "joint1".., links "link1".., base "base".

    "standard": ``A_i = Rz(theta) Tz(d) Tx(a) Rx(alpha)``; "modified": ``A_i = Rx(alpha) Tx(a) Rz(theta) Tz(d)``
    (Balafoutis & Patel 2.3.1), each row its own four parameters.

    - ``base``: where the link "base", the table's first frame, stands in the world: a 4x4 matrix or ``(xyz, rpy)``.
    - ``tool``: the pose of a frame named "tool" in the frame of the last link.

    SymPy's symbols may stand for the numbers of the table, of ``gravity``, and of ``base`` and ``tool`` as ``(xyz,
    rpy)``: the arm is then a :class:`~recursa.SymbolicRobot`, whose answers are formulas.

    >>> import recursa as rc
    >>> row = rc.DHLink(joint="revolute", a=0.5, mass=1.0, com=(-0.25, 0, 0), inertia=(0, 0.02, 0.02))
    >>> rc.from_dh([row, row], convention="standard").nv
    2
    """
    description = describe_dh(
        table,
        convention=convention,
        name=name,
        provenance=provenance,
        base=None if base is None else pose_of(base, "base"),
        tool=None if tool is None else pose_of(tool, "tool"),
    )
    return robot_of(assemble(description, gravity=gravity), strict)


class Builder(DescriptionBuilder):
    """Builds a robot link by link. The link "world" exists already.

    SymPy's symbols may stand for masses, centres, inertias, placements, armature, damping and gravity; the robot is
    then a :class:`~recursa.SymbolicRobot`, whose answers are formulas.

    >>> import recursa as rc
    >>> b = rc.Builder("crane")
    >>> _ = b.link("boom", mass=3.0, com=(0.5, 0, 0), inertia=(0.01, 0.3, 0.3))
    >>> _ = b.joint("slew", "revolute", parent="world", child="boom", axis=(0, 0, 1), xyz=(0, 0, 1))
    >>> b.build().link_names
    ('world', 'boom')
    """

    def build(
        self, *, gravity: Sequence[float] = STANDARD_GRAVITY, strict: bool = True, mimic: MimicMode = "free"
    ) -> Robot:
        """The robot; ``gravity``, ``strict`` and ``mimic`` ("tie" or "free") as in :func:`recursa.load`."""
        return robot_of(assemble(self.description(), gravity=gravity, mimic=mimic), strict)


def trusted(
    description: Description,
    *,
    gravity: Sequence[float] = STANDARD_GRAVITY,
    floating: bool = False,
    mimic: MimicMode = "free",
) -> Robot:
    """A robot from a description that is known to be good: nothing is examined."""
    return Robot(assemble(description, gravity=gravity, floating=floating, mimic=mimic))
