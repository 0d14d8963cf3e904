"""MJCF texts that MuJoCo is given as they stand: the robot is the one of the text written again, and so are errors."""

from __future__ import annotations

import pytest

pytest.importorskip("mujoco")

import recursa as rc
from mjcf_texts import CONSTRAINED, PENDULUM
from recursa.formats import mjcf
from recursa.formats.mjcf_inventory import as_it_stands
from recursa.formats.mjcf_text import _OWN_COMPILER, _SOMEWHERE_DROPPED, MAX_DEPTH, prepare
from recursa.formats.source import Assets, Source

PLAIN = {"pendulum": PENDULUM, "constrained": CONSTRAINED, "tree": rc.robots.tree(13, seed=3).to_mjcf()}
JOINT = '<joint name="hinge"'


def source(text: str | bytes) -> Source:
    return Source(text, None, Assets())


def closely(one: Source) -> rc.Robot:
    prepared = prepare(one, closely=True)
    return mjcf._Translation(mjcf._compiled(mjcf._library(), prepared), prepared).description(None)


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_the_robot_is_that_of_the_text_written_again(text):
    for content in (text, text.encode(), text.replace("\n", "\r\n"), f"<?xml version='1.0'?>{text}  \n"):
        assert prepare(source(content)).as_it_stands
        again = closely(source(content))
        found = mjcf.read_mjcf(source(content))
        assert repr(found) == repr(again) and found == again and found.notes == again.notes


LOOKED_AT = {
    "include": PENDULUM.replace("<worldbody>", '<include file="more.xml"/><worldbody>'),
    "other case": PENDULUM.replace("<worldbody>", '<Include FILE="more.xml"/><worldbody>'),
    "file": PENDULUM.replace(JOINT, '<joint file="x" name="hinge"'),
    "mesh": PENDULUM.replace("<worldbody>", '<asset><mesh name="m" vertex="0 0 0"/></asset><worldbody>'),
    "plugin": PENDULUM.replace("<worldbody>", '<extension><plugin plugin="p"/></extension><worldbody>'),
    "copies": PENDULUM.replace(JOINT, '<replicate count="9"/><joint name="hinge"'),
    "sizes": PENDULUM.replace("<worldbody>", '<size memory="1G"/><worldbody>'),
    "not a number": PENDULUM.replace('damping="0.1"', 'damping="NaN"'),
    "empty": PENDULUM.replace('damping="0.1"', 'damping=""'),
    "blank": PENDULUM.replace('damping="0.1"', 'damping=" \n "'),
    "entity": PENDULUM.replace('"hinge"', '"h&#105;nge"'),
    "letters": PENDULUM.replace('"hinge"', '"Gelenk-ä"'),
    "comment at the end": f"{PENDULUM.rstrip()}<!-- </mujoco> -->",
    "looks": PENDULUM.replace("<worldbody>", "<visual/><worldbody>"),
    "settings": PENDULUM.replace("<worldbody>", '<compiler fusestatic="true"/><worldbody>'),
    "document type": f"<!DOCTYPE mujoco>{PENDULUM}",
    "cut off": PENDULUM.replace("</body>", ""),
    "part of a model": PENDULUM.replace("mujoco", "mujocoinclude") + "</mujoco>",
    "deep": PENDULUM.replace("<worldbody>", "<a>" * MAX_DEPTH + "</a>" * MAX_DEPTH + "<worldbody>"),
    "many attributes": PENDULUM.replace(JOINT, "<joint " + " ".join(f'a{k}="1"' for k in range(101)) + ' name="hinge"'),
    "a long value": PENDULUM.replace("<worldbody>", f'<worldbody note="{"x" * 65_537}">'),
    "many": PENDULUM.replace("<worldbody>", "<worldbody>" + "<!-- -->" * 20_001),
}


@pytest.mark.parametrize("text", LOOKED_AT.values(), ids=LOOKED_AT)
def test_what_wants_a_closer_look_is_written_again(text):
    assert text != PENDULUM
    assert as_it_stands(text, MAX_DEPTH, _SOMEWHERE_DROPPED, _OWN_COMPILER) is None


REFUSED = {
    "type": PENDULUM.replace(JOINT, '<joint type="hing" name="hinge"'),
    "attribute": PENDULUM.replace(JOINT, '<joint twist="1" name="hinge"'),
    "reference": PENDULUM.replace('joint="hinge"', 'joint="hing"'),
    "mesh": PENDULUM.replace('type="capsule"', 'type="mesh"'),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_errors_are_those_of_the_text_written_again(text):
    assert text != PENDULUM
    with pytest.raises(rc.ModelError) as found:
        rc.load(text)
    with pytest.raises(rc.ModelError) as wanted:
        closely(source(text))
    assert str(found.value) == str(wanted.value)


def test_names_that_run_over_lines_are_read_as_xml_says():
    text = PENDULUM.replace('body name="rod"', 'body name="long\nrod"')
    assert rc.load(text).link_names[1] == "long rod"
