"""Names of the bundled robots and robot files, for whoever proposes one without building it."""

TREES = ("stanford", "planar", "puma560", "panda_like", "ur5_like", "chain", "tree", "free_flyer", "space_robot")

MECHANISMS = (
    "four_bar", "slider_crank", "five_bar", "delta", "stewart", "gripper", "two_arms", "standing_quadruped",
)  # fmt: skip
"""Those with closed loops and contacts."""

BUNDLED = TREES + MECHANISMS

FILES = ("desk_arm", "quadruped")
"""Those that come as URDF files, in the folder urdf/."""
