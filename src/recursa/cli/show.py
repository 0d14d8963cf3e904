"""Robots and reports on the terminal, with rich."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

import recursa as rc
from recursa.bundled import BUNDLED, FILES
from recursa.cli.terminal_tables import Console, fitted, slimmed, width_of
from recursa.model.columns import CONVENTIONS
from recursa.model.description import Friction, JointRecord, LinkRecord, numbers_of
from recursa.model.model import WORLD, Joint
from recursa.model.transmissions import link_inertias, own_armature

_DEPTH = 16  # of the tree that is shown


def console(width: int = 120) -> Console:
    """A console that fits the terminal, and is so wide where there is none."""
    found = Console(highlight=False, soft_wrap=False)
    return found if found.is_terminal else Console(highlight=False, width=width)


def line_width() -> int:
    """How many characters a line of prose may have."""
    return min(80, console().width)


def robot_list(as_json: bool) -> None:
    """The bundled robots."""
    robots = {name: rc.robots.by_name(name) for name in BUNDLED + FILES}
    if as_json:
        print_json([{"name": n, "nv": r.nv, "provenance": provenance(r)} for n, r in robots.items()])
        return
    rows = [(n, str(r.nv), f"{r.mass:.4g}", r.model.description.provenance) for n, r in robots.items()]
    columns = ("name", "nv", "mass, kg", "provenance")
    put(console(), table(columns, rows, "bundled robots", left=columns), prose=("provenance",), wide=False)


def counts(found: rc.Table) -> None:
    """A table of operation counts; where it does not fit, multiplications stand above additions."""
    out = console()
    cells = [row.cells() for row in found]
    formulas = [name for name in ("printed", "ours") if name in cells[0]]

    def shown(between: str) -> Table:
        rows = ((escape(x.replace(", ", between) if name in formulas else x) for name, x in c.items()) for c in cells)
        return table(cells[0], rows, escape(f"{found.name}: {found.title}"), left=tuple(cells[0]))

    fits = not out.is_terminal or width_of(out, shown(", ")) <= out.width
    prose = [name for name in list(cells[0])[1:] if name not in formulas]
    put(out, shown(", " if fits else ",\n"), keys=1 + ("twists" in cells[0]), prose=prose)
    out.print(f"rules: {escape(found.rules)}", soft_wrap=not out.is_terminal)


def table(
    columns: Iterable[str],
    rows: Iterable[Iterable[str]],
    title: str | None = None,
    *,
    left: Collection[str] = (),
    **options: Any,
) -> Table:
    """A table with a title on the left; numbers are on the right, the first column and those in ``left`` are not."""
    made = Table(title=title, title_justify="left", **options)
    for k, name in enumerate(columns):
        made.add_column(name, justify="left" if k == 0 or name in left else "right")
    for row in rows:
        made.add_row(*row)
    return made


def put(out: Console, content: Tree | Table, *, keys: int = 1, prose: Collection[str] = (), wide: bool = True) -> None:
    """Print a tree or a table so that no name is broken.

    On a terminal it is fitted to the width, see :func:`recursa.cli.terminal_tables.fitted` for ``keys`` and ``prose``.
    Elsewhere it is as wide as it takes, or, if not ``wide``, fitted to the width of the console.
    """
    if wide and not out.is_terminal:
        out = Console(file=out.file, highlight=False, width=max(out.width, width_of(out, content)))
    parts = fitted(out, content, keys=keys, prose=prose) if isinstance(content, Table) else [slimmed(out, content)]
    for part in parts:
        out.print(part)


def info(robot: rc.Robot) -> None:
    """Everything about a robot on one screen or two."""
    out = console()
    base = "floating" if robot.is_floating else "fixed"
    sizes = f"{robot.nbodies} moving bodies, {robot.nlinks} links, nq = {robot.nq}, nv = {robot.nv}"
    out.print(f"[bold]{escape(robot.name)}[/]: {sizes}, {base} base")
    put(out, tree(robot))
    if robot.nbodies:
        put(out, joint_table(robot), keys=2)
        put(out, mass_table(robot))
    out.print(f"gravity     {robot.gravity} m/s^2, world axes")
    out.print(f"conventions {CONVENTIONS}")
    out.print(f"provenance  {escape(provenance(robot))}")
    report_line(robot.doctor())


def provenance(robot: rc.Robot) -> str:
    """Where the data come from."""
    description = robot.model.description
    return description.provenance or (f"file {description.source}" if description.source else "not stated")


def tree(robot: rc.Robot) -> Tree:
    """Links and joints as a tree; links fixed to others in grey. Beyond some depth the rest is only counted."""
    children: dict[str, list[JointRecord]] = {}
    links: dict[str, LinkRecord] = {link.name: link for link in robot.model.description.links}
    for record in robot.model.description.joints:
        children.setdefault(record.parent, []).append(record)
    root_name = robot.link_names[0]
    base = f"[bold]{escape(root_name)}[/]"
    if robot.model.floating:
        base = f"[yellow]{robot.joint_names[0]}[/] (free) → {base}"
    top = Tree(base + _mass(links[root_name]))
    pending = [(top, 1, record) for record in reversed(children.get(root_name, []))]
    while pending:  # siblings in order, without recursion
        branch, depth, record = pending.pop()
        branch = branch.add(_joint_line(record) + _mass(links[record.child]))
        below = children.get(record.child, [])
        if depth < _DEPTH:
            pending.extend((branch, depth + 1, joint) for joint in reversed(below))
        elif below:
            count = _outward(record.child, children)
            branch.add(f"[dim]... {count} more link{'s' * (count != 1)}[/]")
    return top


def _outward(link: str, children: dict[str, list[JointRecord]]) -> int:
    """How many links hang on a link."""
    count, pending = 0, [link]
    while pending:
        below = children.get(pending.pop(), [])
        count += len(below)
        pending.extend(joint.child for joint in below)
    return count


def _joint_line(record: JointRecord) -> str:
    child = escape(record.child)
    if record.kind == "fixed":
        return f"[dim]{child} (fixed)[/]"
    tie = f", mimics {escape(record.mimic.joint)}" if record.mimic else ""
    rotor = f", rotor {record.rotor.inertia:g} kg m^2 x {record.rotor.ratio:g}" if record.rotor else ""
    spring = f", spring {record.stiffness:g}" if record.stiffness else ""
    return f"[yellow]{escape(record.name)}[/] ({record.kind}{tie}{rotor}{spring}) → [bold]{child}[/]"


def _mass(link: LinkRecord) -> str:
    return f"  [cyan]{link.mass:.4g} kg[/]" if link.mass else ""


def joint_table(robot: rc.Robot) -> Table:
    """One row per moving joint."""
    columns = ("#", "joint", "kind", "child", "axis", "q", "v", "limits", "effort", "armature", "damping", "friction")
    rows = (
        (
            str(number), escape(joint.name), joint.kind.name, escape(joint.child), _axis(joint),
            _span(joint.q_start, joint.kind.nq, joint), _span(joint.v_start, joint.kind.nv, joint), _limits(joint),
            "" if joint.effort is None else f"{joint.effort:g}",
            _per_freedom(own_armature(joint)), _per_freedom(joint.damping), _per_freedom(joint.friction),
        )
        for number, joint in enumerate(robot.model.joints)
    )  # fmt: skip
    return table(columns, rows, "joints", left=columns[1:8])


def _axis(joint: Joint) -> str:
    return " ".join(f"{x:.3g}" for x in joint.hinge.axis) if joint.kind.has_axis else ""


def _span(start: int, count: int, joint: Joint) -> str:
    if joint.tie is not None:
        return f"{joint.tie.multiplier:g}·[{start}]{joint.tie.offset:+g}"
    return str(start) if count == 1 else f"{start}..{start + count - 1}"


def _limits(joint: Joint) -> str:
    return "" if joint.limits is None else f"{joint.limits[0]:.4g} .. {joint.limits[1]:.4g}"


def _per_freedom(values: tuple[Friction, ...]) -> str:
    """Numbers of freedoms, one where they are the same; a pair is what differs by direction."""
    if not any(numbers_of(values)):
        return ""
    shown = [f"{x[0]:.3g}/{x[1]:.3g}" if isinstance(x, tuple) else f"{x:.3g}" for x in values]
    return shown[0] if len(set(shown)) == 1 else " ".join(shown)


def mass_table(robot: rc.Robot) -> Table:
    """One row per moving body, what is fixed to it included."""
    columns = ("body", "mass, kg", "centre of mass, m", "Ixx, Iyy, Izz about it, kg m^2", "Ixy, Ixz, Iyz")
    rows = []
    for joint, inertia in zip(robot.model.joints, link_inertias(robot.model), strict=True):
        com = _numbers(inertia.com()) if inertia.mass else "-"
        moments = inertia.moment_about_com()
        rows.append((escape(joint.child), f"{inertia.mass:.5g}", com, _numbers(moments[:3]), _numbers(moments[3:])))
    made = table(columns, rows, "moving bodies (with what is fixed to them), in link axes")
    made.add_section()
    made.add_row("[bold]total[/]", f"[bold]{robot.mass:.5g}[/]", "", "", "")
    return made


def _numbers(values: Any) -> str:
    return ", ".join(f"{0.0 if abs(x) < 1e-12 else x:.4g}" for x in values)


def report(found: rc.Report) -> None:
    """The doctor's findings as a table."""
    if not found:
        report_line(found)
        return
    out = console(width=100 + max(20, *(len(finding.subject) for finding in found)))
    rows = []
    for finding in found:
        mark = {"error": "[red]error[/]", "warning": "[yellow]warning[/]"}.get(finding.severity, "note")
        line = f"\nline {finding.line}" if finding.line is not None else ""
        what = (escape(finding.subject) + line, escape(finding.reason), escape(finding.fix))
        rows.append((f"{mark}\n{finding.code}", *what))
    columns = ("", "where", "what", "what to do")
    made = table(columns, rows, f"findings about '{escape(found.robot)}'", left=columns, show_lines=True)
    put(out, made, keys=2, prose=("what", "what to do"), wide=False)
    out.print(_counts(found))


