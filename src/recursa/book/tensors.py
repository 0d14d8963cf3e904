"""Second-order Cartesian tensors in three dimensions: operators, invariants, and the duality with vectors.

Chapter 3 of Balafoutis & Patel (1991); numbers such as (3.4.10) are that book's. The tensor type is
:class:`~recursa.spatial.mat3.Mat3`; ``Mat3.of`` makes one from a ``SymMat3`` or a ``Rotation``. All functions work on
every kind of scalar except where they say "plain numbers".

Vectors may also be arrays or lists with three numbers along the last axis, tensors with three by three; results are
:class:`~recursa.spatial.vec3.Vec3` and ``Mat3``, and ``np.asarray`` or ``Mat3.array()`` turns them into arrays.

Notation: ``~u`` the skew tensor of u, ``u (x) v = u v^T``, ``1`` the unit tensor, ``[A, B] = A B - B A``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np

from recursa.errors import ShapeError, TensorSymmetryError
from recursa.spatial.mat3 import Mat3
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar, sqrt
from recursa.spatial.vec3 import SymMat3, Vec3

__all__ = [
    "Invariants", "Mat3", "PowerTraces", "Spectrum", "axial", "change_basis", "component",
    "contraction", "cosine", "double_dot", "dual", "dyad", "inner", "invariants", "kronecker_delta", "left_dot",
    "levi_civita", "lie_bracket", "norm", "opposite_dual", "power_traces", "projection_across", "projection_along",
    "right_dot", "skew_part", "spectral", "split", "symmetric_part", "tensor_dot", "tensor_product", "vect",
    "wedge",
]  # fmt: skip

_Result = TypeVar("_Result")


def _takes_arrays(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Decorator: vectors and tensors may be arrays or lists, too."""
    kinds = [kind for name, kind in function.__annotations__.items() if name != "return"]
    names = [name for name in function.__annotations__ if name != "return"]

    @wraps(function)
    def with_arrays(*arguments: Any, **named: Any) -> _Result:
        read = [_read(x, name, kind) for x, name, kind in zip(arguments, names, kinds, strict=False)]
        by_name = {name: _read(x, name, kinds[names.index(name)]) if name in names else x for name, x in named.items()}
        return function(*read, *arguments[len(read) :], **by_name)

    return with_arrays


def _read(value: Any, name: str, kind: str) -> Any:
    """An array or a list as the vector or the tensor that an argument is annotated to be."""
    if not isinstance(value, np.ndarray) and type(value) not in (list, tuple):
        return value
    array = np.asarray(value)
    if "Mat3" in kind and array.shape[-2:] == (3, 3):
        return Mat3.from_array(array)
    if "Vec3" in kind and array.shape[-1:] == (3,):
        return Vec3(*(array.tolist() if array.ndim == 1 else np.moveaxis(array, -1, 0)))
    if "Mat3" in kind or "Vec3" in kind:
        wanted = " or ".join(shape for part, shape in (("Vec3", "(..., 3)"), ("Mat3", "(..., 3, 3)")) if part in kind)
        raise ShapeError(f"{name} has shape {array.shape}, expected {wanted}")
    return value


# ---- products --------------------------------------------------------------------------------------------------------


@_takes_arrays
def dyad(u: Vec3, v: Vec3) -> Mat3:
    """Tensor product of two vectors: ``(u (x) v) r = u (v.r)``, matrix ``u v^T`` (3.2.3)-(3.2.5).

    >>> dyad(Vec3(1.0, 2.0, 3.0), Vec3(1.0, 0.0, 0.0)) @ Vec3(5.0, 7.0, 7.0)
    Vec3(x=5.0, y=10.0, z=15.0)
    >>> dyad([1.0, 2.0, 3.0], np.array([1.0, 0.0, 0.0])).y
    Vec3(x=2.0, y=0.0, z=0.0)
    """
    return Mat3.dyad(u, v)


@_takes_arrays
def wedge(u: Vec3, v: Vec3) -> Mat3:
    """Exterior product, a skew tensor: ``u ^ v = u (x) v - v (x) u`` (3.3.9). It is the dual of ``v x u`` (3.4.30).

    >>> wedge(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0)).x
    Vec3(x=0.0, y=1.0, z=0.0)
    """
    return dyad(u, v) - dyad(v, u)


