"""The doctor: checks of the model data, each finding with the number, why it is doubtful and what to do.

"error" findings are meaningless data, which ``strict=True`` refuses; "warning" findings are doubtful. Thin rods and
point masses are valid: a semidefinite inertia, and equality in the triangle inequality to 1e-9, are no finding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, overload

import numpy as np

from recursa.dynamics.configuration import random_state
from recursa.dynamics.hinges import singular_hinges
from recursa.dynamics.mass_properties import KINETIC_ENERGY
from recursa.errors import did_you_mean
from recursa.model.description import JointRecord, LinkRecord
from recursa.model.model import WORLD, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.vec3 import SymMat3
from recursa.sweeps import run

_ROUNDING = 1e-9  # relative: equality in the inequalities is valid to this
_POINT = 1e-12  # of mass times size squared: a smaller moment is a point mass's zero with rounding noise
_UNIT_AXIS = 1e-6
_FAR = 3.0  # a centre of mass beyond this many link sizes is doubtful
_WIDE = 3.0  # so is a radius of gyration
_NARROW = 1e-3  # or one below this fraction of the link's size


@dataclass(frozen=True, slots=True)
class Finding:
    """One doubtful datum."""

    severity: Literal["error", "warning"]
    code: str
    subject: str
    value: float | None
    reason: str
    fix: str
    line: int | None = None

    def __str__(self) -> str:
        where = f" (line {self.line})" if self.line is not None else ""
        return f"{self.severity}: {self.subject}{where}: {self.reason} {self.fix} [{self.code}]"


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

    def as_dicts(self) -> list[dict[str, Any]]:
        """Plain data, for JSON."""
        return [asdict(finding) for finding in self.findings]

    def __str__(self) -> str:
        if not self.findings:
            return f"robot '{self.robot}': nothing to complain about"
        head = f"robot '{self.robot}': {len(self.findings)} finding{'s' if len(self.findings) > 1 else ''}"
        return "\n".join([head, *(f"  {finding}" for finding in self.findings)])

    def __repr__(self) -> str:
        return f"<Report on '{self.robot}': {len(self.errors)} errors, {len(self) - len(self.errors)} warnings>"


def examine(model: Model) -> Report:
    """Run every check; see :meth:`recursa.Robot.doctor`."""
    patient = _Patient(model)
    findings = [finding for check in CHECKS for finding in check(patient)]
    return Report(model.name, findings)


class _Patient:
    """The model with what several checks need."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.links: dict[str, LinkRecord] = {link.name: link for link in model.description.links}
        self.joints: tuple[JointRecord, ...] = model.description.joints
        self.body = {link.name: link.body for link in model.links}
        self.finite = _is_finite(model)
        self.singular = _singular(model) if self.finite else []
        self.sizes = _link_sizes(self.links, self.joints)
        self.scale = max(self.sizes.values(), default=0.0) or 0.1

    def noise(self, link: LinkRecord) -> float:
        """Moments of inertia up to this are zero: those of a point mass, after somebody's rounding."""
        return _POINT * link.mass * max(self.sizes[link.name], self.scale) ** 2

    def moving(self) -> Iterator[LinkRecord]:
        """Links with mass data that the robot moves."""
        return (link for link in self.links.values() if link.inertial and self.body[link.name] != WORLD)

    def sound(self) -> Iterator[LinkRecord]:
        """Those with finite numbers and positive mass."""
        return (link for link in self.moving() if link.mass > 0.0 and _finite_link(link))


def _is_finite(model: Model) -> bool:
    links = all(_finite_link(link) for link in model.description.links)
    return links and all(_finite_joint(joint) for joint in model.description.joints)


def _finite_link(link: LinkRecord) -> bool:
    return all(math.isfinite(x) for x in (link.mass, *link.com, *link.inertia))


def _finite_joint(joint: JointRecord) -> bool:
    return not any(True for _ in _non_finite_data(joint))


def _non_finite_data(joint: JointRecord) -> Iterator[str]:
    groups: dict[str, Sequence[float]] = {
        "origin": (*joint.placement.translation, *joint.placement.rotation),
        "axis": joint.axis,
        "pitch": (joint.pitch,),
        "armature": joint.armature,
        "damping": joint.damping,
        "friction": joint.friction,
        "mimic": () if joint.mimic is None else (joint.mimic.multiplier, joint.mimic.offset),
    }
    yield from (name for name, numbers in groups.items() if not all(math.isfinite(x) for x in numbers))
    if joint.limits is not None and any(math.isnan(x) for x in joint.limits):
        yield "limit"


