"""The papers' operation tables, printed numbers beside counts of what the library does.

Ours are counted when a table is asked for: methods run on scalars that record their arithmetic, for arms of several
lengths, and a polynomial is given only where it goes through all of them and one more than it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

from recursa import markup
from recursa.counts import printed_tables
from recursa.counts.arms import GEOMETRIES, Geometry, table_arm
from recursa.counts.by_equation import (
    ALGORITHM_5_7,
    ALGORITHM_6_2,
    ALGORITHM_7_1_BY_EQUATION,
    DIRECT_BY_EQUATION,
    Algorithm,
    counts_by_equation,
)
from recursa.counts.count import counted, with_divisions
from recursa.counts.of_robots import regrouping_rows, robot_rows, robot_table_rows
from recursa.counts.polynomials import ExactGraph, Polynomial
from recursa.counts.printed_tables import TOTAL, Printed
from recursa.errors import UnknownNameError
from recursa.evaluation.formulas import solve_symmetric
from recursa.model.model import Model
from recursa.robot import Robot
from recursa.spatial.counter import Counts

N = 6  # where the papers compare
_LENGTHS = {degree: tuple(range(4, 6 + degree)) for degree in (1, 2, 3, 4)}  # one more than a polynomial needs
RULES = (
    "an arm of revolute joints with general numbers, frames on the axes, gravity along the base's z; sines, cosines, "
    "signs, constants among themselves, times 0 or 1 are free; equal expressions count once; a division is a "
    "multiplication; 0/90: all twists are right angles. Polynomials of ours are for n >= 4"
)
TRIMMED = f"{RULES}. Zeros of link 1 are used, and only what the results need is counted"
DENSE = f"{RULES}. Link 1 is treated as any other, its vectors in full"

SPECIALISED = "code specialised to the robot: its zeros, ones and constants are free, equal expressions count once"


@dataclass(frozen=True)
class Row:
    """One method or equation: what is printed and counted, as polynomials in n, at n = 6, where print has it at n = 12.

    ``ours`` says what of the library was counted; None where it has no such method, or where nothing is printed.
    """

    method: str
    geometry: str
    printed_mul: str | None = None
    printed_add: str | None = None
    printed_mul_at_6: int | None = None
    printed_add_at_6: int | None = None
    ours: str | None = None
    ours_mul: str | None = None
    ours_add: str | None = None
    ours_mul_at_6: int | None = None
    ours_add_at_6: int | None = None
    note: str = ""
    printed_mul_at_12: int | None = None  # where the source has that column
    printed_add_at_12: int | None = None
    ours_mul_at_12: int | None = None
    ours_add_at_12: int | None = None

    def cells(self) -> dict[str, str]:
        """As it is printed."""
        at_12 = {
            "at 12": _pair(self.printed_mul_at_12, self.printed_add_at_12, "/"),
            "ours at 12": _pair(self.ours_mul_at_12, self.ours_add_at_12, "/"),
        }
        return {
            "method": self.method,
            "twists": self.geometry,
            "printed": _pair(self.printed_mul, self.printed_add, ", "),
            "at 6": _pair(self.printed_mul_at_6, self.printed_add_at_6, "/"),
            "ours": _pair(self.ours_mul, self.ours_add, ", "),
            "ours at 6": _pair(self.ours_mul_at_6, self.ours_add_at_6, "/"),
            **(at_12 if (self.printed_mul_at_12, self.ours_mul_at_12) != (None, None) else {}),
            "counted": self.ours or "-",
            "note": self.note,
        }


def _pair(a: object, b: object, between: str) -> str:
    return "-" if a is None and b is None else f"{'?' if a is None else a}{between}{'?' if b is None else b}"


@dataclass(frozen=True)
class Table:
    """Rows with a title and the rules they are counted by. Iterate over it, print it, or take ``as_dict()``."""

    name: str
    title: str
    rules: str
    rows: tuple[Any, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**{name: getattr(self, name) for name in ("name", "title", "rules")}, "rows": [*map(asdict, self)]}

    def markdown(self, *columns: str) -> str:
        """As a table in Markdown, of some columns or of all."""
        cells = [row.cells() for row in self]
        heads = columns or tuple(cells[0])
        lines = [heads, ("---",) * len(heads), *(tuple(line[head] for head in heads) for line in cells)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines).replace("|  |", "| |")

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        cells = [row.cells() for row in self]
        return markup.table(f"{self.name}: {self.title}", list(cells[0]), [list(line.values()) for line in cells])

    def __str__(self) -> str:
        cells = [row.cells() for row in self]
        heads = list(cells[0])
        width = {head: max(len(head), *(len(line[head]) for line in cells)) for head in heads}
        lines = [{head: head for head in heads}, *cells]
        text = ("  ".join(f"{line[head]:<{width[head]}}" for head in heads).rstrip() for line in lines)
        return "\n".join([f"{self.name}: {self.title}", f"rules: {self.rules}", *text])


def tables(name: str) -> Table:
    """A table of operation counts, ours beside the printed ones; multiplications first, then additions.

    - ``"5.1"``, ``"5.2"``, ``"5.3"``: inverse dynamics, Balafoutis & Patel; Algorithm 5.7 by equation, and all methods.
    - ``"6.1"``, ``"6.2"``, ``"6.3"``: the mass matrix, Algorithm 6.2 by equation, all methods; forward dynamics.
    - ``"7.1"``, ``"7.2"``: linearised models, the two steps of Algorithm 7.1 by equation.
    - ``"7.3"``: linearised models, both ways of section 7.3; the book has their numbers in its text.
    - ``"saha-1"``, ``"saha-2"``: inverse and forward dynamics, Saha (1999).
    - ``"robots"``: the bundled robots by every method that suits them, as compiled for each.
    - ``"regrouping"``: with and without regrouped inertial parameters, beside customised counts of the literature.

    >>> import recursa as rc
    >>> total, *_ = (row for row in rc.tables("5.2") if row.method == "total")
    >>> total.printed_mul, total.printed_mul_at_6, total.ours_mul, total.ours_mul_at_6
    ('93 n - 108', 450, '93 n - 111', 447)
    """
    name = str(name)
    if name not in TABLES:
        raise UnknownNameError(f"no table '{name}'. There are: {', '.join(TABLES)}")
    return _built(name)


def robot_table(robot: Robot) -> Table:
    """What every method that suits a robot costs in the code for it."""
    return Table(robot.name, "operations by method", SPECIALISED, robot_table_rows(robot))


def overview() -> Table:
    """The bundled robots by the usual methods."""
    return Table("overview", "the bundled robots by the usual methods", SPECIALISED, tuple(robot_rows(usual=True)))


@cache
def _built(name: str) -> Table:
    spec = TABLES[name]
    return Table(name, spec.title, spec.rules, tuple(spec.rows()))


# ---- counting --------------------------------------------------------------------------------------------------------


class _Counted(NamedTuple):
    """What of the library is counted, in words; the degree of its counts as a polynomial in n; those of an arm."""

    words: str
    degree: int
    of: Callable[[Model], Counts]

    def measured(self, geometry: Geometry) -> dict[int, Counts]:
        """The counts for arms of enough lengths."""
        return {n: with_divisions(self.of(table_arm(n, geometry))) for n in _LENGTHS[self.degree]}


def _method(quantity: str, degree: int = 1, **options: str) -> _Counted:
    words = ", ".join([quantity, *(f'{name}="{value}"' for name, value in options.items())])
    return _Counted(words, degree, lambda arm: counted(arm, quantity, options))


def _without_bias(method: str) -> _Counted:
    """Accelerations for torques that are free of their bias: at rest and without gravity."""
    options = {"method": method}
    words = f'forward_dynamics, method="{method}", C given'
    return _Counted(words, 1, lambda arm: counted(arm, "forward_dynamics", options, at_rest=True))


def _mass_and_solve(method: str) -> _Counted:
    """The mass matrix and a linear solve, for torques that are free of their bias."""

    def both(arm: Model) -> Counts:
        graph, n = ExactGraph(), arm.nv
        rows = [graph.inputs(f"row{i}", n) for i in range(n)]
        solved = graph.counts([x.number for x in solve_symmetric(rows, graph.inputs("b", n))])
        return counted(arm, "mass_matrix", {"method": method}) + solved

    return _Counted(f'mass_matrix, method="{method}", and solve, C given', 3, both)


def _in_all(words: str, degree: int, algorithm: Algorithm, *, dense: bool = False) -> _Counted:
    """All equations of an algorithm; what inverse dynamics has found of linearised models is given."""
    return _Counted(words, degree, lambda arm: sum(counts_by_equation(algorithm, arm, dense=dense).values(), Counts()))


def _row(line: Printed, geometry: Geometry, ours: str | None, counts: dict[int, Counts] | None) -> Row:
    polynomials = [Polynomial.read(text) for text in line.polynomials.get(geometry, ())]
    in_print = dict(zip(("printed_mul", "printed_add"), map(str, polynomials), strict=False))
    values = line.at_6.get(geometry) or tuple(int(p(N)) for p in polynomials)
    at_6 = dict(zip(("printed_mul_at_6", "printed_add_at_6"), values, strict=False))
    mine: dict[str, Any] = {}
    for kind in ("mul", "add") if counts is not None else ():
        found = {n: getattr(c, kind) for n, c in (counts or {}).items()}
        fit = Polynomial.through(found)
        mine |= {f"ours_{kind}": None if fit is None else str(fit), f"ours_{kind}_at_6": found[N]}
    note = _note(line, geometry)
    return Row(line.label, geometry, ours=ours, note=note, **in_print, **at_6, **mine)  # type: ignore[arg-type]


def _with_12(rows: Iterator[Row]) -> Iterator[Row]:
    """The column of twelve joints too, by the polynomials."""
    for row in rows:
        known = {kind: getattr(row, kind) for kind in ("printed_mul", "printed_add", "ours_mul", "ours_add")}
        at_12 = {f"{kind}_at_12": int(Polynomial.read(text)(12)) for kind, text in known.items() if text is not None}
        yield replace(row, **at_12)  # type: ignore[arg-type]


def _note(line: Printed, geometry: Geometry) -> str:
    """What of the note is about this geometry: parts that begin with it are about no other."""
    if geometry != "general" and line.at_6 and geometry not in line.at_6:
        return ""  # the note is about print, and there is none
    parts = [part.removeprefix(f"{geometry}: ") for part in line.note.split("; ")]
    return "; ".join(part for part in parts if not part.startswith(GEOMETRIES))


def _by_equation(
    lines: Sequence[Printed], algorithm: Algorithm, what: str, degree: int, labels: str = "", dense: bool = False
) -> Iterator[Row]:
    """Rows of a table with a line per equation; ``labels``: "19" for Table 7.2, which continues 7.1."""
    for geometry in GEOMETRIES:
        counts = {
            n: counts_by_equation(algorithm, table_arm(n, geometry), dense=dense) for n in _LENGTHS[max(2, degree)]
        }
        mine = [label for label in counts[N] if label.startswith("19") == (labels == "19")]
        known = {line.label: line for line in lines}
        own = [Printed(label, {}, {}, "print has it from the nominal pass") for label in mine if label not in known]
        for line in (*own, *lines):
            chosen = mine if line.label == TOTAL else [line.label]
            found = {n: sum((c[label] for label in chosen), Counts()) for n, c in counts.items()}
            yield _row(line, geometry, what, found)


def _by_method(lines: Sequence[Printed], ours: dict[str, _Counted], more: dict[str, _Counted]) -> Iterator[Row]:
    """Rows of a table with a line per method; ``more`` are methods of the library that it does not have."""
    extra = [Printed(label, {}, {}, "not in print") for label in more]
    for geometry in GEOMETRIES:
        for line in (*lines, *extra):
            method = (ours | more).get(line.label)
            counts = None if method is None else method.measured(geometry)
            if counts is None and (geometry != "general" or line.label in more):
                continue
            yield _row(line, geometry, None if method is None else method.words, counts)


# ---- the tables ------------------------------------------------------------------------------------------------------


def _inverse(method: str, degree: int = 1) -> _Counted:
    return _method("inverse_dynamics", degree, method=method)


def _mass(method: str) -> _Counted:
    return _method("mass_matrix", 2, method=method)


def _forward(mass: str, bias: str) -> _Counted:
    return _method("forward_dynamics", 3, method="composite", mass=mass, bias=bias)


_57, _71 = 'inverse_dynamics, method="augmented"', 'linearize, method="balafoutis-patel"'
_ARTICULATED, _DENOC = _method("forward_dynamics", method="articulated"), _method("forward_dynamics", method="denoc")
_INVERSE: dict[str, _Counted] = {
    "Hollerbach 4x4 (Alg. 5.1)": _inverse("hollerbach-4x4"),
    "Hollerbach 3x3 (Alg. 5.2)": _inverse("hollerbach-3x3"),
    "Luh, Walker & Paul (Alg. 5.3)": _inverse("luh-walker-paul"),
    "Angeles et al.": _inverse("kane"),
    "Algorithm 5.6": _inverse("tensor"),
    "Algorithm 5.7 (Table 5.1)": _in_all(f"{_57}, link 1 as any other", 1, ALGORITHM_5_7, dense=True),
    "Algorithm 5.7 (Table 5.2)": _inverse("augmented"),
    "Featherstone (Alg. 5.4)": _inverse("featherstone"),
    "Waters (5.2.9)": _inverse("waters", 2),
    "Uicker & Kahn (5.2.7)": _inverse("uicker-kahn", 4),
    "Vukobratovic et al. (5.2.17)": _inverse("closed-form", 3),
}
_INVERSE_TOO: dict[str, _Counted] = {
    "Rodriguez (Alg. 5.5)": _inverse("rodriguez"),
    "Rodriguez & Kreutz-Delgado": _inverse("newton-euler"),
    "Saha, DeNOC": _inverse("denoc"),
}
_MASS: dict[str, _Counted] = {
    "Walker & Orin (Alg. 6.1)": _mass("walker-orin"),
    "Featherstone, composite bodies": _mass("composite"),
    "Algorithm 6.2": _mass("augmented"),
}
_MASS_TOO: dict[str, _Counted] = {"columns (6.2.4)": _mass("column"), "Saha, DeNOC": _mass("denoc")}
_FORWARD: dict[str, _Counted] = {
    "Walker & Orin": _forward("walker-orin", "luh-walker-paul"),
    "Featherstone, articulated bodies": _ARTICULATED,
    "Featherstone, composite bodies": _forward("composite", "featherstone"),
    "Algorithms 6.2 and 5.7, solve": _forward("augmented", "augmented"),
}
_FORWARD_TOO: dict[str, _Counted] = {
    "composite bodies, Algorithm 5.7, solve": _forward("composite", "augmented"),
    "conjugate gradients, n iterations": _method("forward_dynamics", 2, method="conjugate-gradients"),
    "least squares (6.2.17)": _method("forward_dynamics", 3, method="least-squares"),
    "Saha, DeNOC": _DENOC,
}
_LINEARIZE: dict[str, _Counted] = {
    "Algorithm 7.1": _in_all(f"{_71}, after the nominal pass", 2, ALGORITHM_7_1_BY_EQUATION),
    "direct (7.3.2)-(7.3.4)": _in_all('linearize, method="direct", after the nominal pass', 2, DIRECT_BY_EQUATION),
}
_SAHA_1: dict[str, _Counted] = {
    "Hollerbach (1980)": _inverse("hollerbach-3x3"),
    "Luh et al. (1980)": _inverse("luh-walker-paul"),
    "Walker & Orin (1982)": _inverse("luh-walker-paul"),
    "Saha (1999), DeNOC": _inverse("denoc"),
    "Angeles et al. (1989)": _inverse("kane"),
    "Balafoutis et al. (1988)": _inverse("augmented"),
}
_SAHA_2: dict[str, _Counted] = {
    "Saha (1999), DeNOC": _without_bias("denoc"),
    "Featherstone (1983)": _without_bias("articulated"),
    "Walker & Orin (1982)": _mass_and_solve("walker-orin"),
}
_SAHA_2_TOO: dict[str, _Counted] = {
    "composite bodies and solve": _mass_and_solve("composite"),
    "articulated bodies, C included": _ARTICULATED,
    "DeNOC, C included": _DENOC,
}


class _Spec(NamedTuple):
    title: str
    rules: str
    rows: Callable[[], Iterator[Any]]


TABLES: dict[str, _Spec] = {
    "5.1": _Spec(
        "inverse dynamics by Algorithm 5.7, equation by equation",
        DENSE,
        partial(_by_equation, printed_tables.TABLE_5_1, ALGORITHM_5_7, _57, 1, dense=True),
    ),
    "5.2": _Spec(
        "inverse dynamics by Algorithm 5.7, trimmed, n >= 2",
        TRIMMED,
        partial(_by_equation, printed_tables.TABLE_5_2, ALGORITHM_5_7, _57, 1),
    ),
    "5.3": _Spec("inverse dynamics", TRIMMED, partial(_by_method, printed_tables.TABLE_5_3, _INVERSE, _INVERSE_TOO)),
    "6.1": _Spec(
        "the mass matrix by Algorithm 6.2, n >= 2",
        TRIMMED,
        partial(_by_equation, printed_tables.TABLE_6_1, ALGORITHM_6_2, 'mass_matrix, method="augmented"', 2),
    ),
    "6.2": _Spec("the mass matrix", TRIMMED, partial(_by_method, printed_tables.TABLE_6_2, _MASS, _MASS_TOO)),
    "6.3": _Spec("forward dynamics", TRIMMED, partial(_by_method, printed_tables.TABLE_6_3, _FORWARD, _FORWARD_TOO)),
    "7.1": _Spec(
        "linearised models, step 1 of Algorithm 7.1",
        TRIMMED,
        partial(_by_equation, printed_tables.TABLE_7_1, ALGORITHM_7_1_BY_EQUATION, _71, 2, "18"),
    ),
    "7.2": _Spec(
        "linearised models, step 2 of Algorithm 7.1",
        TRIMMED,
        partial(_by_equation, printed_tables.TABLE_7_2, ALGORITHM_7_1_BY_EQUATION, _71, 2, "19"),
    ),
    "7.3": _Spec("linearised models by method", TRIMMED, partial(_by_method, printed_tables.TEXT_7_3, _LINEARIZE, {})),
    "saha-1": _Spec("inverse dynamics, Saha (1999)", TRIMMED, partial(_by_method, printed_tables.SAHA_1, _SAHA_1, {})),
    "saha-2": _Spec(
        "forward dynamics, Saha (1999)",
        TRIMMED,
        lambda: _with_12(_by_method(printed_tables.SAHA_2, _SAHA_2, _SAHA_2_TOO)),
    ),
    "robots": _Spec(
        "the bundled robots, by every method that suits them",
        SPECIALISED,
        robot_rows,
    ),
    "regrouping": _Spec(
        "with and without regrouped inertial parameters, beside customised models of the literature",
        SPECIALISED,
        regrouping_rows,
    ),
}
