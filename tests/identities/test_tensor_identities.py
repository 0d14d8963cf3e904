"""Every definition and proposition of chapter 3 of Balafoutis & Patel, on random tensors, one by one and in batches.

Test names carry the book's equation numbers. The right-hand sides come from NumPy or from the other side of the
identity, never from the function under test.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy

from comparing import different, numbers, same
from recursa.book.tensors import (
    Mat3,
    axial,
    change_basis,
    component,
    contraction,
    cosine,
    double_dot,
    dual,
    dyad,
    inner,
    invariants,
    kronecker_delta,
    left_dot,
    levi_civita,
    lie_bracket,
    norm,
    opposite_dual,
    power_traces,
    projection_across,
    projection_along,
    right_dot,
    skew_part,
    spectral,
    split,
    symmetric_part,
    tensor_dot,
    tensor_product,
    vect,
    wedge,
)
from recursa.errors import ShapeError, TensorSymmetryError
from recursa.spatial import Counter, Rotation, SymMat3, Vec3

ONE = Mat3.identity()
E = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
INDICES = list(itertools.product(range(3), repeat=3))


class Draw:
    """Random data, either plain floats (``shape`` empty) or a batch."""

    def __init__(self, seed: int, shape: tuple[int, ...]) -> None:
        self.rng = np.random.default_rng(seed)
        self.shape = shape

    def scalar(self):
        x = self.rng.uniform(-2.0, 2.0, self.shape)
        return float(x) if self.shape == () else x

    def vector(self) -> Vec3:
        return Vec3(self.scalar(), self.scalar(), self.scalar())

    def vectors(self, n: int) -> list[Vec3]:
        return [self.vector() for _ in range(n)]

    def unit(self) -> Vec3:
        u = self.vector()
        return u * (1.0 / u.norm())

    def tensor(self) -> Mat3:
        return Mat3(*self.vectors(3))

    def symmetric(self) -> Mat3:
        return Mat3.of(SymMat3(*(self.scalar() for _ in range(6))))

    def rotation(self) -> Rotation:
        return Rotation.exp(self.vector())

    def perpendicular_pair(self) -> tuple[Vec3, Vec3]:
        u, v = self.vectors(2)
        return u, v - u * (u.dot(v) / u.dot(u))


@pytest.fixture(params=[*range(5), "batch"])
def draw(request) -> Draw:
    return Draw(99, (40,)) if request.param == "batch" else Draw(request.param, ())


# ---- the tensor type -------------------------------------------------------------------------------------------------


def test_arithmetic_of_the_type_matches_numpy(draw):
    t, s, v, k = draw.tensor(), draw.tensor(), draw.vector(), draw.scalar()
    a, b, x, c = numbers(t), numbers(s), numbers(v), np.asarray(k)[..., None, None]
    same(t + s, a + b)
    same(t - s, a - b)
    same(-t, -a)
    same(t * k, a * c)
    same(k * t, a * c)
    same(t @ s, a @ b)
    same(t @ v, np.einsum("...ij,...j->...i", a, x))
    same(t.transpose_times(v), np.einsum("...ji,...j->...i", a, x))
    same(t.T, np.swapaxes(a, -1, -2))
    same(t.trace(), np.trace(a, axis1=-2, axis2=-1))
    same(t.det(), np.linalg.det(a))
    same(t.plus_diagonal(k), a + c * np.eye(3))
    same(t.cross_columns(v), np.cross(x[..., None, :], np.swapaxes(a, -1, -2)).swapaxes(-1, -2))
    same(Mat3.from_array(a), a)
    with pytest.raises(ShapeError, match=r"\(\.\.\., 3, 3\)"):
        Mat3.from_array(a[..., :2])


def test_product_with_symmetric_and_rotation_matrices(draw):
    t, r = draw.tensor(), draw.rotation()
    s = SymMat3(*(draw.scalar() for _ in range(6)))
    same(t @ s, numbers(t) @ numbers(Mat3.of(s)))
    same(t @ r, numbers(t) @ numbers(Mat3.of(r)))
    same(t.rotated(r), numbers(Mat3.of(r)) @ numbers(t) @ numbers(Mat3.of(r.T)))


def test_star_between_tensors_is_refused():
    with pytest.raises(TypeError, match="use @"):
        ONE * ONE


# ---- definitions, 3.2 ------------------------------------------------------------------------------------------------


def test_3_2_2_change_of_basis_both_senses(draw):
    """A maps old to new components; for a basis e' = A e the law is the transposed one."""
    t, r = draw.tensor(), draw.rotation()
    a = Mat3.of(r)
    same(change_basis(t, r), np.einsum("...ri,...sj,...ij->...rs", numbers(a), numbers(a), numbers(t)))
    axes = a.T  # e'_l = A e_l, the columns of A
    in_new_basis = Mat3(*(Vec3(*(e.dot(t @ f) for f in axes)) for e in axes))  # T'_rs = e'_r . T e'_s
    same(change_basis(t, r.T), in_new_basis)
    different(change_basis(t, r), in_new_basis)
    u, v = draw.vectors(2)
    same(change_basis(dyad(u, v), r), dyad(r @ u, r @ v))


