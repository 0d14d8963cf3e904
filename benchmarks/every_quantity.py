"""Every quantity of a robot, timed beside installed peers: a table, and the same as bars.

``python benchmarks/every_quantity.py puma560 [--batch 512] [--chart speed.png]``. A call with one state, a state in a
batch into a given array on one thread; of matrices also how many times as long the batch takes as writing its bytes.
``recursa bench ROBOT --all`` prints the times without the bars.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from recursa.cli.root import open_robot
from recursa.errors import RecursaError
from recursa.interop.timing import Asked, Timing, Work, in_turns, installed_peers, plain_quantities, timing
from recursa.plotting.styles import colour, new_figure, plain, save
from recursa.quantities import quantity
from recursa.robot import Robot

OURS = {"a state in a batch": "batch", "a call": "call"}
INCHES = 0.13  # of a bar


def over_writing(robot: Robot, found: Timing) -> float | None:
    """How many times as long a batch of matrices takes as writing its bytes."""
    if len(found.shape) < 2 and np.prod(found.shape) < max(2, robot.nv**2):
        return None
    asked = Asked(robot, quantity(found.quantity), found.states)
    out = asked.whole()
    works = {"batch": Work(partial(asked.whole, out), 1), "writing": Work(partial(out.fill, 0.0), 1)}
    seconds = in_turns(works, 15)
    return float(np.median(seconds["batch"] / seconds["writing"]))


def draw(rows: Sequence[Timing], title: str, path: str) -> None:
    """Microseconds on a logarithmic scale: on the left what peers offer, too, on the right the others."""
    peers = list(dict.fromkeys(peer for row in rows for peer in row.peers))
    panels = [([row for row in rows if row.peers], peers), ([row for row in rows if not row.peers], [])]
    panels = [(part, who) for part, who in panels if part]
    bars = max((len(part) * (3 + len(who)) for part, who in panels), default=3)
    figure = new_figure(7.5 * max(1, len(panels)), 1.4 + INCHES * bars)
    figure.suptitle(plain(title))
    for number, (part, who) in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), number + 1)
        draw_bars(axes, part, who)
        axes.set_title("beside peers: times of our batch" if who else "offered by no peer")
    save(figure, path, dpi=110)


def draw_bars(axes: Axes, rows: Sequence[Timing], peers: Sequence[str]) -> None:
    series = [*OURS, *(f"{peer}, a call" for peer in peers)]
    thick = 1.0 / (len(series) + 1)
    for k, label in enumerate(series):
        peer = None if label in OURS else peers[k - len(OURS)]
        places, lengths = [], []
        for number, row in enumerate(rows):
            seconds = getattr(row, OURS[label]) if peer is None else row.peers.get(peer)
            if seconds is not None:
                places.append(number + (k - len(series) / 2 + 0.5) * thick)
                lengths.append(1e6 * seconds)
                if peer is not None:
                    text = f" {row.batch_ratios[peer]:.0f}x"
                    axes.text(lengths[-1], places[-1], text, va="center", fontsize=7, color=colour(k))
        name = label if peer is not None else f"recursa, {label}"
        axes.barh(places, lengths, height=thick, color=colour(k), label=name)
    axes.set_yticks(range(len(rows)), [plain(row.quantity) for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.margins(x=0.1)
    axes.set_xlabel("microseconds")
    axes.grid(axis="x", which="major", alpha=0.4)
    axes.set_axisbelow(True)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.02), ncols=len(series), fontsize=8, frameon=False)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("robot", nargs="?", default="panda_like")
    words.add_argument("--batch", type=int, default=512)
    words.add_argument("--chart", help="a picture: png, pdf or svg")
    chosen = words.parse_args()
    robot = open_robot(chosen.robot, strict=False)
    peers, remarks = installed_peers(robot)
    rows = []
    print(f"{'quantity':<40} {'result':>12} {'call, us':>9} {'batch, ns':>9} {'over writing':>12}", *peers)
    for record in plain_quantities():
        try:
            row = timing(robot, record, batch=chosen.batch, peers=peers)
        except RecursaError as error:
            remarks.append(f"left out: {record.name}: {error}")
            continue
        rows.append(row)
        ratio = over_writing(robot, row)
        beside = (f"{1e6 * s:.2f} ({row.call_ratios[p]:.1f}, {row.batch_ratios[p]:.1f})" for p, s in row.peers.items())
        shape = " x ".join(map(str, row.shape)) or "1"
        print(
            f"{row.quantity:<40} {shape:>12} {1e6 * row.call:>9.2f} {1e9 * row.batch:>9.0f} "
            f"{'' if ratio is None else format(ratio, '.1f'):>12}", *beside, flush=True,
        )  # fmt: skip
    print(*remarks, sep="\n")
    if chosen.chart:
        machine = f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
        draw(rows, f"{robot.name}, nv = {robot.nv}: batches of {chosen.batch}, {machine}", chosen.chart)


if __name__ == "__main__":
    main()
