"""Curves over time with their first two derivatives: the cycloid, and piecewise polynomials of every make."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from recursa.errors import StateError
from recursa.kernels.switch import extension
from recursa.sweeps.batching import Array

Derivatives = tuple[Array, Array, Array]


class Curve(Protocol):
    """``curve(t)`` of instants (N,) is x, dx/dt and d2x/dt2, each (N, n); ``breaks`` are start, joins and end."""

    @property
    def breaks(self) -> Array:
        """Start, joins and end."""

    def __call__(self, t: Array) -> Derivatives:
        """x and its derivatives."""


class Cycloid:
    """From 0 to 1 in time T, speed and acceleration zero at both ends.

    ``s = t/T - sin(w t)/(w T)``, ``w = 2 pi/T``: Saha (38), (39) for a unit step, (39) corrected.
    """

    def __init__(self, T: float) -> None:
        self.T = T
        self.breaks = np.array([0.0, T])

    def __call__(self, t: Array) -> Derivatives:
        """s, ds/dt, d2s/dt2."""
        T = self.T
        turn = 2.0 * math.pi * (t / T)
        s = t / T - np.sin(turn) / (2.0 * math.pi)
        columns = s, (1.0 - np.cos(turn)) / T, (2.0 * math.pi / T) * np.sin(turn) / T
        return columns[0][:, None], columns[1][:, None], columns[2][:, None]


class Pieces:
    """Polynomials between ``breaks`` (m + 1,): ``x = sum c[k] u^k`` with ``u = (t - start)/width`` from 0 to 1.

    ``coefficients`` (order, m, n), lowest first. In u they keep their size whatever the unit of time. At a join the
    piece that begins there counts.
    """

    def __init__(self, breaks: Array, coefficients: Array) -> None:
        self.breaks = np.ascontiguousarray(breaks, dtype=float)
        self.widths = np.diff(breaks)
        self.coefficients = np.ascontiguousarray(coefficients, dtype=float)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            speeds = np.abs(coefficients).sum(axis=0) / self.widths[:, None] ** 2
        if not np.isfinite(speeds).all():
            raise StateError("the motion is too far or too fast for floating-point numbers")

    def __call__(self, t: Array) -> Derivatives:
        """x, dx/dt, d2x/dt2 by Horner's rule, in native code (``_paths.c``)."""
        x, dx, ddx = np.empty((3, len(t), self.coefficients.shape[2]))
        self.into(t, x, dx, ddx)
        return x, dx, ddx

    def into(self, t: Array, x: Array, dx: Array, ddx: Array) -> None:
        """The same into contiguous arrays of so many numbers."""
        native = extension("the sampling of trajectories", kernels=False)
        native.pieces(self.breaks, self.coefficients, np.ascontiguousarray(t, float), x, dx, ddx)


class Along:
    """A scalar law times a constant direction (n,)."""

    def __init__(self, direction: Array, law: Curve) -> None:
        self.direction = direction
        self.law = law
        self.breaks = law.breaks

    def __call__(self, t: Array) -> Derivatives:
        """x = s d and its derivatives."""
        s, ds, dds = self.law(t)
        return s * self.direction, ds * self.direction, dds * self.direction


def hermite(breaks: Array, x: Array, dx: Array, ddx: Array) -> Pieces:
    """The quintic pieces with given values and two derivatives (m + 1, n) at the breaks: continuous in all three."""
    width = np.diff(breaks)[:, None]
    with np.errstate(all="ignore"):  # Pieces refuses what is not finite
        return Pieces(breaks, _quintics(width, x, dx, ddx))


def _quintics(width: Array, x: Array, dx: Array, ddx: Array) -> Array:
    start, v, a = x[:-1], dx[:-1] * width, 0.5 * ddx[:-1] * width**2
    gap = x[1:] - start - v - a
    turn = dx[1:] * width - v - 2.0 * a
    bend = 0.5 * (ddx[1:] * width**2) - a
    cubic = 10.0 * gap - 4.0 * turn + bend
    quartic = -15.0 * gap + 7.0 * turn - 2.0 * bend
    quintic = 6.0 * gap - 3.0 * turn + bend
    return np.stack([start, v, a, cubic, quartic, quintic])


