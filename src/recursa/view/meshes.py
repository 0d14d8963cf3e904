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

    def parts(self, shape: Geometry, link: str) -> list[tuple[int, list[float]]] | None:
        """Numbers of records with their colours; None where the file cannot be read, which is a warning."""
        assert shape.path is not None
        if shape.path not in self._known:
            try:
                self._known[shape.path] = self._read(Path(shape.path), link)
            except ModelError as error:
                warnings.warn(f"{error}; a box is drawn instead", ModelWarning, stacklevel=2)
                self._known[shape.path] = None
        return self._known[shape.path]

    def _read(self, path: Path, link: str) -> list[tuple[int, list[float]]]:
        where = f"link '{link}': the mesh '{path.name}'"
        meshes = [mesh for mesh in opened(path, where, "drawing a mesh", "scene").dump() if hasattr(mesh, "faces")]
        pieces = [(np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces), _colour(mesh)) for mesh in meshes]
        pieces = [(points, faces, paint) for points, faces, paint in pieces if len(faces) and np.isfinite(points).all()]
        if not pieces:
            raise ModelError(f"{where}, file '{path}', has no triangles")
        total = sum(len(faces) for _, faces, _ in pieces)
        found = []
        for points, faces, paint in pieces:
            allowed = max(12, int(self.budget * len(faces) / max(total, 1)))
            found.append((self._kept(*thinned(*_joined(points, faces), allowed)), paint))
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


def _joined(points: Array, faces: Array) -> tuple[Array, Array]:
    """Points that are the same are one point."""
    places, inverse = np.unique(points, axis=0, return_inverse=True)
    return places, _proper(inverse.reshape(-1)[faces])


def _proper(faces: Array) -> Array:
    """Without triangles that are lines, each once."""
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (a != c)]
    if not len(faces):
        return faces
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return faces[np.sort(first)]


def thinned(points: Array, faces: Array, most: int) -> tuple[Array, Array]:
    """A mesh of at most so many triangles: points within a cell of a grid become their mean, cells as small as can be.

    >>> import numpy as np
    >>> x, y = np.meshgrid(np.arange(30.0), np.arange(30.0))
    >>> points = np.stack([x.ravel(), y.ravel(), 0.0 * x.ravel()], axis=1)
    >>> k = np.arange(870).reshape(29, 30)[:, :-1].ravel()
    >>> faces = np.concatenate([np.stack([k, k + 1, k + 30], axis=1), np.stack([k + 1, k + 31, k + 30], axis=1)])
    >>> few = thinned(points, faces, 200)[1]
    >>> 50 < len(few) <= 200
    True
    """
    if len(faces) <= most:
        return points, faces
    size = float((points.max(axis=0) - points.min(axis=0)).max()) or 1.0
    low, high = 1, 4096  # cells along the longest edge
    best = _clustered(points, faces, size / low)
    while low + 1 < high:
        cells = (low + high) // 2
        found = _clustered(points, faces, size / cells)
        if len(found[1]) <= most:
            low, best = cells, found
        else:
            high = cells
    return best if len(best[1]) else (points, faces[:most])


def _clustered(points: Array, faces: Array, cell: float) -> tuple[Array, Array]:
    keys = np.floor((points - points.min(axis=0)) / cell).astype(np.int64)
    _, inverse, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(-1)
    means = np.stack([np.bincount(inverse, column) for column in points.T], axis=1) / counts[:, None]
    kept = _proper(inverse[faces])
    used, renumbered = np.unique(kept, return_inverse=True)
    return means[used], renumbered.reshape(kept.shape)
