"""The seven levels from a formula to arithmetic on numbers (Rodriguez & Kreutz-Delgado, section IX).

1 expression, 2 decomposition, 3 recognition need the expression only; 4 recursion, 5 link step, 6 half steps,
7 coordinate transformation need its sweeps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recursa.model.canonical import CanonicalJoint
from recursa.model.model import Joint
from recursa.operators.compiled_expression import CompiledExpression
from recursa.operators.expression import (
    Blocks,
    Constant,
    Diagonal,
    Expression,
    Filter,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    Vector,
    Zero,
    known_shape,
)
from recursa.operators.inversion import is_of_robot, letter_of
from recursa.operators.leaves import Operators
from recursa.operators.rewriting import Rewriting
from recursa.operators.shapes import ONE, Shape, Space
from recursa.operators.statements import meaning, read_later, statements
from recursa.operators.structure import structure
from recursa.operators.symbols import RICCATI, Kind, Structure
from recursa.spatial.transform import Screw, Transform

Rows = tuple[tuple[str, ...], ...]

MANY = 12  # bodies, beyond which only the first are listed


@dataclass(frozen=True)
class Part:
    """Rows of text under a title; the cells of a row are columns."""

    title: str
    rows: Rows = ()


@dataclass(frozen=True)
class Level:
    """One level: its number and name in the paper, what it is about, and what it is here."""

    number: int
    name: str
    about: str
    parts: tuple[Part, ...]


# ---- 1 to 3: the formula -------------------------------------------------------------------------------------------


def expression_level(given: Expression, simple: Expression, rewritings: Sequence[Rewriting]) -> Level:
    """What was written, the identities that were used, and what they made of it."""
    rows = (("written", given.text()), ("typed", given.text(ascii=True)), ("is", in_words(known_shape(given))))
    parts = [Part("", rows)]
    for number, step in enumerate(rewritings, 1):
        title = f"identity {number}: {step.rule} [{step.equation}]"
        parts.append(Part(title, (("before", step.before.text()), ("after", step.after.text()))))
    if rewritings:
        parts.append(Part("which makes it", ((simple.text(),),)))
    else:
        parts.append(Part("no identity makes it cheaper"))
    if any(_leaves_armature_out(part) for part in occurrences(simple)):
        parts.append(Part("armature is left out: with it the mass matrix is H φ M φ* H* + A"))
    return Level(1, "expression", "the formula, and the identities that make it cheap", tuple(parts))


def _leaves_armature_out(part: Expression) -> bool:
    """Whether a letter is of the bodies' mass matrix alone, and the robot has rotors too."""
    leaf = letter_of(part)
    if not isinstance(leaf, Leaf):
        return False
    own = Operators(leaf.robot)
    return own.has_armature and leaf.filter == Filter(own.M, Zero(own.A.shape))


def in_words(shape: Shape) -> str:
    """What an expression is.

    >>> in_words(Shape(Space("joint", 6), ONE))
    'a joint vector (6 numbers)'
    """
    if shape.columns == ONE:
        return "one number" if shape.rows == ONE else f"a {_space(shape.rows)}"
    if shape.rows == ONE:
        return f"a row: of a {_space(shape.columns)} it makes one number"
    return f"a {shape.rows.size} x {shape.columns.size} matrix: of a {_space(shape.columns)} it makes a " + _space(
        shape.rows
    )


def _space(space: Space) -> str:
    return f"{space.name} vector ({space.size} numbers)".lstrip()


def decomposition_level(simple: Expression) -> Level:
    """The operators and vectors that occur, each once."""
    rows: dict[str, tuple[str, ...]] = {}
    for part in occurrences(simple):
        bare = part.of if isinstance(part, Inverse | Transpose) else part
        match bare:
            case Leaf(kind=kind):
                symbol = kind.value
                rows.setdefault(bare.text(), (bare.text(), symbol.words, symbol.meaning, str(known_shape(bare))))
            case Vector():
                rows.setdefault(bare.text(), (bare.text(), "free vector", "given with a call", str(bare.shape)))
            case Constant() | Blocks():
                rows.setdefault(bare.text(), (bare.text(), "numbers", "part of the expression", str(bare.shape)))
    return Level(2, "decomposition", "the operators that occur", (Part("", tuple(rows.values())),))


def occurrences(expression: Expression) -> Iterator[Expression]:
    """Operators and vectors as they stand, with their stars and inverses, from left to right.

    >>> import recursa as rc
    >>> o = rc.robots.planar(2).operators
    >>> [str(part) for part in occurrences(o.phi.T @ o.H.T @ o.D.inverse())]
    ['φ*', 'H*', 'D⁻¹']
    """
    match expression:
        case Product(factors=parts) | Sum(terms=parts):
            for part in parts:
                yield from occurrences(part)
        case Scaled(of=inner):
            yield from occurrences(inner)
        case Inverse(of=inner):
            yield expression
            if not isinstance(inner, Leaf | Transpose):
                yield from occurrences(inner)
        case Diagonal(of=inner):
            yield expression
            yield from occurrences(inner)
        case Leaf() | Transpose() | Vector() | Constant() | Blocks():
            yield expression