@_takes_arrays
def right_dot(t: Mat3, v: Vec3) -> Vec3:
    """Tensor times vector: ``u_i = T_ij v_j`` (3.2.20). The operator ``t @ v`` is the same.

    >>> right_dot(dyad(Vec3(1.0, 2.0, 3.0), Vec3(0.0, 1.0, 0.0)), Vec3(4.0, 5.0, 6.0))
    Vec3(x=5.0, y=10.0, z=15.0)
    """
    return t @ v


@_takes_arrays
def left_dot(v: Vec3, t: Mat3) -> Vec3:
    """Vector times tensor: ``w_i = v_j T_ji``, that is ``T^T v`` (3.2.21), (3.2.24).

    >>> left_dot(Vec3(4.0, 5.0, 6.0), dyad(Vec3(1.0, 2.0, 3.0), Vec3(0.0, 1.0, 0.0)))
    Vec3(x=0.0, y=32.0, z=0.0)
    """
    return t.transpose_times(v)


@_takes_arrays
def component(t: Mat3, u: Vec3, v: Vec3) -> Scalar:
    """The bilinear form ``u . T v``; with basis vectors, a component ``T_ij = e_i . T e_j`` (3.2.14).

    >>> component(Mat3.skew(Vec3(1.0, 2.0, 3.0)), Vec3(1.0, 0.0, 0.0), Vec3(0.0, 0.0, 1.0))
    2.0
    """
    return u.dot(t @ v)


@_takes_arrays
def tensor_dot(t: Mat3, s: Mat3) -> Mat3:
    """Dot product of two tensors, which is the matrix product (3.2.27)-(3.2.29). The operator ``t @ s`` is the same.

    >>> tensor_dot(Mat3.identity() * 2.0, Mat3.identity() * 3.0).x
    Vec3(x=6.0, y=0.0, z=0.0)
    """
    return t @ s


@_takes_arrays
def tensor_product(t: Mat3, s: Mat3) -> np.ndarray:
    """The fourth-order tensor ``U_ijkl = T_ij S_kl`` as an array of shape (..., 3, 3, 3, 3) (3.2.19).

    Higher orders have no type of their own: this and :func:`contraction` are their whole algebra here.

    >>> t, s = Mat3.skew(Vec3(1.0, 2.0, 3.0)), Mat3.identity()
    >>> u = tensor_product(t, s)
    >>> float(u[0, 2, 1, 1])
    2.0
    """
    return t.array()[..., :, :, None, None] * s.array()[..., None, None, :, :]


def contraction(t: Mat3 | np.ndarray, first: int = -2, second: int = -1) -> Any:
    """Sum over one pair of equal indices: order r becomes r - 2; a second-order tensor gives its trace (section 3.2).

    An array has its index axes last, and ``first`` and ``second`` are the array axes to contract.

    >>> contraction(Mat3.identity())
    3.0
    >>> t = Mat3.skew(Vec3(1.0, 2.0, 3.0))
    >>> bool(np.allclose(contraction(tensor_product(t, t), -3, -2), (t @ t).array()))
    True
    """
    if isinstance(t, Mat3):
        return t.trace()
    array = np.asarray(t)
    if array.ndim < 2:
        raise ShapeError(f"t has shape {array.shape}, expected at least two axes, which are contracted")
    return np.trace(array, axis1=first, axis2=second)


@_takes_arrays
def double_dot(t: Mat3, s: Mat3) -> Scalar:
    """The book's double dot ``T : S = tr(T S) = T_ij S_ji`` (3.2.30); not positive definite, see :func:`inner`.

    >>> double_dot(Mat3.skew(Vec3(1.0, 2.0, 3.0)), Mat3.skew(Vec3(1.0, 2.0, 3.0)))      # -2 u.u
    -28.0
    """
    return inner(t, s.T)


@_takes_arrays
def inner(t: Mat3, s: Mat3) -> Scalar:
    """The scalar product of tensors ``T : S^T = tr(T S^T) = T_ij S_ij``, the one behind (3.2.31) and (3.2.33).

    >>> inner(Mat3.skew(Vec3(1.0, 2.0, 3.0)), Mat3.skew(Vec3(1.0, 2.0, 3.0)))
    28.0
    """
    return t.x.dot(s.x) + t.y.dot(s.y) + t.z.dot(s.z)


