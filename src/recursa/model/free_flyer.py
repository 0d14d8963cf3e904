"""Whether a robot flies freely: it hangs on one free joint, and nothing else holds it."""

from __future__ import annotations

from recursa.errors import NoSweepError
from recursa.model.model import WORLD, Model


def require_free_flyer(model: Model, what: str) -> None:
    """Refuse robots that something holds, or whose joints are tied; ``what`` needs a free flyer."""
    roots = [joint for joint in model.joints if joint.parent == WORLD]
    if len(roots) == 1 and roots[0].kind.name == "free" and all(joint.independent for joint in model.joints):
        return
    if len(roots) == 1 and roots[0].kind.name == "free":
        raise NoSweepError(
            f"{what}: robot '{model.name}' has tied joints, and its links are not moved by independent ones. "
            f"{model.how_to_untie}"
        )
    held = ", ".join(f"'{joint.name}' ({joint.kind.name})" for joint in roots) or "nothing that moves"
    others = ', or use a method for any base, such as "articulated"' if what.startswith("method") else ""
    raise NoSweepError(
        f"{what}: robot '{model.name}' is no free flyer: at the world it has {held}, where one free joint is needed.\n"
        f"  Load it with floating=True{others}."
    )
