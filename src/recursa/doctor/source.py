"""What the reader forgave, and what it left out."""

from __future__ import annotations

from collections.abc import Iterator

from recursa.doctor.patient import Patient
from recursa.doctor.report import Finding
from recursa.model.description import Note


def notes(patient: Patient) -> Iterator[Finding]:
    """Where the source breaks its format's rules, or says what the model does not have: one finding of each kind."""
    kinds: dict[str, list[Note]] = {}
    for note in patient.model.description.notes:
        kinds.setdefault(note.code, []).append(note)
    for code, (first, *others) in kinds.items():
        more = f" The same in {len(others)} more place{'s' if len(others) > 1 else ''}." if others else ""
        yield Finding(
            first.severity, code, "robot", patient.model.name, None, first.reason + more, first.fix, first.line
        )
