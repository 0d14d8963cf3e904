"""Every page of the built site in Chromium, at the width of a desk and of a telephone: how long, and whether all fits.

A page is at most ten screens of 1280 by 800 long; nothing but a table or a picture is wider than its place; code has no
scroll bar; no formula is left as it was typed. ``make pages``, or after ``make docs`` this script with names of pages.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from browser import CHROMIUM, Tab, browser  # noqa: E402

DESK, TELEPHONE = (1280, 800), (390, 844)
LONGEST = 10.0  # screens
LEFT_OUT = ("_modules", "live", "_static", "genindex", "search", "py-modindex")  # made for looking up, or no pages

LOOK = """(() => {
  const article = document.querySelector("article");
  const scrolls = one => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1;
  const wide = [...document.querySelectorAll("article pre")].filter(scrolls);
  return {
    height: article.getBoundingClientRect().height,
    past: Math.max(0, document.documentElement.scrollWidth - window.innerWidth),
    wide: wide.map(one => one.textContent.trim().split("\\n").sort((a, b) => b.length - a.length)[0].slice(0, 100)),
    unset: [...article.querySelectorAll(".math")].filter(one => !one.querySelector("mjx-container")).length,
  };
})()"""


class Seen(NamedTuple):
    """A page at a width."""

    page: str
    screens: float
    faults: list[str]


def look(tab: Tab, page: Path, name: str, size: tuple[int, int]) -> Seen:
    """Open it and judge it."""
    tab.open(page, width=size[0], height=size[1])
    tab.wait("!document.querySelector('.math') || !!(window.MathJax && MathJax.startup)")
    tab.run("window.MathJax && MathJax.startup ? MathJax.startup.promise.then(() => 1) : 1")
    found = tab.run(LOOK)
    screens = found["height"] / size[1]
    faults = [f"{screens:.1f} screens" for _ in range(size == DESK and screens > LONGEST)]
    faults += [f"{found['past']} px wider than the window" for _ in range(found["past"] > 0)]
    faults += [f"code with a scroll bar: {line}" for line in found["wide"] if size == DESK]
    faults += [f"{found['unset']} formulas not set" for _ in range(found["unset"] > 0)]
    faults += [f"error: {line}" for line in tab.errors]
    return Seen(name, screens, faults)


def main() -> None:
    """Look at all of them; exit 1 if any has a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="such as quickstart or course/1-pendulum; all unless said")
    parser.add_argument("--site", type=Path, default=ROOT / "docs" / "_build" / "html")
    chosen = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("chromium is not installed")
    found = {str(page.relative_to(chosen.site).with_suffix("")): page for page in sorted(chosen.site.rglob("*.html"))}
    pages = {name: page for name, page in found.items() if name.split("/")[0] not in LEFT_OUT}
    pages = {name: page for name, page in pages.items() if not chosen.pages or name in chosen.pages}
    bad = 0
    with tempfile.TemporaryDirectory() as profile, browser(Path(profile)) as one:
        tab = one.tab()
        for name, page in pages.items():
            desk, telephone = look(tab, page, name, DESK), look(tab, page, name, TELEPHONE)
            print(f"{desk.screens:6.1f}  {name}", flush=True)
            for where, seen in (("desk", desk), ("telephone", telephone)):
                for fault in seen.faults:
                    print(f"        {where}: {fault}")
            bad += bool(desk.faults or telephone.faults)
    print(f"{len(pages)} pages, {bad} with faults")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
