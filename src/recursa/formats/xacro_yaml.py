"""YAML files that xacro files load: numbers are numbers, and may have a unit as their tag."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from recursa.errors import ModelError
from recursa.formats.expression_values import NAMES
from recursa.formats.expressions import evaluate, plain_names
from recursa.formats.yaml_text import parse_yaml

_UNITS = {
    "!radians": 1.0,
    "!degrees": math.pi / 180.0,
    "!meters": 1.0,
    "!millimeters": 0.001,
    "!foot": 0.3048,
    "!inches": 0.0254,
}


def load_yaml(content: bytes, path: Path) -> Any:
    """The data in a YAML file; whatever is wrong is a ModelError with file and line."""
    try:
        return parse_yaml(content.decode("utf-8-sig"), typed=True, tags={tag: _unit(tag) for tag in _UNITS})
    except UnicodeDecodeError:
        raise ModelError("the bytes are not UTF-8; save the file as UTF-8", source=str(path)) from None
    except ModelError as error:
        raise ModelError(error.reason, line=error.line, source=str(path)) from None


def _unit(tag: str) -> Any:
    def number(text: str) -> float:
        return float(evaluate(text, plain_names(NAMES))) * _UNITS[tag]

    return number
