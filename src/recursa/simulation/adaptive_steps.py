"""Steps of adaptive size: SciPy's DOP853, RK45 and Radau, driven step by step.

The state is (q, v, work) in one vector, with quaternions as four numbers of it: their rates keep their length, up to
the local error, and after every step they are made unit again. Rates depend on a quaternion's direction alone, so
those computed for the end of a step stay right. Coordinates about a moving reference would keep quaternions unit
within a step too, but they change with every step: Radau would lose its Jacobian and its predictor, and tolerances
relative to q would lose their meaning.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate

from recursa.integrators import INTEGRATORS
from recursa.integrators.implicit import no_step
from recursa.integrators.mechanics import from_outside
from recursa.simulation.equations import Equations
from recursa.simulation.state_checks import array, count, floats, indices, one_of, pair, perhaps, real, step_size
from recursa.sweeps.batching import Array

# ---- -----------------------------------------------------------------------------------------------------------------
# What every integrator offers: one step at a time, the state within the last one, and a state that can be kept.


class RunState(NamedTuple):
    """Where a run is: coordinates, speeds, and the work (gained, lost) since the start; behind it what is learned.

    The speeds are those that are integrated: v, or in diagonal coordinates nu. ``Equations.to_joint`` makes v of them.
    """

    q: Array
    u: Array
    work: Array


class Stepper:
    """Advances a state in time. ``t_old`` is where the last step began, ``t`` where it ended."""

    interpolant: Any = None  # the last step as a function of time, for the packed state, where there is one
    resolves_friction = False  # whether friction is part of a step, or modes are set from outside
    probes = 1  # into how many parts a step is cut when crossings of zero are looked for

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.t = self.t_old = 0.0
        self.now = RunState(np.empty(0), np.empty(0), np.zeros(2))
        self.steps = 0

    def start(self, t: float, state: RunState) -> None:
        """Begin here, forgetting what was."""
        raise NotImplementedError

    def advance(self, bound: float) -> None:
        """One step, not beyond ``bound``."""
        raise NotImplementedError

    def at(self, t: float) -> RunState:
        """The state at a time within the last step."""
        raise NotImplementedError

    def about(self, t: float) -> RunState:
        """The same where it need not obey constraints to the last digit, if that takes less."""
        return self.at(t)

    def land(self, t: float) -> None:
        """Take the last step again, up to a time within it."""
        raise NotImplementedError

    def statistics(self) -> dict[str, int]:
        """What it took so far."""
        return {"steps": self.steps, "evaluations": self.equations.evaluations}

    def state(self) -> dict[str, Any]:
        """All that the next step depends on, as plain numbers and arrays."""
        raise NotImplementedError

    def described(self, end: float) -> dict[str, Any]:
        """What :meth:`state` gives, in a run that ends at ``end``; see :mod:`recursa.simulation.state_checks`."""
        raise NotImplementedError

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`, which is as described; what follows is the same to the bit."""
        raise NotImplementedError


_SHARE = float(np.finfo(float).eps)  # of a coordinate, by which it is varied for a Jacobian: less changes nothing


def _kept(integrator: str, n: int, end: float) -> dict[str, Any]:
    """What is kept of a solver by its name there, for a state of n numbers."""
    time, vector = real(0.0, end), floats(n)
    common = {
        "t": time, "t_old": perhaps(time), "y": vector, "y_old": perhaps(vector), "f": vector, "h_abs": step_size,
        "status": one_of("running", "finished"), "nfev": count, "njev": count, "nlu": count,
    }  # fmt: skip
    if integrator != "radau":
        return {**common, "h_previous": perhaps(step_size)}
    pivots = indices(n, n)  # LAPACK follows them wherever they lead
    return {
        **common, "h_abs_old": perhaps(step_size), "error_norm_old": perhaps(real(0.0)), "J": floats(n, n),
        "jac_factor": perhaps(floats(n, low=_SHARE)), "LU_real": perhaps(pair(floats(n, n), pivots)),
        "LU_complex": perhaps(pair(array(complex, n, n), pivots)), "current_jac": one_of(True, False),
        "Z": perhaps(floats(3, n)),
    }  # fmt: skip


