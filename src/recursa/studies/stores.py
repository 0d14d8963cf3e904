"""Where results of studies are kept: folders of Zarr arrays or Parquet tables, with a record for every finished block.

A block's data are written first, its record last and as a whole: what has a record is there. Records carry checksums of
the data, so that what a loss of power tore is found and computed again. One process at a time holds a store.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recursa.errors import RecursaError, StudyError, unknown_name
from recursa.files import locked, remove_leftovers_of, write_together
from recursa.studies.reductions import Part
from recursa.version import __version__

Array = NDArray[Any]
Compression = Literal["zstd", "shuffle"]
COMPRESSIONS: tuple[str, ...] = get_args(Compression)
SUFFIXES = (".zarr", ".parquet")
_OURS = ".recursa"
_ABOUT = "study.json"
_NO_FILE = "none"  # of a chunk that is all fill value, which Zarr does not write
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Column:
    """An array of the results: of a row its shape, its type, what its axes are called."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Store:
    """A folder of results; small enough to be sent to whoever writes into it."""

    path: str
    compress: Compression | None = None
    keep_bits: int | None = None

    @staticmethod
    def at(path: str | os.PathLike[str], compress: Any, keep_bits: Any) -> Store:
        """Checked, and what it needs is installed."""
        place = Path(path)
        if place.suffix not in SUFFIXES:
            raise StudyError(f"cannot tell what '{path}' is to be: let it end in {' or '.join(SUFFIXES)}")
        if place.exists() and not place.is_dir():
            raise StudyError(f"store '{path}' is a file, and results are kept in a folder")
        if compress is not None and compress not in COMPRESSIONS:
            raise unknown_name("compression", compress, COMPRESSIONS)
        if keep_bits is not None and (isinstance(keep_bits, bool) or keep_bits not in range(1, 53)):
            raise StudyError(f"keep_bits must be a whole number from 1 to 52, not {keep_bits!r}")
        _needed("zarr" if place.suffix == ".zarr" else "pyarrow")
        return Store(str(place.absolute()), compress, keep_bits)

    @property
    def folder(self) -> Path:
        """Where it is."""
        return Path(self.path)

    @property
    def tables(self) -> bool:
        """Whether it holds Parquet tables."""
        return self.folder.suffix == ".parquet"

    @property
    def _records(self) -> Path:
        return self.folder / _OURS / "blocks"

    # ---- what it is about --------------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any] | None:
        """What was written of the study when the store was made; None where there is none."""
        try:
            text = (self.folder / _OURS / _ABOUT).read_text("utf-8")
            found = json.loads(text)
            version = found["format"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StudyError(f"store '{self.path}' is damaged: {_OURS}/{_ABOUT} cannot be read ({error})") from None
        if version != FORMAT_VERSION:
            raise StudyError(
                f"store '{self.path}' has format {version}, and this version of Recursa knows {FORMAT_VERSION}"
            )
        return dict(found)

    def make(self, about: Mapping[str, Any], columns: tuple[Column, ...], total: int, block: int) -> None:
        """The folder with empty arrays; a folder with other things in it is refused."""
        if self.folder.is_dir() and any(name.name != _OURS for name in self.folder.iterdir()):
            raise StudyError(
                f"store '{self.path}' is there already and holds no study; take another name, or remove it"
            )
        try:
            self._records.mkdir(parents=True, exist_ok=True)
            if not self.tables:
                self._make_arrays(about, columns, total, block)
        except OSError as error:
            raise StudyError(f"cannot make '{self.path}': {error.strerror or error}") from None
        written = {"compress": self.compress, "keep_bits": self.keep_bits}
        text = json.dumps(
            {"format": FORMAT_VERSION, "recursa": __version__, "block": block, "written": written, **about}, indent=1
        )
        write_together({self.folder / _OURS / _ABOUT: text})

    def _make_arrays(self, about: Mapping[str, Any], columns: tuple[Column, ...], total: int, block: int) -> None:
        import zarr

        group = zarr.open_group(
            self.path, mode="a", attributes={"recursa": __version__, "labels": about["labels"], **about["attributes"]}
        )
        for one in columns:
            group.create_array(
                one.name,
                shape=(total, *one.shape),
                chunks=(block, *(max(1, n) for n in one.shape)),
                dtype=one.dtype,
                dimension_names=("sample", *one.axes),
                compressors=self._compressors(),
                fill_value=math.nan if np.dtype(one.dtype).kind == "f" else 0,  # of rows that are not there yet
                overwrite=True,
            )
        with warnings.catch_warnings():  # about the folder with our records, which is no array
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(self.path)

    def _compressors(self) -> Any:
        from zarr.codecs import BloscCodec, ZstdCodec

        if self.compress is None:
            return None
        return (
            ZstdCodec(level=3) if self.compress == "zstd" else BloscCodec(cname="zstd", clevel=3, shuffle="bitshuffle")
        )

    # ---- blocks ------------------------------------------------------------------------------------------------------

    def write(self, number: int, first: int, arrays: Mapping[str, Array], parts: Mapping[str, Part]) -> None:
        """The data of a block, then its record."""
        rounded = {name: self._rounded(array) for name, array in arrays.items()}
        try:
            digests = self._write_table(number, rounded) if self.tables else self._write_chunks(number, first, rounded)
        except OSError as error:
            raise StudyError(
                f"cannot write block {number} to '{self.path}': {error.strerror or error}. "
                "What was finished before is whole; run the study again to go on"
            ) from None
        flat = {f"{way}/{name}": array for way, part in parts.items() for name, array in part.items()}
        content = io.BytesIO()
        np.savez(content, **flat, digests=np.array(json.dumps(digests)))  # type: ignore[arg-type]
        try:
            write_together({self._record(number): content.getvalue()}, tidy=False)
        except RecursaError as error:
            raise StudyError(f"{error}. What was finished before is whole; run the study again to go on") from None

    def _rounded(self, array: Array) -> Array:
        """Numbers with fewer bits, the nearest such ones."""
        if self.keep_bits is None or array.dtype != np.float64:
            return array
        dropped = np.uint64(52 - self.keep_bits)
        if not dropped:
            return array
        bits = np.ascontiguousarray(array).view(np.uint64)
        half = (np.uint64(1) << (dropped - np.uint64(1))) - np.uint64(1) + ((bits >> dropped) & np.uint64(1))
        with np.errstate(over="ignore"):
            short = ((bits + half) >> dropped << dropped).view(np.float64)
        return np.where(np.isfinite(array), short, array)

    def _write_chunks(self, number: int, first: int, arrays: Mapping[str, Array]) -> dict[str, str]:
        import zarr

        digests = {}
        for name, array in arrays.items():
            place = zarr.open_array(f"{self.path}/{name}", mode="r+", zarr_format=3)
            place[first : first + len(array)] = array
            key = place.metadata.encode_chunk_key((number, *(0,) * (array.ndim - 1)))
            digests[f"{name}/{key}"] = _digest_of(self.folder / name / key)
        return digests

    def _write_table(self, number: int, arrays: Mapping[str, Array]) -> dict[str, str]:
        import pyarrow
        import pyarrow.parquet

        columns: dict[str, Array] = {}
        for name, array in arrays.items():
            flat = array.reshape(len(array), -1)
            names = [name] if array.ndim == 1 else [f"{name}[{k}]" for k in range(flat.shape[1])]
            columns |= {title: flat[:, k] for k, title in enumerate(names)}
        content = io.BytesIO()
        compression = "zstd" if self.compress else "none"
        pyarrow.parquet.write_table(pyarrow.table(columns), content, compression=compression)
        place = self.table(number)
        write_together({place: content.getvalue()}, tidy=False)
        return {place.name: _digest(content.getvalue())}

    def table(self, number: int) -> Path:
        """The table of a block."""
        return self.folder / f"part-{number:08d}.parquet"

    def _record(self, number: int) -> Path:
        return self._records / f"{number:08d}.npz"

    def finished(self) -> Iterator[int]:
        """Numbers of blocks that have a record."""
        for path in sorted(self._records.glob("*.npz")):
            if path.stem.isdigit():
                yield int(path.stem)

    def parts(self, number: int, *, look: bool = True) -> dict[str, Part] | None:
        """What was kept of a finished block's reductions, if its data are whole; None where it must be done again.

        ``look``: whether the data are read to be sure of that; else only the lengths of files are compared.
        """
        try:
            with np.load(self._record(number), allow_pickle=False) as file:
                digests = json.loads(str(file["digests"]))
                flat = {name: file[name] for name in file.files if name != "digests"}
            as_told = _as_told if look else _as_long
            whole = all(as_told(self.folder / name, digest) for name, digest in digests.items())
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        if not whole:
            return None
        found: dict[str, Part] = {}
        for name, array in flat.items():
            way, _, own = name.rpartition("/")
            found.setdefault(way, {})[own] = array
        return found

    @contextmanager
    def held(self) -> Iterator[None]:
        """Ours alone; whoever else wants to write into it is refused. A process that dies lets go."""
        place = self.folder / _OURS
        try:
            place.mkdir(parents=True, exist_ok=True)
            file = os.open(place / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as error:
            raise StudyError(f"cannot write to '{self.path}': {error.strerror or error}") from None
        try:
            if not locked(file):
                raise StudyError(f"another process is writing to '{self.path}'; wait for it, or take another name")
            remove_leftovers_of(self._records, r"\d+\.npz")
            remove_leftovers_of(self.folder, r"part-\d+\.parquet")
            yield
        finally:
            os.close(file)


def _digest(content: bytes) -> str:
    """Length and checksum."""
    return f"{len(content)} {hashlib.blake2b(content, digest_size=16).hexdigest()}"


def _digest_of(path: Path) -> str:
    return _digest(path.read_bytes()) if path.exists() else _NO_FILE


def _as_told(path: Path, digest: str) -> bool:
    return _digest_of(path) == digest


def _as_long(path: Path, digest: str) -> bool:
    return digest == _NO_FILE or path.stat().st_size == int(digest.split()[0])


def _needed(package: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise StudyError(f"this needs the package '{package}': pip install 'recursa[studies]'")
