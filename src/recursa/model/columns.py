"""What columns of q and of v, a, tau are called, and their units.

A joint of one freedom gives its name to its column. Others have several columns:

- coordinates, in the order of q: ``root.x``, ``.y``, ``.z``, ``.qx``, ``.qy``, ``.qz``, ``.qw`` of a free joint,
  ``.qx`` to ``.qw`` of a spherical one, ``.x``, ``.y``, ``.theta`` of a planar one;
- freedoms, in the order of v, in child axes: ``.rx``, ``.ry``, ``.rz`` (turning) and ``.tx``, ``.ty``, ``.tz`` (moving
  along).

Tied joints have no columns.
"""

from __future__ import annotations

from collections.abc import Iterator

from recursa.model.model import Joint, Model

CONVENTIONS = (
    "six-vectors angular first; quaternions (x, y, z, w); v and forces of free joints in link axes; "
    "bodies numbered base first, depth first; SI units, radians"
)
"""For whoever reads numbers of ours."""


def coordinate_names(model: Model) -> tuple[str, ...]:
    """One name per entry of q; see :attr:`recursa.Robot.q_names`."""
    return tuple(name for joint in _own(model) for name in _names(joint, joint.kind.q_parts))


def freedom_names(model: Model) -> tuple[str, ...]:
    """One name per entry of v, a and tau; see :attr:`recursa.Robot.v_names`."""
    return tuple(name for joint in _own(model) for name in _names(joint, joint.kind.v_parts))


def coordinate_units(model: Model) -> tuple[str, ...]:
    """ "rad", "m", or "1" for components of a quaternion, per entry of q."""
    return tuple(unit for joint in _own(model) for unit in joint.kind.q_units)


def angular(model: Model) -> tuple[bool, ...]:
    """Whether a freedom turns (rad, N m) or slides (m, N), per entry of v."""
    return tuple(turns for joint in _own(model) for turns in joint.kind.angular)


def _own(model: Model) -> Iterator[Joint]:
    return (joint for joint in model.joints if joint.independent)


def _names(joint: Joint, parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{joint.name}.{part}" for part in parts) or (joint.name,)
