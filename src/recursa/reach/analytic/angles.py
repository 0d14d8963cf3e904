"""The few equations in one angle that closed forms are made of, for arrays of them; none answers nan.

Where an equation has no solution, the angle is taken that comes nearest: what is computed from it misses the target,
and whoever verifies it says by how much.
"""

from __future__ import annotations

import numpy as np

from recursa.sweeps.batching import Array

SINGULAR = 1e-7  # of lengths in units of the arm, and of sines: below it an angle means nothing
NEAR = 1e-5  # the same: below it angles have lost so many digits that it is said
_ITERATIONS = 80
_ON_CIRCLE = 1e-3  # by which the absolute value of a root may miss 1 where two of them are about to meet


def dot(a: Array, b: Array) -> Array:
    """``a . b`` over the last axis, added up in the order of x, y, z."""
    product = a * b
    return product[..., 0] + product[..., 1] + product[..., 2]


def cross(a: Array, b: Array) -> Array:
    """``a x b`` over the last axis."""
    a, b = np.broadcast_arrays(a, b)
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def turned(axis: Array, angle: Array, x: Array) -> Array:
    """``R x`` for rotations by angles (...) about one axis, Rodrigues' formula."""
    c, s = np.cos(angle)[..., None], np.sin(angle)[..., None]
    along = axis * dot(axis, x)[..., None]
    return along + c * (x - along) + s * cross(axis, x)


def moved(axis: Array, point: Array, angle: Array, x: Array) -> Array:
    """Points turned about an axis through a point."""
    return turned(axis, angle, x - point) + point


def times(rotation: Array, x: Array) -> Array:
    """``R x`` with matrices (..., 3, 3)."""
    return np.stack([dot(rotation[..., row, :], x) for row in range(3)], axis=-1)


def harmonic(a: Array, axis: Array, b: Array) -> tuple[Array, Array, Array]:
    """The cosine, sine and constant part of ``a . R b`` as a function of the angle of R about an axis."""
    constant = dot(a, axis) * dot(axis, b)
    return dot(a, b) - constant, dot(a, cross(axis, b)), constant


def angles_of(cosine: Array, sine: Array, value: Array) -> tuple[Array, Array]:
    """Both angles (..., 2) with ``cosine cos + sine sin = value``, and whether they mean nothing or are one, (...).

    The first is ahead of the angle at which the left side is largest, the second behind it.
    """
    size = np.hypot(cosine, sine)
    height = np.sqrt(np.maximum((size - value) * (size + value), 0.0))
    half = np.arctan2(height, value)
    top = np.arctan2(sine, cosine)
    return np.stack([top + half, top - half], axis=-1), height <= NEAR * np.maximum(size, SINGULAR)


def angle_between(axis: Array, a: Array, b: Array, otherwise: Array | float) -> tuple[Array, Array]:
    """The angle about an axis that takes a to b, both seen along the axis; ``otherwise`` where they lie on it.

    The second result says where they do.
    """
    c, s, _ = harmonic(b, axis, a)
    nothing = np.hypot(c, s) <= SINGULAR * SINGULAR
    return np.where(nothing, otherwise, np.arctan2(s, c)), nothing


def roots_on_circle(constant: Array, first: Array, second: Array) -> tuple[Array, Array]:
    """The angles (..., 4) at which a trigonometric polynomial of degree two is zero, rising; and which of them exist.

    ``constant + Re(first e^{i angle}) + Re(second e^{2 i angle})``, with complex coefficients. With w = e^{i angle} it
    is a quartic; its roots are found together (Aberth, Math. Comp. 27, 1973), and those of absolute value 1 are angles.
    """
    size = np.maximum(np.maximum(np.abs(constant), np.abs(first)), np.maximum(np.abs(second), 1e-300))
    c0, c1, c2 = constant / size, 0.5 * first / size, 0.5 * second / size
    coefficients = [c[..., None] for c in (c2, c1, c0.astype(complex), np.conj(c1), np.conj(c2))]
    w = np.broadcast_to(1.1 * np.exp(1j * (0.4 + 0.5 * np.pi * np.arange(4))), (*size.shape, 4)).copy()
    for _ in range(_ITERATIONS):
        step = _aberth_step(coefficients, w)
        w = w - step
        w = np.where(np.abs(w) > 1e8, w * (1e8 / np.abs(w)), w)  # of a lower degree: towards infinity
        if (np.abs(step) <= 1e-14 * np.abs(w)).all():
            break
    exists = np.abs(np.abs(w) - 1.0) < _ON_CIRCLE
    angles = np.angle(w)
    for _ in range(3):  # on the circle, where rounding has not to be complex
        value, slope = _value_and_slope(c0, c1, c2, angles)
        step = value / np.where(np.abs(slope) > 1e-9, slope, np.inf)
        angles = angles - np.clip(step, -0.01, 0.01)
    order = np.argsort(np.where(exists, angles, np.inf), axis=-1, kind="stable")
    return np.take_along_axis(angles, order, axis=-1), np.take_along_axis(exists, order, axis=-1)


def rises_at(constant: Array, first: Array, second: Array, angles: Array) -> Array:
    """Whether such a polynomial rises at angles (..., 4)."""
    return _value_and_slope(constant, 0.5 * first, 0.5 * second, angles)[1] > 0.0


def _aberth_step(coefficients: list[Array], w: Array) -> Array:
    value, slope = np.zeros_like(w), np.zeros_like(w)
    for c in coefficients:
        slope = slope * w + value
        value = value * w + c
    newton = value / np.where(slope == 0.0, 1e-300, slope)
    apart = w[..., :, None] - w[..., None, :]
    near = np.abs(apart) < 1e-300
    others = np.where(near, 0.0, 1.0 / np.where(near, 1.0, apart)).sum(axis=-1)
    below = 1.0 - newton * others
    return newton / np.where(below == 0.0, 1.0, below)


def _value_and_slope(c0: Array, c1: Array, c2: Array, angles: Array) -> tuple[Array, Array]:
    w = np.exp(1j * angles)
    one, two = 2.0 * c1[..., None] * w, 2.0 * c2[..., None] * w * w
    return c0[..., None] + one.real + two.real, -one.imag - 2.0 * two.imag
