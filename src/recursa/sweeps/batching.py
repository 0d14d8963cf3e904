"""Arrays in, arrays out: checks the arguments, runs a plan over any batch, puts the results together.

One state runs on Python floats, a batch on NumPy columns, block by block; the results are the same to the bit, so a
row never depends on its place in the batch or on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recursa.errors import RecursaError, ShapeError, StateError, TooLargeError
from recursa.model.model import WORLD, Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps.engine import Values, run
from recursa.sweeps.input_kinds import kind_of_input
from recursa.sweeps.plan import Plan

_BASE_NQ, _BASE_NV = 7, 6


# ---- -----------------------------------------------------------------------------------------------------------------
# What arrays of joint numbers with the wrong shape most likely are, and what to do: the end of an error message.


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


Array = NDArray[Any]
Gather = Callable[[Values], Iterable[Scalar]]

_MOST_ROWS = 2**40
_BLOCK = 2048  # rows per run: columns of this length stay in the cache
_FLOAT_ROWS = 4  # up to here plain floats beat array columns
_UNIT_TOLERANCE = 1e-6
_UNIT_TOLERANCE_SINGLE = 1e-3


@dataclass(frozen=True)
class Batch:
    """Checked arguments: rows (B, n) by name, the batch shape they came with and the type of the result."""

    rows: dict[str, Array]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Number of states."""
        return math.prod(self.shape)


def interpret(model: Model, plan: Plan, batch: Batch, gather: Gather, flat: Array, workers: int = 1) -> None:
    """Run a plan for every state on Python floats or NumPy columns; ``flat`` (B, m) takes the results.

    ``gather`` lists the result's components, in C order, from the values of a run.
    """

    def work(rows: slice) -> None:
        with np.errstate(all="ignore"):  # nan and inf pass through, in their row only
            _fill(model, plan, batch, gather, flat, rows)

    blocks = [slice(start, start + _BLOCK) for start in range(0, batch.size, _BLOCK)]
    if workers > 1 and len(blocks) > 1:
        from concurrent.futures import ThreadPoolExecutor  # slow to import, seldom needed

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, blocks))
    else:
        for block in blocks:
            work(block)


def _fill(model: Model, plan: Plan, batch: Batch, gather: Gather, flat: Array, rows: slice) -> None:
    """Compute some rows of the flat result."""
    count = len(flat[rows])
    if batch.dtype == np.float64 and count <= _FLOAT_ROWS:
        for row in range(count):
            inputs = {name: values[rows][row].tolist() for name, values in batch.rows.items()}
            flat[rows][row] = list(gather(run(plan, model, inputs)))
        return
    columns = {name: list(np.ascontiguousarray(values[rows].T)) for name, values in batch.rows.items()}
    transposed = np.empty((flat.shape[1], count), flat.dtype)  # whole rows are written here, then turned once
    for number, component in enumerate(gather(run(plan, model, columns))):
        transposed[number] = component
    flat[rows] = transposed.T


def check_threads(threads: int | None) -> int:
    """How many threads to use; None is one."""
    if threads is None:
        return 1
    if not isinstance(threads, int | np.integer) or threads < 1:
        raise ShapeError(f"threads must be a positive whole number or None, not {threads!r}")
    return int(threads)


def checked_out(out: Array, wanted: tuple[int, ...], dtype: Any) -> Array:
    """The caller's array, if it can take a result of that shape and type."""
    if not isinstance(out, np.ndarray):
        raise ShapeError(f"out must be a NumPy array, not {type(out).__name__}")
    if out.shape != wanted:
        raise ShapeError(f"out has shape {out.shape}, the result has {wanted}")
    if not out.flags.writeable:
        raise ShapeError("out must be writeable; it is read-only")
    if not np.can_cast(dtype, out.dtype, "same_kind"):
        raise ShapeError(f"out must be able to hold {dtype}, not be of {out.dtype}")
    return out


def cut(array: Array, ends: Iterable[int]) -> Iterator[Array]:
    """Views of an array (..., n) in parts that end at these places, and the rest.

    It is ``np.split`` without its checks, which take longer than a kernel.
    """
    start = 0
    for end in ends:
        yield array[..., start:end]
        start = end
    yield array[..., start:]


