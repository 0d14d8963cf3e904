"""Operator expressions for tests: every operator by itself, random ones, and their values by sweeps and by matrices."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import recursa as rc
from numeric import gap as gap
from recursa.operators.expression import Expression, Inverse, Product, Sum, Transpose
from recursa.operators.leaves import Operators
from recursa.operators.lower import lower
from recursa.operators.symbols import OF_CONSTRAINTS, Kind
from recursa.operators.values import input_name, operand_of
from recursa.sweeps import run


def leaves(robot: rc.Robot) -> dict[str, Expression]:
    """Every operator at rest, its transpose, and the inverses of what is block diagonal and surely has one."""
    o = robot.operators
    link = robot.link_names[-1]
    kinds = [kind for kind in Kind if not kind.value.is_vector and not kind.value.moving]
    kinds = [kind for kind in kinds if robot.constraints or kind not in OF_CONSTRAINTS]
    found = [o.B(link) if kind is Kind.B else getattr(o, kind.value.code) for kind in kinds]
    found += [leaf.T for leaf in found if leaf != leaf.T]
    found += [o.D.inverse(), o.M.inverse(), o.R.inverse(), o.P.inverse()]
    return {str(x): x for x in found}


def products(robot: rc.Robot) -> dict[str, Expression]:
    """Products and sums of the papers."""
    texts = [
        "mass", "inv(mass)", "J(LINK)", "J(LINK) inv(mass) J(LINK)*", "Phi", "Psi", "1 + H phi K", "1 - H psi K",
        "phi M psi*", "inv(phi M phi*)", "psi* H* inv(D) H psi", "(1 - H psi K)* inv(D) H psi M phi*",
        "2 J(LINK) - 3 J(LINK) inv(mass)", "H (phi - psi) M", "K* psi* Upsilon", "H H*", "x y* - 3 phi",
    ]  # fmt: skip
    link = robot.link_names[-1]
    return {t: rc.parse(t.replace("LINK", link), robot, vectors={"x": "link", "y": "link"}) for t in texts}


def numbers_for(robot: rc.Robot, expression: Expression, seed: int = 0) -> dict[str, np.ndarray]:
    """Random numbers for the free vectors of an expression and for what it is applied to."""
    rng = np.random.default_rng(seed)
    return {x.name: rng.normal(size=x.space.size) for x in lower_of(robot, expression).inputs}


def lower_of(robot: rc.Robot, expression: Expression):
    return lower(expression, robot.model)


def by_sweeps(
    robot: rc.Robot, expression: Expression, q: np.ndarray, v: np.ndarray, given: dict[str, np.ndarray]
) -> np.ndarray:
    """Lowered and interpreted, as it stands."""
    lowered = lower_of(robot, expression)
    inputs = {input_name(x): given[x.name].tolist() for x in lowered.inputs} | dict(lowered.constants)
    values = run(lowered.plan, robot.model, {"q": q.tolist(), "v": v.tolist(), **inputs})
    found = np.array(list(lowered.entries(values)), float)
    return found[0] if lowered.space.name == "one" else found


def by_matrices(expression: Expression, q: np.ndarray, v: np.ndarray, given: dict[str, np.ndarray]) -> np.ndarray:
    """Densely, applied to what it is applied to."""
    operand = operand_of(expression)
    return rc.dense(expression if operand is None else expression @ operand, q, v, **given)


def largest_part(expression: Expression, q: np.ndarray, v: np.ndarray, **given: np.ndarray) -> float:
    """The largest number that the evaluation can pass through: what rounding is relative to."""
    match expression:
        case Product(factors=parts):
            return float(np.prod([max(1.0, largest_part(part, q, v, **given)) for part in parts]))
        case Sum(terms=parts):
            return sum(largest_part(part, q, v, **given) for part in parts)
        case Inverse() | Transpose():
            return float(np.abs(rc.dense(expression, q, v, **given)).max(initial=0.0))
    return 1.0 if expression.shape is None else float(np.abs(rc.dense(expression, q, v, **given)).max(initial=0.0))


# ---- random expressions ----------------------------------------------------------------------------------------------

SQUARE = {"joint": ("D", "A", "I"), "link": ("phi", "psi", "E_phi", "E_psi", "M", "P", "R", "tau_bar", "Upsilon", "I")}
VECTORS = {"joint": ("C",), "link": ("a", "b", "V", "gravity")}


def factor_from(o: Operators, space: str, draw: st.DrawFn) -> tuple[Expression, str]:
    """Something to multiply from the right: its rows are in ``space``; and the space of its columns."""
    if draw(st.integers(0, 2)) == 0:
        found = [o.H] if space == "joint" else [o.G, o.K, o.H.T]
        turned = [o.G.T, o.K.T] if space == "joint" else []
        return draw(st.sampled_from([*found, *turned])), "link" if space == "joint" else "joint"
    leaf = getattr(o, draw(st.sampled_from(SQUARE[space])))
    return (leaf.T if draw(st.booleans()) else leaf), space


@st.composite
def expressions(draw: st.DrawFn, o: Operators, depth: int = 2) -> Expression:
    """Random well-shaped expressions, with pieces of the papers' formulas among them."""
    factor, inverse_factor = o.I + o.H @ o.phi @ o.K, o.I - o.H @ o.psi @ o.K
    pieces = [o.mass, o.mass.inverse(), factor, factor.T, inverse_factor, inverse_factor.T, o.D.inverse()]
    pieces += [factor.inverse(), inverse_factor.T @ o.D.inverse() @ inverse_factor, o.H @ o.tau_bar @ o.G]
    linked = [o.phi.inverse(), o.psi.T.inverse(), o.I - o.E_phi, o.I - o.G @ o.H, o.phi @ o.M @ o.phi.T]
    linked += [o.R + o.phi @ o.E_phi @ o.R, o.M + o.E_psi @ o.P @ o.E_phi.T, o.phi @ o.K @ o.H @ o.psi]

    def square(space: str, depth: int) -> Expression:
        if depth == 0 or draw(st.integers(0, 3)) == 0:
            return draw(st.sampled_from(pieces if space == "joint" else linked))
        if draw(st.integers(0, 2)) == 0:
            number = draw(st.sampled_from([1.0, -1.0, 2.0, -0.5]))
            return square(space, depth - 1) + number * square(space, depth - 1)
        here, result = space, o.I
        for _ in range(draw(st.integers(1, 4))):
            part, here = factor_from(o, here, draw)
            result = result @ part
        if here != space:
            result = result @ (o.H if here == "joint" else o.H.T)
        return result @ square(space, depth - 1) if draw(st.booleans()) else square(space, depth - 1) @ result

    space = draw(st.sampled_from(["joint", "link"]))
    result = square(space, depth)
    if draw(st.integers(0, 2)) == 0:
        result = result @ getattr(o, draw(st.sampled_from(VECTORS[space])))
    return result
