"""The mass matrix as a metric: how it changes with the configuration, and whether it is curved."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.diagonal.diagonal_coriolis import Flatness, curvature_terms, in_orthonormal_axes
from recursa.diagonal.diagonal_quantities import require_independent
from recursa.diagonal.metric_quantities import CHRISTOFFEL, SENSITIVITY
from recursa.errors import RecursaError, SingularHingeError, unknown_name
from recursa.evaluation.answering import answers, as_given
from recursa.evaluation.evaluator import NO_OPTIONS, into
from recursa.sweeps.batching import Array, as_array

if TYPE_CHECKING:
    from recursa.robot import Robot

_AT_ONCE = 2**21  # entries of curvature tensors that are held at a time
_TINY = 1e-30  # the complex step; its square is nothing beside one


class Asking:
    """A view of a robot that answers in its own coordinates."""

    __slots__ = ("_calls", "_evaluator", "_robot")

    def __init__(self, robot: Robot) -> None:
        self._robot, self._evaluator = robot, robot.evaluator
        self._calls = robot.evaluator.calls

    def _independent(self) -> None:
        """Refuse robots with tied joints: their mass matrix has no sweeps for factors."""
        require_independent(self._robot.evaluator.subject)

    @property
    def _answer(self) -> Callable[..., Array]:
        """``_answer(quantity, arrays, options, out, threads)``, as of the robot."""
        return self._evaluator.evaluate


class Metric(Asking):
    """Derivatives and curvature of the mass matrix."""

    __slots__ = ()

    @answers(SENSITIVITY)
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

    @as_given
    def christoffel(
        self, q: ArrayLike, kind: Literal[1, 2] = 1, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Christoffel symbols (..., i, j, k) of the mass matrix: its connection, along unit speeds. O(n^3).

        ``kind=1``: ``[ij, k] = (dM_ik/dq_j + dM_jk/dq_i - dM_ij/dq_k)/2``. ``kind=2``: ``{k; ij} = inv(M)_kl [ij, l]``.
        ``v_i v_j [ij, k]`` is the Coriolis torque k.

        Speeds of spherical, planar and free joints are no rates of coordinates. With them ``[ij, k]`` is Koszul's
        ``<nabla_i e_j, e_k>``, which also has the brackets ``[e_i, e_j] = c_ijl e_l`` of unit speeds: derivatives along
        the first index, and ``[ij, k] - [ji, k] = c_ijl M_lk`` in place of symmetry. Armature of such joints counts as
        the mass matrix has it, though dynamics let rotors not turn with the link.

        >>> import recursa as rc
        >>> robot = rc.robots.puma560().with_gravity((0, 0, 0))
        >>> q, v = robot.random_state(0)
        >>> c = robot.diagonal.christoffel(q)
        >>> bool(np.allclose(np.einsum("ijk,i,j->k", c, v, v), robot.bias_forces(q, v)))
        True
        """
        if kind not in (1, 2):
            raise unknown_name("kind of Christoffel symbols", str(kind), ("1", "2"))
        if kind == 1:
            return self._answer(CHRISTOFFEL, {"q": q}, NO_OPTIONS, out, threads)
        first = self.christoffel(q, threads=threads)
        return into(out, first @ self._robot.mass_matrix_inverse(q, threads=threads)[..., None, :, :])

    @as_given
    def curvature(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """The curvature tensor R_hijk (..., h, i, j, k) of the mass matrix, along unit speeds (2.5).

        It is zero where and only where coordinates exist near q in which the mass matrix is constant, Lemma 2.2. First
        derivatives by Identity 6.3, second ones by a complex step on it, which loses no digits. O(n^5). For spherical,
        planar and free joints ``R_hijk = <R(e_j, e_k) e_i, e_h>`` with the brackets of unit speeds, see
        :meth:`christoffel`. States in single precision are computed in double precision; the result is rounded.

        >>> import recursa as rc
        >>> robot = rc.robots.planar(2)
        >>> q = np.array([0.3, 0.7])
        >>> r = robot.diagonal.curvature(q)
        >>> gaussian = r[0, 1, 0, 1] / np.linalg.det(robot.mass_matrix(q))
        >>> bool(gaussian > 0.0), bool(np.isclose(r[0, 1, 1, 0], -r[0, 1, 0, 1]))
        (True, True)
        """
        state = as_array(self._robot.model, "q", q, coordinates=True)
        bent, turned = self._curvature(state.astype(np.result_type(state, np.float64), copy=False), threads)
        return into(out, (bent + turned).astype(state.dtype, copy=False))

    def _curvature(self, q: Array, threads: int | None) -> tuple[Array, Array]:
        robot = self._robot
        steps = robot.integrate(q[..., None, :], 1j * _TINY * np.eye(robot.nv))
        # (..., j, k, i, h): of [ki, h] along unit speed j
        rates = self.christoffel(steps, threads=threads).imag / _TINY
        inverse = robot.mass_matrix_inverse(q, threads=threads)
        return curvature_terms(rates, self.christoffel(q, threads=threads), inverse, robot.model)

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
        rng = np.random.default_rng(seed)
        q = np.array([self._robot.random_state(rng)[0] for _ in range(samples)])
        blocks = np.array_split(q, -(-samples * self._robot.nv**4 // _AT_ONCE) or 1)
        entries, scale = (np.concatenate(x) for x in zip(*map(self._sizes, blocks), strict=True))
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

    def _sizes(self, q: Array) -> tuple[Array, Array]:
        """The largest entry of R along unit total rates at each configuration, and what it is to be compared with."""
        to_rates = np.linalg.inv(self._cholesky(q))
        bent, turned = (in_orthonormal_axes(part, to_rates) for part in self._curvature(q, None))
        entries = np.abs(bent + turned).reshape(len(q), -1).max(axis=1, initial=0.0)
        terms = np.maximum(np.abs(bent), np.abs(turned)).reshape(len(q), -1).max(axis=1, initial=0.0)
        # a mass matrix that does not change has terms that are rounding alone: what a change by itself would make
        usual = np.square(to_rates).sum(axis=-2).max(axis=-1, initial=0.0)
        return entries, np.maximum(terms, usual)

    def _cholesky(self, q: Array) -> Array:
        self._robot.evaluator.require_hinges({"q": q})
        try:
            return np.linalg.cholesky(self._robot.mass_matrix(q))
        except np.linalg.LinAlgError:
            raise SingularHingeError(
                f"robot '{self._robot.model.name}': its mass matrix is not positive definite everywhere. "
                "robot.doctor() tells which joint has nothing to move"
            ) from None
