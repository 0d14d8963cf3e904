"""What of a robot may be moved for a result, because the result does not depend on it: each result declares it."""

from __future__ import annotations

from enum import Enum

from recursa.model.canonical import canonical, regrouped
from recursa.model.model import Model


class MayMove(Enum):
    """What kernels for a result may move, to where it costs less. A result that says nothing is left alone.

    - ``NOTHING``: it is about frames or inertias of bodies, or in world axes, as reaction wrenches and poses are.
    - ``FRAMES``: link frames, onto joint axes. Inertias have to stay with their bodies, since the result tells apart
      what each of them contributes, or is made of twists at mass centres.
    - ``INERTIAS``: inertial parameters too, from bodies to their parents. It follows from the mass matrix, the bias and
      what acts on links: torques, accelerations, their derivatives and factors, compliances in link axes.
    - ``INERTIAS_FOR_EULER``: the same, for a recursion in Euler tensors, which likes other parameters to be zero.
    """

    NOTHING = "nothing"
    FRAMES = "link frames"
    INERTIAS = "link frames and inertias"
    INERTIAS_FOR_EULER = "link frames and inertias, for Euler tensors"

    def moved(self, model: Model) -> Model:
        """The same mechanism, moved."""
        if self is MayMove.NOTHING:
            return model
        on_axes = canonical(model)
        if self is MayMove.FRAMES:
            return on_axes
        return regrouped(on_axes, "inertia" if self is MayMove.INERTIAS else "euler")
