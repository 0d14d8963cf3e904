"""The list of questions is complete: no public function, option or value of an option is missing."""

from __future__ import annotations

import inspect
import re
import typing
from collections import defaultdict
from pathlib import Path

import pytest

import recursa as rc
from questions import CLASSES, MODULES, OTHERS, QUESTIONS, STEPS, arguments_of, public_functions

HOW = {  # options about how something is computed or refused, or how much of it is returned
    "out", "threads", "tolerance", "max_condition", "seed", "save_every", "on_divergence", "form", "robot", "step",
}  # fmt: skip
ASKED = defaultdict(list)
for one in QUESTIONS.values():
    ASKED[one.public].append(one)
REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
NO_QUESTIONS = {
    "book",
    "constraints",
    "control",
    "errors",
    "identification",
    "interop",
    "operators",
    "model",
    "paths",
    "plotting",
    "quantities",
    "reach",
    "robots",
    "studies",
    "trajectories",
}


def test_every_public_function_is_asked_or_said_not_to_be():
    assert ASKED.keys() | OTHERS.keys() == public_functions().keys()
    assert not ASKED.keys() & OTHERS.keys()


def test_every_documented_module_is_looked_at():
    text = "\n".join(page.read_text("utf-8") for page in REFERENCE.glob("*.md"))
    documented = set(re.findall(r"(?:automodule|autofunction|autoclass|names-of):: recursa\.([a-z]\w*)", text))
    functions = {public.partition(".")[2] for public in public_functions() if public.startswith("rc.")}
    lines = [base.__module__ for cls in CLASSES.values() for base in cls.__mro__]
    classes = {module.split(".")[1] for module in lines if module.startswith("recursa.")} | {"counts"}
    assert documented <= MODULES.keys() | functions | classes | NO_QUESTIONS


@pytest.mark.parametrize("public", ASKED)
def test_every_option_is_asked(public):
    form = arguments_of(public_functions()[public])
    optional = {name for name, p in form.items() if p.default is not inspect.Parameter.empty} - HOW
    used = {name for one in ASKED[public] for name in (*one.given, *one.options)}
    assert optional <= used


@pytest.mark.parametrize("public", ASKED)
def test_every_value_of_an_option_is_asked(public):
    function = public_functions()[public]
    named = {"Robot": rc.Robot, "Law": rc.control.Law}  # some import them for annotations only
    hints = typing.get_type_hints(function, localns=named)
    for name, p in arguments_of(function).items():
        choices = {x for part in (hints.get(name), *typing.get_args(hints.get(name))) for x in literals(part)}
        stepped = public in STEPS and not any(name in one.options for one in ASKED[public])
        asked = {one.options.get(name, p.default) for one in ASKED[public]} if choices and not stepped else set()
        assert name in HOW or choices <= asked, f"{name}: {choices - asked}"


def literals(hint: object) -> tuple[object, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
