"""The exceptions of Recursa: one small family, so that ``except rc.RecursaError`` catches them all.

Each message names the thing, what was expected and what came, the likely cause and what to try.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from functools import partial


class RecursaError(Exception):
    """Base of every exception that Recursa raises on purpose."""

    def __str__(self) -> str:  # the message alone, also of those that carry more
        return str(self.args[0]) if self.args else ""


class ModelError(RecursaError, ValueError):
    """A robot description cannot be used: malformed file, impossible structure, meaningless number.

    The mistake is in the file or the calls that built the robot. ``line`` is the line in the XML text where that is
    known, else ``None``.
    """

    def __init__(self, message: str, *, line: int | None = None, source: str | None = None) -> None:
        where = source or ("<text>" if line is not None else "")
        if line is not None:
            where += f", line {line}"
        super().__init__(f"{where}: {message}" if where else message)
        self.line = line
        self.source = source
        self.reason = message

    def __reduce__(self) -> tuple[object, ...]:
        return (partial(type(self), line=self.line, source=self.source), (self.reason,))


class ShapeError(RecursaError, ValueError):
    """An array argument has the wrong shape; the message names it and gives both shapes."""


class StateError(RecursaError, ValueError):
    """A state is not a state: a quaternion far from unit length, or text where numbers belong."""


class UnknownNameError(RecursaError, KeyError):
    """A link, joint, frame, robot or option name that does not exist; the message proposes the nearest ones."""


class NoValueError(RecursaError, ValueError):
    """Numbers are asked of a robot that has symbols in their place; the message names them."""


class SingularHingeError(RecursaError, ArithmeticError):
    """A joint's hinge inertia D is not positive: the bodies outward of it have no inertia along its freedom."""


class SingularMatrixError(RecursaError, ArithmeticError):
    """An inverse in an operator expression does not exist at a state."""


class SingularConfigurationError(RecursaError, ArithmeticError):
    """A link cannot be moved in every coordinate that is asked for; ``condition`` is that of its Jacobian."""

    def __init__(self, message: str, condition: float) -> None:
        super().__init__(message, condition)
        self.condition = condition


class ConvergenceError(RecursaError, ArithmeticError):
    """An iteration did not come near enough to its solution."""


class ExcitationError(RecursaError, ArithmeticError):
    """A motion does not tell parameters apart; ``names`` are theirs."""

    def __init__(self, message: str, names: tuple[str, ...] = ()) -> None:
        super().__init__(message, names)
        self.names = names


class DivergenceError(RecursaError, ArithmeticError):
    """A motion left the finite numbers; ``row`` and ``step`` (from 0) say which, and where that came out.

    ``t`` is the time at which that step began.
    """

    def __init__(self, message: str, row: int, step: int, t: float = float("nan")) -> None:
        super().__init__(message, row, step, t)
        self.row, self.step, self.t = row, step, t


class SimulationError(RecursaError, ArithmeticError):
    """A simulation cannot go on: the state is no longer finite, or no step is small enough.

    ``t`` is the time it got to, ``run`` what there is of the run until then.
    """

    def __init__(self, message: str, t: float = float("nan"), run: object = None) -> None:
        super().__init__(message, t, run)
        self.t, self.run = t, run


class TooLargeError(MemoryError, RecursaError):  # in this order: programs that unpickle errors by __new__ need it
    """A result that would not fit into memory; the message gives its size."""


class NoSweepError(RecursaError):
    """What no sweep over the bodies computes: an operator expression (:func:`recursa.dense` may), or a quantity by a
    method that does not cover the robot or the arguments; the message names one that does.

    ``factor`` is the part of an expression that stands in the way, where it is one part.
    """

    def __init__(self, message: str, factor: object = None) -> None:
        super().__init__(message)
        self.factor = factor


class NoClosedFormError(RecursaError, ValueError):
    """An arm whose inverse kinematics has no closed form here; the message says which condition fails by how much."""


class NotationError(RecursaError, ValueError):
    """Text that is not an operator expression; the message shows where, and what was expected there.

    ``position`` is the place in the text, from 0.
    """

    def __init__(self, message: str, text: str = "", position: int = 0) -> None:
        super().__init__(message, text, position)
        self.text, self.position = text, position

    def __str__(self) -> str:
        return str(self.args[0]) + marked(self.text, self.position)


class TableError(RecursaError, ValueError):
    """A table of numbers in a file cannot be used; ``line`` and ``column`` say where, if it is one place."""

    def __init__(self, message: str, line: int | None = None, column: str | None = None) -> None:
        super().__init__(message, line, column)
        self.line, self.column = line, column


class ResultFileError(RecursaError, ValueError):
    """A file of a run cannot be used: missing, not ours, cut off, damaged, of a newer version."""


class LimitError(RecursaError, ValueError):
    """A motion leaves a limit of the robot: ``joint``, ``quantity``, ``time``, ``value`` and ``limit`` say which."""

    def __init__(self, message: str, joint: str, quantity: str, time: float, value: float, limit: float) -> None:
        super().__init__(message, joint, quantity, time, value, limit)
        self.joint, self.quantity = joint, quantity
        self.time, self.value, self.limit = time, value, limit


class StudyError(RecursaError, ValueError):
    """A study cannot be described, run or read: a distribution, a store, an engine; the message says what to change."""


class PathError(RecursaError, ValueError):
    """No motion along a path keeps within the limits: ``joint``, ``quantity`` and ``place`` on the path say where.

    ``value`` is what it takes there, at least, and ``limit`` what there is.
    """

    def __init__(self, message: str, joint: str, quantity: str, place: float, value: float, limit: float) -> None:
        super().__init__(message, joint, quantity, place, value, limit)
        self.joint, self.quantity = joint, quantity
        self.place, self.value, self.limit = place, value, limit


