"""Whether a robot flies freely: it hangs on one free joint, and nothing else holds it."""

from __future__ import annotations

from recursa.errors import NoSweepError
from recursa.model.model import WORLD, Model


def flies_freely(model: Model) -> bool:
    """Whether it does, with independent joints."""
    roots = [joint for joint in model.joints if joint.parent == WORLD]
    return len(roots) == 1 and roots[0].kind.is_free and all(joint.independent for joint in model.joints)


def require_free_flyer(model: Model, what: str) -> None:
    """Refuse robots that something holds, or whose joints are tied; ``what`` needs a free flyer."""
    if flies_freely(model):
        return
    roots = [joint for joint in model.joints if joint.parent == WORLD]
    if len(roots) == 1 and roots[0].kind.is_free:
        raise NoSweepError(
            f"{what}: robot '{model.name}' has tied joints, and its links are not moved by independent ones. "
            f"{model.how_to_untie}"
        )
    held = ", ".join(f"'{joint.name}' ({joint.kind.name})" for joint in roots) or "nothing that moves"
    others = ', or use a method for any base, such as "articulated"' if what.startswith("method") else ""
    if any(joint.kind.is_free for joint in roots):
        raise NoSweepError(
            f"{what}: robot '{model.name}' has more than a free base: at the world it has {held}, and a free flyer has "
            "one free joint there and nothing else. Bodies that move beside the base, such as a free target, have "
            "momentum of their own, which this does not separate from the robot's.\n"
            "  Load the robot without them, or weld them to a link if it holds them (a fixed joint); dynamics, "
            f"momentum, simulations and contacts of all of them together work{others}."
        )
    raise NoSweepError(
        f"{what}: robot '{model.name}' is no free flyer: at the world it has {held}, where one free joint is needed.\n"
        f"  Load it with floating=True{others}."
    )
