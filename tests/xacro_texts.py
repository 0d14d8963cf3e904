# ruff: noqa: E501 (texts)
"""xacro files for tests, one for every part of the language."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

MAIN = "main.urdf.xacro"


class Case(NamedTuple):
    """The inside of the main file, other files by name, and arguments."""

    inside: str
    files: dict[str, str] = {}
    arguments: dict[str, str] = {}

    def write(self, folder: Path) -> Path:
        """The main file, with all others beside it."""
        for name, text in {**self.files, MAIN: robot(self.inside)}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        return folder / MAIN


def robot(inside: str, name: str = "made") -> str:
    return f'<?xml version="1.0"?>\n<robot name="{name}" xmlns:xacro="http://www.ros.org/wiki/xacro">\n{inside}\n</robot>\n'


_MACRO_ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2.5"/>
  <xacro:property name="length" value="0.4"/>
  <xacro:property name="radius" value="${length / 10}"/>
  <xacro:macro name="segment" params="name parent axis">
    <link name="${name}">
      <inertial><origin xyz="0 0 ${length / 2}"/><mass value="$(arg mass)"/>
        <inertia ixx="${2.5 * length ** 2 / 12}" iyy="${2.5 * length ** 2 / 12}" izz="${2.5 * radius ** 2 / 2}"
          ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><geometry><cylinder radius="${radius}" length="${length}"/></geometry></visual>
    </link>
    <joint name="${name}_joint" type="revolute"><parent link="${parent}"/><child link="${name}"/>
      <origin xyz="0 0 ${length}"/><axis xyz="${axis}"/>
      <limit lower="${-pi / 2}" upper="${radians(90)}" effort="50" velocity="3"/></joint>
  </xacro:macro>
  <link name="base"/>
  SEGMENTS
</robot>
"""


def macro_arm(count: int) -> str:
    """An arm as people write them: one macro, called for every segment."""
    parents = ["base", *(f"s{k}" for k in range(count))]
    calls = (f'<xacro:segment name="s{k}" parent="{parents[k]}" axis="0 1 0"/>' for k in range(count))
    return _MACRO_ARM.replace("SEGMENTS", "\n  ".join(calls))


def values(*expressions: str) -> str:
    """A link for every expression."""
    return "\n".join(f'<link name="n{k}" v="${{{text}}}"/>' for k, text in enumerate(expressions))


def _quoted(text: str) -> str:
    return text.replace("<", "&lt;").replace('"', "&quot;")


