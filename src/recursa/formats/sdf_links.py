"""The links of SDF: masses and shapes."""

from __future__ import annotations

from recursa.formats.sdf_shapes import shapes_of
from recursa.formats.sdf_values import flag, marked, number, pose_of
from recursa.formats.xml import Element, clipped
from recursa.model.description import LinkRecord
from recursa.spatial.rotation import IDENTITY
from recursa.spatial.vec3 import SymMat3

_DIAGONAL = ("xx", "yy", "zz")


def link_record(name: str, element: Element) -> LinkRecord:
    """A link under its full name. What is not said is as the format says: one kilogram, one kilogram metre squared."""
    owner = f"link '{clipped(name)}'"
    inertial = element.child("inertial")
    if inertial is None:
        reason = f"{owner} has no <inertial>, which in SDF means 1 kg and 1 kg m^2 about every axis."
        element.forgive("default-mass", reason, "Write the masses that it has.")
    elif marked(inertial, "auto"):
        what = f'{owner}: <inertial auto="true"> leaves mass and inertia to be computed from shapes'
        raise inertial.error(f"{what}, which is not done here; write them down")
    elif inertial.child("fluid_added_mass") is not None:
        inertial.forgive("added-mass", f"{owner}: <fluid_added_mass> was passed over.", "Expect it to be missing.")
    _unmodelled(element, owner)
    placed = pose_of(None if inertial is None else inertial.child("pose"), owner)
    moments = None if inertial is None else inertial.child("inertia")
    entries = (number(moments, f"i{entry}", owner, float(entry in _DIAGONAL)) for entry in SymMat3._fields)
    tensor = SymMat3(*entries)
    return LinkRecord(
        name,
        mass=number(inertial, "mass", owner, 1.0),
        com=placed.translation,
        inertia=tensor if placed.rotation == IDENTITY else placed.rotation.symmetric(tensor),
        inertial=True,
        geometry=tuple(shapes_of(element, owner)),
        line=element.own_line,
    )


def _unmodelled(element: Element, owner: str) -> None:
    if not flag(element, "gravity", owner, True):
        element.forgive("weightless", f"{owner} is not to feel gravity, but it does here.", "Remove <gravity>.")
    if flag(element, "kinematic", owner):
        element.forgive("kinematic", f"{owner} is kinematic, but forces move it here.", "Remove <kinematic>.")
    decay = element.child("velocity_decay")
    if any(number(decay, tag, owner, 0.0) for tag in ("linear", "angular")):
        element.forgive("decay", f"{owner}: <velocity_decay> was passed over.", "Give the joints damping.")
