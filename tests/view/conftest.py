from __future__ import annotations

from collections.abc import Iterator

import pytest

from browser import CHROMIUM, Tab, browser


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    if CHROMIUM is None:
        pytest.skip("no chromium, in which pages are looked at")
    with browser(tmp_path_factory.mktemp("profile")) as one:
        yield one.tab()
