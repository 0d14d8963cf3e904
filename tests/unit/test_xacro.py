"""xacro files: what is read from them, how arguments and folders come in, and what is refused with which words."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from recursa.cli.commands import recursa
from recursa.formats.expression_values import NAMES
from recursa.formats.expressions import evaluate, plain_names
from watching import watched_opens
from xacro_texts import MAIN, robot

ARM = robot("""<xacro:arg name="links" default="2"/><xacro:property name="length" value="0.4"/>
<xacro:macro name="rod" params="k parent:=^|base">
  <link name="rod${k}"><inertial><origin xyz="${length / 2} 0 0"/><mass value="${1 + k}"/>
    <inertia ixx="0" ixy="0" ixz="0" iyy="${length ** 2 * (1 + k) / 12}" iyz="0" izz="${length ** 2 * (1 + k) / 12}"/>
  </inertial></link>
  <joint name="turn${k}" type="revolute"><parent link="${parent}"/><child link="rod${k}"/>
    <origin xyz="${length if k else 0} 0 0" rpy="${radians(90) if k == 0 else 0} 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-${pi / 2}" upper="${pi / 2}" effort="10" velocity="2"/></joint>
  <xacro:if value="${k + 1 &lt; $(arg links)}"><xacro:rod k="${k + 1}" parent="rod${k}"/></xacro:if>
