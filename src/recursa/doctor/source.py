"""What the reader forgave."""

from __future__ import annotations

from collections.abc import Iterator

from recursa.doctor.patient import Patient
from recursa.doctor.report import Finding
from recursa.model.description import Note


def notes(patient: Patient) -> Iterator[Finding]:
    """Where the source breaks the rules of its format: one finding for each kind of breach, at its first place."""
    kinds: dict[str, list[Note]] = {}
    for note in patient.model.description.notes:
        kinds.setdefault(note.code, []).append(note)
    for code, (first, *others) in kinds.items():
        more = f" The same in {len(others)} more place{'s' if len(others) > 1 else ''}." if others else ""
        yield Finding("warning", code, "robot", patient.model.name, None, first.reason + more, first.fix, first.line)
