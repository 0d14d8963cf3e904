"""Ways to get a robot: from a file, a Denavit-Hartenberg table, or built link by link."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from recursa.bundled import BUNDLED, FILES
from recursa.doctor import Finding, Report, examine
from recursa.errors import ModelError, shortened
from recursa.model.assemble import STANDARD_GRAVITY, assemble
from recursa.model.builder import DescriptionBuilder
from recursa.model.description import Description
from recursa.model.dh import Convention, DHLink, describe_dh
from recursa.model.model import MimicMode, Model
from recursa.model.urdf import read_urdf
from recursa.model.xml import MAX_SIZE
from recursa.robot import Robot


def load(
    source: str | bytes | os.PathLike[str],
    *,
    floating: bool = False,
    gravity: Sequence[float] = STANDARD_GRAVITY,
    strict: bool = True,
    mimic: MimicMode = "free",
) -> Robot:
    """Load a robot from a URDF file, or from the XML text itself.

    - ``floating``: put a free joint, named "root", under the root link; else the root link is welded to the world.
    - ``gravity``: m/s^2 in world axes.
    - ``strict``: refuse meaningless data (negative mass, nan, zero axis, a joint with nothing to move in a robot that
      has masses, elements that xacro left behind). Doubtful data are a :class:`~recursa.ModelWarning` and findings of
      ``robot.doctor()`` in any case; so is a robot without any masses: what needs inertia then raises.
    - ``mimic``: "free" keeps a mimicking joint independent and the tie as data; "tie" ties it, reducing nv.

    Meshes are never opened. A file that cannot be used is a :class:`~recursa.ModelError` naming element and line.

    >>> import recursa as rc
    >>> rc.load('<robot name="box"><link name="base"/></robot>')
    <Robot 'box': 0 bodies, nq=0, nv=0, 1 links>
    """
    text, origin = _read(source)
    description = read_urdf(text, origin, strict=strict)
    return _robot(assemble(description, gravity=gravity, floating=floating, mimic=mimic), strict)


def from_dh(
    table: Iterable[DHLink],
    *,
    convention: Convention,
    name: str = "arm",
    gravity: Sequence[float] = STANDARD_GRAVITY,
    strict: bool = True,
    provenance: str = "",
) -> Robot:
    """A serial arm from a Denavit-Hartenberg table; joints "joint1".., links "link1".., base "base".

    standard: ``A_i = Rz(theta) Tz(d) Tx(a) Rx(alpha)``; modified: ``A_i = Rx(alpha) Tx(a) Rz(theta) Tz(d)``
    (Balafoutis & Patel 2.3.1), each row its own four parameters.

    >>> import recursa as rc
    >>> row = rc.DHLink(joint="revolute", a=0.5, mass=1.0, com=(-0.25, 0, 0), inertia=(0, 0.02, 0.02))
    >>> rc.from_dh([row, row], convention="standard").nv
    2
    """
    description = describe_dh(table, convention=convention, name=name, provenance=provenance)
    return _robot(assemble(description, gravity=gravity), strict)


class Builder(DescriptionBuilder):
    """Builds a robot link by link. The link "world" exists already.

    >>> import recursa as rc
    >>> b = rc.Builder("crane")
    >>> _ = b.link("boom", mass=3.0, com=(0.5, 0, 0), inertia=(0.01, 0.3, 0.3))
    >>> _ = b.joint("slew", "revolute", parent="world", child="boom", axis=(0, 0, 1), xyz=(0, 0, 1))
    >>> b.build().link_names
    ('world', 'boom')
    """

    def build(
        self, *, gravity: Sequence[float] = STANDARD_GRAVITY, strict: bool = True, mimic: MimicMode = "free"
    ) -> Robot:
        """The robot; ``gravity``, ``strict`` and ``mimic`` as in :func:`recursa.load`."""
        return _robot(assemble(self.description(), gravity=gravity, mimic=mimic), strict)


def trusted(
    description: Description,
    *,
    gravity: Sequence[float] = STANDARD_GRAVITY,
    floating: bool = False,
    mimic: MimicMode = "free",
) -> Robot:
    """A robot from a description that is known to be good: nothing is examined."""
    return Robot(assemble(description, gravity=gravity, floating=floating, mimic=mimic))


def _robot(model: Model, strict: bool) -> Robot:
    report = examine(model)
    if strict and report.errors:
        raise _refusal(model, report)
    report.warn(stacklevel=3)
    return Robot(model)


def _refusal(model: Model, report: Report) -> ModelError:
    shown = [*report.errors, *_related(model, report)]
    reasons = "".join(f"\n  {finding}" for finding in shown[:10])
    left = f"\n  ... and {len(shown) - 10} more" if len(shown) > 10 else ""
    return ModelError(
        f"robot '{model.name}' has data that mean nothing:{reasons}{left}\n"
        "  Mend them, or load with strict=False to go on all the same.",
        line=report.errors[0].line,
        source=model.description.source,
    )


def _related(model: Model, report: Report) -> list[Finding]:
    """Warnings about the links and joints that have errors, and about the bodies that these joints move."""
    said = {(finding.kind, finding.name) for finding in report.errors}
    bodies = {number for number, joint in enumerate(model.joints) if ("joint", joint.name) in said}
    said |= {("link", link.name) for link in model.links if link.body in bodies}
    return [finding for finding in report if finding.severity == "warning" and (finding.kind, finding.name) in said]


def _read(source: str | bytes | os.PathLike[str]) -> tuple[str | bytes, str | None]:
    """The XML text and the name of the file it came from."""
    if isinstance(source, bytes | bytearray):
        return bytes(source), None
    if isinstance(source, str) and (source.lstrip("\ufeff \t\r\n").startswith("<") or "\n" in source):
        return source, None
    if not isinstance(source, str | os.PathLike):
        raise ModelError(f"expected a path or XML text, not {type(source).__name__}")
    if isinstance(source, str) and not source.strip():
        raise ModelError("the path is empty; give the path of a URDF file or its XML text")
    path = Path(source)
    try:
        path = path.expanduser()
        with path.open("rb") as file:
            content = file.read(MAX_SIZE + 1)  # bounded, whatever the file says of its size
    except FileNotFoundError:
        raise ModelError(f"there is no file '{path}'. {_near(path)}") from None
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: ~ of a user who has no home
        raise ModelError(f"cannot read '{path}': {error}") from None
    if len(content) > MAX_SIZE:
        raise ModelError(f"it has more than the {MAX_SIZE} bytes that are read", source=str(path))
    return content, str(path)


def _near(path: Path) -> str:
    """What the user may have meant: a neighbouring file, or a bundled robot."""
    if str(path) in BUNDLED:
        return f"The bundled robot of that name is rc.robots.{path}()."
    if path.stem in FILES:
        return f"The bundled file of that name is rc.robots.urdf({path.stem!r})."
    try:
        files = sorted(item.name for item in path.parent.iterdir() if item.suffix in (".urdf", ".xml"))
    except OSError:
        return f"Nor is there a folder '{path.parent}'."
    near = difflib.get_close_matches(path.name, files)
    bundled = [f"rc.robots.{name}()" for name in difflib.get_close_matches(path.stem, BUNDLED, n=1)]
    if near or bundled:
        proposals = [f"'{name}'" for name in near] + [f"the bundled robot {call}" for call in bundled]
        return f"Did you mean {' or '.join(proposals)}?"
    beside = f"Robot files in that folder: {shortened(files)}." if files else "That folder holds no robot files."
    return f"{beside} Bundled robots: {shortened([f'rc.robots.{name}()' for name in BUNDLED])}."
