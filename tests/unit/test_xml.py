"""The XML reader: what it returns, and what it says about text that is not XML."""

from __future__ import annotations

import gc
import pickle
import weakref

import pytest

from recursa.errors import ModelError
from recursa.formats import xml
from recursa.formats.xml import Element, clipped, parse


def refusal(text: str | bytes, source: str | None = "arm.urdf") -> ModelError:
    with pytest.raises(ModelError) as caught:
        parse(text, source)
    assert caught.value.source == source
    assert caught.value.__cause__ is None
    return caught.value


def everything(element: Element) -> list[object]:
    data = element.tag, element.attributes, element.line, element.source, element.notes, element.text
    return [data, *map(everything, element.children)]


def outline(element: Element) -> list[object]:
    return [element.tag, element.line, *map(outline, element.children)]


def test_elements_come_with_attributes_children_and_lines() -> None:
    root = parse(
        '<?xml version="1.0"?>\n<a x="1" y="&lt;&#65;">\n  text <b/>\n  <!-- <c/> --><d\n z="2"><e/></d>\n</a>\n'
    )
    assert outline(root) == ["a", 2, ["b", 3], ["d", 4, ["e", 5]]]
    assert root.attributes == {"x": "1", "y": "<A"}
    assert root.children[1].attributes == {"z": "2"}
    assert root.child("d") is root.children[1]
    assert root.child("e") is None


BESIDE = """<robot name="r">
<gazebo reference="a"><material a="1">text<gazebo/></material></gazebo>
<link name="a"><gazebo/></link>
<transmission/>
</robot>"""


def test_elements_that_are_passed_are_checked_and_not_kept() -> None:
    passed = frozenset({"gazebo", "transmission"})
    for with_text in (False, True):
        root = parse(BESIDE, passed=passed, with_text=with_text)
        assert outline(root) == ["robot", 1, ["link", 3, ["gazebo", 3]]]
        assert "text" not in root.text
    for broken in (
        "<robot>\n<gazebo>\n<b></gazebo></robot>",
        "<robot><gazebo>\n<b>",
        "<robot>\n<gazebo " + " ".join(f"x{k}='1'" for k in range(101)) + "/></robot>",
        "<robot>\n<gazebo x='" + "y" * 65_537 + "'/></robot>",
        "<robot>\n<gazebo>" + "<a>" * 99 + "</a>" * 99 + "</gazebo></robot>",
    ):
        with pytest.raises(ModelError) as caught:
            parse(broken, "arm.urdf", passed=passed)
        assert str(caught.value) == str(refusal(broken)), broken[:40]
    deepest = "<robot><gazebo>" + "<a>" * 98 + "</a>" * 98 + "</gazebo></robot>"
    assert everything(parse(deepest, passed=passed)) == everything(parse("<robot/>"))


def test_elements_take_children_and_have_them_by_tag() -> None:
    root, *children = (Element(tag, {}, 1, None, []) for tag in ("root", "a", "b", "a"))
    assert root.parts() == {}
    for child in children:
        root.add(child)
    assert root.parts() == {"a": children[0], "b": children[1]}
    assert root.children == children


def test_first_child_of_a_tag_is_found() -> None:
    root = parse('<a><b n="1"/><b n="2"/></a>')
    first = root.child("b")
    assert first is not None
    assert first.attributes["n"] == "1"


def test_prefixes_are_plain_parts_of_names() -> None:
    root = parse('<a xmlns:x="http://x" x:y="1"><x:b/><undeclared:c/></a>')
    assert [child.tag for child in root.children] == ["x:b", "undeclared:c"]
    assert root.attributes["x:y"] == "1"


def test_carriage_returns_count_as_line_ends() -> None:
    assert outline(parse("<a>\r\n<b/>\r<c/>\n</a>")) == ["a", 1, ["b", 2], ["c", 3]]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "iso-8859-1", "windows-1252"]
)
def test_bytes_in_any_usual_encoding_give_the_same_as_text(encoding: str) -> None:
    declared = "utf-16" if encoding.startswith("utf-16") else encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?>\n<robot name="Bär"/>'
    assert parse(text.encode(encoding)).attributes == {"name": "Bär"}
    assert parse(text).attributes == {"name": "Bär"}  # a string is a string, whatever its declaration says


def test_byte_order_mark_in_a_string_is_dropped() -> None:
    assert parse("\ufeff<a/>").tag == "a"


