"""Study: a question with variations, described before anything is computed."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recursa.errors import StudyError, unknown_name
from recursa.formats.recursa_json import model_from_text, model_text
from recursa.robot import Robot
from recursa.simulation.events import events_of
from recursa.studies.computing import (
    Block,
    Computation,
    LostFunction,
    Outputs,
    as_outputs,
    computation,
    function_text,
    mark_of,
)
from recursa.studies.distributions import from_data
from recursa.studies.reductions import Reduction, several
from recursa.studies.sampling import Design, Sampling
from recursa.studies.study_progress import duration
from recursa.studies.variables import Targets, Variable, require_likely_masses

if TYPE_CHECKING:
    from recursa.studies.engines import EngineName
    from recursa.studies.outcome import StudyResult
    from recursa.studies.stores import Compression

Array = NDArray[Any]
Measure = Callable[[Block, Outputs], Any]

_FUNCTION = "function "
_PILOT = 64  # rows that tell what a study's results look like and how long they take


class Study:
    """What :func:`recursa.study` describes. Nothing is computed before :meth:`run` or :meth:`estimate`.

    Two studies are equal if they give the same results; :attr:`digest` tells them apart.
    """

    def __init__(
        self,
        robot: Robot,
        vary: Mapping[str, Any],
        compute: Any,
        samples: int | None,
        seed: int,
        keep: Any,
        design: Design,
        payload_at: str | None,
        measure: Mapping[str, Measure],
        options: Mapping[str, Any],
    ) -> None:
        """See :func:`recursa.study`; ``design`` is "random", "latin-hypercube" or "sobol"."""
        self.robot = robot
        self._said = vary, compute, samples, seed, keep, design, payload_at, measure, options
        self.computation: Computation = computation(robot, compute, options)
        self.measure, self.options = dict(measure), dict(options)
        self.targets = Targets(
            robot,
            self.computation.arrays,
            free=self.computation.free or bool(measure),
            gains=self.computation.gains,
            payload_at=payload_at,
        )
        variables = [self.targets.variable(name, said) for name, said in vary.items()]
        self.sampling = Sampling.of(variables, samples, seed, design)
        require_likely_masses(self.sampling.variables, self.total)
        self.keep = _kept(keep)
        offered = self.computation.offered
        for name in self.keep or ():
            if offered is not None and name not in offered and name not in self.measure:
                raise unknown_name(f"output of {self.computation.name}", name, (*offered, *self.measure))

    def __reduce__(self) -> tuple[Any, ...]:
        """As the robot's text and what was said: it is a study again anywhere, with kernels of its own."""
        return _study_of, (model_text(self.robot.model), self._said)

    @property
    def total(self) -> int:
        """Rows in all."""
        return self.sampling.total

    def values(self, rows: range | int) -> dict[str, Array]:
        """What is varied, in some rows or in one, by name.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> study = rc.study(arm, vary={"q": ("grid", [[0.0, 0.0], [1.0, 0.5]])}, compute="gravity_forces")
        >>> study.values(1)
        {'q': array([1. , 0.5])}
        """
        if isinstance(rows, range):
            return self.sampling.values(rows)
        row = self._row(rows)
        return {name: x[0] for name, x in self.sampling.values(range(row, row + 1)).items()}

    def inputs(self, rows: range | int) -> dict[str, Array]:
        """The arrays that the computation is given in some rows or in one: states, torques, parameters."""
        if isinstance(rows, range):
            return self.targets.inputs(self.sampling.variables, self.values(rows), rows)
        row = self._row(rows)
        return {name: x[0] for name, x in self.inputs(range(row, row + 1)).items()}

    def _row(self, row: int) -> int:
        if not 0 <= row < self.total:
            raise StudyError(f"there is no row {row}: the study has {self.total}, from 0 on")
        return row

    def compute(self, rows: range, values: Mapping[str, Array] | None = None) -> Outputs:
        """The outputs of some rows, (rows, ...) each: those that are kept, or all.

        ``values``: what is varied in these rows, if it is drawn already.
        """
        inputs = self.targets.inputs(self.sampling.variables, self.values(rows) if values is None else values, rows)
        block = Block(self.robot, rows, inputs, self.sampling.seed)
        measured = tuple(name for name in self.measure if self.keep is None or name in self.keep)
        wanted = None if self.keep is None else tuple(name for name in self.keep if name not in self.measure)
        offered = self.computation.offered
        if measured and offered is not None and wanted is not None:
            wanted = tuple(dict.fromkeys((*wanted, *(name for name in ("q", "v") if name in offered))))
        found = self.computation.outputs(block, wanted)
        for name in measured:
            found |= {name: next(iter(as_outputs(self.measure[name](block, found), name, len(rows)).values()))}
        for name in self.keep or ():
            if name not in found:
                raise unknown_name(f"output of {self.computation.name}", name, found)
        return {name: found[name] for name in self.keep or found}

    def reductions(self, output: str) -> tuple[Reduction, ...]:
        """What is kept of an output beside, or instead of, all of it."""
        return () if self.keep is None else self.keep[output][1]

    def in_full(self, output: str) -> bool:
        """Whether an output is kept as it is."""
        return self.keep is None or self.keep[output][0]

    def column(self, variable: str) -> str:
        """The name by which results have what is varied: its own, unless an output has that."""
        offered = self.pilot.outputs
        return f"vary.{variable}" if variable in offered else variable

    # ---- what it says ------------------------------------------------------------------------------------------------

    def as_data(self) -> dict[str, Any]:
        """The study as plain data: what is written beside results, and what two studies are compared by."""
        _, compute, *_, options = self._said
        return {
            "robot": model_text(self.robot.model),
            "vary": {one.name: self._told(one) for one in self.sampling.variables},
            "compute": _FUNCTION + function_text(compute) if callable(compute) else compute,
            "options": {name: _plain(_named(name, value)) for name, value in sorted(options.items())},
            "samples": self.sampling.samples,
            "seed": self.sampling.seed,
            "design": self.sampling.design,
            "payload_at": self.targets.payload_at,
            "keep": None
            if self.keep is None
            else {name: [full, [one.as_data() for one in ways]] for name, (full, ways) in self.keep.items()},
            "measure": {name: _FUNCTION + function_text(one) for name, one in self.measure.items()},
        }

    def _told(self, one: Variable) -> Any:
        """How a variable is varied, as data: the usual range of a robot is told by its name."""
        said = self._said[0][one.name]
        return said if isinstance(said, str) else one.distribution.as_data()

    @cached_property
    def digest(self) -> str:
        """A name for all that decides the results."""
        return hashlib.blake2b(json.dumps(self.as_data(), sort_keys=True).encode(), digest_size=16).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Study) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        lines = [
            f"study of '{self.robot.name}': {self.computation.name}, {self.total:,} rows, seed {self.sampling.seed}"
        ]
        lines += [f"  {one.name}: {one}" for one in self.sampling.variables]
        if self.keep is not None:
            for name, (full, ways) in self.keep.items():
                told = ["in full"] * full + [way.name for way in ways]
                lines.append(f"  keeps {name}: {', '.join(told)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<study {self.digest[:8]} of '{self.robot.name}': {self.computation.name}, {self.total} rows>"

    @cached_property
    def pilot(self) -> Pilot:
        """A few rows, computed to see what comes out and how long it takes; done once."""
        rows = range(min(self.total, _PILOT))
        first = self.compute(rows)  # compiles
        begin = time.perf_counter()
        self.compute(rows)
        return Pilot(first, (time.perf_counter() - begin) / len(rows))

    def estimate(self) -> str:
        """How many rows and bytes, and how long it would take on one core: measured on a few rows.

        >>> import recursa as rc
        >>> study = rc.study(rc.robots.planar(2), vary={"q": "uniform"}, compute="mass_matrix", samples=10**6)
        >>> print(study.estimate().split(";")[0])
        1,000,000 rows
        """
        row = sum(x[0].nbytes for name, x in self.pilot.outputs.items() if self.in_full(name))
        seconds = self.pilot.seconds * self.total
        return f"{self.total:,} rows; {_size(row * self.total)} in full; about {duration(seconds)} on one core"

    def run(
        self,
        store: str | os.PathLike[str] | None = None,
        engine: EngineName | None = None,
        address: str | None = None,
        block: int | None = None,
        resume: bool = True,
        *,
        workers: int | None = None,
        compress: Compression | None = None,
        keep_bits: int | None = None,
        progress: bool = True,
    ) -> StudyResult:
        """Carry it out. The results are the same to the bit for every engine, number of workers and size of blocks.

        - ``store``: a folder for the results, ``"out.zarr"``, or ``"out.parquet"`` for tables; None keeps them in
          memory. Finished blocks are never computed again: a run that was killed goes on where it was.
        - ``engine``: None or "threads", this process; "dask", a Dask cluster; "ray", Ray.
        - ``address``: of a Dask scheduler ("tcp://host:8786") or of Ray ("host:6379", "auto"); None starts a cluster on
          this machine. Its workers must see the store under the same path.
        - ``block``: rows at a time; None takes about a second's worth and at most 64 MB.
        - ``resume``: False refuses a store that has results already.
        - ``workers``: threads, or processes of a local cluster; None: as many as there are cores.
        - ``compress``: None; "zstd"; "shuffle", bits of equal weight together before zstd.
        - ``keep_bits``: bits of the mantissa that are kept, of 52; less bits compress well.
        - ``progress``: a bar on the terminal; where there is none, a line on standard error now and then.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> study = rc.study(arm, vary={"q": "uniform"}, compute="mass_matrix", samples=1000, seed=1)
        >>> result = study.run()
        >>> result["mass_matrix"].shape
        (1000, 2, 2)
        """
        from recursa.studies.running import run  # what stores and engines need is not imported before

        return run(self, store, engine, address, block, resume, workers, compress, keep_bits, progress)


class Pilot(NamedTuple):
    """What a few rows tell: outputs by name, and seconds a row."""

    outputs: Outputs
    seconds: float


def study(
    robot: Robot,
    vary: Mapping[str, Any],
    compute: Any = "rollout",
    samples: int | None = None,
    seed: int = 0,
    keep: Any = None,
    *,
    design: Design = "random",
    payload_at: str | None = None,
    measure: Mapping[str, Measure] | None = None,
    **options: Any,
) -> Study:
    """Describe a question with variations, to be computed for millions of rows: on threads, or on a cluster.

    - ``vary``: what is varied, by name, and how. Names: ``"q0"``, ``"v0"``, ``"tau"`` of motions, or the arrays of a
      quantity (``"q"``, ``"v"``, ``"a"``, ``"tau"``); one entry of them, ``"q0.elbow"``; ``"payload.mass"`` and
      ``"payload.x"``, ``y``, ``z``, a point mass on the link ``payload_at`` (the last one if not said); an inertial
      parameter of :attr:`Robot.parameter_names`, ``"link3.m"``; ``"link3.scale"``, which scales mass and inertia of a
      link together; ``"gain.stiffness"``, a gain of the controller that is ``torque=``; and, where functions are
      given, any name that they ask for. How: ``"uniform"`` within limits (or
      +-pi, +-1); ``("uniform", low, high)``; ``("normal", mean, deviation)``, with ``low, high`` cut off there;
      ``("grid", values)``, all of them; an array with a row per sample; one number. Explicit numbers for ``q0`` of
      robots with quaternions are displacements from neutral, one per freedom.
    - ``compute``: ``"rollout"`` (needs ``step=``, ``steps=``; takes ``integrator=``, ``save_every=``, ``losses=`` and
      ``torque=``, as :func:`recursa.rollout`, controllers too, or as a function of the block), ``"simulate"`` (needs
      ``duration=``; all options of :meth:`Robot.simulate`, events too), the name of any quantity with its options, or a
      function of a block: ``block["q0"]``, ``block.robot`` in, arrays by name out.
    - ``samples``: rows, for every point of the grids; ``seed``: of the random numbers, which depend on it, on the name
      of the variable and on the row alone.
    - ``keep``: None, all outputs in full; a list of names; or ways to keep them by name: ``"full"``, ``"extrema"``,
      ``"moments"``, ``("quantiles", shares)``, ``("histogram", bins, low, high)``, ``("top", count)``, ``("bottom",
      count)``, or a list of these. Rollouts have ``q``, ``v``, ``final_q``, ``final_v``, ``peak_speed``, ``violation``
      (when a limit of position or velocity is first left, nan if never) and ``finite``; simulations ``t`` (of their
      end), ``q`` and ``v`` at their beginning and end, ``energy_drift`` and ``event.NAME``, when it happened first.
    - ``design``: "random", "latin-hypercube" or "sobol" (scrambled).
    - ``measure``: further outputs, functions of (block, outputs) by name.

    >>> import recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> study = rc.study(arm, vary={"q0": "uniform", "payload.mass": ("normal", 0.5, 0.05)}, samples=500, seed=3,
    ...                  keep={"peak_speed": ["extrema", "moments"]}, step=1e-3, steps=100)
    >>> print(study)
    study of 'planar2': rollout, 500 rows, seed 3
      q0: uniform, -3.142 to 3.142
      payload.mass: normal, 0.5 +- 0.05
      keeps peak_speed: extrema, moments
    >>> study.run()["peak_speed.mean"].shape
    (2,)
    """
    if not isinstance(robot, Robot):
        raise StudyError(f"the first argument of study is a robot, not {robot!r}; rc.load makes one from a file")
    if not isinstance(vary, Mapping):
        raise StudyError(f"vary= must be a mapping from names to distributions, not {type(vary).__name__}")
    return Study(robot, vary, compute, samples, seed, keep, design, payload_at, measure or {}, options)


@lru_cache(maxsize=8)
def _robot_of(text: str) -> Robot:
    """One robot per text and process, with the kernels that it has."""
    return Robot(model_from_text(text))


def _study_of(text: str, said: tuple[Any, ...]) -> Study:
    return Study(_robot_of(text), *said)


def study_from_data(data: Mapping[str, Any]) -> Study:
    """The study that :meth:`Study.as_data` told. Functions are not kept: they can be named and not be called."""
    vary = {name: told if isinstance(told, str) else from_data(told) for name, told in data["vary"].items()}
    kept = data["keep"]
    keep = (
        None
        if kept is None
        else {name: ["full"] * full + [_as_said(way) for way in ways] for name, (full, ways) in kept.items()}
    )
    options = {name: _called(value) for name, value in data["options"].items()}
    measure = {name: _called(value) for name, value in data["measure"].items()}
    rest = data["samples"], data["seed"], keep, data["design"], data["payload_at"], measure, options
    return Study(_robot_of(data["robot"]), vary, _called(data["compute"]), *rest)


def _called(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _called(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_called(one) for one in value]
    lost = isinstance(value, str) and value.startswith(_FUNCTION)
    return LostFunction(value.removeprefix(_FUNCTION)) if lost else value


def _as_said(way: Any) -> Any:
    return tuple(way) if isinstance(way, list) else way


def _kept(keep: Any) -> dict[str, tuple[bool, tuple[Reduction, ...]]] | None:
    if keep is None:
        return None
    if isinstance(keep, str) or not isinstance(keep, Mapping | Sequence) or not keep:
        raise StudyError(f"keep= must be names of outputs, or ways to keep them by name, not {keep!r}")
    if not isinstance(keep, Mapping):
        keep = dict.fromkeys(keep, "full")
    return {str(name): several(str(name), said) for name, said in keep.items()}


def _plain(value: Any) -> Any:
    """An option as data: a name and a mark, where it is no plain value."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if callable(value):
        return _FUNCTION + function_text(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return f"{_FUNCTION}{type(value).__qualname__} {mark_of(value)}"


def _named(option: str, value: Any) -> Any:
    """Events by their names, which results have; other options as they are."""
    return {one.name: one for one in events_of(value)} if option == "events" else value


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000.0:
            return f"{count:.3g} {unit}"
        count /= 1000.0
    return f"{count:.3g} TB"
