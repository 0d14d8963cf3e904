"""rollout: many robots moved through many time steps at once, by one native loop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.constraints import plans
from recursa.constraints.quantities import constrained
from recursa.dynamics import configuration
from recursa.dynamics.gathering import joint_vector
from recursa.dynamics.wrenches import Losses, known_losses
from recursa.errors import DivergenceError, ShapeError, StateError, TooLargeError, unknown_name
from recursa.evaluation.hints import motion, warn_of_conventions
from recursa.evaluation.resolved_quantity import NO_OPTIONS, Options, ResolvedQuantity
from recursa.integrators import Scheme, named, stages_of
from recursa.integrators.explicit import RolloutIntegrator
from recursa.kernels.dispatch import result_array
from recursa.kernels.kernel import program
from recursa.kernels.programs import Program
from recursa.kernels.rollout_emit import Motions
from recursa.kernels.rollout_kernel import RolloutRun
from recursa.methods.inverse_and_forward import FORWARD_DYNAMICS
from recursa.model.constraints import Prescribed, called
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.processes import total_memory
from recursa.quantities import Quantity
from recursa.robot import Robot
from recursa.rollout_steps import stepped
from recursa.runs.rollouts import Rollout
from recursa.sweeps import Plan
from recursa.sweeps.batching import Array, Batch, as_array, check_threads, in_rows, one_number, prepare, whole_number

if TYPE_CHECKING:
    from recursa.control.closed_loop import Closed
    from recursa.control.law import Law
    from recursa.control.pushes import Pushes

OnDivergence = Literal["raise", "nan"]
_MOST = 2**62


def rollout(
    robot: Robot,
    q0: ArrayLike,
    v0: ArrayLike,
    torque: ArrayLike | Law | Sequence[Law] | None,
    step: float,
    steps: int,
    integrator: RolloutIntegrator = "rk4",
    save_every: int = 1,
    *,
    losses: Losses = True,
    parameters: ArrayLike | None = None,
    gains: Mapping[str, ArrayLike] | None = None,
    wrenches: Any = None,
    memory: bool = False,
    on_divergence: OnDivergence = "raise",
    out: tuple[Array, ...] | None = None,
    threads: int | None = None,
) -> Rollout:
    """Motions of a batch of robots, ``steps`` steps of ``step`` seconds each: q (B, saved, nq) and v (B, saved, nv).

    Saved are the states after ``save_every``, ``2 save_every``, ... steps: ``saved = steps / save_every``, which has to
    be whole. The last one is the state at ``steps * step`` seconds; the initial state is not among them.

    - ``q0`` (..., nq), ``v0`` (..., nv): where the motions begin. Their batch axes broadcast, those of the results come
      from them.
    - ``torque``: None; one for the whole motion, (..., nv); or, with an axis more than that, one per step and held
      during it, (..., steps, nv). The state (B, nq) takes (B, nv) or (B, steps, nv). Or a controller of
      :mod:`recursa.control`, which becomes part of the native loop: it is asked wherever the integrator looks. Or a
      list of B controllers of one kind, one for every row, each with its own gains and its own motion to follow.
    - ``integrator``: ``"rk4"``, the classical method of order four, on the manifold in local coordinates (Munthe-Kaas);
      ``"semi-implicit"``, new speeds first, then positions with them; ``"euler"``. Quaternions keep their length.
    - ``losses``: True, damping and Coulomb friction act; "damping" or "friction", one of them. Friction is
      ``sign(v)``, not smoothed: where a joint comes to rest it chatters about zero, at speeds of the order of one step,
      and orders above one are lost there.
    - ``parameters``: inertial parameters (..., 10 nbodies), a robot of its own for each row, in the regressor's order.
    - ``gains``: of a controller, by name, where rows differ: ``{"stiffness": (..., nv)}``, or (..., 1) for one number
      per row. Names are those of the controller's attributes, ``controller.tuning`` lists them.
    - ``wrenches``: what acts on links: :class:`Wrench` or several, forces and moments (..., 3), constant during the
      motion; six numbers by link; or an array (..., nlinks, 6) or (..., steps, nlinks, 6), held during each step,
      (moment, force) in link axes at link origins.
    - ``memory``: True returns a third array (B, saved, m), what a controller with memory had learned at these times.
    - ``on_divergence``: where a motion leaves the finite numbers, ``"raise"`` a :class:`DivergenceError` that names row
      and step, or go on with the others and leave ``"nan"`` from that step on.
    - ``out``: arrays (q, v), or (q, v, memory), for the result; memory-mapped ones if it is larger than the memory.
    - ``threads``: rows are spread over them; None is one.

    The pair is a :class:`Rollout`, a tuple that knows its robot and the instants ``t``, and has ``to_pandas()`` and
    ``to_xarray()``. The result of a row depends neither on its place in the batch nor on the number of threads. float32
    states, torques and parameters give float32 results. Robots with constraints are taken back onto them after every
    step, as :meth:`Robot.simulate` does it. Robots with tied joints are stepped from Python, more slowly,
    and so is everything where nothing is compiled.

    >>> import numpy as np
    >>> import recursa as rc
    >>> arm = rc.robots.planar(1)                           # a rod, let go when level
    >>> q, v = rc.rollout(arm, [[0.0], [-np.pi / 2]], [[0.0], [0.0]], None, step=1e-3, steps=100, save_every=50)
    >>> q.shape
    (2, 2, 1)
    >>> q[0].round(4)                                       # angles after 50 and 100 steps
    array([[-0.0613],
           [-0.2448]])
    """
    if not isinstance(robot, Robot):
        raise StateError(f"the first argument of rollout is a robot, not {robot!r}; rc.load makes one from a file")
    losses = known_losses(losses)
    scheme = named(integrator, "rollout").scheme
    assert scheme is not None
    if on_divergence not in ("raise", "nan"):
        raise unknown_name("way to deal with divergence", on_divergence, ("raise", "nan"))
    length, count, every = _times(step, steps, save_every)
    workers = check_threads(threads)
    start = _start(robot.model, q0, v0, parameters)
    warn_of_conventions(robot.model, start.rows["q"], robot.evaluator.kept)
    closed = _closed(robot, torque, gains, start)
    if memory and (closed is None or not closed.law.memory):
        raise StateError("memory=True, but torque= is no controller that remembers anything, such as control.Adaptive")
    pushes = _pushes(robot.model, wrenches, start, count)
    acting: Any = None if closed else torque
    torques, torque_row, torque_step = _torques(robot.model, acting, start, count)
    dtype = np.result_type(start.dtype, torques.dtype)
    learned = closed.law.memory if closed else 0
    sizes = [(count // every, n) for n in (robot.nq, robot.nv, *((learned,) if memory else ()))]
    results = _results(start, dtype, sizes, out)
    if on_divergence == "raise":
        _require_finite_start(start)
    if robot.constraints:
        _require_untold(robot)
        _require_closed(robot, start.rows)
    given = {name: np.ascontiguousarray(rows, dtype) for name, rows in start.rows.items()}
    tau = np.ascontiguousarray(torques, dtype)
    targets = [_target(result, dtype, start.size, (tau, *given.values())) for result in results]
    unsaved = np.empty((start.size, count // every, learned), dtype)
    beginning = np.broadcast_to(closed.start if closed else np.zeros((1, 0)), (start.size, learned))
    followed = closed.samples(length, count, stages_of(scheme)) if closed else np.zeros((1, 0, 1, 0))
    run = RolloutRun(
        length, count, every,
        q=given["q"].copy(), v=np.concatenate([given["v"], beginning.astype(dtype)], axis=1),
        parameters=given.get("parameters"),
        wrenches=np.zeros(0, dtype) if pushes is None else pushes.numbers.astype(dtype),
        wrench_row=pushes.row if pushes else 0, wrench_step=pushes.step if pushes else 0,
        tau=tau, torque_row=torque_row, torque_step=torque_step,
        saved_q=targets[0], saved_v=targets[1], saved_memory=targets[2] if memory else unsaved,
        finite=np.zeros(start.size, np.int64), stop_early=on_divergence == "raise",
        gains=np.ascontiguousarray(closed.gains if closed else np.zeros((1, 0)), dtype),
        reference=np.ascontiguousarray(followed, dtype),
        followed=closed.beginnings(followed) if closed else np.zeros(0, np.int64),
    )  # fmt: skip
    if run.rows and count:
        with motion(robot.evaluator.kept):
            _carry_out(robot, run, scheme, losses, workers, closed, pushes)
            warn_of_conventions(robot.model, run.saved_q, robot.evaluator.kept)
        if run.finite.min() < count:
            if run.stop_early:
                raise _divergence(robot, run, given, start.shape, losses)
            _blank(run)
    for result, target in zip(results, targets, strict=True):
        if not np.may_share_memory(result, target):
            result[...] = target.reshape(result.shape)
    saved = length * np.arange(every, count + 1, every)
    return Rollout(results[0], results[1], robot, saved, results[2] if memory else None)


# ---- arguments -----------------------------------------------------------------------------------------------------


def _times(step: float, steps: int, save_every: int) -> tuple[float, int, int]:
    length = one_number("step", step, unit=" s")
    count, every = _whole("steps", steps, 0), _whole("save_every", save_every, 1)
    if count % every:
        raise ShapeError(
            f"steps = {count} is no multiple of save_every = {every}: the last states would be computed and not saved. "
            f"Take {count - count % every} or {count - count % every + every} steps"
        )
    return length, count, every


def _whole(name: str, value: Any, least: int) -> int:
    number = whole_number(name, value, least, ShapeError)
    if number > _MOST:
        raise ShapeError(f"{name} = {value} is more than the {_MOST} that can be counted")
    return number


def _start(model: Model, q0: ArrayLike, v0: ArrayLike, parameters: ArrayLike | None) -> Batch:
    arguments: dict[str, ArrayLike] = {"q": q0, "v": v0} | ({} if parameters is None else {"parameters": parameters})
    start = prepare(model, arguments, {"q": "q0", "v": "v0"})
    if start.dtype.kind == "c":
        raise StateError("states must be real; a motion from complex ones is not offered")
    return start


def _torques(model: Model, torque: ArrayLike | None, start: Batch, steps: int) -> tuple[Array, int, int]:
    """Torques as numbers in a row, and two strides: those of row b and step s are at ``b row + s step``."""
    nv, axes = model.nv, len(start.shape)
    if torque is None:
        return np.zeros(nv, start.dtype), 0, 0
    if callable(torque) or hasattr(torque, "torque") or hasattr(torque, "sample"):
        raise StateError(_no_functions(torque, start.shape, steps, nv))
    array = as_array(model, "torque", torque, coordinates=False)
    if array.dtype.kind == "c":
        raise StateError("torque must be real")
    varying = array.ndim == axes + 2
    tail = (steps, nv) if varying else (nv,)
    rows = in_rows("torque has", array, start.shape, tail, _shapes(start.shape, steps, nv))
    return rows.reshape(-1), math.prod(tail) * (len(rows) > 1), nv * varying


def _shapes(batch: tuple[int, ...], steps: int, nv: int) -> str:
    """What torques may look like, in words."""
    shape = "".join(f"{n}, " for n in batch)
    same = f"({shape}{nv})" if shape else f"({nv},)"
    return f"{same}, the same in all steps, or ({shape}{steps}, {nv}), one for each of the {steps} steps"


def _no_functions(torque: Any, batch: tuple[int, ...], steps: int, nv: int) -> str:
    what = getattr(torque, "__qualname__", None) or type(torque).__name__
    return (
        f"torque is '{what}', which would have to be called at every step; a rollout is one native loop and takes "
        f"numbers, None, an array {_shapes(batch, steps, nv)}, or a controller of rc.control, which is compiled "
        "into it.\n"
        "  Compute torques beforehand where they do not depend on the state. A law of your own is a class derived from "
        "rc.control.Law (docs/control.md). Else robot.simulate(q0, v0, torque=...) takes functions, any controllers "
        "and trajectories, one motion at a time."
    )


def _closed(robot: Robot, torque: Any, gains: Mapping[str, ArrayLike] | None, start: Batch) -> Closed | None:
    """A controller with its gains; None where torques are numbers."""
    each = list(torque) if isinstance(torque, list | tuple) else []
    if hasattr(torque, "tuning") or (each and all(hasattr(one, "tuning") for one in each)):
        from recursa.control.closed_loop import Closed  # controllers are imported when first used

        if not each:
            return Closed.of(torque, robot, start.shape, gains)
        if gains is not None:
            raise StateError("gains= are for one controller; those of several are in the controllers themselves")
        return Closed.of_rows(each, robot, start.shape)
    if gains is not None:
        raise StateError(f"gains= are those of a controller, and torque= is none: {torque!r}")
    return None


def _pushes(model: Model, wrenches: Any, start: Batch, steps: int) -> Pushes | None:
    if wrenches is None:
        return None
    from recursa.control.pushes import Pushes

    return Pushes.of(model, wrenches, start.shape, steps)


def _require_finite_start(start: Batch) -> None:
    for name, label in (("q", "q0"), ("v", "v0"), ("parameters", "parameters")):
        rows = start.rows.get(name)
        wrong = None if rows is None else ~np.isfinite(rows).all(axis=1)
        if rows is not None and wrong is not None and wrong.any():
            row = int(np.argmax(wrong))
            entry = int(np.argmax(~np.isfinite(rows[row])))
            raise StateError(f"{label}{_in_row(row, start.shape)}: entry {entry} is {rows[row, entry]}")


def _in_row(row: int, shape: tuple[int, ...]) -> str:
    if not shape:
        return ""
    place = tuple(int(i) for i in np.unravel_index(row, shape))
    return f" in row {place[0] if len(place) == 1 else place}"


def _results(
    start: Batch, dtype: np.dtype[Any], sizes: list[tuple[int, int]], out: tuple[Array, ...] | None
) -> tuple[Array, ...]:
    """The arrays that are returned: the caller's, checked, or new ones that fit into memory."""
    batch = Batch({}, start.shape, dtype)
    if out is not None:
        if not isinstance(out, tuple | list) or len(out) != len(sizes):
            wanted = "two arrays, for q and for v" if len(sizes) == 2 else "three arrays, for q, v and memory"
            raise ShapeError(f"out must be {wanted}, not {type(out).__name__}")
        return tuple(result_array(batch, size, one) for size, one in zip(sizes, out, strict=True))
    needed = sum(start.size * saved * size for saved, size in sizes) * dtype.itemsize
    refused = TooLargeError(
        f"{start.size} rows of {sizes[0][0]} saved states are {needed / 2**30:.3g} GiB, more than the memory. Save "
        "fewer states with save_every=, take fewer rows at a time, or give memory-mapped arrays as out="
    )
    if needed > total_memory():
        raise refused
    try:
        return tuple(result_array(batch, size, None) for size in sizes)
    except (MemoryError, ValueError):  # the latter for sizes that no array can have
        raise refused from None