def test_utf8_is_assumed_without_a_declaration() -> None:
    assert parse('<a n="Bär"/>'.encode()).attributes == {"n": "Bär"}


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        ("", 1, ["empty"]),
        (b"", 1, ["empty"]),
        ("\ufeff \n\t", 1, ["empty"]),
        ("arm.urdf", 1, ["not XML", "'arm.urdf'"]),
        ("\n\n{}", 3, ["not XML", "'{}'"]),
        ("<a>\n\0</a>", 2, ["NUL"]),
        ("<a>\n\n\ud83d</a>", 3, ["U+D83D", "surrogate"]),
        ('<a>\n<b n="Bär"/></a>'.encode("latin-1"), 2, ["e4 72 22 2f", "not utf-8", "save the file as UTF-8"]),
        (b"<\0a\0>", 1, ["not utf-16"]),
        (b'<?xml version="1.0" encoding="big5"?><a/>', 1, ["'big5'", "UTF-8"]),
        (b'<?xml version="1.0" encoding="utf-16"?><a/>', 1, ["'utf-16'"]),
        (b'<?xml version="1.0" encoding="iso-8859-12"?><a/>', 1, ["'iso-8859-12'"]),
        (b'<?xml version="1.0" encoding="unicode_escape"?><a/>', 1, ["'unicode_escape'"]),
        ("<a>\n<b>\n</a>", 3, ["end tag does not match", "<b>, opened on line 2,"]),
        ("<a>\n</a>\n<b/>", 3, ["junk after document element", "inside it"]),
        ("<a>\n&nbsp;</a>", 2, ["undefined entity", "&lt;"]),
        ('<a>\n<b x="1" x="2"/></a>', 2, ["duplicate attribute"]),
        ("<a>\n<b x=1/></a>", 2, ["invalid token", "missing quote"]),
        ("<!-- a -->\n<?xml version='1.0'?><a/>", 2, ["'<?xml' can stand only once, at the beginning"]),
        ("<a>\n\x01</a>", 2, ["invalid token"]),
        ("</a>", 1, ["invalid token"]),
        ("<a>" * 101 + "</a>" * 101, 1, ["nested deeper than 100"]),
        ("<a " + " ".join(f"x{i}=''" for i in range(101)) + "/>", 1, ["<a> has 101 attributes"]),
        (f"<a>\n<b x='{'9' * 65_537}'/></a>", 2, ["<b> has 65537 characters"]),
    ],
)
def test_bad_text_is_a_model_error_with_the_line(data: str | bytes, line: int, words: list[str]) -> None:
    error = refusal(data)
    assert error.line == line
    for word in words:
        assert word in error.reason


@pytest.mark.parametrize(
    ("text", "line", "where"),
    [
        ("<robot>\n<link>\n  <visual>\n", 4, "<visual>, opened on line 3,"),
        ("<robot>\n<link/>\n<joint na", 3, "<robot>, opened on line 1,"),
        ("<robot>\n<link>\n<!-- about", 3, "<link>, opened on line 2,"),
        ("<robot>\n<link><![CDATA[", 2, "<link>, opened on line 2,"),
        ("<robot\n name=", 1, "no element is complete"),
        ("<?xml version='1.0'?>\n<!-- nothing -->", 2, "no element is complete"),
    ],
)
def test_truncated_text_names_the_open_element(text: str, line: int, where: str) -> None:
    error = refusal(text)
    assert error.line == line
    assert "seems cut off" in error.reason
    assert where in error.reason


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 1),
        ("<?xml version='1.0'?>\n<!-- hidden -->\n <?pi x?><!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", 3),
        ("<!DOCTYPE a>\n<a/>", 1),
    ],
)
def test_document_types_are_refused(text: str, line: int, encoding: str) -> None:
    for data in (text, text.encode(encoding)):
        error = refusal(data)
        assert error.line == line
        assert "<!DOCTYPE" in error.reason


def test_document_type_that_slips_past_the_first_check_is_still_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml, "_refuse_doctype", lambda content, source: None)
    assert "<!DOCTYPE" in refusal("<!DOCTYPE a><a/>").reason


def test_the_word_doctype_in_a_comment_or_value_is_harmless() -> None:
    assert parse("<!-- <!DOCTYPE a> --><a b='&lt;!DOCTYPE'/>").attributes == {"b": "<!DOCTYPE"}


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml, "MAX_SIZE", 100)
    monkeypatch.setattr(xml, "MAX_TAGS", 4)
    assert parse("<a><b/><c/></a>").tag == "a"
    assert "more than 4 tags" in refusal("<a><b/><b/><b/></a>").reason
    assert "101 characters are too many" in refusal("<a/>" + " " * 97).reason


def test_depth_of_one_hundred_is_read() -> None:
    element = parse("<a>" * 100 + "</a>" * 100)
    depth = 1
    while element.children:
        element = element.children[0]
        depth += 1
    assert depth == 100


def test_text_longer_than_a_chunk_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml, "_CHUNK", 7)
    root = parse("<a>\n" + "".join(f'<item number="{i}é"/>\n' for i in range(50)) + "</a>")
    assert [(item.attributes["number"], item.line) for item in root.children] == [(f"{i}é", i + 2) for i in range(50)]


def test_errors_without_a_source_say_text() -> None:
    assert str(refusal("<a>\n<b></a>", None)).startswith("<text>, line 2: ")
    assert str(refusal("<a>\n<b></a>", "x.urdf")).startswith("x.urdf, line 2: ")


def test_errors_survive_pickling() -> None:
    error = refusal("<a>\n<b></a>")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, again.source) == (str(error), 2, "arm.urdf")


def test_reading_leaves_no_reference_cycle() -> None:
    class Marked(str):
        """A string that can be watched."""

    gc.collect()
    gc.disable()
    try:
        source = Marked("arm.urdf")
        watch = weakref.ref(source)
        parse("<a><b/></a>", source)
        del source
        assert watch() is None
    finally:
        gc.enable()


def test_long_names_are_clipped_in_messages() -> None:
    assert clipped("abc", 3) == "abc"
    assert clipped("abcd", 3) == "abc..."
    assert len(refusal(f"<a><{'b' * 5000}></a>").reason) < 200