class Adaptive(Stepper):
    """One of SciPy's solvers."""

    probes = 8

    def __init__(
        self, equations: Equations, integrator: str, end: float, rtol: float, atol: float, max_step: float
    ) -> None:
        super().__init__(equations)
        self.integrator = integrator
        self._solver_type = getattr(scipy.integrate, INTEGRATORS[integrator].solver)
        self._options = {"rtol": rtol, "atol": atol, "max_step": max_step}
        self._end = end
        self._names = tuple(_kept(integrator, equations.size, end))
        self._solver: Any = None
        self._mark: dict[str, Any] = {}
        self._dense: Any = None
        self._counts = np.zeros(3, dtype=int)  # of solvers that are gone

    def start(self, t: float, state: RunState) -> None:
        """A new solver: it chooses its first step itself."""
        if self._solver is not None:
            self._counts += self._solver_counts()
        with np.errstate(all="ignore"):
            y = self.equations.packed(*state)
            self._solver = self._solver_type(self.equations, t, y, self._end, **self._options)
        self._arrived()
        self.t_old = t
        self._dense = None

    def advance(self, bound: float) -> None:
        """One step of the size that the solver thinks fit."""
        self._mark = self._captured()
        self._step(bound)
        self._normalize()
        self._arrived()
        self.t_old = self._solver.t_old
        self._dense = None
        self.steps += 1

    def at(self, t: float) -> RunState:
        """By the solver's own interpolant."""
        q, u, work = state = self.about(t)
        if t != self.t and self.equations.kept_on_manifold and np.isfinite(q).all() and np.isfinite(u).all():
            return RunState(*self.equations.on_manifold(q, u, t), work)
        return state

    def about(self, t: float) -> RunState:
        """The interpolant itself, which obeys constraints as far as it is exact."""
        return self.now if t == self.t else RunState(*self.equations.unpacked(self.interpolant(t)))

    @property
    def interpolant(self) -> Any:
        """The last step as a function of time, for the packed state."""
        if self._dense is None:
            self._dense = self._solver.dense_output()
        return self._dense

    def land(self, t: float) -> None:
        """The step again, with a shorter bound: as accurate as a whole step, which an interpolant is not."""
        if t == self.t:
            return
        start = self.t_old
        self._put(self._mark)
        while self._solver.t < t:
            self._step(t)
            self._normalize()
        self._arrived()
        self.t_old = start
        self._dense = None

    def _step(self, bound: float) -> None:
        solver = self._solver
        solver.t_bound, solver.status = bound, "running"
        try:
            solver.step()
        except ValueError as error:  # SciPy looks at what it gives to LAPACK: such a Jacobian, or such rates
            if "infs or NaNs" in str(error) and not from_outside(error):
                raise no_step() from None
            raise
        if solver.status == "failed":
            raise no_step()

    def _normalize(self) -> None:
        solver = self._solver
        if self.equations.quaternions:
            y = solver.y.copy()
            y[: self.equations.nq] = self.equations.normalized(y[: self.equations.nq])
            solver.y = y
        if self.equations.kept_on_manifold and np.isfinite(solver.y).all():
            q, u, work = self.equations.unpacked(solver.y)
            y = self.equations.packed(*self.equations.on_manifold(q, u, float(solver.t)), work)
            if (y != solver.y).any():
                solver.y = y
                solver.f = self.equations(solver.t, y)

    def _arrived(self) -> None:
        self.t = float(self._solver.t)
        self.now = RunState(*self.equations.unpacked(self._solver.y))

    def _solver_counts(self) -> Array:
        return np.array([self._solver.nfev, self._solver.njev, self._solver.nlu])

    def statistics(self) -> dict[str, int]:
        """Also Jacobians and factorisations, for Radau."""
        result = super().statistics()
        if self.integrator == "radau" and self._solver is not None:
            _, jacobians, factorizations = (int(x) for x in self._counts + self._solver_counts())
            result |= {"jacobians": jacobians, "factorizations": factorizations}
        return result

    # ---- keeping the state -------------------------------------------------------------------------------------------

    def _captured(self) -> dict[str, Any]:
        """References to what a step replaces; none of it is changed in place."""
        return {name: getattr(self._solver, name) for name in self._names}

    def _put(self, captured: dict[str, Any]) -> None:
        for name, value in captured.items():
            setattr(self._solver, name, value)
        if self.integrator == "radau":
            self._solver.sol = None if self._solver.Z is None else self._solver._compute_dense_output()

    def state(self) -> dict[str, Any]:
        """Time, state, rates, step size; for Radau its Jacobian and factors too."""
        kept = copy.deepcopy(self._captured())
        return {"solver": kept, "t_old": self.t_old, "steps": self.steps, "counts": self._counts.copy()}

    def described(self, end: float) -> dict[str, Any]:
        """The solver's own, and the counts of those before it."""
        solver = _kept(self.integrator, self.equations.size, end)
        return {"solver": solver, "t_old": real(0.0, end), "steps": count, "counts": array(int, 3)}

    def restore(self, state: dict[str, Any]) -> None:
        """As it was, but for the interpolant of the step before."""
        kept = copy.deepcopy(state["solver"])
        evaluations = self.equations.evaluations
        with np.errstate(all="ignore"):
            options = self._options | {"first_step": min(1e-6, self._end - kept["t"]) or None}
            self._solver = self._solver_type(self.equations, kept["t"], kept["y"], self._end, **options)
        self.equations.evaluations = evaluations
        self._put(kept)
        self._arrived()
        self.t_old, self.steps, self._counts = state["t_old"], state["steps"], state["counts"].copy()
        self._dense = None
