"""How a run is to be simulated, and from where: as a caller or a file gives it, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from recursa.dynamics.wrenches import Losses, known_losses
from recursa.errors import RecursaError, ResultFileError, ShapeError, StateError, unknown_name
from recursa.integrators import INTEGRATORS, named
from recursa.integrators.explicit import SimulationIntegrator
from recursa.model.model import Model
from recursa.sweeps.batching import Array, one_number, prepare, whole_number

Coordinates = Literal["joint", "diagonal"]
_COORDINATES = get_args(Coordinates)
_DEFAULT_STEP = 1e-3
_MIN_RTOL = 100.0 * float(np.finfo(float).eps)
_MAX_NUMBERS = 2**29  # 4 GiB of recorded numbers


@dataclass(frozen=True)
class Baumgarte:
    """Errors e of constraints die out by terms in the accelerations: ``e'' + 2 damping rate e' + rate^2 e = 0``.

    - ``rate``: 1/s, how fast they do; well under 1 over the step of the integrator.
    - ``damping``: 1 without overshooting.

    >>> import recursa as rc
    >>> rc.Baumgarte(rate=50.0)
    Baumgarte(rate=50.0, damping=1.0)
    """

    rate: float = 20.0
    damping: float = 1.0

    def __post_init__(self) -> None:
        for name in ("rate", "damping"):
            object.__setattr__(self, name, one_number(f"{name} of Baumgarte", getattr(self, name), low=0.0))


@dataclass(frozen=True)
class Options:
    """What a run was asked for."""

    duration: float
    integrator: SimulationIntegrator = "dop853"
    rtol: float = 1e-10
    atol: float = 1e-12
    step: float | None = None
    times: Array | None = None
    save_every: int = 1
    dense: bool = False
    losses: Losses = True
    progress: bool = True
    coordinates: Coordinates = "joint"
    baumgarte: tuple[float, float] | None = None  # rate and damping; None: projection onto constraints

    @property
    def fixed(self) -> bool:
        """Whether steps are of one size."""
        return not INTEGRATORS[self.integrator].adaptive

    @classmethod
    def of(cls, model: Model, *, samples: Any = None, **arguments: Any) -> Options:
        """Return checked options of a run of a robot; errors name the option, what was expected and what came.

        ``samples``: a number of samples, or their times. The other arguments have the names of the fields.
        """
        given = cls(**arguments)
        fixed = not named(given.integrator, "simulate").adaptive
        if given.coordinates not in _COORDINATES:
            raise unknown_name("set of coordinates", given.coordinates, _COORDINATES)
        duration = one_number("duration", given.duration, low=0.0, unit=" s")
        step = _DEFAULT_STEP if given.step is None and fixed else given.step
        if step is not None:
            step = one_number("step", step, unit=" s")
            if step < 10.0 * np.spacing(duration):
                raise StateError(
                    f"step = {step:g} s is lost in the rounding of a time of {duration:g} s, and the run would never "
                    f"end; take {10.0 * np.spacing(duration):.2g} s or more, and far more to see the end of it"
                )
        save_every = whole_number("save_every", given.save_every, 1)
        if given.dense and fixed:
            raise StateError(
                f"dense=True keeps the interpolants of adaptive integrators; with {given.integrator!r} run.at(t) goes "
                "through the samples, one a step"
            )
        most = _MAX_NUMBERS // (model.nq + 3 * model.nv + 4)
        times = None if samples is None else _times(samples, duration, most)
        if step is not None and fixed and times is None:
            count = duration / step / save_every
            if count > most:
                raise StateError(
                    f"{duration:g} s in steps of {step:g} s make {count:.3g} samples, more than fit into 4 GiB. "
                    "Ask for fewer: samples=1001, or save_every=100"
                )
        return replace(
            given,
            duration=duration,
            rtol=one_number("rtol", given.rtol, low=_MIN_RTOL),
            atol=one_number("atol", given.atol),  # with 0, what is zero has no tolerance: work at the start
            step=step,
            times=times,
            save_every=save_every,
            dense=bool(given.dense),
            losses=known_losses(given.losses),
            progress=bool(given.progress),
            baumgarte=_baumgarte(given.baumgarte),
        )

    @classmethod
    def from_file(cls, model: Model, stored: Mapping[str, Any], times: Array | None) -> Options:
        """Return the options in a file, which anyone may have written, checked as if the caller had given them."""
        arguments = {name: value for name, value in stored.items() if name != "times"}
        wrong = arguments.keys() ^ ({item.name for item in fields(cls)} - {"times"})
        if wrong:
            raise ResultFileError(f"its options are not those of a run: {min(wrong)[:40]!r}")
        if times is not None and not isinstance(times, np.ndarray):
            raise ResultFileError("the times of its samples are no array")
        try:
            return cls.of(model, samples=times, **arguments)
        except RecursaError as error:
            raise ResultFileError(f"its options: {error}") from None


def _baumgarte(given: Any) -> tuple[float, float] | None:
    """Rate and damping, from what ``baumgarte=`` of simulate or a file says; None or False is projection."""
    if given is None or given is False:
        return None
    if isinstance(given, tuple | list):
        given = Baumgarte(*given)
    elif given is True:
        given = Baumgarte()
    if not isinstance(given, Baumgarte):
        raise StateError(f"baumgarte takes rc.Baumgarte(rate=, damping=), True or None, not {given!r}")
    return given.rate, given.damping


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
