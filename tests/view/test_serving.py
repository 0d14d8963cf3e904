"""The local page: whom it answers, and what it refuses."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator

import pytest

import recursa as rc
from recursa.view import formula_desk
from recursa.view.formula_desk import FormulaDesk
from recursa.view.serving import View


@pytest.fixture(scope="module")
def desk() -> Iterator[FormulaDesk]:
    one = FormulaDesk(rc.robots.planar(3), seconds=60.0)
    yield one
    one.close()


def asked(view: View, path: str, host: str | None = None, method: str = "GET") -> tuple[int, bytes]:
    link = http.client.HTTPConnection("127.0.0.1", view.port, timeout=5)
    link.request(method, path, headers={"Host": host or f"127.0.0.1:{view.port}"})
    answer = link.getresponse()
    return answer.status, answer.read()


def test_it_answers_to_its_own_address_alone() -> None:
    with rc.robots.planar(2).view(open=False) as view:
        own = "/" + view.url.split("/", 3)[3]
        status, page = asked(view, own)
        assert status == 200
        assert b"connect-src 'self'" in page
        for path in (
            "/",
            own[:-1],
            own + "page.py",
            own + "../",
            "/favicon.ico",
            "/" + "x" * 22 + "/",
            own + "é".encode().hex(),
        ):
            assert asked(view, path)[0] == 404
        assert asked(view, own, host="robots.example")[0] == 404
        assert asked(view, own, method="POST")[0] == 404
        assert asked(view, own, method="PUT")[0] == 501
        assert view._server.server_address[0] == "127.0.0.1"
        assert view.url in view._repr_html_()
        other = rc.robots.planar(2).view(open=False)
        assert other.url.split("/")[3] != own.split("/")[1]
        other.close()


def test_whoever_comes_late_hears_what_was_said_last() -> None:
    with rc.robots.planar(2).view(open=False) as view:
        view.show([0.1, 0.2])
        view.show([0.3, 0.4])
        link = http.client.HTTPConnection("127.0.0.1", view.port, timeout=5)
        link.request("GET", "/" + view.url.split("/", 3)[3] + "events")
        answer = link.getresponse()
        assert json.loads(answer.readline().removeprefix(b"data: ")) == {"show": [0.3, 0.4]}
        threads = threading.active_count()
    assert answer.read().strip() == b""
    assert threading.active_count() < threads


def test_what_it_cannot_show_is_said() -> None:
    view = rc.robots.planar(2).view(open=False)
    with pytest.raises(rc.ShapeError):
        view.show([1.0])
    with pytest.raises(rc.RecursaError, match="not robot 'planar1'"):
        view.play(rc.robots.planar(1).simulate([0.1], duration=0.1))
    view.close()
    view.close()
    with pytest.raises(rc.RecursaError, match="is closed"):
        view.show([0.0, 0.0])
    assert "closed" in repr(view)


def posted(view: View, body: bytes, name: str = "formula", **headers: str) -> tuple[int, bytes]:
    link = http.client.HTTPConnection("127.0.0.1", view.port, timeout=30)
    given = {"Content-Type": "application/json", **{key.replace("_", "-"): value for key, value in headers.items()}}
    link.request("POST", "/" + view.url.split("/", 3)[3] + name, body, headers=given)
    answer = link.getresponse()
    return answer.status, answer.read()


def test_formulas_are_asked_by_the_page_alone_and_in_few_bytes() -> None:
    with rc.robots.planar(2).view(open=False) as view:
        question = json.dumps({"formula": "mass T"}).encode()
        status, content = posted(view, question, Origin=f"http://127.0.0.1:{view.port}")
        assert status == 200
        assert json.loads(content)["formula"]["written"] == "H φ M φ* H* T"
        assert posted(view, question, Origin="http://robots.example")[0] == 404
        assert posted(view, question, Host="robots.example")[0] == 404
        assert posted(view, question, Content_Type="text/plain")[0] == 404
        assert posted(view, question, "events")[0] == 404
        assert posted(view, b" " * 40_000)[0] == 413
        assert posted(view, b"", Content_Length="-1")[0] == 413
        assert posted(view, b"{")[0] == 400
        assert posted(view, b"[" * 30_000)[0] == 400
        assert "object with texts" in json.loads(posted(view, b"[1]")[1])["error"]
        process = view._desk._process
    assert process.poll() is not None
    assert "closed" in view._desk.answer({"formula": "mass T"})["error"]


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        ({"formula": " "}, "there is no formula"),
        ({"formula": "x" * 2001}, "at most 2000"),
        ({"formula": "mass", "run": "1"}, "has formula, vectors and code"),
        ({"formula": "mass", "code": "python"}, "one of llvm, c, js"),
        ({"formula": 3}, "object with texts"),
        ({"formula": "mass (T"}, "expected ')'"),
        ({"formula": "mass + H* H"}, "cannot add"),
        ({"formula": "mass x", "vectors": "x"}, "is not NAME=SPACE"),
        ({"formula": "mass x", "vectors": "x=sky"}, "There are: joint, link, tip"),
        ({"formula": "__import__('os')"}, "no operator '__import__'"),
    ],
)
def test_formulas_that_mean_nothing_are_said(question: dict, complaint: str, desk: FormulaDesk) -> None:
    assert complaint in desk.answer(question)["error"]


def test_a_formula_without_sweeps_says_why(desk: FormulaDesk) -> None:
    told = desk.answer({"formula": "inv(inv(mass) + mass) T"})["formula"]
    assert told["sweeps"] == []
    assert "it ends here" in told["cost"]


def test_a_formula_that_takes_too_long_is_stopped_and_the_next_one_is_not() -> None:
    desk = FormulaDesk(rc.robots.planar(3), seconds=1.5)
    assert "did not come to an end in 1.5 s" in desk.answer({"formula": "mass " * 390})["error"]
    desk.seconds = 60.0
    assert desk.answer({"formula": "mass T"})["formula"]["total"] > 0
    desk._process.kill()
    desk._process.wait()
    assert desk.answer({"formula": "mass T"})["formula"]["total"] > 0
    desk.close()


def test_long_code_is_cut() -> None:
    robot = rc.robots.panda_like()
    told = formula_desk.answer(robot, {"formula": "mass " * 12 + "T", "vectors": "", "code": "llvm"})["formula"]
    whole = rc.explain("mass " * 12 + "T", robot, code="llvm").code
    assert len(whole) > formula_desk.MOST_CODE
    assert told["code"].startswith(whole[: formula_desk.MOST_CODE])
    assert "characters more" in told["code"][formula_desk.MOST_CODE :]
