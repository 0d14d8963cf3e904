"""From measured positions to speeds and accelerations without delay, and from many samples to few.

Positions are filtered forward and backward by a Butterworth filter of order four, so that nothing is delayed, and then
differentiated as a quintic spline. Torques and the regressor pass through one and the same symmetric filter, after
which few samples hold what many did (the parallel or decimation filter of Gautier): whatever the filter does to one
side of ``tau = Y pi`` it does to the other, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recursa.errors import StateError
from recursa.identification.logs import Log
from recursa.sweeps.batching import Array
from recursa.trajectories.coordinates import aligned, states

if TYPE_CHECKING:
    from recursa.robot import Robot

ORDER = 4
"""Of the Butterworth filter; forward and backward make it eight."""

_EVEN = 1e-3  # of a step: by so much steps may differ and count as even
_FLOOR = 3.0  # times the noise: where the spectrum has fallen to that there is nothing more to see
_HIGHEST, _PERIODS = 0.8, 10.0  # of half the rate, and periods in a log: between these a cutoff lies that is chosen
_FASTEST = 40.0  # Hz: a cutoff that is chosen is no higher; rigid robots hardly move faster
_NEIGHBOURS, _SIGMAS, _LEAST = 5, 6.0, 0.05  # samples of a median; what sticks out of it
_STEEP = 2.0  # times what the middle ones of its neighbours differ by: the peak of a fast motion sticks out by less
_BAND = 0.8  # of half the rate of the few samples: what the decimation filter lets through
_REACH = 4  # the filter of a sample reaches over so many steps of the few samples to both sides
_ENDS = 1.0  # periods of the cutoff that are left out at both ends, where filters know one side only


@dataclass(frozen=True, eq=False)
class Filtered:
    """A motion on even instants: t (n,), q (n, nq), v, a, tau (n, nv); ``step`` in s, ``cutoff`` in Hz.

    ``spikes``: how many single samples stuck out and were replaced.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    step: float
    cutoff: float
    resampled: bool
    spikes: int

    def __len__(self) -> int:
        return len(self.t)

    @property
    def lasts(self) -> bool:
        """Whether there is at least one whole window of the filter that makes few samples of many."""
        return len(self) > 2 * (_REACH * steps_between(self) if steps_between(self) > 1 else 0)

    def part(self, start: int, stop: int) -> Filtered:
        """Some of the samples."""
        t, q, v, a, tau = (x[start:stop] for x in (self.t, self.q, self.v, self.a, self.tau))
        return Filtered(t, q, v, a, tau, self.step, self.cutoff, self.resampled, self.spikes)


