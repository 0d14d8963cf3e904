"""Derivatives of operator expressions, as expressions: products, sums and inverses by the rules of arithmetic.

Leaves that change with the configuration become their own derivatives (``phi_dot``, ``P_dot``, ...), in body axes and
along v or along one freedom, with v itself held; ``rules.py`` says what those are (Jain & Rodriguez, Table 4).
H, M, A and B are constant in body axes. Along a motion V, a, b and C change with v too: ``vdot``, a free joint vector,
enters where they do.

Local and inertial derivative of any x (the relation of the two columns of Table 4):

    inertial = local + Omega x - x Omega              Omega on link rows, and on link columns

Joint vectors have no axes; pick-offs keep those of their link. Free vectors are constant numbers, link vectors among
them in body axes, unless they are given a rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import get_args

from recursa.errors import NoSweepError, StateError, unknown_name
from recursa.operators.arithmetic import diagonal, functional, inverse, product, scaled, total, transpose
from recursa.operators.expression import (
    ANY,
    DerivativeKind,
    Diagonal,
    Expression,
    Freedom,
    Functional,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    Vector,
    Zero,
    free_vectors,
    walk,
)
from recursa.operators.functionals import logdet_by_parts
from recursa.operators.leaves import Operators, freedom_of
from recursa.operators.shapes import ONE, Shape
from recursa.operators.symbols import RATES, Kind

KINDS: tuple[str, ...] = get_args(DerivativeKind)
_NUMBER = Shape(ONE, ONE)
ACCELERATION = "vdot"
"""The free joint vector that the derivatives of V, a, b, C and v take."""


def time_derivative(
    expression: Expression, kind: DerivativeKind = "local", *, rates: Mapping[str, str] | None = None
) -> Expression:
    """See :meth:`Expression.time_derivative`."""
    if kind not in KINDS:
        raise unknown_name("kind of derivative", str(kind), KINDS)
    names = [vector.name for vector in free_vectors(expression)]
    unknown = next((name for name in rates or () if name not in names), None)
    if unknown is not None:
        raise unknown_name("free vector", unknown, names, owner=str(expression))
    if ACCELERATION in names and ACCELERATION not in (rates or {}):
        raise StateError(
            f"{expression} has {ACCELERATION}, the rate of v, which is not constant: name its own rate, "
            f'rates={{"{ACCELERATION}": "jerk"}}'
        )
    local = differentiated(expression, None, moving=True, rates=rates or {})
    return local if kind == "local" else total((local, *_turning(expression)))


def sensitivity(expression: Expression, joint: str | Freedom) -> Expression:
    """See :meth:`Expression.sensitivity`."""
    if expression.model is None:
        return Zero(expression.shape)
    return differentiated(expression, freedom_of(expression.model, joint))


def _turning(expression: Expression) -> Iterator[Expression]:
    """``Omega x - x Omega``, on the sides that are in link axes (Table 4, what the inertial column adds)."""
    model, shape = expression.model, expression.shape
    if model is not None and shape is not None:
        omega = Operators(model).Omega
        if shape.rows.name == "link":
            yield product((omega, expression))
        if shape.columns.name == "link":
            yield scaled(-1.0, product((expression, omega)))


def differentiated(
    expression: Expression, along: Freedom | None, *, moving: bool = False, rates: Mapping[str, str] | None = None
) -> Expression:
    """The local derivative along v, or along one freedom; with ``moving`` v changes too, by ``vdot``."""
    found = _Rule(along, moving, rates or {}).of(expression)
    return Zero(expression.shape) if isinstance(found, Zero) else found


def _row_of(rate: Leaf) -> Expression | None:
    from recursa.operators.rules import row_of  # which differentiate some of their sides

    found = row_of(rate)
    return None if found is None else found[1]


@dataclass(frozen=True)
class _Rule:
    along: Freedom | None
    moving: bool
    rates: Mapping[str, str]

    def of(self, expression: Expression) -> Expression:
        """The derivative of a node."""
        match expression:
            case Leaf():
                return self._leaf(expression)
            case Vector(name=name, space=space) if name in self.rates:
                return Vector(self.rates[name], space)
            case Transpose(of=inner):
                return transpose(self.of(inner))
            case Inverse(of=inner):
                return scaled(-1.0, product((expression, self.of(inner), expression)))
            case Diagonal(of=inner):
                return diagonal(self.of(inner))
            case Functional():
                return self._functional(expression)
            case Scaled(factor=factor, of=inner):
                return scaled(factor, self.of(inner))
            case Sum(terms=terms):
                return self._sum(self.of(term) for term in terms)
            case Product(factors=factors):
                return self._sum(
                    product((*factors[:at], self.of(factor), *factors[at + 1 :])) for at, factor in enumerate(factors)
                )
        return Zero(expression.shape)

    def _functional(self, expression: Functional) -> Expression:
        """``d trace(X) = trace(dX)`` and ``d logdet(X) = trace(inv(X) dX)``, of the pivots D where X has some."""
        inner = expression.of
        if expression.name == "trace":
            return functional("trace", differentiated(inner, self.along, moving=self.moving, rates=self.rates))
        simpler = None if inner.model is None else logdet_by_parts(inner, Operators(inner.model))
        if simpler is not None and not any(isinstance(leaf, Leaf) and leaf.filter for leaf in walk(simpler)):
            return self.of(simpler)
        change = differentiated(inner, self.along, moving=self.moving, rates=self.rates)
        return functional("trace", product((inverse(inner), change)))

    def _sum(self, terms: Iterator[Expression]) -> Expression:
        found: list[Expression] = []
        for term in terms:
            if not isinstance(term, Zero):
                turned = transpose(term) if term.shape == _NUMBER else term  # of one number the same: x* M y = y* M x
                found.append(turned if turned in found else term)
        return total(found) if found else Zero(None)

    def _leaf(self, leaf: Leaf) -> Expression:
        kind, model = leaf.kind, leaf.robot
        if leaf.filter is not None:
            raise NoSweepError(
                f"{leaf} has no row in Table 4, which is about the mass matrix. Differentiate the expression before "
                "simplify() puts factors into it",
                leaf,
            )
        if kind.value.steady or (kind is Kind.SPEED and not self.moving):
            return Zero(leaf.shape)
        if kind is Kind.S:
            return self._own_motion(leaf)
        if kind in RATES or kind is Kind.SPEED:
            by_configuration = [Leaf(RATES[kind], model, along=self.along)] if kind in RATES else []
            return total((*by_configuration, *(self._by_speed(kind, Operators(model)) if self.moving else ())))
        row = _row_of(leaf)
        if row is not None:
            return self.of(row)
        raise NoSweepError(
            f"{leaf} has no derivative among the operators: second ones are of what is made of H, phi, M, V, a and "
            "gravity, whose first ones have S = crf(H* v) in them and nothing else. Differentiate the numbers instead, "
            "with complex steps of rc.dense or of a compiled expression",
            leaf,
        )

    def _own_motion(self, leaf: Leaf) -> Expression:
        """Of ``S = crf(H* v)``: H* and unit velocities are constant in body axes, so only v changes, by its rate."""
        name = ACCELERATION if leaf.along is None else self.rates.get(leaf.along[0]) if leaf.direction else None
        return replace(leaf, along=(name, ANY)) if self.moving and name is not None else Zero(leaf.shape)

    def _by_speed(self, kind: Kind, o: Operators) -> tuple[Expression, ...]:
        """What a change of v does: ``dx/dv vdot``."""
        change = o.vector(ACCELERATION)
        link = o.phi.T @ o.H.T @ change
        a = o.S.T @ link + Operators(o.model, (ACCELERATION, ANY)).S.T @ o.V  # of a = S* V = crm(V) H* v
        b = (o.N + o.S_V @ o.M) @ link  # of b = crf(V) M V
        found: dict[Kind, Expression] = {
            Kind.SPEED: change,
            Kind.VELOCITY: link,
            Kind.BIAS_ACCELERATION: a,
            Kind.BIAS_FORCE: b,
            Kind.BIAS: o.H @ o.phi @ (o.M @ o.phi.T @ a + b),
        }
        return (found[kind],) if kind in found else ()
