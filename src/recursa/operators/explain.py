"""What becomes of a formula: from the operators down to the arithmetic, on the screen."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recursa import markup
from recursa.errors import NoSweepError, StateError, UntraceableError, unknown_name
from recursa.kernels.kernel import CODES, Code
from recursa.model.model import Model
from recursa.operators import seven_levels
from recursa.operators.compiled_expression import CompiledExpression, compile
from recursa.operators.expression import Expression, known_shape
from recursa.operators.notation import Notation
from recursa.operators.parsing import HasModel, parse
from recursa.operators.rendering import has_greek, in_ascii, markdown, plain_text, rich_text, wrapped
from recursa.operators.rewriting import Rewriting
from recursa.operators.seven_levels import Level
from recursa.operators.shapes import ONE
from recursa.operators.simplify import simplify
from recursa.operators.statements import read_later, statements
from recursa.operators.vocabulary import Spaces
from recursa.spatial.counter import Counts
from recursa.sweeps.plan import Plan

if TYPE_CHECKING:
    from rich.console import RenderableType


class Explanation:
    """What :func:`recursa.explain` returns: ``print`` it, or read its parts.

    ``levels`` are the seven levels of Rodriguez & Kreutz-Delgado, section IX; where no sweep computes the expression
    there are the first three, ``obstacle`` says why, and ``compiled``, ``plan``, ``operations`` and ``form`` are None.
    """

    def __init__(self, expression: Expression, robot: HasModel | None = None, *, code: str | None = None) -> None:
        if code is not None and code not in CODES:
            raise unknown_name("kind of code", code, CODES)
        self.expression = expression
        self.obstacle: NoSweepError | None = None
        self.compiled: CompiledExpression | None = None
        try:
            self.compiled = compile(expression, robot)
            self.simplified: Expression = self.compiled.simplified
            self.rewritings: list[Rewriting] = self.compiled.rewritings
        except NoSweepError as error:
            self.obstacle = error
            self.simplified, self.rewritings = simplify(expression, trace=True)
        model = expression.model if robot is None else robot.model
        if model is None:
            raise self.obstacle or NoSweepError(f"cannot explain {expression}: it has no operator of a robot in it")
        self.model: Model = model
        self.code_kind = code
        self.code = self.compiled.source(code) if code is not None and self.compiled is not None else None

    @property
    def plan(self) -> Plan | None:
        """The sweeps."""
        return None if self.compiled is None else self.compiled.plan

    @property
    def inputs(self) -> tuple[str, ...]:
        """The free vectors, in the order in which a call takes them."""
        return () if self.compiled is None else self.compiled.inputs

    @cached_property
    def operations(self) -> Counts | None:
        """Operations of one evaluation in the compiled code."""
        try:
            return None if self.compiled is None else self.compiled.operations
        except UntraceableError:  # it runs on NumPy columns
            return None

    @property
    def form(self) -> str | None:
        """ "straight" or "loop", as :attr:`CompiledExpression.form`."""
        return None if self.compiled is None or self.operations is None else self.compiled.form

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The levels, the formula first."""
        f, factor = self.compiled, None if self.obstacle is None else self.obstacle.factor
        first = (
            seven_levels.expression_level(self.expression, self.simplified, self.rewritings),
            seven_levels.decomposition_level(self.simplified),
            seven_levels.recognition_level(self.simplified, factor),
        )
        if f is None:
            return first
        return (
            *first,
            seven_levels.recursion_level(f),
            seven_levels.link_step_level(f),
            seven_levels.half_steps_level(f),
            seven_levels.coordinates_level(f),
        )

    # ---- what follows the levels -----------------------------------------------------------------------------------

    @property
    def cost(self) -> str:
        """Operations (of a matrix: to apply it to one vector) and form in a sentence; without sweeps, why not."""
        if self.obstacle is not None:
            return f"it ends here: {self.obstacle}"
        if self.operations is None:
            return "cost: no compiled form here; it runs on NumPy columns"
        counts, bodies = self.operations, max(self.model.nbodies, 1)
        each = ", ".join(f"{number} {kind}" for kind, number in asdict(counts).items())
        per_body = ", ".join(f"{getattr(counts, kind) / bodies:.1f} {kind}" for kind in ("mul", "add"))
        form = {"straight": "every body spelled out", "loop": "a loop over bodies that share code"}[str(self.form)]
        one = "" if known_shape(self.expression).columns == ONE else "; a matrix is counted as applied to one vector"
        return f"cost: {each}; {counts.total} in all, {per_body} a body; {self.form} code ({form}){one}"

    @property
    def title(self) -> str:
        """The robot it is about."""
        return f"robot '{self.model.name}', {self.model.nbodies} bodies, {self.model.nv} freedoms"

    def text(self, *, ascii: bool = False) -> str:
        """Plain text; with ``ascii`` Greek letters are spelled."""
        code = [] if self.code is None else [f"code ({self.code_kind}):\n{self.code}"]
        found = "\n\n".join([self.title, plain_text(self.levels, ascii=ascii), wrapped(self.cost), *code])
        return in_ascii(found) if ascii else found

    def _repr_html_(self) -> str:
        """What a notebook shows: the levels as they are printed."""
        return markup.text(self.text())

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        counts = self.operations
        return {
            "robot": self.model.name,
            "expression": self.expression.text(ascii=True),
            "shape": str(known_shape(self.expression)),
            "simplified": self.simplified.text(ascii=True),
            "identities": [
                {
                    "rule": step.rule,
                    "equation": step.equation,
                    "before": step.before.text(ascii=True),
                    "after": step.after.text(ascii=True),
                }
                for step in self.rewritings
            ],
            "levels": [asdict(level) for level in self.levels],
            "inputs": list(self.inputs),
            "sweeps": self._sweeps(),
            "frames_moved": None if self.compiled is None else self.compiled.frame_free,
            "operations": None if counts is None else {**asdict(counts), "total": counts.total},
            "form": self.form,
            "obstacle": None if self.obstacle is None else str(self.obstacle),
            "code": self.code,
        }

    def _sweeps(self) -> list[dict[str, Any]] | None:
        if self.compiled is None:
            return None
        wanted = read_later(self.compiled.lowered)
        return [
            {
                "direction": sweep.direction.value,
                "steps": [
                    {
                        "writes": step.writes,
                        "reads": step.reads,
                        "is": step.equation,
                        "at_body": statements(step, wanted),
                    }
                    for step in sweep.steps
                ],
            }
            for sweep in self.compiled.plan.sweeps
        ]

    def __str__(self) -> str:
        return self.text(ascii=not has_greek(getattr(sys.stdout, "encoding", None)))

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.syntax import Syntax
        from rich.text import Text

        parts: list[RenderableType] = [Text(self.title, style="bold"), "", rich_text(self.levels), Text(self.cost)]
        if self.code is not None:
            parts += ["", Syntax(self.code, str(self.code_kind), word_wrap=True)]
        return Group(*parts)

    def _repr_markdown_(self) -> str:
        formula = f"$${self.expression.latex()} \\;=\\; {self.simplified.latex()}$$"
        code = [] if self.code is None else [f"```{self.code_kind}\n{self.code}\n```"]
        return "\n\n".join([self.title, formula, markdown(self.levels), self.cost, *code])

    def __repr__(self) -> str:
        ends = "no sweeps" if self.plan is None else f"{len(self.plan.sweeps)} sweeps"
        return f"<Explanation of {self.expression}: {ends}>"