def test_3_2_3_dyad_acts_as_u_times_v_dot_r(draw):
    u, v, r, s = draw.vectors(4)
    k = draw.scalar()
    same(dyad(u, v), numbers(u)[..., :, None] * numbers(v)[..., None, :])
    same(dyad(u, v) @ r, u * v.dot(r))
    same(dyad(u, v) @ (r + s * k), u * v.dot(r) + (u * v.dot(s)) * k)


def test_3_2_6_zero_unit_sum_and_multiple_by_action(draw):
    t, s, v, k = draw.tensor(), draw.tensor(), draw.vector(), draw.scalar()
    same(Mat3.zero() @ v, Vec3.zero())
    same(ONE @ v, v)
    same((t + s) @ v, t @ v + s @ v)
    same((t * k) @ v, (t @ v) * k)


def test_3_2_14_components_by_basis_vectors(draw):
    t, u, v = draw.tensor(), *draw.vectors(2)
    for i, j in itertools.product(range(3), repeat=2):
        same(component(t, E[i], E[j]), t[i][j])
    same(component(t, u, v), np.einsum("...i,...ij,...j->...", numbers(u), numbers(t), numbers(v)))


def test_3_2_16_tensor_is_the_sum_of_its_components_times_dyads(draw):
    t = draw.tensor()
    total = Mat3.zero()
    for i, j in itertools.product(range(3), repeat=2):
        total = total + dyad(E[i], E[j]) * t[i][j]
    same(total, t)
    basis = [numbers(dyad(e, f)).ravel() for e in E for f in E]
    assert np.linalg.matrix_rank(np.array(basis)) == 9


def test_3_2_19_tensor_product_and_contraction(draw):
    t, s = draw.tensor(), draw.tensor()
    u = tensor_product(t, s)
    a, b = numbers(t), numbers(s)
    same(u, np.einsum("...ij,...kl->...ijkl", a, b))
    same(contraction(u, -4, -3), np.trace(a, axis1=-2, axis2=-1)[..., None, None] * b)
    same(contraction(u, -3, -2), a @ b)
    same(contraction(contraction(u, -3, -2)), double_dot(t, s))
    same(contraction(t), a[..., 0, 0] + a[..., 1, 1] + a[..., 2, 2])


def test_3_2_20_right_dot(draw):
    t, v = draw.tensor(), draw.vector()
    same(right_dot(t, v), np.einsum("...ij,...j->...i", numbers(t), numbers(v)))


def test_3_2_21_left_dot_is_the_transpose_acting(draw):
    t, v = draw.tensor(), draw.vector()
    same(left_dot(v, t), np.einsum("...j,...ji->...i", numbers(v), numbers(t)))
    same(left_dot(v, t), t.T @ v)
    different(left_dot(v, t), t @ v)


def test_3_2_27_tensor_dot_acts_in_turn(draw):
    t, s, v = draw.tensor(), draw.tensor(), draw.vector()
    same(tensor_dot(t, s) @ v, t @ (s @ v))


