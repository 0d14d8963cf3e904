"""Findings and the report that holds them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, overload

from recursa import markup
from recursa.errors import ModelWarning, printable
from recursa.model.description import JointRecord, LinkRecord


@dataclass(frozen=True)
class Finding:
    """One doubtful datum, of the link or joint (``kind``) called ``name``, or of the robot as a whole.

    ``kind`` is "link", "joint" or "robot", ``severity`` "error", "warning" or "note". A "note" is about something in
    the file that the model does not have, and no fault.
    """

    severity: Literal["error", "warning", "note"]
    code: str
    kind: Literal["link", "joint", "robot"]
    name: str
    value: float | None
    reason: str
    fix: str
    line: int | None = None

    @property
    def subject(self) -> str:
        """What it is about, as messages say it: ``link 'arm'``."""
        return f"{self.kind} '{self.name}'"

    def __str__(self) -> str:
        where = f" (line {self.line})" if self.line is not None else ""
        return printable(f"{self.severity}: {self.subject}{where}: {self.reason} {self.fix} [{self.code}]")


class Report(Sequence[Finding]):
    """All findings about a robot; empty, and false, when it is healthy. ``print`` it."""

    def __init__(self, robot: str, findings: Sequence[Finding]) -> None:
        self.robot = robot
        self.findings = tuple(findings)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        return self.findings[index]

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that ``strict=True`` refuses."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def healthy(self) -> bool:
        """Whether there are neither errors nor warnings."""
        return all(finding.severity == "note" for finding in self.findings)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Plain data, for JSON."""
        return [{**asdict(finding), "subject": finding.subject} for finding in self.findings]

    def about(self, kind: str, name: str) -> Report:
        """The findings about one link or joint."""
        return Report(self.robot, [f for f in self.findings if (f.kind, f.name) == (kind, name)])

    def warn(self, stacklevel: int) -> None:
        """One :class:`~recursa.ModelWarning` that names the worst finding, if there is any but notes."""
        if not self.healthy:
            worst = min(self.findings, key=lambda finding: ("error", "warning", "note").index(finding.severity))
            more = f" and {len(self) - 1} more" if len(self) > 1 else ""
            owner = "" if worst.kind == "robot" else f"robot '{self.robot}': "
            text = f"{owner}{worst}{more}. robot.doctor() tells everything"
            warnings.warn(text, ModelWarning, stacklevel=stacklevel + 1)

    def __str__(self) -> str:
        if not self.findings:
            return f"robot '{self.robot}': nothing to complain about"
        head = f"robot '{self.robot}': {len(self.findings)} finding{'s' if len(self.findings) > 1 else ''}"
        return "\n".join([head, *(f"  {finding}" for finding in self.findings)])

    def _repr_html_(self) -> str:
        """What a notebook shows: a table of the findings."""
        if not self.findings:
            return markup.text(str(self))
        rows = [(one.severity, one.subject, one.reason, one.fix) for one in self.findings]
        return markup.table(f"robot '{self.robot}'", ("severity", "about", "what", "what to do"), rows)

    def __repr__(self) -> str:
        warned = sum(finding.severity == "warning" for finding in self.findings)
        notes = len(self) - len(self.errors) - warned
        more = f", {notes} notes" if notes else ""
        return f"<Report on '{self.robot}': {len(self.errors)} errors, {warned} warnings{more}>"


def about(
    record: LinkRecord | JointRecord, code: str, value: float | None, reason: str, fix: str, *, error: bool = False
) -> Finding:
    """A finding about a link or a joint."""
    kind: Literal["link", "joint"] = "link" if isinstance(record, LinkRecord) else "joint"
    severity: Literal["error", "warning"] = "error" if error else "warning"
    return Finding(severity, code, kind, record.name, value, reason, fix, record.line)
