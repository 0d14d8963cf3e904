"""The doctor: checks of the model data, each finding with the number, why it is doubtful and what to do.

"error" findings are meaningless data, which ``strict=True`` refuses; "warning" findings are doubtful. Thin rods and
point masses are valid: a semidefinite inertia, and equality in the triangle inequality to 1e-9, are no finding.
"""

from __future__ import annotations

from recursa.doctor import joints, links, source
from recursa.doctor.patient import Patient
from recursa.doctor.report import Finding as Finding
from recursa.doctor.report import Report as Report
from recursa.model.model import Model

CHECKS = (
    source.notes,
    joints.non_finite,
    links.no_masses,
    links.negative_mass,
    links.floating_world,
    links.inertia_without_mass,
    links.massless_body,
    links.principal_moments,
    links.pseudo_inertia,
    links.center_of_mass,
    links.units,
    links.no_inertial,
    joints.hinges,
    joints.axes,
    joints.limits,
    joints.losses,
    joints.mimics,
)


def examine(model: Model) -> Report:
    """Run every check; see :meth:`recursa.Robot.doctor`."""
    patient = Patient(model)
    return Report(model.name, [finding for check in CHECKS for finding in check(patient)])
