"""Where a page asks about formulas: questions are checked, one at a time is worked on, and none for too long."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from recursa.errors import NotationError, RecursaError
from recursa.formats.recursa_json import model_from_text, model_text
from recursa.kernels.kernel import CODES
from recursa.model.model import WORLD, Model
from recursa.operators.explain import Explanation, explain
from recursa.operators.seven_levels import link_step_level, recursion_level
from recursa.operators.symbols import Kind
from recursa.processes import bound, module_command
from recursa.sweeps.plan import LINKS, Direction, Sweep
from recursa.view.page import robot_page

if TYPE_CHECKING:
    from recursa.robot import Robot


# ---- -----------------------------------------------------------------------------------------------------------------
# Operator formulas as a page: their sweeps as waves over the bodies, the equations at each, cost and code.


Space = Literal["joint", "link", "tip"]

_WAYS = {Direction.BASE_TO_TIP: "outward", Direction.TIP_TO_BASE: "inward"}
_WRITTEN = (
    ("mass", "the mass matrix, H phi M phi* H* + A"), ("T", "a free joint vector"),
    ("J(link)", "the Jacobian of a link, B(link)* phi* H*"), ("inv(...)", "the inverse"),
    ("diag(...)", "a vector as a diagonal matrix"), ("X*", "transposed"), ("d/dt(...)", "the rate, in body axes"),
    ("d/d{joint}(...)", "the derivative along a joint"),
)  # fmt: skip
"""What is no letter of its own."""


def formula_page(robot: Robot, told: Sequence[Explanation], *, meshes: bool = True) -> str:
    """The page of formulas of a robot, the first of them shown at once."""
    if not told:
        raise RecursaError("there is no formula to show")
    return robot_page(robot, meshes=meshes, formulas=[formula_data(one) for one in told])


def spaces_of(text: str) -> dict[str, Space]:
    """Free vectors and their spaces as they are typed.

    >>> spaces_of("x=joint, f = tip")
    {'x': 'joint', 'f': 'tip'}
    """
    found: dict[str, Space] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, space = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise NotationError(f"free vectors: '{part}' is not NAME=SPACE, such as x=joint", text, text.find(part))
        found[name] = cast("Space", space)  # what it may be is said by the reader of formulas
    return found


def letters() -> list[list[str]]:
    """What can be typed: letters as they are typed and printed, and what they mean.

    >>> letters()[2]
    ['phi', 'φ', 'rigid propagation: φ = inv(I - E_φ); gathers tip to base']
    """
    own = [
        [one.value.code, one.value.text, f"{one.value.words}: {one.value.meaning}"]
        for one in Kind
        if not one.value.is_rate
    ]
    return [*own, *([typed, typed, meaning] for typed, meaning in _WRITTEN)]


def formula_data(told: Explanation) -> dict[str, Any]:
    """A formula for the page: what it becomes, sweep by sweep; without sweeps, why there are none."""
    counts = told.operations
    return {
        "written": told.expression.text(),
        "simplified": told.simplified.text(),
        "identities": [f"{one.rule} [{one.equation}]: {one.before} = {one.after}" for one in told.rewritings],
        "cost": told.cost,
        "total": None if counts is None else counts.total,
        "code": told.code,
        "sweeps": _sweeps(told),
    }


def _sweeps(told: Explanation) -> list[dict[str, Any]]:
    f = told.compiled
    if f is None:
        return []
    named, equations = recursion_level(f).parts, link_step_level(f).parts
    return [
        {
            "title": part.title,
            "steps": [list(row) for row in part.rows],
            "equations": [row[0] for row in at_body.rows],
            "way": _WAYS.get(sweep.direction, "here"),
            "waves": waves(told.model, sweep),
        }
        for part, at_body, sweep in zip(named, equations, f.plan.sweeps, strict=True)
    ]


def waves(model: Model, sweep: Sweep) -> list[list[int]]:
    """The bodies in the order in which a sweep visits them, those that do not wait for each other together.

    >>> import recursa as rc
    >>> from recursa.sweeps.plan import base_to_tip, each_link
    >>> waves(rc.robots.tree(5).model, base_to_tip())
    [[0], [1, 4], [2, 3]]
    >>> waves(rc.robots.planar(3).model, each_link(only=(2,)))
    [[1]]
    """
    if sweep.domain == LINKS:
        visited = range(len(model.links)) if sweep.only is None else sweep.only
        return [sorted({model.links[k].body for k in visited} - {WORLD})]
    depth: list[int] = []
    for joint in model.joints:
        depth.append(0 if joint.parent == WORLD else depth[joint.parent] + 1)
    bodies = range(model.nbodies) if sweep.only is None else sweep.only
    found = [[k for k in bodies if depth[k] == level] for level in range(max(depth, default=-1) + 1)]
    found = [wave for wave in found if wave]
    return found if sweep.direction is Direction.BASE_TO_TIP else found[::-1]


LONGEST = 2_000  # characters of a formula, and of its vectors
SECONDS = 20.0  # for one formula

Answer = dict[str, Any]


class FormulaDesk:
    """Explains formulas about a robot: nothing is evaluated but the notation, in a process that can be stopped."""

    def __init__(self, robot: Robot, seconds: float = SECONDS) -> None:
        self.robot = robot
        self.seconds = seconds
        self.closed = False
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def answer(self, question: Any) -> Answer:
        """``{"formula": ...}`` as :func:`recursa.view.formula_desk.formula_data` has it, or ``{"error": in words}``."""
        try:
            return self._asked(_checked(question))
        except RecursaError as error:
            return {"error": str(error)}

    def close(self) -> None:
        """Stop what is at work, and take no more questions."""
        self.closed = True
        self._stop()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()

    def _asked(self, question: dict[str, str]) -> Answer:
        if not self._lock.acquire(timeout=self.seconds):
            raise RecursaError("other formulas are being worked on; try again")
        try:
            if self.closed:
                raise RecursaError("this page is closed; robot.view() opens another")
            process, first = self._started()
            clock = threading.Timer(self.seconds, process.kill)
            clock.start()
            try:
                line = _exchanged(process, *first, question)
            finally:
                late = not clock.is_alive()
                clock.cancel()
            if line:
                return dict(json.loads(line))
            self._stop()
            if late:
                raise RecursaError(
                    f"the formula did not come to an end in {self.seconds:g} s. Try a part of it, or a smaller robot; "
                    "rc.explain in a program has no such limit"
                )
            raise RecursaError("the process that works on formulas came to an end; the formula may be too large")
        finally:
            self._lock.release()

    def _started(self) -> tuple[subprocess.Popen[str], tuple[str, ...]]:
        """The process, and what has to be said to it first: the robot, to a new one."""
        if self._process is not None and self._process.poll() is None:
            return self._process, ()
        self._stop()
        command, environment = module_command("recursa.view.formula_desk")
        try:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True, encoding="utf-8",
            )  # fmt: skip
        except OSError as error:
            raise RecursaError(f"the process that works on formulas cannot be started: {error}") from None
        return self._process, (model_text(self.robot.model),)


def _exchanged(process: subprocess.Popen[str], *said: Any) -> str:
    """The line that answers, or none where the process is gone."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write("".join(json.dumps(one) + "\n" for one in said))
        process.stdin.flush()
        return process.stdout.readline()
    except (OSError, ValueError):
        return ""


