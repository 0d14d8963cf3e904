"""What arrays of joint numbers with the wrong shape most likely are, and what to do: the end of an error message."""

from __future__ import annotations

from recursa.model.model import WORLD, Model

_BASE_NQ, _BASE_NV = 7, 6


def shape_advice(model: Model, name: str, shape: tuple[int, ...], *, coordinates: bool) -> str:
    """A sentence behind ``robot 'arm' has nq = 7``; empty where nothing is likely.

    >>> import recursa as rc
    >>> shape_advice(rc.robots.planar(2).model, "q", (2, 50), coordinates=True)
    '. One row per state is expected, and this looks transposed: pass q.T'
    """
    size, base = (model.nq, _BASE_NQ) if coordinates else (model.nv, _BASE_NV)
    last = shape[-1] if shape else None
    root = next((joint for joint in model.joints if joint.parent == WORLD), None)
    floating = root is not None and root.kind.is_free
    if coordinates and last == _pinocchio_size(model) != size:
        return (
            f". In Pinocchio it has {last}: cosine and sine of an angle where one number is here, as of joint "
            f"'{_with_two_numbers(model)[0]}'. robot.reorder(q, names, layout=\"pinocchio\") converts them"
        )
    if not floating and size and last == size + base:
        what = "the pose" if coordinates else "the velocity"
        return (
            f". These are {base} more, as many as {what} of a free base has. Was floating=True forgotten in rc.load or "
            "rc.robots?"
        )
    if floating and last == size - base > 0 and root is not None:
        first = "its pose" if coordinates else "zeros for torques, because nothing drives it"
        zeros = "[0, 0, 0, 0, 0, 0, 1]" if coordinates else f"np.zeros({base})"
        if len(shape) > 1:
            zeros = f"np.broadcast_to({zeros}, ({', '.join(map(str, shape[:-1]))}, {base}))"
        return (
            f". These are the numbers of the joints alone; the {base} of the free base '{root.name}' come first "
            f"({first}): "
            f"np.concatenate([{zeros}, {name}], axis=-1)"
        )
    if len(shape) > 1 and shape[-2] == size:
        turned = f"{name}.T" if len(shape) == 2 else f"np.swapaxes({name}, -1, -2)"
        return f". One row per state is expected, and this looks transposed: pass {turned}"
    return ""


def _with_two_numbers(model: Model) -> list[str]:
    """Joints whose angle is two numbers in Pinocchio, cosine and sine."""
    return [joint.name for joint in model.joints if joint.independent and joint.kind.has_endless_angle]


def _pinocchio_size(model: Model) -> int:
    """How many coordinates Pinocchio has of this robot."""
    return model.nq + len(_with_two_numbers(model))