def times(matrix: Array, vector: Array) -> Array:
    """Matrices (..., m, n) times vectors (..., n)."""
    return (matrix @ vector[..., None])[..., 0]  # type: ignore[no-any-return]


def in_rows(what: str, array: Array, batch: tuple[int, ...], tail: tuple[int, ...], expected: str) -> Array:
    """An array (..., *tail) for a batch as contiguous rows (B, n), or (1, n) where all rows have the same."""
    own = array.shape[: max(0, array.ndim - len(tail))]
    try:
        fits = array.shape[len(own) :] == tail and np.broadcast_shapes(own, batch) == batch
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"{what} shape {array.shape}, expected {expected}")
    if math.prod(own) == 1:
        return np.ascontiguousarray(array.reshape(1, -1))
    return np.ascontiguousarray(np.broadcast_to(array, (*batch, *tail))).reshape(math.prod(batch), math.prod(tail))


# ---- arguments -----------------------------------------------------------------------------------------------------


def prepare(model: Model, arguments: Mapping[str, Any], labels: Mapping[str, str]) -> Batch:
    """Check shapes and types, broadcast the batch axes. Errors name the argument and both shapes."""
    arrays = {name: _argument(model, name, labels.get(name, name), value) for name, value in arguments.items()}
    for name, array in arrays.items():
        if model.quaternions and kind_of_input(name).coordinates:
            _require_unit_quaternions(model, labels.get(name, name), array)
    shapes = [array.shape[:-1] for array in arrays.values()]
    shape = shapes[0]
    if any(other != shape for other in shapes):
        shape = _common_shape(
            {f"{labels.get(name, name)} {array.shape}": array.shape[:-1] for name, array in arrays.items()}
        )
        arrays = {name: np.broadcast_to(array, (*shape, array.shape[-1])) for name, array in arrays.items()}
    dtypes = {array.dtype for array in arrays.values()}
    dtype = dtypes.pop() if len(dtypes) == 1 else np.result_type(*arrays.values())
    size = math.prod(shape)
    if size > _MOST_ROWS:  # of a robot without joints they take no memory, but time without end
        raise _too_many(size)
    try:
        rows = {
            name: np.ascontiguousarray(array, dtype).reshape(size, array.shape[-1]) for name, array in arrays.items()
        }
    except MemoryError:
        raise _too_many(size) from None
    return Batch(rows, shape, dtype)


def _too_many(rows: int) -> TooLargeError:
    return TooLargeError(f"a batch of {rows:.4g} states does not fit into memory. Take fewer rows at a time")


def fitting(**vectors: Array) -> tuple[int, ...]:
    """The batch axes that vectors (..., n) broadcast to, where they meet outside a kernel. Errors name them."""
    return _common_shape({f"{name} {array.shape}": array.shape[:-1] for name, array in vectors.items()})


