"""The page of identities: what it names exists, and no rule is missing on it."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import recursa as rc
from recursa.operators.rules import LINK_RULES, RATE_RULES, RULES, TABLE

ROOT = Path(__file__).parents[2]
WHERE = [
    name
    for line in (ROOT / "docs" / "identities.md").read_text("utf-8").splitlines()
    if line.startswith("| ")
    for name in re.findall(r"`([\w.]+)`", line.rsplit(" | ", 1)[-1])
]
RULE_NAMES = {rule.name.replace(" ", "_") for rule in (*RULES, *LINK_RULES, *RATE_RULES, *TABLE)}


def test_every_rule_is_on_the_page():
    assert RULE_NAMES - set(WHERE) == set()


def test_every_name_on_the_page_exists():
    robot = rc.robots.planar(2)
    tests = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(WHERE) > 100
    for name in set(WHERE) - RULE_NAMES:
        if name.startswith("robot."):
            assert callable(attrgetter(name.removeprefix("robot."))(robot)), name
        elif name.startswith("rc."):
            assert callable(attrgetter(name.removeprefix("rc."))(rc)), name
        else:
            assert f"def {name}(" in tests, name
