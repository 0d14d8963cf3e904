"""An expression as a function of arrays: simplified, lowered to sweeps, compiled to native code."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.requirements import Lacking
from recursa.errors import NoSweepError, ShapeError, StateError, UntraceableError, unknown_name
from recursa.evaluation.hints import bounds_of_doubt, warn_of_conventions
from recursa.evaluation.resolved_quantity import ResolvedQuantity
from recursa.kernels.c_loops import CText
from recursa.kernels.dispatch import KernelStore
from recursa.kernels.function import Spelled
from recursa.kernels.kernel import FORMS, Kernel
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.operators.expression import Expression, free_vectors
from recursa.operators.frame_rules import frame_free, mass_alone
from recursa.operators.lower import lower
from recursa.operators.notation import Notation
from recursa.operators.open_tree import refuse_open_tree
from recursa.operators.parsing import parse
from recursa.operators.shapes import ONE
from recursa.operators.simplify import simplify
from recursa.operators.singular import has_inverses, require_inverses
from recursa.operators.values import Lowered, input_name, operand_of
from recursa.operators.vocabulary import Spaces
from recursa.quantities.quantity import Recipe
from recursa.spatial.counter import Counts
from recursa.sweeps.batching import Array, as_array
from recursa.sweeps.plan import Plan


class CompiledExpression:
    """What :func:`recursa.compile` returns: call it as ``f(q, v, *vectors)``.

    ``v`` may be None where the expression does not need it. A matrix takes the vector it is applied to; free vectors
    follow in the order of ``inputs``. Leading axes are batch axes, broadcast against each other. ``f.matrix(q, v)`` is
    the matrix itself. Where an inverse in it does not exist at a state, :class:`SingularMatrixError` names the matrix.
    """

    def __init__(self, expression: Expression, model: Model, form: str | None = None) -> None:
        self.expression = expression
        self.simplified, self.rewritings = simplify(expression, trace=True)
        self.model = model
        self._operand = operand_of(expression)
        self.lowered: Lowered = lower(self.simplified, model, self._operand)
        plan = self.lowered.plan
        own = () if self._operand is None else (self._operand,)
        self._vectors = {input_name(x): x for x in (*free_vectors(expression), *own)}  # used or simplified away
        self.frame_free = frame_free(self.simplified)
        alone = MayMove.INERTIAS if mass_alone(expression) else MayMove.FRAMES
        moved = alone if self.frame_free else MayMove.NOTHING
        self._hinted: dict[Any, Any] = {}
        space = self.lowered.space
        self._shape = () if space == ONE else (space.size,)
        self._needs_v = "v" in plan.inputs
        sizes = {"q": model.nq} | ({"v": model.nv} if self._needs_v else {})
        sizes |= {name: vector.space.size for name, vector in self._vectors.items()}
        sizes |= {name: len(values) for name, values in self.lowered.constants.items()}
        self._resolved = ResolvedQuantity(
            plan.name,
            Recipe(plan, self.lowered.entries, self._shape),
            KernelStore(model, moved, form, bounds_of_doubt(model, self._hinted)),
            sizes,
            labels={name: vector.name for name, vector in self._vectors.items()},
            judged=True,
        )
        constants = self.lowered.constants.values()
        self._constants = [tuple(np.array(x, dtype) for x in constants) for dtype in (np.float64, np.float32)]
        self._may_be_singular = has_inverses(self.simplified)
        self._entry: Any = None

    @property
    def plan(self) -> Plan:
        """The sweeps."""
        return self.lowered.plan

    @cached_property
    def _lacking(self) -> Lacking:
        return Lacking.of(self.model)

    @property
    def kernel_model(self) -> Model:
        """The robot that the code is made of: with link frames moved onto joint axes where that cannot be noticed."""
        return self._resolved.kernels.compiled_model

    @property
    def inputs(self) -> tuple[str, ...]:
        """The free vectors, in the order in which they are given."""
        return tuple(vector.name for vector in self._vectors.values())

    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        *vectors: ArrayLike,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The value (..., rows) for every state; a number for each, (...), where the expression is one."""
        if self._entry is not None:
            given = (q, v, *vectors) if self._needs_v else (q, *vectors)
            constants = self._constants[_are_single(given)] if self._constants[0] else ()
            result = self._entry(*given, *constants, out=out, threads=threads)
            if result is not NotImplemented:
                return result
        arguments = self._arguments(q, v, vectors)
        warn_of_conventions(self.model, q, self._hinted)
        self._lacking.require(self.plan)
        result = self._resolved.answer(arguments, out, threads)
        if self._may_be_singular:
            require_inverses(self.simplified, self.model, result, arguments)
        if self._entry is None or self._entry.lacking:
            self._entry = self._resolved.entry()
        return result

    def matrix(
        self, q: ArrayLike, v: ArrayLike | None = None, *vectors: ArrayLike, threads: int | None = None
    ) -> Array:
        """The matrix itself (..., rows, columns), column by column: what it makes of the unit vectors.

        >>> import recursa as rc
        >>> o = rc.robots.planar(2).operators
        >>> rc.compile(o.mass).matrix([0.0, 0.0]).shape
        (2, 2)
        """
        if self._operand is None:
            raise ShapeError(f"{self.expression} is no matrix: call it, f({', '.join(('q', 'v', *self.inputs))})")
        states = as_array(self.model, "q", q, coordinates=True)[..., None, :]
        units = np.eye(self._operand.space.size, dtype=states.dtype)
        speeds = None if v is None else as_array(self.model, "v", v, coordinates=False)[..., None, :]
        others = (np.expand_dims(np.atleast_1d(x), -2) for x in vectors)
        result = self(states, speeds, *others, units, threads=threads)
        return np.moveaxis(result, -1, -2) if self._shape else result

    def _arguments(self, q: ArrayLike, v: ArrayLike | None, vectors: tuple[ArrayLike, ...]) -> dict[str, Any]:
        if len(vectors) != len(self.inputs):
            wanted = ", ".join(self.inputs) or "none"
            raise ShapeError(
                f"{self.expression} takes q, v and {wanted}: {len(vectors)} vectors were given beside q, v"
            )
        for vector, value in zip(self._vectors.values(), vectors, strict=True):
            if vector.space.name == "tip" and np.shape(value)[-1:] != (vector.space.size,):
                wanted = f"(..., {vector.space.size}): six numbers for every link"
                raise ShapeError(f"{vector.name} has shape {np.shape(value)}, expected {wanted}")
        arguments: dict[str, Any] = {"q": q}
        if self._needs_v:
            if v is None:
                raise StateError(f"{self.expression} depends on the speeds: give v")
            arguments["v"] = v
        arguments |= dict(zip(self._vectors, vectors, strict=True))
        if self.lowered.constants:  # which are of the type of what is given: float32 stays float32
            constants = self._constants[_are_single(arguments.values())]
            arguments |= dict(zip(self.lowered.constants, constants, strict=True))
        return arguments

    # ---- the code ----------------------------------------------------------------------------------------------------

    @property
    def _kernel(self) -> Kernel:
        kernel = self._resolved.kernel()
        if kernel is None:
            raise UntraceableError(f"{self.expression} has no compiled form here; it runs on NumPy columns")
        return kernel

    @property
    def form(self) -> str:
        """ "straight", every body spelled out, or "loop", over bodies that share code."""
        return self._kernel.form

    @property
    def operations(self) -> Counts:
        """Operations of one evaluation."""
        return self._kernel.operations

    def source(self, kind: str = "llvm") -> str:
        """The generated code: "llvm", as it is compiled, or "c", both in the form of the kernel, :attr:`form`; "js"."""
        return self._kernel.source(kind)

    def c_function(self, name: str) -> CText:
        """The same as a C function of that name, which :meth:`Robot.export_c` writes with header and test program."""
        return self._kernel.c_function(name, self.lowered.constants)

    def spelled_out(self, name: str, kind: str) -> Spelled:
        """The same as a function of that name in "c" or "js", every body spelled out."""
        return self._kernel.spelled_out(name, kind, self.lowered.constants)

    def __repr__(self) -> str:
        arguments = ", ".join(("q", "v" if self._needs_v else "None", *self.inputs))
        return f"<{self.expression} of robot '{self.model.name}': f({arguments})>"


