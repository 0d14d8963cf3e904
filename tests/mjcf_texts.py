"""Small MJCF models, one for each thing that a file can say."""

from __future__ import annotations

BOX = '<inertial pos="0.02 -0.01 0.1" quat="1 0.2 -0.1 0.3" mass="1.3" diaginertia="0.03 0.02 0.015"/>'
ROD = '<geom type="capsule" size="0.03" fromto="0 0 0 0.05 0.1 0.4" density="700"/>'


def model(body: str, beside: str = "", name: str = "small") -> str:
    return (
        f'<mujoco model="{name}">\n<compiler angle="radian"/>\n{beside}\n<worldbody>\n{body}\n</worldbody>\n</mujoco>\n'
    )


PENDULUM = """<mujoco model="pendulum">
  <worldbody>
    <body name="rod" pos="0 0 1">
      <joint name="hinge" axis="0 1 0" damping="0.1" range="-90 90"/>
      <geom name="shape" type="capsule" size="0.02" fromto="0 0 0 0 0 -1" mass="2"/>
      <site name="tip" pos="0 0 -1"/>
    </body>
  </worldbody>
  <actuator><motor name="drive" joint="hinge" gear="20" ctrlrange="-1 1"/></actuator>
</mujoco>
"""

MANY_JOINTS = f"""<mujoco model="many_joints">
  <compiler angle="radian" eulerseq="zyx"/>
  <option gravity="0.4 -0.3 -9.5"/>
  <default>
    <joint armature="0.02"/>
    <default class="light"><geom density="300"/><joint armature="0.004" damping="0.3"/></default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="base" pos="0 0.1 1" euler="0.1 0.2 0.3">
      <freejoint name="root"/>
      <geom type="box" size="0.1 0.2 0.15" pos="0.02 0 0" euler="0.3 0.1 0.2"/>
      <site name="base" pos="0.1 0 0" euler="0.3 0.2 0.4"/>
      <body name="arm" pos="0.1 0.2 0.3" euler="1 0.4 0.2">
        <joint name="turn" axis="1 2 3" pos="0.1 0.2 0.3" ref="0.4" range="-1 1" limited="true"/>
        <joint name="slide" type="slide" ref="0.3" axis="0 1 1" frictionloss="0.2"/>
        <joint axis="0 0 1" pos="-0.1 0 0.2"/>
        {ROD}
        <body pos="0 0 0.4" quat="1 0.2 0.3 0.4" childclass="light">
          <joint type="ball" pos="0.1 0 0.2"/>
          <geom type="ellipsoid" size="0.1 0.2 0.13" pos="0.1 0.1 0" euler="0.3 0.3 0.3"/>
          <body name="tip" pos="0.3 0 0.1" axisangle="1 1 0 0.7">
            <geom type="sphere" size="0.05"/>
            <site pos="0 0.1 0"/>
          </body>
        </body>
      </body>
      <body name="wheel" pos="0 -0.3 0">
        <joint name="wheel" axis="0 1 0" pos="0 0 0.01"/>
        <geom type="cylinder" size="0.1 0.02" zaxis="0 1 0.1"/>
      </body>
    </body>
    <body name="ball" pos="2 0 0"><freejoint/>{BOX}</body>
  </worldbody>
</mujoco>
"""