def filtered(robot: Robot, log: Log, cutoff: float | None, *, robust: bool = True) -> Filtered:
    """The motion of a log, filtered; without a cutoff one is chosen by :func:`noise_cutoff`.

    ``robust``: whether single samples that stick out are replaced, before filters spread them.
    """
    t, columns, step, resampled = _evenly(robot, log)
    spikes = 0
    if robust:
        for name, x in columns.items():
            columns[name], more = without_spikes(x)
            spikes += more
    rate = 1.0 / step
    chosen = noise_cutoff(columns["q"], rate) if cutoff is None else _checked(cutoff, rate, log.source)
    smooth = {name: zero_phase(x, rate, chosen) for name, x in columns.items() if name != "tau"}
    p, dp, ddp = _slopes(t, smooth["q"])
    q, v, a = states(robot.model, p, dp, ddp)
    if "v" in smooth:
        v, a = smooth["v"], _slopes(t, smooth["v"])[1]
    if "a" in smooth:
        a = smooth["a"]
    ends = min(round(_ENDS * rate / chosen), len(t) // 10)
    whole = Filtered(t, q, v, a, columns["tau"], step, chosen, resampled, spikes)
    return whole.part(ends, len(t) - ends)


def _checked(cutoff: float, rate: float, source: str) -> float:
    try:
        value = float(cutoff)
    except (TypeError, ValueError):
        raise StateError(f"cutoff must be a frequency in Hz, not {cutoff!r}") from None
    if not 0.0 < value < 0.5 * rate:
        raise StateError(
            f"cutoff = {value:g} Hz: it must lie between 0 and {0.5 * rate:g} Hz, half the rate of {source}"
        )
    return value


def _evenly(robot: Robot, log: Log) -> tuple[Array, dict[str, Array], float, bool]:
    """Samples on even instants, by cubic splines where they are not."""
    measured = {"q": aligned(robot.model, log.q), "v": log.v, "a": log.a, "tau": log.tau}
    columns = {name: x for name, x in measured.items() if x is not None}
    steps = np.diff(log.t)
    step = float(log.t[-1] - log.t[0]) / len(steps)
    if np.abs(steps - step).max() <= _EVEN * step:
        return log.t, columns, step, False
    from scipy.interpolate import CubicSpline  # slow to import

    t = np.linspace(log.t[0], log.t[-1], len(log.t))
    return t, {name: CubicSpline(log.t, x)(t) for name, x in columns.items()}, step, True


def without_spikes(x: Array) -> tuple[Array, int]:
    """Columns (n, k) with samples that stick out of their neighbours replaced by the median of these, and how many.

    Six standard deviations of the noise count (Hampel 1974), and at least a twentieth of the column's size. Noise is
    what second differences show, since on slopes the median of neighbours is mostly the sample itself. The peaks of
    fast motions stick out of their neighbours, too, but there these differ as much.

    >>> t = np.arange(100) / 50.0
    >>> wave = np.sin(t)
    >>> wave[40] += 5.0
    >>> smooth, count = without_spikes(wave[:, None])
    >>> count, bool(abs(smooth[:, 0] - np.sin(t)).max() < 0.03)
    (1, True)
    """
    from scipy.ndimage import median_filter  # slow to import

    middles = median_filter(x, size=(_NEIGHBOURS, 1), mode="nearest")
    off = np.abs(x - middles)
    noise = 1.4826 * np.median(np.abs(np.diff(x, 2, axis=0)), axis=0) / np.sqrt(6.0)
    usual = np.maximum(_SIGMAS * noise, _LEAST * x.std(axis=0))
    out = off > np.maximum(usual, 1e-300)
    rows, columns = np.nonzero(out)
    around = np.array([k for k in range(-(_NEIGHBOURS // 2), _NEIGHBOURS // 2 + 1) if k])
    others = np.sort(x[np.clip(rows[:, None] + around, 0, len(x) - 1), columns[:, None]], axis=1)
    half = len(around) // 2
    out[rows, columns] = off[rows, columns] > _STEEP * (others[:, half] - others[:, half - 1])
    return np.where(out, middles, x), int(out.sum())


def zero_phase(x: Array, rate: float, cutoff: float) -> Array:
    """Columns (n, k) through a low pass, forward and backward: nothing is delayed.

    >>> t = np.arange(1000) / 500.0
    >>> slow, fast = np.sin(2 * np.pi * t), 0.1 * np.sin(2 * np.pi * 100 * t)
    >>> bool(abs(zero_phase((slow + fast)[:, None], 500.0, 20.0)[100:-100, 0] - slow[100:-100]).max() < 1e-3)
    True
    """
    if cutoff >= _HIGHEST * 0.5 * rate:
        return x  # there is nothing to be cut off
    from scipy.signal import butter, sosfiltfilt  # slow to import

    sections = butter(ORDER, cutoff, fs=rate, output="sos")
    return np.asarray(sosfiltfilt(sections, x, axis=0, padlen=min(len(x) - 1, round(3.0 * rate / cutoff))))


def noise_cutoff(x: Array, rate: float) -> float:
    """A cutoff in Hz for columns (n, k): twice the frequency from which on spectra are flat, which is noise."""
    from scipy.signal import detrend  # slow to import

    window = np.hanning(len(x))[:, None]
    power = np.abs(np.fft.rfft(window * detrend(x, axis=0), axis=0)) ** 2
    frequencies = np.fft.rfftfreq(len(x), 1.0 / rate)
    width = max(1, len(power) // 200)  # a few lines at a time: single ones of noise stick out
    blocks = power[: len(power) // width * width].reshape(-1, width, x.shape[1]).mean(axis=1)
    noise = np.median(blocks[len(blocks) // 2 :], axis=0)
    seen = np.flatnonzero((blocks > _FLOOR**2 * noise).any(axis=1))
    last = frequencies[min((seen[-1] + 1) * width, len(frequencies) - 1)] if len(seen) else 0.0
    lowest, highest = _PERIODS * rate / len(x), _HIGHEST * 0.5 * rate
    return float(min(max(2.0 * last, lowest), max(lowest, _FASTEST), highest))


def _slopes(t: Array, x: Array) -> tuple[Array, Array, Array]:
    """x and its first two derivatives, by a quintic spline through the samples."""
    from scipy.interpolate import make_interp_spline  # slow to import

    spline = make_interp_spline(t - t[0], x, k=5)
    return x, spline(t - t[0], 1), spline(t - t[0], 2)


# ---- from many samples to few ----------------------------------------------------------------------------------------


class Window(NamedTuple):
    """Samples from ``start`` to ``stop`` that become few: ``weights`` (few, stop - start); ``at``: their middles."""

    start: int
    stop: int
    weights: Array
    at: Array


def steps_between(motion: Filtered) -> int:
    """How many samples become one: the band of the few holds all that the cutoff let through."""
    return max(1, int(_BAND * 0.5 / (motion.step * motion.cutoff)))


def windows(count: int, every: int, at_once: int = 16) -> Iterator[Window]:
    """The symmetric low-pass filter that makes one of ``every`` samples, a few results at a time.

    Only results whose filter lies within the samples are made.
    """
    taps = _taps(every)
    reach = len(taps) // 2
    middles = np.arange(reach, count - reach, every)
    for first in range(0, len(middles), at_once):
        at = middles[first : first + at_once]
        start, stop = int(at[0]) - reach, int(at[-1]) + reach + 1
        weights = np.zeros((len(at), stop - start))
        for row, middle in enumerate(at):
            weights[row, middle - reach - start : middle + reach + 1 - start] = taps
        yield Window(start, stop, weights, at)


def low_frequency_density(every: int) -> float:
    """The spectral density of filtered white noise at low frequencies, over that of independent rows as large.

    The filter takes the highest frequencies away, so that neighbouring rows depend on each other: standard deviations
    of what is estimated from them are larger than those from independent rows, by the root of this.

    >>> low_frequency_density(1), round(low_frequency_density(10), 3)
    (1.0, 1.426)
    """
    return float(1.0 / (every * np.square(_taps(every)).sum()))


def _taps(every: int) -> Array:
    """A windowed sine cardinal: sums to one, symmetric."""
    if every == 1:
        return np.ones(1)
    k = np.arange(-_REACH * every, _REACH * every + 1)
    taps = np.sinc(_BAND * k / every) * np.hamming(len(k))
    return taps / taps.sum()
