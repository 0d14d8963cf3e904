"""What columns of q and of v, a, tau are called, and their units.

A joint of one freedom gives its name to its column. Others have several columns:

- coordinates, in the order of q: ``root.x``, ``.y``, ``.z``, ``.qx``, ``.qy``, ``.qz``, ``.qw`` of a free joint,
  ``.qx`` to ``.qw`` of a spherical one, ``.x``, ``.y``, ``.theta`` of a planar one;
- freedoms, in the order of v, in child axes: ``.rx``, ``.ry``, ``.rz`` (turning) and ``.tx``, ``.ty``, ``.tz`` (moving
  along).

Tied joints have no columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from recursa.model.model import Joint, Model
from recursa.spatial.scalars import Formula, scalar_of

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


def freedom_name(model: Model, freedom: int) -> str:
    """A freedom in words: "joint 'elbow'", or "joint 'root', freedom 4 of 6".

    >>> import recursa as rc
    >>> freedom_name(rc.robots.free_flyer(1).model, 3)
    "joint 'root', freedom 4 of 6"
    """
    joint = next(j for j in model.joints if j.independent and j.v_start <= freedom < j.v_start + j.kind.nv)
    where = "" if joint.kind.nv == 1 else f", freedom {freedom - joint.v_start + 1} of {joint.kind.nv}"
    return f"joint '{joint.name}'{where}"


def coordinate_units(model: Model) -> tuple[str, ...]:
    """ "rad", "m", or "1" for components of a quaternion, per entry of q."""
    return tuple(unit for joint in _own(model) for unit in joint.kind.q_units)


_UNITS = {"v": ("rad/s", "m/s"), "a": ("rad/s^2", "m/s^2"), "tau": ("N m", "N")}  # of what turns, of what slides


def named_columns(model: Model, quantity: str) -> list[tuple[str, str]]:
    """Name and unit of every entry of "q", "v", "a" or "tau".

    >>> import recursa as rc
    >>> named_columns(rc.robots.planar(1).model, "tau")
    [('joint1', 'N m')]
    """
    if quantity == "q":
        return list(zip(coordinate_names(model), coordinate_units(model), strict=True))
    turning, sliding = _UNITS[quantity]
    units = (turning if turns else sliding for turns in angular(model))
    return list(zip(freedom_names(model), units, strict=True))


def angular(model: Model) -> tuple[bool, ...]:
    """Whether a freedom turns (rad, N m) or slides (m, N), per entry of v."""
    return tuple(turns for joint in _own(model) for turns in joint.kind.angular)


def _own(model: Model) -> Iterator[Joint]:
    return (joint for joint in model.joints if joint.independent)


def _names(joint: Joint, parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{joint.name}.{part}" for part in parts) or (joint.name,)


# ---- symbols that stand for numbers of a robot: which there are, and values put in their place -----------------------


_Record = TypeVar("_Record")


def symbols_of(model: Model) -> frozenset[Any]:
    """SymPy's symbols in the numbers of a model."""
    return frozenset(x for one in _formulas((model.description, model.gravity)) for x in one.of.free_symbols)


def _formulas(value: Any) -> Iterator[Formula]:
    if isinstance(value, Formula):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _formulas(part)
    elif is_dataclass(value):
        for item in fields(value):
            yield from _formulas(getattr(value, item.name))


def with_values(value: _Record, values: Mapping[Any, Any]) -> _Record:
    """A record with values for some symbols; a formula without any symbols left is a float."""
    made: Any = value
    if isinstance(value, Formula):
        made = scalar_of(value.of.subs(values, simultaneous=True))
    elif isinstance(value, tuple):
        parts = [with_values(part, values) for part in value]
        made = type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    elif is_dataclass(value) and not isinstance(value, type) and any(_formulas(value)):
        made = replace(value, **{item.name: with_values(getattr(value, item.name), values) for item in fields(value)})
    return made  # type: ignore[no-any-return]
