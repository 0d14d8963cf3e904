"""Mesh files: where they are, in the folders that may be opened, and what they weigh.

They are looked for when a robot is loaded, and opened only to take an inertia from them or to draw them, by trimesh,
from memory: what a mesh file refers to in turn is not opened.
"""

from __future__ import annotations

import io
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from recursa.errors import ModelError
from recursa.formats.file_bytes import read_bytes
from recursa.formats.source import Assets
from recursa.formats.table import require
from recursa.formats.xml import for_other_parsers
from recursa.model.description import Description, Geometry
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.vec3 import SymMat3, Vec3

READABLE = (".stl", ".obj", ".ply", ".off", ".glb", ".dae")
_ROUNDING = 1e-12  # of a mesh's size: what is smaller is what sums over triangles left of zero

_FLAT = 1e-9  # of its size cubed: a smaller volume is that of a sheet, thickened by rounding


def with_mesh_paths(description: Description, assets: Assets) -> tuple[Description, tuple[str, ...]]:
    """The description with the paths of the meshes that lie in the folders, and the references that were not found.

    Paths that a reader found stay.
    """

    @cache
    def path_of(reference: str) -> str | None:
        path = assets.find(reference, description.source)
        return None if path is None else str(path)

    def placed(shape: Geometry) -> Geometry:
        return shape if shape.path or not shape.mesh else replace(shape, path=path_of(shape.mesh))

    links = tuple(replace(link, geometry=tuple(map(placed, link.geometry))) for link in description.links)
    shapes = (shape for link in links for shape in link.geometry)
    missing = dict.fromkeys(shape.mesh for shape in shapes if shape.mesh and not shape.path)
    return replace(description, links=links), tuple(missing)


def mesh_solid(shape: Geometry, link: str) -> tuple[RigidInertia, str]:
    """The inertia of a mesh as a solid of density one, in its own frame, and in words what was taken.

    A mesh that is not closed has no volume; its convex hull has.
    """
    where, name = f"link '{link}': the mesh '{shape.mesh}'", Path(shape.mesh).name
    if shape.path is None:
        raise ModelError(f"{where} was not found; load the robot with assets= and the folder that it is in")
    mesh, words = opened(Path(shape.path), where, "taking an inertia from a mesh", "mesh"), f"mesh '{name}'"
    mesh.apply_scale(tuple(shape.scale))
    if not mesh.is_volume:
        mesh, words = _hull(mesh), f"convex hull of mesh '{name}', which is not closed"
    size = 0.0 if mesh is None else float(mesh.scale)
    if mesh is None or not mesh.volume > _FLAT * size**3:
        raise ModelError(f"{where} has no volume to take an inertia from; is it flat, empty, or scaled by zero?")
    found = mesh.mass_properties
    return _inertia(float(found.mass), found.center_mass.tolist(), found.inertia.tolist(), size), words


def _hull(mesh: Any) -> Any:
    """The convex hull; None where there are too few points for one."""
    try:
        return mesh.convex_hull
    except Exception:  # of whichever library makes hulls
        return None


def _inertia(volume: float, center: list[float], tensor: list[list[float]], size: float) -> RigidInertia:
    """The inertia about the mesh's origin; products and coordinates that are rounding of zero are zero."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor
    small = _ROUNDING * volume * size * size
    products = (x if abs(x) > small else 0.0 for x in (xy, xz, yz))
    com = Vec3(*(x if abs(x) > _ROUNDING * size else 0.0 for x in center))
    return RigidInertia.from_com(volume, com, SymMat3(xx, yy, zz, *products))


def opened(path: Path, where: str, purpose: str, force: Literal["mesh", "scene"]) -> Any:
    """What trimesh makes of a file, as one mesh or as a scene of several; ``where`` and ``purpose`` are for errors."""
    try:
        import trimesh
    except ImportError:
        raise require("trimesh", "meshes", purpose) from None
    if path.suffix.lower() not in READABLE:
        raise ModelError(f"{where} is of a kind that is not read; it must be one of {', '.join(READABLE)}")
    content = read_bytes(path)
    if path.suffix.lower() == ".dae":
        try:
            content = for_other_parsers(content, str(path))  # COLLADA is XML, which another library parses
        except ModelError as error:
            raise ModelError(f"{where}: {error.reason}", line=error.line, source=error.source) from None
    try:
        shape = trimesh.load(io.BytesIO(content), file_type=path.suffix.lower()[1:], force=force)
    except Exception as error:  # whatever a reader of some format stumbles over
        raise ModelError(f"{where}, file '{path}', cannot be read: {type(error).__name__}: {error}") from None
    if not isinstance(shape, trimesh.Trimesh | trimesh.Scene):  # some versions make an empty list of an empty file
        raise ModelError(f"{where}, file '{path}', cannot be read: there is no mesh in it")
    for part in shape.geometry.values() if isinstance(shape, trimesh.Scene) else [shape]:
        faces: Any = getattr(part, "faces", ())
        if len(faces) and not 0 <= faces.min() <= faces.max() < len(part.vertices):
            reason = f"a triangle refers to vertex {faces.max()}, and there are {len(part.vertices)}"
            raise ModelError(f"{where}, file '{path}', cannot be read: {reason}")
    return shape
