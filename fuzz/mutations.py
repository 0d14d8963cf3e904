"""How inputs are changed: bytes anywhere, values in JSON, elements of XML; then checksums are put right again."""

from __future__ import annotations

import copy
import json
import random
import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from damage import ELEMENTS, VALUES, damaged
from files_of_strangers import repacked
from recursa.runs import journal
from recursa.runs.npz_files import ABOUT

WORDS = [
    b"nan", b"inf", b"-1", b"1e999", b"0", b"9" * 400, b"null", b"true", b"{}", b"[]", b'""', b"<", b">", b"&", b"\0",
    b"\x1b[2J", b"\xff", b"\xe2\x80\xae", b"world", b"__class__", b"../../etc/passwd", b"file:///etc/passwd", b",",
    b"\n", b"${", b"$(find ", b"1e-320", b"1e308", b"-0.0", b"\xc2\xbd",
]  # fmt: skip
JSON_VALUES = [
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 0.0, -0.0, 1e308, 1e-320, float("nan"),
    float("inf"), "", "world", "x" * 5000, "\x1b[2J", "\ud800", [], {}, [[]], [None], [0, 0, 0], {"array": []},
    {"array": ["<f8", [0], "C"]}, {"dict": {}}, {"number": ["<i8", [], "C"]},
]  # fmt: skip
NUMBERS = [
    struct.pack("<d", one) for one in (0.0, -0.0, -1.0, 1e308, -1e308, 1e-320, 1e9, float("nan"), float("inf"))
] + [struct.pack("<q", one) for one in (1, -1, 2**31, 2**62, -(2**63))]  # of arrays


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Some pieces of it removed, doubled, replaced, turned round."""
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at, length = rng.randrange(len(data) + 1), rng.choice((1, 1, 4, 30, 300))
        piece = data[at : at + length]
        put = rng.choice(
            (b"", piece * 2, rng.choice(WORDS), rng.randbytes(len(piece)), piece[::-1], data[: rng.randrange(60)])
        )
        data = data[:at] + put + data[at + length :]
    return data


_TOKEN = re.compile(rb"[\w.+-]+|\s+|.", re.DOTALL)


def mutated_words(data: bytes, rng: random.Random) -> bytes:
    """Words and numbers exchanged for others, of the text itself or awkward ones; what is between them stays."""
    tokens = _TOKEN.findall(data)
    places = [k for k, token in enumerate(tokens) if token[:1].isalnum() or token[:1] in b"+-."]
    for _ in range(rng.choice((1, 1, 2, 3))):
        if places:
            tokens[rng.choice(places)] = rng.choice((tokens[rng.choice(places)], rng.choice(WORDS)))
    return b"".join(tokens)


def mutated_lines(data: bytes, rng: random.Random) -> bytes:
    """A line left out, doubled, or moved."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    one = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.randrange(3)):
        lines.insert(rng.randrange(len(lines) + 1), one)
    return b"".join(lines)


# ---- JSON, as it is or inside of files of runs -----------------------------------------------------------------------


def mutated_json(data: bytes, rng: random.Random) -> bytes:
    """Another value here and there, keys and items left out, moved or repeated; what is no JSON stays as it is."""
    try:
        tree = [json.loads(data)]
    except ValueError:
        return data
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        _change(tree, rng)
    try:
        return json.dumps(tree)[1:-1].encode(errors="surrogatepass")
    except (ValueError, RecursionError):
        return data


def _change(tree: list[Any], rng: random.Random) -> None:
    holder: Any = tree
    while True:  # down to some value
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = rng.choice(keys)
        inner = holder[key]
        if not isinstance(inner, dict | list) or rng.random() < 0.1:
            break
        holder = inner
    what = rng.randrange(6)
    if what == 0:
        del holder[key]
    elif what == 1:
        holder[key] = holder[rng.choice(keys)]
    elif what == 2 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif what == 2:
        holder[str(rng.choice(JSON_VALUES))[:20]] = holder.pop(key)
    elif what == 3 and isinstance(holder[key], int | float):
        holder[key] = rng.choice((-holder[key], holder[key] + 1, str(holder[key]), [holder[key]]))
    else:
        holder[key] = rng.choice(JSON_VALUES)


def mutated_run(data: bytes, rng: random.Random) -> bytes:
    """The JSON of a saved run, or the bytes of one of its members."""

    def change(members: dict[str, bytes]) -> None:
        name = rng.choice([ABOUT, rng.choice(list(members))])
        members[name] = (mutated_json if name == ABOUT else mutated)(members[name], rng)

    return repacked(data, change)


def mutated_blocks(data: bytes, rng: random.Random) -> bytes:
    """One of the texts in a checkpoint, or numbers of its arrays."""
    first, *blocks = data.split(journal._MARK)
    if not blocks:
        return data
    head = journal._HEAD.size - len(journal._MARK)
    chosen = rng.randrange(len(blocks))
    payload = blocks[chosen][head:]
    length = int.from_bytes(payload[:8], "little")
    text, arrays = payload[8 : 8 + length], payload[8 + length :]
    if rng.random() < 0.3 and len(arrays) >= 8:
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = 8 * rng.randrange(len(arrays) // 8)
            arrays = arrays[:at] + rng.choice(NUMBERS) + arrays[at + 8 :]
    else:
        text = mutated_json(text, rng)
    blocks[chosen] = blocks[chosen][:head] + len(text).to_bytes(8, "little") + text + arrays
    return first + b"".join(journal._MARK + one for one in blocks)


# ---- XML -------------------------------------------------------------------------------------------------------------


def mutated_xml(data: bytes, rng: random.Random) -> bytes:
    """Elements and values, as the tests damage them."""
    found = damaged([data.decode()], [*VALUES, *ELEMENTS], rng)
    return found if isinstance(found, bytes) else found.encode(errors="surrogatepass")


# ---- checksums -------------------------------------------------------------------------------------------------------


def sealed_checkpoint(data: bytes) -> bytes:
    """Blocks with right checksums, wherever what looks like one begins."""
    first, *blocks = data.split(journal._MARK)
    return first + b"".join(journal.block(one[journal._HEAD.size - len(journal._MARK) :]) for one in blocks)


SEALED: dict[str, Callable[[bytes], bytes]] = {
    "checkpoint": sealed_checkpoint,
    "resume": sealed_checkpoint,
}
STRUCTURED: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "run": mutated_run,
    "checkpoint": mutated_blocks,
    "resume": mutated_blocks,
    "robot_json": mutated_json,
    "dh": mutated_json,
    "state": mutated_json,
    **dict.fromkeys(("urdf", "xacro", "sdf", "mjcf"), mutated_xml),
}


def changed(reader: str, data: bytes, rng: random.Random) -> bytes:
    """An input for a reader, made from a good one."""
    texts = () if reader in SEALED else (mutated_words, mutated_lines)
    structured = (STRUCTURED[reader],) * 2 if reader in STRUCTURED else ()
    return SEALED.get(reader, bytes)(rng.choice((mutated, *texts, *structured))(data, rng))
