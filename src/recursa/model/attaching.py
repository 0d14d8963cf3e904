"""One robot on another: its root link welded to a link of the other's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from recursa.errors import ModelError, shortened
from recursa.model.description import Description, JointRecord, NamedState
from recursa.model.inputs import unused
from recursa.model.naming import prefixed, root_of, with_names, world_of
from recursa.spatial.transform import Transform


def attached(base: Description, other: Description, at: str, placement: Transform, prefix: str) -> Description:
    """Both in one; names that both have are an error that proposes a prefix.

    A root of the other that is the world becomes a massless link with the other's name.
    """
    moved = _mountable(base, prefixed(other, prefix), prefix)
    _require_apart(base, moved, prefix)
    root = root_of(moved)
    taken = {joint.name for joint in (*base.joints, *moved.joints)}
    mount = JointRecord(unused(f"{root}_mount", taken), "fixed", at, root, placement)
    return replace(
        base,
        links=(*base.links, *moved.links),
        joints=(*base.joints, mount, *moved.joints),
        closures=(*base.closures, *moved.closures),
        relations=(*base.relations, *moved.relations),
        constraints=(*base.constraints, *moved.constraints),
        actuators=(*base.actuators, *moved.actuators),
        states=_together(base.states, moved.states, taken),
        provenance="; ".join(dict.fromkeys(text for text in (base.provenance, other.provenance) if text)),
        notes=(*base.notes, *moved.notes),
    )


def _mountable(base: Description, other: Description, prefix: str) -> Description:
    world = world_of(other)
    if world is None:
        return other
    taken = {link.name for link in (*base.links, *other.links)}
    name = unused(prefix + other.name, taken)
    return with_names(other, lambda link: name if link == world else link, str, str)


def _require_apart(base: Description, other: Description, prefix: str) -> None:
    for what in ("links", "joints", "closures", "relations", "constraints", "actuators"):
        there = {item.name for item in getattr(base, what)}
        both = [item.name for item in getattr(other, what) if item.name and item.name in there]
        if both:
            listed = shortened([f"'{name}'" for name in both])
            proposal = f"Another prefix than '{prefix}'" if prefix else f"A prefix, such as prefix='{other.name}_',"
            raise ModelError(f"robot '{base.name}' has {what} called {listed} already. {proposal} tells them apart")


def _together(one: Iterable[NamedState], other: Iterable[NamedState], known: set[str]) -> tuple[NamedState, ...]:
    """States of the same name become one of both robots. The base of a free flyer is gone, and with it its values."""
    found: dict[str, NamedState] = {state.name: state for state in one}
    for state in other:
        q, v = (tuple(item for item in values if item[0] in known) for values in (state.q, state.v))
        before = found.get(state.name, NamedState(state.name, ()))
        found[state.name] = NamedState(state.name, (*before.q, *q), (*before.v, *v))
    return tuple(found.values())
