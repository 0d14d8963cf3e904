"""Plans of sweeps over the tree, and the engine that runs them on any scalar."""

from recursa.sweeps.engine import Values, run
from recursa.sweeps.fusing import following, fuse, renamed
from recursa.sweeps.input_kinds import Given
from recursa.sweeps.plan import (
    Buffer,
    Direction,
    Plan,
    PlanError,
    Step,
    Sweep,
    base_to_tip,
    check,
    each_link,
    each_two_apart,
    from_each_inward,
    tip_to_base,
)

__all__ = [
    "Buffer",
    "Direction",
    "Given",
    "Plan",
    "PlanError",
    "Step",
    "Sweep",
    "Values",
    "base_to_tip",
    "check",
    "each_link",
    "each_two_apart",
    "following",
    "from_each_inward",
    "fuse",
    "renamed",
    "run",
    "tip_to_base",
]
