"""Robot descriptions for tests: one text with every joint kind, and the real URDF files of example-robot-data.

That package is on PyPI; without it there are no real files and the tests that need them are skipped.
"""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path

_INSIDE = Path("cmeel.prefix", "share", "example-robot-data", "robots")


def robot_folder() -> Path:
    """The folder of example-robot-data with one folder per family of robots; it need not exist."""
    return Path(sysconfig.get_path("purelib")) / _INSIDE


@cache
def urdf_files() -> list[Path]:
    """All URDF files of example-robot-data, sorted by path; an empty list if the package is not installed."""
    places = {Path(sysconfig.get_path(scheme)) / _INSIDE for scheme in ("purelib", "platlib")}
    return sorted(path for place in places for path in place.rglob("*.urdf"))


def relative_name(path: Path) -> str:
    """A short name for a file: its folder and its own name."""
    return f"{path.parents[1].name}/{path.name}"


def small_urdf_files(limit: int) -> list[Path]:
    """The URDF files of at most ``limit`` bytes."""
    return [path for path in urdf_files() if path.stat().st_size <= limit]


ALL_KINDS = """<?xml version="1.0"?>
<robot name="zoo">
  <link name="base"/>
  <link name="a">
    <inertial>
      <origin xyz="0.1 -0.2 0.3" rpy="0 0 1.5707963267948966"/>
      <mass value="2.5"/>
      <inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="2.5"/>
    </inertial>
  </link>
  <link name="b"/> <link name="c"/> <link name="d"/> <link name="e"/> <link name="f"/> <link name="g"/> <link name="h"/>
  <joint name="turn" type="revolute">
    <origin xyz="1 2 3" rpy="0.1 -0.2 0.3"/>
    <parent link="base"/> <child link="a"/>
    <axis xyz="0 0 2"/>
    <limit lower="-1.5" upper="+2e0" effort="30" velocity="4"/>
    <dynamics damping="0.5" friction=".25" armature="0.125"/>
  </joint>
  <joint name="spin" type="continuous">
    <parent link="a"/> <child link="b"/> <limit lower="-1" upper="1" effort="7"/> <mimic joint="turn"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="b"/> <child link="c"/> <limit velocity="3"/> <mimic joint="turn" multiplier="-2" offset="0.5"/>
  </joint>
  <joint name="weld" type="fixed">
    <parent link="c"/> <child link="d"/> <limit lower="1" upper="2" effort="1"/> <dynamics damping="1"/>
  </joint>
  <joint name="fly" type="floating"> <parent link="d"/> <child link="e"/> <dynamics armature="1 2 3 4 5 6"/> </joint>
  <joint name="glide" type="planar"> <parent link="e"/> <child link="f"/> <axis xyz="0 1 0"/>
    <dynamics damping="1 2 3" friction="4"/> </joint>
  <joint name="ball" type="spherical"> <parent link="f"/> <child link="g"/> </joint>
  <joint name="screw" type="helical"> <parent link="g"/> <child link="h"/> <axis xyz="0 0 1" pitch="0.01"/>
    <limit lower="-10" upper="10"/> </joint>
</robot>
"""
