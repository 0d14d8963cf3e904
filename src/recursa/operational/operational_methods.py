"""Operational space: compliances and inertias of links, and the blocks between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from recursa.constraints.quantities import constrained
from recursa.dynamics.kinematics import JACOBIAN, Frame, frame_function
from recursa.evaluation.answering import Asked, Facade, answers, as_given, learns
from recursa.evaluation.evaluator import Call, Evaluator, into
from recursa.evaluation.resolved_quantity import Question
from recursa.methods.constrained_motion import CONSTRAINED_COMPLIANCE
from recursa.methods.matrices import MASS_MATRIX
from recursa.model.model import Model
from recursa.operational.compliance_factor import COMPLIANCE_FACTOR, lower_root
from recursa.operational.operational_quantities import (
    DELASSUS,
    FLYING_INERTIA,
    NAMED_ROWS,
    OPERATIONAL_COMPLIANCE,
    OPERATIONAL_COMPLIANCE_BETWEEN,
    Coordinates,
    Rows,
    flies,
    free_compliance,
    row_scale,
    selected_links,
)
from recursa.operational.pseudo_inverse import RankedArray, pseudo_inverse, rank_limit
from recursa.quantities import Quantity
from recursa.sweeps.batching import Array, as_array

_Out = TypeVar("_Out", bound=Array)  # the caller's array, which comes back


def _learn_inertia(evaluator: Evaluator, call: Call, asked: Asked) -> None:
    """Inertias are what an entry makes of the answer to another question: with a rank, and inverted if need be."""
    options = dict(asked.question.options)
    if options.pop("tolerance") is not None:
        return
    number, frame = evaluator.model.link_index(str(options["link"])), str(options["frame"])
    question, scale, limit = Question.of(FLYING_INERTIA, (), options), None, 0.0
    if not flies(evaluator.subject, number):
        rows = {number: NAMED_ROWS["twist"]}
        question = Question.of(COMPLIANCE_FACTOR, (), factor_options((number,), rows, frame))
        scale, limit = tuple(row_scale(evaluator.model, (number,), rows).tolist()), rank_limit(np.float64, None)
    evaluator.learn(call, question, made=lambda entry: entry.ranked(RankedArray, scale, limit))


class OperationalMethods(Facade):
    """How links yield to forces on them, with all joints free as far as the constraints leave them free."""

    __slots__ = ()

    @answers(OPERATIONAL_COMPLIANCE)
    def operational_compliance(
        self,
        q: ArrayLike,
        link: str | None = None,
        *,
        frame: Frame = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The operational compliance of a link (..., 6, 6), or of all links (..., nlinks, 6, 6): ``J inv(mass) J*``,
        the acceleration that a wrench on the link causes there. It obeys constraints: ``J K J*`` with K of
        :meth:`constrained_compliance`.

        Jain & Rodriguez (34), base to tip, on trees with any joints and bases: ``Upsilon(k) = tau_bar* phi*
        Upsilon(parent) phi tau_bar + H* inv(D) H``. O(n) for all links together; of one link only the path to it is
        gone outward. Its rank is the Jacobian's: six for a free flyer, less for the first links of an arm; for links of
        the world it is zero. ``frame``: "body", "mixed" or "world", as for :meth:`jacobian`. With tied joints it is
        made from Jacobians and the mass matrix. A joint that has nothing to move is a :class:`SingularHingeError`.

        >>> import recursa as rc
        >>> arm = rc.robots.panda_like()
        >>> q, _ = arm.random_state(3)
        >>> J = arm.jacobian(q, "flange")
        >>> bool(np.allclose(arm.operational_compliance(q, "flange"), J @ arm.mass_matrix_inverse(q) @ J.T))
        True
        >>> arm.operational_compliance(q).shape == (arm.nlinks, 6, 6)
        True
        """

    @answers(OPERATIONAL_COMPLIANCE_BETWEEN)
    def operational_compliance_between(
        self,
        q: ArrayLike,
        link: str,
        other: str,
        *,
        frame: Frame = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The acceleration of one link caused by a wrench on another, (..., 6, 6): ``J_link inv(mass) J_other*``,
        and with K of :meth:`constrained_compliance` in the place of ``inv(mass)`` on a robot with constraints.

        ``Omega(i, j) = psi*(c, i) Upsilon(c) psi(c, j)``, c the nearest body that carries both; Jain & Rodriguez (31),
        with (33) for trees. Rows are in the frame of ``link``, columns in that of ``other``; ``frame``: "body", "mixed"
        or "world", as for :meth:`jacobian`.

        >>> import recursa as rc
        >>> q = rc.robots.tree(6, seed=1).random_state(2)[0]
        >>> tree = rc.robots.tree(6, seed=1)
        >>> there = tree.operational_compliance_between(q, "link4", "link6")
        >>> bool(np.allclose(there, tree.operational_compliance_between(q, "link6", "link4").T))
        True
        """

    @as_given
    def delassus(
        self,
        q: ArrayLike,
        links: Sequence[str],
        *,
        coordinates: Coordinates | Mapping[str, Coordinates] = "twist",
        frame: Frame = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The Delassus matrix of several links, (..., 6m, 6m): ``J inv(mass) J*`` with their Jacobians stacked.

        On a robot with constraints it is ``J K J*`` with K of :meth:`constrained_compliance`.
        It takes wrenches on all of them to the accelerations of all of them. O(n) and, for m links, O(m^2): see
        :meth:`operational_compliance_between`; neither the mass matrix nor a Jacobian is formed. ``coordinates`` are
        the rows of (omega, v) that count: "twist", "position" (as of point contacts), "orientation", or numbers of
        rows, for all links or by name. For points that are not link origins use :meth:`with_frame`. ``frame``: "body",
        "mixed" or "world", as for :meth:`jacobian`.

        >>> import recursa as rc
        >>> robot = rc.robots.tree(6, seed=1)
        >>> q, _ = robot.random_state(2)
        >>> robot.delassus(q, ["link4", "link6"], coordinates="position").shape
        (6, 6)
        """
        options = factor_options(*selected_links(self.model, links, coordinates), frame)
        return self._answer(DELASSUS, {"q": q}, options, out, threads)

    @overload
    def operational_inertia(
        self,
        q: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        tolerance: float | None = None,
        out: None = None,
        threads: int | None = None,
    ) -> RankedArray: ...

    @overload
    def operational_inertia(
        self,
        q: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        tolerance: float | None = None,
        out: _Out,
        threads: int | None = None,
    ) -> _Out: ...

    @learns(FLYING_INERTIA, _learn_inertia)
    def operational_inertia(
        self,
        q: ArrayLike,
        link: str,
        *,
        frame: Frame = "body",
        tolerance: float | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The operational inertia of a link (..., 6, 6): the wrench that gives it an acceleration, with its ``rank``.

        - Of a link that flies freely (a free joint carries it), ``Lambda(k) = P(k) + S(k)``, Jain & Rodriguez (37):
          inertias from both sides of the link, nothing inverted. The rank is 6.
        - Else the inverse of Υ of :meth:`operational_compliance`, which obeys constraints, or its Moore-Penrose
          pseudo-inverse in SI units where the link cannot accelerate every way. ``rank`` (a number, or an array for a
          batch) says which it is. It counts the eigenvalues of Υ, with lengths in units of the robot's mean link
          length, that are more than ``tolerance`` times the largest: turning and moving have no common unit, and an arm
          drawn in millimetres has no other rank. The default is 1e-12: a wrist is singular when its axes are in line to
          a few 1e-6 rad. In single precision it is 1e-6, or 1e-3 rad. Λ is computed from a factor of Υ, its square root
          as it were, so that it is accurate to about 1e-16, in single precision 1e-7, over the square root of the
          ratio of the eigenvalues: at the limit ten digits are left, or four.

        ``frame``: "body", "mixed" or "world", as for :meth:`jacobian`. Into an ``out`` that is a plain array the rank
        cannot be written; hand in a former result to keep it.

        >>> import recursa as rc
        >>> rc.robots.planar(3).operational_inertia([0.1, 0.2, 0.3], "tip").rank
        3
        >>> ship = rc.robots.free_flyer(2)
        >>> q, _ = ship.random_state(1)
        >>> inertia = ship.operational_inertia(q, "link2")
        >>> bool(np.allclose(inertia @ ship.operational_compliance(q, "link2"), np.eye(6))), inertia.rank
        (True, 6)
        """
        frame_function(frame)
        number = self.model.link_index(link)
        options = {"link": link, "frame": frame}
        if not flies(self._evaluator.subject, number):
            rows = {number: NAMED_ROWS["twist"]}
            factor, reference = compliance_factor(self._evaluator, q, (number,), rows, frame, threads)
            return _handed_out(inertia_of(self.model, factor, (number,), rows, tolerance, reference), out)
        plain = out.view(np.ndarray) if isinstance(out, RankedArray) else out
        result = self._answer(FLYING_INERTIA, {"q": q}, options, plain, threads)
        rank = np.where(np.isfinite(result).all(axis=(-2, -1)), 6, 0)
        return _handed_out(RankedArray.of(result, rank), out)

    @overload
    def delassus_inverse(
        self,
        q: ArrayLike,
        links: Sequence[str],
        *,
        coordinates: Coordinates | Mapping[str, Coordinates] = "twist",
        frame: Frame = "body",
        tolerance: float | None = None,
        out: None = None,
        threads: int | None = None,
    ) -> RankedArray: ...

    @overload
    def delassus_inverse(
        self,
        q: ArrayLike,
        links: Sequence[str],
        *,
        coordinates: Coordinates | Mapping[str, Coordinates] = "twist",
        frame: Frame = "body",
        tolerance: float | None = None,
        out: _Out,
        threads: int | None = None,
    ) -> _Out: ...

    @as_given
    def delassus_inverse(
        self,
        q: ArrayLike,
        links: Sequence[str],
        *,
        coordinates: Coordinates | Mapping[str, Coordinates] = "twist",
        frame: Frame = "body",
        tolerance: float | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The inertia of several links together: the (pseudo-)inverse of :meth:`delassus`, with its ``rank``.

        Arguments as there, with ``frame`` "body", "mixed" or "world"; rank and ``tolerance`` as in
        :meth:`operational_inertia`.

        >>> import recursa as rc
        >>> arm = rc.robots.panda_like()
        >>> arm.delassus_inverse(arm.random_state(1)[0], ["link4", "flange"]).rank
        7
        """
        numbers, rows = selected_links(self.model, links, coordinates)
        factor, reference = compliance_factor(self._evaluator, q, numbers, rows, frame, threads)
        return _handed_out(inertia_of(self.model, factor, numbers, rows, tolerance, reference), out)


def factor_options(links: Sequence[int], rows: Rows, frame: str) -> dict[str, Any]:
    """Options of quantities that are about rows of links."""
    return {"links": tuple(links), "rows": tuple(rows[link] for link in links), "frame": frame}


def compliance_factor(
    evaluator: Any, q: ArrayLike, links: Sequence[int], rows: Rows, frame: str, threads: int | None = None
) -> tuple[Array, Array | None]:
    """A factor B of the compliance ``B B*`` of rows of links, and how much they would yield without constraints.

    The latter is None for a robot without any, whose factor comes from the articulated recursion. With constraints
    ``K mass K = K``, so that it is ``B = J K L`` with ``mass = L L*``, always in double precision: rounding in single
    precision would pass for a direction of motion.
    """
    options, model = factor_options(links, rows, frame), evaluator.model
    if not constrained(model):
        return evaluator.evaluate(COMPLIANCE_FACTOR, {"q": q}, options, threads=threads), None
    state = as_array(model, "q", q, coordinates=True)
    exact = state.astype(np.float64)

    def asked(quantity: Quantity, **named: Any) -> Array:
        result: Array = evaluator.evaluate(quantity, {"q": exact}, named, threads=threads)
        return result

    try:
        lower = lower_root(asked(MASS_MATRIX))
    except np.linalg.LinAlgError:  # links without mass, which the constraints move
        values, vectors = np.linalg.eigh(asked(DELASSUS, **options))
        factor = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    else:
        compliance = asked(CONSTRAINED_COMPLIANCE)
        jacobian = compliance[..., :0, :]
        for link in links:
            own = asked(JACOBIAN, link=model.links[link].name, frame=frame)
            jacobian = np.concatenate([jacobian, own[..., list(rows[link]), :]], axis=-2)
        factor = jacobian @ compliance @ lower
    return factor.astype(state.dtype, copy=False), free_compliance(evaluator, exact, links, rows, frame)


def inertia_of(
    model: Model,
    factor: Array,
    links: Sequence[int],
    rows: Rows,
    tolerance: float | None,
    reference: Array | None,
) -> RankedArray:
    """The (pseudo-)inverse of a compliance of those rows of links, from its factor, with its rank.

    ``reference`` is what the largest eigenvalue would be without constraints; None for a robot without any.
    """
    return RankedArray.of(*pseudo_inverse(factor, row_scale(model, links, rows), tolerance, reference))


def _handed_out(result: RankedArray, out: Array | None) -> Array:
    """The result; in the caller's array, if there is one, which keeps the rank if it can."""
    if out is None:
        return result
    filled = into(out, np.asarray(result))
    if isinstance(filled, RankedArray):
        filled.rank = result.rank
    return filled
