"""What all pictures share: colours, names as they are, figures without global state, files that are whole."""

from __future__ import annotations

import io
import os
from typing import Any

from recursa.errors import RecursaError
from recursa.files import named_file, write_together

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c564b")  # told apart by everybody
LINES = ("-", "--", ":", "-.")


def colour(k: int) -> str:
    """The colour of number k."""
    return COLOURS[k % len(COLOURS)]


def line_style(k: int) -> str:
    """Where colours come round again, the kind of line tells apart."""
    return LINES[k // len(COLOURS) % len(LINES)]


def plain(name: str) -> str:
    """The name as it is: a dollar sign would start a formula, an underscore in front hides it from a legend."""
    shown = name.replace("$", r"\$")
    return f"\u200b{shown}" if shown.startswith("_") else shown


def new_figure(width: float, height: float, **options: Any) -> Any:
    """A matplotlib figure with its own canvas; nothing global is touched."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), **{"layout": "constrained", **options})
    FigureCanvasAgg(figure)
    return figure


def save(figure: Any, path: str | os.PathLike[str], dpi: float) -> None:
    """Write a figure in the format that the name ends in (png, pdf, svg ...), all of it or nothing."""
    place = named_file(path)
    known = figure.canvas.get_supported_filetypes()
    ending = place.suffix[1:].lower()
    if ending not in known:
        raise RecursaError(f"cannot draw '{place}': its ending is none of {', '.join(sorted(known))}")
    picture = io.BytesIO()
    figure.savefig(picture, format=ending, dpi=dpi)
    write_together({place: picture.getvalue()})
