"""Where a page asks about formulas: questions are checked, one at a time is worked on, and none for too long."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from typing import TYPE_CHECKING, Any

from recursa.errors import RecursaError
from recursa.formats.robot_text import model_text
from recursa.kernels.kernel import CODES
from recursa.processes import module_command

if TYPE_CHECKING:
    from recursa.robot import Robot

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
        """``{"formula": ...}`` as :func:`recursa.view.formulas.formula_data` has it, or ``{"error": in words}``."""
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
        command, environment = module_command("recursa.view.formula_process")
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
