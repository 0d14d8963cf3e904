"""Our own robot files: a description as JSON, exact to the bit, with a version and a published schema.

What is written are the records of ``model/description.py`` themselves, with gravity, the free base and the treatment of
ties filled in; ``formats/plain_records.py`` does the work in both directions. ``robot.schema.json`` beside this file is
the JSON schema of these files.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from recursa.errors import ModelError, unknown_name
from recursa.formats.plain_records import plain, record
from recursa.formats.source import Source
from recursa.formats.yaml_text import parse_json, parse_yaml
from recursa.model.assemble import STANDARD_GRAVITY, assemble
from recursa.model.constraints import Constraint, Contact
from recursa.model.description import Description, JointRecord
from recursa.model.geometry import SIZES
from recursa.model.inputs import require_rotation
from recursa.model.joints import KINDS
from recursa.model.model import Model
from recursa.model.naming import require_printable

NAME = "recursa"
VERSION = 1
_BEGINS = re.compile(r'\s*\{[^{}\[\]]*"format"\s*:\s*"recursa"')
_WIDTH = 100


def begins(text: str) -> bool:
    """Whether a text is a robot file of ours."""
    return _BEGINS.match(text) is not None


def write_recursa(model: Model) -> str:
    """The model as the text of a robot file. Lines of the file that it came from mean nothing here and are left out.

    >>> import recursa as rc
    >>> print(write_recursa(rc.load('<robot name="one"><link name="base"/></robot>').model), end="")
    {
      "format": "recursa",
      "version": 1,
      "name": "one",
      "gravity": [0.0, 0.0, -9.81],
      "floating": false,
      "mimic": "free",
      "links": [
        {"name": "base"}
      ],
      "joints": []
    }
    """
    return _laid_out(_headed(_without_lines(described(model)))) + "\n"


def described(model: Model) -> Description:
    """The model's description with its options, which make the same model again."""
    return replace(model.description, gravity=model.gravity, floating=model.floating, mimic=model.mimic)


def read_recursa(source: Source) -> Description:
    """The description in a robot file of ours; anything that does not fit is a ModelError that names the place."""
    data = parse_json(source.text, source.path)
    try:
        description: Description = record(_body(data), Description, "")
        _check(description)
    except ModelError as error:
        raise ModelError(error.reason, source=source.path) from None
    return replace(description, source=source.path)


# ---- writing ---------------------------------------------------------------------------------------------------------


def _headed(description: Description) -> dict[str, Any]:
    data = plain(description, Description)
    options = {"gravity": list(description.gravity or ()), "floating": description.floating, "mimic": description.mimic}
    return {"format": NAME, "version": VERSION, "name": description.name, **options, **data}


def _without_lines(description: Description) -> Description:
    parts = {
        name: tuple(replace(item, line=None) for item in getattr(description, name))
        for name in ("links", "joints", "closures", "relations", "actuators", "notes")
    }
    return replace(description, source=None, **parts)  # type: ignore[arg-type]


def _laid_out(data: Any, indent: str = "") -> str:
    """JSON text with everything that fits on one line on one line."""
    whole = json.dumps(data, ensure_ascii=False, allow_nan=False)
    simple = not isinstance(data, dict | list) or not data
    if simple or (indent and len(indent) + len(whole) <= _WIDTH and not _nests(data)):
        return whole
    inner = indent + "  "
    if isinstance(data, dict):
        items = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(item, inner)}" for key, item in data.items()]
        return "{\n" + ",\n".join(inner + item for item in items) + f"\n{indent}}}"
    if not any(isinstance(item, dict | list) for item in data):
        return whole
    return "[\n" + ",\n".join(inner + _laid_out(item, inner) for item in data) + f"\n{indent}]"


def _nests(data: Any) -> bool:
    """Whether it is a list of records, which have a line each."""
    return isinstance(data, list) and any(isinstance(item, dict) for item in data)


# ---- reading ---------------------------------------------------------------------------------------------------------


def _body(data: Any) -> dict[str, Any]:
    """What is below the head of a file, the head being checked."""
    if not isinstance(data, dict) or data.get("format") != NAME:
        raise ModelError(f'this is no robot file of ours: it must be an object with "format": "{NAME}"')
    version = data.get("version")
    if type(version) is not int or version < 1:
        raise ModelError(f'"version" must be a whole number from 1, not {str(version)[:40]!a}')
    if version > VERSION:
        raise ModelError(f"the file has version {version}, and this Recursa reads up to {VERSION}; update it")
    return {key: value for key, value in data.items() if key not in ("format", "version")}


