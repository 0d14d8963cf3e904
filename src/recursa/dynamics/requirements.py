"""What a robot lacks for its dynamics, and what is said where a computation needs it.

Decided once per model, before anything is evaluated: at a state, rounding may hide that a hinge inertia is zero.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from recursa.dynamics.hinges import ROUNDING, Moments, Singular, idle_hinges, principal, tensors_of_bodies
from recursa.dynamics.needs import needs_hinges, needs_inertia, spared_hinges
from recursa.errors import ModelError, NoSweepError, SingularHingeError, shortened
from recursa.model.constraints import called
from recursa.model.model import Model
from recursa.quantities.quantity import Refusal
from recursa.sweeps.plan import Plan

NO_MASSES = "none of its moving links has mass or inertia: it has kinematics, and no dynamics."
GIVE_MASSES = (
    "Give its links masses and inertias (<inertial> in a URDF), or inverse and forward dynamics parameters= of its own."
)


@dataclass(frozen=True)
class Lacking:
    """What a model lacks: joints that have nothing to move, or all masses."""

    model: Model
    hinges: tuple[Singular, ...]
    massless: bool

    @classmethod
    def of(cls, model: Model, moments: Moments | None = None) -> Lacking:
        """Found out once; two sweeps on floats at most. ``moments``: the principal moments of the bodies, if known."""
        hinges = tuple(idle_hinges(model, moments or principal(tensors_of_bodies(model))))
        return cls(model, hinges, bool(hinges) and not any(any(inertia.components()) for inertia in model.inertias))

    def require(self, plan: Plan) -> None:
        """Raise where a plan needs what is not there."""
        if self.hinges and needs_hinges(plan):
            self.require_hinges(spared_hinges(plan))
        if self.massless and needs_inertia(plan):
            raise ModelError(self._no_masses)

    def require_hinges(self, spared: Container[int] = ()) -> None:
        """Raise where a joint has nothing to move, unless it is spared."""
        for found in (one for one in self.hinges if one.joint not in spared):
            error = singular_hinge(self.model, found)
            raise SingularHingeError(f"{self._no_masses}\n  {error}") if self.massless else error

    @property
    def _no_masses(self) -> str:
        return f"robot '{self.model.name}': {NO_MASSES} {GIVE_MASSES}"


def singular_hinge(model: Model, found: Singular, given: str = "") -> SingularHingeError:
    """The error for a joint that has nothing to move; ``given`` says where its inertia came from, if not the model."""
    reason, fix = hinge_words(model, found, given)
    return SingularHingeError(f"joint '{model.joints[found.joint].name}': {reason}\n  {fix}")


def hinge_words(model: Model, found: Singular, given: str = "", negative: bool | None = None) -> tuple[str, str]:
    """What is wrong with a joint that has nothing to move, and what to do.

    ``negative`` is what :func:`has_negative_data` says of the model, if that is known: it looks at all bodies.
    """
    joint = model.joints[found.joint]
    which = "" if joint.kind.nv == 1 else f" in freedom {found.freedom + 1} of {joint.kind.nv}"
    reason = f"hinge inertia D is {found.pivot:.3g}{which} (needs > 0): the bodies from '{joint.child}' outward have "
    if found.pivot < 0.0 and (has_negative_data(model) if negative is None else negative):
        fix = f"Look for a negative moment of inertia, mass or armature from link '{joint.child}' outward."
        return f"{reason}less than no inertia along its motion.", fix
    fix = f"Give link '{joint.child}' a mass and inertia{given}, give the joint an armature, or make it fixed."
    return f"{reason}no inertia along its motion.", fix


def has_negative_data(model: Model) -> bool:
    """Whether any mass, moment of inertia or armature is negative: then a hinge inertia can be, too."""
    masses = (inertia.mass for inertia in model.inertias)
    moments = (low + ROUNDING * abs(high) for low, _, high in principal(tensors_of_bodies(model)))  # but for rounding
    armatures = (x for joint in model.joints for x in joint.armature)
    return any(x < 0.0 for x in (*masses, *moments, *armatures))


def refuse_constraints(model: Model, what: str, refusal: Refusal | None = None) -> None:
    """Raise for a robot with constraints, which ``what`` would not obey; name what to call instead."""
    if not model.description.constraints:
        return
    names = shortened([f"the {called(constraint)}" for constraint in model.description.constraints])
    instead = "" if refusal is None else f"Use {refusal.instead}. "
    raise NoSweepError(
        f"{what} would answer for the open tree, and robot '{model.name}' has constraints: {names}.\n"
        f"  {instead}robot.without_constraints() is the open tree itself."
    )
