"""States in another library's order of joints, and in its layout of free, ball and other joints.

An array in another order has the right length and makes sense to nobody but its owner, so the order is named joint by
joint. Layouts are data: where a joint's numbers are in the other library's block, and for the few that are not the
same numbers a function each way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from recursa.errors import NoSweepError, ShapeError, StateError, UnknownNameError, shortened, unknown_name
from recursa.model.joint_kind import JointKind
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial.rotation import Quaternion, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM
from recursa.sweeps.batching import Array, as_numbers

Layout = Literal["recursa", "pinocchio", "mujoco", "drake", "idyntree"]
StatePart = Literal["q", "v"]
LAYOUTS: tuple[str, ...] = get_args(Layout)

Change = Callable[[Array], Array]


class Block(NamedTuple):
    """The numbers of one joint in another library: how many, and how they become ours and ours theirs."""

    size: int
    here: Change
    there: Change


def reordered(
    model: Model, values: Any, names: Sequence[str], *, layout: str, quantity: str | None, q: Any, inverse: bool
) -> Array:
    """See :meth:`recursa.Robot.reorder`."""
    if layout not in LAYOUTS:
        raise unknown_name("layout", layout, LAYOUTS)
    if quantity not in (None, "q", "v"):
        raise unknown_name("quantity", str(quantity), ("q", "v"))
    order = _order(model, names)
    array = as_numbers("values", values, model.nq)
    kind = quantity or _told_by_length(model, array, order, layout, inverse)
    blocks = [_block(model, joint, kind, layout, q) for joint in order]
    size = (model.nq if kind == "q" else model.nv) if inverse else sum(block.size for block in blocks)
    if array.ndim == 0 or array.shape[-1] != size:
        raise _wrong_length(model, array, order, layout, inverse, (kind,))
    return _theirs(array, order, blocks, kind) if inverse else _ours(model, array, order, blocks)


def _ours(model: Model, array: Array, order: Sequence[Joint], blocks: Sequence[Block]) -> Array:
    parts: dict[str, Array] = {}
    for joint, block, start in zip(order, blocks, _starts(blocks), strict=True):
        parts[joint.name] = block.here(array[..., start : start + block.size])
    own = [parts[joint.name] for joint in model.joints if joint.independent]
    return _joined(array, own)


def _theirs(array: Array, order: Sequence[Joint], blocks: Sequence[Block], kind: str) -> Array:
    parts = []
    for joint, block in zip(order, blocks, strict=True):
        start, size = (joint.q_start, joint.kind.nq) if kind == "q" else (joint.v_start, joint.kind.nv)
        own = array[..., start : start + size]
        if joint.tie is not None:
            own = own * joint.tie.multiplier + (joint.tie.offset if kind == "q" else 0.0)
        parts.append(block.there(own))
    return _joined(array, parts)


def _joined(array: Array, parts: Sequence[Array]) -> Array:
    if not parts:
        return array.copy()
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))  # that of q, where it is larger
    spread = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts]
    return np.concatenate(spread, axis=-1).astype(array.dtype, copy=False)


def _starts(blocks: Sequence[Block]) -> Iterator[int]:
    start = 0
    for block in blocks:
        yield start
        start += block.size


# ---- names -----------------------------------------------------------------------------------------------------------


def _order(model: Model, names: Sequence[str]) -> list[Joint]:
    """The joints in the order of the names, each once; fixed joints and Pinocchio's "universe" hold no numbers.

    The name of a compound joint stands for its parts, which are one joint elsewhere: "wrist" for "wrist.1", "wrist.2".
    """
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise StateError(f"names must be joint names, in the order in which the array holds them, not {names!r}")
    joints = {joint.name: joint for joint in model.joints}
    fixed = {joint.name for joint in model.description.joints if joint.kind == "fixed"}
    named = [name for name in names if name in joints or name not in (*fixed, "universe")]
    given = [part for name in named for part in ([name] if name in joints else _parts(name, joints))]
    doubled = sorted({name for name in given if given.count(name) > 1})
    if doubled:
        raise UnknownNameError(f"{shortened([repr(name) for name in doubled])} stands twice among the names")
    missing = [joint for joint in model.joints if joint.independent and joint.name not in given]
    unknown = [name for name in given if name not in joints]
    if len(unknown) == len(missing) == 1 and missing[0].kind.is_free:
        joints[unknown[0]], unknown, missing = missing[0], [], []  # the base, which everyone calls otherwise
    if unknown:
        raise unknown_name(
            "joint", unknown[0], [joint.name for joint in missing] or joints, owner=f"robot '{model.name}'"
        )
    if missing:
        listed = shortened([f"'{joint.name}'" for joint in missing])
        raise UnknownNameError(
            f"the names leave out {listed}: name every joint of robot '{model.name}', in the order of the array"
        )
    return [joints[name] for name in given]


def _parts(name: str, joints: Iterable[str]) -> list[str]:
    """The parts of a compound joint; the name itself where there are none."""
    return [joint for joint in joints if joint.startswith(f"{name}.")] or [name]


# ---- lengths ---------------------------------------------------------------------------------------------------------


def _told_by_length(model: Model, array: Array, order: Sequence[Joint], layout: str, inverse: bool) -> str:
    """Whether values are coordinates or speeds, where their number tells."""
    length = array.shape[-1] if array.ndim else 0
    fitting = [kind for kind in ("q", "v") if length == _length(model, order, layout, inverse, kind)]
    if not fitting:
        raise _wrong_length(model, array, order, layout, inverse, ("q", "v"))
    same = layout == "recursa" or not any(joint.kind.nv > 1 for joint in order)
    if len(fitting) == 2 and not same:
        raise StateError(
            f'{length} numbers can be coordinates or speeds, which layout "{layout}" arranges differently: give '
            'quantity="q" or quantity="v"'
        )
    return fitting[0]


def _length(model: Model, order: Sequence[Joint], layout: str, inverse: bool, kind: str) -> int:
    if inverse:
        return model.nq if kind == "q" else model.nv
    return sum(_size(joint, kind, layout) for joint in order)


def _wrong_length(
    model: Model, array: Array, order: Sequence[Joint], layout: str, inverse: bool, kinds: Sequence[str]
) -> ShapeError:
    words = {"q": "coordinates", "v": "speeds"}
    wanted = " or ".join(f"(..., {_length(model, order, layout, inverse, kind)}) for {words[kind]}" for kind in kinds)
    whose = f"robot '{model.name}'" if inverse else f'the {len(order)} joints named, in layout "{layout}"'
    return ShapeError(f"values have shape {array.shape}, expected {wanted} of {whose}")


# ---- layouts ---------------------------------------------------------------------------------------------------------


def _same(part: Array) -> Array:
    return part


def _picked(*places: int) -> tuple[Change, Change]:
    """Ours are theirs at these places, and back."""
    back = np.argsort(places)
    return (lambda part: part[..., list(places)]), (lambda part: part[..., back])


def to_angle(part: Array) -> Array:
    """The last two numbers, cosine and sine, as the angle that ends our coordinates."""
    return np.concatenate([part[..., :-2], np.arctan2(part[..., -1:], part[..., -2:-1])], axis=-1)


def to_cosine_and_sine(part: Array) -> Array:
    """The way back from :func:`to_angle`."""
    return np.concatenate([part[..., :-1], np.cos(part[..., -1:]), np.sin(part[..., -1:])], axis=-1)


def _change(kind: JointKind, layout: str, quantity: str) -> tuple[Change, Change]:
    """How the numbers of a joint become ours, and ours theirs."""
    if quantity == "v" and (layout == "pinocchio" or (layout == "idyntree" and kind.is_free)):
        return _picked(*np.argsort(kind.linear_first))  # iDynTree's are in the axes that one asks for
    if _has_one_more(kind, layout, quantity):
        return to_angle, to_cosine_and_sine
    if layout == "mujoco" and quantity == "q" and kind.quaternion is not None:  # w first
        w = kind.quaternion
        return _picked(*range(w), w + 1, w + 2, w + 3, w)
    if layout == "drake" and quantity == "q" and kind.is_free:  # quaternion first, w first
        return _picked(4, 5, 6, 1, 2, 3, 0)
    return _same, _same


_LACKING: dict[str, Callable[[JointKind], bool]] = {
    "mujoco": lambda kind: kind.has_plane or kind.has_pitch,
    "drake": lambda kind: kind.has_plane or kind.is_ball,  # Drake's ball joints have angles
}
"""Joints that a layout has no numbers for."""


def _has_one_more(kind: JointKind, layout: str, quantity: str) -> bool:
    """Whether an angle is two numbers there, cosine and sine."""
    return layout == "pinocchio" and quantity == "q" and kind.has_endless_angle


def _size(joint: Joint, quantity: str, layout: str) -> int:
    own = joint.kind.nq if quantity == "q" else joint.kind.nv
    return own + _has_one_more(joint.kind, layout, quantity)


def _block(model: Model, joint: Joint, kind: str, layout: str, q: Any) -> Block:
    free = joint.kind.is_free
    if layout in _LACKING and _LACKING[layout](joint.kind):
        raise NoSweepError(f"joint '{joint.name}' is {joint.kind}, and layout \"{layout}\" has no joint of that kind")
    absolute = {"mujoco": "MuJoCo", "drake": "Drake"}.get(layout)
    if absolute and free and (joint.parent != WORLD or joint.placement != IDENTITY_TRANSFORM):
        also = ". recursa.interop.mujoco converts such states" if layout == "mujoco" else ""
        raise NoSweepError(
            f"joint '{joint.name}' does not start at the world's origin, from which {absolute} counts free joints{also}"
        )
    if free and layout == "idyntree" and kind == "q":
        raise NoSweepError(
            f"joint '{joint.name}': iDynTree and adam have the pose of a base as a 4x4 matrix beside the coordinates. "
            'Its speeds can be reordered: give quantity="v"'
        )
    if absolute and free and kind == "v":
        return Block(6, *_world_axes(model, joint, q, absolute))
    return Block(_size(joint, kind, layout), *_change(joint.kind, layout, kind))


def _world_axes(model: Model, joint: Joint, q: Any, whose: str) -> tuple[Change, Change]:
    """Speeds of a free body. MuJoCo: linear first, in world axes, angular in body axes. Drake: both in world axes."""
    if q is None:
        raise StateError(
            f"the speeds of joint '{joint.name}' are in world axes in {whose}: give the configuration as q=, in the "
            "robot's own order"
        )
    state = as_numbers("q", q, model.nq)
    if state.shape[-1:] != (model.nq,):
        raise ShapeError(f"q has shape {state.shape}, expected (..., {model.nq}), in the order of robot '{model.name}'")
    quaternion = np.moveaxis(state[..., joint.q_start + 3 : joint.q_start + 7], -1, 0)
    turn = np.stack(Rotation.from_quaternion(Quaternion(*quaternion)), axis=-1).reshape(*state.shape[:-1], 3, 3)

    def inward(vectors: Array) -> Array:
        return np.einsum("...ji,...j->...i", turn, vectors)

    def outward(vectors: Array) -> Array:
        return np.einsum("...ij,...j->...i", turn, vectors)

    if whose == "Drake":
        return (
            lambda part: _pair(inward(part[..., :3]), inward(part[..., 3:])),
            lambda part: _pair(outward(part[..., :3]), outward(part[..., 3:])),
        )
    return (
        lambda part: _pair(part[..., 3:], inward(part[..., :3])),
        lambda part: _pair(outward(part[..., 3:]), part[..., :3]),
    )


def _pair(first: Array, second: Array) -> Array:
    return np.concatenate(np.broadcast_arrays(first, second), axis=-1)
