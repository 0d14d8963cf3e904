"""Times of quantities as bars, beside those of peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recursa.plotting.styles import colour, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OURS = {"a state in a batch": "batch", "a call": "call"}
_INCHES = 0.13  # of a bar


def speeds_figure(report: Mapping[str, Any]) -> Figure:
    """Microseconds on a logarithmic scale; ``report`` is that of ``recursa bench --all`` as data.

    On the left what peers offer, too, with how many times as long their call takes as a state in our batch; on the
    right the others.
    """
    rows: list[dict[str, Any]] = report["quantities"]
    peers = list(dict.fromkeys(peer for row in rows for peer in row["peers"]))
    shared, alone = [row for row in rows if row["peers"]], [row for row in rows if not row["peers"]]
    panels = [(part, who) for part, who in ((shared, peers), (alone, [])) if part]
    bars = max((len(part) * (3 + len(who)) for part, who in panels), default=3)
    figure = new_figure(7.5 * max(1, len(panels)), 1.4 + _INCHES * bars)
    figure.suptitle(plain(f"{report['robot']}, nv = {report['nv']}: batches of {report['batch']}, {report['machine']}"))
    for number, (part, who) in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), number + 1)
        _draw_bars(axes, part, who)
        axes.set_title("beside peers: times of our batch" if who else "offered by no peer")
    return figure


def _draw_bars(axes: Axes, rows: Sequence[Mapping[str, Any]], peers: Sequence[str]) -> None:
    series = [*_OURS, *(f"{peer}, a call" for peer in peers)]
    thick = 1.0 / (len(series) + 1)
    for k, label in enumerate(series):
        peer = None if label in _OURS else peers[k - len(_OURS)]
        places, lengths = [], []
        for number, row in enumerate(rows):
            seconds = row[_OURS[label]] if peer is None else row["peers"].get(peer)
            if seconds is not None:
                places.append(number + (k - len(series) / 2 + 0.5) * thick)
                lengths.append(1e6 * seconds)
                if peer is not None:
                    text = f" {row['batch_ratios'][peer]:.0f}x"
                    axes.text(lengths[-1], places[-1], text, va="center", fontsize=7, color=colour(k))
        axes.barh(
            places, lengths, height=thick, color=colour(k), label=label if peer is not None else f"recursa, {label}"
        )
    axes.set_yticks(range(len(rows)), [plain(row["quantity"]) for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.margins(x=0.1)
    axes.set_xlabel("microseconds")
    axes.grid(axis="x", which="major", alpha=0.4)
    axes.set_axisbelow(True)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.02), ncols=len(series), fontsize=8, frameon=False)
