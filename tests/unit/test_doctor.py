"""The doctor: for every check a robot that has exactly that finding, and a near miss that is healthy."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest

import recursa as rc
from recursa.doctor import CHECKS
from recursa.doctor.patient import FAR, NARROW, WIDE
from recursa.dynamics.hinges import principal
from recursa.spatial.constants import least_moment
from recursa.spatial.vec3 import SymMat3, Vec3

ARM, JOINT = 3, 4  # lines of the link and the joint in the texts below

Expected = list[tuple[str, str, float | None, int | None]]


def inertial(mass: object = 2.0, com: str = "0.1 0.2 0.05", inertia: tuple[float, ...] = (0.03, 0.04, 0.05)) -> str:
    xx, yy, zz, xy, xz, yz = (*inertia, 0.0, 0.0, 0.0)[:6]
    tensor = f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="{xz}" iyz="{yz}"/>'
    return f'<inertial>{"" if mass is None else f"<mass value={str(mass)!r}/>"}<origin xyz="{com}"/>{tensor}</inertial>'


def one_arm(
    arm: str = inertial(),
    *more: str,
    kind: str = "revolute",
    axis: str = "0 0.6 0.8",
    limit: str = 'lower="-1" upper="2" effort="10" velocity="3"',
    joint: str = "",
    base: str = "",
) -> str:
    """A base on line 2, an arm of half a metre on line 3, the joint between them on line 4, ``more`` from line 5."""
    return "\n".join(
        [
            '<robot name="r">',
            f'<link name="base">{base}</link>',
            f'<link name="arm">{arm}</link>',
            f'<joint name="j" type="{kind}"><parent link="base"/><child link="arm"/><axis xyz="{axis}"/>'
            f'<origin xyz="0.3 0.4 0" rpy="0.1 0.2 0.3"/><limit {limit}/>{joint}</joint>',
            *more,
            "</robot>",
        ]
    )


def welded(name: str, content: str, parent: str = "arm", xyz: str = "0 0 0") -> tuple[str, str]:
    ends = f'<parent link="{parent}"/><child link="{name}"/><origin xyz="{xyz}"/>'
    return f'<link name="{name}">{content}</link>', f'<joint name="to_{name}" type="fixed">{ends}</joint>'


def hinged(name: str, content: str, axis: str, parent: str = "arm", tie: str = "") -> tuple[str, str]:
    ends = f'<parent link="{parent}"/><child link="{name}"/><origin xyz="0 0.1 0.2"/><axis xyz="{axis}"/>'
    ends += f'<mimic joint="{tie}"/>' if tie else ""
    return f'<link name="{name}">{content}</link>', f'<joint name="to_{name}" type="continuous">{ends}</joint>'


def report_on(text: str, **options: object) -> rc.Report:
    return rc.load(text, strict=False, **options).doctor()


def check(report: rc.Report, expected: Expected) -> None:
    """Exactly these findings, in this order, with their numbers."""
    assert [(f.code, f.subject, f.line) for f in report] == [
        (code, about, line) for code, about, _, line in expected
    ], report
    for finding, (_, _, value, _) in zip(report, expected, strict=True):
        assert finding.value == (value if value is None else pytest.approx(value, rel=1e-9, abs=1e-15)), finding
        assert finding.reason.endswith(".") and finding.fix


SHAPE = '<visual><geometry><box size="0.2 0.2 0.4"/></geometry></visual>'
NO_SHORTFALL = (0.03, 0.04, 0.07)  # a flat plate: equality in the triangle inequality
AXIS, COM = np.array([0.0, 0.6, 0.8]), np.array([0.1, 0.2, 0.05])
NEGATIVE_D = AXIS @ (np.array([0.03, 0.04, 0.05]) * AXIS) + 2.0 * np.sum(np.cross(AXIS, COM) ** 2) - 5.0

FINDINGS: dict[str, tuple[str, Expected]] = {
    "negative mass": (one_arm(inertial(-2.0, "0 0 0")), [("mass", "link 'arm'", -2.0, ARM)]),
    "negative mass welded to the world": (one_arm(base=inertial(-1.0)), [("mass", "link 'base'", -1.0, 2)]),
    "missing mass": (one_arm(inertial(None)), [("mass", "link 'arm'", 0.0, ARM)]),
    "indefinite inertia": (
        one_arm(
            inertial(2.0, "0 0 0", (0.03, 0.04, 0.05, 0.04)), *welded("ballast", inertial(9.0, "0 0 0", (1, 1, 1)))
        ),
        [("inertia", "link 'arm'", 0.035 - math.hypot(0.005, 0.04), ARM)],
    ),
    "triangle inequality": (
        one_arm(inertial(2.0, "0 0 0", (0.03, 0.04, 0.08)), *welded("ballast", inertial(9.0, "0 0 0", (1, 1, 1)))),
        [("triangle", "link 'arm'", 0.01, ARM)],
    ),
    "triangle inequality of a turned tensor": (
        one_arm(
            inertial(2.0, "0 0 0", (0.055, 0.055, 0.04, 0.025)), *welded("ballast", inertial(9.0, "0 0 0", (1, 1, 1)))
        ),
        [("triangle", "link 'arm'", 0.01, ARM)],
    ),
    "body of one link, not named again for its pseudo-inertia": (
        one_arm(inertial(inertia=(0.03, 0.04, 0.08))),
        [("triangle", "link 'arm'", 0.01, ARM)],
    ),
    "pseudo-inertia of a merged body": (
        one_arm(inertial(2.0, "0 0 0", NO_SHORTFALL), *welded("lid", inertial(1.0, "0 0 0", (0.03, 0.04, 0.09)))),
        [("triangle", "link 'lid'", 0.02, 5), ("pseudo-inertia", "link 'arm'", -0.01, ARM)],
    ),
    "centre of mass in millimetres": (one_arm(inertial(com="0 30 40")), [("com", "link 'arm'", 50.0, ARM)]),
    "inertia in kg mm^2": (
        one_arm(inertial(inertia=(3e4, 4e4, 5e4))),
        [("units", "link 'arm'", math.sqrt(2.5e4), ARM)],
    ),
    "inertia in tonnes m^2": (
        one_arm(SHAPE + inertial(inertia=(3e-8, 4e-8, 5e-8))),
        [("units", "link 'arm'", math.sqrt(2.5e-8), ARM)],
    ),
    "inertia a little too small for the link": (
        one_arm(SHAPE + inertial(inertia=(3e-6, 4e-6, 5e-6))),
        [("units", "link 'arm'", math.sqrt(2.5e-6), ARM)],
    ),
    "ties in a circle": (
        one_arm(inertial(), *hinged("hand", inertial(), "0 1 0", tie="j"), joint='<mimic joint="to_hand"/>'),
        [("mimic", "joint 'j'", None, JOINT), ("mimic", "joint 'to_hand'", None, 6)],
    ),
    "negative armature against the inertia": (
        one_arm(joint='<dynamics armature="-5"/>'),
        [("hinge", "joint 'j'", NEGATIVE_D, ARM), ("armature", "joint 'j'", -5.0, JOINT)],
    ),
    "blank beside a number": (one_arm(inertial("2 ")), [("blank", "robot 'r'", None, 3)]),
    "no masses at all": (one_arm("", *hinged("hand", SHAPE, "0 1 0")), [("no-masses", "robot 'r'", 0.0, None)]),
    "massless leaf": (one_arm(inertial(), *hinged("hand", "", "0 1 0")), [("hinge", "joint 'to_hand'", 0.0, 5)]),
    "point mass on the axis": (
        one_arm(inertial(2.0, "0 0 0.4", (0, 0, 0)), axis="0 0 1"),
        [("hinge", "joint 'j'", 0.0, ARM)],
    ),
    "two massless links on one axis": (
        one_arm(
            inertial(),
            *hinged("middle", "", "0 1 0"),
            *hinged("hand", inertial(0.1, "0 1 0", (0, 0, 0)), "0 1 0", "middle"),
        ),
        [("massless", "link 'middle'", 0.0, 5), ("hinge", "joint 'to_hand'", 0.0, 7)],
    ),
    "massless link between independent axes": (
        one_arm("", *hinged("hand", inertial(), "1 0 0")),
        [("massless", "link 'arm'", 0.0, ARM)],
    ),
    "zero axis": (one_arm(axis="0 0 0"), [("axis", "joint 'j'", 0.0, JOINT)]),
    "axis of length two": (one_arm(axis="0 1.2 1.6"), [("axis", "joint 'j'", 2.0, JOINT)]),
    "limits exchanged": (one_arm(limit='lower="1.5" upper="-1"'), [("limits", "joint 'j'", 2.5, JOINT)]),
    "limits without a range": (one_arm(limit='lower="1" upper="1"'), [("limits", "joint 'j'", 0.0, JOINT)]),
    "negative effort": (one_arm(limit='lower="-1" upper="1" effort="-7"'), [("limits", "joint 'j'", -7.0, JOINT)]),
    "negative speed limit": (
        one_arm(limit='lower="-1" upper="1" velocity="-3"'),
        [("limits", "joint 'j'", -3.0, JOINT)],
    ),
    "shape without inertial": (one_arm(inertial(), *welded("lid", SHAPE)), [("no-inertial", "link 'lid'", None, 5)]),
    "negative damping": (one_arm(joint='<dynamics damping="-0.1"/>'), [("damping", "joint 'j'", -0.1, JOINT)]),
    "negative friction": (one_arm(joint='<dynamics friction="-0.2"/>'), [("friction", "joint 'j'", -0.2, JOINT)]),
    "negative armature": (one_arm(joint='<dynamics armature="-0.001"/>'), [("armature", "joint 'j'", -0.001, JOINT)]),
    "negative stiffness": (one_arm(joint='<dynamics stiffness="-2"/>'), [("stiffness", "joint 'j'", -2.0, JOINT)]),
    "spring that is no number": (
        one_arm(joint='<dynamics stiffness="1" rest="nan"/>'),
        [("non-finite", "joint 'j'", None, JOINT)],
    ),
    "mimic of nothing": (one_arm(joint='<mimic joint="jj"/>'), [("mimic", "joint 'j'", None, JOINT)]),
    "mimic of itself": (one_arm(joint='<mimic joint="j"/>'), [("mimic", "joint 'j'", None, JOINT)]),
    "mass that is no number": (one_arm(inertial("nan")), [("non-finite", "link 'arm'", None, ARM)]),
    "infinite centre of mass": (one_arm(inertial(com="0 inf 0")), [("non-finite", "link 'arm'", None, ARM)]),
    "axis that is no number": (one_arm(axis="0 nan 1"), [("non-finite", "joint 'j'", None, JOINT)]),
    "damping that is no number": (
        one_arm(joint='<dynamics damping="nan"/>'),
        [("non-finite", "joint 'j'", None, JOINT)],
    ),
    "limit that is no number": (one_arm(limit='lower="nan" upper="1"'), [("non-finite", "joint 'j'", None, JOINT)]),
    "effort that is no number": (
        one_arm(limit='lower="-1" upper="1" effort="nan"'),
        [("non-finite", "joint 'j'", None, JOINT)],
    ),
    "mimic that is no number": (
        one_arm(joint='<mimic joint="j" multiplier="inf"/>'),
        [("non-finite", "joint 'j'", None, JOINT), ("mimic", "joint 'j'", None, JOINT)],
    ),
}

HEALTHY: dict[str, str] = {
    "the arm itself": one_arm(),
    "thin rod": one_arm(inertial(2.0, "0.25 0 0", (0.0, 0.04, 0.04))),
    "thin rod, turned": one_arm(inertial(2.0, "0.25 0 0", (0.02, 0.02, 0.04, -0.02))),
    "disc": one_arm(inertial(inertia=(0.02, 0.02, 0.04))),
    "plate": one_arm(inertial(inertia=NO_SHORTFALL)),
    "plate with rounding": one_arm(inertial(inertia=(0.03, 0.04, 0.07 + 1e-12))),
    "point mass off the axis": one_arm(inertial(inertia=(0, 0, 0))),
    "point mass with noise": one_arm(inertial(inertia=(1e-14, -1e-15, 3e-14))),
    "centre of mass outside but near": one_arm(inertial(com="0.8 0.6 0.2")),
    "axis with rounding": one_arm(axis="0 0.6000001 0.8"),
    "one-sided limits": one_arm(limit='lower="-inf" upper="1" effort="inf"'),
    "shape on the base": one_arm(base=SHAPE),
    "frame without mass or shape": one_arm(inertial(), *welded("tool", "", xyz="0 0 0.2")),
    "heavy base without inertia": one_arm(base=inertial(40.0, inertia=(0, 0, 0))),
    "armature cures a massless leaf": one_arm(
        inertial(), *hinged("hand", inertial(0.2, "0 0.1 0", (0, 0, 0)), "0 1 0")
    ).replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><dynamics armature="0.01"/>'),
    "mimic of a joint": one_arm(inertial(), *hinged("hand", inertial(), "0 1 0"), joint='<mimic joint="to_hand"/>'),
    "zero axis of a ball": one_arm(kind="spherical", axis="0 0 0"),
    "long axis of a weld": one_arm(kind="fixed", axis="0 0 5"),
}

RAISING = ("mass", "non-finite", "axis", "hinge")  # the four meaningless kinds


@pytest.mark.parametrize("name", FINDINGS)
def test_doubtful_datum_matches_its_finding(name: str) -> None:
    text, expected = FINDINGS[name]
    check(report_on(text), expected)


@pytest.mark.parametrize("name", HEALTHY)
def test_near_miss_is_healthy(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = rc.load(HEALTHY[name]).doctor()
    assert not report, report


def test_armature_on_a_massless_leaf_leaves_only_the_missing_mass() -> None:
    report = report_on(one_arm("", joint='<dynamics armature="0.01"/>'))
    check(report, [("massless", "link 'arm'", 0.0, ARM)])


def test_every_check_has_a_robot_that_triggers_it() -> None:
    """A new check needs a case above."""
    from recursa.doctor.patient import Patient

    models = [rc.load(text, strict=False).model for text, _ in FINDINGS.values()]
    models.append(rc.load(rc.robots.tree(2).to_urdf(), strict=False, floating=True).model)
    models.append(rc.load(one_arm(SHAPE), strict=False).with_inertia_from_geometry(role="visual").model)
    for examine in CHECKS:
        assert any(list(examine(Patient(model))) for model in models), examine.__name__


def test_ball_joint_without_inertia_has_a_finding_per_freedom() -> None:
    report = report_on(one_arm(inertial(2.0, "0.1 0.2 0.3", (0, 0, 0)), kind="spherical"))
    assert [f.code for f in report] == ["hinge"]  # a point mass resists two of the three turns
    b = rc.Builder("r").link("arm", mass=1.0, inertia=(1, 1, 1)).link("hand")
    b.joint("turn", "revolute", parent="world", child="arm").joint("ball", "spherical", parent="arm", child="hand")
    report = b.build(strict=False).doctor()
    assert [f.code for f in report] == ["hinge"] * 3
    assert [f"freedom {k} of 3" in f.reason for k, f in enumerate(report, start=1)] == [True] * 3


def test_limits_do_not_pin_a_joint_at_a_special_pose() -> None:
    """The elbow may not move at all, yet what matters is whether the joints could."""
    b = rc.Builder("r")
    b.link("upper").link("fore", mass=1.0, com=(0.3, 0, 0))
    b.joint("shoulder", "revolute", parent="world", child="upper", axis=(1, 0, 0), limits=(-1, 1))
    b.joint("elbow", "revolute", parent="upper", child="fore", axis=(0, 0, 1), limits=(0, 0))
    assert not b.build(strict=False).doctor().errors  # straight, the mass lies on the shoulder's axis
    b = rc.Builder("r").link("bob", mass=1.0, com=(0.3, 0, 0))
    b.joint("spin", "revolute", parent="world", child="bob", axis=(1, 0, 0), limits=(0, 0))
    assert [f.code for f in b.build(strict=False).doctor().errors] == ["hinge"]


def test_negative_hinge_inertia_points_at_what_is_negative() -> None:
    (hinge, _) = report_on(FINDINGS["negative armature against the inertia"][0])
    assert "less than no inertia" in hinge.reason
    assert "negative moment of inertia, mass or armature from link 'arm' outward" in hinge.fix
    (zero,) = report_on(FINDINGS["massless leaf"][0])
    assert "have no inertia along its motion" in zero.reason


def test_refusal_lists_related_warnings_of_the_same_link() -> None:
    with pytest.raises(rc.ModelError) as refused:
        rc.load(
            one_arm(
                inertial(2.0, "0 0 0", (-3.0, -3.0, -3.0)),
                *welded("lid", SHAPE),
                base=inertial(1.0, inertia=(-1.0, -1.0, -1.0)),
            )
        )
    message = str(refused.value)
    assert "hinge inertia D is" in message
    assert "warning: link 'arm'" in message and "none may be negative" in message
    assert "link 'lid'" in message  # part of the same body
    assert "link 'base'" not in message


def test_sizes_are_not_invented_where_nothing_tells_them() -> None:
    """Neither joints nor shapes: a flywheel of three metres, and a mass a metre from the axis, are no news."""
    for body in (
        {"mass": 900.0, "inertia": (1000.0, 1000.0, 2000.0)},
        {"mass": 1.0, "com": (1.0, 0, 0), "inertia": (0.1, 0.1, 0.1)},
        {"mass": 6e24, "inertia": (1e38, 1e38, 1e38)},
        {"mass": 900.0, "com": (1e-6, 0, 0), "inertia": (1000.0, 1000.0, 2000.0)},
    ):
        b = rc.Builder("r").link("wheel", **body).joint("spin", "revolute", parent="world", child="wheel")
        assert not b.build().doctor()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"mass": 2.0, "com": (0, 30.0, 400.0), "inertia": (0.03, 0.04, 0.05)}, "com"),
        ({"mass": 2.0, "com": (0.1, 0, 0), "inertia": (3e4, 4e4, 5e4)}, "units"),
    ],
)
def test_gross_nonsense_is_told_by_the_numbers_alone(body: dict[str, object], code: str) -> None:
    b = rc.Builder("r").link("arm", **body).joint("j", "revolute", parent="world", child="arm")
    (finding,) = b.build().doctor()
    assert finding.code == code
    assert "links reach" not in finding.reason


def test_floating_world_is_told_as_such() -> None:
    text = rc.robots.tree(3, seed=1).to_urdf()
    with pytest.raises(rc.ModelError) as refused:
        rc.load(text, floating=True)
    assert "link 'world'" in str(refused.value)
    assert "would let the world itself float" in str(refused.value)
    assert "joint of kind 'free'" in str(refused.value)
    assert refused.value.line == 3
    check(report_on(text, floating=True), [("floating", "link 'world'", None, 3)])
    assert not report_on(text)
    welded_world = one_arm(kind="fixed").replace('"base"', '"world"')  # there the arm floats, with its root
    assert rc.load(welded_world, floating=True).is_floating
    heavy = one_arm(base=inertial(3.0)).replace('"base"', '"world"')
    assert rc.load(heavy, floating=True).nv == 7


def on_one_axis() -> rc.Builder:
    """A massless link and a point mass off the axis that both turn about: each alone has inertia, together not."""
    b = rc.Builder("r").link("sleeve").link("bob", mass=1.0, com=(0.3, 0, 0))
    b.joint("outer", "revolute", parent="world", child="sleeve")
    return b.joint("inner", "revolute", parent="sleeve", child="bob", xyz=(0, 0, 0.1))


def test_tied_robot_without_ties_is_judged_by_its_hinges() -> None:
    """A pivot of zero that no diagonal entry of the mass matrix shows."""
    for mimic in ("free", "tie"):
        (hinge,) = on_one_axis().build(strict=False, mimic=mimic).doctor().errors
        assert (hinge.code, hinge.kind, hinge.name) == ("hinge", "joint", "outer")


def test_tied_robot_is_judged_by_the_pivots_of_its_mass_matrix() -> None:
    """The same beside a pair of joints that are really tied."""
    b = on_one_axis()
    for name, mimic in (("left", None), ("right", ("left", -2.0))):
        b.link(f"{name}_finger", mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
        b.joint(name, "revolute", parent="world", child=f"{name}_finger", axis=(0, 1, 0), mimic=mimic)
    robot = b.build(strict=False, mimic="tie")
    assert robot.nv == 3
    (hinge,) = robot.doctor().errors
    assert (hinge.code, hinge.kind, hinge.name) == ("hinge", "joint", "outer")


def test_hinge_of_tied_joints_is_that_of_the_pair() -> None:
    """The leaf has no inertia of its own, but its joint moves the arm too."""
    text = one_arm(
        inertial(),
        *hinged("hand", inertial(0.1, "0 0 0", (0, 0, 0)), "0 1 0"),
        joint='<mimic joint="to_hand" multiplier="2"/>',
    )
    check(report_on(text), [("hinge", "joint 'to_hand'", 0.0, 5)])
    check(report_on(text, mimic="tie"), [])
    check(
        report_on(text.replace('multiplier="2"', 'multiplier="0"'), mimic="tie"), [("hinge", "joint 'to_hand'", 0.0, 5)]
    )


def test_builder_findings_have_no_line() -> None:
    b = rc.Builder("r").link("arm", mass=2.0, com=(0.1, 0, 0), inertia=(0.03, 0.04, 0.08))
    b.joint("j", "revolute", parent="world", child="arm", xyz=(0.5, 0, 0))
    check(b.build().doctor(), [("triangle", "link 'arm'", 0.01, None)])


def test_suggested_fix_of_a_triangle_cures_it() -> None:
    """Raising the two smaller moments by half the shortfall gives a plate."""
    (triangle,) = report_on(one_arm(inertial(inertia=(0.03, 0.04, 0.08))))
    assert "by 0.005 each" in triangle.fix
    assert not report_on(one_arm(inertial(inertia=(0.035, 0.045, 0.08))))


# ---- strict ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FINDINGS)
def test_strict_refuses_exactly_the_meaningless(name: str) -> None:
    text, expected = FINDINGS[name]
    report = report_on(text)
    codes = [code for code, *_ in expected]
    meaningless = any(code in RAISING for code in codes) and name not in (
        "missing mass",
        "axis of length two",
    )
    assert bool(report.errors) == meaningless
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if meaningless:
            with pytest.raises(rc.ModelError) as refused:
                rc.load(text)
            first = report.errors[0]
            assert first.subject in str(refused.value)
            assert first.reason in str(refused.value)
            assert "strict=False" in str(refused.value)
            assert refused.value.line == first.line
        else:
            with pytest.raises(rc.ModelWarning, match=report[0].code):
                rc.load(text)


@pytest.mark.parametrize("name", FINDINGS)
def test_not_strict_loads_with_a_warning_that_names_the_worst(name: str) -> None:
    text, expected = FINDINGS[name]
    with pytest.warns(rc.ModelWarning) as caught:
        robot = rc.load(text, strict=False)
    (warning,) = caught
    worst = (robot.doctor().errors or tuple(robot.doctor()))[0]
    assert worst.subject in str(warning.message)
    assert "robot.doctor()" in str(warning.message)
    assert warning.filename == __file__  # it points at the call, not into the library
    assert ("and 1 more" in str(warning.message)) == (len(expected) == 2)


def test_all_ways_to_a_robot_are_strict() -> None:
    b = rc.Builder("r").link("arm", mass=-1.0).joint("j", "revolute", parent="world", child="arm")
    for make in (b.build, lambda **o: rc.from_dh([rc.DHLink(mass=-1.0)], convention="modified", **o)):
        with pytest.raises(rc.ModelError, match="data that mean nothing"):
            make()
        with pytest.warns(rc.ModelWarning):
            assert make(strict=False).nv == 1


def test_refusal_lists_ten_errors_and_counts_the_rest() -> None:
    b = rc.Builder("r")
    for k in range(13):
        b.link(f"l{k}", mass=-1.0 - k, inertia=(1, 1, 1))
        b.joint(f"j{k}", "revolute", parent="world", child=f"l{k}")
    with pytest.raises(rc.ModelError) as refused:
        b.build()
    lines = str(refused.value).splitlines()
    assert sum("its mass is" in line for line in lines) == 10
    assert "... and 3 more" in lines[-2]


# ---- the report ------------------------------------------------------------------------------------------------------


def test_report_is_a_sequence_of_findings() -> None:
    report = report_on(one_arm(inertial(-2.0, "0 0 0"), axis="0 1.2 1.6", joint='<dynamics damping="-0.1"/>'))
    assert len(report) == 3
    assert bool(report)
    assert [f.code for f in report] == [report[k].code for k in range(3)] == ["mass", "axis", "damping"]
    assert [f.severity for f in report] == ["error", "warning", "warning"]
    assert report[-1] in report
    assert report[:2] == (report[0], report[1])
    assert report.errors == (report[0],)
    assert report.robot == "r"
    assert repr(report) == "<Report on 'r': 1 errors, 2 warnings>"
    assert all(isinstance(f, rc.Finding) for f in report)


def test_report_prints_a_line_per_finding() -> None:
    report = report_on(one_arm(inertial(-2.0, "0 0 0"), axis="0 1.2 1.6"))
    head, *lines = str(report).splitlines()
    assert head == "robot 'r': 2 findings"
    assert lines[0] == (
        f"  error: link 'arm' (line {ARM}): its mass is -2 kg. A mass cannot be negative; correct its sign. [mass]"
    )
    assert lines[1].startswith(f"  warning: joint 'j' (line {JOINT}): its axis (0.0, 1.2, 1.6) has length 2")
    assert str(report_on(one_arm())) == "robot 'r': nothing to complain about"
    assert not report_on(one_arm())


def test_report_as_plain_data_survives_json() -> None:
    report = report_on(one_arm(inertial(com="0 30 40"), joint='<mimic joint="jj"/>'))
    com, mimic = json.loads(json.dumps(report.as_dicts()))
    assert com == {
        "severity": "warning",
        "code": "com",
        "kind": "link",
        "name": "arm",
        "subject": "link 'arm'",
        "value": 50.0,
        "line": ARM,
        "reason": report[0].reason,
        "fix": report[0].fix,
    }
    assert mimic["value"] is None
    assert mimic["reason"] == "it mimics 'jj', which does not exist."


def test_doctor_of_a_sound_random_robot_finds_nothing() -> None:
    for seed in range(4):
        assert not rc.robots.chain(7, seed=seed, joints="mixed").doctor()
    assert np.isfinite(rc.robots.chain(7).mass)


def test_what_is_plainly_sound_is_sound() -> None:
    """The bound by which most links are passed over, beside their principal moments."""
    rng = np.random.default_rng(5)
    passed, bounds = 0, (FAR * FAR, 3.0 * NARROW * NARROW, 2.0 * WIDE * WIDE)  # of a robot of one metre
    for thickness in (1.0, 1e-3, 1e-6, 0.0):
        for points in rng.normal(size=(200, 4, 3)):
            points[:, 2] *= thickness
            away = points - points.mean(axis=0)
            second = away.T @ away / 4 + rng.normal(scale=1e-3, size=3) * np.eye(3)  # not always of masses
            full = np.trace(second) * np.eye(3) - second
            tensor = SymMat3(*(float(full[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))))
            (low, mid, high), bound = principal([tensor])[0], least_moment(1.0, Vec3(0.1, 0.2, 0.3), tensor, *bounds)
            passed += bound > 0.0
            assert bound <= max(low, 0.0) * (1.0 + 1e-9)
            if bound > 0.0:
                assert high - mid - low <= 1e-12 * high
                assert 0.01 < math.sqrt(high) < 3.0
    assert 100 < passed < 700
    for number in (math.nan, math.inf, -1.0):
        for mass, com, moment in ((number, 0.1, 0.1), (1.0, number * 10.0, 0.1), (1.0, 0.1, number)):
            tensor = SymMat3(moment, 0.1, 0.1, 0.0, 0.0, 0.0)
            assert least_moment(mass, Vec3(com, 0.0, 0.0), tensor, *bounds) <= 0.0, (mass, com, moment)


def test_warning_about_a_robot_names_it_once() -> None:
    with pytest.warns(rc.ModelWarning) as caught:
        rc.load('<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/>'
                '<child link="b"/></joint></robot>')  # fmt: skip
    (message,) = [str(one.message) for one in caught]
    assert message.count("robot 'r'") == 1
