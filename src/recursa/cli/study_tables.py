"""What studies found, on the terminal: a line for every joint, bars of histograms, the worst rows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from rich.markup import escape

import recursa as rc
from recursa.cli import show
from recursa.cli.root import open_robot
from recursa.cli.terminal_tables import Console
from recursa.errors import ModelError, StudyError, unknown_name
from recursa.formats.yaml_text import parse_yaml
from recursa.studies.computing import labels
from recursa.studies.outcome import axes_of

_BAR = 40  # characters of the longest bar
_BESIDE = 39  # characters left of it
_WORST = 5
_MANY = 200  # rows of a table
_ENTRIES = ("min", "min_row", "max", "max_row", "mean", "std", "count")  # what every number of an output has


def tell(result: rc.StudyResult) -> None:
    """All that was found."""
    out = show.console()
    outputs = _by_output(result.found)
    single = {name: found for name, found in outputs.items() if _shape(found) == ()}
    if any(_columns(found) for found in single.values()):
        put(out, "", [(name, _columns(found)) for name, found in single.items()])
    for name, found in outputs.items():
        shape = _shape(found)
        count = int(np.prod(shape))
        if count > _MANY:
            out.print(escape(f"{name}: {count} numbers, too many for a table; --json has them"))
        elif shape:
            columns = {what: np.reshape(x, -1) for what, x in _columns(found).items()}
            rows = [{what: x[k] for what, x in columns.items()} for k in range(count)]
            put(out, name, list(zip(_titles(result, name, shape), rows, strict=True)))
    for name, found in outputs.items():
        if "histogram_counts" in found:
            _bars(out, name, found["histogram_counts"], found["histogram_edges"])
    for name, found in outputs.items():
        for end in ("top", "bottom"):
            if f"{end}_rows" in found:
                _worst(out, result, f"{name}, {end}", found[f"{end}_values"], found[f"{end}_rows"])


def lines(out: Console, text: str) -> None:
    """What a study says of itself; lines that do not fit go on further in."""
    for line in text.splitlines():
        fits = textwrap.wrap(line, out.width, subsequent_indent="      ", break_long_words=False) or [""]
        out.print(escape("\n".join(fits) if out.is_terminal else line), soft_wrap=True)


def _by_output(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What was found of every output: "peak_speed.mean" is "mean" of "peak_speed"."""
    outputs: dict[str, dict[str, Any]] = {}
    for name, x in found.items():
        output, _, what = name.rpartition(".")
        outputs.setdefault(output, {})[what] = x
    return outputs


def _shape(found: Mapping[str, Any]) -> tuple[int, ...]:
    """Of a row of an output."""
    each = [np.shape(found[what]) for what in _ENTRIES if what in found]
    if "quantiles" in found:
        each.append(np.shape(found["quantiles"])[:-1])
    return each[0] if each else ()


def _columns(found: Mapping[str, Any]) -> dict[str, Any]:
    """By the headers of a table: what every number of an output has."""
    columns = {what: found[what] for what in _ENTRIES if what in found}
    for k, share in enumerate(found.get("shares", ())):
        columns[f"{100.0 * share:.6g} %"] = found["quantiles"][..., k]
    return columns


def _titles(result: rc.StudyResult, name: str, shape: tuple[int, ...]) -> Iterator[str]:
    """What the numbers of an output are called: joints, where it has one for each."""
    axes = axes_of(result.study, name, shape)
    known = labels(result.study.robot)
    named = [
        known[axis] if len(known.get(axis, ())) == count else None for axis, count in zip(axes, shape, strict=True)
    ]
    for place in np.ndindex(*shape):
        parts = [str(k) if names is None else names[k] for k, names in zip(place, named, strict=True)]
        yield ", ".join(parts)


def put(out: Console, title: str, rows: list[tuple[str, Mapping[str, Any]]]) -> None:
    """A table with a row for each name."""
    headers = list(dict.fromkeys(what for _, columns in rows for what in columns))
    cells = (
        (escape(name), *(_number(columns[one]) if one in columns else "" for one in headers))
        for name, columns in rows
        if columns
    )
    show.put(out, show.table(("of", *headers), cells, escape(title) or None))


