"""``recursa bench --all``: every quantity that takes plain arrays, one after the other; it tells where it is."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Protocol

from rich.table import Table

import recursa as rc
from recursa.cli.bench import about
from recursa.interop.timing import LeftOut, Timing, installed_peers, plain_quantities, timings
from recursa.quantities import Quantity

BATCH = 512


class Report:
    """What was measured so far; whole unless interrupted."""

    def __init__(self, robot: rc.Robot, batch: int) -> None:
        self.robot, self.batch, self.whole = robot, batch, False
        self.peers, self.remarks = installed_peers(robot)
        self.timings: list[Timing] = []
        self.left_out: list[LeftOut] = []

    def measure(self, records: Iterable[Quantity] | None = None) -> None:
        """Time the quantities, by default all. Ctrl-C leaves what is known by then."""
        asked = plain_quantities() if records is None else tuple(records)
        try:
            with _progress(len(asked)) as progress:
                for number, record in enumerate(asked):
                    progress.at(number, record.name)
                    for found in timings(self.robot, [record], batch=self.batch, peers=self.peers):
                        (self.timings if isinstance(found, Timing) else self.left_out).append(found)  # type: ignore[arg-type]
            self.whole = True
        except KeyboardInterrupt:
            pass

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **about(self.robot),
            "batch": self.batch,
            "whole": self.whole,
            "remarks": self.remarks,
            "quantities": [asdict(one) for one in self.timings],
            "left_out": {one.quantity: one.why for one in self.left_out},
        }

    def table(self) -> Table:
        """A line per quantity."""
        title = (
            f"{self.robot.name}, nv = {self.robot.nv}: a call with one state, and a state in a batch of {self.batch} "
            "into a given array, one thread; in brackets how many times as long the peer's call takes as both"
        )
        table = Table(title=title, title_justify="left")
        table.add_column("quantity")
        for header in ("result", "call, us", "batch, ns", *(f"{peer}, us" for peer in self.peers), "over writing"):
            table.add_column(header, justify="right")
        for one in self.timings:
            shape = " x ".join(map(str, one.shape)) or "1"
            smaller = "" if one.states == self.batch else f" ({one.states} states)"
            over = "" if one.over_writing is None else f"{one.over_writing:.1f}"
            own = (f"{1e6 * one.call:.2f}", f"{1e9 * one.batch:.0f}{smaller}")
            table.add_row(one.quantity, shape, *own, *(_beside(one, peer) for peer in self.peers), over)
        return table

    def footnotes(self) -> list[str]:
        """What the table does not say."""
        reasons = {" ".join(one.why.split()): "" for one in self.left_out}
        for one in self.left_out:
            reasons[" ".join(one.why.split())] += f", {one.quantity}"
        told = [f"left out: {names[2:]}: {why}" for why, names in reasons.items()]
        return [*told, *self.remarks, *([] if self.whole else ["interrupted: the other quantities are missing"])]


def _beside(one: Timing, peer: str) -> str:
    if peer not in one.peers:
        return ""
    return f"{1e6 * one.peers[peer]:.2f} ({one.call_ratios[peer]:.1f}, {one.batch_ratios[peer]:.1f})"


# ---- progress --------------------------------------------------------------------------------------------------------


class _Progress(Protocol):
    def at(self, number: int, name: str) -> None:
        """Quantity ``number`` is next."""


@contextmanager
def _progress(total: int) -> Iterator[_Progress]:
    """On standard error: a bar on a terminal, lines elsewhere."""
    if not sys.stderr.isatty():
        yield _Lines(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.completed} of {task.total}"), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar, bar.add_task("", total=total))


class _Bar:
    def __init__(self, bar: Any, task: Any) -> None:
        self.bar, self.task = bar, task

    def at(self, number: int, name: str) -> None:
        """See :class:`_Progress`."""
        self.bar.update(self.task, completed=number, description=name)


class _Lines:
    def __init__(self, total: int) -> None:
        self.total = total

    def at(self, number: int, name: str) -> None:
        """See :class:`_Progress`."""
        print(f"{number + 1} of {self.total}: {name}", file=sys.stderr, flush=True)