def test_3_2_30_double_dot_is_trace_of_product_not_of_components(draw):
    t, s = draw.tensor(), draw.tensor()
    same(double_dot(t, s), np.einsum("...ij,...ji->...", numbers(t), numbers(s)))
    same(inner(t, s), np.einsum("...ij,...ij->...", numbers(t), numbers(s)))
    different(double_dot(t, s), inner(t, s))


def test_3_2_31_norm_is_frobenius(draw):
    t = draw.tensor()
    same(norm(t), np.linalg.norm(numbers(t), axis=(-2, -1)))
    same(norm(t), np.sqrt(double_dot(t, t.T)))


def test_3_2_33_cosine_of_tensors(draw):
    t, s = draw.tensor(), draw.tensor()
    k = 3.7
    same(cosine(t, t * k), 1.0)
    same(cosine(t, t * -k), -1.0)
    same(cosine(t, s) * norm(t) * norm(s), inner(t, s))
    same(cosine(symmetric_part(t), skew_part(s)), 0.0)


def test_3_2_34_cosine_of_skew_tensors_is_that_of_their_vectors(draw):
    u, v = draw.vectors(2)
    same(cosine(dual(u), dual(v)), u.dot(v) / (u.norm() * v.norm()))


def test_definition_3_3_rank():
    u, v = Draw(3, ()).vectors(2)
    assert np.linalg.matrix_rank(numbers(dyad(u, v))) == 1
    assert np.linalg.matrix_rank(numbers(dual(u))) == 2
    assert np.linalg.matrix_rank(numbers(wedge(u, v))) == 2


# ---- definitions, 3.3 ------------------------------------------------------------------------------------------------


def test_3_3_3_kronecker_delta_is_isotropic(draw):
    delta = Mat3.from_rows([[float(kronecker_delta(i, j)) for j in range(3)] for i in range(3)])
    same(change_basis(delta, draw.rotation()), np.eye(3))
    t = draw.tensor()
    different(change_basis(t, draw.rotation()), t)  # a general tensor is not isotropic


def test_3_3_4_levi_civita_is_the_permutation_sign():
    for i, j, k in INDICES:
        expected = round(np.linalg.det(np.eye(3)[[i, j, k]]))
        assert levi_civita(i, j, k) == expected
    with pytest.raises(ValueError, match="0, 1 or 2"):
        levi_civita(1, 2, 3)
    with pytest.raises(ValueError, match="0, 1 or 2"):
        kronecker_delta(-1, 2)


def test_3_3_5_product_of_two_levi_civita():
    for (i, j, r), s in itertools.product(INDICES, range(3)):
        total = sum(levi_civita(i, j, k) * levi_civita(r, s, k) for k in range(3))
        d = kronecker_delta
        assert total == d(i, r) * d(j, s) - d(i, s) * d(j, r)


def test_3_3_6_double_contraction_of_two_levi_civita():
    for i, r in itertools.product(range(3), repeat=2):
        total = sum(levi_civita(i, j, k) * levi_civita(r, j, k) for j in range(3) for k in range(3))
        assert total == 2 * kronecker_delta(i, r)


def test_3_3_7_cartesian_decomposition(draw):
    t = draw.tensor()
    even, odd = split(t)
    same(even + odd, t)
    same(even, even.T)
    same(odd, -odd.T)
    same(even, (numbers(t) + numbers(t.T)) / 2)
    same(inner(even, odd), 0.0)


def test_3_3_9_wedge_is_skew_and_antisymmetric(draw):
    u, v, r = draw.vectors(3)
    same(wedge(u, v), np.einsum("...i,...j->...ij", numbers(u), numbers(v)) - numbers(dyad(v, u)))
    same(wedge(u, v), -wedge(v, u))
    same(wedge(u, v), -wedge(u, v).T)
    same(wedge(u, v) @ r, u * v.dot(r) - v * u.dot(r))


