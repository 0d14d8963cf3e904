"""Motions as tables of pandas and datasets of xarray, with names and units; both are extras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.errors import not_installed
from recursa.model.columns import coordinate_names, freedom_names, named_columns
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset

    from recursa.robot import Robot

WORDS = {"q": "coordinates", "v": "speeds", "a": "accelerations", "tau": "torques of the drives"}


def to_pandas(robot: Robot, t: Array, vectors: Mapping[str, Array], scalars: Mapping[str, Array]) -> DataFrame:
    """A row per instant; columns by names as in CSV files (``elbow``, ``elbow:v``), their units in ``attrs``.

    Vectors are (..., n, size), n instants; batch axes are levels of the index in front of t.
    """
    try:
        import pandas
    except ImportError:
        raise not_installed("pandas", "data") from None
    columns: dict[str, Array] = {}
    units: dict[str, str] = {}
    for quantity, values in vectors.items():
        ending = "" if quantity == "q" else f":{quantity}"
        for k, (name, unit) in enumerate(named_columns(robot.model, quantity)):
            columns[name + ending], units[name + ending] = values[..., k].ravel(), unit
    for name, values in scalars.items():
        columns[name], units[name] = values, "J"
    rows = _rows(vectors)
    index = pandas.Index(np.array(t), name="t")
    if rows:
        index = pandas.MultiIndex.from_product([*map(range, rows.values()), index], names=[*rows, "t"])
    found = pandas.DataFrame(columns, index=index)
    found.attrs.update(robot=robot.name, units={"t": "s", **units})
    return found


def to_xarray(robot: Robot, t: Array, vectors: Mapping[str, Array], scalars: Mapping[str, Array]) -> Dataset:
    """q over (t, coordinate), others over (t, freedom), energies over t; units as attributes and coordinates.

    Batch axes of vectors are dimensions in front of t.
    """
    try:
        import xarray
    except ImportError:
        raise not_installed("xarray", "data") from None
    data: dict[str, Any] = {}
    for quantity, values in vectors.items():
        axis = "coordinate" if quantity == "q" else "freedom"
        data[quantity] = ((*_rows(vectors), "t", axis), np.array(values), {"long_name": WORDS[quantity]})
    for name, values in scalars.items():
        data[name] = (("t",), np.array(values), {"units": "J"})
    coordinates = {
        "t": ("t", np.array(t), {"units": "s"}),
        "coordinate": list(coordinate_names(robot.model)),
        "freedom": list(freedom_names(robot.model)),
        "q_unit": ("coordinate", _units(robot, "q")),
    }
    for quantity in vectors:
        if quantity != "q":
            coordinates[f"{quantity}_unit"] = ("freedom", _units(robot, quantity))
    return xarray.Dataset(data, coordinates, {"robot": robot.name})


def _rows(vectors: Mapping[str, Array]) -> dict[str, int]:
    """Batch axes by name, with their lengths."""
    shape = next(iter(vectors.values())).shape[:-2]
    names = ["row"] if len(shape) == 1 else [f"row{k + 1}" for k in range(len(shape))]
    return dict(zip(names, shape, strict=True))


def _units(robot: Robot, quantity: str) -> list[str]:
    return [unit for _, unit in named_columns(robot.model, quantity)]