def _number(x: Any) -> str:
    value = np.asarray(x)[()]
    return f"{value}" if np.issubdtype(type(value), np.integer) else f"{value:.5g}"


def _bars(out: Console, name: str, counts: Any, edges: Any) -> None:
    """All entries of an output together."""
    total = np.reshape(counts, (-1, len(edges) - 1)).sum(axis=0)
    longest = max(1, min(_BAR, out.width - _BESIDE))
    out.print(escape(f"{name}:"))
    for low, high, count in zip(edges[:-1], edges[1:], total, strict=True):
        bar = "█" * round(longest * count / max(1, total.max()))
        out.print(escape(f"  {low:>10.4g} to {high:<10.4g} {count:>10,} {bar}".rstrip()))


def _worst(out: Console, result: rc.StudyResult, title: str, values: Any, rows: Any) -> None:
    """The worst values, and the commands that show their rows; commands are not cut into lines: they are copied."""
    lines(out, f"{title}: {', '.join(f'{value:.5g}' for value in values[:_WORST].tolist())}")
    motions = result.study.computation.name in ("rollout", "simulate")
    for row in rows[:_WORST].tolist():
        page = f" -o row{row}.html" if motions else ""
        out.print(escape(f"  recursa study show {quote(str(result.path))} --row {row}{page}"), soft_wrap=True)


# ---- studies as YAML files: a robot, what is varied, what is computed, where the results go --------------------------


_RUNNING = ("store", "block", "compress", "keep_bits")
_SAID = ("robot", "floating", "mimic", *_RUNNING)
_DESCRIBED = ("vary", "compute", "samples", "seed", "keep", "design", "payload_at")
_SECTIONS = (*_SAID, *_DESCRIBED, "options")


def read_file(path: Path) -> tuple[rc.Study, dict[str, Any]]:
    """The study of a file, and what it says about running it; a store is beside the file."""
    try:
        data = parse_yaml(path.read_text("utf-8"), typed=True)
    except OSError as error:
        raise StudyError(f"cannot read '{path}': {error.strerror or error}") from None
    except (ModelError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: {str(error).removeprefix('<text>, ')}") from None
    if not isinstance(data, Mapping):
        raise StudyError(f"{path}: a study has keys: {', '.join(_SECTIONS)}")
    for name in data:
        if name not in _SECTIONS:
            raise unknown_name(f"key of a study in {path}", name, _SECTIONS)
    for name in ("robot", "vary"):
        if name not in data:
            raise StudyError(f"{path}: the key '{name}' is missing")
    options = data.get("options") or {}
    if not isinstance(options, Mapping) or not isinstance(data["vary"], Mapping):
        raise StudyError(f"{path}: 'vary' and 'options' have keys of their own")
    beside = path.parent / str(data["robot"])
    robot = open_robot(
        str(beside if beside.is_file() else data["robot"]), floating=data.get("floating"), mimic=data.get("mimic")
    )
    vary = {name: _tuple(said) for name, said in data["vary"].items()}
    described = {name: data[name] for name in _DESCRIBED if name in data and name not in ("vary", "keep")}
    study = rc.study(robot, vary, keep=_ways(data.get("keep")), **described, **options)
    running = {name: data[name] for name in _RUNNING if name in data}
    running["store"] = path.parent / str(running.get("store", f"{path.stem}.zarr"))
    return study, running


def _tuple(said: Any) -> Any:
    """``[normal, 2, 0.3]`` as Python has it."""
    return tuple(said) if isinstance(said, list) and said and isinstance(said[0], str) else said


def _ways(keep: Any) -> Any:
    if not isinstance(keep, Mapping):
        return keep
    return {name: [_tuple(one) for one in said] if _several(said) else _tuple(said) for name, said in keep.items()}


def _several(said: Any) -> bool:
    """``[extrema, moments]`` are two ways to keep an output, ``[top, 3]`` is one."""
    return isinstance(said, list) and all(isinstance(one, str | list) for one in said)


def store_of(path: Path) -> Path:
    """The store that a study file, or the name of a store itself, means."""
    return path if path.is_dir() else Path(read_file(path)[1]["store"])
