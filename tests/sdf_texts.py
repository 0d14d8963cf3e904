"""SDF texts for tests, one for every part of the format that says something about dynamics."""

from __future__ import annotations


def inertial(mass: float, pose: str = "0.05 -0.02 0.1 0.1 0.2 -0.3") -> str:
    return f"""<inertial><pose>{pose}</pose><mass>{mass}</mass><inertia><ixx>{0.02 * mass}</ixx><iyy>{0.03 * mass}</iyy>
      <izz>{0.025 * mass}</izz><ixy>{0.001 * mass}</ixy><ixz>{-0.002 * mass}</ixz><iyz>{0.0015 * mass}</iyz></inertia>
      </inertial>"""


def link(name: str, mass: float = 1.5, pose: str = "", more: str = "") -> str:
    return f'<link name="{name}">{pose}{inertial(mass)}{more}</link>'


def joint(name: str, kind: str, parent: str, child: str, axis: str = "0 0 1", more: str = "", second: str = "") -> str:
    axes = f"<axis><xyz>{axis}</xyz></axis>" if axis and not axis.startswith("<") else axis
    two = f"<axis2><xyz>{second}</xyz></axis2>" if second else ""
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{ends}{axes}{two}{more}</joint>'


def model(*parts: str, version: str = "1.9", attributes: str = "", name: str = "robot") -> str:
    inside = "\n".join(parts)
    return (
        f'<?xml version="1.0"?>\n<sdf version="{version}"><model name="{name}" {attributes}>\n{inside}\n</model></sdf>'
    )


def pose(numbers: str, **attributes: str) -> str:
    said = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<pose{said}>{numbers}</pose>"


_ARM = (
    link("base", 4.0, pose("0 0 0.3 0.1 0 0.2")),
    link("upper", 2.0, pose("0.4 0.1 0.5 0.3 -0.2 0.1")),
    link("lower", 1.0, pose("0.9 0.1 0.6 0 0.5 0")),
)

TEXTS: dict[str, str] = {
    "arm": model(
        *_ARM,
        joint("a", "revolute", "world", "base", "0 0 1"),
        joint("b", "revolute", "base", "upper", "0.6 0.8 0"),
        joint("c", "prismatic", "upper", "lower", "1 0 0", pose("0.1 0.2 0.3 0.4 0.5 0.6")),
    ),
    "floating": model(*_ARM, joint("b", "continuous", "base", "upper", "0 1 0"),
                      joint("c", "revolute", "upper", "lower", "1 0 0"), pose("1 2 3 0.3 0.2 0.1")),
    "model_pose": model(*_ARM, pose("1 2 3 0.3 0.2 0.1"), joint("a", "revolute", "world", "base", "0 1 0"),
                        joint("b", "revolute", "base", "upper", "0 1 0"), joint("c", "fixed", "upper", "lower", "")),
    "frames": model(
        '<frame name="f" attached_to="upper"><pose>0.1 0.2 0.3 0.1 0.2 0.3</pose></frame>',
        '<frame name="g"><pose relative_to="f">0.2 0 0 0 0.4 0</pose></frame>',
        '<frame name="h" attached_to="upper"><pose relative_to="lower">0.2 0 0 0 0.4 0</pose></frame>',
        link("base", 4.0, pose("0 0 0.3 0.1 0 0.2")),
        link("upper", 2.0, pose("0.4 0.1 0.5 0.3 -0.2 0.1", relative_to="base")),
        link("lower", 1.0, pose("0.3 0.1 0.2 0 0.5 0", relative_to="f")),
        joint("a", "fixed", "world", "base", ""),
        joint("b", "revolute", "base", "upper", '<axis><xyz expressed_in="g">0 0.6 0.8</xyz></axis>',
              pose("0.1 0 0 0 0 0.3", relative_to="g")),
        joint("c", "revolute", "f", "lower", '<axis><xyz expressed_in="__model__">0 0 1</xyz></axis>'),
    ),
    "version_1.4": model(*_ARM, joint("a", "revolute", "world", "base", "0 0.6 0.8"),
                         joint("b", "revolute", "base", "upper", "0.6 0 0.8", pose("0.1 0 0 0.4 0.2 0.3")),
                         joint("c", "revolute", "upper", "lower", "0 1 0"), version="1.4"),
    "version_1.6": model(
        *_ARM,
        joint("a", "revolute", "world", "base", "0 0.6 0.8"),
        joint("b", "revolute", "base", "upper",
              "<axis><xyz>0.6 0 0.8</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>",
              pose("0.1 0 0 0.4 0.2 0.3")),
        joint("c", "revolute", "upper", "lower",
              "<axis><xyz>0 1 0</xyz><use_parent_model_frame>false</use_parent_model_frame></axis>"), version="1.6",
    ),
    "universal": model(*_ARM, joint("a", "fixed", "world", "base", ""),
                       joint("b", "universal", "base", "upper", "1 0 0", pose("0.1 0.2 0 0.2 0.1 0.3"), "0 1 0"),
                       joint("c", "revolute", "upper", "lower", "0 0 1")),
    "ball": model(*_ARM, joint("a", "revolute", "world", "base", "1 0 0"),
                  joint("b", "ball", "base", "upper", "", pose("0.1 0.2 0 0.2 0.1 0.3")),
                  joint("c", "revolute", "upper", "lower", "0 0 1")),
    "screw": model(*_ARM, joint("a", "screw", "world", "base", "0 0 1", "<screw_thread_pitch>0.3</screw_thread_pitch>"),
                   joint("b", "screw", "base", "upper", "0 0.6 0.8", "<thread_pitch>-8.0</thread_pitch>"),
                   joint("c", "revolute", "upper", "lower", "0 0 1"), version="1.11"),
    "quaternion_and_degrees": model(
        link("base", 4.0, pose("0 0 0.3 0.1825741858350554 0.3651483716701107 0.5477225575051661 0.7302967433402214",
                               rotation_format="quat_xyzw")),
        link("upper", 2.0, pose("0.4 0.1 0.5 10 20 30", degrees="true")),
        joint("a", "revolute", "world", "base", "0 0 1"), joint("b", "revolute", "base", "upper", "0 1 0"),
    ),
    "nested": model(
        link("base", 4.0, pose("0 0 0.3 0.1 0 0.2")),
        '<frame name="mount" attached_to="base"><pose>0.2 0.1 0.3 0.2 0.3 0.4</pose></frame>',
        f"""<model name="hand" placement_frame="flange"><pose relative_to="mount">0.1 0 0 0 0.3 0</pose>
          <frame name="flange" attached_to="palm"><pose>0.1 0.1 0 0 0 0.5</pose></frame>
          {link("palm", 1.0, pose("0.2 0 0 0 0 0.1"))}{link("finger", 0.3, pose("0.5 0 0.1 0 0.2 0"))}
          {joint("grip", "prismatic", "palm", "finger", '<axis><xyz expressed_in="__model__">0 1 0</xyz></axis>')}
          </model>""",
        joint("a", "revolute", "world", "base", "0 0 1"),
        joint("b", "revolute", "base", "hand::palm", "0 1 0"),
    ),
    "free_bodies": model(link("one", 1.0, pose("1 0 0 0.1 0 0")), link("two", 2.0, pose("0 1 0 0 0.2 0"))),
    "defaults": model('<link name="one"/>', '<link name="two"><pose>1 0 0 0 0 0</pose><inertial/></link>',
                      joint("a", "revolute", "world", "one", "0 1 0"), joint("b", "revolute", "one", "two", "0 1 0")),
    "world": f"""<sdf version="1.8"><world name="w"><gravity>0.5 0 -3.7</gravity>
        <model name="box"><static>true</static>{link("floor")}</model>
        <model name="robot"><pose>0.1 0.2 0.3 0.3 0 0</pose>{"".join(_ARM)}
          {joint("b", "revolute", "base", "upper", "0 1 0")}{joint("c", "revolute", "upper", "lower", "0 0 1")}
          {joint("a", "revolute", "world", "base", "0.6 0 0.8")}</model></world></sdf>""",
    "static": model("<static>true</static>", *_ARM, pose("1 2 3 0.3 0.2 0.1"),
                    joint("b", "fixed", "base", "upper", ""), joint("c", "fixed", "upper", "lower", "")),
}  # fmt: skip