def recognition_level(simple: Expression, obstacle: object) -> Level:
    """What kind each of them is, hence what it becomes."""
    parts = list(dict.fromkeys(occurrences(simple)))
    rows = tuple((part.text(), *_recognised(part, part == obstacle)) for part in parts)
    kinds = {leaf.kind for leaf in map(letter_of, parts) if isinstance(leaf, Leaf)}
    letters = [kind.value for kind in Kind if kind in kinds]
    waiting = tuple(letter.text for letter in letters if RICCATI in letter.needs)
    found = [Part("", rows)]
    if waiting:
        does = "takes" if len(waiting) == 1 else "take"
        found.append(
            Part(f"{', '.join(waiting)} {does} the articulated-body (Riccati) recursion (34)-(36), tip to base")
        )
    found += [Part(f"{letter.text} takes {letter.takes}") for letter in letters if letter.takes]
    return Level(3, "recognition", "of which kind each of them is", tuple(found))


def _recognised(part: Expression, in_the_way: bool) -> tuple[str, str]:
    """Its kind, and what becomes of it."""
    if in_the_way:
        return "of no kind that is known", "stands in the way: no sweep applies it"
    match part:
        case Vector():
            return "vector", "an input"
        case Constant(size=(_,)):
            return "vector", "a constant"
        case Leaf(kind=Kind.BIAS):
            return "vector", "replaced by its definition, Newton-Euler (7)-(12)"
        case Leaf(kind=Kind.SPEED):
            return "vector of the state", "an input"
        case Leaf(kind=kind) if kind.value.is_vector:
            return "vector of the state", "a recursion of its own, base to tip"
        case Transpose(of=Vector() | Constant(size=(_,))):
            return "row", "no sweep makes a single number"
        case Leaf(kind=Kind.B) | Transpose(of=Leaf(kind=Kind.B)):
            return "pick-off", "a statement at one link"
        case Leaf(kind=Kind.B_CONSTRAINT) | Transpose(of=Leaf(kind=Kind.B_CONSTRAINT)):
            return "pick-off of constraints", "statements at the links that are held"
        case Leaf(kind=Kind.T_CONSTRAINT) | Transpose(of=Leaf(kind=Kind.T_CONSTRAINT)):
            return "torques of constraints", "a statement at each related joint"
    known = structure(part)
    if isinstance(part, Inverse) and is_of_robot(known_shape(part)):
        return "small inverse", "solved once for the robot, by the columns of the matrix or by its block at the link"
    if Structure.BLOCK_DIAGONAL in known:
        return ("diagonal" if Structure.DIAGONAL in known else "block diagonal"), "a statement at each body"
    if known & (Structure.GATHERING | Structure.SPREADING):
        way = "tip to base" if Structure.GATHERING in known else "base to tip"
        return ("one-step shift" if Structure.STRICT in known else "transition operator"), way
    return "full matrix", "no sweep applies it"


# ---- 4 to 7: the sweeps --------------------------------------------------------------------------------------------


def recursion_level(f: CompiledExpression) -> Level:
    """The sweeps with their direction, and what each step is a name for."""
    parts = []
    for number, sweep in enumerate(f.plan.sweeps, 1):
        rows = tuple(meaning(step) for step in sweep.steps)
        parts.append(Part(f"sweep {number}, {_where(f, number - 1)}", rows))
    count = len(f.plan.sweeps)
    directions = ", ".join(sweep.direction.value for sweep in f.plan.sweeps)
    about = f"{count} sweep{'s' * (count != 1)} over the bodies: {directions}; the result is {f.lowered.buffer}"
    return Level(4, "recursion", about, tuple(parts))


def _where(f: CompiledExpression, number: int) -> str:
    sweep = f.plan.sweeps[number]
    if sweep.only is None:
        return sweep.direction.value
    return "at link " + ", ".join(f"'{f.model.links[k].name}'" for k in sweep.only)


def link_step_level(f: CompiledExpression) -> Level:
    """The same steps at one body."""
    wanted = read_later(f.lowered)
    parts = []
    for number, sweep in enumerate(f.plan.sweeps, 1):
        rows = tuple((line,) for step in sweep.steps for line in statements(step, wanted))
        parts.append(Part(f"sweep {number}, {_where(f, number - 1)}", rows))
    about = "what happens at body k: Σ is over its children c, p is its parent; zero where there is none"
    return Level(5, "link step", about, tuple(parts))