def trapezoid(T: float, ramp: float) -> Pieces:
    """From 0 to 1 in time T: constant acceleration for ``ramp``, constant speed, constant deceleration for ``ramp``."""
    peak = 1.0 / (T - ramp)
    rise = 0.5 * peak * ramp
    cruise = T - 2.0 * ramp
    if cruise <= 1e-12 * T:  # no time at full speed
        return Pieces(np.array([0.0, 0.5 * T, T]), _columns([0.0, 0.0, 0.5], [0.5, 1.0, -0.5]))
    return Pieces(
        np.array([0.0, ramp, T - ramp, T]),
        _columns([0.0, 0.0, rise], [rise, peak * cruise, 0.0], [1.0 - rise, 2.0 * rise, -rise]),
    )


def _columns(*pieces: list[float]) -> Array:
    return np.array(pieces).T[:, :, None]


# ---- through points ------------------------------------------------------------------------------------------------


def smoothest(times: Array, x: Array, ends: tuple[Array, Array, Array, Array]) -> Pieces:
    """The curve of least ``integral |d3x/dt3|^2`` through points (m, n), with (v0, a0, v1, a1) at the ends.

    Its sixth derivative is zero between the points, and four derivatives are continuous at them: a quintic spline.
    """
    from scipy.interpolate import make_interp_spline

    unit = _mean_step(times)
    v0, a0, v1, a1 = ends
    with _solving():
        start = [(1, v0 * unit), (2, a0 * unit**2)]
        end = [(1, v1 * unit), (2, a1 * unit**2)]
        spline = make_interp_spline((times - times[0]) / unit, x, k=5, bc_type=(start, end))
        return _from_spline(spline, times, x)


def interpolated(times: Array, x: Array, kind: str, ends: str | None) -> Pieces:
    """SciPy's interpolants through points (m, n), by name."""
    from scipy import interpolate

    u = (times - times[0]) / _mean_step(times)
    with _solving():
        if kind == "pchip":
            return _from_pieces(interpolate.PchipInterpolator(u, x), times)
        if kind == "akima":
            return _from_pieces(interpolate.Akima1DInterpolator(u, x), times)
        if kind == "cubic":
            return _from_pieces(interpolate.CubicSpline(u, x, bc_type=ends), times)
        none = np.zeros(x.shape[1])
        given: Any = {
            "clamped": ([(1, none), (2, none)],) * 2,
            "natural": ([(3, none), (4, none)],) * 2,
        }.get(str(ends), ends)
        return _from_spline(interpolate.make_interp_spline(u, x, k=5, bc_type=given), times, x)


@contextmanager
def _solving() -> Iterator[None]:
    """Equations whose numbers are beyond floating point are an error of ours, not a warning on the way."""
    try:
        with np.errstate(all="ignore"):
            yield
    except StateError:
        raise
    except (ValueError, np.linalg.LinAlgError):
        raise StateError("no curve through these points can be computed: their steps in time differ too much") from None


def slopes(times: Array, x: Array) -> Array:
    """dx/dt at samples (m, n), by a cubic spline through them."""
    return interpolated(times, x, "cubic", "not-a-knot")(times)[1]


def _from_spline(spline: Any, times: Array, x: Array) -> Pieces:
    """The pieces of a quintic spline in units of the mean step, from its values and derivatives at the joins."""
    joins = np.unique(spline.t[spline.k : len(spline.t) - spline.k])
    unit = _mean_step(times)
    if len(joins) == len(times):
        breaks, values = times, x  # the points themselves, without the rounding of the solution
    else:  # fewer joins than points, as without knots next to the ends
        breaks, values = times[0] + unit * joins, spline(joins)
        breaks[-1] = times[-1]
    return hermite(breaks, values, spline(joins, 1) / unit, spline(joins, 2) / unit**2)


def _from_pieces(pieces: Any, times: Array) -> Pieces:
    """SciPy's polynomials (highest first) between the points."""
    c = pieces.c[::-1]
    return Pieces(times, c * np.diff(pieces.x)[None, :, None] ** np.arange(len(c))[:, None, None])


def _mean_step(times: Array) -> float:
    """The unit of time in which the equations are well scaled."""
    return float(times[-1] - times[0]) / (len(times) - 1)