def _check(description: Description) -> None:
    """What types do not tell: rotations are rotations, values fit their joints, names exist."""
    for what in ("links", "joints"):
        for k, item in enumerate(getattr(description, what)):
            if not item.name:
                raise ModelError(f"{what}[{k}].name must be a name; it is empty")
    for k, joint in enumerate(description.joints):
        nv = KINDS[joint.kind].nv if joint.kind in KINDS else 0
        for part in ("armature", "damping", "friction"):
            _require_count(getattr(joint, part), nv, f"joint '{joint.name}' ({joint.kind})", f"joints[{k}].{part}")
        for part in ("placement", "after"):
            require_rotation(getattr(joint, part), f"joints[{k}].{part}")
    for k, link in enumerate(description.links):
        for n, shape in enumerate(link.geometry):
            require_rotation(shape.pose, f"links[{k}].geometry[{n}].pose")
            count = SIZES.get(shape.shape, 0)
            _require_count(shape.size, count, f"a {shape.shape!r}", f"links[{k}].geometry[{n}].size")
    for k, closure in enumerate(description.closures):
        for part in ("placement", "placement_on_second"):
            require_rotation(getattr(closure, part), f"closures[{k}].{part}")
    for k, constraint in enumerate(description.constraints):
        anchor = constraint.anchor if isinstance(constraint, Contact) else None
        if anchor is not None:
            require_rotation(anchor, f"constraints[{k}].anchor")
    _check_names(description)


def _check_names(description: Description) -> None:
    links = {link.name for link in description.links}
    joints = {joint.name: joint for joint in description.joints}
    for k, closure in enumerate(description.closures):
        for part in ("first", "second"):
            _require_name("link", getattr(closure, part), links, f"closures[{k}].{part}")
    for k, relation in enumerate(description.relations):
        for part in ("joint", "other"):
            if getattr(relation, part) is not None:
                _require_name("joint", getattr(relation, part), joints, f"relations[{k}].{part}")
    for k, actuator in enumerate(description.actuators):
        _require_values(actuator.gears, joints, description.floating, f"actuators[{k}].gears", "nv")
    for k, state in enumerate(description.states):
        _require_values(state.q, joints, description.floating, f"states[{k}].q", "nq")
        _require_values(state.v, joints, description.floating, f"states[{k}].v", "nv")


def _require_values(values: Any, joints: dict[str, JointRecord], floating: bool, place: str, size: str) -> None:
    for name, numbers in values:
        if floating and name == "root" and name not in joints:  # the free joint that the option adds
            kind = "free"
        else:
            _require_name("joint", name, joints, place)
            kind = joints[name].kind
        wanted = getattr(KINDS[kind], size) if kind in KINDS else 0
        if len(numbers) != wanted:
            raise ModelError(f"{place}: joint '{name}' ({kind}) takes {wanted} numbers, not {len(numbers)}")


def _require_name(what: str, name: str, known: Any, place: str) -> None:
    if name not in known:
        raise ModelError(f"{place}: {unknown_name(what, name, known)}")


def _require_count(numbers: tuple[object, ...], count: int, what: str, place: str) -> None:
    if len(numbers) not in (0, count):
        raise ModelError(f"{place}: {what} takes {count} numbers or none, not {len(numbers)}")


# ---- A model as text that makes the same model again, to the bit: what files of runs carry ---------------------------
# URDF is not enough for that: its angles round, and gravity, a free base or ties are no part of it.


def model_text(model: Model) -> str:
    """The model's description with its options as JSON; numbers keep all their bits.

    >>> import recursa as rc
    >>> model = rc.robots.free_flyer(2).model
    >>> model_from_text(model_text(model)).digest == model.digest
    True
    """
    return json.dumps(plain(described(model), Description), ensure_ascii=False)


def model_from_text(text: str) -> Model:
    """The model again. Text that was not written by :func:`model_text` is a KeyError, TypeError or ValueError."""
    data = json.loads(text)
    description: Description = record(data, Description, "")
    require_printable(description)
    gravity, mimic = description.gravity or STANDARD_GRAVITY, description.mimic or "free"
    bare = replace(description, gravity=None, floating=False, mimic=None)
    return assemble(bare, gravity=gravity, floating=description.floating, mimic=mimic)


# ---- constraints in a file of their own, for robots whose format has no words for them: YAML or JSON -----------------
#     constraints:
#       - {type: Loop, kind: revolute, link: coupler, other: rocker, at: [0.6, 0, 0], at_other: [0.5, 0, 0]}
#       - {type: JointRelation, coefficients: {finger1: 1.0, finger2: -1.0}}
#
# Keys are the fields of :class:`~recursa.Loop`, :class:`~recursa.Contact`, :class:`~recursa.JointRelation` and
# :class:`~recursa.Prescribed`, as in robot files of our own.


KEY = "constraints"


def read_constraints(source: Source) -> tuple[Constraint, ...]:
    """The constraints of a file; what does not fit is a ModelError that names the place."""
    try:
        as_json = source.text.lstrip().startswith("{")
        data = parse_json(source.text, source.path) if as_json else parse_yaml(source.text, typed=True)
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
