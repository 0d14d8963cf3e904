"""Meshes for pages: read by trimesh, thinned out where they are fine, their coordinates as whole numbers of 16 bits."""

from __future__ import annotations

import base64
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from recursa.errors import ModelError, ModelWarning
from recursa.formats.meshes import opened
from recursa.formats.table import require
from recursa.model.geometry import Geometry
from recursa.sweeps.batching import Array

MOST_TRIANGLES = 110_000  # in a page; about 9 bytes each
_STEPS = 0xFFFF


@dataclass
class MeshShelf:
    """The meshes of a page, each file once; ``budget`` triangles for each file."""

    budget: int
    records: list[dict[str, Any]] = field(default_factory=list)
    _known: dict[str, list[tuple[int, list[float]]] | None] = field(default_factory=dict)
    corners: dict[int, Array] = field(default_factory=dict)
    refused: set[str | None] = field(default_factory=set)  # paths of files that cannot be read

    def parts(self, shape: Geometry, link: str) -> list[tuple[int, list[float]]] | None:
        """Numbers of records with their colours; None where the file cannot be read, which is a warning."""
        assert shape.path is not None
        if shape.path not in self._known:
            try:
                self._known[shape.path] = self._read(Path(shape.path), link)
            except ModelError as error:
                warnings.warn(f"{error}; a box is drawn instead", ModelWarning, stacklevel=2)
                self._known[shape.path] = None
                self.refused.add(shape.path)
        return self._known[shape.path]

    def _read(self, path: Path, link: str) -> list[tuple[int, list[float]]]:
        where = f"link '{link}': the mesh '{path.name}'"
        meshes = [mesh for mesh in opened(path, where, "drawing a mesh", "scene").dump() if hasattr(mesh, "faces")]
        for mesh in meshes:
            mesh.merge_vertices(merge_tex=True, merge_norm=True)  # normals are made anew in the page
        pieces = [(np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces), _colour(mesh)) for mesh in meshes]
        pieces = [(points, faces, paint) for points, faces, paint in pieces if len(faces) and np.isfinite(points).all()]
        if not pieces:
            raise ModelError(f"{where}, file '{path}', has no triangles")
        total = sum(len(faces) for _, faces, _ in pieces)
        found = []
        for points, faces, paint in pieces:
            allowed = max(12, int(self.budget * len(faces) / max(total, 1)))
            found.append((self._kept(*thinned(points, faces, allowed)), paint))
        return found

    def _kept(self, points: Array, faces: Array) -> int:
        low, high = points.min(axis=0), points.max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        whole = np.rint((points - low) / span * _STEPS).astype("<u2")
        wide = len(points) > _STEPS
        self.records.append(
            {
                "low": low.tolist(), "span": span.tolist(), "wide": wide,
                "points": _text(whole), "triangles": _text(faces.astype("<u4" if wide else "<u2")),
            }
        )  # fmt: skip
        number = len(self.records) - 1
        self.corners[number] = np.array([low, high])
        return number


def _text(values: Array) -> str:
    return base64.b64encode(values.tobytes()).decode()


def _colour(mesh: Any) -> list[float]:
    """Red, green, blue and opacity; light grey where a file tells none."""
    try:
        material = getattr(mesh.visual, "material", None)
        colour = mesh.visual.main_color if material is None else material.main_color
        if material is None and not mesh.visual.defined:
            return [0.82, 0.84, 0.87, 1.0]
        return [round(float(x) / 255.0, 4) for x in colour]
    except Exception:  # whatever a reader left there
        return [0.82, 0.84, 0.87, 1.0]


def thinned(points: Array, faces: Array, most: int) -> tuple[Array, Array]:
    """A mesh of at most so many triangles, by collapsing the edges that matter least (Garland and Heckbert).

    >>> import trimesh
    >>> ball = trimesh.creation.icosphere(4)
    >>> len(ball.faces), len(thinned(ball.vertices, ball.faces, 1000)[1])
    (5120, 1000)
    """
    if len(faces) <= most:
        return points, faces
    try:
        import fast_simplification
    except ImportError:
        raise require("fast-simplification", "meshes", "drawing a fine mesh") from None
    few, triangles = fast_simplification.simplify(
        points.astype(np.float32), faces.astype(np.int32), target_count=most, agg=4.0
    )
    return np.asarray(few, dtype=float), np.asarray(triangles)
