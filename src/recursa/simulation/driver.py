"""A run under way: steps, changes of friction, events, samples; progress, interruption, and what went wrong."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recursa.dynamics.requirements import Lacking
from recursa.errors import LimitWarning, SimulationError, SingularHingeError
from recursa.integrators.mechanics import from_outside
from recursa.model.columns import freedom_name
from recursa.runs.options import Options
from recursa.runs.run import BaseMotion, Happened, Run, Status, keeps_momentum
from recursa.simulation.adaptive_steps import RunState
from recursa.simulation.choice import stepper_for
from recursa.simulation.equations import NUMERICAL, Equations
from recursa.simulation.events import Event, crossing
from recursa.simulation.progress import Interrupts, ProgressBar
from recursa.simulation.state_checks import array, count, one_of, real, require_described
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import far_beyond

if TYPE_CHECKING:
    from recursa.simulation.checkpoint import Checkpoint

_WINDOW, _MOST_STEPS = 10_000, 1e9  # steps after which progress is looked at, and those that a run may come to at that
_MAX_STALLS = 20  # changes of friction or contacts without progress in time


class Sample(NamedTuple):
    """One row of a run."""

    t: float
    q: Array
    v: Array
    a: Array
    tau: Array
    work: Array


class StepCut(NamedTuple):
    """Where a step ends early: which of the margins has come to zero; None where an event stops the run."""

    t: float
    margin: int | None


class Simulation:
    """One run: ``run()`` does it all, ``step()`` goes on by one; ``state()`` and ``restore()`` keep and bring back.

    A run that is restored and goes on is the same to the bit as one that was never interrupted.
    """

    def __init__(
        self, equations: Equations, q0: Array, v0: Array, options: Options, events: tuple[Event, ...] = ()
    ) -> None:
        self.equations, self.options, self.events = equations, options, events
        self.end = options.duration
        self.stepper = stepper_for(equations, options)
        self.samples: list[Sample] = []
        self.happened: list[Happened] = []
        self.pieces: list[tuple[float, float, Any]] = []
        self.stopped_by = ""
        self.seconds = 0.0
        self._began: float | None = None  # when run() started, while it is under way
        self._next_time = 0  # among the times asked for
        self._stalls = 0
        self._looked = (0, 0.0)  # when progress was last looked at: steps, time
        self._switches = equations.has_modes and not self.stepper.resolves_friction
        self._watched: Array = np.empty(0)  # values of events and margins of modes at the end of the last step
        q, v0 = equations.beginning(equations.normalized(q0), v0)
        learned = np.zeros(0) if equations.learner is None else equations.learner.now
        start = RunState(q, equations.from_joint(q, v0.copy()), np.concatenate([np.zeros(2), learned]))
        self._accepted: tuple[float, RunState] = (0.0, start)
        self._setup = equations.setup(q, v0)
        with np.errstate(all="ignore"):
            self._begin()

    def _begin(self) -> None:
        t, state = self._accepted
        if self._switches:
            state = self._settled(t, state)
            self._accepted = t, state
        if not np.isfinite(self.equations.rates(t, state.q, self._speeds(state)).a).all():
            raise SimulationError(f"the simulation cannot start: {self._reason(state)}", t)
        self.stepper.start(t, state)
        self._watched = self._values(t, state)
        if self.options.times is None:
            self._record(t, state)
        else:
            self._sample_until(t)

    # ---- the loop ----------------------------------------------------------------------------------------------------

    def run(self, keeper: Checkpoint | None = None) -> Run:
        """To the end, or as far as it gets; from the keyboard it can be stopped cleanly.

        The first Ctrl-C lets the step end; the second one interrupts at once.
        """
        bar = ProgressBar(self.options.progress, self.end)
        self._began = time.perf_counter()
        status: Status = "finished"
        message = ""
        try:
            with Interrupts() as interrupts:
                while not (self.finished or interrupts.asked):
                    self.step()
                    bar.update(self.stepper.t)
                    if keeper is not None:
                        keeper.update(self)
                if keeper is not None:
                    keeper.finish(self)
                if not self.finished:
                    raise KeyboardInterrupt
            if self.stopped_by:
                status, message = "stopped", f"event '{self.stopped_by}' at t = {self._accepted[0]:.9g} s"
        except KeyboardInterrupt:
            status, message = "interrupted", f"from the keyboard, after t = {self._accepted[0]:.9g} s"
        except SimulationError as error:
            error.run = self.result("failed", str(error))
            raise
        finally:
            bar.close()
            self.seconds, self._began = self._elapsed, None
        run = self.result(status, message)
        left = "" if self.equations.stops is not None else far_beyond(run.robot, run.t, run.q, run.v)
        if left:
            warnings.warn(left, LimitWarning, stacklevel=3)
        return run

    @property
    def _elapsed(self) -> float:
        """Seconds at work so far."""
        return self.seconds + (0.0 if self._began is None else time.perf_counter() - self._began)

    @property
    def finished(self) -> bool:
        """Whether it has reached its end, or an event that stops it."""
        return bool(self.stopped_by) or self.stepper.t >= self.end

    def step(self) -> None:
        """One step of the integrator, or up to what cuts it short."""
        stepper = self.stepper
        with np.errstate(all="ignore"):  # steps that are tried may overflow; what is not finite is looked for
            try:
                stepper.advance(self.end)
                self._require_finite(stepper.now)
                cut = self._watch()
                if cut is not None:
                    self._shorten(cut)
                else:
                    self._keep_piece(stepper.t)
                    self._sample_until(stepper.t)
                    if self.options.times is None and (stepper.steps % self.options.save_every == 0 or self.finished):
                        self._record(stepper.t, stepper.now)
            except SimulationError as error:
                if np.isnan(error.t):  # from the stepper, which knows no robot
                    raise SimulationError(self._collapse(), self._accepted[0]) from None
                raise
            except NUMERICAL as error:
                if from_outside(error):
                    raise
                raise SimulationError(self._lost(error), self._accepted[0]) from error
            self._accepted = stepper.t, stepper.now
            self._require_progress()

    def _speeds(self, state: RunState) -> Array:
        """Joint rates of a state, which is from now on what a controller remembers."""
        self.equations.recall(state.work)
        return self.equations.to_joint(state.q, state.u)

    # ---- what happens within a step ----------------------------------------------------------------------------------

    def _values(self, t: float, state: RunState) -> Array:
        """Of the events, then the margins to other modes."""
        if not (self.events or self._switches):
            return np.empty(0)
        v = self._speeds(state)
        values = [event.value(t, state.q, v) for event in self.events]
        return np.concatenate([values, self._margins(t, state.q, v)])

    def _margins(self, t: float, q: Array, v: Array) -> Array:
        return self.equations.margins(t, q, v) if self._switches else np.empty(0)

    def _settled(self, t: float, state: RunState, margin: int | None = None) -> RunState:
        """The state with new modes, after impulses; what hit is noted. ``margin``: the one that has come to zero."""
        v, lost, hit = self.equations.settle(t, state.q, self._speeds(state), margin, self._stalls)
        self.happened += [Happened(name, t, state.q.copy(), v.copy()) for name in hit]
        work = state.work.copy()
        work[1] += lost
        return state._replace(u=self.equations.from_joint(state.q, v), work=work)

    def _watch(self) -> StepCut | None:
        """Look for crossings of zero in the last step: events are noted, what cuts the step short is returned."""
        if not (self.events or self._switches):
            return None
        stepper = self.stepper
        times = np.linspace(stepper.t_old, stepper.t, stepper.probes + 1)
        before = self._watched
        for start, end in zip(times[:-1].tolist(), times[1:].tolist(), strict=True):
            after = self._values(end, self._within(end))
            cut = self._crossings(start, end, before, after)
            if cut is not None:
                return cut
            before = after
        self._watched, self._stalls = before, 0
        return None

    def _within(self, t: float) -> RunState:
        """A state within the last step to look at: events see what obeys constraints, margins need not."""
        return self.stepper.at(t) if self.events else self.stepper.about(t)

    def _crossings(self, start: float, end: float, before: Array, after: Array) -> StepCut | None:
        """Crossings between two times, in order, up to the first that cuts the step short."""
        found: list[tuple[float, int]] = []
        for number, event in enumerate(self.events):
            if event.crosses(before[number], after[number]):
                found.append((self._locate(number, start, end, before[number], after[number]), number))
        for number in range(len(self.events), len(after)):
            if after[number] < 0.0:
                found.append((self._locate_change(number, start, end, before[number], after[number]), number))
        for t, number in sorted(found):
            if number >= len(self.events):
                return StepCut(t, number - len(self.events))
            event, state = self.events[number], self.stepper.at(t)
            self.happened.append(Happened(event.name, t, state.q.copy(), self._speeds(state).copy()))
            if event.stop:
                self.stopped_by = event.name
                return StepCut(t, None)
        return None

    def _locate(self, number: int, start: float, end: float, before: float, after: float) -> float:
        return crossing(lambda t: self._value(number, t), start, end, before, after)

    def _value(self, number: int, t: float) -> float:
        """One of the values, at a time within the last step."""
        state = self._within(t)
        v = self._speeds(state)
        if number < len(self.events):
            return self.events[number].value(t, state.q, v)
        return float(self._margins(t, state.q, v)[number - len(self.events)])

    def _locate_change(self, number: int, start: float, end: float, before: float, after: float) -> float:
        """A freedom that has just been let go starts at zero speed: its margin is zero there, too, and does not count.

        Where it never becomes positive the freedom did not really start, and the change is at the start.
        """
        t, length = start, end - start
        while before <= 0.0 and length > 1e-9 * (end - start):
            length *= 0.5
            t = start + length
            before = self._value(number, t)
        return start if before <= 0.0 else self._locate(number, t, end, before, after)

    def _shorten(self, cut: StepCut) -> None:
        """End the step at a cut, change the modes there, and go on from there."""
        stepper, equations = self.stepper, self.equations
        self._keep_piece(cut.t)
        self._sample_until(cut.t, inclusive=False)
        self._stalls = self._stalls + 1 if cut.t - stepper.t_old <= equations.shortest_mode(cut.t) else 0
        if self._stalls > _MAX_STALLS:
            raise SimulationError(
                f"friction changes again and again at t = {cut.t:.9g} s: {self._reason(stepper.now)}.\n"
                f"  {equations.advice_on_modes}",
                self._accepted[0],
            )
        if cut.t > stepper.t_old:
            stepper.land(cut.t)
        state = stepper.now if cut.t > stepper.t_old else stepper.at(stepper.t_old)
        if cut.margin is not None:
            state = self._settled(cut.t, state, cut.margin)
            stepper.start(cut.t, state)
            self._watched = self._values(cut.t, state)
        self._sample_until(cut.t)
        new = not self.samples or cut.t > self.samples[-1].t
        if new and (self.options.times is None or self.stopped_by):
            self._record(cut.t, state)

    # ---- samples -----------------------------------------------------------------------------------------------------

    def _record_last(self, t: float, state: RunState) -> None:
        """Where a run got to, also if nothing can be computed there any more."""
        try:
            self._record(t, state)
        except NUMERICAL:
            unknown = np.full(self.equations.nv, np.nan)
            self.samples.append(Sample(t, state.q.copy(), self._speeds(state).copy(), unknown, unknown, state.work))

    def _record(self, t: float, state: RunState) -> None:
        counted = self.equations.evaluations
        v = self._speeds(state)
        if self.equations.rubbed and self.stepper.resolves_friction:
            self.equations.settle(t, state.q, v)  # for the accelerations alone
        rates = self.equations.rates(t, state.q, v)
        self.equations.evaluations = counted
        self.samples.append(Sample(t, state.q.copy(), v.copy(), rates.a, rates.tau.copy(), state.work.copy()))

    def _sample_until(self, t: float, *, inclusive: bool = True) -> None:
        """Samples at the times asked for, up to t."""
        times = self.options.times
        while times is not None and self._next_time < len(times):
            wanted = float(times[self._next_time])
            if wanted > t or (wanted == t and not inclusive):
                break
            self._record(wanted, self.stepper.now if wanted >= self.stepper.t else self.stepper.at(wanted))
            self._next_time += 1

    def _keep_piece(self, t: float) -> None:
        if self.options.dense and t > self.stepper.t_old:
            self.pieces.append((self.stepper.t_old, t, self.stepper.interpolant))

    def result(self, status: Status, message: str = "") -> Run:
        """What there is of the run."""
        t, state = self._accepted
        partial = status in ("interrupted", "failed")
        if partial and (not self.samples or t > self.samples[-1].t):
            with np.errstate(all="ignore"):
                self._record_last(t, state)
        equations = self.equations
        rows = list(zip(*self.samples, strict=True)) or [()] * len(Sample._fields)
        times = np.array(rows[0], dtype=float)
        widths = (equations.nq, equations.nv, equations.nv, equations.nv, 2 + equations.memory)
        q, v, a, tau, work = (
            np.array(column, dtype=float).reshape(len(times), width)
            for column, width in zip(rows[1:], widths, strict=True)
        )
        losses = equations.damping + equations.friction.sum(axis=0)
        kept = keeps_momentum(equations.robot, losses, equations.acted_upon, tau)
        statistics = {**self.stepper.statistics(), "seconds": self._elapsed}
        return Run(
            equations.robot,
            times,
            q,
            v,
            a,
            tau,
            work[:, 0],
            work[:, 1],
            tuple(self.happened),
            status,
            message,
            self.options,
            statistics,
            kept,
            tuple(self.pieces),
            None if equations.base is None else BaseMotion.of([equations.base.at(t) for t in times.tolist()]),
            work[:, 2:] if equations.memory else None,
            self._setup,
        )

    # ---- keeping and bringing back -----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that the rest of the run depends on, and the samples so far; between two steps."""
        equations = self.equations
        return {
            "stepper": self.stepper.state(),
            **equations.modes(),
            "evaluations": equations.evaluations,
            "watched": self._watched.copy(),
            "stalls": self._stalls,
            "next_time": self._next_time,
            "stopped_by": self.stopped_by,
            "seconds": self._elapsed,
            "samples": list(self.samples),
            "happened": list(self.happened),
            "pieces": list(self.pieces),
            "accepted": self._accepted,
        }

    def described(self) -> dict[str, Any]:
        """What :meth:`state` gives, but for lists of what is done and the state itself, which the stepper has, too."""
        return {
            "stepper": self.stepper.described(self.end),
            **self.equations.described_modes(),
            "evaluations": count,
            "watched": array(float, *self._watched.shape),
            "stalls": count,
            "next_time": count,
            "stopped_by": one_of("", *(event.name for event in self.events)),
            "seconds": real(0.0),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there; a ValueError if no run like this one can have been there."""
        described = self.described()
        require_described(described, {name: state[name] for name in described})
        self.equations.restore_modes(state)
        self.stepper.restore(state["stepper"])
        self.equations.evaluations = state["evaluations"]
        self._watched, self._stalls = state["watched"].copy(), state["stalls"]
        self._next_time, self.stopped_by, self.seconds = state["next_time"], state["stopped_by"], state["seconds"]
        self.samples, self.happened = list(state["samples"]), list(state["happened"])
        self.pieces, self._accepted = list(state["pieces"]), state["accepted"]
        self._looked = self.stepper.steps, self.stepper.t
        t, where = self._accepted
        if self.stepper.t != t or not all(map(np.allclose, self.stepper.now, where)):
            raise ValueError(f"the integrator is at t = {self.stepper.t:g} s in another state than the run, at {t:g} s")
        passed = 0 if self.options.times is None else int(np.searchsorted(self.options.times, t, "right"))
        if self._next_time != passed:
            raise ValueError(f"it has samples at {self._next_time} of the times asked for, and {passed} are over")

    # ---- what went wrong ---------------------------------------------------------------------------------------------

    def _require_progress(self) -> None:
        """A run whose steps have become so short that nobody will see its end is better told so."""
        steps, t = self.stepper.steps, self.stepper.t
        if self.options.fixed or steps - self._looked[0] < _WINDOW:
            return
        done, self._looked = t - self._looked[1], (steps, t)
        if done * _MOST_STEPS < self.end * _WINDOW:
            raise SimulationError(
                f"the last {_WINDOW} steps led from t = {t - done:.9g} s no farther than {done:.3g} s, and the run to "
                f"{self.end:g} s would take more than {_MOST_STEPS:.0e} of them: {self._reason(self.stepper.now)}.\n"
                f"  {self._advice()}",
                self._accepted[0],
            )

    def _require_finite(self, state: RunState) -> None:
        if all(np.isfinite(x).all() for x in state):
            return
        raise SimulationError(
            f"the state is no longer finite after t = {self._accepted[0]:.9g} s: {self._reason(state)}.\n"
            f"  {self._advice()}",
            self._accepted[0],
        )

    def _reason(self, state: RunState) -> str:
        """The likely cause in a few words, with a joint's name."""
        model = self.equations.robot.model
        if self.equations.trouble:
            return self.equations.trouble
        v = self._speeds(state)
        if not np.isfinite(v).all():
            freedom = int(np.argmax(~np.isfinite(v)))
            return f"the speed of {freedom_name(model, freedom)} is {v[freedom]}"
        if not v.size:
            return "the robot has no joints"
        freedom = int(np.argmax(np.abs(v)))
        return f"{freedom_name(model, freedom)} is the fastest, with a speed of {v[freedom]:.3g}"

    def _lost(self, error: Exception) -> str:
        """A step led to where not even accelerations can be computed; that is seldom the model's fault."""
        t, state = self._accepted
        if isinstance(error, SingularHingeError) and not Lacking.of(self.equations.robot.model).hinges:
            return (  # every joint moves something: what the error says of inertias is rounding at a state far off
                f"the motion cannot be followed beyond t = {t:.9g} s. {self._advice()}\n"
                f"  There {self._reason(state)}, and a step from there leads to numbers that mean nothing."
            )
        why = str(error).splitlines()[0].rstrip(".")
        return (
            f"the motion cannot be followed beyond t = {t:.9g} s: {self._reason(state)}, and a step from there leads "
            f"to numbers that mean nothing ({why}).\n  {self._advice()}"
        )

    def _collapse(self) -> str:
        t, state = self._accepted
        what = "the equation of a step has no solution" if self.options.fixed else "no step is small enough"
        return f"{what} at t = {t:.9g} s: {self._reason(state)}.\n  {self._advice()}"

    def _advice(self) -> str:
        if self.equations.trouble:
            return "Check what the torque function returns in this state."
        if self.options.fixed:
            return (
                f"The step of {self.options.step:g} s is likely too long for how fast the robot moves or how stiff its "
                "torques are. Try a shorter step=, or integrator='dop853' or 'radau'."
            )
        return (
            "Torques may jump or grow without bound here, or be too stiff for this integrator. Try integrator='radau', "
            "looser rtol= and atol=, or a fixed step (integrator='semi-implicit')."
        )
