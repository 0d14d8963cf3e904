"""Identification from logs: the numbers of a robot with which its torques fit its motion."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.requirements import refuse_constraints
from recursa.errors import ExcitationError, ModelWarning, ShapeError, StateError, shortened, unknown_name
from recursa.evaluation.hints import user_level
from recursa.identification.consistent import Problem, Solution, conic, entropic, nearest, sound
from recursa.identification.log_filters import Filtered, filtered
from recursa.identification.logs import Given, Log, logs_of, still_joints
from recursa.identification.regression import Rows, Weighted, changed_robot, rows_of, triangle, weighted
from recursa.identification.result import BaseEstimate, Fit, Identification, Solved, solved
from recursa.identification.stribeck import stribeck_speeds
from recursa.identification.unknowns import JOINT_TERMS, POSITIVE, Term, Unknowns
from recursa.quantities import refusals
from recursa.sweeps.batching import Array, as_numbers
from recursa.trajectories import checks

if TYPE_CHECKING:
    from recursa.robot import Robot

Method = Literal["entropic", "conic", "base"]
Unexcited = Literal["refuse", "prior"]

ALL: tuple[Term, ...] = ("inertia", "viscous", "coulomb", "armature", "offset")
"""What is identified unless something else is said."""

_FAR = 2.0  # times the noise: a residual beyond that is not noise
_VISIBLE = 0.01  # of a joint's torque: a residual below that is not worth a warning
_LOAD_RADIUS = 0.1  # m: the radius of gyration that a load is first taken to have
_LIGHTEST = 0.05  # of the mean mass of a body: a load is first taken to have at least that


def identify(
    robot: Robot,
    log: Given,
    *,
    fit: Sequence[Term] | None = None,
    payload_at: str | None = None,
    method: Method = "entropic",
    prior: float = 1.0,
    robust: bool = True,
    cutoff: float | None = None,
    holdout: float = 0.2,
    unexcited: Unexcited = "refuse",
    torque_constants: ArrayLike | None = None,
) -> Identification:
    """Masses, inertias, friction, armature and offsets of a robot from a log of its motion.

    Positions are filtered without delay and differentiated, then torques are fitted by weighted least squares, ``tau =
    Y pi + d v + f sign(v) + ...``, and of all parameters that fit them those are taken that a real robot can have and
    that are nearest to the robot as it was known.

    - ``log``: a mapping with t (n,), q (n, nq), tau (n, nv), and v and a where they were measured; a
      :class:`~recursa.Run`; a DataFrame, or the path of a CSV file, with columns t, joint, joint:tau (joint:v,
      joint:a); or a list of these. Instead of tau it may have current; a mapping may have ``payload``, a known load
      that the robot carried, as the arguments of :meth:`~recursa.Robot.with_payload`.
    - ``fit``: what is identified, of "inertia", "viscous", "coulomb", "armature", "offset" (these if nothing is said),
      "stribeck" (more friction at low speed) and "torque constant" (of currents; some log needs a known ``payload``).
      The rest is the robot's.
    - ``payload_at``: a link that carries an unknown load. Only its ten parameters are identified (and what ``fit``
      says), all of the robot is known.
    - ``method``: "entropic" (pseudo-inertias positive definite by their divergence from the known ones), "conic" (the
      same with a square, by a cone solver; extra ``identification``) or "base" (what fits best, physical or not).
    - ``prior``: how well the robot was known before, relative: 1 for not at all well, 0.1 for ten percent.
    - ``robust``: whether single samples that stick out are replaced, and rows far off count less (Huber).
    - ``cutoff``: of the filters in Hz; None: where the spectra of the positions go under in noise.
    - ``holdout``: the share of each log, at its end, that is not fitted but told afterwards; 0 for none.
    - ``unexcited``: what to do where the motion does not tell parameters apart: "refuse", or leave it to the "prior".
    - ``torque_constants``: of currents, in N m/A (nv,) or one for all; where they are identified, a first guess.

    Standard deviations are those that white noise of the measured torques causes. Where the residual of a joint is far
    above its noise, a :class:`rc.ModelWarning` and ``notes`` name the joint: the deviations are too small then.

    >>> import numpy as np
    >>> import recursa as rc
    >>> true = rc.robots.planar(2).with_joint("joint1", damping=0.3, friction=0.2)
    >>> t = np.linspace(0, 6, 3001)
    >>> q = np.column_stack([np.sin(2 * t), np.cos(3.3 * t)])
    >>> v = np.column_stack([2 * np.cos(2 * t), -3.3 * np.sin(3.3 * t)])
    >>> a = np.column_stack([-4 * np.sin(2 * t), -3.3**2 * np.cos(3.3 * t)])
    >>> tau = true.inverse_dynamics(q, v, a, losses=True)
    >>> found = rc.identify(rc.robots.planar(2).scaled(mass=1.5), {"t": t, "q": q, "tau": tau})
    >>> round(found.joints["viscous"]["joint1"], 2), round(found.joints["coulomb"]["joint1"], 2)
    (0.3, 0.2)
    >>> bool(abs(found.robot.gravity_forces([0.3, 0.4]) - true.gravity_forces([0.3, 0.4])).max() < 1e-2)
    True
    """
    refuse_constraints(robot.model, "rc.identify", refusals.REGRESSION)
    if method not in get_args(Method):
        raise unknown_name("method of identification", method, get_args(Method))
    if unexcited not in get_args(Unexcited):
        raise unknown_name("way with what is not excited", unexcited, get_args(Unexcited))
    spread, share = _spread(prior), checks.share("holdout", holdout, 0.8, "the log")
    logs = logs_of(robot, log)
    terms = fit if fit is not None else ("inertia",) if payload_at is not None else ALL
    unknowns = Unknowns.of(robot, terms, payload_at, _constants(robot, logs, terms, torque_constants))
    motions = [filtered(robot, one, cutoff, robust=bool(robust)) for one in logs]
    pairs = [_parted(motion, share) for motion in motions]
    loaded = [one.loaded(robot) for one in logs]
    fitting = [pair[0] for pair in pairs]
    if "stribeck" in unknowns.terms:
        unknowns = unknowns.with_speeds(stribeck_speeds(unknowns, fitting, loaded, robust=robust))
    rows = rows_of(fitting, unknowns, loaded)
    structure = unknowns.structure
    weights = weighted(rows, structure.independent, robust=robust)
    R, r = triangle(weights.matrix, weights.torque)
    chosen = list(structure.independent)
    found = solved(R[:, chosen], r, unknowns.scales[chosen], structure.names)
    if unexcited == "refuse" and found.score.unknown:
        raise _not_excited(robot, logs, found)
    try:
        solution = _consistent(method, unknowns, weights, found, R, r, rows, spread)
    except np.linalg.LinAlgError as error:
        raise ExcitationError(
            f"the equations of the log are singular ({error}): the motion excites the parameters too little. Add logs "
            "with faster and wider motions, as rc.excitation plans them, or fit= fewer terms"
        ) from None
    held = [(part, by) for (_, part), by in zip(pairs, loaded, strict=True) if part is not None and part.lasts]
    apart = rows_of([part for part, _ in held], unknowns, [by for _, by in held]) if held else None
    base = BaseEstimate(
        structure.names, structure.matrix @ unknowns.known + found.values, found.covariance, structure.relations
    )
    return _told(unknowns, solution, base, found, rows, apart, weights, motions)


# ---- what users hand in ----------------------------------------------------------------------------------------------


def _spread(prior: Any) -> float:
    number = as_numbers("prior", prior, 1)
    if number.ndim or not 1e-12 <= number <= 1e12:
        raise StateError(f"prior must be a positive number, from 1e-12 to 1e+12, not {prior!r}")
    return float(number)


def _constants(robot: Robot, logs: Sequence[Log], terms: Sequence[str], given: ArrayLike | None) -> Array:
    """Torque constants (nv,): one where a log has torques."""
    currents, wanted = logs[0].current, "torque constant" in terms
    if not currents:
        if wanted or given is not None:
            raise StateError(
                "torque constants belong to currents, and the log has torques. Give current in place of tau"
            )
        return np.ones(robot.nv)
    if wanted and not any(log.payload for log in logs):
        raise StateError(
            "currents alone do not tell torque constants: all masses, frictions and constants could be twice as large. "
            "Add a log with a load of known mass: {'t': ..., 'q': ..., 'current': ..., 'payload': {'link': 'hand', "
            "'mass': 2.0}}"
        )
    if given is None:
        if not wanted:
            raise StateError("the log has currents: give torque_constants= in N m/A, or identify them")
        return np.ones(robot.nv)
    numbers = as_numbers("torque_constants", given, robot.nv)
    numbers = np.full(robot.nv, float(numbers)) if numbers.ndim == 0 else numbers.astype(float)
    if numbers.shape != (robot.nv,):
        raise ShapeError(f"torque_constants has shape {numbers.shape}, expected one number or ({robot.nv},)")
    if not (np.isfinite(numbers) & (numbers > 0.0)).all():
        raise StateError("torque_constants must be positive; turn the sign of the currents where they are not")
    return numbers


def _parted(motion: Filtered, share: float) -> tuple[Filtered, Filtered | None]:
    """The part that is fitted, and the one that is told afterwards."""
    border = round((1.0 - share) * len(motion))
    return (motion, None) if share == 0.0 else (motion.part(0, border), motion.part(border, len(motion)))


def _not_excited(robot: Robot, logs: Sequence[Log], found: Solved) -> ExcitationError:
    names = tuple(dict.fromkeys(name for direction in found.score.unknown for name in direction))
    groups = "; ".join(shortened(direction, limit=5) for direction in found.score.unknown[:4])
    more = len(found.score.unknown) - 4
    still = still_joints(robot, logs)
    hint = f" Joints that stand still: {shortened(still)}." if still else ""
    return ExcitationError(
        f"the motion does not tell {len(found.score.unknown)} of {len(found.values)} parameters: {groups}"
        f"{f'; and {more} more' if more > 0 else ''}.{hint} Move more (rc.excitation plans such a motion), identify "
        'less (fit=), or leave it to what is known, unexcited="prior"',
        names,
    )


# ---- from base parameters to a robot ---------------------------------------------------------------------------------


def _consistent(
    method: str, unknowns: Unknowns, weights: Weighted, found: Solved, R: Array, r: Array, rows: Rows, spread: float
) -> Solution:
    """The change of all unknowns (columns,), with its covariance."""
    inertial = unknowns.where("inertia").reshape(-1, 10)
    mass, length = unknowns.mass_and_length
    known = unknowns.known[inertial]
    if unknowns.payload_at and len(inertial):
        told = found.values[0] if unknowns.structure.names[0].endswith(".m") else 0.0
        heavy = max(float(told), _LIGHTEST * mass)
        ball = heavy * _LOAD_RADIUS**2
        centers = np.array([[heavy, 0, 0, 0, ball, 0, ball, 0, 0, ball]])
    else:
        centers = np.array([sound(one, length) for one in known]).reshape(-1, 10)
    positive = unknowns.where(*POSITIVE)
    scales = unknowns.scales.copy()
    offsets = unknowns.where("offset")
    if len(offsets):
        scales[offsets] = np.maximum(scales[offsets], rows.rms(rows.drive)[list(unknowns.freedoms)])
    sizes = np.maximum(unknowns.known[positive], scales[positive])  # files often have small numbers for none
    start = np.zeros(len(unknowns.columns))
    start[inertial] = centers - known
    start[positive] = sizes - unknowns.known[positive]
    problem = Problem(R, r, start, inertial, centers, positive, sizes, scales, 1.0 / spread**2)
    if method == "base":
        return nearest(problem, unknowns.structure.matrix, found.values, found.covariance)
    return entropic(problem) if method == "entropic" else conic(problem)


def _told(
    unknowns: Unknowns,
    solution: Solution,
    base: BaseEstimate,
    found: Solved,
    rows: Rows,
    apart: Rows | None,
    weights: Weighted,
    motions: Sequence[Filtered],
) -> Identification:
    change, spread = solution.change, np.sqrt(np.maximum(np.diagonal(solution.covariance), 0.0))
    values = unknowns.known + change
    names = unknowns.robot.v_names
    joints: dict[str, dict[str, float]] = {}
    deviations: dict[str, dict[str, float]] = {}
    for term in (term for term in unknowns.terms if term in JOINT_TERMS):
        columns = [(k, names[unknowns.columns[k].freedom]) for k in unknowns.where(term)]
        joints[term] = {name: float(values[k]) for k, name in columns}
        deviations[term] = {name: float(spread[k]) for k, name in columns}
    robot, parameters, covariance = changed_robot(unknowns, values, change, solution.covariance)
    fitted = Fit.of(rows, change)
    share = float(1.0 - weights.trust.sum() / max(1, rows.used.sum()))
    notes = []
    if any(motion.resampled for motion in motions):
        notes.append("samples were not evenly spaced, and were interpolated")
    spikes = sum(motion.spikes for motion in motions)
    if spikes:
        notes.append(f"{spikes} single samples stuck out of their neighbours and were replaced")
    if share > 0.2:
        notes.append(f"{100 * share:.0f} % of the trust is lost to rows far off: something is not in the model")
    hidden = _above_noise(names, fitted, weights)
    if hidden:
        notes.append(hidden)
        warnings.warn(f"identification of '{unknowns.robot.name}': {hidden}", ModelWarning, stacklevel=user_level())
    return Identification(
        robot=robot,
        parameters=parameters,
        covariance=covariance,
        residual=fitted.after,
        base=base,
        score=found.score,
        fitted=fitted,
        held_out=None if apart is None else Fit.of(apart, change),
        noise=weights.noise,
        joints=joints,
        deviations=deviations,
        cutoff=float(np.mean([motion.cutoff for motion in motions])),
        rows=len(rows.at),
        notes=tuple(notes),
        unknowns=unknowns,
        change=change,
    )


def _above_noise(names: Sequence[str], fitted: Fit, weights: Weighted) -> str:
    """What to say of residuals far above the noise; empty where there are none."""
    size = np.maximum(fitted.measured, 1e-300)
    far = np.flatnonzero((weights.above_noise > _FAR) & (fitted.after > _VISIBLE * size)).tolist()
    if not far:
        return ""
    parts = [
        f"{names[k]} {fitted.after[k]:.3g} ({weights.above_noise[k]:.2g} times its noise, "
        f"{100 * fitted.after[k] / size[k]:.2g} % of the torque)"
        for k in far
    ]
    return (
        f"residuals are far above the noise: {shortened(parts, limit=4)}. Something is not in the model, such as "
        "friction of another form (fit= also 'stribeck'), elastic joints, cables, gear ripple or contacts; the "
        "standard deviations assume noise alone, and are too small"
    )
