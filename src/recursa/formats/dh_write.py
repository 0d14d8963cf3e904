"""A Denavit-Hartenberg table that was made from a robot: printed, and written to files that can be loaded."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from recursa.files import known_suffix, named_file, write_together
from recursa.formats.dh_files import CSV_COLUMNS, PARTS
from recursa.model.dh import Convention, DHLink
from recursa.spatial.transform import Transform

_BACKWARD = "friction_negative"  # a column where friction differs by direction
_FAR = 100.0  # metres: common normals of axes that are parallel but for rounding lie out there


@dataclass(frozen=True)
class DHTable:
    """What :meth:`Robot.to_dh` found: iterating gives the rows, printing shows them.

    - ``convention``: "standard" or "modified".
    - ``rows``: :class:`recursa.DHLink`, with masses, centres and inertias in the frames of the table.
    - ``base``: pose of the table's first frame in the world; ``tool``: pose of the tool in the last frame.
    - ``residual``: the largest difference of entries of poses (metres, sines) between the robot and the table.

    ``rc.from_dh(table, convention=table.convention, base=table.base, tool=table.tool, gravity=table.gravity)`` is the
    robot that the table tells.
    """

    rows: tuple[DHLink, ...]
    convention: Convention
    base: Transform
    tool: Transform
    residual: float
    name: str
    joint_names: tuple[str, ...]
    gravity: tuple[float, float, float]

    def __iter__(self) -> Iterator[DHLink]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        head = ("joint", "kind", "a [m]", "alpha [rad]", "d [m]", "theta [rad]")
        numbers = [[f"{x + 0.0:.6g}" for x in (row.a, row.alpha, row.d, row.theta)] for row in self.rows]
        lines = [[name, row.joint, *four] for name, row, four in zip(self.joint_names, self.rows, numbers, strict=True)]
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        table = [
            "  ".join(
                cell.ljust(w) if k < 2 else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in (head, *lines)
        ]
        title = f"{self.convention} Denavit-Hartenberg table of '{self.name}', poses to {self.residual:.1g}"
        return "\n".join([title, *table, _shown("base", self.base), _shown("tool", self.tool), *self._hint()])

    def _hint(self) -> list[str]:
        if all(abs(x) <= _FAR for row in self.rows for x in (row.a, row.d)):
            return []
        return ["axes that are nearly parallel meet far away; to_dh(tolerance=1e-4) takes them as parallel"]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the table to a file that :func:`recursa.load` reads, ``.json`` or ``.csv``. Returns the path.

        >>> import pathlib, tempfile, recursa as rc
        >>> file = rc.robots.puma560().to_dh().save(pathlib.Path(tempfile.mkdtemp(), "puma.dh.csv"))
        >>> rc.load(file).nv
        6
        """
        file = known_suffix(named_file(path), (".json", ".csv"))
        write_together({file: self._json() if file.suffix.lower() == ".json" else self._csv()})
        return file

    def _head(self) -> dict[str, Any]:
        poses = {"base": self.base, "tool": self.tool}
        matrices = {name: [list(row) for row in pose.rows()] for name, pose in poses.items()}
        return {
            "format": "dh",
            "convention": self.convention,
            "name": " ".join(self.name.split()),
            "gravity": list(self.gravity),
            **matrices,
        }

    def _json(self) -> str:
        head = [f"  {json.dumps(key)}: {_words(value)}" for key, value in self._head().items()]
        rows = ",\n    ".join(_words(_given(row)) for row in self.rows)
        return "{\n" + ",\n".join(head) + f',\n  "rows": [\n    {rows}\n  ]\n}}\n'

    def _csv(self) -> str:
        head = [
            f"# {key}: {_words(value) if isinstance(value, list) else value}" for key, value in self._head().items()
        ]
        flat = [_flat(row) for row in self.rows]
        columns = [column for column in CSV_COLUMNS if column != _BACKWARD or any(row[_BACKWARD] for row in flat)]
        lines = [",".join("" if row[column] is None else str(row[column]) for column in columns) for row in flat]
        return "\n".join([*head, ",".join(columns), *lines, ""])


def _words(value: Any) -> str:
    """JSON on one line."""
    return json.dumps(_writable(value), ensure_ascii=False, allow_nan=False)


def _writable(value: Any) -> Any:
    """Numbers that JSON has no word for as text."""
    if isinstance(value, dict):
        return {key: _writable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _given(row: DHLink) -> dict[str, Any]:
    """What is not as it would be anyway; the four numbers in any case."""
    values = {field.name: (getattr(row, field.name), field.default) for field in fields(DHLink)}
    always = ("joint", "a", "alpha", "d", "theta")
    return {name: value for name, (value, usual) in values.items() if name in always or value != usual}


def _flat(row: DHLink) -> dict[str, Any]:
    """A row with one number, or none, in every column of a CSV file."""
    values = {field.name: getattr(row, field.name) for field in fields(DHLink)}
    values["friction"], values[_BACKWARD] = row.friction if isinstance(row.friction, tuple) else (row.friction, None)
    for name, columns in PARTS.items():
        values |= dict(zip(columns, values[name] or (None,) * len(columns), strict=True))
    return values


def _shown(what: str, pose: Transform) -> str:
    position, angles = pose.translation, pose.rotation.rpy()
    texts = (" ".join(f"{x + 0.0:.6g}" for x in part) for part in (position, angles))
    return f"{what}: xyz {' rpy '.join(texts)}"
