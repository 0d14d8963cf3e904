"""Checks of masses and inertias."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from recursa.doctor.patient import FAR, NARROW, WIDE, Patient, finite_link, floats_the_world, length
from recursa.doctor.report import Finding, about
from recursa.dynamics.hinges import ROUNDING, principal
from recursa.dynamics.requirements import GIVE_MASSES, NO_MASSES
from recursa.model.description import LinkRecord
from recursa.model.model import WORLD
from recursa.model.transmissions import link_inertias

_REMOTE, _GROSS = 100.0, 100.0  # where nothing tells a size: so many metres, and so many times the other length


def no_masses(patient: Patient) -> Iterator[Finding]:
    """A robot of which only the kinematics are described: one finding instead of one for every joint and link."""
    if patient.lacking.massless:
        yield Finding("warning", "no-masses", "robot", patient.model.name, 0.0, NO_MASSES, GIVE_MASSES)


def negative_mass(patient: Patient) -> Iterator[Finding]:
    """Masses below zero, which mean nothing whether or not the link moves."""
    for link in patient.odd:
        if link.mass < 0.0:
            reason, fix = f"its mass is {link.mass:g} kg.", "A mass cannot be negative; correct its sign."
            yield about(link, "mass", link.mass, reason, fix, error=True)


def floating_world(patient: Patient) -> Iterator[Finding]:
    """``floating=True`` on a link that stands for the world, with nothing fixed to it that could float."""
    if floats_the_world(patient.model):
        root = patient.links[patient.model.links[0].name]
        reason = (
            "floating=True would let the world itself float: the root link has no inertia, and all its children are "
            "on moving joints."
        )
        fix = (
            "Put a base link with mass at the root, or load it with floating=False; in a Builder give the base a joint "
            "of kind 'free'."
        )
        yield about(root, "floating", None, reason, fix, error=True)


def inertia_without_mass(patient: Patient) -> Iterator[Finding]:
    """Links that resist turning but not pushing, or that gravity turns without having a weight."""
    for link in patient.odd:
        if not link.inertial or patient.body[link.name] == WORLD or link.mass != 0.0 or not finite_link(link):
            continue
        if any(link.inertia):
            yield about(link, "mass", 0.0, "it has inertia but no mass.", "Give it a mass, or remove the inertia.")
        elif link.about_origin is not None and any(link.about_origin.first):
            reason = f"it has a first moment of mass {tuple(link.about_origin.first)} kg m but no mass."
            yield about(link, "mass", 0.0, reason, "Give it a mass, or remove the first moment.")


def massless_body(patient: Patient) -> Iterator[Finding]:
    """Moving bodies without any mass, unless another check says it better."""
    if patient.solid or patient.lacking.massless:
        return
    said = {found.joint for found in patient.singular} | ({0} if floats_the_world(patient.model) else set())
    said |= {patient.body[link.name] for link in patient.moving if link.mass != 0.0 or any(link.inertia)}
    for number, (joint, inertia) in enumerate(zip(patient.model.joints, patient.model.inertias, strict=True)):
        if inertia.mass == 0.0 and number not in said and not patient.links[joint.child].frame:
            reason = f"joint '{joint.name}' moves it, but it has no mass, nor has anything fixed to it."
            fix = "If it is a real part, give it mass and inertia; if it only joins two axes, this is fine."
            yield about(patient.links[joint.child], "massless", 0.0, reason, fix)


def principal_moments(patient: Patient) -> Iterator[Finding]:
    """Inertia tensors that no body can have: a negative moment, or a broken triangle inequality."""
    for link in patient.sound:
        fault = _fault(patient, link)
        if fault is None:
            continue
        low, mid, high = patient.moments[link.name]
        moments = f"({low:.6g}, {mid:.6g}, {high:.6g}) kg m^2"
        short = high - mid - low
        if fault == "inertia":
            reason = f"its inertia about the centre of mass has principal moments {moments}; none may be negative."
            fix = "Check the signs of the products of inertia, and that the tensor is about the centre of mass."
            yield about(link, fault, low, reason, fix)
        else:
            reason = (
                f"its principal moments {moments} break the triangle inequality by {short:.3g} kg m^2: "
                "the largest may not exceed the sum of the other two."
            )
            fix = f"Compute the inertia from the shape, or raise the two smaller moments by {short / 2:.3g} each."
            yield about(link, fault, short, reason, fix)


def _fault(patient: Patient, link: LinkRecord) -> Literal["inertia", "triangle"] | None:
    """What is wrong with the moments of a sound link, if anything."""
    low, mid, high = patient.moments[link.name]
    if low >= 0.0 and high - mid - low <= 0.0:
        return None
    tolerance = max(ROUNDING * max(abs(low), abs(high)), patient.noise(link.mass, link.com))
    if low < -tolerance:
        return "inertia"
    return "triangle" if high - mid - low > tolerance else None


def pseudo_inertia(patient: Patient) -> Iterator[Finding]:
    """Moving bodies, everything fixed to them included, that no distribution of mass can make.

    A body of one link that was named for its moments is not named again.
    The 4x4 pseudo-inertia is positive semidefinite when the Euler tensor J_c = tr(I_c)/2 - I_c is (4.3.6).
    """
    if patient.solid:
        return
    parts = Counter(patient.body[link.name] for link in patient.moving)
    said = {patient.body[link.name] for link in patient.sound if _fault(patient, link)}
    inertias, moments = link_inertias(patient.model), patient.body_moments
    if inertias is not patient.model.inertias:  # a rotor's share is no part of a link
        moments = principal([inertia.moment_about_com() for inertia in inertias])
    bodies = zip(patient.model.joints, inertias, moments, strict=True)
    for number, (joint, inertia, (low, mid, high)) in enumerate(bodies):
        if not inertia.mass > 0.0 or (parts[number] == 1 and number in said):
            continue
        least, largest = 0.5 * (low + mid - high), 0.5 * (mid + high - low)  # of J_c
        if least < 0.0 and least < -max(ROUNDING * largest, patient.noise(inertia.mass, inertia.com())):
            reason = (
                f"the body that joint '{joint.name}' moves (with what is fixed to it) has a second moment of mass of "
                f"{least:.3g} kg m^2; no positive mass has that, and forward dynamics can blow up."
            )
            yield about(patient.links[joint.child], "pseudo-inertia", least, reason, "Mend the inertias of its links.")


def center_of_mass(patient: Patient) -> Iterator[Finding]:
    """Centres of mass far outside the link."""
    for link in patient.sound:
        distance, size, radius = length(link.com), patient.scale, _gyration_radius(patient, link)
        if distance > (FAR * size if size > 0.0 else max(_REMOTE, _GROSS * radius)):
            other = (
                f"while the robot's links reach {size:.3g} m"
                if size > 0.0
                else f"with a radius of gyration of {radius:.3g} m"
            )
            reason = f"its centre of mass is {distance:.4g} m from the link origin, {other}."
            fix = "Check its units (millimetres?) and that it is given in link coordinates."
            yield about(link, "com", distance, reason, fix)


def units(patient: Patient) -> Iterator[Finding]:
    """Radii of gyration that do not fit the size of the link: usually inertia in wrong units."""
    for link in patient.sound:
        largest, distance = patient.moments[link.name][2], length(link.com)
        if not largest > patient.noise(link.mass, link.com):
            continue
        radius = _gyration_radius(patient, link)
        own, size = patient.sizes[link.name], patient.scale
        if (radius > WIDE * size) if size > 0.0 else (distance > 0.0 and radius > max(_REMOTE, _GROSS * distance)):
            other = f"the robot's links reach {size:.3g}" if size > 0.0 else f"its centre of mass is at {distance:.3g}"
            reason = _unfitting(link, largest, radius, other)
            yield about(link, "units", radius, reason, "Check the units of the inertia: kg m^2, not kg mm^2 or g cm^2.")
        elif own > 0.0 and radius < NARROW * own:
            reason = _unfitting(link, largest, radius, f"the link reaches {own:.3g}")
            yield about(link, "units", radius, reason, "Check the units of the inertia (kg m^2) and of the mass (kg).")


def _unfitting(link: LinkRecord, moment: float, radius: float, other: str) -> str:
    data = f"mass {link.mass:g} kg and inertia {moment:.3g} kg m^2"
    return f"{data} mean a radius of gyration of {radius:.3g} m, while {other} m."


def _gyration_radius(patient: Patient, link: LinkRecord) -> float:
    """The largest radius of gyration of a sound link."""
    return math.sqrt(max(patient.moments[link.name][2], 0.0) / link.mass)


def no_inertial(patient: Patient) -> Iterator[Finding]:
    """Links that have a shape but no mass data."""
    if patient.lacking.massless:
        return
    for link in patient.odd:
        if link.geometry and not link.inertial and patient.body[link.name] != WORLD:
            fix = (
                "Add mass, centre of mass and inertia, estimate them (robot.with_inertia_from_geometry), or remove the "
                "shape if it is not a part."
            )
            yield about(link, "no-inertial", None, "it has a shape but no inertial element.", fix)


def estimated(patient: Patient) -> Iterator[Finding]:
    """Mass data that are not the source's but were worked out from shapes."""
    for link in patient.odd:
        if link.estimated:
            reason = f"its mass, {link.mass:.4g} kg, and inertia are an estimate from {link.estimated}."
            yield about(link, "estimated", link.mass, reason, "Replace them where they are known.")
