"""The arithmetic of xacro files: ``${...}`` read by a parser of its own, never by Python's.

The grammar is the part of Python's expressions that robot descriptions use: numbers, text, lists, dictionaries,
arithmetic, comparisons, ``and or not``, ``a if c else b``, calls, items and names behind a dot.

    choice  = or ["if" or "else" choice]            sum     = product {("+" | "-") product}
    or      = and {"or" and}                        product = unary {("*" | "/" | "//" | "%") unary}
    and     = not {"and" not}                       unary   = ("-" | "+") unary | power
    not     = "not" not | compare                   power   = postfix ["**" unary]
    compare = sum {("<" | "==" | "in" | ...) sum}   postfix = atom {"." name | "(" ... ")" | "[" ... "]"}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

from recursa.errors import ModelError
from recursa.formats import expression_nodes as nodes
from recursa.formats.expression_nodes import Evaluator, Names
from recursa.formats.expression_values import bounded

MAX_LENGTH = 2048
MAX_DEPTH = 40

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.]))
  | (?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
  | (?P<name>[^\W\d]\w*)
  | (?P<mark>\*\*|//|<=|>=|==|!=|[-+*/%<>()\[\]{},.:=])
  | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_WORDS = {"and", "or", "not", "if", "else", "in", "is", "for", "lambda", "True", "False", "None"}
_CONSTANTS = {"True": True, "False": False, "None": None}


class PlainNames:
    """Names in a dictionary, and no end of patience.

    >>> evaluate("2 * a + 1", PlainNames({"a": 3}))
    7
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def lookup(self, name: str) -> Any:
        """The value of a name."""
        return self.values[name]

    def known(self) -> list[str]:
        """All names."""
        return list(self.values)

    def spend(self, steps: int) -> None:
        """Nothing is counted."""


def evaluate(text: str, names: Names) -> Any:
    """The value of an expression; whatever is wrong is an :class:`~recursa.errors.ModelError` without a place.

    >>> evaluate("[1, 2.5][-1] ** 2 if not flag else 'no'", PlainNames({"flag": False}))
    6.25
    """
    return compiled(text.strip())(names)


@lru_cache(maxsize=256)
def compiled(text: str) -> Evaluator:
    """An expression, read once and evaluated often."""
    if len(text) > MAX_LENGTH:
        raise ModelError(f"an expression has {len(text)} characters; at most {MAX_LENGTH} are read")
    return _Parser(_tokens(text)).run()


class _Token(NamedTuple):
    kind: str
    text: str


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None:
            raise ModelError(f"{text[at : at + 20].strip()!r} cannot be read")
        kind = match.lastgroup or "end"
        word = match[kind]
        found.append(_Token("word" if kind == "name" and word in _WORDS else kind, word))
        if kind == "end":
            return found
        at = match.end()