def test_3_3_10_projections_are_idempotent_and_symmetric(draw):
    e = draw.unit()
    for p in (projection_along(e), projection_across(e)):
        same(p @ p, p)
        same(p, p.T)
    same(projection_along(e) @ projection_across(e), Mat3.zero())
    same(projection_across(e), -(dual(e) @ dual(e)))


def test_3_3_13_parallel_and_perpendicular_parts(draw):
    e, v = draw.unit(), draw.vector()
    along, across = projection_along(e) @ v, projection_across(e) @ v
    same(along + across, v)
    same(along.cross(e), Vec3.zero())
    same(across.dot(e), 0.0)
    same(along.dot(e), v.dot(e))


def test_3_3_15_projections_on_a_basis(draw):
    axes = Mat3.of(draw.rotation()).T
    p = [projection_along(e) for e in axes]
    for i, j in itertools.product(range(3), repeat=2):
        same(double_dot(p[i], p[j]), float(i == j))
    same(p[0] + p[1] + p[2], ONE)


def test_3_3_17_spectral_form(draw):
    t = draw.symmetric()
    spectrum = spectral(t)
    same(spectrum.tensor(), t)
    for value, axis in zip(spectrum.values, spectrum.axes, strict=True):
        same(t @ axis, axis * value)
        same(axis.norm(), 1.0)
    same(np.sort(np.linalg.eigvalsh(numbers(t)), axis=-1), np.stack(spectrum.values, axis=-1))


def test_spectral_form_refuses_a_skew_part(draw):
    with pytest.raises(TensorSymmetryError, match="skew part"):
        spectral(draw.tensor())


def test_3_3_18_to_21_invariants_by_definition_and_under_rotation(draw):
    t, r = draw.tensor(), draw.rotation()
    a = numbers(t)
    i1, i2, i3, i4 = invariants(t)
    same(i1, np.einsum("...ii->...", a))
    minors = sum(np.linalg.det(a[..., [[i], [j]], [i, j]]) for i, j in ((0, 1), (0, 2), (1, 2)))
    same(i2, minors)
    same(i3, np.linalg.det(a))
    same(i4, (a * a).sum(axis=(-2, -1)))
    for old, new in zip(invariants(t), invariants(change_basis(t, r)), strict=True):
        same(old, new)


def test_3_3_22_to_24_invariants_of_symmetric_tensors_by_eigenvalues(draw):
    t = draw.symmetric()
    a, b, c = np.moveaxis(np.linalg.eigvalsh(numbers(t)), -1, 0)
    i1, i2, i3, i4 = invariants(t)
    same(i1, a + b + c)
    same(i2, a * b + b * c + c * a)
    same(i3, a * b * c)
    same(i4, i1 * i1 - 2.0 * i2)


def test_i4_of_a_general_tensor_is_independent(draw):
    i1, i2, _, i4 = invariants(draw.tensor())
    different(i4, i1 * i1 - 2.0 * i2)


def test_remark_3_5_power_traces(draw):
    t = draw.tensor()
    a = numbers(t)
    f1, f2, f3 = power_traces(t)
    for f, power in ((f1, a), (f2, a @ a), (f3, a @ a @ a)):
        same(f, np.trace(power, axis1=-2, axis2=-1))
    i1, i2, i3, _ = invariants(t)
    same(i1, f1)
    same(i2, (f1 * f1 - f2) / 2)
    same(i3, (2 * f3 + f1**3 - 3 * f1 * f2) / 6)


def test_3_3_25_vect_by_levi_civita(draw):
    t = draw.tensor()
    expected = [sum(0.5 * levi_civita(i, j, k) * t[k][j] for j in range(3) for k in range(3)) for i in range(3)]
    same(vect(t), Vec3(*expected))
    same(axial(t), vect(t) * 2.0)


def test_3_3_28_vect_sees_the_skew_part_only(draw):
    t = draw.tensor()
    same(vect(t), vect(skew_part(t)))
    same(vect(symmetric_part(t)), Vec3.zero())


