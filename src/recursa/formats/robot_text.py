"""A model as text that makes the same model again, to the bit: what files of runs carry.

URDF is not enough for that: its angles round, and gravity, a free base or ties are no part of it.
"""

from __future__ import annotations

import json
from dataclasses import replace

from recursa.formats.records import plain, record
from recursa.formats.recursa_json import described
from recursa.model.assemble import STANDARD_GRAVITY, assemble
from recursa.model.description import Description
from recursa.model.model import Model
from recursa.model.naming import require_printable


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
