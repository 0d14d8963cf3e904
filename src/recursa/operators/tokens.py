"""Formulas as tokens: numbers, letters in every spelling, stars and brackets, LaTeX among them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection
from typing import NamedTuple

from recursa.errors import NotationError
from recursa.operators.notation import SPELLINGS
from recursa.operators.symbols import TAKEN, Kind

_LATEX = {kind.value.latex: kind.value.code for kind in Kind if "\\" in kind.value.latex} | {
    r"E_\phi": "E_phi", r"E_\psi": "E_psi", r"E_{\phi}": "E_phi", r"E_{\psi}": "E_psi", r"\bar\tau": "tau_bar",
    r"\mathcal{E}_{\phi}": "E_phi", r"\mathcal{E}_{\psi}": "E_psi",
    r"\log\det": "logdet", r"\ln\det": "logdet", r"\dot{\theta}": "v",
    r"\mathcal{M}": "mass", r"\mathcalM": "mass", "ℳ": "mass", "𝓜": "mass",
}  # fmt: skip
_LATEX |= {re.sub(r"\\dot\{(\\[a-z]+)\}", r"\\dot\1", latex): code for latex, code in _LATEX.items()}
"""Letters as LaTeX has them without spaces, and the script letter of the mass matrix, which is not M."""

_FONT = re.compile(
    r"\\(?:mathbf|mathrm|mathit|mathsf|boldsymbol|bm|operatorname)(?![A-Za-z])\s*"
    r"(?:\{((?:[^{}]|\{[^{}]*\})*)\}|(\\?[A-Za-z]+))"
)
"""A letter, or a formula in braces, in a font that says nothing."""


def _spaced(latex: str) -> str:
    """LaTeX as a pattern that ends where a word does, with spaces wherever LaTeX passes over them."""
    parts = re.findall(r"\\mathcal|\\[A-Za-z]+|.", latex)
    return r"\s*".join(map(re.escape, parts)) + ("(?![A-Za-z])" if latex[-1].isalpha() else "")


_LETTER = (
    "|".join(map(_spaced, sorted(_LATEX, key=len, reverse=True)))
    + r"|\\mathcal(?![A-Za-z])\s*(?:\{[^{}]*\}|\\?[A-Za-z]+)|\\[A-Za-z_]+"
)
_QUOTIENT = r"\\[dt]?frac\s*(?:\{\s*[\d.]+\s*\}\s*\{\s*[\d.]+\s*\}|\d\s*\d)"
_FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{\s*([\d.]+)\s*\}\s*\{\s*([\d.]+)\s*\}|(\d)\s*(\d))")
_RATE = "|".join(rf"\\[dt]?frac\s*\{{\s*{d}\s*\}}\s*\{{\s*{d}\s*t\s*\}}" for d in "dD")

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|½|QUOTIENT)
  | (?P<derivative>d/dt(?!\w)|D/Dt(?!\w)|d/d(?=\{)|RATE)
  | (?P<joint>\{(?:[^{}]|\{[^{}]*\})*\})
  | (?P<inverse>\^\s*-\s*1(?!\d)|\^\s*\{\s*-\s*1\s*\}|⁻¹)
  | (?P<power>\^\s*[-−]?\s*(?:\d+|½)|\^\s*QUOTIENT|\^\s*\{\s*[-−]?\s*QUOTIENT\s*\}
       |\^[({]\s*[-−]?\s*(?:½|\d+\s*(?:/\s*\d+\s*)?)[)}]|[²³])
  | (?P<star>\^\s*[T*]|\^\s*\{\s*(?:[T*]|\\top|\\ast)\s*\}|\^\s*\\(?:top|ast)(?![A-Za-z])|[*'ᵀ])
  | (?P<skipped>\\(?:left|right)(?![A-Za-z])|\\[,;!])
  | (?P<name>(?!\\cdot(?![A-Za-z]))(?:LATEX)|(?:(?![\dᵀ²³½])[\w\u0300-\u036f])(?:(?![ᵀ²³½])[\w\u0300-\u036f])*)
  | (?P<mark>[()\[\]+\-−@/·⋅]|\\cdot(?![A-Za-z]))
  )""".replace("QUOTIENT", _QUOTIENT)
    .replace("RATE", _RATE)
    .replace("LATEX", _LETTER),
    re.VERBOSE,
)
WITH_LINK = ("B", "J")
"""Names that are followed by that of a link in brackets, which may contain anything."""


