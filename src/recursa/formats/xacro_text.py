"""Text of xacro files: ``${expressions}`` and ``$(substitutions)`` in it are replaced by what they stand for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from recursa.errors import ModelError, did_you_mean
from recursa.formats.expression_values import MAX_TEXT, NAMES, Dotted, Function, Namespace, tokenize
from recursa.formats.expressions import Names, evaluate, plain_names
from recursa.formats.source import Assets
from recursa.formats.yaml_text import parse_yaml

# ---- -----------------------------------------------------------------------------------------------------------------
# Properties and macros of a xacro file by name: scopes that see those they stand in, values found when first asked.


Evaluate = Callable[[str, "Scope"], Any]
"""What makes a value of a property's text, in the scope that it was defined in."""


class Scope(Dotted):
    """Names and values of one scope; what it does not have is asked of the scope that it stands in.

    The scope of a macro stands in that of its caller. A ``namespace`` is what ``<xacro:include ns=...>`` makes.
    """

    def __init__(self, outer: Scope | None, evaluate: Evaluate, *, namespace: bool = False) -> None:
        self.outer = outer
        self.namespace = namespace
        self._evaluate = evaluate
        self._values: dict[str, Any] = {}
        self._lazy: set[str] = set()
        self._open: set[str] = set()

    def holder(self, name: str) -> Scope | None:
        """The nearest scope that has a name."""
        scope: Scope | None = self
        while scope is not None and name not in scope._values:
            scope = scope.outer
        return scope

    def __contains__(self, name: str) -> bool:
        return self.holder(name) is not None

    def __getitem__(self, name: str) -> Any:
        """The value of a name, evaluated now if it has not been; KeyError if there is none."""
        holder = self.holder(name)
        if holder is None:
            raise KeyError(name)
        return holder._own(name)

    def set(self, name: str, value: Any, *, lazy: bool) -> None:
        """Define a name here; text that is no literal is evaluated when it is first asked for, if ``lazy``."""
        value = literal(value)
        self._values[name] = value
        if lazy and isinstance(value, str):
            self._lazy.add(name)
        else:
            self._lazy.discard(name)

    def remove(self, name: str) -> None:
        """Forget a name, here and in all scopes around, but for the outermost, which has the functions."""
        scope: Scope | None = self
        while scope is not None and scope.outer is not None:
            scope._values.pop(name, None)
            scope._lazy.discard(name)
            scope = scope.outer

    def top(self) -> Scope:
        """The scope of the file: the one inside the outermost."""
        scope = self
        while scope.outer is not None and scope.outer.outer is not None:
            scope = scope.outer
        return scope

    def names(self) -> list[str]:
        """All names that can be seen from here."""
        found: dict[str, None] = {}
        scope: Scope | None = self
        while scope is not None:
            found.update(dict.fromkeys(scope._values))
            scope = scope.outer
        return list(found)

    def _own(self, name: str) -> Any:
        if name in self._lazy:
            if name in self._open:
                raise ModelError(f"the property '{name[:60]}' is defined by itself; lazy_eval=\"false\" may help")
            self._open.add(name)
            try:
                value = literal(self._evaluate(self._values[name], self))
            except RecursionError:
                raise ModelError("properties refer to each other in too long a chain") from None
            finally:
                self._open.discard(name)
            self._values[name] = value
            self._lazy.discard(name)
        return self._values[name]


def literal(value: Any) -> Any:
    """Text that spells a number or a boolean, or stands in single quotes, as what it means.

    >>> literal("12"), literal("0.5"), literal("true"), literal("'12'"), literal("1_000")
    (12, 0.5, True, '12', '1_000')
    """
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if "_" in value:
        return value
    for meaning in (int, float):
        try:
            return meaning(value)
        except ValueError:
            pass
    return {"true": True, "True": True, "false": False, "False": False}.get(value, value)


