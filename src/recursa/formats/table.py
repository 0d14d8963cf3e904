"""The formats of robot files as one table, and which of them a text is in.

A format is told by what the text says, never by the file's ending: half the robots of this world are in files called
``.xml``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

from recursa.errors import ModelError, unknown_name
from recursa.formats import dh_files, recursa_json, xacro
from recursa.formats.mjcf import read_mjcf
from recursa.formats.sdf import read_sdf
from recursa.formats.source import Source
from recursa.formats.urdf import describe_urdf, read_urdf
from recursa.formats.xml import beginning
from recursa.model.description import Description

FormatName = Literal["urdf", "xacro", "sdf", "mjcf", "recursa", "dh"]
FORMAT_NAMES: tuple[str, ...] = get_args(FormatName)


class Options(NamedTuple):
    """What a user can say about reading: refuse what means nothing; values for the arguments of a file."""

    strict: bool = True
    arguments: Mapping[str, str] = {}


class Format(NamedTuple):
    """A format: its full name, whether a text begins like one, and the reader.

    ``begins`` is given the name of the root element, or "" for what is not XML, and the text.
    """

    words: str
    begins: Callable[[str, str], bool]
    read: Callable[[Source, Options], Description]


def _xacro(source: Source, options: Options) -> Description:
    root = xacro.expand(source, options.arguments)
    return describe_urdf(root, source.path, strict=options.strict)


FORMATS: dict[str, Format] = {
    "xacro": Format(
        "xacro",
        xacro.begins,
        _xacro,
    ),
    "sdf": Format("SDF", lambda root, text: root == "sdf", lambda source, options: read_sdf(source, options.arguments)),
    "urdf": Format(
        "URDF",
        lambda root, text: root == "robot",
        lambda source, options: read_urdf(source.content, source.path, strict=options.strict),
    ),
    "mjcf": Format(
        "MJCF (MuJoCo's XML)",
        lambda root, text: root in ("mujoco", "mujocoinclude"),
        lambda source, options: read_mjcf(source),
    ),
    "recursa": Format(
        "Recursa's own JSON",
        lambda root, text: recursa_json.begins(text),
        lambda source, options: recursa_json.read_recursa(source),
    ),
    "dh": Format("Denavit-Hartenberg table", dh_files.begins, lambda source, options: dh_files.read_dh(source)),
}


def read(source: Source, name: str | None, options: Options) -> Description:
    """The description in a text, in the format that was insisted on or else in the one that it is in."""
    if name is not None and name not in FORMATS:
        raise unknown_name("format", str(name), FORMATS)
    return FORMATS[name or format_of(source)].read(source, options)


def format_of(source: Source) -> str:
    """The format that a text is in; what looks like none of them is read as a URDF, whose reader says what is wrong.

    >>> from recursa.formats.source import Assets
    >>> format_of(Source("<!-- an arm --><robot name='arm'/>", None, Assets()))
    'urdf'
    """
    root, text = beginning(source.content)
    return next((name for name, one in FORMATS.items() if one.begins(root, text)), "urdf")


def require(package: str, extra: str, what: str) -> ModelError:
    """The error for a format whose library is not installed."""
    return ModelError(f"{what} needs the package '{package}': pip install 'recursa[{extra}]'")