def _common_shape(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all broadcast to; the keys say what they belong to."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(shapes)
        raise ShapeError(f"the batch axes do not fit together: {listed}. They broadcast as NumPy arrays do") from None


def _argument(model: Model, name: str, label: str, value: Any) -> Array:
    """One argument as rows: its trailing axes are checked and flattened to one."""
    kind = kind_of_input(name)
    if kind.of_joint is not None:
        return as_array(model, label, value, coordinates=kind.coordinates)
    tail = kind.axes(model, np.shape(value)[-1] if np.ndim(value) else 0)
    array = as_numbers(label, value, tail[-1])
    if array.shape[-len(tail) :] != tail:
        wanted = ", ".join(str(n) for n in tail)
        raise ShapeError(f"{label} has shape {array.shape}, expected (..., {wanted}): {kind.meaning}")
    return array.reshape(*array.shape[: -len(tail)], math.prod(tail))


def as_array(model: Model, name: str, value: Any, *, coordinates: bool) -> Array:
    """One argument as a native floating-point array with the right last axis. Mappings by joint name are accepted."""
    size = model.nq if coordinates else model.nv
    if isinstance(value, Mapping):
        value = _from_mapping(model, name, value, coordinates)
    array = as_numbers(name, value, size)
    if array.ndim == 0 or array.shape[-1] != size:
        what = "nq" if coordinates else "nv"
        advice = shape_advice(model, name, array.shape, coordinates=coordinates)
        raise ShapeError(
            f"{name} has shape {array.shape}, expected (..., {size}): robot '{model.name}' has {what} = {size}{advice}"
        )
    return array


def as_numbers(name: str, value: Any, size: int) -> Array:
    """A native array of float32, float64 or complex numbers; anything else is an error."""
    if isinstance(value, np.ma.MaskedArray):
        raise StateError(f"{name} is a masked array; fill or drop what is masked first")
    try:
        array = np.asarray(value)
    except ValueError:
        raise ShapeError(f"{name} must have shape (..., {size}), but its rows differ in length") from None
    except RuntimeError as error:  # as PyTorch says it, also for lists of tensors
        raise carries_gradients(name) if "requires grad" in str(error) else error from None
    if array.dtype == np.float64:  # native: the usual case
        return array
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    if array.dtype.kind not in "fc":
        raise StateError(f"{name} must be numbers, not {array.dtype} ({_excerpt(value)})")
    if array.dtype.kind == "f" and array.dtype.newbyteorder("=") != np.float32:
        array = array.astype(np.float64, copy=False)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def one_number(name: str, value: Any, low: float | None = None, unit: str = "") -> float:
    """A finite number, above zero or at least ``low``."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        what = "a number of seconds" if unit == " s" else "a number"
        raise StateError(f"{name} must be {what}, not {value!r}") from None
    if not np.isfinite(number) or (number <= 0.0 if low is None else number < low):
        wanted = "above 0" if low is None else f"at least {low:.3g}"
        raise StateError(f"{name} must be finite and {wanted}{unit}, not {value!r}")
    return number


def whole_number(name: str, value: Any, least: int, kind: type[RecursaError] = StateError) -> int:
    """A whole number of at least ``least``; True and False are none. ``kind``: of error."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise kind(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def carries_gradients(name: str) -> StateError:
    """The refusal of a tensor of PyTorch whose gradients would be lost."""
    return StateError(
        f"{name} is a tensor that requires gradients, which this method does not carry. robot.torch() has the same "
        "quantities as functions that autograd goes through, as in robot.torch().mass_matrix(q), and rollouts; for "
        "numbers without gradients pass tensor.detach()"
    )


def _excerpt(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _from_mapping(model: Model, name: str, value: Mapping[str, Any], coordinates: bool) -> Array:
    """``{"elbow": 0.3}`` as an array; joints that are not named stay at neutral (q) or zero (v, a)."""
    joints = {joint.name: joint for joint in model.joints if joint.independent}
    parts: dict[str, Array] = {}
    for key, item in value.items():
        if key not in joints:
            raise model.unknown("independent joint", key, joints)
        size = joints[key].kind.nq if coordinates else joints[key].kind.nv
        part = as_numbers(f"{name}['{key}']", item, size)
        part = part[..., None] if size == 1 else part  # one number per state: its shape is the batch shape
        if part.shape[-1:] != (size,):
            raise ShapeError(f"{name}['{key}'] has shape {np.shape(item)}, expected (..., {size})")
        parts[key] = part
    batch = _common_shape({f"{name}['{key}'] {np.shape(value[key])}": part.shape[:-1] for key, part in parts.items()})
    columns: Sequence[Any] = [
        parts.get(joint.name, np.array(joint.kind.neutral() if coordinates else [0.0] * joint.kind.nv))
        for joint in joints.values()
    ]
    spread = [np.broadcast_to(column, (*batch, np.shape(column)[-1])) for column in columns]
    return np.concatenate(spread, axis=-1) if spread else np.empty((*batch, 0))


def _require_unit_quaternions(model: Model, name: str, q: Array) -> None:
    if q.dtype.kind == "c":  # complex-step differentiation perturbs on purpose
        return
    tolerance = _UNIT_TOLERANCE_SINGLE if q.dtype == np.float32 else _UNIT_TOLERANCE
    for joint in model.joints:
        if joint.kind.quaternion is None:
            continue
        start = joint.q_start + joint.kind.quaternion
        norm = np.linalg.norm(q[..., start : start + 4], axis=-1)
        wrong = np.abs(norm - 1.0) > tolerance  # false for nan, which passes through
        if wrong.any():
            row = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
            where = f" in row {row}" if row else ""
            raise StateError(
                f"{name}{where}: the quaternion of joint '{joint.name}' (x, y, z, w; entries {start}..{start + 3}) has "
                f"norm {norm[row]:.9g} instead of 1. Normalise it, or check the order of its components"
            )
