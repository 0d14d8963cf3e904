"""The arithmetic of xacro files: ``${...}`` parsed by Python and evaluated by a whitelist, never by ``eval``.

Robot descriptions use a part of Python's expressions: numbers, text, lists, dictionaries, arithmetic, comparisons,
``and or not``, ``a if c else b``, calls, items and names behind a dot. Every other kind of node is refused. The length
and depth of an expression and the size of its values are bounded, and names count the work they are asked to do.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from recursa.errors import ModelError, did_you_mean
from recursa.formats.expression_values import (
    BINARY,
    Function,
    Namespace,
    apply,
    bounded,
    cost,
    item_of,
    member_of,
)

MAX_LENGTH = 2048
MAX_DEPTH = 40

_BLANKS = re.compile(r"[\t\n\v\f\r]")
_TOO_DEEP = f"an expression nests deeper than {MAX_DEPTH}"


class Names(NamedTuple):
    """What an expression is evaluated in.

    ``lookup`` gives the value of a name, or a KeyError; ``known`` all names, for proposals; ``spend`` counts work, and
    raises an error once there is too much of it.
    """

    lookup: Callable[[str], Any]
    known: Callable[[], Iterable[str]]
    spend: Callable[[int], None]


def plain_names(values: Mapping[str, Any]) -> Names:
    """Names in a dictionary, with no bound on the work.

    >>> evaluate("2 * a + 1", plain_names({"a": 3}))
    7
    """
    return Names(values.__getitem__, values.keys, lambda steps: None)


def evaluate(text: str, names: Names) -> Any:
    """The value of an expression; whatever is wrong is a :class:`~recursa.errors.ModelError` without a place.

    >>> evaluate("[1, 2.5][-1] ** 2 if not flag else 'no'", plain_names({"flag": False}))
    6.25
    >>> evaluate("__import__('os')", plain_names({}))
    Traceback (most recent call last):
    recursa.errors.ModelError: the name '__import__' is not defined. There are none.
    """
    return _Evaluation(names).value(_parsed(text.strip()), 1)


@lru_cache(maxsize=256)
def _parsed(text: str) -> ast.expr:
    """The syntax tree of an expression, parsed once and evaluated often."""
    if len(text) > MAX_LENGTH:
        raise ModelError(f"an expression has {len(text)} characters; at most {MAX_LENGTH} are read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes and missing blanks, which are no concern of ours
            return ast.parse(_BLANKS.sub(" ", text), mode="eval").body
    except SyntaxError as error:
        raise ModelError(f"this is not a valid expression ({error.msg})") from None
    except ValueError as error:  # a NUL character
        raise ModelError(f"this is not a valid expression ({error})") from None
    except (RecursionError, MemoryError):
        raise ModelError(_TOO_DEEP) from None


class _Evaluation:
    """The values of syntax trees in some names. Chains of operators, calls and items are loops; the rest recurs."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def value(self, node: ast.expr, depth: int) -> Any:
        """The value of a node that stands inside ``depth`` others."""
        if depth > MAX_DEPTH:
            raise ModelError(_TOO_DEEP)
        evaluator = _EVALUATORS.get(type(node))
        if evaluator is None:
            hint = "loops and functions of one's own are not supported"
            raise ModelError(f"{ast.unparse(node)[:60]!r} cannot be evaluated; {hint}")
        return evaluator(self, node, depth + 1)

    def constant(self, node: ast.Constant, depth: int) -> Any:
        if isinstance(node.value, bytes | complex) or node.value is ...:
            raise ModelError(f"{ast.unparse(node)[:40]!r} is no number and no text")
        return bounded(node.value)

    def name(self, node: ast.Name, depth: int) -> Any:
        self.names.spend(1)
        try:
            return self.names.lookup(node.id)
        except KeyError:
            hint = did_you_mean(node.id, [known for known in self.names.known() if known.isidentifier()])
            raise ModelError(f"the name '{node.id[:60]}' is not defined. {hint}") from None

    def choice(self, node: ast.IfExp, depth: int) -> Any:
        return self.value(node.body if self.value(node.test, depth) else node.orelse, depth)

    def logic(self, node: ast.BoolOp, depth: int) -> Any:
        """The first operand that is true (of an ``or``) or false (of an ``and``), else the last."""
        result = None
        for operand in node.values:
            result = self.value(operand, depth)
            if bool(result) is isinstance(node.op, ast.Or):
                break
        return result

    def comparison(self, node: ast.Compare, depth: int) -> Any:
        """``first < second < third``, each evaluated only if those before hold."""
        left, truth = self.value(node.left, depth), True
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self.value(operand, depth)
            self.names.spend(1 + cost(left) + cost(right))
            truth = apply(*BINARY[type(op)], left, right)
            if not truth:
                break
            left = right
        return truth

    def arithmetic(self, node: ast.BinOp, depth: int) -> Any:
        """``first + second - third``, from the left, however long."""
        chain, first = [], node
        while isinstance(first, ast.BinOp):
            chain.append(first)
            first = first.left  # type: ignore[assignment]
        result = self.value(first, depth)
        for operation in reversed(chain):
            if type(operation.op) not in BINARY:
                raise ModelError(f"the operator of {ast.unparse(operation)[:60]!r} is not supported")
            result = apply(*BINARY[type(operation.op)], result, self.value(operation.right, depth))
            self.names.spend(1 + cost(result))
        return result

    def sign(self, node: ast.UnaryOp, depth: int) -> Any:
        """``-x``, ``+x`` or ``not x``."""
        result = self.value(node.operand, depth)
        if isinstance(node.op, ast.Not):
            return not result
        if isinstance(node.op, ast.Invert) or not isinstance(result, int | float):
            raise ModelError("a sign stands before what is no number")
        return -result if isinstance(node.op, ast.USub) else +result

    def postfix(self, node: ast.expr, depth: int) -> Any:
        """A value with members, calls and items behind it."""
        chain, first = [], node
        while isinstance(first, ast.Attribute | ast.Call | ast.Subscript):
            chain.append(first)
            first = first.func if isinstance(first, ast.Call) else first.value
        result = self.value(first, depth)
        for step in reversed(chain):
            self.names.spend(1)
            if isinstance(step, ast.Attribute):
                self.names.spend(0 if isinstance(result, Namespace) else cost(result))
                result = member_of(result, step.attr)
            elif isinstance(step, ast.Call):
                result = self.call(result, step, depth)
            elif isinstance(step.slice, ast.Slice):
                result = self.part(result, step.slice, depth)
            else:
                result = item_of(result, self.value(step.slice, depth))
        return result

    def call(self, function: Any, node: ast.Call, depth: int) -> Any:
        if not isinstance(function, Function):
            raise ModelError("what stands before the bracket is no function")
        arguments = [self.value(argument, depth) for argument in node.args]
        self.names.spend(1 + sum(map(cost, arguments)))
        named = {keyword.arg: self.value(keyword.value, depth) for keyword in node.keywords if keyword.arg}
        if len(named) < len(node.keywords):
            raise ModelError("arguments behind '**' are not supported")
        return apply(function.name, function.call, *arguments, **named)

    def part(self, owner: Any, node: ast.Slice, depth: int) -> Any:
        if not isinstance(owner, str | list):
            raise ModelError("a part with ':' can be taken of text and lists only")
        bounds = [None if end is None else self.value(end, depth) for end in (node.lower, node.upper, node.step)]
        self.names.spend(cost(owner))
        return apply(":", lambda items, *ends: items[slice(*ends)], owner, *bounds)

    def items(self, node: ast.List | ast.Tuple, depth: int) -> list[Any]:
        self.names.spend(len(node.elts))
        return bounded([self.value(element, depth) for element in node.elts])

    def dictionary(self, node: ast.Dict, depth: int) -> dict[Any, Any]:
        self.names.spend(len(node.keys))
        keys = [None if key is None else self.value(key, depth) for key in node.keys]
        if not all(isinstance(key, str | int | float) for key in keys):
            raise ModelError("the keys of a dictionary must be text or numbers")
        return bounded(dict(zip(keys, (self.value(item, depth) for item in node.values), strict=True)))


_EVALUATORS: dict[type[ast.expr], Callable[[_Evaluation, Any, int], Any]] = {
    ast.Constant: _Evaluation.constant,
    ast.Name: _Evaluation.name,
    ast.IfExp: _Evaluation.choice,
    ast.BoolOp: _Evaluation.logic,
    ast.Compare: _Evaluation.comparison,
    ast.BinOp: _Evaluation.arithmetic,
    ast.UnaryOp: _Evaluation.sign,
    ast.Attribute: _Evaluation.postfix,
    ast.Call: _Evaluation.postfix,
    ast.Subscript: _Evaluation.postfix,
    ast.List: _Evaluation.items,
    ast.Tuple: _Evaluation.items,
    ast.Dict: _Evaluation.dictionary,
}
"""The kinds of node that are evaluated; every other kind is refused."""