def truth(value: Any, condition: str) -> bool:
    """What a condition came to: a boolean, a number, or text that spells one."""
    if not isinstance(value, str):
        return bool(value)
    found = {"true": True, "True": True, "false": False, "False": False}.get(value)
    if found is not None:
        return found
    try:
        return bool(int(value))
    except ValueError:
        shown = value[:60]
        raise ModelError(f"the condition '{condition[:60]}' is '{shown}', neither true nor false") from None


MAX_STEPS = 1_000_000

_PIECE = re.compile(
    r"""(?P<escaped>\$\$+[{(]) | \$\{(?P<expression>[^}]*)\} | \$\((?P<substitution>[^)]*)\)
      | (?P<text>[^$]+|\$[^{($]+|\$\Z)""",
    re.VERBOSE,
)

_PLACED = ", in $"
_EVAL_NAMES = {**NAMES, "true": True, "false": False}

_UNITS = {
    "!radians": 1.0,
    "!degrees": math.pi / 180.0,
    "!meters": 1.0,
    "!millimeters": 0.001,
    "!foot": 0.3048,
    "!inches": 0.0254,
}
"""Of numbers in YAML files, as their tags."""


class Texts:
    """Evaluates the texts of one robot: it knows the arguments, the file that is being read, and how much was done."""

    def __init__(self, assets: Assets, arguments: Mapping[str, str], path: str | None) -> None:
        self.assets = assets
        self.given = dict(arguments)
        self.arguments = {name: str(value) for name, value in arguments.items()}
        self.asked: set[str] = set()
        self.files: list[str | None] = [path]
        self.steps = 0
        self.functions = self._functions()
        outermost = Scope(None, self.value)
        for name, value in self.functions.items():
            outermost.set(name, value, lazy=False)
        self.top = Scope(outermost, self.value)

    def spend(self, steps: int) -> None:
        """Count work; an error once there is too much of it."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise ModelError(f"expanding this takes more than {MAX_STEPS} steps; does something call itself?")

    def value(self, text: str, scope: Scope) -> Any:
        """What a text stands for: the value of a single expression as it is, everything else as text."""
        self.spend(1)
        if "$" not in text:
            return text
        found, at = [], 0
        while at < len(text):
            piece = _PIECE.match(text, at)
            if piece is None:
                raise ModelError(f"'{text[at : at + 40]}' begins like an expression and does not end")
            at = piece.end()
            self.spend(1)
            found.append(self._piece(piece, scope))
        if len(found) == 1:
            return found[0]
        return _joined(found)

    def text(self, text: str, scope: Scope) -> str:
        """The same as text."""
        found = self.value(text, scope)
        return found if isinstance(found, str) else _joined([found])

    def _piece(self, piece: re.Match[str], scope: Scope) -> Any:
        if (escaped := piece["escaped"]) is not None:
            return escaped[1:]
        if (expression := piece["expression"]) is not None:
            inner = self.text(expression, scope)
            try:
                return evaluate(inner, Names(scope.__getitem__, partial(self._proposals, scope), self.spend))
            except ModelError as error:
                if _PLACED in error.reason or error.source is not None:
                    raise
                raise ModelError(f"{error.reason}{_PLACED}{{{inner[:80]}}}") from None
        if (substitution := piece["substitution"]) is not None:
            return self._substituted(self.text(substitution, scope))
        return piece["text"]

    def _proposals(self, scope: Scope) -> list[str]:
        return [name for name in scope.names() if name not in self.functions]

    # ---- $(...) ------------------------------------------------------------------------------------------------------

    def _substituted(self, text: str) -> Any:
        command, _, rest = text.strip().partition(" ")
        rest = rest.strip()
        if command == "eval":
            return _joined([self._evaluated(rest)])
        if command == "dirname":
            return str(Path(self._file()).resolve().parent)
        if command not in ("arg", "find", "env", "optenv"):
            known = "arg, find, env, optenv, dirname, eval"
            raise ModelError(f"'$({text[:60]})' is not known; there are: {known}")
        name, _, default = rest.partition(" ")
        if not name:
            raise ModelError(f"'$({text[:60]})' needs a name")
        if command == "arg":
            return self.argument(name)
        if command == "find":
            return f"package://{name}"
        return self._environment(name, default.strip() if command == "optenv" else None)

    def _evaluated(self, text: str) -> Any:
        try:
            return evaluate(text, Names(self._name_in_eval, lambda: [*self.arguments, *NAMES], self.spend))
        except ModelError as error:
            hint = "; '$(' ends at the first ')'" if "(" in text else ""
            raise ModelError(f"{error.reason}, in $(eval {text[:80]}){hint}") from None

    def _name_in_eval(self, name: str) -> Any:
        """A function or an argument of the file."""
        if name == "arg":
            return Function("arg", lambda one: literal(self.argument(one)))
        if name in _EVAL_NAMES:
            return _EVAL_NAMES[name]
        self.asked.add(name)
        return literal(self.arguments[name])

    def argument(self, name: str) -> str:
        """The value of an argument of the file."""
        self.asked.add(name)
        try:
            return self.arguments[name]
        except KeyError:
            what = f"the argument '{name[:60]}' has no value. {did_you_mean(name, self.arguments)}"
            raise ModelError(f"{what} Give it: arguments={{'{name[:60]}': ...}}, or --arg") from None

    def _environment(self, name: str, default: str | None) -> str:
        """The environment is not read: the same file is the same robot for everybody. Users can hand values over."""
        self.asked.add(name)
        if name in self.given:
            return str(self.given[name])
        if default is None:
            what = f"the file asks for the environment variable '{name[:60]}', and the environment is not read"
            raise ModelError(f"{what}; give it: arguments={{'{name[:60]}': ...}}, or --arg")
        return default

    def _file(self) -> str:
        if self.files[-1] is None:
            raise ModelError("this text comes from no file, so there is no folder that it is in")
        return self.files[-1]

    # ---- functions ---------------------------------------------------------------------------------------------------

    def _functions(self) -> dict[str, Any]:
        own = {
            "load_yaml": self._load_yaml,
            "abs_filename": lambda name: str(Path(self._file()).resolve().parent / name),
            "dotify": lambda data: data,
            "arg": self.argument,
            "tokenize": tokenize,
            "fatal": self._fatal,
            **{name: lambda *given: "" for name in ("message", "warning", "error", "print_location")},
        }
        xacro = Namespace({name: Function(f"xacro.{name}", call) for name, call in own.items()})
        return {**NAMES, "xacro": xacro, **{name: xacro[name] for name in ("load_yaml", "abs_filename", "dotify")}}

    def _load_yaml(self, name: Any) -> Any:
        content, path = self.assets.read(str(name), self.files[-1], "load_yaml")
        self.spend(len(content) >> 4)
        return _yaml(content, path)

    @staticmethod
    def _fatal(*words: Any) -> Any:
        raise ModelError("the file says: " + " ".join(str(word) for word in words)[:400])


def _joined(found: list[Any]) -> str:
    pieces = [one if isinstance(one, str) else str(one) for one in found]
    length = sum(map(len, pieces))
    if length > MAX_TEXT:
        raise ModelError(f"a text has {length} characters; at most {MAX_TEXT} are allowed")
    return "".join(pieces).replace("file://package://", "package://")


def _yaml(content: bytes, path: Path) -> Any:
    """The data in a YAML file; whatever is wrong is a ModelError with file and line."""
    try:
        return parse_yaml(content.decode("utf-8-sig"), typed=True, tags={tag: _unit(tag) for tag in _UNITS})
    except UnicodeDecodeError:
        raise ModelError("the bytes are not UTF-8; save the file as UTF-8", source=str(path)) from None
    except ModelError as error:
        raise ModelError(error.reason, line=error.line, source=str(path)) from None


def _unit(tag: str) -> Any:
    def number(text: str) -> float:
        return float(evaluate(text, plain_names(NAMES))) * _UNITS[tag]

    return number