def _are_single(arrays: Iterable[Any]) -> bool:
    """Whether all arrays are in single precision."""
    return all(getattr(x, "dtype", None) == np.float32 for x in arrays)


def compile(
    expression: Expression | str,
    robot: Any = None,
    *,
    form: str | None = None,
    vectors: Spaces | None = None,
    notation: Notation | None = None,
) -> CompiledExpression:
    """Native code for an operator expression: ``f(q, v, *vectors)`` with batch axes, in O(n) for n bodies.

    Text is read as :func:`recursa.parse` reads it, with ``vectors`` and ``notation`` ("rodriguez" or
    "jain"), for the robot given. ``form``
    insists on "straight" or "loop" code.
    Where nothing linear applies, :class:`NoSweepError` names the factor.

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.puma560()
    >>> o = arm.operators
    >>> f = rc.compile(o.mass.inverse() @ (o.vector("T") - o.C))
    >>> f.inputs, [sweep.direction.value for sweep in f.plan.sweeps]
    (('T',), ['base to tip', 'tip to base', 'base to tip'])
    >>> q, v = arm.random_state(0)
    >>> np.allclose(f(q, v, np.ones(6)), arm.forward_dynamics(q, v, np.ones(6)))
    True
    """
    if form not in (None, *FORMS):
        raise unknown_name("form of code", str(form), FORMS)
    if isinstance(expression, str) and robot is not None:
        expression = parse(expression, robot, vectors=vectors, notation=notation)
    if not isinstance(expression, Expression):
        what = "text without a robot" if isinstance(expression, str) else f"a {type(expression).__name__}"
        raise StateError(f"rc.compile takes an operator expression (of robot.operators), not {what}")
    model = expression.model if robot is None else robot.model
    if model is None:
        raise NoSweepError(f"cannot compile {expression}: it has no operator of a robot in it")
    if expression.model is not None and expression.model.digest != model.digest:
        raise ShapeError(f"{expression} is of robot '{expression.model.name}', not of robot '{model.name}'")
    refuse_open_tree(expression, model)
    return CompiledExpression(expression, model, form)
