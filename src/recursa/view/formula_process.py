"""Formulas that somebody types, explained in a process that can be stopped.

``python -m recursa.view.formula_process`` reads a robot from a line of standard input, as
:func:`recursa.formats.robot_text.model_text` has it, then questions, and answers each by a line of JSON.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from recursa.errors import RecursaError
from recursa.formats.robot_text import model_from_text
from recursa.model.model import Model
from recursa.operators.explain import explain
from recursa.processes import bound
from recursa.view.formulas import formula_data, spaces_of

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
