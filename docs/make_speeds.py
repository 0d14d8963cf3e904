"""The chart and the table of speed.md, from the table "Every size" of notes/measurements-sizes.md.

``python docs/make_speeds.py`` writes docs/images/speed-light.svg and speed-dark.svg.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
ROBOTS = {"arm, nv 7": "arm, 7 joints", "talos, 50": "humanoid, 50 freedoms", "chain of 100": "chain of 100"}
QUANTITIES = {
    "inverse dynamics": "inverse dynamics",
    "forward dynamics": "forward dynamics",
    "mass matrix": "mass matrix",
    "its inverse": "inverse of the mass matrix",
    "d inverse dynamics": "derivatives of inverse dynamics",
    "frame Jacobian": "Jacobian of a link",
}


def ratios() -> dict[str, dict[str, tuple[float, float]]]:
    """How many times as fast as Pinocchio, by quantity and robot: a single call, a state in a batch."""
    text = (HERE / "notes" / "measurements-sizes.md").read_text("utf-8").split("## Every size")[1]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", text, re.MULTILINE)
    ]
    robots = rows[0][1:]
    found = {}
    for name, *cells in rows[2:]:
        if name in QUANTITIES and name not in found:
            pairs = [tuple(map(float, re.findall(r"[\d.]+", cell)[:2])) for cell in cells]
            found[name] = {robot: (one, many) for robot, (one, many) in zip(robots, pairs, strict=True)}
    return {name: found[name] for name in QUANTITIES}


def table() -> str:
    """The ratios as a table: a call / in a batch."""
    lines = ["| a call / a state in a batch | " + " | ".join(ROBOTS.values()) + " |", "|---" * (len(ROBOTS) + 1) + "|"]
    for name, row in ratios().items():
        lines.append(f"| {QUANTITIES[name]} | " + " | ".join(f"{row[r][0]:g} / {row[r][1]:g}" for r in ROBOTS) + " |")
    return "\n".join(lines)


def filled(text: str) -> str:
    """The page with its table."""
    return text.replace("<!-- speeds -->", table())


def draw(folder: Path) -> None:
    """The chart, for light and for dark pages."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for theme, ink in (("light", "#222222"), ("dark", "#dddddd")):
        style = {
            "text.color": ink,
            "axes.labelcolor": ink,
            "xtick.color": ink,
            "ytick.color": ink,
            "axes.edgecolor": ink,
        }
        with plt.rc_context({**style, "svg.hashsalt": "recursa", "font.size": 11}):
            figure, axis = plt.subplots(figsize=(8.4, 4.6), layout="constrained")
            for k, (robot, colour) in enumerate(zip(ROBOTS, ("#2563a8", "#e08a2c", "#4a9a54"), strict=True)):
                values = [row[robot][1] for row in ratios().values()]
                places = [n + (k - 1) * 0.27 for n in range(len(values))]
                axis.barh(places, values, 0.25, color=colour, label=ROBOTS[robot])
                for place, value in zip(places, values, strict=True):
                    axis.text(value * 1.04, place, f"{value:.3g}", va="center", fontsize=9)
            axis.set_xscale("log")
            axis.set_xlim(1, 170)
            axis.set_xticks([1, 3, 10, 30, 100], ["as fast", "3 times", "10 times", "30 times", "100 times"])
            axis.minorticks_off()
            axis.set_yticks(range(len(QUANTITIES)), list(QUANTITIES.values()))
            axis.invert_yaxis()
            axis.set_title(
                "Faster than Pinocchio called from Python, a state in a batch of 512", fontsize=11, loc="left"
            )
            axis.spines[["top", "right"]].set_visible(False)
            axis.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.42, -0.08), ncols=len(ROBOTS))
            figure.savefig(folder / f"speed-{theme}.svg", transparent=True, metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    draw(HERE / "images")
