"""A step of a sweep as people write it: the equation at body k, in terms of its children c and its parent p."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from recursa.diagonal.equations_of_motion import INERTIA_RATE
from recursa.diagonal.mass_matrix_sensitivity import COMPOSITE_RATE
from recursa.diagonal.rates_and_moments import ARTICULATE
from recursa.dynamics.articulated_bodies import BIAS_ACCELERATION, BIAS_FORCE, ELIMINATE
from recursa.dynamics.compliance import COMPLIANCE, COMPLIANCE_RATE
from recursa.dynamics.inverse import STATIC
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.mass_matrix import COMPOSITE
from recursa.operators import inverse_steps, steps
from recursa.operators.inverse_steps import IN_BASIS, Solve
from recursa.operators.steps import Combination, Once
from recursa.operators.symbols import Kind
from recursa.operators.values import Lowered
from recursa.sweeps.input_kinds import has_own_name
from recursa.sweeps.plan import Step, split

_COPY = ("{y}(k) = {x}(k)",)
_OF_OPERATORS: dict[Callable[..., Any], tuple[str, ...]] = {
    steps.same: _COPY,
    steps.six: _COPY,
    steps.hinge: ("{y}(k) = H(k) {x}(k)",),
    steps.hinge_transposed: ("{y}(k) = H*(k) {x}(k)",),
    steps.inertia_times: ("{y}(k) = {inertia}(k) {x}(k)",),
    steps.inertia_solve: ("{y}(k) = {inertia}⁻¹(k) {x}(k)",),
    steps.compliance_times: ("{y}(k) = {of}(k) {x}(k)",),
    steps.compliance_solve: ("{y}(k) = {of}⁻¹(k) {x}(k)",),
    steps.armature_times: ("{y}(k) = A(k) {x}(k)",),
    steps.hinge_inertia_times: ("{y}(k) = D(k) {x}(k)",),
    steps.hinge_inertia_solve: ("{y}(k) = D⁻¹(k) {x}(k)",),
    steps.inertia_root_times: ("{y}(k) = W_M(k) {x}(k), W_M W_M* = M",),
    steps.inertia_root_transposed: ("{y}(k) = W_M*(k) {x}(k), W_M W_M* = M",),
    steps.inertia_root_solve: ("{y}(k) = W_M⁻¹(k) {x}(k), W_M W_M* = M",),
    steps.inertia_root_solve_transposed: ("{y}(k) = W_M*⁻¹(k) {x}(k), W_M W_M* = M",),
    steps.root_times: ("{y}(k) = W(k) {x}(k), W W* = D",),
    steps.root_transposed: ("{y}(k) = W*(k) {x}(k), W W* = D",),
    steps.root_solve: ("{y}(k) = W⁻¹(k) {x}(k), W W* = D",),
    steps.root_solve_transposed: ("{y}(k) = W*⁻¹(k) {x}(k), W W* = D",),
    steps.gain_times: ("{y}(k) = {done}(k) {x}(k)",),
    steps.gain_transposed: ("{y}(k) = {done}*(k) {x}(k)",),
    steps.projected: ("{y}(k) = τ̄(k) {x}(k)",),
    steps.projected_transposed: ("{y}(k) = τ̄*(k) {x}(k)",),
    steps.joint_cross: ("{y}(k) = crf(H*(k) {v}(k)) {x}(k)",),
    steps.joint_cross_transposed: ("{y}(k) = crm({x}(k)) H*(k) {v}(k)",),
    steps.velocity_cross: ("{y}(k) = crf({velocity}(k)) {x}(k)",),
    steps.velocity_cross_transposed: ("{y}(k) = crm({x}(k)) {velocity}(k)",),
    steps.rotated: ("{y}(k) = Ω̃(k) {x}(k), both halves times the angular half of {velocity}(k)",),
    steps.momentum_cross: ("{y}(k) = crf({x}(k)) M(k) V(k)",),
    steps.shift: ("{y}(k) = Σ φ(k,c) {x}(c)",),
    steps.gather: ("{y}(k) = {x}(k) + Σ φ(k,c) {y}(c)", "{z}(k) = Σ φ(k,c) {y}(c)"),
    steps.gather_articulated: ("{y}(k) = {x}(k) + Σ φ(k,c) τ̄(c) {y}(c)",),
    steps.gather_articulated_shifted: ("{y}(k) = Σ φ(k,c) [τ̄(c) {y}(c) + {x}(c)]",),
    steps.gather_with_shifted: ("{y}(k) = {x}(k) + Σ φ(k,c) [{y}(c) + {shifted}(c)]",),
    steps.gather_articulated_with_shifted: ("{y}(k) = {x}(k) + Σ φ(k,c) [τ̄(c) {y}(c) + {shifted}(c)]",),
    steps.shift_transposed: ("{y}(k) = φ*(p,k) {parent}(p)",),
    steps.spread: ("{y}(k) = {x}(k) + φ*(p,k) {y}(p)", "{z}(k) = φ*(p,k) {y}(p)"),
    steps.spread_articulated: ("{y}(k) = {x}(k) + τ̄*(k) φ*(p,k) {y}(p)", "{z}(k) = φ*(p,k) {y}(p)"),
    steps.put_on: ("{y}(k) = φ(k,link) {f} at the link's body k, zero at others",),
    steps.taken_from: ("{y} = φ*(k,link) {x}(k) of the link's body k",),
    inverse_steps.UnitOfJoint: ("{y}(k) = 1 for one freedom of joint k, 0 for the others",),
    inverse_steps.ones: ("{y}(k) = 1 for every freedom of joint k",),
    inverse_steps.PutPartOn: ("{y}(k) = φ(k,link) of the link's six numbers of {f}, at its body k, zero at others",),
    inverse_steps.stacked: ("{y} = {parts}, under each other",),
    Solve: ("{y}(k) solves X(k) {y}(k) = {x}(k), the columns of X(k) being {columns}",),
    inverse_steps.compliance_solve_at_link: ("{y} = [φ*(k,link) {of}(k) φ(k,link)]⁻¹ {x}, of the link's body k",),
    inverse_steps.compliance_times_at_link: ("{y} = φ*(k,link) {of}(k) φ(k,link) {f}, of the link's body k",),
    inverse_steps.LogDeterminant: ("{y} = Σ log det X(k), the columns of X(k) being {columns}",),
    inverse_steps.divide: ("{y} = {x} / {by}",),
    inverse_steps.diagonal_times: ("{y}(k) = {diagonal}(k) {x}(k), entry by entry",),
    inverse_steps.block_times: ("{y}(k) = X(k) {x}(k), the columns of X(k) being {columns}",),
    inverse_steps.block_of: ("{y}(k) = the block whose columns are {columns}",),
    inverse_steps.joint_basis: ("{y}(k) = freedoms of joint k in which the block with columns {columns} is diagonal",),
    inverse_steps.eliminate_in_basis: (
        "{y}(k) = {inertia}(k) + Σ φ(k,c) {y}+(c) φ*(k,c)   (34)-(36)",
        "{z}(k) = {y}(k) H*(k) D⁻¹(k), D(k) = H(k) {y}(k) H*(k) + {basis}(k), {y}+(k) = (I - {z}(k) H(k)) {y}(k)",
    ),
    inverse_steps.eliminate_with: (
        "{y}(k) = {inertia}(k) + Σ φ(k,c) {y}+(c) φ*(k,c)   (34)-(36)",
        "{z}(k) = {y}(k) H*(k) D⁻¹(k), D(k) = H(k) {y}(k) H*(k) + {rotors}(k), {y}+(k) = (I - {z}(k) H(k)) {y}(k)",
    ),
}
"""By the step's function (or its class): y and z are what it writes, other names its arguments."""
_FIXED = {
    "unit_of_body": ("{y}(k) = 1 for one of the six numbers of body k, 0 for the others",),
    "unit_of_tip": ("{y} = 1 for one of the numbers at pick-offs, 0 for the others",),
}
_RICCATI = (
    "the articulated-body recursion",
    "P(k) = M(k) + Σ φ(k,c) P+(c) φ*(k,c)   (34)-(36)",
    "D(k) = H(k) P(k) H*(k) + A(k)",
    "G(k) = P(k) H*(k) D⁻¹(k)",
    "P+(k) = τ̄(k) P(k), τ̄(k) = I - G(k) H(k)",
)
_OF_VELOCITY: dict[Callable[..., Any], tuple[str, ...]] = {
    VELOCITY.fn: ("= φ* H* {v}, link velocities", "{y}(k) = φ*(p,k) {y}(p) + H*(k) {v}(k)   (7)"),
    INERTIA_RATE.fn: (
        "the rate of the articulated-body recursion",
        "{z}(k) = Σ φ(k,c) [τ̄(c) {z}(c) τ̄*(c) + S(c) P+(c) + P+(c) S*(c)] φ*(k,c), S(c) = crf(H*(c) {v}(c))   (6.5)",
    ),
    COMPOSITE_RATE.fn: (
        "the rate of the composite-body recursion",
        "{y}(k) = Σ φ(k,c) [{y}(c) + S(c) R(c) + R(c) S*(c)] φ*(k,c), S(c) = crf(H*(c) {along}(c))",
    ),
    COMPLIANCE_RATE.fn: (
        "the rate of the compliance recursion",
        "{y}(k) = d/dt [τ̄*(k) φ*(p,k) Υ(p) φ(p,k) τ̄(k) + H*(k) D⁻¹(k) H(k)], along {v}",
    ),
}
"""For what depends on a velocity too: y and z are what the step writes, other names its arguments."""
_OF_STATE: dict[Callable[..., Any], tuple[str, ...]] = {
    RELATIVE.fn: (
        "poses of bodies in their parents",
        "X(k) = the pose of body k in its parent at q(k), of which φ(p,k) is made",
    ),
    BIAS_ACCELERATION.fn: ("= crm(V) H* v", "a(k) = crm(V(k)) H*(k) v(k)"),
    BIAS_FORCE.fn: ("= crf(V) M V", "b(k) = crf(V(k)) M(k) V(k)"),
    STATIC.fn: ("gravity in body axes", "alpha(k) = φ*(p,k) alpha(p), where that of the world is minus gravity"),
    COMPOSITE.fn: ("the composite-body recursion", "R(k) = M(k) + Σ φ(k,c) R(c) φ*(k,c)   (31)"),
    COMPLIANCE.fn: (
        "the compliance recursion",
        "Υ(k) = τ̄*(k) φ*(p,k) Υ(p) φ(p,k) τ̄(k) + H*(k) D⁻¹(k) H(k)   (34)",
    ),
    ELIMINATE.fn: _RICCATI,
    ARTICULATE.fn: _RICCATI,
}
"""For what an expression needs of the state: words, and equations."""
_LETTERS = {"elimination": Kind.G.value.text} | {
    kind.value.buffer.strip("{}"): kind.value.text
    for kind in Kind
    if kind.value.buffer is not None and kind is not Kind.GRAVITY  # whose recursion is written with alpha
}
"""The papers', of what steps read and of buffers."""


