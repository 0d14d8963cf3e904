"""Names of the bundled robots and robot files, for whoever proposes one without building it."""

BUNDLED = ("stanford", "planar", "puma560", "panda_like", "ur5_like", "chain", "tree", "free_flyer", "space_robot")

FILES = ("desk_arm", "quadruped")
"""Those that come as URDF files, in the folder urdf/."""
