"""What a reader gets: the text, the file that it came from, and the folders in which it may open other files."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from recursa.bundled import BUNDLED, FILES
from recursa.errors import ModelError, shortened
from recursa.formats.file_bytes import read_bytes
from recursa.formats.urdf import package_name
from recursa.formats.xml import clipped

SUFFIXES = (".urdf", ".xml", ".mjcf", ".sdf", ".world", ".xacro", ".json", ".yaml", ".yml", ".csv")
"""Endings of robot files, for proposals where a file is missing; formats are told by content."""

_TEXT_BEGINS = ("<", "{", "[")
_SCHEME = re.compile(r"(package|model|file)://")


class Assets:
    """The folders in which files that a robot file refers to are looked for, and nowhere else.

    These are the folders that the user named, and for a robot file that was loaded by its path the folder that it lies
    in and the ROS package around that. ``package://NAME/REST`` and ``model://NAME/REST`` are ``NAME/REST`` below a
    folder that the user named, ``REST`` below one called NAME; ``package://NAME/REST`` is also ``REST`` in the nearest
    folder above the robot file that has a ``package.xml`` and is called NAME there or itself. Other references are
    relative to the file that has them, or else to a folder that the user named. What lies outside all folders is not
    opened, however it is spelled: by ``..``, as an absolute path or through a symbolic link. No folder is searched.

    >>> Assets().find("package://arm/hand.stl") is None
    True
    """

    def __init__(
        self,
        folders: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
        robot_file: str | os.PathLike[str] | None = None,
    ) -> None:
        named = [folders] if isinstance(folders, str | os.PathLike) else list(folders)
        self.folders = tuple(_folder(folder) for folder in named)
        self.home = None if robot_file is None else Path(robot_file).resolve().parent

    def beside(self, robot_file: str | os.PathLike[str]) -> Assets:
        """Those folders together with that of a robot file and its ROS package."""
        return Assets(self.folders, robot_file)

    @cached_property
    def packages(self) -> tuple[tuple[Path, str], ...]:
        """The folders above the robot file that have a ``package.xml``, the nearest first, and the names in these."""
        if self.home is None:
            return ()
        return tuple(
            (folder, name) for folder in (self.home, *self.home.parents) if (name := package_name(folder)) is not None
        )

    def find(self, reference: str, beside: str | os.PathLike[str] | None = None) -> Path | None:
        """The file that a reference means, if it lies in a folder; ``beside`` is the file that has the reference."""
        scheme = _SCHEME.match(reference)
        rest = reference[scheme.end() :] if scheme else reference
        named = scheme is not None and scheme[1] != "file"
        if named:
            rest = rest.lstrip("/")  # package:///NAME, as some files have it
        if not rest or "\0" in rest:
            return None
        for path, roots in self._candidates(rest, scheme[1] if scheme and named else "", beside):
            if _inside(path, roots):
                return path
        return None

    def _candidates(
        self, rest: str, scheme: str, beside: str | os.PathLike[str] | None
    ) -> Iterable[tuple[Path, Sequence[Path]]]:
        """The places to look at, and the folders that each must not leave."""
        if not scheme and beside is not None:
            base = Path(beside).resolve().parent
            yield base / rest, (*self.folders, *([] if self.home is None else [self.home]))
            if self.packages:
                yield base / rest, [self.packages[0][0]]
        package, *inside = PurePosixPath(rest).parts
        if scheme == "package":
            own = next((folder for folder, name in self.packages if package in (name, folder.name)), None)
            if own is not None:
                yield own.joinpath(*inside), [own]
        for folder in self.folders:
            yield folder / rest, self.folders
            if scheme and folder.name == package:
                yield folder.joinpath(*inside), self.folders

    def read(self, reference: str, beside: str | os.PathLike[str] | None, what: str) -> tuple[bytes, Path]:
        """The content of the file that a reference means; one that is not there or not allowed is a ModelError."""
        path = self.find(reference, beside)
        if path is None:
            raise ModelError(f"{what} refers to '{clipped(reference, 80)}', {self._why_not()}")
        return read_bytes(path), path

    def _why_not(self) -> str:
        add = "assets=['FOLDER'], or --assets FOLDER"
        if self.home is None and not self.folders:
            return f"and other files are opened only in folders that you name: {add}; or load a file by its path"
        return f"which is in none of the folders {self.places}; name the one that it is in: {add}"

    @property
    def places(self) -> str:
        """The folders in which files are looked for, in words."""
        own = [] if self.home is None else [f"'{self.home}'"]
        own += [f"'{folder}' (the ROS package '{name}')" for folder, name in self.packages[:1]]
        return ", ".join([*own, *(f"'{folder}'" for folder in self.folders)])


def _inside(path: Path, roots: Sequence[Path]) -> bool:
    """Whether a path is that of a file in one of the folders.

    What its spelling leads out of them is not even looked at, since a look at a path such as ``//host/share`` opens
    connections on some systems; what symbolic links lead out of them is not opened.
    """
    try:
        spelled = Path(os.path.normpath(path))
        if not any(spelled.is_relative_to(root) for root in roots):
            return False
        real = path.resolve()
        return any(real.is_relative_to(root) for root in roots) and real.is_file()
    except (OSError, ValueError, RuntimeError):  # names too long, loops of links
        return False


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
        return Source(read_bytes(path), str(path), assets.beside(path))
    except FileNotFoundError:
        raise ModelError(f"there is no file '{path}'. {_near(path)}") from None
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: ~ of a user who has no home
        raise ModelError(f"cannot read '{path}': {error}") from None


def _folder(folder: str | os.PathLike[str]) -> Path:
    try:
        path = Path(folder).expanduser().resolve()
        exists = path.is_dir()
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        raise ModelError(f"assets: {folder!r} is no folder: {error}") from None
    if not exists:
        raise ModelError(f"assets: there is no folder '{path}'")
    return path


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
