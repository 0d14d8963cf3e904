"""Outlines of XML documents: what C takes, expat takes too, and makes the same of it; everything else it leaves."""

from __future__ import annotations

import random

import pytest

import recursa as rc
from mjcf_texts import CONSTRAINED, PENDULUM
from recursa.formats import xml_nodes
from recursa.formats.xml import outline

read_outline = pytest.importorskip("recursa._elements").read_outline
LIMITS = (40, 20, 200, 2000)

PLAIN = {
    "pendulum": PENDULUM,
    "constrained": CONSTRAINED,
    "tree": rc.robots.tree(13, seed=3).to_mjcf(),
    "urdf": rc.robots.panda_like().to_urdf(),
    "declared": '<?xml version="1.0" encoding="utf-8"?>\r\n<a b = "1"\tc\n=\n\'2"\' ><!-- - <nan --><d e=""/></a >\n',
    "alone": "<a/>",
}
NOT_PLAIN = [
    b"", b" ", b"<", b"<a", b"<a>", b"<a/", b"</a>", b"<a></b>", b"<a/><b/>", b"<a/>x", b"x<a/>", b"<a>x</a>",
    b"<1/>", b"<a b/>", b"<a b=/>", b"<a b=1/>", b"<a b='1/>", b"<a b='1'c='2'/>", b"<a b='1' b='2'/>", b"<a b='<'/>",
    b"<a b='&lt;'/>", b"<a b='NaN'/>", b"<a b='\x01'/>", b"<a b='\xc3\xa4'/>", b"<a b='\x7f'/>", b"<a b='\r'/>",
    b"<a\r/>", b"<a b='\0'/>", b"\0", b"<!-- -- --><a/>", b"<!-- --", b"<!--->", b"<!-->", b"<!-- \x02 --><a/>",
    b"<![CDATA[x]]>", b"<!DOCTYPE a><a/>", b"<a><![CDATA[]]></a>", b"<?xml version='1.1'?><a/>", b"<?xml?><a/>",
    b"<?php?><a/>", b" <?xml version='1.0'?><a/>", b"<a><?php?></a>", b"<a name='x\ny'/>", b"<a b='x\ny'/>",
    b"<a><b name='\t'/></a>", b"<a>" * 41 + b"</a>" * 41,
    b"<a " + b" ".join(b"a%d='1'" % k for k in range(21)) + b"/>", b"<a b='" + b"x" * 201 + b"'/>",
    b"<a>" + b"<b/>" * 2001 + b"</a>", b"<a>" + b"".join(b"<b%d/>" % k for k in range(300)) + b"</a>",
    b"<a><!-- & --></a>", b"<a =''/>", b"< a/>", b"<a / >", b"</", b"<a></a", b"<a></ a>", b"<:a/>", b"<-a/>",
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_plain_documents_are_outlined_as_by_expat(text: str) -> None:
    limits = (400, 100, 65_536, 20_000)
    found = read_outline(text.encode(), *limits)
    assert found is not None and found[:2] == (tuple(dict.fromkeys(found[0])), tuple(dict.fromkeys(found[1])))
    wanted = xml_nodes.read_outline(text.encode(), *limits)
    assert (found[0], set(found[1]), *found[2:]) == (wanted[0], set(wanted[1]), *wanted[2:])
    assert [list(one) for one in found[2].values()] == [list(one) for one in wanted[2].values()]


@pytest.mark.parametrize("document", NOT_PLAIN, ids=range(len(NOT_PLAIN)))
def test_everything_else_is_left(document: bytes) -> None:
    assert read_outline(document, *LIMITS) is None


def test_limits_are_the_largest_that_is_taken() -> None:
    deep = b"<a>" * 40 + b"</a>" * 40
    wide = b"<a " + b" ".join(b"a%d='1'" % k for k in range(20)) + b"/>"
    for document in (deep, wide, b"<a b='" + b"x" * 200 + b"'/>", b"<a>" + b"<b/>" * 1998 + b"</a>"):
        assert read_outline(document, *LIMITS) is not None
        assert xml_nodes.read_outline(document, *LIMITS) is not None


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_taken_of_damaged_documents_expat_takes_too(name: str) -> None:
    rng, taken, limits = random.Random(5), 0, (400, 100, 65_536, 20_000)
    for document in damaged(rng, PLAIN[name]):
        found = read_outline(document, *limits)
        if found is None:
            continue
        taken += 1
        wanted = xml_nodes.read_outline(document, *limits)
        assert wanted is not None, document
        assert (found[0], set(found[1]), *found[2:]) == (wanted[0], set(wanted[1]), *wanted[2:]), document
    assert taken > 10


def damaged(rng: random.Random, text: str) -> list[bytes]:
    """Copies with letters changed, left out and doubled, also those that mean something to XML."""
    letters, found = "<>/='\" \t\r\n&!-?[]ab1\x01\x7f", []
    for _ in range(400):
        content = list(text[: rng.randrange(len(text)) + 1] if rng.random() < 0.1 else text)
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(content))
            content[at : at + rng.randrange(2)] = rng.choice(["", rng.choice(letters), content[at] * 2])
            content = content or ["<"]
        found.append("".join(content).encode())
    return found


def test_an_outline_of_a_text() -> None:
    found = outline('<robot name="arm">\n<link name="base"/>\n<link name="base"/></robot>')
    assert found is not None and found.lines == {"robot": {"arm": 1}, "link": {"base": 3}}
    assert found.root == {"name": "arm"} and outline("<robot>") is None