def statements(step: Step, wanted: Iterable[str]) -> tuple[str, ...]:
    """The equations of a step at one body, for those of its results that are ``wanted``.

    >>> import recursa as rc
    >>> from recursa.operators.lower import lower
    >>> o = rc.robots.planar(2).operators
    >>> [line for step in lower(o.psi @ o.E_phi).plan.sweeps[0].steps for line in statements(step, ["x3"])][-1]
    'x3(k) = Σ φ(k,c) [τ̄(c) x3(c) + x1(c)]'
    """
    step = _unwrapped(step)
    names = [_plain(name) for name in step.writes]
    if isinstance(step.fn, Combination):
        at = "" if _at_link(step) else "(k)"
        return (f"{names[0]}{at} = {_weighted(step.fn.numbers, [_plain(x) + at for x in step.reads])}",)
    if step.fn in _OF_STATE:
        return _OF_STATE[step.fn][1:]
    values = _values(step)
    if step.fn in _OF_VELOCITY:
        return tuple(text.format(**values) for text in _OF_VELOCITY[step.fn][1:])
    texts = _of_operator(step)
    if texts is None:
        return (step.equation or str(step),)
    own, *more = texts
    further = [text for text, name in zip(more, names[1:], strict=False) if name in wanted]
    return tuple(text.format(**values) for text in (own, *further))


