"""Every name that a formula about one robot may contain: its operators in all spellings, and declared vectors."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from recursa.errors import StateError, unknown_name
from recursa.operators.expression import Expression, Vector
from recursa.operators.leaves import Operators, require_constraints
from recursa.operators.notation import SPELLINGS
from recursa.operators.shapes import FREE, FreeSpace, space_of
from recursa.operators.symbols import OF_CONSTRAINTS, SHORT, WITH_BRACKETS, Kind
from recursa.operators.tokens import WITH_LINK

Spaces = Mapping[str, FreeSpace]
"""Declared vectors and the space of each."""


@lru_cache(maxsize=64)
def names_of(o: Operators) -> Mapping[str, Expression]:
    """Every way to write an operator of a robot."""
    names: dict[str, Expression] = {}
    held = bool(o.model.ncon)
    for kind in Kind:
        if kind is not Kind.B and (held or kind not in OF_CONSTRAINTS):
            symbol = kind.value
            names |= dict.fromkeys((symbol.code, symbol.text, *symbol.also), getattr(o, symbol.code))
    short = {name: getattr(o, code) for name, code in SHORT.items() if held or code != "constraints"}
    return {unicodedata.normalize("NFKC", name): x for name, x in (names | short).items()}


def declared_vectors(o: Operators, vectors: Spaces) -> dict[str, Vector]:
    """Declared vectors by every spelling of their names: a vector nu is meant by ν, too."""
    found: dict[str, Vector] = {}
    for name, space in vectors.items():
        if space not in FREE:
            raise unknown_name("space", space, FREE)
        if name in WITH_BRACKETS and name not in WITH_LINK:
            raise StateError(f"a vector cannot be called '{name}', a function in formulas: choose another name")
        if space == "constraint":
            require_constraints(o.model, f"the space of {name}")
        found |= dict.fromkeys(_spellings(name), Vector(name, space_of(o.model, space)))
    return found


def _spellings(name: str) -> set[str]:
    """All ways to type the letter that a name is one of; the name itself where it is none."""
    groups = [{kind.value.code, kind.value.text, *kind.value.also} for kind in Kind]
    for table in (SHORT, SPELLINGS):
        groups += [{x for x in table if table[x] == letter} for letter in set(table.values())]
    same = {name}.union(*(group for group in groups if name in group))
    return {unicodedata.normalize("NFKC", x) for x in same}