@_takes_arrays
def norm(t: Mat3) -> Scalar:
    """Frobenius norm ``sqrt(T : T^T)`` (3.2.31), (3.2.32).

    >>> norm(dyad(Vec3(3.0, 0.0, 4.0), Vec3(0.0, 2.0, 0.0)))
    10.0
    """
    return sqrt(inner(t, t))


@_takes_arrays
def cosine(t: Mat3, s: Mat3) -> Scalar:
    """Cosine of the angle between tensors, ``(T : S^T)/(|T| |S|)`` (3.2.33); for skew ones that of their vectors.

    >>> cosine(Mat3.skew(Vec3(2.0, 0.0, 0.0)), Mat3.skew(Vec3(3.0, 4.0, 0.0))) - 0.6 < 1e-15
    True
    """
    return inner(t, s) / sqrt(inner(t, t) * inner(s, s))


@_takes_arrays
def lie_bracket(a: Mat3, b: Mat3) -> Mat3:
    """``[A, B] = A B - B A`` (3.4.21); of skew tensors it is the dual of the cross product (3.4.29).

    >>> lie_bracket(Mat3.skew(Vec3(1.0, 0.0, 0.0)), Mat3.skew(Vec3(0.0, 1.0, 0.0))).y
    Vec3(x=1.0, y=0.0, z=0.0)
    """
    return a @ b - b @ a


@_takes_arrays
def change_basis(t: Mat3, to_new: Rotation | Mat3) -> Mat3:
    """Components of the same tensor in another orthonormal basis: ``T' = A T A^T`` (3.2.2).

    ``A`` takes old components of a vector to new ones, ``v' = A v``; its rows are the new axes in old components,
    ``A_ri = e'_r . e_i``. With a body's rotation R (body to reference), ``change_basis(T_body, R)`` gives reference
    components (4.3.15) and ``change_basis(T, R.T)`` body components.

    Differs: the book also says ``e' = A e``; for that A the new components are ``A^T T A``, so pass its transpose.

    >>> quarter = Mat3.from_rows([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> change_basis(dyad(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 0.0, 1.0)), quarter).y      # x becomes y
    Vec3(x=0.0, y=0.0, z=1.0)
    """
    a = Mat3.of(to_new)
    return a @ t @ a.T


# ---- the isotropic tensors -------------------------------------------------------------------------------------------


def kronecker_delta(i: int, j: int) -> int:
    """1 if the indices are equal, else 0 (3.3.3). Indices are 0, 1, 2.

    >>> [kronecker_delta(1, j) for j in range(3)]
    [0, 1, 0]
    """
    _check_indices(i, j)
    return int(i == j)


def levi_civita(i: int, j: int, k: int) -> int:
    """+1 for even permutations of 0, 1, 2, -1 for odd ones, 0 if an index repeats (3.3.4).

    >>> levi_civita(1, 2, 0), levi_civita(0, 2, 1), levi_civita(0, 0, 1)
    (1, -1, 0)
    """
    _check_indices(i, j, k)
    return (j - i) * (k - j) * (k - i) // 2


def _check_indices(*indices: int) -> None:
    if not all(i in (0, 1, 2) for i in indices):
        raise ValueError(f"tensor indices are 0, 1 or 2, not {indices}")


# ---- decompositions --------------------------------------------------------------------------------------------------


@_takes_arrays
def symmetric_part(t: Mat3) -> Mat3:
    """``T+ = (T + T^T)/2`` (3.3.8).

    >>> symmetric_part(dyad(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 4.0, 0.0))).y
    Vec3(x=2.0, y=0.0, z=0.0)
    """
    return (t + t.T) * 0.5


@_takes_arrays
def skew_part(t: Mat3) -> Mat3:
    """``T- = (T - T^T)/2`` (3.3.8).

    >>> skew_part(dyad(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 4.0, 0.0))).y
    Vec3(x=-2.0, y=0.0, z=0.0)
    """
    return (t - t.T) * 0.5