def _target(result: Array, dtype: np.dtype[Any], rows: int, inputs: tuple[Array, ...]) -> Array:
    """The result as (B, saved, n) where kernels can write into it, else something to be copied from."""
    shape = (rows, *result.shape[-2:])
    writable = result.flags.c_contiguous and result.dtype == dtype and result.flags.aligned
    if writable and not any(np.may_share_memory(result, one) for one in inputs):
        return result.reshape(shape)
    return np.empty(shape, dtype)


# ---- the motion ----------------------------------------------------------------------------------------------------


def _carry_out(
    robot: Robot,
    run: RolloutRun,
    scheme: Scheme,
    losses: Losses,
    threads: int,
    closed: Closed | None,
    pushes: Pushes | None,
) -> None:
    """All steps of all rows: by a native loop where there is one, else from Python."""
    extra = {} if run.parameters is None else {"parameters": run.parameters}
    robot.evaluator.require_hinges({"q": run.q} | extra)
    store = robot.evaluator.store_for(extra, MayMove.INERTIAS)
    dtype = run.q.dtype
    if not robot.evaluator.subject.tied and store.compiles(dtype):
        stages = stages_of(scheme)
        make = partial(_motions, robot, store.compiled_model, losses, bool(extra), closed, pushes, stages)
        key = losses, bool(extra), None if closed is None else closed.key(), pushes and (pushes.size, pushes.turned)
        kernel = store.rollout(key, make, scheme, dtype == np.float32)
        if kernel is not None:
            kernel(run, threads)
            return
    with np.errstate(all="ignore"):  # nan and inf pass through, in their row only
        stepped(robot, run, scheme, losses, threads, closed, pushes)


