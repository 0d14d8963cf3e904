"""The moving picture of the README: the page of its run, as a headless Chromium shows it.

``python docs/make_living_picture.py`` writes docs/images/run.gif.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import recursa as rc

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from browser import browser  # noqa: E402

SIZE, SECONDS, FRAMES = (760, 430), 0.7, 36


def main() -> None:
    """Write the picture."""
    robot = rc.load(rc.robots.urdf("desk_arm"), mimic="tie")
    q, v = {"shoulder": 0.6, "elbow": 1.0}, np.zeros(robot.nv)
    hold = robot.inverse_dynamics(q, v, 0 * v)
    run = robot.simulate(q, v, duration=SECONDS, torque=0.9 * hold, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "run.html")
        run.to_html(page)
        with browser(Path(folder, "profile")) as chromium:
            tab = chromium.tab().open(page, width=SIZE[0], height=SIZE[1]).ready()
            pictures = []
            for t in np.linspace(0.0, SECONDS, FRAMES):
                tab.run(f"recursa.playback.seek({t}); new Promise(done => setTimeout(done, 80))")
                pictures.append(tab.picture())
    palette = pictures[0].quantize(96, method=Image.Quantize.MEDIANCUT)
    frames = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in pictures]
    times = [900, *[50] * (FRAMES - 2), 1200]  # ms
    frames[0].save(
        HERE / "images" / "run.gif", save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True
    )


if __name__ == "__main__":
    main()
