"""HTML for notebooks: tables and text, in which nothing that a file says becomes markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table.

    >>> table("a & b", ["x"], [["<1>"]])
    '<table><caption>a &amp; b</caption><tr><th>x</th></tr><tr><td>&lt;1&gt;</td></tr></table>'
    """
    lines = ["".join(f"<th>{escape(head)}</th>" for head in heads)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return f"<table><caption>{escape(caption)}</caption>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def text(content: str) -> str:
    """Text as it stands."""
    return f'<pre style="white-space:pre-wrap">{escape(content)}</pre>'
