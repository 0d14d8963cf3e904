"""What came out of a study: arrays in memory or on the disk, and what reductions found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recursa.errors import ResultFileError, StudyError, not_installed, unknown_name
from recursa.studies.computing import LostFunction, acting_on, labels
from recursa.studies.reductions import Part
from recursa.studies.stores import Store, table_columns
from recursa.studies.study import Study, study_from_data

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset

    from recursa.runs.run import Run

Array = NDArray[Any]


def read_study(path: Path) -> StudyResult:
    """What a store holds, finished or not; see :func:`recursa.read`."""
    store = Store(str(path))
    about = store.about()
    if about is None:
        raise ResultFileError(f"cannot read '{path}': it is a folder without a study in it")
    with store.readable("what it says of its study"):
        study = study_from_data(about["study"])
        whole, rows = Joined(study), 0
        for number in store.finished():
            parts = store.parts(number, look=False)  # what it holds may be larger than a memory
            if parts is not None:
                whole.join(parts)
                rows += min(about["block"], study.total - number * about["block"])
        return StudyResult(study, path, whole.results(about["shapes"]), None, rows)


class Joined:
    """Parts of reductions, joined as they come."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.parts: dict[str, Part] = {}

    def join(self, parts: dict[str, Part]) -> None:
        """Those of one more block."""
        for key, part in parts.items():
            name, _, k = key.rpartition("/")
            way = self.study.reductions(name)[int(k)]
            self.parts[key] = way.join(self.parts[key], part) if key in self.parts else part

    def results(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, Array]:
        """Of all reductions, by output and what they found: "peak_speed.mean"; ``shapes`` of rows of outputs."""
        found = {}
        for key, part in self.parts.items():
            name, _, k = key.rpartition("/")
            way = self.study.reductions(name)[int(k)]
            for what, array in way.result(part, tuple(shapes[name])).items():
                prefix = f"{way.name}_" if way.name in ("histogram", "top", "bottom") else ""
                found[f"{name}.{prefix}{what}"] = array
        return found


