"""Names of the bundled robots, for whoever proposes one without building it."""

BUNDLED = ("stanford", "planar", "puma560", "panda_like", "ur5_like", "chain", "tree", "free_flyer", "space_robot")