TEXTS = {
    "pendulum": PENDULUM,
    "many_joints": MANY_JOINTS,
    "full_inertia": model(
        '<body name="a" pos="0 0 1"><joint axis="1 1 0"/><inertial pos="0.1 0 0" mass="2" '
        'fullinertia="0.1 0.2 0.25 0.01 -0.02 0.03"/></body>'
    ),
    "inertia_from_geoms": model(
        f'<body name="a"><joint axis="1 0 0.2"/>{BOX}{ROD}'
        '<body name="b" pos="0 0 0.4"><joint type="slide" axis="0 1 0"/>'
        '<geom type="box" size="0.1 0.05 0.02" mass="0.7"/>'
        '<geom type="sphere" size="0.1" mass="0" group="2"/></body></body>',
        '<compiler inertiafromgeom="true" inertiagrouprange="0 1"/>',
    ),
    "total_mass": model(f'<body><joint axis="0 1 0"/>{BOX}</body>', '<compiler settotalmass="7"/>'),
    "two_balls": model(
        f'<body name="a"><joint type="ball" armature="0.1" damping="0.2"/>{BOX}'
        f'<body name="b" pos="0 0 0.5"><joint type="slide" axis="1 0 0.3"/>'
        f'<joint type="ball" pos="0 0.1 0.2"/>{ROD}</body></body>'
    ),
    "frames": model(
        '<frame pos="0 0 0.3" euler="0.2 0 0.1"><body name="a"><frame euler="0 0.3 0">'
        '<joint name="j" axis="0 0 1" pos="0.1 0 0"/>'
        f'<site name="s" pos="0.1 0 0"/></frame>{ROD}<replicate count="3" offset="0.1 0 0.1" euler="0 0 0.4">'
        f'<body name="leaf" pos="0 0.1 0"><joint name="k" axis="0 1 0"/>{ROD}</body></replicate></body></frame>'
    ),
    "no_gravity": model(f'<body><joint axis="0 1 0"/>{ROD}</body>', '<option><flag gravity="disable"/></option>'),
    "welded": model(
        f'<body name="stand" pos="0 0 1">{BOX}<body name="a" pos="0.1 0 0"><joint axis="0 1 0"/>{ROD}'
        f'<body name="b" pos="0 0 0.3" euler="0.1 0.2 0.3">{BOX}<site name="s" pos="1 2 3"/></body></body></body>'
    ),
    "mocap": model(f'<body name="goal" mocap="true" pos="1 0 0">{BOX}</body><body><joint axis="0 1 0"/>{ROD}</body>'),
    "rotors_of_motors": model(
        f'<body name="a"><joint name="j" axis="0 1 0" armature="0.1"/>{ROD}</body></worldbody>'
        '<actuator><motor joint="j" gear="3" armature="0.05"/><motor joint="j" gear="2"/></actuator><worldbody>'
    ),
    "springs_and_tendons": model(
        f'<body name="a"><joint name="j" axis="0 1 0" stiffness="3" springref="0.2" damping="0.4"/>{ROD}'
        f'<site name="s" pos="0 0 0.2"/><body name="b" pos="0 0 0.4"><joint name="k" axis="1 0 0"/>{ROD}'
        '<site name="t" pos="0.1 0 0.2"/></body></body></worldbody><tendon><fixed name="f" stiffness="2">'
        '<joint joint="j" coef="1"/><joint joint="k" coef="-2"/></fixed>'
        '<spatial name="string" damping="1"><site site="s"/>'
        '<site site="t"/></spatial></tendon><worldbody>'
    ),
    "fluid": model(
        f'<body gravcomp="0.5"><joint axis="0 1 0"/>{ROD}</body>',
        '<option density="1.2" viscosity="0.1" wind="1 0 0"/>',
    ),
}
"""What MuJoCo and we compute the same from."""

CONSTRAINED = f"""<mujoco model="constrained">
  <compiler angle="radian"/>
  <worldbody>
    <body name="base" pos="0 0 1"><freejoint name="root"/>{BOX}
      <site name="thrust" pos="0.1 0 0" euler="0.2 0 0"/></body>
    <body name="a"><joint name="j" axis="0 1 0" ref="0.2" actuatorfrcrange="-3 2"/>{ROD}
      <site name="end" pos="0 0.1 0.4"/>
      <body name="b" pos="0 0 0.4"><joint name="k" axis="1 0 0" ref="-0.3"/>{ROD}</body>
    </body>
    <body name="c" pos="1 0 0"><joint name="ball" type="ball"/>{ROD}
      <site name="hook" pos="0.3 0 0.2" euler="0 1 0"/></body>
  </worldbody>
  <equality>
    <connect name="pin" body1="b" body2="c" anchor="0 0.1 0.4"/>
    <connect name="hook" site1="end" site2="hook"/>
    <weld name="weld" body1="a" body2="c" relpose="0.1 0.2 0.3 1 0.2 0.3 0.4" anchor="0.1 0 0"/>
    <weld name="default_weld" body1="base" body2="c"/>
    <joint name="coupled" joint1="j" joint2="k" polycoef="0.1 2 3 0 -1"/>
    <joint name="held" joint1="j" polycoef="0.5 0 0 0 0"/>
    <connect name="off" body1="b" body2="c" anchor="0 0 0" active="false"/>
  </equality>
  <tendon><fixed name="both"><joint joint="j" coef="1.5"/><joint joint="k" coef="-2"/></fixed></tendon>
  <actuator>
    <motor name="m" joint="k" gear="20" ctrlrange="-2 1"/>
    <position name="servo" joint="j" kp="10"/>
    <motor name="pair" tendon="both" gear="3" forcerange="-5 5"/>
    <motor name="ball" joint="ball" gear="1 2 3"/>
    <motor name="spin" joint="root" gear="0 0 0 1 2 3"/>
    <motor name="up" site="thrust" gear="0 0 1 0 0 -0.02"/>
    <motor name="push" joint="root" gear="1 0 0 0 0 0"/>
  </actuator>
  <keyframe>
    <key name="home" qpos="0.1 0.2 0.9 1 0.2 0 0.1 0.3 -0.2 1 0 0.5 0" qvel="1 2 3 0.4 0.5 0.6 0.7 0.8 0.9 1 1.1"/>
    <key qpos="0 0 1 1 0 0 0 0.2 -0.3 1 0 0 0"/>
  </keyframe>
</mujoco>
"""