def half_steps_level(f: CompiledExpression) -> Level:
    """What carries something across one link: rigidly inside it, and through the joint."""
    text = "\n".join(row[0] for part in link_step_level(f).parts for row in part.rows)
    rows = []
    if "φ(k,c)" in text:
        rows.append(("φ(k,c)", "inside the link", "a force at the origin of body c, as it acts at that of body k"))
    if "φ*(p,k)" in text:
        rows.append(("φ*(p,k)", "inside the link", "a motion of parent p, as the origin of body k has it"))
    if "τ̄(" in text or "τ̄*(" in text:
        rows.append(("τ̄(k) = I - G(k) H(k)", "across the joint", "what a joint that is free to move lets through"))
        rows.append(("ψ(k,c) = φ(k,c) τ̄(c)", "both", "an articulated transition: first the joint, then the link"))
    if not rows:
        rows.append(("nothing goes from body to body", "", ""))
    return Level(6, "half steps", "what carries six numbers from one body to the next", (Part("", tuple(rows)),))


def coordinates_level(f: CompiledExpression) -> Level:
    """How the halves of six numbers change from one body's axes to the next's."""
    law = (
        ("force", "(n, f) of body k in its parent: R f, and R n + l x R f"),
        ("motion", "(w, v) of the parent at body k: R* w, and R* (v + w x l)"),
        ("where", "R is the rotation of body k against its parent, l the position of its origin there"),
    )
    model = f.kernel_model
    screws = sum(1 + len(joint.before) for joint in model.joints if isinstance(joint, CanonicalJoint))
    general = sum(not isinstance(joint, CanonicalJoint) for joint in model.joints)
    about = "in link axes at link origins, which the value depends on"
    costs = []
    if f.frame_free:
        about = "the value does not depend on where link frames sit: they are moved onto the joint axes (modified DH)"
        costs.append(f"{screws} screws, each about and along one axis: 10 mul 6 add for six numbers")
    if general:
        costs.append(f"{general} general rotations with translation: 24 mul 18 add for six numbers")
    cost = "; ".join(costs) + "; less where constants are 0 or 1"
    rows = tuple((joint.name, joint.kind.name, _pose(joint)) for joint in model.joints[:MANY])
    left = len(model.joints) - len(rows)
    more = ((f"... and {left} more", "", ""),) if left else ()
    parts = (Part(cost, law), Part("body in its parent, joint by joint", rows + more))
    return Level(7, "coordinate transformation", about, parts)


def _pose(joint: Joint) -> str:
    """The pose of a body in its parent as a formula in q: screws, or the constants of the joint."""
    if isinstance(joint, CanonicalJoint):
        q = f"q{joint.q_start}"
        if joint.kind.slides:
            return _screws(
                joint.before, _turn(2, math.atan2(joint.turn[1], joint.turn[0])), f"Tz({q}{_plus(joint.shift)})"
            )
        advance = f"{joint.hinge.pitch:.6g} {q}" if joint.kind.has_pitch else ""
        shift = f"{advance}{_plus(joint.shift)}" if advance else _shift(2, joint.shift)
        turn = f"Rz({q}{_plus(math.degrees(joint.angle), '°')})"
        return _screws(joint.before, turn, f"Tz({shift})" if advance else shift)
    axis = " ".join(f"{_clean(x):.6g}" for x in joint.hinge.axis)
    across = f", axis {axis}" if joint.kind.nv == 1 else ""
    behind = "" if joint.after is None else f"; behind the joint {_constant(joint.after)}"
    return _constant(joint.placement) + across + behind


def _constant(step: Transform) -> str:
    turns = " ".join(f"{_clean(math.degrees(x)):.6g}°" for x in step.rotation.rpy())
    place = " ".join(f"{_clean(x):.6g}" for x in step.translation)
    return f"xyz {place}, rpy {turns}"


def _screws(before: Sequence[Screw], *last: str) -> str:
    constant = [_turn(s.axis, math.atan2(s.s, s.c)) + " " + _shift(s.axis, s.d) for s in before]
    return " · ".join(text for text in (*(part.strip() for part in constant), " ".join(filter(None, last))) if text)


def _turn(axis: int, angle: float) -> str:
    return "" if angle == 0.0 else f"R{'xyz'[axis]}({math.degrees(angle):.6g}°)"


def _shift(axis: int, along: float) -> str:
    return "" if along == 0.0 else f"T{'xyz'[axis]}({along:.6g})"


def _plus(number: float, unit: str = "") -> str:
    return "" if number == 0.0 else f" {'-' if number < 0.0 else '+'} {abs(number):.6g}{unit}"


def _clean(number: float) -> float:
    return 0.0 if abs(number) < 1e-12 else float(number)