def report_line(found: rc.Report) -> None:
    """One line: healthy or not."""
    if not found:
        console().print("doctor      [green]nothing to complain about[/]")
        return
    console().print(f"doctor      [yellow]{_counts(found)}[/]: see recursa doctor, or robot.doctor()")
    for finding in found:
        if finding.code == "no-masses":  # which tells what can be asked of the robot at all
            console().print(f"            {escape(finding.reason)}")


def explanation(told: rc.Explanation) -> None:
    """The levels of an explanation, in colour on a terminal that has Greek letters."""
    from recursa.operators.rendering import has_greek

    out = console()
    if out.is_terminal and has_greek(out.encoding):
        out.print(told)
    else:
        print(told)


def _counts(found: rc.Report) -> str:
    counted = {kind: sum(finding.severity == kind for finding in found) for kind in ("error", "warning", "note")}
    told = [f"{count} {kind}{'s' * (count != 1)}" for kind, count in counted.items() if count or kind != "note"]
    return ", ".join(told)


def print_json(data: Any) -> None:
    """JSON on standard output."""
    print(json_text(data))


def json_text(data: Any) -> str:
    """JSON that every reader understands: a number that is not finite becomes null."""
    return json.dumps(_finite(data), indent=2, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def as_data(robot: rc.Robot) -> dict[str, Any]:
    """A robot as plain data, for JSON."""
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "floating": robot.is_floating,
        "mass": robot.mass,
        "gravity": list(robot.gravity),
        "links": [
            {"name": link.name, "body": None if link.body == WORLD else link.body, "frame": link.frame}
            for link in robot.model.links
        ],
        "joints": [
            {
                "name": joint.name,
                "kind": joint.kind.name,
                "parent": None if joint.parent == WORLD else joint.parent,
                "child": joint.child,
                "q_start": joint.q_start,
                "v_start": joint.v_start,
                "axis": list(joint.hinge.axis),
                "limits": None if joint.limits is None else list(joint.limits),
                "armature": list(own_armature(joint)),
                "damping": list(joint.damping),
                "friction": list(joint.friction),
                "stiffness": joint.stiffness,
                "rest": joint.rest,
                "rotor": None if joint.rotor is None else asdict(joint.rotor),
            }
            for joint in robot.model.joints
        ],
        "inertias": [list(inertia.components()) for inertia in link_inertias(robot.model)],
        "provenance": provenance(robot),
        "digest": robot.model.digest,
    }


def wrote(*files: Path | None) -> None:
    """A line for each file, where there is one."""
    for file in files:
        if file is not None:
            click.echo(f"wrote {file}")


def require_other_file(source: Path | None, out: Path | None) -> None:
    """What was read is not overwritten by what came of it."""
    if source is not None and out is not None and out.exists() and source.exists() and out.samefile(source):
        raise rc.StateError(f"-o {out} is the file that is read: it would be lost. Write to another")