def test_3_3_29_dual_of_a_vector_by_levi_civita(draw):
    u = draw.vector()
    rows = [[sum(levi_civita(i, j, k) * u[i] for i in range(3)) for j in range(3)] for k in range(3)]
    same(dual(u), Mat3.from_rows(rows))


def test_3_3_30_dual_of_a_skew_tensor_inverts_the_dual_of_a_vector(draw):
    u, odd = draw.vector(), skew_part(draw.tensor())
    same(dual(dual(u)), u)
    same(dual(dual(odd)), odd)
    same(dual(odd), vect(odd))


def test_dual_refuses_a_symmetric_part(draw):
    t = dual(draw.vector()) + draw.symmetric() * 1e-6
    with pytest.raises(TensorSymmetryError, match=r"symmetric part[\s\S]*vect\(T\)"):
        dual(t)
    with pytest.raises(TensorSymmetryError):
        opposite_dual(t)
    dual(t, tolerance=1e-2)


def test_dual_refuses_nan_and_points_at_the_batch_entry():
    w = np.array([1.0, 2.0, 3.0])
    t = Mat3.skew(Vec3(w, w, w)).plus_diagonal(np.array([0.0, 0.5, 0.0]))
    with pytest.raises(TensorSymmetryError, match=r"batch entry \(1,\)"):
        dual(t)
    with pytest.raises(TensorSymmetryError):
        dual(Mat3.skew(Vec3(float("nan"), 1.0, 1.0)))


def test_dual_of_counted_and_symbolic_tensors_is_read_off():
    counter = Counter()
    u = Vec3(*counter.numbers([1.0, 2.0, 3.0]))
    assert [float(c) for c in dual(dual(u))] == [1.0, 2.0, 3.0]
    assert counter.counts().total == 0
    symbols = Vec3(*sympy.symbols("x y z"))
    assert dual(dual(symbols)) == symbols


def test_3_3_34_opposite_dual(draw):
    u = draw.vector()
    same(opposite_dual(u), -dual(u))
    same(opposite_dual(u), dual(u).T)
    same(opposite_dual(opposite_dual(u)), u)
    same(opposite_dual(u) @ u, Vec3.zero())


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_remark_3_6_vect_and_dual_under_proper_and_improper_maps(draw, sign):
    q = Mat3.of(draw.rotation()) * sign  # -R is improper
    t, u = draw.tensor(), draw.vector()
    same(vect(change_basis(t, q)), (q @ vect(t)) * sign)
    same(dual(q @ u), change_basis(dual(u), q) * sign)


# ---- propositions, 3.4 -----------------------------------------------------------------------------------------------


def test_3_4_1_dual_is_the_cross_product(draw):
    u, v = draw.vectors(2)
    same(dual(u) @ v, np.cross(numbers(u), numbers(v)))


def test_3_4_2_and_3_dual_is_linear(draw):
    u, v, k = *draw.vectors(2), draw.scalar()
    same(dual(u * k), dual(u) * k)
    same(dual(u + v), dual(u) + dual(v))


def test_3_4_4_and_5_kernel_of_the_dual(draw):
    u, v = draw.vectors(2)
    same(dual(u) @ u, Vec3.zero())
    same(dual(u) @ (u * draw.scalar()), Vec3.zero())
    different(dual(u) @ v, Vec3.zero())
    assert (np.linalg.matrix_rank(numbers(dual(u))) == 2).all()  # so only multiples of u are sent to zero


def test_3_4_6_swap_changes_sign(draw):
    u, v = draw.vectors(2)
    same(dual(u) @ v, -(dual(v) @ u))


def test_3_4_7_left_dot_of_a_skew_tensor(draw):
    u, v = draw.vectors(2)
    same(left_dot(v, dual(u)), -(dual(u) @ v))


def test_3_4_8_left_dot_swaps_the_dual(draw):
    u, v = draw.vectors(2)
    same(left_dot(v, dual(u)), dual(v) @ u)


def test_3_4_9_scalar_product_of_cross_products(draw):
    a, u, v, b = draw.vectors(4)
    same(component(dual(u) @ dual(v), a, b), a.cross(u).dot(v.cross(b)))


