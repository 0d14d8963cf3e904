"""The doctor: checks of the model data, each finding with the number, why it is doubtful and what to do.

"error" findings are meaningless data, which ``strict=True`` refuses; "warning" findings are doubtful. Thin rods and
point masses are valid: a semidefinite inertia, and equality in the triangle inequality to 1e-9, are no finding.
"""

from __future__ import annotations

from collections.abc import Iterator

from recursa.doctor import joint_checks, link_checks
from recursa.doctor.patient import Patient
from recursa.doctor.report import Finding as Finding
from recursa.doctor.report import Report as Report
from recursa.model.description import Note
from recursa.model.model import Model


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


ALWAYS = (notes, link_checks.floating_world)
"""Checks of other things than the numbers of links and joints."""

CHECKS = (
    notes,
    joint_checks.non_finite,
    link_checks.no_masses,
    link_checks.negative_mass,
    link_checks.floating_world,
    link_checks.inertia_without_mass,
    link_checks.massless_body,
    link_checks.principal_moments,
    link_checks.pseudo_inertia,
    link_checks.center_of_mass,
    link_checks.units,
    link_checks.no_inertial,
    link_checks.estimated,
    joint_checks.hinges,
    joint_checks.axes,
    joint_checks.limits,
    joint_checks.losses,
    joint_checks.springs,
    joint_checks.mimics,
)


def examine(model: Model) -> Report:
    """Run every check; see :meth:`recursa.Robot.doctor`."""
    patient = Patient(model)
    checks = ALWAYS if patient.plain else CHECKS
    return Report(model.name, [finding for check in checks for finding in check(patient)])
