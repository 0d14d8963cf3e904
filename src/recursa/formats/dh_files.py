"""Denavit-Hartenberg tables as files: JSON, YAML or CSV -> Description, by way of the rows that ``from_dh`` takes.

JSON and YAML have an object with ``convention``, ``rows`` and what else there is of ``name``, ``angles``, ``gravity``,
``base``, ``tool``, ``provenance``; CSV has these in lines ``# key: value`` and a table below. Numbers may be written
with pi: ``pi/2``, ``-3*pi/4``. No text is ever evaluated.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

from recursa.errors import ModelError, did_you_mean
from recursa.formats.source import Source
from recursa.formats.yaml_text import LinedObject, parse_json, parse_yaml
from recursa.model.description import Description
from recursa.model.dh import ROW_KINDS, DHLink, describe_dh
from recursa.model.inputs import pose_of
from recursa.spatial.transform import Transform

KEYS = ("format", "convention", "name", "angles", "gravity", "base", "tool", "provenance", "rows")
ROW_KEYS = tuple(field.name for field in fields(DHLink))
CSV_COLUMNS = (
    "joint", "a", "alpha", "d", "theta", "mass", "cx", "cy", "cz", "ixx", "iyy", "izz", "ixy", "ixz", "iyz", "armature",
    "damping", "friction", "friction_negative", "lower", "upper", "effort", "velocity",
)  # fmt: skip
PARTS = {
    "com": ("cx", "cy", "cz"),
    "inertia": ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"),
    "limits": ("lower", "upper"),
}
_SEPARATORS = (",", ";", "\t")

MAX_LENGTH = 1 << 18
"""Characters of a table: a row takes some hundred."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,5})?|[+-]?inf|nan", re.ASCII)
_WITH_PI = re.compile(r"([+-]?)(?:(\d+\.?\d*|\.\d+)\s*\*?\s*)?pi(?:\s*/\s*(\d+\.?\d*|\.\d+))?", re.ASCII)
_COMMENT = re.compile(r"#\s*([\w-]+)\s*:(.*)")
_YAML_KEY = re.compile(r"^(convention|rows)\s*:", re.MULTILINE)


def begins(root: str, text: str) -> bool:
    """Whether a text looks like a table; JSON that is not one of our robot files is taken for one."""
    start = text.lstrip("\ufeff \t\r\n")
    return not root and (start.startswith(("{", "[")) or _header(start) is not None or bool(_YAML_KEY.search(start)))


def read_dh(source: Source) -> Description:
    """The description that a table in a file means: that of ``from_dh`` for the same rows, to the bit."""
    text = source.text
    if len(text) > MAX_LENGTH:
        raise ModelError(
            f"{len(text)} characters are too many for a table; at most {MAX_LENGTH} are read", source=source.path
        )
    try:
        return replace(_Table(_data(text)).description(), source=source.path)
    except ModelError as error:
        raise ModelError(error.reason, line=error.line, source=source.path) from None


def _data(text: str) -> dict[str, Any]:
    start = text.lstrip()
    if start.startswith(("{", "[")):
        data = parse_json(text, None)
    elif _header(start) is not None:
        data = _from_csv(text)
    else:
        data = parse_yaml(text)
    if not isinstance(data, dict):
        raise ModelError('a table is an object with the keys "convention" and "rows"')
    return data


# ---- CSV -------------------------------------------------------------------------------------------------------------


def _header(text: str) -> list[str] | None:
    """The names of columns, if the first line that is no comment has those of a table."""
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    cells = [cell.strip().strip('"').lower() for cell in re.split(r"[,;\t]", first[:2000])]
    return cells if {"alpha", "theta"} <= set(cells) else None


def _from_csv(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"rows": []}
    columns, separator = list[str](), ","
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if line.lstrip().startswith("#"):
            comment = _COMMENT.match(line.strip())
            if comment and comment[1] in KEYS and comment[1] != "rows":
                numbers = comment[1] in ("gravity", "base", "tool")
                found[comment[1]] = _value(comment[2].strip(), number) if numbers else comment[2].strip()
        elif not columns:
            separator = max(_SEPARATORS, key=line.count)
            columns = [cell.lower() for cell in _cells(line, separator, number)]
            _require_columns(columns, number)
        else:
            found["rows"].append(_csv_row(columns, _cells(line, separator, number), number))
    return found


