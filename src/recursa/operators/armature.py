"""Expressions that armature does not enter, of robots that have some.

``inv(H phi M phi* H*)`` of a robot with rotors is the inverse of the bodies' mass matrix alone. Its factors are those
of the same robot without rotors: so that robot's operators are put in place of this one's, wherever no letter of the
expression knows the rotors.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from recursa.model.assemble import assemble
from recursa.model.model import Model
from recursa.operators.arithmetic import diagonal, inverse, product, scaled, total, transpose
from recursa.operators.expression import Diagonal, Expression, Inverse, Leaf, Product, Scaled, Sum, Transpose, parts_of
from recursa.operators.leaves import Operators
from recursa.operators.symbols import RICCATI, Kind

_WITH_ROTORS = (*RICCATI, Kind.A, Kind.UPSILON)


def without_rotors(expression: Expression) -> Expression | None:
    """The same value written for the robot without armature; None if armature enters it, or nothing is gained.

    >>> import recursa as rc
    >>> o = rc.robots.puma560().operators
    >>> without_rotors((o.mass - o.A).inverse()).model.joints[0].armature
    (0.0,)
    >>> without_rotors(o.mass.inverse()) is None
    True
    """
    model = expression.model
    if model is None or not Operators(model).has_armature or not _has_inverse(expression) or _knows_rotors(expression):
        return None
    return _moved(expression, _bare(model))


@lru_cache(maxsize=32)
def _bare(model: Model) -> Model:
    joints = tuple(replace(joint, armature=()) for joint in model.description.joints)
    description = replace(model.description, joints=joints)
    return assemble(description, gravity=model.gravity, floating=model.floating, mimic=model.mimic)


def _has_inverse(expression: Expression) -> bool:
    return isinstance(expression, Inverse) or any(map(_has_inverse, parts_of(expression)))


def _knows_rotors(expression: Expression) -> bool:
    if isinstance(expression, Leaf):
        return expression.kind in _WITH_ROTORS or expression.filter is not None
    return any(map(_knows_rotors, parts_of(expression)))


def _moved(expression: Expression, model: Model) -> Expression:
    """The expression with another robot's operators."""
    match expression:
        case Leaf():
            return replace(expression, robot=model)
        case Transpose(of=inner):
            return transpose(_moved(inner, model))
        case Inverse(of=inner):
            return inverse(_moved(inner, model))
        case Diagonal(of=inner):
            return diagonal(_moved(inner, model))
        case Scaled(factor=factor, of=inner):
            return scaled(factor, _moved(inner, model))
        case Product(factors=factors):
            return product(_moved(factor, model) for factor in factors)
        case Sum(terms=terms):
            return total(_moved(term, model) for term in terms)
    return expression