def axes_of(study: Study, name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    """What the axes of a row of an output, or of what is varied, are called."""
    known = study.computation.axes.get(name)
    if known is not None and len(known) == len(shape):
        return known
    kind = study.computation.arrays.get(name)
    if len(shape) == 1 and kind is not None:
        return ("coordinate",) if kind == "q" and shape[0] == study.robot.nq else ("freedom",)
    return tuple(f"{name}_{k}" for k in range(len(shape)))


class StudyResult:
    """Results of a study, by name: ``result["q"]``, ``result["peak_speed.mean"]``.

    - ``study``: what was asked; ``path``: the store, None where all is in memory.
    - ``found``: what reductions found, by output and what it is; ``rows``: how many rows are finished.

    Arrays of a store are read when they are asked for; :meth:`to_xarray` opens them without reading.
    """

    def __init__(
        self, study: Study, path: Path | None, found: dict[str, Array], arrays: dict[str, Array] | None, rows: int
    ) -> None:
        self.study, self.path, self.found, self.rows = study, path, found, rows
        self._arrays = arrays

    @property
    def names(self) -> tuple[str, ...]:
        """All that can be asked for."""
        return (*self._full(), *self.found)

    def _full(self) -> tuple[str, ...]:
        if self._arrays is not None:
            return tuple(self._arrays)
        if self.path is None or self.path.suffix != ".zarr":
            return ()
        return tuple(sorted(folder.name for folder in self.path.iterdir() if (folder / "zarr.json").is_file()))

    def __getitem__(self, name: str) -> Array:
        if name in self.found:
            return self.found[name]
        if self._arrays is not None and name in self._arrays:
            return self._arrays[name]
        if name not in self.names:
            raise unknown_name("result", name, self.names)
        import zarr

        store = self._sound_arrays()
        store.require_data(f"{name}/")
        with store.readable(f"array '{name}'"):
            return np.asarray(zarr.open_array(f"{self.path}/{name}", mode="r")[...])

    def _sound_arrays(self) -> Store:
        """Return the store of Zarr arrays, if what it says of the arrays is as it was written."""
        store = Store(str(self.path))
        store.require_arrays(store.about() or {"files": {}})
        return store

    def to_xarray(self) -> Dataset:
        """The rows as a dataset with dimension "sample"; of a store lazily, as Dask arrays where Dask is installed.

        >>> import recursa as rc
        >>> study = rc.study(rc.robots.planar(2), {"q": "uniform"}, "mass_matrix", samples=10)
        >>> study.run().to_xarray()["mass_matrix"].dims
        ('sample', 'mass_matrix_0', 'mass_matrix_1')
        """
        try:
            import xarray
        except ImportError:
            raise not_installed("xarray", "data", kind=StudyError) from None
        if self.path is not None:
            if self.path.suffix != ".zarr":
                raise StudyError(f"store '{self.path}' holds tables: to_pandas() reads them")
            from importlib.util import find_spec

            with self._sound_arrays().readable("the group of its arrays"):
                found: Dataset = xarray.open_zarr(
                    self.path, chunks={} if find_spec("dask") else None, consolidated=True
                )
                return self._labelled(found)
        data: dict[str, Any] = {}
        for name, array in (self._arrays or {}).items():
            data[name] = (("sample", *axes_of(self.study, name, array.shape[1:])), array)
        attributes = {"robot": self.study.robot.name, "compute": self.study.computation.name}
        return self._labelled(xarray.Dataset(data, attrs={**attributes, "digest": self.study.digest}))

    def _labelled(self, dataset: Dataset) -> Dataset:
        """With the names of joints, and the instants of rollouts in seconds."""
        dataset.attrs.pop("labels", None)
        names = {axis: one for axis, one in labels(self.study.robot).items() if axis in dataset.sizes}
        dataset = dataset.assign_coords(names)
        options = self.study.as_data()["options"]
        if "time" not in dataset.sizes or "step" not in options:
            return dataset
        every = options.get("save_every", 1)
        t = options["step"] * every * np.arange(1, dataset.sizes["time"] + 1)
        return dataset.assign_coords(time=("time", t, {"units": "s"}))

    def to_pandas(self) -> DataFrame:
        """A row per sample, a column per number, named ``q0[2]``; for results with few numbers a row.

        Rows that are not computed yet are nan (numbers that are whole: 0); tables have no such rows.
        """
        try:
            import pandas
        except ImportError:
            raise not_installed("pandas", "data", kind=StudyError) from None
        if self.path is not None and self.path.suffix == ".parquet":
            return self._tables(pandas)
        columns = table_columns({name: self[name] for name in self._full()})
        return pandas.DataFrame(columns, index=pandas.RangeIndex(self.study.total, name="sample"))

    def _tables(self, pandas: Any) -> DataFrame:
        """The finished blocks of a store of tables, each row under its number."""
        store = Store(str(self.path))
        block = (store.about() or {})["block"]
        store.require_data()
        tables = []
        for number in store.finished():
            with store.readable(store.table(number).name):
                table = pandas.read_parquet(store.table(number))
            table.index = pandas.RangeIndex(number * block, number * block + len(table), name="sample")
            tables.append(table)
        return pandas.concat(tables) if tables else pandas.DataFrame()

    def replay(self, row: int, **options: Any) -> Run:
        """One row of rollouts or simulations again, as a :class:`recursa.Run` that can be plotted and viewed.

        What drove it drives it again; functions and controllers are not kept in stores, and have to be given again
        (``torque=``). Further ``options`` are those of :meth:`Robot.simulate`.
        """
        asked, inputs = dict(self.study.options), self.study.inputs(row)
        robot = self.study.robot
        if "parameters" in inputs:
            robot = robot.with_parameters(inputs["parameters"])
        if self.study.computation.name not in ("rollout", "simulate"):
            raise StudyError(
                f"a row of {self.study.computation.name} is no motion; study.inputs({row}) has its numbers"
            )
        torque = asked.pop("torque", None)
        usual: dict[str, Any] = asked | {"progress": False}
        if self.study.computation.name == "rollout":
            usual = {"duration": asked["step"] * asked["steps"], "losses": asked.get("losses", True), "progress": False}
            if asked.get("integrator", "rk4") in SIMULATED:
                usual |= {"integrator": asked.get("integrator", "rk4"), "step": asked["step"]}
        if "torque" not in options:
            usual["torque"] = acting_on(self._known("torque", torque), inputs)
        usual = {name: self._known(name, value) for name, value in usual.items() if name not in options}
        return robot.simulate(inputs["q0"], inputs["v0"], **{**usual, **options})

    def _known(self, option: str, value: Any) -> Any:
        """An option of the study as a replay can use it."""
        each = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else [value]
        if any(isinstance(one, LostFunction) for one in each):
            raise StudyError(
                f"{option}= of this study is not kept in '{self.path}': give it again, replay(row, {option}=...)"
            )
        if option == "torque" and self.study.computation.free and callable(value):
            raise StudyError(
                "torques of this study are a function of blocks; say those of the row, replay(row, torque=...)"
            )
        if option == "torque" and np.ndim(value) > 1:
            raise StudyError("torques of this study change from step to step; give them, replay(row, torque=...)")
        return value

    def __str__(self) -> str:
        lines = [str(self.study)]
        if self.rows < self.study.total:
            lines.append(f"  not finished: {self.rows:,} rows are there, {100.0 * self.rows / self.study.total:.1f} %")
        if self.path is not None:
            lines.append(f"  in {self.path}")
        lines += [f"  {name}: {_short(array)}" for name, array in self.found.items() if array.size <= _PRINTED]
        return "\n".join(lines)

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"in '{self.path}'"
        return f"<results of study {self.study.digest[:8]}, {self.rows} rows, {where}: {', '.join(self.names)}>"


_PRINTED = 24
SIMULATED = ("rk4", "semi-implicit")  # integrators that rollouts and simulations share


def _short(array: Array) -> str:
    return np.array2string(np.asarray(array), precision=5, suppress_small=True, max_line_width=100).replace("\n", " ")
