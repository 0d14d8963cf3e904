"""Export to C and JavaScript: quantities of a robot and formulas become files that need no Python."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recursa.errors import RecursaError
from recursa.evaluation.answering import Facade
from recursa.facade.export_questions import asked
from recursa.files import write_together
from recursa.kernels.c_loops import CText, LoopedCFunction
from recursa.kernels.c_source import c_header, c_identifier, c_test, c_unit
from recursa.kernels.js_source import JsFunction, js_identifier, js_module
from recursa.operators.compiled_expression import CompiledExpression
from recursa.quantities import Quantity
from recursa.spatial.counter import Counts

TEST_TOLERANCE = 1e-9


@dataclass(frozen=True)
class CExport:
    """What :meth:`Robot.export_c` wrote: the files (source, header, test program), the C function, its cost."""

    files: tuple[Path, Path, Path]
    function: str
    operations: Counts


@dataclass(frozen=True)
class JsExport:
    """What :meth:`Robot.export_js` wrote: the file (one), the JavaScript function, its cost."""

    files: tuple[Path]
    function: str
    operations: Counts


class ExportMethods(Facade):
    """Code that runs without Python."""

    __slots__ = ()

    def export_c(
        self,
        quantity: str | Quantity | CompiledExpression,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        **options: Any,
    ) -> CExport:
        """Write a quantity as self-contained C99: ``id.c``, ``id.h`` and a test program ``id_test.c``.

        ``quantity`` is the name of a quantity, your own record (:class:`recursa.quantities.Quantity`), or a compiled
        formula (:func:`recursa.compile`), whose arguments are q, v if it needs it, and its vectors. ``options`` are a
        quantity's options (``link="flange"``, ``frame="world"``, ``losses=True``); arrays that are optional there
        become arguments of the function with ``wrenches=True``, ``base_acceleration=True``, ``parameters=True``. The
        header tells the order of arguments and joints, shapes, units and frames. No allocation, no state, nothing but
        ``math.h``. Existing files are replaced.

        >>> import recursa as rc, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export = rc.robots.planar(2).export_c("gravity_forces", folder + "/gravity.c")
        >>> export.function, [file.name for file in export.files]
        ('planar2_gravity_forces', ['gravity.c', 'gravity.h', 'gravity_test.c'])
        """
        source = _source_path(path)
        question = asked(self.model, quantity, options)
        function = question.c_function(c_identifier(question.title if name is None else name), self.evaluator)
        title = question.heading
        about = [*question.about(function), "The function keeps no state and allocates nothing.", *_stack(function)]
        texts = (
            c_unit(function, title, source.stem),
            c_header(function, about),
            c_test(function, f"Test of {title}", source.stem, *question.examples(function), TEST_TOLERANCE),
        )
        files = (source, source.with_suffix(".h"), source.with_name(f"{source.stem}_test.c"))
        write_together(dict(zip(files, texts, strict=True)))
        return CExport(files, function.name, function.operations)

    def export_js(
        self,
        quantity: str | Quantity | CompiledExpression,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        **options: Any,
    ) -> JsExport:
        """Write a quantity as a JavaScript module, for web pages and for Node: one file, ``id.js`` or ``id.mjs``.

        ``quantity``, ``name`` and ``options`` are as for :meth:`export_c`. The module exports one function, by its name
        and as the default: ``forward_dynamics(q, v, tau, out)`` takes arrays of numbers, fills ``out`` and returns it;
        without ``out`` it returns a new Float64Array. The comment at its head tells the order of arguments and joints,
        shapes, units and frames. It imports nothing. An existing file is replaced.

        >>> import recursa as rc, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export = rc.robots.planar(2).export_js("forward_dynamics", folder + "/forward.js")
        >>> export.function, [file.name for file in export.files]
        ('planar2_forward_dynamics', ['forward.js'])
        """
        source = _named(path, (".js", ".mjs"), "a JavaScript file, such as 'id.js'")
        question = asked(self.model, quantity, options)
        function = question.traced(js_identifier(question.title if name is None else name), "js")
        assert isinstance(function, JsFunction)
        write_together({source: js_module(function, [*question.about(function)])})
        return JsExport((source,), function.name, function.operations)


def _stack(function: CText) -> Iterator[str]:
    if isinstance(function, LoopedCFunction):
        yield f"It loops over bodies and keeps their numbers on the stack, {8 * function.places['end']} bytes."


# ---- files -----------------------------------------------------------------------------------------------------------


def _source_path(path: str | os.PathLike[str]) -> Path:
    """Where the C source goes; its name must fit an ``#include`` line."""
    wanted = "a C file, such as 'id.c'"
    source = _named(path, (".c",), wanted)
    if not source.stem.isprintable() or set('"\\') & set(source.stem):
        raise _no_place(source, wanted)
    return source


def _named(path: str | os.PathLike[str], endings: tuple[str, ...], wanted: str) -> Path:
    """The file; a name without an ending gets the first one."""
    source = Path(path)
    if source.suffix == "" and not source.is_dir():
        source = source.with_name(f"{source.name}{endings[0]}")
    if source.suffix not in endings:
        raise _no_place(source, wanted)
    return source


def _no_place(source: Path, wanted: str) -> RecursaError:
    return RecursaError(f"cannot export to '{source}': give the path of {wanted}")
