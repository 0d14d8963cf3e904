"""What a study computes of a block of rows: motions in batches, single simulations, a quantity, a function."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recursa.control.law import Law
from recursa.errors import RecursaError, StudyError, unknown_name
from recursa.formats.recursa_json import model_text
from recursa.model.columns import coordinate_names, freedom_names
from recursa.quantities import Quantity, quantities
from recursa.robot import Robot
from recursa.rollout import rollout
from recursa.simulation.events import events_of
from recursa.studies.sampling import generator

Array = NDArray[Any]
Outputs = dict[str, Array]

_OF_ROLLOUTS = ("q", "v", "final_q", "final_v", "peak_speed", "violation", "finite")
_OF_SIMULATIONS = ("t", "q", "v", "energy_drift")
_OF_MOTIONS = {"q0": "q", "v0": "v", "tau": "tau"}  # arrays that motions begin with, and their kinds
GAIN = "gain."  # begins names of what is varied of a controller
_ENDS = 2  # samples of a simulation: its beginning and its end


class Block(Mapping[str, Array]):
    """Some rows of a study, as functions of the user's see them: ``block["q0"]`` (rows, nq) and all other arrays.

    ``robot``, ``rows`` (their numbers, a range) and ``random``, a generator of random numbers of this block's own; what
    it gives depends on the first row, and so on how the study was cut into blocks.
    """

    def __init__(self, robot: Robot, rows: range, inputs: Mapping[str, Array], seed: int) -> None:
        self.robot, self.rows, self._inputs, self._seed = robot, rows, inputs, seed

    def __getitem__(self, name: str) -> Array:
        if name not in self._inputs:
            raise unknown_name("array of this block", name, self._inputs)
        return self._inputs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs)

    def __len__(self) -> int:
        return len(self._inputs)

    @property
    def random(self) -> np.random.Generator:
        """Philox, whose seed is made of the study's seed and the number of the first row."""
        return generator(self._seed, "block", self.rows.start)


@dataclass(frozen=True)
class Computation:
    """How outputs are made of inputs.

    - ``name``: of the computation, for texts; ``arrays``: kinds of the arrays that it takes by name.
    - ``free``: whether names that robots do not know are somebody's: a function's.
    - ``outputs``: ``outputs(block, wanted)``, arrays (rows, ...) by name; ``offered``: their names, if known before;
      ``axes``: what the axes of their rows are called; ``gains``: numbers of a controller that can be varied.
    - ``row_bytes``: of what is there of a row while it is computed, whatever is kept of it.
    """

    name: str
    arrays: Mapping[str, str]
    free: bool
    outputs: Callable[[Block, tuple[str, ...] | None], Outputs]
    offered: tuple[str, ...] | None
    axes: Mapping[str, tuple[str, ...]]
    gains: tuple[str, ...] = ()
    row_bytes: int = 0


def computation(robot: Robot, compute: Any, options: Mapping[str, Any]) -> Computation:
    """What ``compute=`` and its options mean."""
    if callable(compute):
        if options:
            raise StudyError(f"compute= is a function, which takes no options: {', '.join(options)}")
        return Computation(f"function {_title(compute)}", _OF_MOTIONS, True, _by_function(compute), None, {})
    if compute == "rollout":
        return _rollouts(robot, dict(options))
    if compute == "simulate":
        return _simulations(robot, dict(options))
    records = {one.name: one for one in quantities()}
    if not isinstance(compute, str) or compute not in records:
        raise unknown_name("computation", compute, ("rollout", "simulate", *records))
    return _asked(robot, records[compute], dict(options))


