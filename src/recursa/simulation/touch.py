"""What may touch: points, balls and wheels of links, each with a plane of the world, friction and restitution."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from recursa.errors import ModelError, StateError
from recursa.model.constraints import Triple
from recursa.model.model import Model


@dataclass(frozen=True)
class Touch:
    """A point, ball or wheel of a link that may touch a plane: it lands, sticks, slides and lifts in ``simulate``.

    - ``link``, ``at``: the link and the point of it, in that link; of a ball or a wheel its centre.
    - ``radius``: of the ball or wheel, m; 0 is a point. ``axis``: of a wheel, in axes of the link; None is a ball.
    - ``normal``, ``height``: the plane, ``normal . x = height`` in the world, m; free space is where it is more.
    - ``friction``: Coulomb's coefficient. It sticks while the force along the plane is at most ``friction`` times the
      force across it, and slides against that otherwise.
    - ``restitution``: speed across the plane after an impact over that before, 0 to 1; impacts slower than
      ``rest_speed`` in m/s do not bounce, so that bouncing comes to an end.

    >>> import numpy as np, recursa as rc
    >>> b = rc.Builder("ball")
    >>> _ = b.link("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> _ = b.joint("height", "prismatic", parent="world", child="ball")
    >>> ball = b.build(gravity=(0, 0, -9.81))
    >>> run = ball.simulate([1.1], duration=1.0, contacts=[rc.Touch("ball", radius=0.1, restitution=0.5)])
    >>> [round(one.t, 6) for one in run.events], round(float(np.sqrt(2 / 9.81)), 6)
    ([0.451524, 0.903047], 0.451524)
    """

    link: str
    at: Triple = (0.0, 0.0, 0.0)
    radius: float = 0.0
    axis: Triple | None = None
    normal: Triple = (0.0, 0.0, 1.0)
    height: float = 0.0
    friction: float = 0.6
    restitution: float = 0.0
    rest_speed: float = 1e-3
    name: str = ""

    def __post_init__(self) -> None:
        from recursa.model.inputs import finite, floats, name_of

        name_of(self.link, "link of a Touch")
        what = f"what touches with link '{self.link}'"
        for name in ("at", "normal", *(("axis",) if self.axis is not None else ())):
            numbers = floats(getattr(self, name), 3, f"{what}: {name}")
            object.__setattr__(self, name, tuple(finite(x, f"{what}: {name}") for x in numbers))
        for name in ("normal", *(("axis",) if self.axis is not None else ())):
            length = math.hypot(*getattr(self, name))
            if not length > 0.0:
                raise ModelError(f"{what}: {name} is (0, 0, 0), which is no direction")
            object.__setattr__(self, name, tuple(x / length for x in getattr(self, name)))
        for name in ("radius", "height", "friction", "restitution", "rest_speed"):
            value = finite(getattr(self, name), f"{what}: {name}")
            object.__setattr__(self, name, value)
            if value < 0.0 and name != "height":
                raise ModelError(f"{what}: {name} must be at least 0, not {value:g}")
        if self.restitution > 1.0:
            raise ModelError(f"{what}: restitution is {self.restitution:g}; over 1 impacts would make energy")
        if self.axis is not None and self.radius == 0.0:
            raise ModelError(f"{what}: a wheel, which has an axis, needs a radius")
        object.__setattr__(self, "name", str(self.name) or self.link)


def touches_of(model: Model, given: Any) -> tuple[Touch, ...]:
    """What ``contacts=`` of simulate says, checked: one Touch or several, of links that there are."""
    if given is None:
        return ()
    listed = (given,) if isinstance(given, Touch) else tuple(given) if isinstance(given, Iterable) else (given,)
    for one in listed:
        if not isinstance(one, Touch):
            raise StateError(f"contacts takes rc.Touch(link, ...) or a list of them, not {one!r}")
        model.link_index(one.link)
    return listed