def explain(
    expression: Expression | str,
    robot: HasModel | None = None,
    *,
    code: Code | None = None,
    vectors: Spaces | None = None,
    notation: Notation | None = None,
) -> Explanation:
    """What becomes of an operator expression, level by level: identities, sweeps, the step at a body, its arithmetic.

    Text is read as by :func:`recursa.parse`, with ``vectors`` and ``notation`` ("rodriguez" or "jain"), and needs the
    robot. ``code`` adds the generated code: "llvm", "c" or "js".

    >>> import recursa as rc
    >>> told = rc.explain("inv(H phi M phi* H*)", rc.robots.planar(3))
    >>> [(step.rule, step.equation) for step in told.rewritings]
    [('innovations inverse', 'Rodriguez & Kreutz-Delgado Identity 6 (46)')]
    >>> [level.name for level in told.levels][3:], [sweep.direction.value for sweep in told.plan.sweeps]
    (['recursion', 'link step', 'half steps', 'coordinate transformation'], ['tip to base', 'base to tip'])
    >>> for row in told.levels[4].parts[1].rows:
    ...     print(*row)
    x9(k) = x8(k) + τ̄*(k) φ*(p,k) x9(p)
    x10(k) = φ*(p,k) x9(p)
    x11(k) = G*(k) x10(k)
    x12(k) = x7(k) - x11(k)
    >>> print(told.cost)  # doctest: +ELLIPSIS
    cost: ... straight code (every body spelled out); a matrix is counted as applied to one vector
    """
    if isinstance(expression, str):
        if robot is None:
            raise StateError("rc.explain of text needs the robot: rc.explain(text, robot)")
        expression = parse(expression, robot, vectors=vectors, notation=notation)
    return Explanation(expression, robot, code=code)
