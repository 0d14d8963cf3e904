"""The mass matrix as a metric: how it changes with the configuration, and whether it is curved."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import gathering
from recursa.dynamics.diagonal import sensitivity
from recursa.dynamics.diagonal.curvature import Flatness, christoffel_symbols, curvature_terms, in_orthonormal_axes
from recursa.errors import NoSweepError, RecursaError, SingularHingeError, unknown_name
from recursa.evaluation.evaluator import into
from recursa.facade.base import Call, single_state_fast
from recursa.facade.factorization import FactorizationMethods
from recursa.kernels.dispatch import Columns
from recursa.model.model import Model
from recursa.model.moving import MayMove
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array, as_array
from recursa.sweeps.engine import Values
from recursa.sweeps.plan import Plan

_SPELLED_OUT = 10  # freedoms up to which every entry of the sensitivity has code of its own: seconds to compile
_TINY = 1e-30  # the complex step; its square is nothing beside one


@dataclass(frozen=True)
class _Contraction:
    """How the tensor is contracted with vectors: a plan, its names for them, and which entries are the result.

    ``unit`` is the vector in which MASS_RATE_TIMES gives a matrix column by column, for robots too large for the plan.
    """

    plan: Plan
    entries: Callable[[Model, Values], Iterable[Scalar]]
    inputs: tuple[str, ...] = ()
    unit: str | None = None


def _rows(model: Model, values: Values, *, symmetric: bool) -> Iterator[Scalar]:
    return gathering.joint_matrix(model, values.lists.get("rows", []), symmetric=symmetric)


def _vector(model: Model, values: Values) -> list[Scalar]:
    return gathering.joint_vector(model, values.lists.get("dT", []))


def _total(model: Model, values: Values) -> list[Scalar]:
    shares = list(gathering.flat(values.lists.get("share", [])))
    return [sum(shares[1:], shares[0]) if shares else 0.0]


_BY_COLUMN = _Contraction(  # rows and columns are exchangeable
    sensitivity.MASS_TIMES_BY_Q, partial(_rows, symmetric=False), ("right",), "joint:along"
)
_PRODUCT = _Contraction(sensitivity.MASS_RATE_TIMES, _vector, ("right", "along"))
_CONTRACTIONS = {  # by the vectors that are given
    (): _Contraction(sensitivity.SENSITIVITY, sensitivity.sensitivity_entries),
    ("left",): _BY_COLUMN,
    ("right",): _BY_COLUMN,
    ("along",): _Contraction(sensitivity.MASS_RATE, partial(_rows, symmetric=True), ("along",), "joint:right"),
    ("left", "right"): _Contraction(sensitivity.GRADIENT, _vector, ("left", "right")),
    ("left", "along"): _PRODUCT,
    ("right", "along"): _PRODUCT,
    ("left", "right", "along"): _Contraction(sensitivity.GRADIENT_ALONG, _total, ("left", "right", "along")),
}


class Asking:
    """A view of a robot that answers in its own coordinates, with its own native entries."""

    __slots__ = ("_calls", "_entries", "_robot")

    def __init__(self, robot: FactorizationMethods) -> None:
        self._robot = robot
        self._entries: dict[Hashable, Any] = {}
        self._calls: dict[Call, Callable[..., Any]] = {}

    def _independent(self) -> None:
        """Refuse robots with tied joints: their mass matrix has no sweeps for factors."""
        if self._robot._tied:
            raise NoSweepError(
                f"robot '{self._robot.model.name}' has tied joints, and the diagonalised equations are those of trees "
                'with independent joints. Load it with mimic="free"'
            )

    def _vector(
        self,
        plan: Plan,
        names: tuple[str, ...],
        arguments: dict[str, Any],
        may_move: MayMove,
        out: Array | None,
        threads: int | None,
        entry: tuple[str, ...] | None = None,
    ) -> Array:
        """Joint vectors of a plan, one or several (..., k, nv); checked for joints that have nothing to move."""
        robot = self._robot

        def gather(values: Values) -> Iterator[Scalar]:
            return chain.from_iterable(
                gathering.joint_vector(robot.model, values.lists.get(name, [])) for name in names
            )

        result = robot._evaluate(
            plan,
            arguments,
            gather,
            (robot.nv,) if len(names) == 1 else (len(names), robot.nv),
            out,
            threads,
            labels={name: name.partition(":")[2] for name in arguments if ":" in name},
            entry=entry,
            may_move=may_move,
            entries=self._entries,
        )
        robot._require_finite(result, arguments)
        return result


class Metric(Asking):
    """Derivatives and curvature of the mass matrix."""

    __slots__ = ()

    @single_state_fast
    def sensitivity(
        self,
        q: ArrayLike,
        *,
        left: ArrayLike | None = None,
        right: ArrayLike | None = None,
        along: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """``dM_ij/dq_k`` (..., i, j, k), Identity 6.3 (6.14); contracted with the vectors (..., nv) that are given.

        ``left`` contracts i, ``right`` j and ``along`` k, so that ``along=v`` is the rate of the mass matrix, and
        ``left=x, right=y`` the gradient of ``x* M y``. Two of them take O(n). For spherical, planar and free joints
        the derivative is along unit velocities, that is with respect to dv of ``integrate(q, dv)``.

        >>> import recursa as rc
        >>> robot = rc.robots.puma560()
        >>> (q, v), d = robot.random_state(0), robot.diagonal
        >>> whole = d.sensitivity(q)
        >>> bool(np.allclose(d.sensitivity(q, along=v), whole @ v))
        True
        >>> bool(np.allclose(d.sensitivity(q, left=v, right=v), np.einsum("ijk,i,j->k", whole, v, v)))
        True
        """
        options = (("left", left), ("right", right), ("along", along))
        vectors = {name: value for name, value in options if value is not None}
        robot, contraction = self._robot, _CONTRACTIONS[tuple(vectors)]
        if not vectors and robot.nv > _SPELLED_OUT:
            return into(out, self._whole_by_units(q, threads))
        named = dict(zip(vectors, (f"joint:{name}" for name in contraction.inputs), strict=True))
        return robot._evaluate(
            contraction.plan,
            {"q": q} | {named[name]: value for name, value in vectors.items()},
            lambda values: contraction.entries(robot.model, values),
            (robot.nv,) * (3 - len(vectors)),
            out,
            threads,
            labels={inner: name for name, inner in named.items()},
            entry=("sensitivity", *vectors),
            may_move=MayMove.INERTIAS,
            columns=self._columns(contraction),
            entries=self._entries,
        )

    def _columns(self, contraction: _Contraction) -> Columns | None:
        if contraction.unit is None:
            return None
        return self._robot._columns(sensitivity.MASS_RATE_TIMES, "dT", contraction.unit)

    def _whole_by_units(self, q: ArrayLike, threads: int | None) -> Array:
        """The tensor from unit vectors: for robots too large for code that spells out every entry."""
        q = as_array(self._robot.model, "q", q, coordinates=True)
        return self.sensitivity(q[..., None, :], left=np.eye(self._robot.nv, dtype=q.dtype), threads=threads)

    def christoffel(
        self, q: ArrayLike, kind: Literal[1, 2] = 1, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Christoffel symbols (..., i, j, k) of the mass matrix, for joints with one freedom. O(n^3).

        ``kind=1``: ``[ij, k] = (dM_ik/dq_j + dM_jk/dq_i - dM_ij/dq_k)/2``. ``kind=2``: ``{k; ij} = inv(M)_kl [ij, l]``.
        ``v_i v_j [ij, k]`` is the Coriolis torque k.

        >>> import recursa as rc
        >>> robot = rc.robots.puma560().with_gravity((0, 0, 0))
        >>> q, v = robot.random_state(0)
        >>> c = robot.diagonal.christoffel(q)
        >>> bool(np.allclose(np.einsum("ijk,i,j->k", c, v, v), robot.bias_forces(q, v)))
        True
        """
        if kind not in (1, 2):
            raise unknown_name("kind of Christoffel symbols", str(kind), ("1", "2"))
        self._coordinates("Christoffel symbols")
        first = christoffel_symbols(self.sensitivity(q, threads=threads))
        if kind == 1:
            return into(out, first)
        return into(out, first @ self._robot.mass_matrix_inverse(q, threads=threads)[..., None, :, :])

    def curvature(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """The curvature tensor R_hijk (..., h, i, j, k) of the mass matrix, for joints with one freedom (2.5).

        It is zero where and only where coordinates exist near q in which the mass matrix is constant, Lemma 2.2. First
        derivatives by Identity 6.3, second ones by a complex step on it, which loses no digits. O(n^5).

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> q = np.array([0.3, 0.7])
        >>> r = robot.diagonal.curvature(q)
        >>> gaussian = r[0, 1, 0, 1] / np.linalg.det(robot.mass_matrix(q))
        >>> bool(gaussian > 0.0), bool(np.isclose(r[0, 1, 1, 0], -r[0, 1, 0, 1]))
        (True, True)
        """
        bent, turned = self._curvature(q, threads)
        return into(out, bent + turned)

    def _curvature(self, q: ArrayLike, threads: int | None) -> tuple[Array, Array]:
        self._coordinates("curvature")
        robot = self._robot
        q = as_array(robot.model, "q", q, coordinates=True)
        steps = q[..., None, :] + 1j * _TINY * np.eye(robot.nq)
        # (..., l, i, j, k) with l the second coordinate; q is one of v's coordinates for such joints
        second = np.moveaxis(self.sensitivity(steps, threads=threads).imag / _TINY, -4, -1)
        inverse = robot.mass_matrix_inverse(q, threads=threads)
        return curvature_terms(second, self.christoffel(q, threads=threads), inverse)

    def is_flat(self, samples: int = 20, *, seed: int = 0, tolerance: float = 1e-9) -> Flatness:
        """Whether curvature was found at random configurations within the limits; true if there was none.

        What was found proves that no coordinates decouple the robot for good; that nothing was found proves nothing.
        The result says how many configurations were looked at, and where the curvature was largest. Curvature counts as
        zero below ``tolerance`` of the terms that cancel in it.

        >>> import recursa as rc
        >>> found = rc.robots.planar(2).diagonal.is_flat(samples=5)
        >>> found.flat, found.samples, found.verdict[:46]
        (False, 5, 'curved: R is not zero at 5 of 5 configurations')
        """
        if not isinstance(samples, int | np.integer) or samples < 1:
            raise RecursaError(f"is_flat needs at least one sample, a whole number of them, not {samples!r}")
        if not (isinstance(tolerance, float | int | np.number) and 0.0 <= tolerance < 1.0):
            raise RecursaError(f"tolerance is a part of the terms of R, from 0 to less than 1, not {tolerance!r}")
        self._coordinates("curvature")
        rng = np.random.default_rng(seed)
        q = np.array([self._robot.random_state(rng)[0] for _ in range(samples)])
        bent, turned = self._curvature(q, None)
        to_rates = np.linalg.inv(self._cholesky(q))
        bent, turned = in_orthonormal_axes(bent, to_rates), in_orthonormal_axes(turned, to_rates)
        entries = np.abs(bent + turned).reshape(samples, -1).max(axis=1, initial=0.0)
        terms = np.maximum(np.abs(bent), np.abs(turned)).reshape(samples, -1).max(axis=1, initial=0.0)
        # a mass matrix that does not change has terms that are rounding alone: what a change by itself would make
        usual = np.square(to_rates).sum(axis=-2).max(axis=-1, initial=0.0)
        scale = np.maximum(terms, usual)
        relative = np.divide(entries, scale, out=np.zeros(samples), where=scale > 0.0)
        worst = int(np.argmax(relative))
        curved = int((relative > tolerance).sum())
        where = np.array2string(q[worst], precision=4)
        verdict = (
            f"curved: R is not zero at {curved} of {samples} configurations, most at q = {where}, where it is "
            f"{relative[worst]:.2g} of the terms it is made of. No coordinates make the mass matrix constant there."
            if curved
            else f"no curvature found at {samples} configurations: R is below {tolerance:g} of its terms. "
            "Coordinates with a constant mass matrix may exist; samples cannot prove it."
        )
        return Flatness(
            flat=curved == 0,
            samples=samples,
            largest=float(entries[worst]),
            relative=float(relative[worst]),
            at=q[worst],
            tolerance=tolerance,
            verdict=verdict,
        )

    def _cholesky(self, q: Array) -> Array:
        self._robot._require_hinges({"q": q})
        try:
            return np.linalg.cholesky(self._robot.mass_matrix(q))
        except np.linalg.LinAlgError:
            raise SingularHingeError(
                f"robot '{self._robot.model.name}': its mass matrix is not positive definite everywhere. "
                "robot.doctor() tells which joint has nothing to move"
            ) from None

    def _coordinates(self, what: str) -> None:
        """Refuse joints whose velocities are no rates of coordinates."""
        for joint in self._robot.model.joints:
            if joint.kind.nv > 1:
                raise NoSweepError(
                    f"{what}: joint '{joint.name}' is {joint.kind.name}, and its velocities are not the rates of "
                    "coordinates, so derivatives along them do not commute. Offered for revolute, continuous, "
                    "prismatic and helical joints; sensitivity(q) is for all"
                )