def _unwrapped(step: Step) -> Step:
    return replace(step, fn=step.fn.fn) if isinstance(step.fn, Once) else step


def _of_operator(step: Step) -> tuple[str, ...] | None:
    """The texts of a step of an operator; what the robot has once has no place."""
    turned = next((fn for fn, in_basis in IN_BASIS.items() if in_basis == step.fn), None)
    texts = _OF_OPERATORS.get(turned or step.fn) or _OF_OPERATORS.get(type(step.fn)) or _FIXED.get(step.fn.__name__)
    if texts is None:
        return None
    if turned is not None and "{done}" not in texts[0]:
        return (f"{texts[0]}, of the matrix that {{done}} is of",)
    anywhere = step.fn is inverse_steps.diagonal_times or isinstance(step.fn, Solve)
    return tuple(text.replace("(k)", "") for text in texts) if anywhere and _at_link(step) else texts


def _at_link(step: Step) -> bool:
    """Whether it makes what the robot has once."""
    return step.writes[0].endswith("@robot")


def _values(step: Step) -> dict[str, str]:
    """What the names in the text of a step stand for."""
    parameters, reads = inspect.signature(step.fn).parameters, [_plain(name) for name in step.reads]
    arguments = dict(zip(parameters, reads, strict=False))
    last = next(reversed(parameters))
    if parameters[last].kind is inspect.Parameter.VAR_POSITIONAL:
        arguments[last] = ", ".join(reads[len(parameters) - 1 :])
    return {**arguments, **dict(zip("yz", map(_plain, step.writes), strict=False))}