def test_3_4_10_product_of_skews(draw):
    u, v = draw.vectors(2)
    same(dual(u) @ dual(v), dyad(v, u) - ONE * u.dot(v))


def test_3_4_11_to_13_double_cross_product(draw):
    u, v, r = draw.vectors(3)
    expected = v * u.dot(r) - r * u.dot(v)
    same(u.cross(v.cross(r)), expected)
    same(dual(u) @ dual(v) @ r, expected)


def test_3_4_14_dyad_by_skews(draw):
    u, v = draw.vectors(2)
    same(dyad(v, u), (dual(u) @ dual(v)).plus_diagonal(v.dot(u)))


def test_3_4_15_double_dot_of_skews(draw):
    u, v = draw.vectors(2)
    same(double_dot(dual(u), dual(v)), -2.0 * u.dot(v))


def test_3_4_16_dot_product_by_trace(draw):
    u, v = draw.vectors(2)
    same(u.dot(v), -0.5 * (dual(u) @ dual(v)).trace())


def test_3_4_17_symmetric_and_skew_are_orthogonal(draw):
    i, s = draw.symmetric(), skew_part(draw.tensor())
    same(double_dot(i, s), 0.0)
    different(double_dot(draw.tensor(), s), 0.0)


def test_3_4_18_triple_products_summed(draw):
    u, v = draw.vectors(2)
    uu = dual(u) @ dual(u)
    same(dual(v) @ uu + uu @ dual(v), -(dual(v) * u.dot(u)) - dual(u) * v.dot(u))


def test_3_4_19a_sandwich(draw):
    u, v = draw.vectors(2)
    same(dual(u) @ dual(v) @ dual(u), dual(u) * -v.dot(u))


def test_3_4_19b_sandwich_by_triple_products(draw):
    u, v = draw.vectors(2)
    uu = dual(u) @ dual(u)
    same(dual(u) @ dual(v) @ dual(u), dual(v) @ uu + uu @ dual(v) - dual(v) * (0.5 * uu.trace()))


def test_3_4_20_commutator_of_squares(draw):
    u, v = draw.vectors(2)
    uu, vv = dual(u) @ dual(u), dual(v) @ dual(v)
    same(vv @ uu - uu @ vv, lie_bracket(dual(u), dual(v)) * u.dot(v))


def test_3_4_21_lie_bracket(draw):
    a, b, c = draw.tensor(), draw.tensor(), draw.tensor()
    same(lie_bracket(a, b), numbers(a) @ numbers(b) - numbers(b) @ numbers(a))
    jacobi = lie_bracket(a, lie_bracket(b, c)) + lie_bracket(b, lie_bracket(c, a)) + lie_bracket(c, lie_bracket(a, b))
    same(jacobi, Mat3.zero())


def test_3_4_22_perpendicular_triple_products(draw):
    u, v = draw.perpendicular_pair()
    uu = dual(u) @ dual(u)
    same(dual(v) @ uu + uu @ dual(v), dual(v) * -u.dot(u))


def test_3_4_23_perpendicular_sandwich_vanishes(draw):
    u, v = draw.perpendicular_pair()
    same(dual(u) @ dual(v) @ dual(u), Mat3.zero())
    x, y = draw.vectors(2)
    different(dual(x) @ dual(y) @ dual(x), Mat3.zero())


def test_3_4_24_squares_commute_when_perpendicular_or_parallel(draw):
    u, v = draw.perpendicular_pair()
    for a, b in ((u, v), (u, u * draw.scalar())):
        same(lie_bracket(dual(b) @ dual(b), dual(a) @ dual(a)), Mat3.zero())
    x, y = draw.vectors(2)
    different(lie_bracket(dual(y) @ dual(y), dual(x) @ dual(x)), Mat3.zero())


def test_3_4_25_cube(draw):
    u = draw.vector()
    same(dual(u) @ dual(u) @ dual(u), dual(u) * -u.dot(u))