def _checked(question: Any) -> dict[str, str]:
    """A question as it has to be, with all that it may say."""
    known = {"formula": "", "vectors": "", "code": "c"}
    if not isinstance(question, dict) or not all(isinstance(x, str) for x in question.values()):
        raise RecursaError("a question is an object with texts: formula, vectors, code")
    asked = known | question
    if asked.keys() != known.keys() or asked["code"] not in CODES:
        raise RecursaError(f"a question has formula, vectors and code, which is one of {', '.join(CODES)}")
    for name in ("formula", "vectors"):
        if len(asked[name]) > LONGEST:
            raise RecursaError(f"{name}: {len(asked[name])} characters, and at most {LONGEST} are read here")
    if not asked["formula"].strip():
        raise RecursaError("there is no formula; type one, such as inv(mass) (T - C)")
    return asked


# ---- formulas that somebody types, explained in a process that can be stopped ----------------------------------------
# ``python -m recursa.view.formula_process`` reads a robot from a line of standard input, as
# :func:`recursa.formats.robot_text.model_text` has it, then questions, and answers each by a line of JSON.


_MEMORY = 4 * 2**30  # bytes
MOST_CODE = 200_000  # characters of generated code that are shown


@dataclass(frozen=True)
class _Robot:
    """A robot, for what formulas need of it."""

    model: Model


def answer(robot: _Robot, question: dict[str, str]) -> dict[str, Any]:
    """What becomes of a formula, or in words why nothing does."""
    try:
        told = explain(question["formula"], robot, code=question["code"], vectors=spaces_of(question["vectors"]))  # type: ignore[arg-type]
        data = formula_data(told)
    except RecursaError as error:
        return {"error": str(error)}
    except (RecursionError, MemoryError):
        return {"error": "the formula is too large to be worked out here; try a part of it"}
    code = data["code"] or ""
    if len(code) > MOST_CODE:
        left = len(code) - MOST_CODE
        data["code"] = f"{code[:MOST_CODE]}\n... {left:,} characters more: rc.explain(...).code has them all"
    return {"formula": {**data, "typed": question["formula"]}}


def main() -> int:
    """Until there are no more questions."""
    bound(_MEMORY)
    say, sys.stdout = sys.stdout, sys.stderr  # nothing else speaks on that line
    robot = _Robot(model_from_text(json.loads(sys.stdin.readline())))
    for line in sys.stdin:
        print(json.dumps(answer(robot, json.loads(line))), file=say, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