</xacro:macro>
<link name="base"/>
<xacro:rod k="0"/>""")


def built(count: int) -> rc.Robot:
    b = rc.Builder("made")
    parent = b.link("base") and "base"
    b.joint("fixed", "fixed", parent="world", child="base")
    for k in range(count):
        moment = 0.4**2 * (1 + k) / 12
        b.link(f"rod{k}", mass=1.0 + k, com=(0.2, 0, 0), inertia=(0, moment, moment))
        place: dict[str, Any] = {"xyz": (0.4, 0, 0)} if k else {"rpy": (np.pi / 2, 0, 0)}
        b.joint(f"turn{k}", "revolute", parent=parent, child=f"rod{k}", axis=(0, 0, 1), **place)
        parent = f"rod{k}"
    return b.build()


@pytest.mark.parametrize("count", [1, 3])
def test_expanded_arm_and_builder(count: int) -> None:
    arm, other = rc.load(ARM, arguments={"links": str(count)}), built(count)
    q, v = arm.random_state(1)
    a = np.linspace(-1, 2, count)
    assert arm.joint_names == tuple(f"turn{k}" for k in range(count))
    np.testing.assert_allclose(arm.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a), rtol=0, atol=1e-13)
    assert arm.position_limits[1, 0] == np.pi / 2


def test_the_prefix_declared_and_used_makes_it_xacro() -> None:
    plain = '<robot name="r" xmlns:xacro="x"><link name="a"/></robot>'
    assert rc.load(plain).name == "r"
    assert rc.load(plain.replace(' xmlns:xacro="x"', "").replace('"a"', '"${1 + 1}"'), format="xacro").link_names == (
        "2",
    )


def refusal(text: str, **options: Any) -> rc.ModelError:
    with pytest.raises(rc.ModelError) as caught:
        rc.load(text, format="xacro", **options)
    return caught.value


@pytest.mark.parametrize(
    ("inside", "line", "words"),
    [
        ('<link name="${nme}"/><xacro:property name="name" value="1"/>', 3, "the name 'nme' is not defined"),
        ('<xacro:property name="name" value="1"/>\n<link name="${nam}"/>', 4, "Did you mean 'name'?"),
        ('<link name="${1 +}"/>', 3, "this is not a valid expression (invalid syntax), in ${1 +}"),
        ('<link name="${1 / 0}"/>', 3, "'/' divides by zero"),
        ('<link name="${unclosed"/>', 3, "begins like an expression"),
        ('<link name="${[x for x in y]}"/>', 3, "loops and functions of one's own are not supported"),
        ('<xacro:leg/>', 3, "there is no macro 'leg'. There are none."),
        ('<xacro:macro name="leg" params="a"/>\n<xacro:lag/>', 4, "Did you mean 'leg'?"),
        ('<xacro:macro name="leg" params="a"/>\n<xacro:leg/>', 4, "needs the parameters a"),
        ('<xacro:macro name="leg" params="a"/>\n<xacro:leg b="1"/>', 4, "has no parameter 'b'"),
        ('<xacro:macro name="leg" params="*a"/>\n<xacro:leg/>', 4, "needs an element for its block '*a'"),
        ('<xacro:macro name="leg"/>\n<xacro:leg><a/></xacro:leg>', 4, "has no use for the element <a>"),
        ('<xacro:macro name="leg" params="a:=^"/>\n<xacro:leg/>', 4, "no property 'a' to hand on"),
        ('<xacro:macro name="leg">\n<link name="${x}"/></xacro:macro>\n<xacro:leg/>', 4,
         "(in macro 'leg', called in <text>, line 5)"),
        ('<xacro:insert_block name="b"/>', 3, "there is no block 'b'"),
        ('<xacro:if value="maybe"/>', 3, "neither true nor false"),
        ('<xacro:if/>', 3, "needs the attribute 'value'"),
        ('<xacro:property name="a b" value="1"/>', 3, "cannot be the name of a property"),
        ('<xacro:property name="a" value="1" default="2"/>', 3, "exclude each other"),
        ('<xacro:property name="a" value="${b}"/><xacro:property name="b" value="${a}"/><link name="${a}"/>', 3,
         "defined by itself"),
        ('<link name="$(arg who)"/>', 3, "the argument 'who' has no value"),
        ('<link name="$(env HOME)"/>', 3, "the environment is not read"),
        ('<link name="$(anon x)"/>', 3, "is not known"),
        ('<link name="$(dirname)"/>', 3, "comes from no file"),
        ('<xacro:include filename="other.xacro"/>', 3, "other files are opened only in folders that you name"),
        ('<xacro:include filename="*.xacro"/>', 3, "is a pattern"),
        ("<link name=\"${xacro.load_yaml('a.yaml')}\"/>", 3, "only in folders that you name"),
        ("<link name=\"${xacro.fatal('no', 'way')}\"/>", 3, "the file says: no way"),
        ("<link name=\"${''.__class__}\"/>", 3, "text has no '__class__'"),
    ],
)  # fmt: skip
def test_mistakes_have_words_and_lines(inside: str, line: int, words: str) -> None:
    error = refusal(robot(inside))
    assert error.line == line
    assert words in error.reason


def test_unknown_arguments_are_refused() -> None:
    error = refusal(ARM, arguments={"link": "3"})
    assert "the file has no argument 'link'. Did you mean 'links'?" in error.reason


def test_environment_comes_from_arguments_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROBOT", "secret")
    text = robot('<link name="$(optenv ROBOT none)"/>')
    assert rc.load(text).link_names == ("none",)
    assert rc.load(text, arguments={"ROBOT": "mine"}).link_names == ("mine",)


def test_errors_in_included_files_name_that_file(tmp_path: Path) -> None:
    (tmp_path / "part.xacro").write_text(
        robot('\n<link name="a"/><link name="b"><inertial><mass value="x"/></inertial></link>')
    )
    (tmp_path / MAIN).write_text(robot('<xacro:include filename="part.xacro"/>'))
    with pytest.raises(rc.ModelError) as caught:
        rc.load(tmp_path / MAIN, assets=tmp_path)
    assert caught.value.source == str(tmp_path / "part.xacro")
    assert caught.value.line == 4


def test_records_and_notes_of_included_files_have_no_line_of_the_main_file(tmp_path: Path) -> None:
    part = robot('<link name="a"/><joint name="j" type=" fixed "><parent link="base"/><child link="a"/></joint>')
    (tmp_path / "part.xacro").write_text(part)
    (tmp_path / MAIN).write_text(robot('<link name="base"/><xacro:include filename="part.xacro"/>'))
    with pytest.warns(rc.ModelWarning, match=r"part\.xacro, line 3"):
        found = rc.load(tmp_path / MAIN, assets=tmp_path).model.description
    assert [link.line for link in found.links] == [3, None]
    assert found.joints[0].line is None


def test_command_line_takes_arguments_and_folders(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "part.xacro").write_text(ARM)
    (tmp_path / MAIN).write_text(robot('<xacro:include filename="package://parts/part.xacro"/>'))
    run = CliRunner().invoke
    result = run(recursa, ["info", str(tmp_path / MAIN), "--assets", str(tmp_path), "--arg", "links:=4", "--json"])
    assert result.exit_code == 0, result.output
    assert '"turn3"' in result.output
    assert "in none of the folders" in str(run(recursa, ["info", str(tmp_path / MAIN)]).exception)
    assert "NAME:=VALUE" in run(recursa, ["info", str(tmp_path / MAIN), "--arg", "links=4"]).output


# ---- hostile files ---------------------------------------------------------------------------------------------------

DOUBLING = "".join(f'<xacro:property name="a{k + 1}" value="${{a{k}}}${{a{k}}}"/>' for k in range(60))
LISTS = "".join(f'<xacro:property name="a{k + 1}" value="${{[a{k}, a{k}]}}"/>' for k in range(60))
CALLS = "".join(f'<xacro:macro name="m{k + 1}"><xacro:m{k}/><xacro:m{k}/></xacro:macro>' for k in range(60))
CHAIN = "".join(f'<xacro:property name="a{k}" value="${{a{k + 1}}}"/>' for k in range(5000))
NESTED = "".join(
    f'<xacro:property name="a{k + 1}" value="${{[a{k}]}}" lazy_eval="false"/>' for k in range(2000)
)  # fmt: skip
HOSTILE = {
    "nested_lists": f'<xacro:property name="a0" value="1"/>{NESTED}<link name="${{a2000 == [a1999]}}"/>',
    "doubled_text": f'<xacro:property name="a0" value="xxxxxxxx"/>{DOUBLING}<link name="${{a60}}"/>',
    "doubled_lists": f'<xacro:property name="a0" value="1"/>{LISTS}<link name="${{a60 == a59}}"/>',
    "doubled_calls": f'<xacro:macro name="m0"><link name="a"/></xacro:macro>{CALLS}<xacro:m60/>',
    "endless_macro": '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
    "endless_nest": '<xacro:macro name="m"><a><xacro:m/></a></xacro:macro><xacro:m/>',
    "macros": '<xacro:macro name="a"><xacro:b/></xacro:macro><xacro:macro name="b"><xacro:a/></xacro:macro><xacro:a/>',
    "long_chain": f'{CHAIN}<xacro:property name="a5000" value="1"/><link name="${{a0}}"/>',
    "power": '<link name="${9 ** 9 ** 9}"/>',
    "negative_power": '<link name="${(-8) ** 0.5}"/>',
    "repeat": "<link name=\"${'a' * 10 ** 9}\"/>",
    "range": '<link name="${range(10 ** 9)}"/>',
    "brackets": f'<link name="${{{"(" * 1000}1{")" * 1000}}}"/>',
    "signs": f'<link name="${{{"-" * 1000}}}"/>',
    "long": f'<link name="${{{"1+" * 5000}1}}"/>',
    "replace": "<link name=\"${('a' * 60000).replace('a', 'b' * 60000)}\"/>",
    "round": '<link name="${round(12345, -10 ** 9)}"/>',
    "digits": f'<link name="${{{"9" * 1900} * {"9" * 100}}}"/>',
    "entity": '<link name="&bomb;"/>',
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_end_soon_in_an_error(name: str) -> None:
    begin = time.process_time()
    assert refusal(robot(HOSTILE[name])).line is not None
    assert time.process_time() - begin < 20.0


def test_long_flat_work_is_done() -> None:
    inside = "".join(
        f'<xacro:property name="p{k}" value="${{{k} + 1}}"/><link name="l${{p{k}}}"/>' for k in range(3000)
    )
    found = rc.load(robot(inside).replace("</robot>", "".join(
        f'<joint name="j{k}" type="fixed"><parent link="l1"/><child link="l{k + 1}"/></joint>' for k in range(1, 3000)
    ) + "</robot>"))  # fmt: skip
    assert len(found.link_names) == 3000


@pytest.mark.parametrize(
    "reference",
    ["../secret.xacro", "/etc/hostname", "link.xacro", "package://../secret.xacro", "file:///etc/hostname",
     "$(find ..)/secret.xacro", "${'..'}/secret.xacro", "robots/../../secret.xacro", "\\..\\secret.xacro"],
)  # fmt: skip
def test_nothing_outside_the_folders_is_opened(reference: str, tmp_path: Path) -> None:
    inside = tmp_path / "robots"
    inside.mkdir()
    secret = tmp_path / "secret.xacro"
    secret.write_text(robot('<link name="secret"/>'))
    (inside / "link.xacro").symlink_to(secret)
    main = inside / MAIN
    main.write_text(robot(f'<xacro:include filename="{reference}"/>'))
    opened = watched_opens(lambda: refusal_of(main, inside))
    assert [path for path in opened if path not in (str(main),)] == []


def refusal_of(path: Path, folder: Path) -> None:
    with pytest.raises(rc.ModelError):
        rc.load(path, assets=folder)


def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "a.xacro").write_text(robot('<xacro:include filename="b.xacro"/>'))
    (tmp_path / "b.xacro").write_text(robot('<xacro:include filename="a.xacro"/><xacro:include filename="a.xacro"/>'))
    with pytest.raises(rc.ModelError, match="include each other more than 30 deep"):
        rc.load(tmp_path / "a.xacro", assets=tmp_path)


def test_values_of_expressions_are_plain() -> None:
    names = plain_names({"d": {"a": {"b": [1, 2]}}})
    assert evaluate("d.a.b[1]", names) == 2
    assert evaluate("d['a']['b'][-1] + (1,)[0]", names) == 3
    with pytest.raises(rc.ModelError, match="there is no 'c' behind the dot"):
        evaluate("d.c", names)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("().__class__.__bases__", "a list has no '__class__'"),
        ("(lambda: 1)()", "cannot be evaluated"),
        ("[x for x in (1, 2)]", "cannot be evaluated"),
        ("f'{1}'", "cannot be evaluated"),
        ("(y := 2)", "cannot be evaluated"),
        ("1 @ 2", "is not supported"),
        ("max(*[1, 2])", "cannot be evaluated"),
        ("dict(**{'a': 1})", "arguments behind '**'"),
        ("{**{'a': 1}}", "keys of a dictionary"),
        ("2j", "no number and no text"),
        ("b'x'", "no number and no text"),
        ("~1", "a sign stands before"),
        ("1) + (2", "not a valid expression"),
        ("1; 2", "not a valid expression"),
        ("a = 1", "not a valid expression"),
        ("1\0", "not a valid expression"),
        ("-" * 2000 + "1", "nests deeper than 40"),
        ("(" * 150 + "1" + ")" * 150, ""),
        ("[" * 150 + "]" * 150, "nests deeper than 40"),
        ("9" * 1900, "more than 4096 bits"),
        ("2 ** 99999", "more than 4096 bits"),
        ("'x' * 99999999", "too large"),
        ("1" * 2049, "at most 2048 are read"),
    ],
)
def test_expressions_outside_the_whitelist_are_refused(text: str, words: str) -> None:
    names = plain_names(NAMES)
    if words:
        with pytest.raises(rc.ModelError, match=re.escape(words)):
            evaluate(text, names)
    else:
        assert evaluate(text, names) == 1


def test_long_chains_are_evaluated_and_warnings_do_not_leak(recwarn: pytest.WarningsRecorder) -> None:
    assert evaluate("+".join(["1"] * 1000), plain_names({})) == 1000
    assert evaluate("a" + "[0]" * 600, plain_names({"a": "x"})) == "x"
    assert evaluate("1if 1else 2", plain_names({})) == 1
    assert evaluate("'\\d' +\n 'e'", plain_names({})) == "\\de"
    assert not recwarn.list