class TensorSymmetryError(RecursaError, ValueError):
    """A tensor that must be skew (or symmetric) has a symmetric (or skew) part."""


class UntraceableError(RecursaError):
    """A computation that cannot become straight-line code, because it decides by value or calls what a kernel lacks."""


class NativeCodeError(RecursaError, RuntimeError):
    """A job that runs in native code alone, where the C extension or the compiler is missing."""


class ModelWarning(UserWarning):
    """A robot was loaded although something in its data is doubtful; ``robot.doctor()`` tells all of it."""


class ConventionWarning(UserWarning):
    """Numbers that are valid and look as if another convention was meant: degrees, quaternions with w first."""


class LimitWarning(UserWarning):
    """A motion went past what it should keep to: a simulated joint left its range by more than the range itself,
    because nothing holds it there; the steps of ``rc.free.move_joints`` are too long for its rates; or a ``rc.Path``
    leaves the range of its points by more than a tenth of it."""


def did_you_mean(name: str, known: Iterable[str], *, limit: int = 3) -> str:
    """A sentence that helps to correct ``name``: near matches if there are any, else the known names.

    >>> did_you_mean("elbo", ["shoulder", "elbow"])
    "Did you mean 'elbow'?"
    >>> did_you_mean("Hand", ["panda_link7", "panda_hand"])
    "Did you mean 'panda_hand'?"
    """
    names = list(known)
    near = _near(name, names, limit)
    if near:
        return "Did you mean " + " or ".join(f"'{n}'" for n in near) + "?"
    if not names:
        return "There are none."
    if len(names) <= _ALL:
        return "There are: " + ", ".join(names) + "."
    left_out = len(names) - _ALL
    first, last = names[: _ALL // 2], names[-_ALL // 2 :]  # tools and hands come last
    return f"There are: {', '.join(first)}, ... ({left_out} more) ..., {', '.join(last)}."


_ALL = 40  # names: so many are listed without leaving any out
_COMPARED, _LONG = 2000, 100  # names, and letters of one: more are not compared letter by letter, which takes long
_PART = 3  # letters: shorter ones are a part of too many names


def _near(name: str, names: Sequence[str], limit: int) -> list[str]:
    """Names that are spelled alike, and those of which ``name`` is a part; if there are none, whatever the capitals."""
    some = names if len(names) <= _COMPARED else [*names[: _COMPARED // 2], *names[-_COMPARED // 2 :]]
    short = [known for known in some if len(known) <= _LONG] if len(name) <= _LONG else []
    alike = difflib.get_close_matches(name, short, n=limit, cutoff=0.6)
    parts = [known for known in names if len(name) >= _PART and name in known and known not in alike]
    near = [*alike, *parts][: 2 * limit]
    if near or (name == name.lower() and all(known == known.lower() for known in names)):
        return near
    spelled = {known.lower(): known for known in names}
    return [spelled[low] for low in _near(name.lower(), list(spelled), limit)]


_TURNING = frozenset(  # characters that change the direction of text
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def printable(text: str) -> str:
    """A text that only says something on a terminal: what would command it is spelled out, but for new lines.

    >>> printable("arm\\x1b[2J")
    'arm\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(
        ascii(one)[1:-1] if one in _TURNING or (unicodedata.category(one) == "Cc" and one not in "\n\t") else one
        for one in text
    )


def printable_or_refused(name: object) -> str:
    """A name from a file, if it is a text without characters that command terminals; else a ValueError."""
    if not isinstance(name, str) or printable(name) != name:
        raise ValueError(f"no name: {str(name)[:40]!a}")
    return name


def marked(text: str, position: int) -> str:
    """The line of a text with a caret under a position, to follow a message.

    >>> print("expected a name" + marked("H phi )", 6))
    expected a name
      H phi )
            ^
    """
    start = text.rfind("\n", 0, position) + 1
    line = text[start:].split("\n", 1)[0]
    return f"\n  {line}\n  {' ' * (position - start)}^"


def shortened(names: Sequence[str], *, limit: int = 8) -> str:
    """The first names of a list, comma separated, with the number left out.

    >>> shortened(["a", "b", "c"], limit=2)
    'a, b, ... (1 more)'
    """
    listed = ", ".join(names[:limit])
    return listed if len(names) <= limit else f"{listed}, ... ({len(names) - limit} more)"


def unknown_name(kind: str, name: object, known: Iterable[str], *, owner: str = "") -> UnknownNameError:
    """The error for a name that does not exist, with a proposal.

    >>> print(unknown_name("joint", "elbo", ["elbow"], owner="robot 'arm6'"))
    no joint 'elbo' in robot 'arm6'. Did you mean 'elbow'?
    """
    inside = f" in {owner}" if owner else ""
    return UnknownNameError(f"no {kind} '{name}'{inside}. {did_you_mean(str(name), known)}")


def not_installed(
    package: str, extra: str, what: str = "this", kind: type[RecursaError] = RecursaError
) -> RecursaError:
    """The error where something needs a package that only an extra of Recursa installs."""
    return kind(f"{what} needs the package '{package}': pip install 'recursa[{extra}]'")


def known_method(kind: str, method: object, methods: Sequence[str]) -> None:
    """An unknown method is an error with a proposal."""
    if method not in methods:
        raise unknown_name(f"method of {kind}", method, methods)