class _Parser:
    """Recursive descent; chains of operators are loops, so that only brackets nest."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def run(self) -> Evaluator:
        found = self.choice()
        if self.peek.kind != "end":
            raise self.unexpected("an operator or the end")
        return found

    # ---- tokens ------------------------------------------------------------------------------------------------------

    @property
    def peek(self) -> _Token:
        return self.tokens[self.at]

    def take(self, *texts: str) -> str | None:
        """The next token, if it is one of these marks or words."""
        token = self.peek
        if token.kind in ("mark", "word") and token.text in texts:
            self.at += 1
            return token.text
        return None

    def expect(self, text: str) -> None:
        if self.take(text) is None:
            raise self.unexpected(f"'{text}'")

    def unexpected(self, wanted: str) -> ModelError:
        token = self.peek
        found = "the expression ends" if token.kind == "end" else f"'{token.text[:40]}' was found"
        hint = "; loops and functions of one's own are not supported" if token.text in ("for", "lambda") else ""
        return ModelError(f"expected {wanted}, but {found}{hint}")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ModelError(f"an expression nests deeper than {MAX_DEPTH}")

    # ---- from loose to tight -----------------------------------------------------------------------------------------

    def choice(self) -> Evaluator:
        self.deeper()
        first = self.any_of()
        if self.take("if"):
            condition = self.any_of()
            self.expect("else")
            first = partial(nodes.chosen, condition, first, self.choice())
        self.depth -= 1
        return first

    def any_of(self) -> Evaluator:
        parts = [self.all_of()]
        while self.take("or"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else partial(nodes.first, parts, True)

    def all_of(self) -> Evaluator:
        parts = [self.negation()]
        while self.take("and"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else partial(nodes.first, parts, False)

    def negation(self) -> Evaluator:
        count = 0
        while self.take("not"):
            count += 1
        found = self.comparison()
        return found if not count else partial(nodes.negated, found, count % 2 == 1)

    def comparison(self) -> Evaluator:
        first, rest = self.sum(), []
        while op := self.relation():
            rest.append((op, self.sum()))
        return partial(nodes.compared, first, rest) if rest else first

    def relation(self) -> str | None:
        if self.take("is"):
            return "is not" if self.take("not") else "is"
        if self.peek.text == "not" and self.tokens[self.at + 1].text == "in":
            self.at += 2
            return "not in"
        return self.take("<", "<=", ">", ">=", "==", "!=", "in")

    def chain(self, operand: Callable[[], Evaluator], *ops: str) -> Evaluator:
        first, rest = operand(), []
        while op := self.take(*ops):
            rest.append((op, operand()))
        return partial(nodes.folded, first, rest) if rest else first

    def sum(self) -> Evaluator:
        return self.chain(self.product, "+", "-")

    def product(self) -> Evaluator:
        return self.chain(self.unary, "*", "/", "//", "%")

    def unary(self) -> Evaluator:
        signs = 0
        minus = False
        while sign := self.take("-", "+"):
            signs += 1
            minus ^= sign == "-"
        found = self.power()
        return partial(nodes.signed, found, minus) if signs else found

    def power(self) -> Evaluator:
        base = self.postfix()
        if not self.take("**"):
            return base
        self.deeper()
        exponent = self.unary()
        self.depth -= 1
        return partial(nodes.folded, base, [("**", exponent)])

    def postfix(self) -> Evaluator:
        first: Evaluator = self.atom()
        steps: list[Callable[[Any, Names], Any]] = []
        while mark := self.take(".", "(", "["):
            if mark == ".":
                steps.append(partial(nodes.member, self.name()))
            elif mark == "(":
                steps.append(self.call())
            else:
                steps.append(self.index())
        return partial(nodes.followed, first, steps) if steps else first

    def name(self) -> str:
        token = self.peek
        if token.kind != "name":
            raise self.unexpected("a name")
        self.at += 1
        return token.text

    def call(self) -> Callable[[Any, Names], Any]:
        given: list[Evaluator] = []
        named: dict[str, Evaluator] = {}
        while not self.take(")"):
            if given or named:
                self.expect(",")
                if self.take(")"):
                    break
            if self.peek.kind == "name" and self.tokens[self.at + 1].text == "=":
                key = self.name()
                self.expect("=")
                named[key] = self.choice()
            elif named:
                raise self.unexpected("a name with '='")
            else:
                given.append(self.choice())
        return partial(nodes.called, given, named)

    def index(self) -> Callable[[Any, Names], Any]:
        parts: list[Evaluator | None] = [None if self.peek.text == ":" else self.choice()]
        while len(parts) < 3 and self.take(":"):
            parts.append(None if self.peek.text in (":", "]") else self.choice())
        self.expect("]")
        return partial(nodes.item, parts[0]) if len(parts) == 1 and parts[0] else partial(nodes.slice_of, parts)

    def atom(self) -> Evaluator:
        token = self.peek
        self.at += token.kind != "end"
        if token.kind == "number":
            return partial(nodes.constant, _number(token.text))
        if token.kind == "text":
            return partial(nodes.constant, self.texts(token.text))
        if token.kind == "name":
            return partial(nodes.lookup, token.text)
        if token.text in _CONSTANTS:
            return partial(nodes.constant, _CONSTANTS[token.text])
        if token.text == "[":
            return partial(nodes.list_of, self.several("]"))
        if token.text == "{":
            return self.dictionary()
        if token.text == "(":
            return self.bracketed()
        self.at -= token.kind != "end"
        raise self.unexpected("a value")

    def texts(self, first: str) -> str:
        """Text constants that stand side by side are one."""
        pieces = [_unescaped(first)]
        while self.peek.kind == "text":
            pieces.append(_unescaped(self.peek.text))
            self.at += 1
        return "".join(pieces)

    def several(self, closing: str) -> list[Evaluator]:
        parts: list[Evaluator] = []
        while not self.take(closing):
            if parts:
                self.expect(",")
                if self.take(closing):
                    break
            parts.append(self.choice())
        return parts

    def bracketed(self) -> Evaluator:
        if self.take(")"):
            return partial(nodes.list_of, [])
        first = self.choice()
        if self.take(")"):
            return first
        self.expect(",")
        return partial(nodes.list_of, [first, *self.several(")")])

    def dictionary(self) -> Evaluator:
        pairs: list[tuple[Evaluator, Evaluator]] = []
        while not self.take("}"):
            if pairs:
                self.expect(",")
                if self.take("}"):
                    break
            key = self.choice()
            self.expect(":")
            pairs.append((key, self.choice()))
        return partial(nodes.dict_of, pairs)


def _number(text: str) -> int | float:
    if text[:2] in ("0x", "0X"):
        return bounded(int(text, 16))
    if text.isdigit():
        if len(text) > 1 and text[0] == "0" and text.strip("0"):
            raise ModelError(f"the whole number {text[:20]} begins with 0")
        if len(text) > 1200:
            raise ModelError(f"a number has {len(text)} digits")
        return bounded(int(text))
    return float(text)


def _unescaped(quoted: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), quoted[1:-1])
