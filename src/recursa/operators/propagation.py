"""What goes from body to body: phi, psi, their shifts, their transposes, and neighbours that are one recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recursa.operators import steps
from recursa.operators.arithmetic import coefficient, factors_of, product, scaled, total, transpose
from recursa.operators.expression import Expression, Leaf, Sum, Transpose
from recursa.operators.symbols import Kind, Structure
from recursa.operators.values import Value

if TYPE_CHECKING:
    from recursa.operators.lower import Lowering


def is_leaf(expression: Expression, kind: Kind) -> bool:
    """Whether it is this letter."""
    return isinstance(expression, Leaf) and expression.kind is kind


class Propagation:
    """The propagations of one expression under way."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering

    def inward(self, expression: Expression, kind: Kind, operand: Value) -> Value:
        """``phi operand``, ``psi operand`` or ``E_phi operand``, from tip to base."""
        meaning, local = self.lowering.meaning(expression, operand), kind.value.applied
        if kind is Kind.E_PHI and operand.gathered is not None:
            return Value(operand.gathered, operand.space, meaning)
        if local is None:
            raise self.lowering.refusal(expression)
        both = kind is Kind.PHI  # whose step finds E_phi phi x too
        reads = (*self.lowering.own_buffers(expression, local), operand.name)
        names = self.lowering.steps.gather(local.fn, reads, meaning.text(), outputs=2 if both else 1)
        return Value(names[0], operand.space, meaning, gathered=names[1] if both else None)

    def outward(self, expression: Expression, kind: Kind, operand: Value) -> Value:
        """``phi* operand``, ``psi* operand`` or ``E_phi* operand``, from base to tip."""
        meaning, local = self.lowering.meaning(expression, operand), kind.value.transposed
        if kind is Kind.E_PHI and operand.carried is not None:
            return Value(operand.carried, operand.space, meaning)
        if local is None:
            raise self.lowering.refusal(expression)
        reads = self.lowering.own_buffers(expression, local)
        if Structure.STRICT in kind.value.structure:
            return self.lowering.new(expression, local.fn, (*reads, f"{operand.name}@parent"), operand.space, operand)
        result, carried = self.lowering.steps.spread(local.fn, (*reads, operand.name), meaning.text())
        return Value(result, operand.space, meaning, carried=carried)

    # ---- two in one ------------------------------------------------------------------------------------------------

    def articulated_shift(self, psi: Expression, operand: Value) -> Value:
        """``psi E_phi operand`` in one recursion."""
        known, key = self.lowering.known, (psi @ self.lowering.operators.E_phi, operand.name)
        if key not in known:
            meaning, reads = self.lowering.meaning(key[0], operand), (*self._reads(psi), operand.name)
            names = self.lowering.steps.gather(steps.gather_articulated_shifted, reads, meaning.text())
            known[key] = Value(names[0], operand.space, meaning)
        return known[key]

    def of_sum(self, left: Expression, terms: Sum, operand: Value | None) -> Value | None:
        """``phi (x + E_phi y)`` or ``psi (x + E_phi y)`` in one recursion; None if it is neither."""
        if not (is_leaf(left, Kind.PHI) or is_leaf(left, Kind.PSI)):
            return None
        spelled = [(term, *self._first_spelled_out(term)) for term in terms.terms]
        shifted = [rest for _, first, rest in spelled if is_leaf(first, Kind.E_PHI)]
        others = [term for term, first, _ in spelled if not is_leaf(first, Kind.E_PHI)]
        if not shifted or not others:
            return None
        known, key = self.lowering.known, (product((left, terms)), None if operand is None else operand.name)
        if key not in known:
            x, y = (self.lowering.apply(total(part), operand) for part in (others, shifted))
            articulated = is_leaf(left, Kind.PSI)
            fn = steps.gather_articulated_with_shifted if articulated else steps.gather_with_shifted
            meaning, reads = self.lowering.meaning(key[0], operand), (*self._reads(left), x.name, y.name)
            names = self.lowering.steps.gather(fn, reads, meaning.text())
            known[key] = Value(names[0], x.space, meaning)
        return known[key]

    def _reads(self, propagation: Expression) -> tuple[str, ...]:
        """What the step of phi or psi reads."""
        assert isinstance(propagation, Leaf) and propagation.kind.value.applied is not None
        return self.lowering.own_buffers(propagation, propagation.kind.value.applied)

    # ---- letters that are products ---------------------------------------------------------------------------------

    def spelled_out(self, factor: Expression) -> tuple[Expression, ...]:
        """K is ``E_phi G`` and E_psi is ``E_phi tau_bar``; other factors as they are."""
        leaf = factor.of if isinstance(factor, Transpose) else factor
        if not isinstance(leaf, Leaf) or not leaf.kind.value.factors:
            return (factor,)
        o = self.lowering.operators_of(leaf.filter)
        parts = [getattr(o, code) for code in leaf.kind.value.factors]
        return tuple(transpose(part) for part in reversed(parts)) if isinstance(factor, Transpose) else tuple(parts)

    def _first_spelled_out(self, term: Expression) -> tuple[Expression, Expression]:
        """The first factor of a term, spelled out, and the rest."""
        number, inner = coefficient(term)
        factors = factors_of(inner)
        first, *rest = (*self.spelled_out(factors[0]), *factors[1:])
        return first, scaled(number, product(rest))
