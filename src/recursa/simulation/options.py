"""How to simulate, as the caller says it: checked once."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

import numpy as np

from recursa.dynamics.losses import Losses, known_losses
from recursa.errors import ShapeError, StateError, unknown_name
from recursa.integrators import named
from recursa.model.model import Model
from recursa.runs.options import Coordinates, Options
from recursa.simulation.constrained import Baumgarte, stabilized_by
from recursa.sweeps.batching import Array, prepare

COORDINATES = get_args(Coordinates)
DEFAULT_STEP = 1e-3
_MIN_RTOL = 100.0 * float(np.finfo(float).eps)
_MAX_NUMBERS = 2**29  # 4 GiB of recorded numbers


def options_of(
    model: Model,
    duration: Any,
    integrator: Any,
    rtol: Any,
    atol: Any,
    step: Any,
    samples: Any,
    save_every: Any,
    dense: bool,
    losses: Losses,
    progress: bool,
    coordinates: Any = "joint",
    baumgarte: Any = None,
) -> Options:
    """Checked options; errors name the option, what was expected and what came."""
    fixed = not named(integrator, "simulate").adaptive
    if coordinates not in COORDINATES:
        raise unknown_name("set of coordinates", coordinates, COORDINATES)
    duration = _number("duration", duration, low=0.0, unit=" s")
    step = DEFAULT_STEP if step is None and fixed else None if step is None else _number("step", step, unit=" s")
    if step is not None and step < 10.0 * np.spacing(duration):
        raise StateError(
            f"step = {step:g} s is lost in the rounding of a time of {duration:g} s, and the run would never end; take "
            f"{10.0 * np.spacing(duration):.2g} s or more, and far more to see the end of it"
        )
    if not isinstance(save_every, int | np.integer) or isinstance(save_every, bool) or save_every < 1:
        raise StateError(f"save_every must be a whole number of at least 1, not {save_every!r}")
    if dense and fixed:
        raise StateError(
            f"dense=True keeps the interpolants of adaptive integrators; with {integrator!r} run.at(t) goes through "
            "the samples, one a step"
        )
    most = _MAX_NUMBERS // (model.nq + 3 * model.nv + 4)
    times = None if samples is None else _times(samples, duration, most)
    if fixed and times is None:
        count = duration / step / save_every
        if count > most:
            raise StateError(
                f"{duration:g} s in steps of {step:g} s make {count:.3g} samples, more than fit into 4 GiB. "
                "Ask for fewer: samples=1001, or save_every=100"
            )
    return Options(
        duration,
        integrator,
        _number("rtol", rtol, low=_MIN_RTOL),
        _number("atol", atol),  # with 0, what is zero has no tolerance: work at the start, a joint at rest
        step,
        times,
        int(save_every),
        bool(dense),
        known_losses(losses),
        bool(progress),
        coordinates,
        _baumgarte(baumgarte),
    )


def _baumgarte(chosen: Any) -> tuple[float, float] | None:
    found = stabilized_by(Baumgarte(*chosen) if isinstance(chosen, tuple) else chosen)
    return None if found is None else (found.rate, found.damping)


def checked_again(model: Model, options: Options) -> Options:
    """Options that come from a file, as if the caller had said them."""
    said = {("samples" if item.name == "times" else item.name): getattr(options, item.name) for item in fields(options)}
    return options_of(model, **said)


def _number(name: str, value: Any, low: float | None = None, unit: str = "") -> float:
    """A finite number, above zero or at least ``low``."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise StateError(f"{name} must be a number, not {value!r}") from None
    if not np.isfinite(number) or (number <= 0.0 if low is None else number < low):
        wanted = "above 0" if low is None else f"at least {low:.3g}"
        raise StateError(f"{name} must be finite and {wanted}{unit}, not {value!r}")
    return number


def _times(samples: Any, duration: float, most: int) -> Array:
    """Times of samples: so many, evenly spaced from start to end, or those given."""
    if isinstance(samples, int | np.integer) and not isinstance(samples, bool):
        if samples < 2:
            raise StateError(f"samples must be at least 2 (start and end), or the times themselves; it is {samples}")
        if samples > most:
            raise StateError(f"samples = {samples} are more than fit into 4 GiB; of this robot {most} do")
        return np.linspace(0.0, duration, int(samples))
    try:
        times = np.asarray(samples, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise StateError(f"samples must be a whole number or times in seconds, not {samples!r}") from None
    if times.ndim != 1 or not times.size:
        raise ShapeError(f"the times of samples must be one row of numbers, not of shape {times.shape}")
    if not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
        raise StateError("the times of samples must be finite and rise")
    if times[0] < 0.0 or times[-1] > duration:
        raise StateError(
            f"the times of samples must lie in 0 .. {duration:g} s; they span {times[0]:g} .. {times[-1]:g}"
        )
    return times


def start_of(model: Model, q0: Any, v0: Any) -> tuple[Array, Array]:
    """The state at the start, (nq,) and (nv,), finite, quaternions unit; v0 is zero by default."""
    v0 = np.zeros(model.nv) if v0 is None else v0
    batch = prepare(model, {"q": q0, "v": v0}, {"q": "q0", "v": "v0"})
    if batch.shape:
        raise ShapeError(
            f"q0 and v0 have batch shape {batch.shape}; a run starts from one state. For many at once: rc.rollout"
        )
    if batch.dtype.kind == "c":
        raise StateError("q0 and v0 must be real numbers")
    q, v = (batch.rows[name][0].astype(float) for name in ("q", "v"))
    for name, values in (("q0", q), ("v0", v)):
        if not np.isfinite(values).all():
            raise StateError(f"{name} has entries that are not finite: {values}")
    return q, v
