"""What all pictures share: colours, names as they are, pyplot left alone unless in use, files that are whole."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recursa.errors import RecursaError
from recursa.files import named_file, write_together

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def new_figure(width: float, height: float, *, shown: bool = False, **options: Any) -> Figure:
    """A matplotlib figure: one of pyplot's if it is to be ``shown`` and pyplot is in use, else with its own canvas.

    Whoever has imported pyplot expects ``plt.show()`` to show what was drawn. Nobody else gets pyplot imported: it
    keeps its figures until they are closed, and chooses a backend, which a server has no use for. A figure that goes to
    a file is never pyplot's, so that a loop that writes a thousand pictures does not keep them.
    """
    options = {"figsize": (width, height), "layout": "constrained", **options}
    pyplot = sys.modules.get("matplotlib.pyplot")
    if shown and pyplot is not None:
        return pyplot.figure(**options)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(**options)
    FigureCanvasAgg(figure)
    return figure


def drawable(path: str | os.PathLike[str]) -> Path:
    """The file that a picture goes to: its name ends in a format that can be written."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    place, known = named_file(path), FigureCanvasAgg.get_supported_filetypes()
    if place.suffix[1:].lower() not in known:
        raise RecursaError(f"cannot draw '{place}': its ending is none of {', '.join(sorted(known))}")
    return place


def saved(figure: Figure, path: str | os.PathLike[str] | None, dpi: float) -> Figure:
    """The figure, written to a file where one is named."""
    if path is not None:
        save(figure, path, dpi)
    return figure


def save(figure: Figure, path: str | os.PathLike[str], dpi: float) -> None:
    """Write a figure in the format that the name ends in (png, pdf, svg ...), all of it or nothing."""
    place, picture = drawable(path), io.BytesIO()
    figure.savefig(picture, format=place.suffix[1:].lower(), dpi=dpi)
    write_together({place: picture.getvalue()})