@_takes_arrays
def split(t: Mat3) -> tuple[Mat3, Mat3]:
    """The Cartesian decomposition ``T = T+ + T-`` into symmetric and skew parts (3.3.7).

    >>> even, odd = split(dyad(Vec3(1.0, 2.0, 3.0), Vec3(4.0, 5.0, 6.0)))
    >>> even + odd == dyad(Vec3(1.0, 2.0, 3.0), Vec3(4.0, 5.0, 6.0))
    True
    """
    return symmetric_part(t), skew_part(t)


@_takes_arrays
def projection_along(e: Vec3) -> Mat3:
    """``P_e = e (x) e``: keeps the part along the unit vector e (3.3.10), (3.3.13).

    >>> projection_along(Vec3(0.0, 1.0, 0.0)) @ Vec3(4.0, 5.0, 6.0)
    Vec3(x=0.0, y=5.0, z=0.0)
    """
    return dyad(e, e)


@_takes_arrays
def projection_across(e: Vec3) -> Mat3:
    """``P^e = 1 - P_e = -~e ~e``: keeps the part across the unit vector e (3.3.11), (3.3.14).

    >>> projection_across(Vec3(0.0, 1.0, 0.0)) @ Vec3(4.0, 5.0, 6.0)
    Vec3(x=4.0, y=0.0, z=6.0)
    """
    return Mat3.identity() - dyad(e, e)


class Spectrum(NamedTuple):
    """Eigenvalues, ascending, and unit axes of a symmetric tensor."""

    values: tuple[Scalar, Scalar, Scalar]
    axes: tuple[Vec3, Vec3, Vec3]

    def tensor(self) -> Mat3:
        """``sum lam_k P_k`` with ``P_k = x_k (x) x_k`` (3.3.17), (3.4.37)."""
        a, b, c = (projection_along(x) * value for value, x in zip(self.values, self.axes, strict=True))
        return a + b + c


@_takes_arrays
def spectral(t: Mat3 | SymMat3) -> Spectrum:
    """Spectral form of a symmetric tensor (3.3.17), by NumPy's ``eigh``: plain numbers or batches only.

    Raises :class:`TensorSymmetryError` for a tensor with a skew part.

    >>> spectral(SymMat3.diagonal(3.0, 1.0, 2.0)).values
    (1.0, 2.0, 3.0)
    """
    full = Mat3.of(t)
    if isinstance(t, Mat3):
        _refuse_part(-1, full, "spectral needs a symmetric tensor, and this one has a skew part",
                     "Use symmetric_part(T) to drop it knowingly.")  # fmt: skip
    values, vectors = np.linalg.eigh(full.array())
    first, second, third = values.tolist() if values.ndim == 1 else np.moveaxis(values, -1, 0)
    return Spectrum((first, second, third), Mat3.from_array(vectors).T.rows())  # the axes are the columns


# ---- invariants ------------------------------------------------------------------------------------------------------


class Invariants(NamedTuple):
    """``I1 = tr T``, ``I2`` (sum of the principal 2x2 minors), ``I3 = det T``, ``I4 = T_ik T_ik``."""

    i1: Scalar
    i2: Scalar
    i3: Scalar
    i4: Scalar


class PowerTraces(NamedTuple):
    """``F_k = tr(T^k)``: ``I1 = F1``, ``I2 = (F1^2 - F2)/2``, ``I3 = (2 F3 + F1^3 - 3 F1 F2)/6`` (Remark 3.5)."""

    f1: Scalar
    f2: Scalar
    f3: Scalar


@_takes_arrays
def invariants(t: Mat3) -> Invariants:
    """The four invariants under change of basis (3.3.18)-(3.3.21); for symmetric T, ``I4 = I1^2 - 2 I2``.

    >>> invariants(Mat3.of(SymMat3.diagonal(1.0, 2.0, 3.0)))
    Invariants(i1=6.0, i2=11.0, i3=6.0, i4=14.0)
    """
    (t11, t12, t13), (t21, t22, t23), (t31, t32, t33) = t
    i2 = (t22 * t33 - t23 * t32) + (t33 * t11 - t13 * t31) + (t11 * t22 - t12 * t21)  # (3.3.19)
    return Invariants(t.trace(), i2, t.det(), inner(t, t))