def _cells(line: str, separator: str, number: int) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, strict=True))]
    except (csv.Error, StopIteration) as error:
        raise ModelError(f"these are no cells of a table: {error}", line=number) from None


def _require_columns(columns: list[str], number: int) -> None:
    for k, column in enumerate(columns):
        if column not in CSV_COLUMNS:
            raise ModelError(f"unknown column {column[:60]!a}. {did_you_mean(column[:60], CSV_COLUMNS)}", line=number)
        if column in columns[:k]:
            raise ModelError(f"there are two columns '{column}'", line=number)


def _csv_row(columns: list[str], cells: list[str], number: int) -> LinedObject:
    if len(cells) != len(columns):
        raise ModelError(f"the row has {len(cells)} cells, and there are {len(columns)} columns", line=number)
    given = {column: cell for column, cell in zip(columns, cells, strict=True) if cell}
    for column, cell in given.items():
        if column != "joint":
            try:
                _number(cell, f"column '{column}'")
            except ModelError as error:
                raise ModelError(error.reason, line=number) from None
    row = LinedObject({column: cell for column, cell in given.items() if column in ROW_KEYS})
    row.line = number
    for name, parts in PARTS.items():
        if any(part in given for part in parts):
            usual = "0" if name != "limits" else None
            row[name] = [given.get(part, usual or ("-inf" if part == "lower" else "inf")) for part in parts]
    if "friction_negative" in given:
        row["friction"] = [given.get("friction", "0"), given["friction_negative"]]
    return row


def _value(text: str, number: int) -> Any:
    """Numbers in a comment: as JSON, or with blanks between them."""
    if text.startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise ModelError(f"{text[:40]!a} is not JSON", line=number) from None
    return text.replace(",", " ").split()


# ---- rows ------------------------------------------------------------------------------------------------------------


