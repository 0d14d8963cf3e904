"""Masses and moments as MuJoCo accepts them: positive, within the triangle inequality, and some in every moving body.

What moves is a link with everything that is fixed to it. MuJoCo looks at every link alone: where it would refuse one of
them, all of their mass is written with the link that carries the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from recursa.errors import ModelError
from recursa.formats.mjcf_numbers import inertial_frame
from recursa.formats.xml_text import numbers
from recursa.model.description import JointRecord, LinkRecord
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.principal import principal_axes
from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import SYM_ZERO, ZERO

LEAST = 2e-15
"""MuJoCo requires masses and moments of moving bodies above 1e-15: where there is nothing, this is written."""

_ROUNDING = 1e-9  # moments may miss the triangle inequality by this fraction, as for the doctor

Links = Mapping[str, LinkRecord]
Below = Mapping[str, Sequence[JointRecord]]
"""The joints on every link, by its name."""


def accepted(links: Links, below: Below, root: str, in_world: bool) -> tuple[dict[str, LinkRecord], list[str]]:
    """The links with inertias that MuJoCo accepts, and the names of those that stand still and have lost theirs.

    ``root`` is the link that does not move, ``in_world`` whether it is the world itself, which has no inertia there.
    A body that moves and has an inertia that none can have is a ModelError.
    """
    changed, lost = dict(links), list[str]()
    moving = [joint.child for joints in below.values() for joint in joints if joint.kind != "fixed"]
    for carrier in (root, *moving):
        group = [(links[name], placed) for name, placed in _fixed_together(carrier, below)]
        if not any(_objection(link) for link, _ in group):
            continue
        merged = _merged(links[carrier], group)
        reason = _objection(merged)
        if carrier == root and (in_world or reason):
            lost += [link.name for link, _ in group if _objection(link)]
            changed |= {name: _massless(links[name]) for name in lost}
        elif reason:
            raise _impossible(merged, [link.name for link, _ in group], reason)
        else:
            changed |= {link.name: _massless(link) for link, _ in group} | {carrier: merged}
    return changed, lost


def _fixed_together(carrier: str, below: Below) -> list[tuple[str, Transform]]:
    """A link and all that are fixed to it, with their poses in it."""
    found = [(carrier, IDENTITY_TRANSFORM)]
    for name, placed in found:
        found += [
            (joint.child, placed @ joint.placement @ joint.after) for joint in below[name] if joint.kind == "fixed"
        ]
    return found


def _merged(carrier: LinkRecord, group: Sequence[tuple[LinkRecord, Transform]]) -> LinkRecord:
    total = RigidInertia.zero()
    for link, placed in group:
        total += placed.inertia(RigidInertia.from_com(link.mass, link.com, link.inertia))
    com = total.com() if total.mass else ZERO
    return replace(carrier, mass=total.mass, com=com, inertia=total.moment_about_com() if total.mass else total.moment)


def _massless(link: LinkRecord) -> LinkRecord:
    return replace(link, mass=0.0, com=ZERO, inertia=SYM_ZERO)


def _objection(link: LinkRecord) -> str:
    """Why MuJoCo refuses the inertia of a link; empty if it does not."""
    if not all(math.isfinite(x) for x in (link.mass, *link.com, *link.inertia)):
        return "masses and moments must be finite"
    low, middle, high = sorted(principal_axes(link.inertia)[0])
    rounding = max(_ROUNDING * high, LEAST)
    if link.mass < 0.0 or low < -rounding:
        return "masses and moments must not be negative"
    short = high - middle - low
    return f"the largest moment exceeds the sum of the others by {short:.3g} kg m^2" if short > rounding else ""


def _impossible(link: LinkRecord, names: Sequence[str], reason: str) -> ModelError:
    moments = ", ".join(f"{x:.4g}" for x in principal_axes(link.inertia)[0])
    others = [f"'{name}'" for name in names if name != link.name]
    those = f" with what is fixed to it ({', '.join(others)})" if others else ""
    what = f"link '{link.name}'{those} has a mass of {link.mass:g} kg and principal moments ({moments}) kg m^2"
    return ModelError(f"{what}, which MuJoCo refuses: {reason}. robot.doctor() tells more")


def mass_data(link: LinkRecord, least: bool) -> dict[str, str]:
    """The attributes of an accepted inertia; ``least``: with as much as a moving body must have."""
    moments, axes = inertial_frame(link.inertia, link.com)
    floor = LEAST if least else 0.0
    kept = [max(moment, floor) for moment in moments]
    place = kept.index(max(kept))
    kept[place] = min(kept[place], sum(kept) - kept[place])
    turned = {"quat": quaternion(axes)} if axes != IDENTITY else {}
    mass = {"mass": numbers(max(link.mass, floor)), "diaginertia": numbers(*kept)}
    return {"pos": numbers(*link.com), **turned, **mass}


def carries(link: str, links: Links, below: Below) -> bool:
    """Whether something that is fixed to a link satisfies MuJoCo's compiler in its place."""
    others = (links[name] for name, _ in _fixed_together(link, below)[1:])
    return any(other.mass >= LEAST and min(principal_axes(other.inertia)[0]) >= LEAST for other in others)


def quaternion(rotation: Rotation) -> str:
    """The quaternion of a rotation as MuJoCo reads it, w first."""
    x, y, z, w = rotation.quaternion()
    return numbers(w, x, y, z)
