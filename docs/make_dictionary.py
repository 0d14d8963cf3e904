"""The dictionaries of coming-from.md, from the table that answers wrong names: conf.py puts them in when the docs are built.

``python docs/make_dictionary.py`` prints the page.
"""

from __future__ import annotations

import re
from pathlib import Path

from recursa.other_names import OF_ROBOTS, OF_THE_MODULE

PAGE = Path(__file__).with_name("coming-from.md")
MARK = re.compile(r"<!-- dictionary: (\w+) -->")
# Which library a name is of: the first row that fits; the last has what is left.
LIBRARIES = {
    "nobody": r"M|n|fk|ik|idyn|dof|show|step|names|inertia|calc_inverse_dynamics|forward_kinematics|inverse_kinematics|rollout",
    "mujoco": r"mj.*|Mj.*|xpos|qfrc_bias|subtree_com|jnt_range|from_xml_.*",
    "drake": r"Calc.*|num_.*|MultibodyPlant",
    "pybullet": r"calculate.*|getLinkState|stepSimulation|load[A-Z].*",
    "toolbox": r"rne|itorque|paycap|fdyn|accel|inertia_x|coriolis|gravload|friction|fkine\w*|jacob[0e]\w*|hessian0|maniplty"
    r"|ik\w+|random_q|qlim|plot|teach|DHRobot|\w*DH|SerialLink|ERobot|URDF|models|Panda|jtraj",
    "pinocchio": r".*",
}


def library_of(name: str) -> str:
    """Where a name comes from."""
    return next(library for library, names in LIBRARIES.items() if re.fullmatch(names, name))


def dictionary(library: str) -> str:
    """A table: the calls of a library, and ours."""
    rows: dict[str, list[str]] = {}
    for table, before in ((OF_THE_MODULE, ""), (OF_ROBOTS, "robot.")):
        for theirs, ours in table.items():
            if library_of(theirs) == library and (before or theirs not in OF_ROBOTS):
                rows.setdefault(ours if ours.startswith("rc.") else before + ours, []).append(theirs)
    lines = [f"| {', '.join(f'`{name}`' for name in theirs)} | {_code(ours)} |" for ours, theirs in rows.items()]
    return "\n".join(["| there | here |", "|---|---|", *lines])


def _code(ours: str) -> str:
    """A call in code, and what is said after it in words."""
    call, mark, words = re.fullmatch(r"(.*?[)\]]|[\w.]+)(,? |$)(.*)", ours).groups()  # type: ignore[union-attr]
    return f"`{call}`{mark}{words}".strip()


def filled(text: str) -> str:
    """The page with its tables."""
    return MARK.sub(lambda found: dictionary(found[1]), text)


if __name__ == "__main__":
    print(filled(PAGE.read_text("utf-8")))
