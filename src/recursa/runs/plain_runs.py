"""A run as plain data, texts, numbers and arrays by name, and back: what files of runs hold, whoever wrote them.

Nothing in such data is taken on trust: types, shapes and sizes have to be those of one run of the robot in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from recursa.errors import ResultFileError, printable, printable_or_refused
from recursa.formats.recursa_json import model_from_text, model_text
from recursa.model.model import Model
from recursa.runs import interpolants
from recursa.runs.options import Options
from recursa.runs.run import BASE_SIZES, BaseMotion, Happened, Run, Status
from recursa.sweeps.batching import Array
from recursa.version import __version__

if TYPE_CHECKING:
    from recursa.robot import Robot

SAMPLES = ("t", "q", "v", "a", "tau", "work", "lost")
TIMES = "options/times"
DENSE = "dense/"
MEMORY = "memory"  # what a controller had learned, if it learns
_LARGEST = 2**63  # of what was counted or timed
BASE = tuple(f"base/{name}" for name in BaseMotion._fields)
_EVENTS = ("events/t", "events/q", "events/v")
ARRAYS = (*SAMPLES, MEMORY, TIMES, *BASE, *_EVENTS, *(DENSE + name for name in interpolants.NAMES))


def as_plain(run: Run) -> dict[str, Any]:
    """The run as JSON has it, but for ``arrays``, by name; each is of floats."""
    model, rows = run.robot.model, len(run.events)
    arrays = {name: getattr(run, name) for name in SAMPLES}
    if run.memory is not None:
        arrays[MEMORY] = run.memory
    if run.options.times is not None:
        arrays[TIMES] = run.options.times
    arrays |= dict(zip(BASE, run.base or (), strict=False))
    arrays["events/t"] = np.array([event.t for event in run.events], dtype=float)
    arrays["events/q"] = np.array([event.q for event in run.events], dtype=float).reshape(rows, model.nq)
    arrays["events/v"] = np.array([event.v for event in run.events], dtype=float).reshape(rows, model.nv)
    dense = interpolants.as_arrays(run.options.integrator, run.pieces)
    return {
        "recursa": __version__,
        "robot": model_text(model),
        "digest": model.digest,
        "status": run.status,
        "message": run.message,
        "momentum_kept": run.momentum_kept,
        "options": {item.name: getattr(run.options, item.name) for item in fields(Options) if item.name != "times"},
        "statistics": run.statistics,
        "events": [event.name for event in run.events],
        "arrays": arrays | {DENSE + name: values for name, values in dense.items()},
    }


def from_plain(data: Mapping[str, Any], robot_of: Callable[[Model], Robot]) -> Run:
    """The run that data stand for; what does not fit is a :class:`ResultFileError`, or one of ``MALFORMED``."""
    model = model_from_text(_of(data, "robot", str))
    if model.digest != data["digest"]:
        raise ResultFileError("the robot in it is not the one it names")
    arrays = {name: _floats(name, values) for name, values in data["arrays"].items()}
    names = _of(data, "events", list)
    options = Options.from_file(model, _of(data, "options", dict), arrays.get(TIMES))
    _require_shapes(arrays, model, len(names), options)
    dense = {name: arrays[DENSE + name] for name in interpolants.NAMES if DENSE + name in arrays}
    status = _of(data, "status", str)
    if status not in get_args(Status):
        raise ResultFileError(f"its status is {status[:40]!r}")
    happened = zip(
        map(printable_or_refused, names),
        arrays["events/t"].tolist(),
        arrays["events/q"],
        arrays["events/v"],
        strict=True,
    )
    return Run(
        robot_of(model),
        **{name: arrays[name] for name in SAMPLES},  # type: ignore[arg-type]  # none of them is the setup
        events=tuple(Happened(*event) for event in happened),
        status=status,  # type: ignore[arg-type]  # it was looked up
        message=printable(_of(data, "message", str)),
        options=options,
        statistics={
            printable_or_refused(name): _number(value) for name, value in _of(data, "statistics", dict).items()
        },
        momentum_kept=bool(data["momentum_kept"]),
        pieces=interpolants.from_arrays(options.integrator, dense),
        base=BaseMotion(*(arrays[name] for name in BASE)) if BASE[0] in arrays else None,
        memory=arrays.get(MEMORY),
    )


def _of(data: Mapping[str, Any], key: str, kind: type) -> Any:
    if type(data[key]) is not kind:
        raise ResultFileError(f"'{key}' in it is {type(data[key]).__name__}, not {kind.__name__}")
    return data[key]


def _number(value: Any) -> float:
    if type(value) not in (int, float) or abs(value) > _LARGEST:
        raise ResultFileError("a number of its statistics is none")
    return value  # type: ignore[no-any-return]


def _floats(name: str, values: Any) -> Array:
    if name not in ARRAYS or not isinstance(values, np.ndarray) or values.dtype != float:
        raise ResultFileError(f"its array '{name[:40]}' is none of a run, or not of floats")
    return values


def _require_shapes(arrays: Mapping[str, Array], model: Model, events: int, options: Options) -> None:
    """One row a sample, an event, an interpolant; as many columns as the robot has coordinates or freedoms."""
    rows, nq, nv = len(np.atleast_1d(arrays["t"])), model.nq, model.nv
    wanted: dict[str, tuple[int, ...]] = dict.fromkeys(("t", "work", "lost"), (rows,))
    wanted |= {"q": (rows, nq)} | dict.fromkeys(("v", "a", "tau"), (rows, nv))
    wanted |= {"events/t": (events,), "events/q": (events, nq), "events/v": (events, nv)}
    if any(name in arrays for name in BASE):
        wanted |= {name: (rows, size) for name, (_, size) in zip(BASE, BASE_SIZES, strict=True)}
    if MEMORY in arrays:
        wanted[MEMORY] = (rows, *arrays[MEMORY].shape[1:2])
    if TIMES in arrays:
        wanted[TIMES] = (arrays[TIMES].size,)
    if any(name.startswith(DENSE) for name in arrays):
        pieces, width = len(np.atleast_1d(arrays[DENSE + "span"])), arrays[DENSE + "start"].shape[-1]
        more = width - nq - nv  # work is part of the state unless nothing does any, what is learned behind it
        work = more == 0 or more >= 2
        shapes = interpolants.shapes(options.integrator, pieces, width if work else nq + nv)
        wanted |= {DENSE + name: shape for name, shape in shapes.items()}
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise ResultFileError(f"its array '{name}' has shape {arrays[name].shape}, which has to be {shape}")