HAND = model(
    link("palm", 1.0, pose("0.2 0 0 0 0 0.1")),
    link("finger", 0.3, pose("0.5 0 0.1 0 0.2 0")),
    '<frame name="grip_at" attached_to="palm"><pose relative_to="__model__">0.1 0.3 0 0 0 0.5</pose></frame>',
    '<frame name="middle"><pose>0.1 0.3 0 0 0 0.5</pose></frame>',
    joint("grip", "revolute", "palm", "finger", '<axis><xyz expressed_in="__model__">0 0.6 0.8</xyz></axis>',
          pose("0.01 0.02 0.03 0.1 0 0", relative_to="middle")),
    pose("0.3 0.1 0.2 0.4 0 0.1"),
    name="hand",
)  # fmt: skip


def with_hand(include: str, child: str) -> str:
    """A model that includes the file hand.sdf and hangs it on."""
    return model(
        link("base", 4.0, pose("0 0 0.3 0.1 0 0.2")),
        '<frame name="mount" attached_to="base"><pose>0.2 0.1 0.3 0.2 0.3 0.4</pose></frame>',
        include,
        joint("a", "revolute", "world", "base", "0 0 1"),
        joint("b", "revolute", "base", child, "0 1 0"),
        name="holder",
    )


INCLUDES = {
    "plain": with_hand("<include><uri>URI</uri></include>", "hand::palm"),
    "named": with_hand(
        '<include><uri>URI</uri><name>left</name><pose relative_to="mount">0.1 0.2 0 0 0 0.4</pose></include>',
        "left::palm",
    ),
    "placed": with_hand(
        "<include><uri>URI</uri><name>left</name><placement_frame>grip_at</placement_frame>"
        '<pose relative_to="mount">0.1 0.2 0 0 0 0.4</pose></include>',
        "left::palm",
    ),
    "merged": with_hand('<include merge="true"><uri>URI</uri></include>', "palm"),
    "merged_and_placed": with_hand(
        '<include merge="true"><uri>URI</uri><placement_frame>grip_at</placement_frame>'
        '<pose relative_to="mount">0.1 0.2 0 0 0 0.4</pose></include>',
        "palm",
    ),
}
"""Models that include HAND; URI stands for where it is."""
