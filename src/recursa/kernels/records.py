"""Kernels that an earlier process made, found again by what was asked: nothing is traced then.

Tracing a plan takes longer than loading its machine code. So whatever a kernel needs in order to run (its form, the
name of its object code, the tables of its loops) is kept beside the object code. A record is named by a hash of all
that decides a kernel: every source of this package, the versions of Python, NumPy and LLVM, the processor, the model to
the bit, what is asked of it, sizes, number type and form. Questions of a user's own are decided by code that is not
looked at here; these are traced in every process.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recursa.errors import UntraceableError
from recursa.kernels.emit import Function
from recursa.kernels.native import CODE, RECORD, code_key, entry_key, fetch, keep, machine_code, setting_text
from recursa.kernels.programs import Array, Program, Tables
from recursa.kernels.writer import Shape
from recursa.spatial.counter import Counts
from recursa.version import __version__

_PACKAGE = Path(__file__).parents[1]
_LOADED = time.time()
_LOADING = 2.0  # seconds: a source that was changed so shortly before may have been read before, too


class Recorded(Program):
    """A program that has a name on disk: traced where no earlier process has, and where its text is asked for."""

    def __init__(self, name: str, trace: Callable[[], Program]) -> None:
        self._name, self._trace = name, trace
        self._traced: Program | None = None
        self._codes: dict[Shape, _Code | None] = {}
        found = _read(name) or self._first()
        if "refused" in found:
            raise UntraceableError(found["refused"])
        self.form = found["form"]
        self._operations = Counts(**found["operations"])

    def _first(self) -> Mapping[str, Any]:
        """What there is to say of a program that is new."""
        try:
            found = {"form": self.traced.form, "operations": asdict(self.traced.operations)}
        except UntraceableError as error:
            found = {"refused": str(error)}
        _write(found, self._name)
        return found

    @property
    def operations(self) -> Counts:
        """Operations of one evaluation."""
        return self._operations

    @property
    def traced(self) -> Program:
        """The program itself."""
        if self._traced is None:  # two threads may both trace it; one is kept
            self._traced = self._trace()
        return self._traced

    def ir(self, shape: Shape) -> str:
        """LLVM IR of a function ``kernel`` for so many lanes."""
        return self.traced.ir(shape)

    def function(self, shape: Shape, name: str) -> Function:
        """The code for so many lanes."""
        return self.traced.function(shape, name)

    def tables(self, shape: Shape) -> Tables | None:
        """What the code reads beside its inputs, if anything."""
        known = self._code(shape)
        return self.traced.tables(shape) if known is None else known.tables

    def code(self, shape: Shape) -> bytes:
        """The object code of ``ir(shape)``."""
        known = self._code(shape)
        found = None if known is None else fetch(known.key, CODE)
        return self._compiled(shape) if found is None else found

    def _code(self, shape: Shape) -> _Code | None:
        """What was recorded of the code for a shape."""
        if shape not in self._codes:
            self._codes[shape] = _Code.read(_read(self._name, str(shape), setting_text()), shape)
        return self._codes[shape]

    def _compiled(self, shape: Shape) -> bytes:
        ir = self.ir(shape)
        made = machine_code(ir)
        _write(_Code(code_key(ir), self.traced.tables(shape)).written(), self._name, str(shape), setting_text())
        return made


class _Code(NamedTuple):
    """The name of object code, and the tables that it reads."""

    key: bytes
    tables: Tables | None

    def written(self) -> dict[str, Any]:
        own = self.tables
        arrays = {} if own is None else {name: getattr(own, name).tobytes().hex() for name in _ARRAYS}
        places = {} if own is None else {"first": own.first, "size": own.size}
        return {"key": self.key.hex(), **arrays, **places}

    @staticmethod
    def read(found: Mapping[str, Any] | None, shape: Shape) -> _Code | None:
        if found is None:
            return None
        if "size" not in found:
            return _Code(bytes.fromhex(found["key"]), None)
        number = np.dtype(np.float32 if shape.single else np.float64)
        kinds = {"integers": np.dtype(np.int32), "numbers": number, "constants": number}
        arrays: dict[str, Array] = {name: np.frombuffer(bytes.fromhex(found[name]), kinds[name]) for name in _ARRAYS}
        return _Code(bytes.fromhex(found["key"]), Tables(**arrays, first=found["first"], size=found["size"]))


_ARRAYS = "integers", "numbers", "constants"


# ---- names -----------------------------------------------------------------------------------------------------------


def name_of(parts: Iterable[str]) -> str | None:
    """The name of a kernel that these parts decide, together with this package; None where no name would last."""
    sources = _sources()
    if sources is None:
        return None
    versions = __version__, sys.version, np.__version__
    return entry_key("kernel", sources, *versions, *parts).hex()


@cache
def _sources() -> str | None:
    """A digest of the package; None where its sources are not there or may be others than those that are running."""
    digest = hashlib.sha256()
    try:
        files = sorted(_PACKAGE.rglob("*.py"))
        if not files or max(file.stat().st_mtime for file in files) > _LOADED - _LOADING:
            return None
        for file in files:
            content = file.read_bytes()
            digest.update(f"{file.relative_to(_PACKAGE)} {len(content)} ".encode())
            digest.update(content)
    except OSError:
        return None
    return digest.hexdigest()


def package_mark() -> tuple[str, str, str]:
    """What decides results beside the question: versions of this package and of NumPy, and a digest of its sources.

    The digest is empty where the sources cannot be told.
    """
    return __version__, _sources() or "", np.__version__


def _read(*name: str) -> dict[str, Any] | None:
    found = fetch(entry_key("record", *name), RECORD)
    return None if found is None else json.loads(found)


def _write(content: Mapping[str, Any], *name: str) -> None:
    keep(entry_key("record", *name), RECORD, json.dumps(content).encode())