def _singular(model: Model) -> list[tuple[int, int, float]]:
    """Joints without hinge inertia at a configuration that is not special: (joint, freedom, D)."""
    q, _ = random_state(model, 0)
    if model.mimic == "free":
        return singular_hinges(model, q.tolist())
    found = []  # tied joints share a freedom: judge the diagonal of the mass matrix, twice the energy at unit speed
    for number, joint in enumerate(model.joints):
        for freedom in range(joint.kind.nv if joint.independent else 0):
            v = [0.0] * model.nv
            v[joint.v_start + freedom] = 1.0
            inertia = 2.0 * float(run(KINETIC_ENERGY, model, {"q": q.tolist(), "v": v}).robot["T"])
            if not inertia > 0.0:
                found.append((number, freedom, inertia))
    return found


def _link_sizes(links: dict[str, LinkRecord], joints: tuple[JointRecord, ...]) -> dict[str, float]:
    """How far each link reaches from its origin, as far as joints and simple shapes tell."""
    sizes = dict.fromkeys(links, 0.0)
    for joint in joints:
        reach = _length(joint.placement.translation)
        sizes[joint.parent] = max(sizes[joint.parent], reach)
        sizes[joint.child] = max(sizes[joint.child], _length(joint.after.translation))
    for link in links.values():
        for shape in link.geometry:
            sizes[link.name] = max(sizes[link.name], _length(shape.origin) + (shape.radius or 0.0))
    return {name: size if math.isfinite(size) else 0.0 for name, size in sizes.items()}


def _length(vector: Sequence[float]) -> float:
    return math.hypot(*vector)


def _eigenvalues(matrix: SymMat3) -> list[float]:
    return [float(x) for x in np.linalg.eigvalsh(np.array([list(row) for row in matrix.rows()]))]


# ---- the checks ----------------------------------------------------------------------------------------------------


def non_finite(patient: _Patient) -> Iterator[Finding]:
    """Numbers that are not numbers."""
    for link in patient.links.values():
        if not _finite_link(link):
            yield Finding(
                "error", "non-finite", f"link '{link.name}'", None,
                f"its inertial data contain nan or infinity: mass {link.mass:g}, com {tuple(link.com)}, "
                f"inertia {tuple(link.inertia)}.",
                "Replace them by finite numbers.", link.line,
            )  # fmt: skip
    for joint in patient.joints:
        for name in _non_finite_data(joint):
            yield Finding(
                "error", "non-finite", f"joint '{joint.name}'", None, f"its {name} contains nan or infinity.",
                "Replace it by finite numbers.", joint.line,
            )  # fmt: skip


def mass(patient: _Patient) -> Iterator[Finding]:
    """Masses that are negative, zero or missing."""
    reported = set()
    for link in patient.links.values():
        if link.mass < 0.0:
            severity: Literal["error", "warning"] = "error" if patient.body[link.name] != WORLD else "warning"
            yield Finding(
                severity, "mass", f"link '{link.name}'", link.mass, f"its mass is {link.mass:g} kg.",
                "A mass cannot be negative; correct its sign.", link.line,
            )  # fmt: skip
            reported.add(patient.body[link.name])
        elif link.mass == 0.0 and any(link.inertia) and _finite_link(link) and patient.body[link.name] != WORLD:
            yield Finding(
                "warning", "mass", f"link '{link.name}'", 0.0, "it has inertia but no mass.",
                "Give it a mass, or remove the inertia.", link.line,
            )  # fmt: skip
            reported.add(patient.body[link.name])
    hopeless = {joint for joint, _, _ in patient.singular}
    for number, (joint, inertia) in enumerate(zip(patient.model.joints, patient.model.inertias, strict=True)):
        if inertia.mass == 0.0 and number not in reported and number not in hopeless:
            yield Finding(
                "warning", "massless", f"link '{joint.child}'", 0.0,
                f"joint '{joint.name}' moves it, but it has no mass, nor has anything fixed to it.",
                "If it is a real part, give it mass and inertia; if it only joins two axes, this is fine.",
                patient.links[joint.child].line,
            )  # fmt: skip


