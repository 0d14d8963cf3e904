"""What a page does for one picture: ``python benchmarks/pages.py``. Needs Chromium, example-robot-data and trimesh.

A robot is let go in headless Chromium, in steps of 1 ms, and pictures are asked for 60 times a second of its own clock.
Measured is all that the page computes for one: 16 or 17 steps of Runge and Kutta, poses of links, panels, overlays and
the matrices of the scene; not what the graphics card does afterwards, which this machine may not have. Then the time
from the start of loading to the first picture, with drawing. Prints a table in Markdown.
"""

from __future__ import annotations

import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import recursa as rc

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import CHROMIUM, Tab, browser

SHARE = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share")
DATA = SHARE / "example-robot-data" / "robots"
ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "arm, 7 joints": rc.robots.panda_like,
    "Panda with meshes": lambda: rc.load(DATA / "panda_description/urdf/panda.urdf", assets=[SHARE]),
    "quadruped, 18 freedoms": lambda: rc.load(rc.robots.urdf("quadruped"), floating=True),
    "Talos with meshes, 38 freedoms": lambda: rc.load(
        DATA / "talos_data/robots/talos_reduced.urdf", assets=[SHARE], floating=True
    ),
}
BUDGET = 1000.0 / 60.0  # ms
MEASURE = """(() => {
  const page = recursa, { mechanics, stage } = page, drawn = stage.renderer.render;
  stage.renderer.render = scene => scene.updateMatrixWorld();
  let now = page.last;
  const frame = () => { now += 1000 / 60; page.frame(now); };
  const each = (work, count) => {  // ms for one, the least and the median of 15 groups
    const found = [];
    for (let group = 0; group < 15; group++) {
      mechanics.set(page.robot.q);
      const start = performance.now();
      for (let k = 0; k < count; k++) work();
      found.push((performance.now() - start) / count);
    }
    found.sort((a, b) => a - b);
    return [found[0], found[7]];
  };
  const told = {};
  const { kernels, q, v, tau, wrenches } = mechanics;
  told.kernel = each(() => kernels.forward(q, v, tau, wrenches), 5000);
  page.letGo(true);
  told.plain = each(frame, 40);
  for (const part of document.querySelectorAll("details")) part.open = true;
  told.panels = each(frame, 40);
  for (const box of document.querySelectorAll(".check input")) box.click();
  told.all = each(frame, 40);
  page.stop();
  stage.renderer.render = drawn;
  return told;
})()"""


def row(tab: Tab, name: str, robot: rc.Robot, folder: Path) -> str:
    """A line of the table."""
    page = robot.to_html(folder / "page.html")
    opened = []
    for _ in range(3):
        tab.open(page, width=1280, height=800).ready()
        opened.append(tab.run("recursa.firstPicture"))
    told = tab.run(MEASURE)
    kernel = f"{1e3 * told['kernel'][0]:.1f} us"
    times = " | ".join(f"{least:.2f} / {median:.2f}" for least, median in (told[k] for k in ("plain", "panels", "all")))
    return f"| {name} | {page.stat().st_size / 1e6:.1f} MB | {min(opened):.0f} ms | {kernel} | {times} |"


def main() -> None:
    """The table, and what it is about."""
    if CHROMIUM is None:
        sys.exit("no chromium")
    warnings.simplefilter("ignore")
    print(f"ms for one picture, least / median; there are {BUDGET:.1f} ms for it\n")
    print("| robot | page | first picture after | forward dynamics | let go | and all panels | and all overlays |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder, "profile")) as one:
        tab = one.tab()
        for name, make in ROBOTS.items():
            print(row(tab, name, make(), Path(folder)), flush=True)


if __name__ == "__main__":
    main()