class Token(NamedTuple):
    """A piece of the text and where it starts."""

    kind: str
    text: str
    start: int


def tokens(text: str, vectors: Collection[str] = ()) -> list[Token]:
    """The text in pieces, the last one of kind "end"; names of ``vectors`` are words of their own.

    >>> [token.text for token in tokens("2 phi* (I)^-1 HψK")]
    ['2', 'phi', '*', '(', 'I', ')', '^-1', 'H', 'ψ', 'K', '']
    """
    found, at, plain_text = [], 0, _without_fonts(text)
    while at < len(text.rstrip()):
        match = _TOKEN.match(plain_text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            one_side = ": a formula is one side of an equation, give one" if text[at] == "=" else ""
            raise NotationError(f"{text[at]!r} has no meaning here{one_side}", text, at)
        kind = match.lastgroup or ""
        if kind == "skipped":
            at = match.end()
            continue
        plain = _plain(kind, match[kind])
        words = _letters(plain, vectors) if kind == "name" else [plain]
        found += [Token(kind, word, match.start(kind) + place) for place, word in enumerate(words)]
        at = match.end()
        if kind == "name" and words[-1] in WITH_LINK and words[-1] not in vectors:
            link = _link(text, plain_text, at)
            if link is not None:
                found.append(link)
                at = link.start + len(link.text) + 1
    return [*found, Token("end", "", len(text.rstrip()))]


def _without_fonts(text: str) -> str:
    """The text with spaces in the place of fonts: every letter stays where it is."""
    while (plain := _FONT.sub(lambda match: (match[1] or match[2] or "").rjust(len(match[0])), text)) != text:
        text = plain
    return text


def _plain(kind: str, text: str) -> str:
    """A piece in one spelling: accents, Greek letters of other fonts, LaTeX."""
    if kind == "derivative" and "frac" in text:
        return "D/Dt" if "D" in text else "d/dt"
    if kind == "power":
        text = _FRACTION.sub(r"\1\3/\2\4", text)
    if kind != "name":
        return "@" if text in ("·", "⋅", r"\cdot") else text.replace("−", "-")
    text = re.sub(r"\s", "", text)
    if text not in _LATEX:
        text = text.removeprefix(r"\mathcal").strip("{}")
    return _LATEX.get(text) or unicodedata.normalize("NFKC", text.removeprefix("\\"))


def number_in(token: Token) -> float:
    r"""The number of a token, be it ``0.5``, ``½`` or ``\\frac{1}{2}``; infinite where a fraction divides by 0.

    >>> number_in(tokens(r"\frac{1}{2} M")[0]), number_in(tokens("½")[0])
    (0.5, 0.5)
    """
    fraction = _FRACTION.fullmatch(token.text)
    if fraction is None:
        return 0.5 if token.text == "½" else float(token.text)
    above, below = (float(part) for part in fraction.groups() if part is not None)
    return above / below if below else math.inf


def _letters(word: str, vectors: Collection[str]) -> list[str]:
    """A word that has no meaning as a whole, apart where each of its letters has one."""
    known = {*TAKEN, *SPELLINGS, "T", *vectors}
    apart = re.findall(r"\w[\u0300-\u036f]*", word)
    readable = word not in known and all(letter in known for letter in apart)
    return apart if readable else [word]


def _link(text: str, plain_text: str, at: int) -> Token | None:
    """The name of a link in brackets, up to the one that closes them; None where no bracket opens."""
    start = at + len(plain_text[at:]) - len(plain_text[at:].lstrip())
    if text[start : start + 1] != "(":
        return None
    depth = 0
    for end in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return Token("link", text[start + 1 : end], start + 1)
    raise NotationError("expected ')' behind the name of a link", text, len(text))
