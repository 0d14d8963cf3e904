"""The operation counts of Balafoutis & Patel section 4.3.4, reproduced by counting.

w, wd and Omega count as known, as in the book; what Omega itself costs is counted apart.
"""

from __future__ import annotations

import numpy as np
import pytest

from recursa.book.rigid_body import (
    angular_acceleration_tensor,
    euler_from_inertia,
    newton_euler_tensor,
    newton_euler_vector,
    point_acceleration_tensor,
    point_acceleration_vector,
    torque_from_euler,
    torque_tensor_euler,
    torque_vector_inertia,
)
from recursa.book.tensors import axial, dual, vect
from recursa.spatial import Counter, Counts, SymMat3, Vec3
from recursa.spatial.mat3 import Mat3


class Known:
    """One body's data as counted numbers, with the counter at zero."""

    def __init__(self) -> None:
        self.counter = Counter()
        x = np.random.default_rng(5).uniform(0.5, 2.0, 25)
        number = self.counter.numbers(x)
        self.mass = number[0]
        self.w, self.wd, self.acceleration, self.com = (Vec3(*number[k : k + 3]) for k in (1, 4, 7, 10))
        self.inertia = SymMat3(*number[13:19])
        self.euler = euler_from_inertia(self.inertia)
        self.omega = angular_acceleration_tensor(self.w, self.wd)
        self.counter.reset()

    def counts(self) -> Counts:
        return self.counter.counts()


@pytest.fixture
def known() -> Known:
    return Known()


def test_omega_costs_6_mul_9_add(known):
    angular_acceleration_tensor(known.w, known.wd)
    assert known.counts() == Counts(mul=6, add=9)


def test_acceleration_vector_form_costs_18_mul_15_add(known):
    point_acceleration_vector(known.acceleration, known.w, known.wd, known.com)
    assert known.counts() == Counts(mul=18, add=15)


def test_acceleration_tensor_form_costs_9_mul_9_add(known):
    point_acceleration_tensor(known.acceleration, known.omega, known.com)
    assert known.counts() == Counts(mul=9, add=9)


def test_torque_vector_form_costs_24_mul_18_add(known):
    torque_vector_inertia(known.inertia, known.w, known.wd)
    assert known.counts() == Counts(mul=24, add=18)


def test_torque_tensor_form_costs_18_mul_15_add_for_any_matrix(known):
    torque_from_euler(Mat3.of(known.euler), known.omega)
    assert known.counts() == Counts(mul=18, add=15)


def test_torque_tensor_form_costs_15_mul_15_add_with_symmetry(known):
    torque_from_euler(known.euler, known.omega)
    assert known.counts() == Counts(mul=15, add=15)


def test_the_textbook_matrix_form_costs_more(known):
    """All nine products and differences of (4.3.44): why the six needed entries are picked instead."""
    torque_tensor_euler(known.euler, known.omega)
    assert known.counts() == Counts(mul=27, add=27)


def test_totals_for_one_body(known):
    force_v, torque_v = newton_euler_vector(known.mass, known.inertia, known.w, known.wd, known.acceleration, known.com)
    assert known.counts() == Counts(mul=45, add=33)
    known.counter.reset()
    force_g, torque_g = newton_euler_tensor(
        known.mass, Mat3.of(known.euler), known.omega, known.acceleration, known.com
    )
    assert known.counts() == Counts(mul=30, add=24)
    known.counter.reset()
    force_s, torque_s = newton_euler_tensor(known.mass, known.euler, known.omega, known.acceleration, known.com)
    assert known.counts() == Counts(mul=27, add=24)
    # and the three agree, so that none is cheap by being wrong
    reference = [float(x) for x in (*force_v, *torque_v)]
    assert [float(x) for x in (*force_g, *torque_g)] == pytest.approx(reference, rel=1e-12)
    assert [float(x) for x in (*force_s, *torque_s)] == pytest.approx(reference, rel=1e-12)


def test_duality_is_free_and_vect_pays_for_differences(known):
    tensor = dual(known.w)
    dual(tensor)
    assert known.counts() == Counts()
    axial(known.omega)
    assert known.counts() == Counts(add=3)
    known.counter.reset()
    vect(known.omega)
    assert known.counts() == Counts(mul=3, add=3)


def test_basic_products_cost_what_their_docstrings_say(known):
    known.omega @ known.w
    assert known.counts() == Counts(mul=9, add=6)
    known.counter.reset()
    known.omega @ known.omega
    assert known.counts() == Counts(mul=27, add=18)
    known.counter.reset()
    dual(known.w) @ known.com  # structural zeros are free: the cost of a cross product
    assert known.counts() == Counts(mul=6, add=3)
