"""Constraints in a file of their own, for robots whose format has no words for them: YAML or JSON.

    constraints:
      - {type: Loop, kind: revolute, link: coupler, other: rocker, at: [0.6, 0, 0], at_other: [0.5, 0, 0]}
      - {type: JointRelation, coefficients: {finger1: 1.0, finger2: -1.0}}

Keys are the fields of :class:`~recursa.Loop`, :class:`~recursa.Contact`, :class:`~recursa.JointRelation` and
:class:`~recursa.Prescribed`, as in robot files of our own.
"""

from __future__ import annotations

from typing import Any

from recursa.errors import ModelError
from recursa.formats.json_text import parse_json
from recursa.formats.records import record
from recursa.formats.source import Source
from recursa.formats.yaml_text import parse_yaml
from recursa.model.constraints import Constraint

KEY = "constraints"


def read_constraints(source: Source) -> tuple[Constraint, ...]:
    """The constraints of a file; what does not fit is a ModelError that names the place."""
    try:
        json = source.text.lstrip().startswith("{")
        data = parse_json(source.text, source.path) if json else parse_yaml(source.text, typed=True)
        if not isinstance(data, dict) or set(data) != {KEY}:
            raise ModelError(f"a file of constraints has one key, '{KEY}', with a list below it")
        found: tuple[Constraint, ...] = record(_listed(data[KEY]), tuple[Constraint, ...], KEY)
        return found
    except ModelError as error:
        raise ModelError(error.reason, line=error.line, source=source.path) from None


def _listed(items: Any) -> Any:
    """Coefficients of relations may be numbers: the lists that records have are of powers."""
    if not isinstance(items, list):
        return items
    return [_with_lists(item) if isinstance(item, dict) else item for item in items]


def _with_lists(item: dict[str, Any]) -> dict[str, Any]:
    given = item.get("coefficients")
    if not isinstance(given, dict):
        return dict(item)
    lists = {joint: x if isinstance(x, list) else [x] for joint, x in given.items()}
    return {**item, "coefficients": lists}