def _motions(
    robot: Robot,
    moved_frames: Model,
    losses: Losses,
    parameters: bool,
    closed: Closed | None,
    pushes: Pushes | None,
    stages: tuple[float, ...],
    form: str | None,
) -> Motions:
    """The parts of a native loop. Forward dynamics does not depend on where link frames are."""
    model = robot.model
    nq, nv, own = model.nq, model.nv, {"parameters": 10 * model.nbodies} if parameters else {}

    def answered(quantity: Quantity, given: Sequence[str] = (), options: Options = NO_OPTIONS) -> Program:
        asked = robot.evaluator.required(quantity, given, options)
        assert isinstance(asked, ResolvedQuantity)  # robots with tied joints are stepped from Python
        return asked.program(form)

    def after(plan: Plan, sizes: dict[str, int]) -> Program:
        return program(
            plan, moved_frames, sizes | own, lambda values: joint_vector(model, values.lists.get("after", [])), form
        )

    closing, allowed = None, None
    if constrained(model):
        closing = after(plans.closing_plan(model), {"q": nq}) if plans.has_places(model) else None
        allowed = after(plans.impulse_plan(model), {"q": nq, "v": nv})
    given = [*(() if pushes is None else ("wrenches",)), *own]
    acceleration = answered(FORWARD_DYNAMICS, given, {"losses": losses})
    moved = answered(configuration.INTEGRATE)
    local_rate = None if configuration.is_flat(model) else answered(configuration.CHART_RATES)
    law = None if closed is None else closed.followed(stages, form)
    placing = None if pushes is None else pushes.placing(model, form)
    size = 0 if pushes is None else pushes.size
    return Motions(acceleration, moved, local_rate, nq, nv, sum(own.values()), law, size, placing, closing, allowed)