class _Table:
    """The data of a table on the way to a description."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        _known(data, KEYS, "the table", getattr(data, "line", None))
        for key in ("convention", "rows"):
            if key not in data:
                raise ModelError(
                    f"the table lacks '{key}'. A Denavit-Hartenberg file has 'convention' (standard or modified) and "
                    '\'rows\'; a robot file of ours begins with "format": "recursa"'
                )
        if data.get("format", "dh") != "dh":
            raise ModelError(f"format must be 'dh', not {str(data['format'])[:40]!a}")
        angles = data.get("angles", "rad")
        if angles not in ("rad", "deg"):
            raise ModelError(f"angles must be 'rad' or 'deg', not {str(angles)[:40]!a}")
        self.degrees = angles == "deg"

    def description(self) -> Description:
        data = self.data
        rows = data["rows"]
        if not isinstance(rows, list):
            raise ModelError("rows must be a list, with an object for every joint")
        description = describe_dh(
            [self._row(row, f"rows[{k}]") for k, row in enumerate(rows)],
            convention=_word(data["convention"], "convention"),  # type: ignore[arg-type]
            name=_word(data.get("name", "arm"), "name"),
            provenance=_word(data.get("provenance", ""), "provenance"),
            base=self._pose("base"),
            tool=self._pose("tool"),
        )
        if data.get("gravity") is None:
            return description
        x, y, z = _numbers(data["gravity"], 3, "gravity")
        return replace(description, gravity=(x, y, z))

    def _row(self, row: Any, place: str) -> DHLink:
        if not isinstance(row, dict):
            raise ModelError(f"{place} must be an object with the keys {', '.join(ROW_KEYS[:5])} and others")
        line = getattr(row, "line", None)
        try:
            _known(row, ROW_KEYS, place, line)
            kind = _word(row.get("joint", "revolute"), f"{place}.joint")
            if kind not in ROW_KINDS:
                hint = did_you_mean(kind[:40], ROW_KINDS)
                raise ModelError(f"{place}.joint must be revolute or prismatic, not {kind[:40]!a}. {hint}")
            turns = self.degrees and kind == "revolute"
            values = {
                key: self._entry(key, value, turns, f"{place}.{key}") for key, value in row.items() if key != "joint"
            }
            return DHLink(joint=kind, **values)  # type: ignore[arg-type]
        except ModelError as error:
            raise ModelError(error.reason, line=error.line or line) from None

    def _entry(self, key: str, value: Any, turns: bool, place: str) -> Any:
        if value is None and key in ("limits", "effort", "velocity"):
            return None
        angle = self._angle if self.degrees and (turns or key in ("alpha", "theta")) else _number
        match key:
            case "com":
                return _numbers(value, 3, place)
            case "inertia":
                return _inertia(value, place)
            case "limits":
                return _numbers(value, 2, place, angle)
            case "friction" if isinstance(value, list):
                return _numbers(value, 2, place)
            case "alpha" | "theta" | "velocity":
                return angle(value, place)
        return _number(value, place)

    def _pose(self, key: str) -> Transform | None:
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, dict):
            _known(value, ("xyz", "rpy"), key, getattr(value, "line", None))
            value = [value.get("xyz", [0.0] * 3), value.get("rpy", [0.0] * 3)]
        if not isinstance(value, list):
            raise ModelError(f"{key} must be xyz and rpy, or a 4x4 matrix")
        if len(value) == 6 and not any(isinstance(part, list) for part in value):  # x y z roll pitch yaw, in a comment
            value = [value[:3], value[3:]]
        if len(value) == 2:
            return pose_of(
                (
                    _numbers(value[0], 3, f"{key}.xyz"),
                    _numbers(value[1], 3, f"{key}.rpy", self._angle if self.degrees else _number),
                ),
                key,
            )
        return pose_of([_numbers(row, 4, f"{key}[{k}]") for k, row in enumerate(value)], key)

    @staticmethod
    def _angle(value: Any, place: str) -> float:
        """Degrees as radians."""
        if isinstance(value, str) and "pi" in value:
            raise ModelError(f"{place}: angles are in degrees, and {value[:40]!a} is in radians")
        return math.radians(_number(value, place))


def _known(data: Iterable[str], keys: tuple[str, ...], place: str, line: int | None) -> None:
    for key in data:
        if key not in keys:
            shown = str(key)[:60]
            raise ModelError(f"{place} has the unknown key {shown!a}. {did_you_mean(shown, keys)}", line=line)


def _word(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise ModelError(f"{place} must be text, not {str(value)[:40]!a}")
    return value


def _number(value: Any, place: str) -> float:
    """A number, or text that is one, with pi or without."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise ModelError(f"{place} is a number too large for a float") from None
    text = value.strip() if isinstance(value, str) else ""
    if len(text) <= 400 and _NUMBER.fullmatch(text):
        number = float(text)
        if math.isinf(number) and "inf" not in text:
            raise ModelError(f"{place} is a number too large for a float")
        return number
    with_pi = _WITH_PI.fullmatch(text) if len(text) <= 400 else None
    if with_pi is None or (with_pi[3] and not float(with_pi[3])):
        raise ModelError(f"{place} must be a number, not {str(value)[:40]!a}")
    sign, factor, divisor = with_pi.groups()
    size = (float(factor) * math.pi if factor else math.pi) / (float(divisor) if divisor else 1.0)
    return -size if sign == "-" else size


def _numbers(value: Any, count: int, place: str, number: Callable[[Any, str], float] = _number) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) != count:
        raise ModelError(f"{place} must be a list of {count} numbers, not {str(value)[:40]!a}")
    return tuple(number(item, f"{place}[{k}]") for k, item in enumerate(value))


def _inertia(value: Any, place: str) -> Any:
    if isinstance(value, list) and len(value) == 3 and all(isinstance(row, list) for row in value):
        return [_numbers(row, 3, f"{place}[{k}]") for k, row in enumerate(value)]
    return _numbers(value, 6 if isinstance(value, list) and len(value) == 6 else 3, place)