CASES: dict[str, Case] = {
    "arithmetic": Case('<xacro:property name="a" value="3"/><xacro:property name="s" value="abc"/>' + values(*map(_quoted, (
        "1 + 2 * 3", "-2 ** 2", "2 ** -1", "7 // 2", "-7 // 2", "7 % 3", "-7 % 3", "7 / 2", "1e3", ".5", "5.", "1 - - 1",
        "a if a > 2 else 1", "1 if a < 2 else 2 if a < 3 else 4", "1 < a < 5", "1 < a < 2", "a == 3 and 'x' or 'y'",
        "not a", "not not a", "a in [1, 2, 3]", "a not in [1, 2]", "'b' in s", "s + 'd'", "s * 2", "s[1]", "s[-1]",
        "s[1:]", "s[:2]", "s[::2]", "[1, 2.5, 'x'][1]", "[1, 2] + [3]", "len(s)", "len([1, 2])", "str(a) + 'x'",
        "float('2')", "int(2.7)", "min(a, 1)", "max([1, 5, 2])", "round(2.567, 2)", "True", "None is None",
        "a is not None", "(1 + 2) * (3 + 4)", "2 ** 3 ** 2", "1 == 1.0", "0.1 + 0.2", "1.0", "10 ** 20", "1 if '' else 0",
    )))),
    "functions": Case(values(
        "sin(1)", "cos(pi / 2)", "tan(0.3)", "asin(0.5)", "acos(0.5)", "atan(2)", "atan2(1, -2)", "sqrt(2)", "hypot(3, 4)",
        "exp(1)", "log(2)", "radians(30)", "degrees(pi)", "floor(2.5)", "ceil(2.5)", "fabs(-1)", "pow(2, 3)", "math.pi",
        "math.sin(2)", "python.abs(-1)", "python.sum([1, 2])", "sorted([3, 1, 2])", "range(3)[1]", "list(range(3))",
        "'a,b'.split(',')[1]", "'  x '.strip()", "'AB'.lower()", "'ab'.replace('a', 'c')", "'-'.join(['a', 'b'])",
        "'ab'.startswith('a')", "list(map(float, '1 2'.split()))", "dict(a=1, b=2)['b']", "copysign(1, -2)", "fmod(7, 3)",
        "xacro.tokenize('a, b;c')[2]", "e", "isnan(nan)", "python.all([1, 0])", "python.any([1, 0])",
    )),
    "literals": Case('''<xacro:property name="i" value="1"/><xacro:property name="f" value="1.50"/>
        <xacro:property name="b" value="true"/><xacro:property name="q" value="'12'"/><xacro:property name="u" value="1_0"/>
        <link name="l" i="${i}" f="${f}" b="${b}" q="${q}" u="${u}" two="${i}${f}" text="a ${i} b" dollar="$${i} $$(x) 5$"/>'''),
    "lazy_properties": Case('''<xacro:property name="a" value="${b + 1}"/><xacro:property name="b" value="${c * 2}"/>
        <xacro:property name="c" value="5"/><link name="x${a}"/><xacro:property name="c" value="7"/><link name="y${a}"/>
        <xacro:property name="e" value="${c}" lazy_eval="false"/><xacro:property name="c" value="9"/><link name="z${e}${c}"/>
        <xacro:property name="d" default="1"/><xacro:property name="d" default="2"/><link name="d${d}"/>
        <xacro:property name="d" remove="true"/><xacro:property name="d" default="3"/><link name="d${d}"/>
        <xacro:property name="n${c}" value="4"/><link name="n${n9}"/>'''),
    "block_property": Case('''<xacro:property name="parts"><visual a="${w}"/><collision/></xacro:property>
        <xacro:property name="w" value="2"/><link name="l"><xacro:insert_block name="parts"/></link>
        <link name="m"><xacro:insert_block name="parts"/></link>'''),
    "macros": Case('''<xacro:macro name="leg" params="name length:=0.5 mass=2 side:='a b' *origin **more">
          <link name="${name}_link" l="${length}" m="${mass * 2}" side="${side}"><xacro:insert_block name="more"/></link>
          <joint name="${name}"><xacro:insert_block name="origin"/></joint></xacro:macro>
        <xacro:leg name="left" length="${1 + 1}"><origin xyz="${1 / 2} 0 0"/><extra><visual/><visual b="1"/></extra></xacro:leg>
        <xacro:leg name="right" mass="3" side="c"><origin/><extra/></xacro:leg>'''),
    "forwarded": Case('''<xacro:property name="p" value="7"/>
        <xacro:macro name="a" params="p:=^ q:=^|5 r:=^|${p + 1} s:='x'"><link name="p${p}q${q}r${r}s${s}"/></xacro:macro>
        <xacro:a/><xacro:property name="q" value="8"/><xacro:a/><xacro:a p="1"/>
        <xacro:macro name="b" params="p"><xacro:a r="2"/></xacro:macro><xacro:b p="9"/>'''),
    "scopes": Case('''<xacro:property name="v" value="1"/><xacro:property name="w" value="1"/>
        <xacro:macro name="m" params=""><xacro:property name="v" value="2"/><xacro:property name="w" value="2" scope="parent"/>
          <xacro:property name="g" value="${v}" scope="global"/><link name="in${v}${w}"/></xacro:macro>
        <xacro:m/><link name="out${v}${w}${g}"/>
        <xacro:macro name="outer" params="k"><xacro:property name="w" value="5"/><xacro:m/><link name="o${w}"/></xacro:macro>
        <xacro:outer k="1"/><link name="end${w}"/>'''),
    "conditions": Case('''<xacro:property name="t" value="true"/><xacro:if value="${t}"><link name="a"/></xacro:if>
        <xacro:unless value="${t}"><link name="b"/></xacro:unless><xacro:if value="0"><link name="c"/></xacro:if>
        <xacro:if value="${1 == 1 and not False}"><xacro:if value="1"><link name="d"/></xacro:if></xacro:if>
        <xacro:unless value="false"><xacro:property name="x" value="1"/></xacro:unless><link name="e${x}"/>'''),
    "recursion": Case('''<xacro:macro name="chain" params="n"><link name="l${n}"/>
        <xacro:if value="${n > 0}"><xacro:chain n="${n - 1}"/></xacro:if></xacro:macro><xacro:chain n="40"/>'''),
    "nested_macros": Case('''<xacro:macro name="inner" params="a *b"><in a="${a}"><xacro:insert_block name="b"/></in></xacro:macro>
        <xacro:macro name="outer" params="a **b"><xacro:inner a="${a}1"><blk><xacro:insert_block name="b"/></blk></xacro:inner>
          <xacro:macro name="local" params=""><loc/></xacro:macro><xacro:local/></xacro:macro>
        <link name="l"><xacro:outer a="x"><c><d e="${2}"/></c></xacro:outer></link>'''),
    "dynamic": Case('''<xacro:macro name="one" params="x"><link name="one${x}"/></xacro:macro>
        <xacro:property name="which" value="one"/><xacro:call macro="${which}" x="3"/>
        <xacro:element xacro:name="li${'nk'}" name="e"><xacro:attribute name="direct" value="${1 + 2}"/></xacro:element>
        <link name="f" xacro:gone="1"/>'''),
    "arguments": Case('''<xacro:arg name="n" default="3"/><xacro:arg name="m" default="$(arg n)1"/><xacro:arg name="k" default="x"/>
        <link name="a$(arg n)$(arg m)" v="${2 * $(arg n)}" f="$(eval 2 * n)" g="${xacro.arg('m')}"
          h="$(optenv NO_SUCH_VARIABLE_HERE of nothing)" k="$(arg k)" o="$(optenv NO_SUCH_VARIABLE_HERE)"/>''',
        arguments={"n": "5"}),
    "includes": Case('''<xacro:include filename="parts/one.xacro"/><xacro:include filename="$(find robots)/parts/two.xacro"/>
        <xacro:include filename="parts/none.xacro" optional="true"/><xacro:include filename="${'parts'}/one.xacro" ns="n"/>
        <xacro:one x="1"/><xacro:two/><xacro:n.one x="2"/><link name="v${v}${n.v}"/>
        <link name="mesh" file="$(find robots)/meshes/a.stl" url="file://$(find robots)/a.stl"/>''',
        {"parts/one.xacro": robot('''<xacro:property name="v" value="4"/>
           <xacro:macro name="one" params="x"><link name="one${x}${v}"/></xacro:macro><link name="included"/>'''),
         "parts/two.xacro": robot('''<xacro:include filename="three.xacro"/>
           <xacro:macro name="two" params=""><link name="two"/></xacro:macro>'''),
         "parts/three.xacro": robot('<link name="three"/>')}),
    "yaml": Case('''<xacro:property name="d" value="${xacro.load_yaml('data.yaml')}"/>
        <link name="l" a="${d['a']}" b="${d.b.c}" l="${d.l[1]}" deg="${d.angle}" mm="${d.length}" t="${d.flag}" s="${d.s}"
          k="${d.b.keys()[0] if False else 'x'}" f="${d.f * 2}" has="${'a' in d}" n="${len(d.l)}"/>''',
        {"data.yaml": "a: 1\nb: {c: 2.5}\nl: [1, two, 3]\nangle: !degrees 90\nlength: !millimeters 5\nflag: true\ns: text\nf: 1.5e-3\n"}),
    "text": Case('''<xacro:property name="x" value="4"/><gazebo><mu>${x / 2}</mu><name>a ${x}</name></gazebo><link name="l"/>'''),
}  # fmt: skip