def definite(patient: _Patient) -> Iterator[Finding]:
    """Inertia tensors that no body can have."""
    for link in patient.sound():
        low, mid, high = _eigenvalues(link.inertia)
        tolerance = max(_ROUNDING * max(abs(low), abs(high)), patient.noise(link))
        subject = f"link '{link.name}'"
        moments = f"({low:.6g}, {mid:.6g}, {high:.6g}) kg m^2"
        if low < -tolerance:
            yield Finding(
                "warning", "inertia", subject, low,
                f"its inertia about the centre of mass has principal moments {moments}; none may be negative.",
                "Check the signs of the products of inertia, and that the tensor is about the centre of mass.", link.line,
            )  # fmt: skip
        elif high - mid - low > tolerance:
            short = high - mid - low
            yield Finding(
                "warning", "triangle", subject, short,
                f"its principal moments {moments} break the triangle inequality by {short:.3g} kg m^2: "
                "the largest may not exceed the sum of the other two.",
                f"Take the inertia from the mesh at uniform density; or raise the two smaller moments by {short / 2:.3g} "
                "each.", link.line,
            )  # fmt: skip


def pseudo_inertia(patient: _Patient) -> Iterator[Finding]:
    """Moving bodies, everything fixed to them included, that no distribution of mass can make."""
    for joint, inertia in zip(patient.model.joints, patient.model.inertias, strict=True):
        if not inertia.mass > 0.0 or not all(math.isfinite(x) for x in inertia.components()):
            continue
        least, largest = _pseudo_inertia_range(inertia)
        if least < -max(_ROUNDING * largest, _POINT * inertia.mass * patient.scale**2):
            yield Finding(
                "warning", "pseudo-inertia", f"link '{joint.child}'", least,
                f"the body that joint '{joint.name}' moves (with what is fixed to it) has second moments of mass "
                f"down to {least:.3g} kg m^2; no positive mass has that, and forward dynamics can blow up.",
                "Mend the inertias of its links.", patient.links[joint.child].line,
            )  # fmt: skip


def _pseudo_inertia_range(inertia: RigidInertia) -> tuple[float, float]:
    """Extreme eigenvalues of J_c = tr(I_c)/2 - I_c (4.3.6): the pseudo-inertia is definite exactly when J_c is."""
    about_com = inertia.moment_about_com()
    euler = (-about_com).plus_diagonal(0.5 * about_com.trace())
    values = _eigenvalues(euler)
    return values[0], max(abs(values[0]), abs(values[2]))


def center_of_mass(patient: _Patient) -> Iterator[Finding]:
    """Centres of mass far outside the link."""
    for link in patient.sound():
        distance, size = _length(link.com), max(patient.sizes[link.name], patient.scale)
        if distance > _FAR * size:
            yield Finding(
                "warning", "com", f"link '{link.name}'", distance,
                f"its centre of mass is {distance:.4g} m from the link origin, while the robot's links reach {size:.3g} m.",
                "Check its units (millimetres?) and that it is given in link coordinates.", link.line,
            )  # fmt: skip


def units(patient: _Patient) -> Iterator[Finding]:
    """Radii of gyration that do not fit the size of the link: usually inertia in wrong units."""
    for link in patient.sound():
        largest = max(_eigenvalues(link.inertia))
        if largest <= patient.noise(link):
            continue
        radius = math.sqrt(largest / link.mass)
        own, size = patient.sizes[link.name], max(patient.sizes[link.name], patient.scale)
        if radius > _WIDE * size:
            yield Finding(
                "warning", "units", f"link '{link.name}'", radius,
                f"mass {link.mass:g} kg and inertia {largest:.3g} kg m^2 mean a radius of gyration of {radius:.3g} m, "
                f"while the robot's links reach {size:.3g} m.",
                "Check the units of the inertia: kg m^2, not kg mm^2 or g cm^2.", link.line,
            )  # fmt: skip
        elif own > 0.0 and radius < _NARROW * own:
            yield Finding(
                "warning", "units", f"link '{link.name}'", radius,
                f"mass {link.mass:g} kg and inertia {largest:.3g} kg m^2 mean a radius of gyration of {radius:.3g} m, "
                f"while the link reaches {own:.3g} m.",
                "Check the units of the inertia (kg m^2) and of the mass (kg).", link.line,
            )  # fmt: skip


