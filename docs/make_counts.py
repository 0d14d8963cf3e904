"""Fill in the tables of the pages of counts, between their marks, from fresh counts: ``python docs/make_counts.py``."""

from __future__ import annotations

import re
from pathlib import Path

import recursa as rc
from recursa.counts.of_robots import METHODS

PAGES = [Path(__file__).with_name(f"{name}.md") for name in ("counts", "counts-in-print", "counts-of-saha")]
COLUMNS = ("method", "twists", "printed", "at 6", "ours", "ours at 6", "note")
MARKED = re.compile(r"(<!-- (?P<kind>\w+) (?P<name>\S+) -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


def table(name: str) -> str:
    """A table of the papers, or that of regrouped parameters."""
    columns = COLUMNS if name != "saha-2" else (*COLUMNS[:4], "at 12", *COLUMNS[4:6], "ours at 12", COLUMNS[6])
    return rc.tables(name).markdown(*(() if name == "regrouping" else columns))


def totals(names: str) -> str:
    """The last lines of tables by equation."""
    lines = ["| table | twists | printed at 6 | ours at 6 | printed | ours |", "|---" * 6 + "|"]
    for name in names.split(","):
        for row in rc.tables(name):
            if row.method == "total":
                cells = row.cells()
                values = (cells[key] for key in ("at 6", "ours at 6", "printed", "ours"))
                lines.append(f"| {name} | {row.geometry} | {' | '.join(values)} |")
    return "\n".join(lines)


def robots(quantity: str) -> str:
    """The bundled robots by method."""
    rows = [row for row in rc.tables("robots") if row.quantity == quantity]
    names = list(dict.fromkeys(row.robot for row in rc.tables("robots")))
    cells = {(row.robot, row.method): f"{row.mul}/{row.add}" for row in rows}
    lines = [f"| `method=` | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for method in METHODS[quantity]:
        lines.append(f'| `"{method}"` | {" | ".join(cells.get((name, method), "-") for name in names)} |')
    return "\n".join(lines)


def filled(text: str) -> str:
    """The page with its tables made anew."""
    make = {"table": table, "totals": totals, "robots": robots}
    return MARKED.sub(lambda found: found[1] + "\n" + make[found["kind"]](found["name"]) + "\n", text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text("utf-8")), "utf-8")