@_takes_arrays
def power_traces(t: Mat3) -> PowerTraces:
    """Traces of the first three powers (Remark 3.5).

    >>> power_traces(Mat3.of(SymMat3.diagonal(1.0, 2.0, 3.0)))
    PowerTraces(f1=6.0, f2=14.0, f3=36.0)
    """
    squared = t @ t
    return PowerTraces(t.trace(), squared.trace(), double_dot(squared, t))


# ---- vectors and skew tensors ----------------------------------------------------------------------------------------


@_takes_arrays
def axial(t: Mat3) -> Vec3:
    """Twice ``vect``: ``eps_ijk T_kj = [T32 - T23, T13 - T31, T21 - T12]``, 3 additions and no halving.

    This is the unscaled form of (3.3.25), (3.3.26): the vector whose dual is ``T - T^T``.

    >>> axial(dyad(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0)))         # v x u
    Vec3(x=0.0, y=0.0, z=-1.0)
    """
    return Vec3(t.z.y - t.y.z, t.x.z - t.z.x, t.y.x - t.x.y)


@_takes_arrays
def vect(t: Mat3) -> Vec3:
    """The vector of any tensor, ``t_i = (1/2) eps_ijk T_kj`` (3.3.27): that of its skew part (3.3.28).

    >>> vect(Mat3.skew(Vec3(1.0, 2.0, 3.0)) + Mat3.identity())
    Vec3(x=1.0, y=2.0, z=3.0)
    """
    return axial(t) * 0.5


@overload
def dual(x: Vec3) -> Mat3: ...
@overload
def dual(x: Mat3, tolerance: float = ...) -> Vec3: ...
@_takes_arrays
def dual(x: Vec3 | Mat3, tolerance: float = 1e-9) -> Mat3 | Vec3:
    """Vector to skew tensor, ``~u_kj = eps_ijk u_i`` (3.3.29)-(3.3.32), and back (3.3.30), (3.3.33).

    ``dual(u) @ v`` is ``u x v`` (3.4.1); ``dual(dual(x))`` is x. Plain numbers are checked: a tensor whose symmetric
    part exceeds ``tolerance`` times its largest entry raises :class:`TensorSymmetryError`; use :func:`vect` to ignore
    that part knowingly. Counted and symbolic entries are believed.

    >>> dual(Vec3(1.0, 2.0, 3.0)).y
    Vec3(x=3.0, y=0.0, z=-1.0)
    >>> dual(dual(Vec3(1.0, 2.0, 3.0)))
    Vec3(x=1.0, y=2.0, z=3.0)
    """
    if isinstance(x, Vec3):
        return Mat3.skew(x)
    _refuse_part(+1, x, "dual needs a skew tensor, and this one has a symmetric part",
                 "Use vect(T) for the vector of its skew part.", tolerance)  # fmt: skip
    return Vec3(x.z.y, x.x.z, x.y.x)


@overload
def opposite_dual(x: Vec3) -> Mat3: ...
@overload
def opposite_dual(x: Mat3) -> Vec3: ...
@_takes_arrays
def opposite_dual(x: Vec3 | Mat3) -> Mat3 | Vec3:
    """The dual with the other sign, ``-~u = ~u^T`` (3.3.34)-(3.3.36), found in other books; its own inverse too.

    >>> opposite_dual(Vec3(1.0, 2.0, 3.0)) == dual(Vec3(1.0, 2.0, 3.0)).T
    True
    """
    return -dual(x)


def _refuse_part(sign: int, t: Mat3, complaint: str, advice: str, tolerance: float = 1e-9) -> None:
    """Raise if the symmetric (+1) or skew (-1) part of a tensor of plain numbers exceeds rounding; nan fails too."""
    entries = t.array()
    if entries.dtype.kind not in "iufc":
        return  # counted, traced or symbolic: no value to test, and no operation to be charged
    part = 0.5 * (entries + sign * np.swapaxes(entries, -1, -2))
    size = np.abs(part).max(axis=(-2, -1))
    bad = ~(size <= tolerance * np.abs(entries).max(axis=(-2, -1)))
    if np.any(bad):
        at = np.unravel_index(np.argmax(np.where(bad, size, -1.0)), size.shape)  # the worst of a batch; () for one
        where = f" (batch entry {tuple(int(i) for i in at)})" if at else ""
        raise TensorSymmetryError(f"{complaint}{where}:\n{part[at]}\n{advice}")
