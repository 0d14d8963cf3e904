"""The doctor: checks of the model data, each finding with the number, why it is doubtful and what to do.

"error" findings are meaningless data, which ``strict=True`` refuses; "warning" findings are doubtful. Thin rods and
point masses are valid: a semidefinite inertia, and equality in the triangle inequality to 1e-9, are no finding.
"""

from __future__ import annotations

from recursa.doctor import joint_checks, link_checks, source
from recursa.doctor.patient import Patient
from recursa.doctor.report import Finding as Finding
from recursa.doctor.report import Report as Report
from recursa.model.model import Model

ALWAYS = (source.notes, link_checks.floating_world)
"""Checks of other things than the numbers of links and joints."""

CHECKS = (
    source.notes,
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
