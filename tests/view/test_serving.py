"""The local page: whom it answers, and what it refuses."""

from __future__ import annotations

import http.client
import json
import threading

import pytest

import recursa as rc
from recursa.view.serving import View


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
        assert asked(view, own, method="POST")[0] == 501
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
