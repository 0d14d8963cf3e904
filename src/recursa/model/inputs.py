"""Numbers and names that users hand in, made plain, with errors that name them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from numbers import Real
from typing import Any

from recursa.errors import ModelError
from recursa.model.description import Elasticity, Friction, Rotor
from recursa.spatial.scalars import Formula, scalar_of
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import SymMat3, Vec3

_TEXT = (str, bytes, bytearray)


def name_of(value: Any, what: str) -> str:
    """A name: text that is not empty and can be printed on one line."""
    if not isinstance(value, str):
        raise ModelError(f"{what} must be a name, not {value!r}")
    if not value.strip():
        raise ModelError(f"{what} must be a name; it is empty")
    if any(_is_control(ord(character)) for character in value):
        raise ModelError(f"{what} must be a name without control characters, not {value!r}")
    return str(value)


def _is_control(code: int) -> bool:
    return code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000


def unused(base: str, taken: Collection[str]) -> str:
    """``base``, or ``base2``, ``base3``, ...: the first that is not taken.

    >>> unused("arm", {"arm", "arm2"})
    'arm3'
    """
    if base not in taken:
        return base
    return next(name for number in count(2) if (name := f"{base}{number}") not in taken)


def claimed(base: str, taken: set[str]) -> str:
    """A name that is :func:`unused`, and is taken from then on."""
    name = unused(base, taken)
    taken.add(name)
    return name


def floats(value: Any, size: int, what: str) -> tuple[float, ...]:
    """``size`` floats from a number or a sequence; anything else is a ModelError that names ``what``."""
    return _each(value, size, what, float)


def scalars(value: Any, size: int, what: str) -> tuple[Any, ...]:
    """The same where SymPy's symbols may stand for numbers: those become formulas."""
    return _each(value, size, what, scalar_of)


