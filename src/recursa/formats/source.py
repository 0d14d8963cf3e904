"""What a reader is given: the text, the file it came from, and the folders that it may open files in."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from recursa.bundled import BUNDLED, FILES
from recursa.errors import ModelError, shortened

MAX_SIZE = 32 * 1024 * 1024
SUFFIXES = (".urdf", ".xml", ".mjcf", ".sdf", ".world", ".xacro", ".json", ".yaml", ".yml", ".csv")
"""Endings of robot files, for proposals where a file is missing; formats are told by content."""

_TEXT_BEGINS = ("<", "{", "[")
_SCHEME = re.compile(r"(package|model|file)://")


class Assets:
    """The folders a user named: files that a robot file refers to are looked for there, and nowhere else.

    ``package://NAME/REST`` and ``model://NAME/REST`` are ``NAME/REST`` below one of the folders, or ``REST`` below a
    folder called NAME. Other references are relative to the file that has them, or else to a folder. What lies outside
    all folders is not opened, however it is spelled: by ``..``, as an absolute path or through a symbolic link.

    >>> Assets().find("package://arm/hand.stl") is None
    True
    """

    def __init__(self, folders: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = ()) -> None:
        given = [folders] if isinstance(folders, str | os.PathLike) else list(folders)
        self.folders = tuple(_folder(folder) for folder in given)

    def find(self, reference: str, beside: str | os.PathLike[str] | None = None) -> Path | None:
        """The file that a reference means, if it lies in a folder; ``beside`` is the file that has the reference."""
        scheme = _SCHEME.match(reference)
        rest = reference[scheme.end() :] if scheme else reference
        if not rest or "\0" in rest:
            return None
        named = scheme is not None and scheme[1] != "file"
        return next((path for path in self._candidates(rest, named, beside) if self._open_to(path)), None)

    def _candidates(self, rest: str, named: bool, beside: str | os.PathLike[str] | None) -> Iterable[Path]:
        if not named and beside is not None:
            yield Path(beside).resolve().parent / rest
        package, *inside = PurePosixPath(rest).parts
        for folder in self.folders:
            yield folder / rest
            if named and folder.name == package:
                yield folder.joinpath(*inside)

    def _open_to(self, path: Path) -> bool:
        try:
            real = path.resolve()
            return any(real.is_relative_to(folder) for folder in self.folders) and real.is_file()
        except (OSError, ValueError, RuntimeError):  # names too long, loops of links
            return False

    def read(self, reference: str, beside: str | os.PathLike[str] | None, what: str) -> tuple[bytes, Path]:
        """The content of the file that a reference means; one that is not there or not allowed is a ModelError."""
        path = self.find(reference, beside)
        if path is None:
            raise ModelError(f"{what} refers to '{_short(reference)}', {self._why_not(beside)}")
        return read_bytes(path), path

    def _why_not(self, beside: str | os.PathLike[str] | None) -> str:
        if self.folders:
            return f"which is in none of the folders {shortened([f'{str(folder)!r}' for folder in self.folders])}"
        folder = str(Path(beside).resolve().parent) if beside is not None else "FOLDER"
        return f"and other files are opened only in folders that you name: assets=[{folder!r}], or --assets {folder}"


class Source(NamedTuple):
    """A robot file, read whole. ``path`` is None for text that was handed over as such."""

    content: str | bytes
    path: str | None
    assets: Assets

    @property
    def text(self) -> str:
        """The content as text, for formats that are not XML: UTF-8, with or without a byte order mark."""
        if isinstance(self.content, str):
            return self.content.removeprefix("\ufeff")
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = 1 + self.content.count(b"\n", 0, error.start)
            raise ModelError("the bytes are not UTF-8; save the file as UTF-8", line=line, source=self.path) from None


def source_of(given: str | bytes | os.PathLike[str], assets: Assets) -> Source:
    """The text that was given, or the content of the file that was named."""
    if isinstance(given, bytes | bytearray):
        return Source(bytes(given), None, assets)
    if isinstance(given, str) and (given.lstrip("\ufeff \t\r\n").startswith(_TEXT_BEGINS) or "\n" in given):
        return Source(given, None, assets)
    if not isinstance(given, str | os.PathLike):
        raise ModelError(f"expected a path or the text of a robot file, not {type(given).__name__}")
    if isinstance(given, str) and not given.strip():
        raise ModelError("the path is empty; give the path of a robot file, or its text")
    path = Path(given)
    try:
        path = path.expanduser()
        return Source(read_bytes(path), str(path), assets)
    except FileNotFoundError:
        raise ModelError(f"there is no file '{path}'. {_near(path)}") from None
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: ~ of a user who has no home
        raise ModelError(f"cannot read '{path}': {error}") from None


def read_bytes(path: Path) -> bytes:
    """A file's content; bounded, whatever the file system says of its size."""
    with path.open("rb") as file:
        content = file.read(MAX_SIZE + 1)
    if len(content) > MAX_SIZE:
        raise ModelError(f"it has more than the {MAX_SIZE} bytes that are read", source=str(path))
    return content


def _folder(folder: str | os.PathLike[str]) -> Path:
    try:
        path = Path(folder).expanduser().resolve()
        exists = path.is_dir()
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        raise ModelError(f"assets: {folder!r} is no folder: {error}") from None
    if not exists:
        raise ModelError(f"assets: there is no folder '{path}'")
    return path


def _short(reference: str) -> str:
    return reference if len(reference) <= 80 else reference[:80] + "..."


def _near(path: Path) -> str:
    """What the user may have meant: a neighbouring file, or a bundled robot."""
    if str(path) in BUNDLED:
        return f"The bundled robot of that name is rc.robots.{path}()."
    if path.stem in FILES:
        return f"The bundled file of that name is rc.robots.urdf({path.stem!r})."
    try:
        files = sorted(item.name for item in path.parent.iterdir() if item.suffix in SUFFIXES)
    except OSError:
        return f"Nor is there a folder '{path.parent}'."
    near = difflib.get_close_matches(path.name, files)
    bundled = [f"rc.robots.{name}()" for name in difflib.get_close_matches(path.stem, BUNDLED, n=1)]
    if near or bundled:
        proposals = [f"'{name}'" for name in near] + [f"the bundled robot {call}" for call in bundled]
        return f"Did you mean {' or '.join(proposals)}?"
    beside = f"Robot files in that folder: {shortened(files)}." if files else "That folder holds no robot files."
    return f"{beside} Bundled robots: {shortened([f'rc.robots.{name}()' for name in BUNDLED])}."
