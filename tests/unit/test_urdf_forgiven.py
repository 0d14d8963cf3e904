"""What other readers forgive is read here too, and named with its line."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import recursa as rc

ARM = """<robot name="r">
  <link name="base"/>
  <link name="rod"><inertial><mass value="2"/><origin xyz="0 0 0.5"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
</robot>"""
DECLARED = "<?xml version='1.0' encoding='latin-1'?>"


def loaded(text: str | bytes, **options: bool) -> rc.Robot:
    with pytest.warns(rc.ModelWarning):
        return rc.load(text, **options)


def check(text: str | bytes, code: str, line: int, *words: str, **options: bool) -> None:
    """The same robot as the clean text, one finding with its line."""
    robot = loaded(text, **options)
    (finding,) = robot.doctor()
    assert (finding.severity, finding.code, finding.line) == ("warning", code, line)
    assert all(word in finding.reason for word in words), finding
    assert robot == rc.load(ARM)


@pytest.mark.parametrize("prefix", ["\n", "  ", "\r\n\r\n", "\ufeff\n", "[ WARN] deprecated macro\n", "a, b;\n\n"])
@pytest.mark.parametrize("kind", ["text", "bytes"])
def test_what_stands_before_the_declaration_is_passed_over(prefix: str, kind: str) -> None:
    text = prefix + DECLARED + ARM
    shown = [prefix.strip("\ufeff \r\n")] if prefix.strip("\ufeff \r\n") else ["a blank"]
    check(text if kind == "text" else text.encode(), "prefix", 1, "stands before '<?xml'", *shown)


def test_text_before_the_robot_is_passed_over() -> None:
    check(f"[ WARN] deprecated\n{ARM}", "prefix", 1, "'[ WARN] deprecated' stands before '<robot'")


def test_blank_lines_before_the_robot_are_allowed_by_the_format() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rc.load(f"\n\n{ARM}") == rc.load(ARM)


def test_lines_after_a_prefix_keep_their_numbers() -> None:
    wrong = ARM.replace('type="revolute"', 'type="twist"')
    with pytest.raises(rc.ModelError) as refused:
        rc.load(f"warning\n\n{DECLARED}\n{wrong}")
    assert refused.value.line == 8


def test_declared_encoding_counts_behind_a_blank_line() -> None:
    text = "\n" + DECLARED + ARM.replace('"rod"', '"Stäbchen"')
    assert loaded(text.encode("latin-1")).link_names == ("base", "Stäbchen")


@pytest.mark.parametrize(
    "text",
    [
        f"text\n<!DOCTYPE robot [<!ENTITY a 'b'>]>\n{ARM}",
        f"\n{DECLARED}<!DOCTYPE robot>{ARM}",
        f"text {DECLARED}<!-- c --><!DOCTYPE robot>{ARM}",
    ],
)
def test_document_type_is_refused_behind_a_prefix(text: str) -> None:
    with pytest.raises(rc.ModelError, match=r"document type|not XML"):
        rc.load(text)


@pytest.mark.parametrize("text", ["hello\n", "hello\n<a/>", "# robots\n\nSee <b>this</b>"])
def test_other_text_is_still_no_xml(text: str) -> None:
    with pytest.raises(rc.ModelError, match="this is not XML: it begins with"):
        rc.load(text)


def test_undeclared_world_is_added() -> None:
    weld = '<joint name="weld" type="fixed"><parent link="world"/><child link="base"/><origin xyz="0 0 1"/></joint>'
    robot = loaded(ARM.replace("</robot>", f"\n{weld}</robot>"))
    (finding,) = robot.doctor()
    assert (finding.code, finding.line) == ("world", 8)
    assert "joint 'weld' has the parent 'world', which is not declared" in finding.reason
    assert robot.link_names == ("world", "base", "rod")
    np.testing.assert_allclose(robot.pose([0.0], "base")[:3, 3], [0, 0, 1])
    declared = ARM.replace('<link name="base"/>', '<link name="world"/><link name="base"/>')
    assert robot == rc.load(declared.replace("</robot>", f"\n{weld}</robot>"))


def test_other_undeclared_parents_are_refused() -> None:
    with pytest.raises(rc.ModelError, match="parent link 'ground' does not exist"):
        rc.load(ARM.replace('parent link="base"', 'parent link="ground"'))


@pytest.mark.parametrize("place", ["</robot>", "</inertial></link>", "</joint>"])
def test_leftover_xacro_is_passed_over_unless_strict(place: str) -> None:
    text = ARM.replace(place, f'<xacro:gear ratio="3"/>{place}' if place != "</inertial></link>" else
                       '</inertial><xacro:gear ratio="3"/></link>')  # fmt: skip
    with pytest.raises(rc.ModelError, match=r"<xacro:gear>.*strict=False passes over it"):
        rc.load(text)
    line = text[: text.index("<xacro")].count("\n") + 1
    check(text, "xacro", line, "<xacro:gear> was passed over", strict=False)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('value="2"', 'value="2 "', "link 'rod': <mass value='2 '>"),
        ('value="2"', 'value="\t2"', "link 'rod'"),
        ('value="2"', 'value="2\u00a0"', "link 'rod'"),
        ('xyz="0 0 0.5"', 'xyz="0 0\u00a00.5"', "<origin xyz="),
        ('lower="-1"', 'lower="-1 "', "joint 'hinge': <limit lower='-1 '>"),
        ('type="revolute"', 'type="revolute "', "joint 'hinge': <joint type='revolute '>"),
    ],
)
def test_blank_beside_a_number_is_passed_over(old: str, new: str, words: str) -> None:
    text = ARM.replace(old, new)
    check(text, "blank", ARM[: ARM.index(old)].count("\n") + 1, words)


def test_many_blanks_are_one_finding() -> None:
    robot = loaded(ARM.replace('="0.1"', '="0.1 "'))
    (finding,) = robot.doctor()
    assert "The same in 2 more places." in finding.reason


def test_blanks_between_and_around_the_numbers_of_a_vector_are_no_news() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rc.load(ARM.replace('xyz="0 0 0.5"', 'xyz=" 0  0\n0.5 "')) == rc.load(ARM)
