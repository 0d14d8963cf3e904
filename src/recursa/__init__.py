"""Recursa: dynamics of robot manipulators and other trees of rigid bodies.

>>> import recursa as rc
>>> robot = rc.robots.panda_like()
>>> q, v = robot.random_state(seed=1)
>>> robot.jacobian(q, "flange").shape
(6, 7)

Robots come from :func:`load`, :func:`from_dh`, :class:`Builder` and :mod:`recursa.robots`; what one can ask of them
are methods of :class:`Robot`. Conventions: angular part first, quaternions (x, y, z, w), SI units, radians.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recursa import cartesian as cartesian
from recursa import denoc as denoc
from recursa import operational as operational
from recursa import robots as robots
from recursa.doctor import Finding as Finding
from recursa.doctor import Report as Report
from recursa.dynamics.book.augmented_links import AugmentedLinks as AugmentedLinks
from recursa.dynamics.wrenches import Wrench as Wrench
from recursa.errors import ModelError as ModelError
from recursa.errors import ModelWarning as ModelWarning
from recursa.errors import NoSweepError as NoSweepError
from recursa.errors import RecursaError as RecursaError
from recursa.errors import ShapeError as ShapeError
from recursa.errors import SingularConfigurationError as SingularConfigurationError
from recursa.errors import SingularHingeError as SingularHingeError
from recursa.errors import StateError as StateError
from recursa.errors import UnknownNameError as UnknownNameError
from recursa.facade.derivatives import Linearization as Linearization
from recursa.facade.derivatives import StateSpace as StateSpace
from recursa.facade.factorization import Factorization as Factorization
from recursa.loading import Builder as Builder
from recursa.loading import from_dh as from_dh
from recursa.loading import load as load
from recursa.model.dh import DHLink as DHLink
from recursa.operation_counts import count as count
from recursa.robot import Robot as Robot

if TYPE_CHECKING:
    from recursa.operators.compiled import compile as compile
    from recursa.operators.dense import dense as dense
    from recursa.operators.explain import Explanation as Explanation
    from recursa.operators.explain import explain as explain
    from recursa.operators.parsing import parse as parse

__version__ = "0.1.0"

_LATER = {  # imported when first used: most programs never write an expression
    "compile": "recursa.operators.compiled",
    "dense": "recursa.operators.dense",
    "explain": "recursa.operators.explain",
    "Explanation": "recursa.operators.explain",
    "parse": "recursa.operators.parsing",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'recursa' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_LATER[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