def _each(value: Any, size: int, what: str, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    alone = size == 1 and not isinstance(value, Sequence) and not getattr(value, "shape", ())
    try:
        items = [read(x) for x in ([value] if alone or isinstance(value, _TEXT) else value)]  # "123" is not (1, 2, 3)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be {_numbers(size)}, not {value!r}") from None
    except OverflowError:
        raise _too_large(what) from None
    if len(items) != size:
        raise ModelError(f"{what} must be {_numbers(size)}, not {len(items)}: {value!r}")
    return tuple(items)


def finite(value: Any, what: str) -> float:
    """One finite float."""
    number = floats(value, 1, what)[0]
    if not math.isfinite(number):
        raise ModelError(f"{what} must be finite, not {value!r}")
    return number


def finite_scalar(value: Any, what: str) -> Any:
    """One finite float, or a formula."""
    number = scalars(value, 1, what)[0]
    return number if isinstance(number, Formula) else finite(number, what)


def per_freedom(value: Any, nv: int, what: str) -> tuple[Any, ...]:
    """One number or formula for all freedoms of a joint, or one for each."""
    if nv != 1 and (isinstance(value, Real) or getattr(value, "free_symbols", None)):
        return scalars(value, 1, what) * nv
    return scalars(value, nv, what) if nv else ()


def frictions(value: Any, nv: int, what: str) -> tuple[Friction, ...]:
    """One number for all freedoms of a joint, or for each a number or a pair; of a single freedom also a pair alone.

    >>> frictions((0.4, 0.5), 1, "friction"), frictions([0.1, (0.2, 0.3), 0.4], 3, "friction")
    (((0.4, 0.5),), (0.1, (0.2, 0.3), 0.4))
    """
    if nv == 0 or isinstance(value, Real):
        return per_freedom(value, nv, what)
    try:
        items = list(value)
    except TypeError:
        items = []
    if nv == 1 and len(items) == 2:
        items = [items]
    if isinstance(value, _TEXT) or len(items) != nv:
        wanted = "a number, or a pair for both directions" if nv == 1 else f"{nv} entries, each a number or a pair"
        raise ModelError(f"{what} must be {wanted}, not {value!r}")
    pairs = [isinstance(item, Sequence) or getattr(item, "shape", ()) == (2,) for item in items]
    found = (floats(item, 1 + pair, what) for item, pair in zip(items, pairs, strict=True))
    return tuple(one[0] if len(one) == 1 else (one[0], one[1]) for one in found)


def limits_of(value: Any, what: str) -> tuple[float, float] | None:
    """(lower, upper), or None."""
    if value is None:
        return None
    lower, upper = floats(value, 2, what)
    return lower, upper


def symmetric(value: Any, what: str) -> SymMat3:
    """A symmetric matrix from 3x3 rows, from its diagonal, or from (xx, yy, zz, xy, xz, yz)."""
    if getattr(value, "free_symbols", None) and hasattr(value, "tolist"):  # SymPy's matrices are walked entry by entry
        value = value.tolist()
    try:
        items = [[scalar_of(x) for x in row] if hasattr(row, "__len__") else scalar_of(row) for row in value]
    except (TypeError, ValueError):
        items = []
    except OverflowError:
        raise _too_large(what) from None
    flat = [x for x in items if not isinstance(x, list)]
    if len(flat) == len(items) == 3:
        return SymMat3.diagonal(*flat)
    if len(flat) == len(items) == 6:
        return SymMat3(*flat)
    rows = [x for x in items if isinstance(x, list)]
    if len(rows) == len(items) == 3 and all(len(row) == 3 for row in rows):
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rows
        scale = max((abs(x) for row in rows for x in row if isinstance(x, float)), default=0.0)
        if not all(_same(*two, 1e-9 * scale) for two in ((xy, yx), (xz, zx), (yz, zy))):
            raise ModelError(f"{what} must be symmetric; off-diagonal entries differ: {value!r}")
        return SymMat3(xx, yy, zz, 0.5 * (xy + yx), 0.5 * (xz + zx), 0.5 * (yz + zy))
    raise ModelError(f"{what} must be 3x3, or (xx, yy, zz), or (xx, yy, zz, xy, xz, yz), not {value!r}")


def _same(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two numbers are the same but for rounding, or two formulas are."""
    gap = one - other
    return gap == 0 if isinstance(gap, Formula) else not abs(gap) > tolerance


def placement(xyz: Any, rpy: Any, where: str) -> Transform:
    """A placement from position and roll-pitch-yaw, all finite."""
    position = [finite_scalar(x, f"{where}: xyz") for x in scalars(xyz, 3, f"{where}: xyz")]
    angles = [finite_scalar(x, f"{where}: rpy") for x in scalars(rpy, 3, f"{where}: rpy")]
    return Transform.from_xyz_rpy(position, angles)


def pose_of(value: Any, what: str) -> Transform:
    """A pose from a 4x4 matrix, or from position and roll-pitch-yaw: ``(xyz, rpy)``."""
    if isinstance(value, Transform):
        return value
    try:
        rows = [list(row) for row in value]
    except TypeError:
        rows = []
    if [len(row) for row in rows] == [3, 3]:
        return placement(rows[0], rows[1], what)
    if [len(row) for row in rows] != [4, 4, 4, 4]:
        raise ModelError(f"{what} must be a 4x4 matrix, or position and roll-pitch-yaw: (xyz, rpy)")
    numbers = [[finite(x, what) for x in row] for row in rows]
    pose = Transform.from_matrix(numbers)
    require_rotation(pose, what)
    if numbers[3] != [0.0, 0.0, 0.0, 1.0]:
        raise ModelError(f"{what}: the last row of a pose is 0 0 0 1, not {numbers[3]}")
    return pose


def require_rotation(pose: Transform, what: str) -> None:
    """Columns of unit length, at right angles, right-handed; to 1e-9."""
    x, y, z = pose.rotation.columns()
    off = [x.dot(x) - 1.0, y.dot(y) - 1.0, x.dot(y), *(x.cross(y) - z)]
    if not all(abs(number) <= 1e-9 for number in off):
        raise ModelError(f"{what}: its nine numbers are no rotation matrix")


def _too_large(what: str) -> ModelError:
    return ModelError(f"{what} contains a whole number too large for a float")


def _numbers(size: int) -> str:
    return "a number" if size == 1 else f"{size} numbers"


def rotor_of(value: Any, what: str) -> Rotor | None:
    """A rotor: the record, or its fields by name; None for none."""
    if value is None:
        return None
    try:
        rotor = Rotor(**value) if isinstance(value, Mapping) else value
    except TypeError as error:
        raise ModelError(f"{what} takes rc.Rotor(inertia, ratio) or a mapping of its fields: {error}") from None
    if not isinstance(rotor, Rotor):
        raise ModelError(f"{what} must be an rc.Rotor, a mapping of its fields or None, not {value!r}")
    mount = name_of(rotor.mount, f"{what}: mount")
    inertia, ratio = finite(rotor.inertia, f"{what}: inertia"), finite(rotor.ratio, f"{what}: ratio")
    axis = rotor.axis
    if axis is not None:
        axis = Vec3(*(finite(x, f"{what}: axis") for x in floats(axis, 3, f"{what}: axis")))
        if not any(axis):
            raise ModelError(f"{what}: axis must have a direction; it is zero")
    return Rotor(inertia, ratio, axis, mount, bool(rotor.included), bool(rotor.coupled))


def elasticity_of(value: Any, what: str) -> Elasticity | None:
    """The spring behind a gear: a stiffness, or (stiffness, damping), or both by name; None for a stiff gear."""
    if value is None:
        return None
    if isinstance(value, Elasticity):
        numbers: tuple[Any, ...] = (value.stiffness, value.damping)
    elif isinstance(value, Mapping):
        if not set(value) <= {"stiffness", "damping"} or "stiffness" not in value:
            raise ModelError(f"{what} takes stiffness and damping by name, not {', '.join(map(str, value))}")
        numbers = (value["stiffness"], value.get("damping", 0.0))
    else:
        numbers = (value, 0.0) if isinstance(value, Real) else floats(value, 2, f"{what}, (stiffness, damping),")
    stiffness, damping = (
        finite(x, f"{what}: {name}") for x, name in zip(numbers, ("stiffness", "damping"), strict=True)
    )
    return Elasticity(stiffness, damping)