def test_3_4_26_dual_of_a_cross_product(draw):
    u, v = draw.vectors(2)
    left = dual(dual(u) @ v)  # the argument is the vector u x v
    same(left, dyad(v, u) - dyad(u, v))  # a
    same(left, dual(u) @ dual(v) - dual(v) @ dual(u))  # b
    same(left, lie_bracket(dual(u), dual(v)))  # c
    same(left, wedge(v, u))  # d


def test_3_4_27_and_28_cross_product_on_the_left(draw):
    u, v, r = draw.vectors(3)
    expected = v * u.dot(r) - u * v.dot(r)
    same(u.cross(v).cross(r), expected)
    same(dual(dual(u) @ v) @ r, expected)


def test_3_4_29_cross_product_as_dual_of_the_bracket(draw):
    u, v = draw.vectors(2)
    same(dual(lie_bracket(dual(u), dual(v))), u.cross(v))


def test_3_4_30_cross_product_as_dual_of_the_wedge(draw):
    u, v = draw.vectors(2)
    same(dual(wedge(v, u)), u.cross(v))


def test_3_4_31_vect_of_the_transpose(draw):
    t = draw.tensor()
    same(vect(t.T), -vect(t))


def test_3_4_32_cross_product_by_vect_of_the_dyad(draw):
    u, v = draw.vectors(2)
    same(vect(dyad(u, v)) * -2.0, u.cross(v))


def test_3_4_33_cross_product_by_vect_of_the_product(draw):
    u, v = draw.vectors(2)
    same(vect(dual(u) @ dual(v)) * 2.0, u.cross(v))
    same(dual(vect(dual(u) @ dual(v))), lie_bracket(dual(u), dual(v)) * 0.5)


def test_3_4_34_dual_of_a_double_cross_product(draw):
    w, u, v = draw.vectors(3)
    same(dual(dual(w) @ dual(u) @ v), dual(u) * w.dot(v) - dual(v) * w.dot(u))


def test_3_4_35_dual_of_a_repeated_cross_product(draw):
    u, v = draw.vectors(2)
    uu = dual(u) @ dual(u)
    same(dual(uu @ v), -(dual(v) @ uu + uu @ dual(v)) + dual(v) * uu.trace())


def test_3_4_36_dual_of_a_symmetric_tensor_times_a_vector(draw):
    i, v = draw.symmetric(), draw.vector()
    same(dual(i @ v), -(i @ dual(v) + dual(v) @ i) + dual(v) * i.trace())


def test_3_4_36_needs_symmetry_and_extends_with_a_transpose(draw):
    t, v = draw.tensor(), draw.vector()
    different(dual(t @ v), -(t @ dual(v) + dual(v) @ t) + dual(v) * t.trace())
    same(dual(t @ v), -(t.T @ dual(v) + dual(v) @ t) + dual(v) * t.trace())


def test_3_4_37_and_38_symmetric_tensor_by_its_principal_axes(draw):
    i = draw.symmetric()
    values, axes = spectral(i)
    dyads, squares = Mat3.zero(), Mat3.zero()
    for value, x in zip(values, axes, strict=True):
        dyads = dyads + dyad(x, x) * value
        squares = squares + (dual(x) @ dual(x)) * value
    same(dyads, i)
    same(squares.plus_diagonal(i.trace()), i)


def test_3_4_39_bilinear_form_by_trace(draw):
    i, u, v = draw.symmetric(), *draw.vectors(2)
    j = (-i).plus_diagonal(0.5 * i.trace())
    same(component(i, u, v), -(dual(u) @ j @ dual(v)).trace())


def test_3_4_39_needs_symmetry_for_the_order_of_the_vectors(draw):
    t, u, v = draw.tensor(), *draw.vectors(2)
    j = (-t).plus_diagonal(0.5 * t.trace())
    traced = -(dual(u) @ j @ dual(v)).trace()
    different(component(t, u, v), traced)
    same(component(t, v, u), traced)


# ---- for all tensors at once, by symbols -----------------------------------------------------------------------------


def symbolic_vector(name: str) -> Vec3:
    return Vec3(*sympy.symbols(f"{name}1:4", real=True))


