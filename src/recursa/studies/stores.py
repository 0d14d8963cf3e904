"""Where results of studies are kept: folders of Zarr arrays or Parquet tables, with a record for every finished block.

A block's data are written first, its record last and as a whole: what has a record is there. Records carry checksums of
the data and of themselves, so that what a loss of power tore is found and computed again. One process at a time holds a
store.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recursa.errors import RecursaError, StudyError, not_installed, unknown_name
from recursa.files import locked, remove_leftovers_of, write_together
from recursa.studies.reductions import Part
from recursa.version import __version__

Array = NDArray[Any]
Compression = Literal["zstd", "shuffle"]
COMPRESSIONS: tuple[str, ...] = get_args(Compression)
SUFFIXES = (".zarr", ".parquet")
_OURS = ".recursa"
_ABOUT = "study.json"
_BEGUN = "begun.json"  # names of what is being made in a new store; a store that is made has none
_PARTIAL = re.compile(r"zarr\.[0-9a-f]{32}\.partial").fullmatch  # what Zarr writes before it takes its name, zarr.json
_NO_FILE = "none"  # of a chunk that is all fill value, which Zarr does not write
_CHECKSUM = 16  # bytes
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
        package = "zarr" if place.suffix == ".zarr" else "pyarrow"
        if find_spec(package) is None:
            raise not_installed(package, "studies", kind=StudyError)
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
            content = (self.folder / _OURS / _ABOUT).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StudyError(f"cannot read '{self.path}': {error.strerror or error}") from None
        with self.readable(f"{_OURS}/{_ABOUT}"):
            about = dict(json.loads(content))
            checksum = about.pop("checksum", None)
            version = about["format"]
            if version == FORMAT_VERSION and checksum != _digest(_text(about)):
                raise ValueError("its checksum does not match its content")
        if version != FORMAT_VERSION:
            raise StudyError(
                f"store '{self.path}' has format {version!r:.20}, and this version of Recursa knows {FORMAT_VERSION}"
            )
        return about

    def make(self, about: Mapping[str, Any], columns: tuple[Column, ...], total: int, block: int) -> None:
        """Make the folder with empty arrays; a folder with other things in it is refused.

        What is about to be made is noted first: a store whose creation was killed, or found no space, is made again.
        """
        begun = self.folder / _OURS / _BEGUN
        names = [] if self.tables else ["zarr.json", *(one.name for one in columns)]
        try:
            self._remove_begun(begun)
            self._records.mkdir(parents=True, exist_ok=True)
            write_together({begun: json.dumps(names)})
            if not self.tables:
                self._make_arrays(about, columns, total, block)
            files = [name if name.endswith(".json") else f"{name}/zarr.json" for name in names]
            head: dict[str, Any] = {"format": FORMAT_VERSION, "recursa": __version__, "block": block}
            head["written"] = {"compress": self.compress, "keep_bits": self.keep_bits}
            head["files"] = {name: _digest_of(self.folder / name) for name in files}
            whole = json.loads(json.dumps({**head, **about}))
            write_together({self.folder / _OURS / _ABOUT: _text({**whole, "checksum": _digest(_text(whole))})})
            begun.unlink()
        except OSError as error:
            raise StudyError(f"cannot make '{self.path}': {error.strerror or error}") from None

    def _remove_begun(self, begun: Path) -> None:
        """Remove what an earlier attempt to make this store left; anything else in the folder is an error."""
        present = {item.name for item in self.folder.iterdir()} if self.folder.is_dir() else set()
        if begun.exists():
            with self.readable(f"{_OURS}/{_BEGUN}"):
                ours = {str(name) for name in json.loads(begun.read_bytes())}
            ours |= {name for name in present if _PARTIAL(name)}
            for name in present & ours:
                path = self.folder / name
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            present -= ours
        if present - {_OURS}:
            raise StudyError(
                f"store '{self.path}' is there already and holds no study; take another name, or remove it"
            )

    @contextmanager
    def readable(self, what: str) -> Iterator[None]:
        """Turn whatever a library raises about a part of the store that is damaged into a StudyError that names it."""
        try:
            yield
        except RecursaError:
            raise
        except Exception as error:  # readers of JSON, Zarr and Parquet have many ways to say that they cannot read
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise StudyError(
                f"store '{self.path}' is damaged: {what} cannot be read ({reason}). Take the store from where it was "
                "written, or remove it and run the study again"
            ) from None

    def require_arrays(self, about: Mapping[str, Any]) -> None:
        """Raise a StudyError unless what Zarr says of the arrays (shapes, types, chunks) is as it was written."""
        for name, digest in about["files"].items():
            with self.readable(name):
                if not _as_told(self.folder / name, digest):
                    raise ValueError("its checksum does not match its content")

    def require_data(self, prefix: str = "") -> None:
        """Raise a StudyError unless the data of finished blocks in files of such names are as they were written."""
        for number in self.finished():
            for name, digest in (self._recorded(number) or ({}, {}))[0].items():
                if name.startswith(prefix) and not _as_told(self.folder / name, digest):
                    raise StudyError(
                        f"store '{self.path}' is damaged: block {number} in '{name}' is not as it was written. Run the "
                        "study again with this store, and it is computed anew"
                    )

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
        buffer = io.BytesIO()
        np.savez(buffer, **flat, digests=np.array(json.dumps(digests)))  # type: ignore[arg-type]
        content = buffer.getvalue()
        try:
            write_together({self._record(number): content + _checksum(content)}, tidy=False)
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

        content = io.BytesIO()
        compression = "zstd" if self.compress else "none"
        pyarrow.parquet.write_table(pyarrow.table(table_columns(arrays)), content, compression=compression)
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
        recorded = self._recorded(number)
        if recorded is None:
            return None
        digests, flat = recorded
        as_told = _as_told if look else _as_long
        try:
            if not all(as_told(self.folder / name, digest) for name, digest in digests.items()):
                return None
        except (OSError, ValueError):
            return None
        found: dict[str, Part] = {}
        for name, array in flat.items():
            way, _, own = name.rpartition("/")
            found.setdefault(way, {})[own] = array
        return found

    def _recorded(self, number: int) -> tuple[dict[str, str], dict[str, Array]] | None:
        """Return checksums by file, and parts of reductions, from the record of a block; None where it is damaged."""
        try:
            content = self._record(number).read_bytes()
        except OSError:
            return None
        content, checksum = content[:-_CHECKSUM], content[-_CHECKSUM:]
        if _checksum(content) != checksum:
            return None
        with self.readable(f"the record of block {number}"), np.load(io.BytesIO(content), allow_pickle=False) as file:
            digests = dict(json.loads(str(file["digests"])))
            return digests, {name: file[name] for name in file.files if name != "digests"}

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


def table_columns(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """A column for every number of a row, named ``q0[2]``."""
    columns: dict[str, Array] = {}
    for name, array in arrays.items():
        flat = array.reshape(len(array), -1)
        titles = [name] if array.ndim == 1 else [f"{name}[{k}]" for k in range(flat.shape[1])]
        columns |= dict(zip(titles, flat.T, strict=True))
    return columns


def _text(about: Mapping[str, Any]) -> bytes:
    return json.dumps(about, indent=1).encode()


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECKSUM).digest()


def _digest(content: bytes) -> str:
    """Length and checksum."""
    return f"{len(content)} {_checksum(content).hex()}"


def _digest_of(path: Path) -> str:
    return _digest(path.read_bytes()) if path.exists() else _NO_FILE


def _as_told(path: Path, digest: str) -> bool:
    return _digest_of(path) == digest


def _as_long(path: Path, digest: str) -> bool:
    return digest == _NO_FILE or path.stat().st_size == int(digest.split()[0])
