"""A page that a running program moves: served to this machine alone, under an address that cannot be guessed."""

from __future__ import annotations

import json
import queue
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from recursa.errors import RecursaError
from recursa.view.formula_desk import FormulaDesk, letters
from recursa.view.page import Message, Recorded, play_message, robot_page, show_message

if TYPE_CHECKING:
    from recursa.robot import Robot

HOST = "127.0.0.1"
_PATIENCE = 30.0  # s for whoever is connected to say something, or to listen
_MOST_ASKED = 32_768  # bytes of a question
_SILENCE = 10.0  # s after which a line is sent that says nothing, so that readers who are gone are noticed


class View:
    """A local page of a robot: ``show(q)``, ``play(run)``, ``close()``; made by :meth:`recursa.Robot.view`.

    It listens on 127.0.0.1 only, at a port that is free, and answers to nothing but its own address, ``url``, which has
    a random token in it. What is shown last is what a page that is opened later shows, too. Operator formulas typed in
    the page are explained by this program: they are read as notation, in a process of its own with bounds of time and
    memory; nothing else that a page sends is acted upon. As a context manager it closes itself.

    >>> import recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> with arm.view(open=False) as view:
    ...     view.show([0.3, 0.4])
    ...     view.play(arm.simulate([0.3, 0.4], duration=0.1))
    >>> view.closed
    True
    """

    def __init__(self, robot: Robot, q: ArrayLike | None = None, *, meshes: bool = True) -> None:
        self.robot = robot
        self.closed = False
        self._token = secrets.token_urlsafe(16)
        self._readers: list[queue.SimpleQueue[str | None]] = []
        self._last: str | None = None
        self._lock = threading.Lock()
        self._page = robot_page(robot, q, meshes=meshes, live="events", letters=letters()).encode()
        self._desk = FormulaDesk(robot)
        self._server = ThreadingHTTPServer((HOST, 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="recursa view", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.port}/{self._token}/"

    def show(self, q: ArrayLike) -> None:
        """Show a configuration (nq,), or a mapping by joint names."""
        self._tell(show_message(self.robot, q))

    def play(self, motion: Recorded) -> None:
        """Play a run or a trajectory of this robot, with its curves."""
        self._tell(play_message(self.robot, motion))

    def close(self) -> None:
        """Serve no more. Pages that are open stay as they are."""
        if not self.closed:
            self.closed = True
            for reader in self._readers:
                reader.put(None)
            self._desk.close()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """What a notebook on this machine shows: the page, which goes on following the program."""
        return f'<iframe src="{self.url}" title="robot" style="width:100%;height:520px;border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<View of '{self.robot.name}', {'closed' if self.closed else self.url}>"

    # ---- for the server ----------------------------------------------------------------------------------------------

    def _tell(self, message: Message) -> None:
        if self.closed:
            raise RecursaError("this page is closed; robot.view() opens another")
        text = json.dumps(message, allow_nan=False)
        with self._lock:
            self._last = text
            for reader in self._readers:
                reader.put(text)

    def _joined(self) -> queue.SimpleQueue[str | None]:
        reader: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        with self._lock:
            if self._last is not None:
                reader.put(self._last)
            self._readers.append(reader)
        return reader

    def _left(self, reader: queue.SimpleQueue[str | None]) -> None:
        with self._lock:
            self._readers.remove(reader)


def _handler(view: View) -> type[BaseHTTPRequestHandler]:
    """What answers: the page, what happens, and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = _PATIENCE

        def do_GET(self) -> None:
            if self._is_for(""):
                self._put("text/html; charset=utf-8", view._page)
            elif self._is_for("events"):
                self._begin("text/event-stream", None)
                self._follow()
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

        def do_POST(self) -> None:
            """A formula, from the page itself."""
            own = self.headers.get("Origin", f"http://{HOST}:{view.port}") == f"http://{HOST}:{view.port}"
            size = self.headers.get("Content-Length", "")
            self.close_connection = True  # what is refused is not read, and would be taken for the next request
            if not (own and self._is_for("formula") and self.headers.get("Content-Type") == "application/json"):
                self.send_error(HTTPStatus.NOT_FOUND)
            elif not (size.isascii() and size.isdigit() and len(size) < 10 and int(size) <= _MOST_ASKED):
                self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            else:
                try:
                    question = json.loads(self.rfile.read(int(size)))
                except (ValueError, RecursionError):
                    self.send_error(HTTPStatus.BAD_REQUEST)
                else:
                    self._put("application/json", json.dumps(view._desk.answer(question)).encode())

        def _is_for(self, name: str) -> bool:
            """Whether the path is one of this page's; pages of others cannot ask by another name of this machine."""
            known = self.headers.get("Host") == f"{HOST}:{view.port}"
            return known and secrets.compare_digest(self.path.encode(), f"/{view._token}/{name}".encode())

        def _put(self, kind: str, content: bytes) -> None:
            self._begin(kind, len(content))
            self.wfile.write(content)

        def _begin(self, kind: str, length: int | None) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", kind)
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Referrer-Policy", "no-referrer")
            if length is None:
                self.send_header("Connection", "close")
                self.close_connection = True
            else:
                self.send_header("Content-Length", str(length))
            self.end_headers()

        def _follow(self) -> None:
            reader = view._joined()
            try:
                while not view.closed:
                    try:
                        text = reader.get(timeout=_SILENCE)
                    except queue.Empty:
                        self.wfile.write(b": still here\n\n")
                    else:
                        if text is None:
                            return
                        self.wfile.write(f"data: {text}\n\n".encode())
                    self.wfile.flush()
            except OSError:  # the page is gone
                pass
            finally:
                view._left(reader)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on the terminal."""

    return Handler