def hinges(patient: _Patient) -> Iterator[Finding]:
    """Joints that have nothing to move."""
    for number, freedom, pivot in patient.singular:
        joint = patient.model.joints[number]
        which = "" if joint.kind.nv == 1 else f" in freedom {freedom + 1} of {joint.kind.nv}"
        yield Finding(
            "error", "hinge", f"joint '{joint.name}'", pivot,
            f"its hinge inertia D is {pivot:.3g}{which} (needs > 0): the bodies from '{joint.child}' outward have no "
            "inertia along its motion.",
            f"Give link '{joint.child}' a mass and inertia, give the joint an armature, or make it fixed.",
            patient.links[joint.child].line,
        )  # fmt: skip


def axes(patient: _Patient) -> Iterator[Finding]:
    """Axes of zero or other than unit length."""
    for joint in patient.joints:
        if joint.kind in ("fixed", "free", "spherical") or not all(math.isfinite(x) for x in joint.axis):
            continue
        length = _length(joint.axis)
        if length == 0.0:
            yield Finding(
                "error", "axis", f"joint '{joint.name}'", 0.0, "its axis is (0, 0, 0), which has no direction.",
                "Give the direction in which it turns or slides.", joint.line,
            )  # fmt: skip
        elif abs(length - 1.0) > _UNIT_AXIS:
            yield Finding(
                "warning", "axis", f"joint '{joint.name}'", length,
                f"its axis {tuple(joint.axis)} has length {length:.6g}; it was normalised.", "Give a unit vector.",
                joint.line,
            )  # fmt: skip


def limits(patient: _Patient) -> Iterator[Finding]:
    """Limits the wrong way round, or none where there should be some."""
    for joint in patient.joints:
        subject = f"joint '{joint.name}'"
        if joint.limits is not None and joint.limits[0] > joint.limits[1]:
            lower, upper = joint.limits
            yield Finding(
                "warning", "limits", subject, lower - upper, f"its lower limit {lower:g} is above its upper limit {upper:g}.",
                "Exchange them.", joint.line,
            )  # fmt: skip
        for name, value in (("effort", joint.effort), ("velocity", joint.velocity)):
            if value is not None and value < 0.0:
                yield Finding(
                    "warning",
                    "limits",
                    subject,
                    value,
                    f"its {name} limit is {value:g}.",
                    "Make it positive.",
                    joint.line,
                )


def no_inertial(patient: _Patient) -> Iterator[Finding]:
    """Links that have a shape but no mass data."""
    for link in patient.links.values():
        if link.geometry and not link.inertial and patient.body[link.name] != WORLD:
            yield Finding(
                "warning", "no-inertial", f"link '{link.name}'", None, "it has a shape but no inertial element.",
                "Add mass, centre of mass and inertia, or remove the shape if it is not a part.", link.line,
            )  # fmt: skip


def losses(patient: _Patient) -> Iterator[Finding]:
    """Armature, damping or friction of the wrong sign."""
    for joint in patient.joints:
        for name, values in (("armature", joint.armature), ("damping", joint.damping), ("friction", joint.friction)):
            least = min(values, default=0.0)
            if least < 0.0:
                yield Finding(
                    "warning", name, f"joint '{joint.name}'", least, f"its {name} is {least:g}, which would add energy.",
                    "Make it zero or positive.", joint.line,
                )  # fmt: skip


def mimics(patient: _Patient) -> Iterator[Finding]:
    """Ties to joints that do not exist."""
    names = {joint.name for joint in patient.joints}
    for joint in patient.joints:
        if joint.mimic is not None and joint.mimic.joint not in names:
            yield Finding(
                "warning", "mimic", f"joint '{joint.name}'", None, f"it mimics '{joint.mimic.joint}', which does not exist.",
                did_you_mean(joint.mimic.joint, names), joint.line,
            )  # fmt: skip


CHECKS = (
    non_finite, mass, definite, pseudo_inertia, center_of_mass, units, hinges, axes, limits, no_inertial, losses, mimics,
)  # fmt: skip