def meaning(step: Step) -> tuple[str, str]:
    """What a step computes, and what that is of the whole expression.

    >>> import recursa as rc
    >>> from recursa.operators.lower import lower
    >>> o = rc.robots.planar(2).operators
    >>> meaning(lower(o.phi @ o.M).plan.sweeps[-1].steps[-1])
    ('x4', '= φ M x')
    """
    step = _unwrapped(step)
    if _of_operator(step) is not None or isinstance(step.fn, Combination):
        return _plain(step.writes[0]), f"= {step.equation}"
    words = _OF_STATE[step.fn][0] if step.fn in _OF_STATE else step.equation
    if step.fn in _OF_VELOCITY:
        words = _OF_VELOCITY[step.fn][0].format(**_values(step))
    return ", ".join(dict.fromkeys(map(_plain, step.writes))), words


def read_later(lowered: Lowered) -> set[str]:
    """The buffers that some step reads, and the result."""
    reads = (split(name)[0] for sweep in lowered.plan.sweeps for step in sweep.steps for name in step.reads)
    return {*reads, lowered.buffer}


def _plain(name: str) -> str:
    """A name that a step reads or writes, without where it finds it."""
    if has_own_name(name):
        return name.partition(":")[2]
    buffer = split(name)[0]
    letter, mark, unit = buffer.partition("_")  # a buffer made with another velocity than v carries its name
    return _LETTERS.get(letter, letter) + mark + unit


def _weighted(numbers: Sequence[float], names: Sequence[str]) -> str:
    text = ""
    for number, name in zip(numbers, names, strict=True):
        sign = ("-" if number < 0.0 else "") if not text else (" - " if number < 0.0 else " + ")
        size = "" if abs(number) == 1.0 else f"{abs(number):.12g} "
        text += sign + size + name
    return text