def assert_identically_zero(t) -> None:
    assert all(sympy.expand(sympy.nsimplify(entry)) == 0 for row in t for entry in row)


def test_3_4_10_and_19_and_20_symbolically():
    u, v = symbolic_vector("u"), symbolic_vector("v")
    a, b = dual(u), dual(v)
    assert_identically_zero(a @ b - dyad(v, u) + ONE * u.dot(v))
    assert_identically_zero(a @ b @ a + a * v.dot(u))
    assert_identically_zero(b @ b @ a @ a - a @ a @ b @ b - lie_bracket(a, b) * u.dot(v))


def test_3_4_36_extension_symbolically():
    t, v = Mat3(symbolic_vector("p"), symbolic_vector("q"), symbolic_vector("r")), symbolic_vector("v")
    assert_identically_zero(dual(t @ v) + t.T @ dual(v) + dual(v) @ t - dual(v) * t.trace())


# ---- arrays and lists ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [np.asarray, np.ndarray.tolist])
def test_arrays_and_lists_are_taken(read):
    u, v = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0])
    t, s = np.arange(9.0).reshape(3, 3), np.diag([1.0, 2.0, 4.0])
    x, y, a, b = (read(array) for array in (u, v, t, s))
    assert np.array_equal(np.array(dyad(x, y)), np.outer(u, v))
    assert np.array_equal(np.array(wedge(x, y)), np.outer(u, v) - np.outer(v, u))
    assert np.array_equal(right_dot(a, x), t @ u)
    assert np.array_equal(left_dot(x, a), u @ t)
    assert component(a, x, y) == u @ t @ v
    assert np.array_equal(np.array(tensor_dot(a, b)), t @ s)
    assert np.array_equal(tensor_product(a, b), np.einsum("ij,kl->ijkl", t, s))
    assert contraction(a) == np.trace(t)
    assert double_dot(a, b) == np.trace(t @ s)
    assert inner(a, b) == (t * s).sum()
    assert norm(a) == np.linalg.norm(t)
    assert cosine(b, b) == pytest.approx(1.0)
    assert np.array_equal(np.array(lie_bracket(a, b)), t @ s - s @ t)
    assert np.array_equal(np.array(change_basis(a, to_new=np.eye(3)[[1, 2, 0]])), t[[1, 2, 0]][:, [1, 2, 0]])
    assert np.array_equal(np.array(symmetric_part(a)) + np.array(skew_part(a)), t)
    assert np.array_equal(np.array(split(a)[0]), np.array(symmetric_part(a)))
    assert np.array_equal(right_dot(projection_along(y), x), v * (u @ v))
    assert np.array_equal(right_dot(projection_across([0.0, 0.0, 1.0]), x), [1.0, 2.0, 0.0])
    assert spectral(b).values == (1.0, 2.0, 4.0)
    assert invariants(b).i3 == 8.0
    assert power_traces(b).f2 == 21.0
    assert np.array_equal(axial(a), 2.0 * np.array(vect(a)))
    assert np.array_equal(right_dot(dual(x), y), np.cross(u, v))
    assert np.array_equal(dual(read(np.array(dual(x)))), u)
    assert np.array_equal(np.array(opposite_dual(x)), np.array(dual(x)).T)


def test_arrays_of_vectors_and_tensors_are_batches():
    rng = np.random.default_rng(3)
    u, t = rng.normal(size=(3, 3)), rng.normal(size=(5, 3, 3))
    assert np.array_equal(dyad(u, u).array(), u[:, :, None] * u[:, None, :])
    assert np.allclose(tensor_dot(t, t).array(), t @ t)
    with pytest.raises(ShapeError, match=r"t has shape \(3,\), expected at least two axes"):
        contraction([1.0, 2.0, 3.0])
    with pytest.raises(ShapeError, match=r"v has shape \(4,\), expected \(\.\.\., 3\)"):
        dyad([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ShapeError, match=r"t has shape \(2, 2\), expected \(\.\.\., 3, 3\)"):
        norm(np.eye(2))
