"""A headless Chromium for tests, driven by its DevTools protocol through a pair of pipes."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
_FLAGS = (
    "--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


class Tab:
    """A page in the browser: what it logged, what it asked the network for, its picture."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session = browser, session
        self.errors: list[str] = []
        self.requests: list[str] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def run(self, expression: str) -> Any:
        """The value of an expression in the page, which may be a promise."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"]["exception"].get("description", found))
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = 20.0) -> Any:
        """Until the expression is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(expression)
            if value:
                return value
            time.sleep(0.03)
        raise AssertionError(f"not within {seconds} s: {expression}; errors: {self.errors}")

    def open(self, page: str | Path, *, width: int = 900, height: int = 600, dark: bool = False) -> Tab:
        self.errors, self.requests = [], []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self.call("Page.navigate", url=address)
        self.wait(f"location.href === {json.dumps(address)} && document.readyState === 'complete'")
        return self

    def ready(self) -> Tab:
        """A robot has been drawn."""
        self.wait("window.recursa && recursa.frames > 0")
        return self

    def picture(self) -> Image.Image:
        found = self.call("Page.captureScreenshot", format="png")
        return Image.open(io.BytesIO(base64.b64decode(found["data"]))).convert("RGB")


class Browser:
    """Chromium, with one tab after the other."""

    def __init__(self, profile: Path) -> None:
        self.number, self.tabs = 0, dict[str, Tab]()
        to_it, self.write = os.pipe()
        self.read, from_it = os.pipe()
        command = [str(CHROMIUM), *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_it} 4>&{from_it}', "bash", *command],
            pass_fds=(to_it, from_it), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_it)
        os.close(from_it)
        self.waiting = b""

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            got = self._message()
            if got.get("id") == self.number:
                assert "error" not in got, (method, got["error"])
                return dict(got["result"])
            self._heard(got)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self.waiting:
            part = os.read(self.read, 1 << 16)
            assert part, "the browser is gone"
            self.waiting += part
        text, _, self.waiting = self.waiting.partition(b"\0")
        return dict(json.loads(text))

    def _heard(self, got: dict[str, Any]) -> None:
        tab, about = self.tabs.get(got.get("sessionId", "")), got.get("params", {})
        if tab is None:
            return
        match got.get("method"):
            case "Runtime.exceptionThrown":
                tab.errors.append(about["exceptionDetails"].get("exception", {}).get("description", str(about)))
            case "Runtime.consoleAPICalled" if about["type"] in ("error", "assert"):
                tab.errors.append(str([x.get("value", x.get("description")) for x in about["args"]]))
            case "Log.entryAdded" if about["entry"]["level"] == "error":
                tab.errors.append(about["entry"]["text"])
            case "Network.requestWillBeSent":
                tab.requests.append(about["request"]["url"])

    def tab(self) -> Tab:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self.tabs[session] = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        return tab


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser that is gone afterwards."""
    one = Browser(profile)
    try:
        yield one
    finally:
        with contextlib.suppress(Exception):
            one.call("Browser.close")
        one.process.terminate()
        one.process.wait(timeout=20)
        os.close(one.read)
        os.close(one.write)
