"""Mutated inputs for everything that reads files or texts: ``make fuzz SECONDS=60``.

Whatever is read, the answer is a result or a RecursaError, within 10 s, and Python opens no file but the one that was
named. What breaks that is written to ``fuzz/found/``, with its reader in the name, and printed; the exit code is 1.
``python fuzz/harness.py fuzz/found/*`` reads such files again. Inputs are read in a process of its own, some thousand
each: one that crashes, or hangs in native code for a minute, is found like others. ``fuzz/guided.py`` does the same
led by coverage, where atheris is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import hashlib
import json
import multiprocessing
import os
import random
import signal
import sys
import sysconfig
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

from mutations import changed
from readers import READERS, SUFFIXES, corpus, usable

import recursa as rc
from recursa.kernels import native

FOUND = Path(__file__).parent / "found"
MOST_SECONDS = 10  # for one input
HANGING = 60  # seconds after which a process that no signal reaches is given up
PORTION = 2000  # inputs of one process
_OWN_FAULT = 3  # exit code of a process in which this harness failed
OURS = (
    sysconfig.get_paths()["stdlib"],
    *filter(None, sys.path),
    str(Path(rc.__file__).parent),
    str(native.directory() or os.devnull),
)


class TooSlowError(Exception):
    """An input took too long."""


def main() -> int:
    """Fuzz for a while, or read the cases given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--inputs", type=int, default=None, help="so many at the most")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--readers", default=",".join(READERS), help="some of them, with commas between")
    parser.add_argument("cases", nargs="*", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.cases:
            watch = Watch(Path(folder))
            read = [watch.broken(case.name.split("-")[0], case.read_bytes()) for case in given.cases]
            return int(any(read))
        seed = random.randrange(2**32) if given.seed is None else given.seed
        return _fuzz(given.seconds, given.inputs or sys.maxsize, seed, given.readers.split(","), Path(folder))


def _fuzz(seconds: float, inputs: int, seed: int, readers: list[str], place: Path) -> int:
    good = corpus(place)
    chosen = {name: good[name] for name in readers if name in good}
    _require_read(chosen, place)
    counts, found, portion = Counter[str](), 0, 0
    print(f"seed {seed}", flush=True)
    end, processes = time.monotonic() + seconds, multiprocessing.get_context("fork")
    while time.monotonic() < end and counts.total() < inputs:
        count = min(PORTION, inputs - counts.total())
        told = place / "told"
        told.unlink(missing_ok=True)
        process = processes.Process(target=_portion, args=(f"{seed} {portion}", count, end, chosen, place))
        process.start()
        process.join()
        portion += 1
        if process.exitcode == 0:
            read, broken = json.loads(told.read_text())
            counts.update(read)
            found += broken
        elif process.exitcode == _OWN_FAULT:
            return _OWN_FAULT
        else:  # it crashed, or hung
            reader = (place / "reader").read_text()
            data = (place / f"input{SUFFIXES.get(reader, '')}").read_bytes()
            keep(reader, data, f"ended its process with {process.exitcode}")
            counts[reader] += 1
            found += 1
    print(f"{counts.total()} inputs: {', '.join(f'{n} {name}' for name, n in sorted(counts.items()))}; {found} found")
    return int(found > 0)


def _require_read(good: dict[str, list[bytes]], place: Path) -> None:
    """Good inputs are read: mutations of what is refused at once would find nothing. Pieces of robots may be beside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for reader, texts in good.items():
            refused = []
            for data in texts:
                file = place / f"input{SUFFIXES.get(reader, '')}"
                file.write_bytes(data)
                try:
                    READERS[reader](file)
                except rc.ModelError as error:
                    refused.append(error)
            if len(refused) == len(texts):
                raise refused[0]


def _portion(seed: str, count: int, end: float, chosen: dict[str, list[bytes]], place: Path) -> None:
    rng, watch = random.Random(seed), Watch(place)
    counts, found = Counter[str](), 0
    try:
        while counts.total() < count and time.monotonic() < end and usable():
            reader = rng.choice(list(chosen))
            counts[reader] += 1
            found += watch.broken(reader, changed(reader, rng.choice(chosen[reader]), rng))
        (place / "told").write_text(json.dumps([counts, found]))
    except BaseException:
        traceback.print_exc()
        os._exit(_OWN_FAULT)


class Watch:
    """Reads inputs, and sees what each of them does."""

    def __init__(self, place: Path) -> None:
        warnings.simplefilter("ignore")
        self._place, self._opened, self._reader, self._until = place, list[str](), "", 0.0
        sys.addaudithook(lambda name, what: self._opened.append(str(what[0])) if name == "open" else None)
        with contextlib.suppress(AttributeError):
            signal.signal(signal.SIGALRM, _too_slow)

    def broken(self, reader: str, data: bytes) -> bool:
        """Whether an input does what none may do; then it is kept."""
        file = self._place / f"input{SUFFIXES.get(reader, '')}"
        file.write_bytes(data)
        if reader != self._reader:
            (self._place / "reader").write_text(reader)
            self._reader = reader
        if time.monotonic() > self._until:  # now and then: it starts a thread
            faulthandler.dump_traceback_later(HANGING, exit=True)
            self._until = time.monotonic() + MOST_SECONDS
        self._opened.clear()
        why = ""
        try:
            if hasattr(signal, "alarm"):
                signal.alarm(MOST_SECONDS)
            READERS[reader](file)
        except rc.RecursaError:
            pass
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            why = traceback.format_exc()
        finally:
            if hasattr(signal, "alarm"):
                signal.alarm(0)
        others = [one for one in self._opened if not self._may_open(one, file)]
        why = why or (f"opened {others}" if others else "")
        if why:
            keep(reader, data, why)
        return bool(why)

    def _may_open(self, name: str, file: Path) -> bool:
        """The input itself, the folder that a checkpoint is written in, files of Python and of ours."""
        return name in (str(file), str(file.parent)) or name.startswith(OURS) or name.isdigit()


def keep(reader: str, data: bytes, why: str) -> None:
    """An input that was found, with its reader in the name."""
    FOUND.mkdir(exist_ok=True)
    kept = FOUND / f"{reader}-{hashlib.sha256(data).hexdigest()[:12]}"
    kept.write_bytes(data)
    print(f"{kept}:\n{why}", flush=True)


def _too_slow(*_: object) -> None:
    raise TooSlowError(f"more than {MOST_SECONDS} s")


if __name__ == "__main__":
    sys.exit(main())