def _require_untold(robot: Robot) -> None:
    for one in robot.constraints:
        if isinstance(one, Prescribed):
            raise StateError(
                f"rollout does not know how the {called(one)} goes on. robot.simulate(..., prescribed={{...}}) does; "
                f"or leave it out, robot.without_constraints({one.name!r}), and drive the joint by torques"
            )


def _require_closed(robot: Robot, rows: dict[str, Array]) -> None:
    q, v = rows["q"], rows["v"]
    fine = np.flatnonzero(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))
    q, v = q[fine], v[fine]
    rates = np.einsum("bij,bj->bi", robot.constraint_jacobian(q), v)
    for what, values, fix in (
        ("q0", robot.constraint_error(q), "robot.assemble(q0) closes its loops"),
        ("v0", rates, "robot.project_velocity(q0, v0) is the nearest that they allow"),
    ):
        missed = np.abs(values).max(axis=1, initial=0.0)
        if missed.max(initial=0.0) > 1e-6:
            row = int(np.argmax(missed))
            raise StateError(
                f"{what} of row {fine[row]} does not obey the constraints of robot '{robot.name}': it misses by "
                f"{missed[row]:.3g}. {fix}"
            )


# ---- motions that leave the finite numbers ---------------------------------------------------------------------------


def _divergence(
    robot: Robot, run: RolloutRun, given: dict[str, Array], shape: tuple[int, ...], losses: Losses
) -> DivergenceError | StateError:
    """What to say of the row that was lost first; a singular hinge is raised at once."""
    left = ~(np.isfinite(run.q).all(axis=1) & np.isfinite(run.v).all(axis=1))  # others may only be unfinished
    lost = np.flatnonzero(left & (run.finite < run.steps))
    row = int(lost[np.argmin(run.finite[lost])])
    step = int(run.finite[row])
    first = row * run.torque_row + step * run.torque_step
    tau = run.tau.reshape(-1)[first : first + robot.nv]
    where = _in_row(row, shape)
    if not np.isfinite(tau).all():
        entry = int(np.argmax(~np.isfinite(tau)))
        return StateError(f"torque{where}, step {step}: entry {entry} is {tau[entry]}")
    if step == 0:
        own = {} if run.parameters is None else {"parameters": run.parameters[row]}
        robot.forward_dynamics(given["q"][row], given["v"][row], tau, losses=losses, **own)
    return DivergenceError(
        f"the motion{where} left the finite numbers in step {step} of {run.steps}, before t = "
        f"{(step + 1) * run.step:.6g} s.\n"
        f"  Most likely the step of {run.step:.6g} s is too long for it: damping or a fast swing asks for steps well "
        "below its time constant.\n"
        '  Take a shorter step, check torques, gains and inertias, or keep the other rows with on_divergence="nan".',
        row,
        step,
        step * run.step,
    )


def _blank(run: RolloutRun) -> None:
    """Nothing but nan from the step on in which a row was lost."""
    for row in np.flatnonzero(run.finite < run.steps):
        first = int(run.finite[row]) // run.every
        run.saved_q[row, first:] = np.nan
        run.saved_v[row, first:] = np.nan
        run.saved_memory[row, first:] = np.nan