def _title(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__name__


class LostFunction:
    """Stands for a function that a store cannot keep: it has the name of the function, and cannot be called."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.__qualname__ = text.split()[0]

    def __call__(self, *arguments: Any) -> Any:
        """There is nothing to call."""
        raise StudyError(
            f"the function {self.__qualname__} is not kept in the store; describe the study again with it, and run it "
            "with the same store"
        )


def function_text(function: Any) -> str:
    """What tells a function apart from others: its name, and its code as far as that can be seen."""
    if isinstance(function, LostFunction):
        return function.text
    return f"{_title(function)} {mark_of(function)}"


def _enclosed(function: Any) -> tuple[Any, ...]:
    """What a function has from the function that it was made in."""
    found = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not assigned yet
            found.append(cell.cell_contents)
    return tuple(found)


def mark_of(value: Any) -> str:
    """A short text that differs where values differ, and is the same in every process.

    >>> mark_of([1.0, np.zeros(3)]) == mark_of([1.0, np.zeros(3)]), mark_of({"k": 1.0}) == mark_of({"k": 2.0})
    (True, False)
    """
    return hashlib.blake2b(repr(_seen(value, ())).encode(), digest_size=8).hexdigest()


def _seen(value: Any, above: tuple[int, ...]) -> Any:
    """What values are made of, as nested tuples of texts; ``above``: the objects that are being looked at."""
    if id(value) in above:
        return "itself"
    above = (*above, id(value))
    if value is None or isinstance(value, str | bytes | bool | int | float | complex):
        return repr(value)
    if isinstance(value, np.ndarray | np.generic):
        return (str(value.dtype), np.shape(value), hashlib.blake2b(np.ascontiguousarray(value).tobytes()).hexdigest())
    if isinstance(value, Robot):
        return model_text(value.model)
    if inspect.iscode(value):
        return (value.co_code, value.co_names, tuple(_seen(one, above) for one in value.co_consts))
    if isinstance(value, Mapping):
        return tuple((repr(name), _seen(one, above)) for name, one in value.items())
    if isinstance(value, list | tuple):
        return tuple(_seen(one, above) for one in value)
    if inspect.isfunction(value):
        return (value.__qualname__, _seen((value.__code__, value.__defaults__, _enclosed(value)), above))
    record = is_dataclass(value) and not hasattr(value, "__dict__")
    if inspect.ismodule(value) or inspect.isclass(value) or not (record or hasattr(value, "__dict__")):
        return getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or type(value).__qualname__
    kept = {one.name: getattr(value, one.name) for one in fields(value)} if record else vars(value)
    remembered = {name for name in kept if isinstance(getattr(type(value), name, None), cached_property)}
    own = {name: one for name, one in kept.items() if name not in remembered}
    return (type(value).__qualname__, _seen(own, above))


# ---- functions -------------------------------------------------------------------------------------------------------


def _by_function(function: Callable[[Block], Any]) -> Callable[[Block, tuple[str, ...] | None], Outputs]:
    def outputs(block: Block, wanted: tuple[str, ...] | None) -> Outputs:
        return as_outputs(function(block), _title(function), len(block.rows))

    return outputs


def as_outputs(found: Any, who: str, rows: int) -> Outputs:
    """What a function returned: arrays with a row per row of the block, by name; one alone is called "result"."""
    named = dict(found) if isinstance(found, Mapping) else {"result": found}
    arrays = {str(name): np.asarray(value) for name, value in named.items()}
    for name, array in arrays.items():
        if not name or name.startswith(".") or not set(name).isdisjoint("/\\\0"):
            raise StudyError(
                f"function {who} calls an output {name!r}: names are kept as those of files, without / or \\"
            )
        if array.ndim == 0 or len(array) != rows or array.dtype.kind not in "fiub":
            what = f"shape {array.shape} and type {array.dtype}"
            raise StudyError(
                f"'{name}' of function {who} has {what}; expected numbers with {rows} rows, one per sample"
            )
    return arrays


# ---- motions ---------------------------------------------------------------------------------------------------------


def _rollouts(robot: Robot, options: dict[str, Any]) -> Computation:
    known = ("step", "steps", "integrator", "save_every", "losses", "torque")
    _require_known("rollout", options, known, ("step", "steps"))
    torque = options.pop("torque", None)
    functional = callable(torque) and not hasattr(torque, "torque")
    step, every = options["step"], options.get("save_every", 1)

    def outputs(block: Block, wanted: tuple[str, ...] | None) -> Outputs:
        acting = torque(block) if functional else torque
        if acting is None:
            acting = block["tau"]
        parameters = block.get("parameters")
        gains = {name.removeprefix(GAIN): block[name] for name in block if name.startswith(GAIN)}
        q, v = rollout(
            robot, block["q0"], block["v0"], acting,
            parameters=parameters, gains=gains or None, on_divergence="nan", **options,
        )  # fmt: skip
        times = step * every * np.arange(1, q.shape[1] + 1)
        return {name: _of_rollout(robot, name, q, v, times) for name in wanted or ("q", "v")}

    axes = {
        "q": ("time", "coordinate"), "v": ("time", "freedom"), "final_q": ("coordinate",), "final_v": ("freedom",),
        "peak_speed": ("freedom",), "violation": (), "finite": (),
    }  # fmt: skip
    row_bytes = 8 * _saved(options["steps"], every) * (robot.nq + robot.nv)
    return Computation("rollout", _OF_MOTIONS, functional, outputs, _OF_ROLLOUTS, axes, _gains_of(torque), row_bytes)


def _saved(steps: Any, every: Any) -> int:
    """States that are saved of a motion: at least one."""
    if not all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in (steps, every)):
        raise StudyError(f"steps and save_every must be whole numbers, not {steps!r} and {every!r}")
    if not 1 <= every <= steps:
        raise StudyError(f"a rollout of {steps} steps of which every {every}th is saved has nothing to be kept")
    return int(steps // every)


def _gains_of(torque: Any) -> tuple[str, ...]:
    return tuple(f"{GAIN}{name}" for name in torque.tuning) if isinstance(torque, Law) else ()


def _of_rollout(robot: Robot, name: str, q: Array, v: Array, times: Array) -> Array:
    match name:
        case "q":
            return q
        case "v":
            return v
        case "final_q":
            return q[:, -1]
        case "final_v":
            return v[:, -1]
        case "peak_speed":
            return np.abs(v).max(axis=1)
        case "finite":
            return np.asarray(np.isfinite(v).all(axis=(1, 2)))
    low, high = robot.position_limits
    beyond = ((q < low) | (q > high)).any(axis=2) | (np.abs(v) > robot.velocity_limits).any(axis=2)
    return np.where(beyond.any(axis=1), times[np.argmax(beyond, axis=1)], np.nan)


def _simulations(robot: Robot, options: dict[str, Any]) -> Computation:
    _require_known("simulate", options, None, ("duration",))
    accepted = inspect.signature(Robot.simulate).parameters
    _require_known("simulate", options, tuple(accepted)[3:], ())
    names = tuple(f"event.{one.name}" for one in events_of(options.get("events")))
    sampled = {"samples": _ENDS}

    def outputs(block: Block, wanted: tuple[str, ...] | None) -> Outputs:
        rows = [_simulated(block, k, {**options, **sampled}, names) for k in range(len(block.rows))]
        return {name: np.array([row[name] for row in rows]) for name in wanted or (*_OF_SIMULATIONS, *names)}

    axes = {"t": (), "q": ("time", "coordinate"), "v": ("time", "freedom"), "energy_drift": ()}
    offered = (*_OF_SIMULATIONS, *names)
    axes |= dict.fromkeys(names, ())
    return Computation("simulate", _OF_MOTIONS, False, outputs, offered, axes, _gains_of(options.get("torque")))


def _simulated(block: Block, k: int, options: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """One row. Runs that end early have the state of their end in all samples after it."""
    robot = block.robot if "parameters" not in block else block.robot.with_parameters(block["parameters"][k])
    torque = acting_on(options.get("torque"), {name: block[name][k] for name in block})
    count = options["samples"]
    try:
        run = robot.simulate(block["q0"][k], block["v0"][k], **{"progress": False, **options, "torque": torque})
    except RecursaError as error:
        found = getattr(error, "run", None)
        if found is None:
            raise StudyError(f"row {block.rows[k]}: {error}") from None
        run = found
    at = np.minimum(np.arange(count), len(run.t) - 1)
    first = {f"event.{one.name}": one.t for one in reversed(run.events)}
    drift = float(np.max(np.abs(run.energy_drift), initial=0.0))
    return {
        "t": run.t[-1], "q": run.q[at], "v": run.v[at], "energy_drift": drift,
        **{name: first.get(name, np.nan) for name in names},
    }  # fmt: skip


def acting_on(torque: Any, inputs: Mapping[str, Array]) -> Any:
    """What drives one row of a study: the torques that are varied, or a controller with the gains of the row."""
    if torque is None:
        return inputs["tau"]
    gains = {name.removeprefix(GAIN): x for name, x in inputs.items() if name.startswith(GAIN)}
    return torque.with_gains(**gains) if gains else torque


# ---- quantities ------------------------------------------------------------------------------------------------------


def _asked(robot: Robot, record: Quantity, options: dict[str, Any]) -> Computation:
    unknown = [name for name in record.inputs if name not in ("q", "v", "a", "tau")]
    if unknown:
        raise StudyError(
            f"{record.name} takes '{unknown[0]}', which cannot be varied by name: compute it in a function"
        )
    _require_known(record.name, options, tuple(record.options), ())
    missing = [name for name in record.options if name not in {**record.defaults, **options}]
    if missing:
        raise StudyError(f"{record.name} needs the option {missing[0]}=")
    takes_parameters = "parameters" in record.optional

    def outputs(block: Block, wanted: tuple[str, ...] | None) -> Outputs:
        arguments = {name: block[name] for name in record.inputs}
        if "parameters" in block:
            if not takes_parameters:
                raise StudyError(f"{record.name} does not take inertial parameters, which are varied here")
            arguments["parameters"] = block["parameters"]
        return {record.name: robot.evaluator.evaluate(record, arguments, options)}

    arrays = {name: name for name in record.inputs}
    return Computation(record.name, arrays, False, outputs, (record.name,), {})


def _require_known(
    what: str, options: Mapping[str, Any], known: tuple[str, ...] | None, needed: tuple[str, ...]
) -> None:
    for name in options:
        if known is not None and name not in known:
            raise unknown_name(f"option of {what} in a study", name, known)
    for name in needed:
        if name not in options:
            raise StudyError(f'compute="{what}" needs {name}=')


def labels(robot: Robot) -> dict[str, list[str]]:
    """What the entries along named axes are called."""
    return {"coordinate": list(coordinate_names(robot.model)), "freedom": list(freedom_names(robot.model))}
