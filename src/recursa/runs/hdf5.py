"""Runs exported as HDF5, for MATLAB, Julia and other programs: arrays with names and units, the robot, options, status.

::

    /                 attributes: recursa, status, message, conventions
    /t /q /v /a /tau /work /lost /energy      attributes: units, columns
    /memory           what a controller had learned at these times, if it learns
    /robot            attributes: name, gravity, floating; the dataset urdf where the robot can be written as one
    /options, /statistics                     attributes
    /events/name /t /q /v
    /base/q /v /a     how the base was moved, if it was
"""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from recursa.errors import RecursaError
from recursa.files import write_together
from recursa.formats.urdf_write import urdf_of
from recursa.model.columns import CONVENTIONS
from recursa.runs.npz_files import columns
from recursa.runs.plain_runs import DENSE, as_plain
from recursa.runs.run import Run


def export(run: Run, path: Path) -> None:
    """Write the file as a whole or not at all.

    It is made in memory: where a disk is full the HDF5 library would bring the process down.
    """
    try:
        import h5py  # slow to import
    except ImportError:
        raise RecursaError("to_hdf5 needs h5py, which is not installed: pip install 'recursa[hdf5]'") from None
    content, model, memory = as_plain(run), run.robot.model, BytesIO()
    text = h5py.string_dtype()
    with h5py.File(memory, "w") as file:
        for name, values in (content["arrays"] | {"energy": run.energy}).items():
            if not name.startswith(DENSE):
                file[name] = values
        for name, pairs in columns(model).items():
            file[name].attrs["columns"] = np.array([column for column, _ in pairs], dtype=text)
            file[name].attrs["units"] = np.array([unit for _, unit in pairs], dtype=text)
        file.attrs["conventions"] = CONVENTIONS
        file.attrs.update({name: content[name] for name in ("recursa", "status", "message")})
        options = {name: value for name, value in content["options"].items() if value is not None}
        file.require_group("options").attrs.update(options)
        file.create_group("statistics").attrs.update(content["statistics"])
        file["events/name"] = np.array(content["events"], dtype=text)
        robot = file.create_group("robot")
        robot.attrs.update({"name": model.name, "gravity": np.array(model.gravity), "floating": model.floating})
        _add_urdf(robot, run)
    write_together({path: memory.getvalue()})


def _add_urdf(group: Any, run: Run) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what URDF cannot say is in the run's own file
            group["urdf"] = urdf_of(run.robot.model)
    except RecursaError:
        return
