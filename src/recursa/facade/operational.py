"""Operational space: compliances and inertias of links, and the blocks between them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import factorization, operational
from recursa.dynamics.factorization import six_by_six
from recursa.dynamics.kinematics import Frame, frame_function
from recursa.errors import StateError, unknown_name
from recursa.evaluation.evaluator import into
from recursa.facade.base import single_state_fast
from recursa.facade.diagonal import DiagonalMethods
from recursa.facade.pseudo_inverse import RankedArray, pseudo_inverse, rank_limit
from recursa.kernels.kernel import FEW_BODIES
from recursa.model.moving import MayMove
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array, as_array
from recursa.sweeps.engine import Values
from recursa.sweeps.plan import Plan

MANY_LINKS = 32  # whose compliances, 36 numbers each, take seconds to compile in straight-line code
Coordinates = str | Sequence[int]
NAMED_ROWS: dict[str, tuple[int, ...]] = {
    "twist": (0, 1, 2, 3, 4, 5),
    "orientation": (0, 1, 2),
    "position": (3, 4, 5),
}


def selected_rows(coordinates: Coordinates) -> tuple[int, ...]:
    """The rows of (omega, v) that are meant: "twist", "orientation", "position", or their numbers."""
    if not isinstance(coordinates, Sequence | np.ndarray):
        raise StateError(f'coordinates are rows 0..5 of (omega, v) or a name such as "position", not {coordinates!r}')
    if isinstance(coordinates, str):
        if coordinates not in NAMED_ROWS:
            raise unknown_name("set of coordinates", coordinates, NAMED_ROWS)
        return NAMED_ROWS[coordinates]
    rows = tuple(coordinates)
    if any(row not in range(6) for row in rows) or len(set(rows)) < len(rows):
        raise StateError(f"coordinates are different rows 0..5 of (omega, v), not {rows}")
    return tuple(int(row) for row in rows)


def link_list(links: str | Sequence[str]) -> list[str]:
    """The names of links, of which there may be one; what is no name is refused where it is looked up."""
    return [links] if isinstance(links, str) or not isinstance(links, Iterable) else list(links)  # type: ignore[list-item]


class _How(TypedDict):
    """How a result is evaluated: what may move, and the form of its kernels."""

    may_move: MayMove
    form: str | None


class OperationalMethods(DiagonalMethods):
    """How links yield to forces on them, with all joints free."""

    __slots__ = ()

    @single_state_fast
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
        the acceleration that a wrench on the link causes there.

        Jain & Rodriguez (34), base to tip, on trees with any joints and bases:
        ``Upsilon(k) = tau_bar* phi* Upsilon(parent) phi tau_bar + H* inv(D) H``. O(n) for all links together; of one
        link only the path to it is gone outward. Its rank is the Jacobian's: six for a free flyer, less for the first
        links of an arm; for links of the world it is zero. ``frame`` as for :meth:`jacobian`. With tied joints it is
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
        frame_function(frame)
        numbers = tuple(range(self.nlinks)) if link is None else (self.model.link_index(link),)
        shape = (self.nlinks, 6, 6) if link is None else (6, 6)
        if self._tied:
            jacobians = [self._body_rows(q, number, frame) for number in numbers]
            one_by_one = [self._dense_blocks(q, one, one) for one in jacobians]
            return into(out, one_by_one[0] if link is not None else np.stack(one_by_one, axis=-3))
        number = None if link is None else numbers[0]
        plan = self._plan(
            "operational_compliance",
            partial(operational.compliance_plan, frame, number, None if link is None else self.model),
            number,
            frame,
        )

        def gather(values: Values) -> Iterator[Scalar]:
            blocks = operational.result_of(values, frame)
            for k in numbers:
                yield from operational.compliance_entries(blocks[k])

        entry = ("operational_compliance", *(() if link is None else (link,)), frame)
        how = self._at_links(frame, len(numbers))
        result = self._evaluate(plan, {"q": q}, gather, shape, out, threads, entry=entry, **how)
        self._require_finite(result, {"q": q})
        return result

    @single_state_fast
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
        """The acceleration of one link caused by a wrench on another, (..., 6, 6): ``J_link inv(mass) J_other*``.

        ``Omega(i, j) = psi*(c, i) Upsilon(c) psi(c, j)``, c the nearest body that carries both; Jain & Rodriguez (31),
        with (33) for trees. Rows are in the frame of ``link``, columns in that of ``other``.

        >>> import recursa as rc
        >>> q = rc.robots.tree(6, seed=1).random_state(2)[0]
        >>> tree = rc.robots.tree(6, seed=1)
        >>> there = tree.operational_compliance_between(q, "link4", "link6")
        >>> bool(np.allclose(there, tree.operational_compliance_between(q, "link6", "link4").T))
        True
        """
        rows = dict.fromkeys((self.model.link_index(link), self.model.link_index(other)), NAMED_ROWS["twist"])
        ends = self.model.link_index(link), self.model.link_index(other)
        entry = ("operational_compliance_between", link, other, frame)
        return self._blocks(q, ends[:1], ends[1:], rows, frame, out, threads, entry)

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

        It takes wrenches on all of them to the accelerations of all of them. O(n) and, for m links, O(m^2): see
        :meth:`operational_compliance_between`; neither the mass matrix nor a Jacobian is formed. ``coordinates`` are
        the rows of (omega, v) that count: "twist", "position" (as of point contacts), "orientation", or numbers of
        rows, for all links or by name. For points that are not link origins use :meth:`with_frame`. Compiled for robots
        of up to 64 bodies and about a dozen links; beyond, it runs on NumPy.

        >>> import recursa as rc
        >>> robot = rc.robots.tree(6, seed=1)
        >>> q, _ = robot.random_state(2)
        >>> robot.delassus(q, ["link4", "link6"], coordinates="position").shape
        (6, 6)
        """
        numbers, rows = self._selected_links(links, coordinates)
        return self._blocks(q, numbers, numbers, rows, frame, out, threads)

    @single_state_fast
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
        - Else the inverse of Υ, or its Moore-Penrose pseudo-inverse in SI units where the link cannot accelerate every
          way. ``rank`` (a number, or an array for a batch) says which it is. It counts the eigenvalues of Υ, with
          lengths in units of the robot's mean link length, that are more than ``tolerance`` times the largest: turning
          and moving have no common unit, and an arm drawn in millimetres has no other rank. By default 1e-12, what
          rounding makes of a zero; a wrist is then singular nearer than a few 1e-6 rad. Where rank is 6, Λ is accurate
          to about 1e-16 over the ratio of the eigenvalues.

        Into an ``out`` that is a plain array the rank cannot be written; hand in a former result to keep it.

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
        entry = ("operational_inertia", link, frame)
        if self._tied or operational.flying_path(self.model, number) is None:
            compliance = self.operational_compliance(q, link, frame=frame, threads=threads)
            known = self._entries.get(("operational_compliance", link, frame))
            scale = self._scale((number,), {number: NAMED_ROWS["twist"]})
            if known is not None and entry not in self._entries:
                limit = rank_limit(np.float64, None)
                self._entries[entry] = known.ranked(RankedArray, tuple(scale.tolist()), limit)
            return _ranked(*pseudo_inverse(compliance, scale, tolerance), out)
        plan = self._plan(
            "operational_inertia", partial(operational.inertia_plan, frame, number, self.model), number, frame
        )

        def gather(values: Values) -> Iterator[Scalar]:
            return six_by_six(operational.result_of(values, frame)[number])

        may_move = MayMove.FRAMES if frame == "body" else MayMove.NOTHING  # inertias stay with their bodies
        plain = out.view(np.ndarray) if isinstance(out, RankedArray) else out
        new: dict[Hashable, Any] = {}
        result = self._evaluate(
            plan, {"q": q}, gather, (6, 6), plain, threads, entry=entry, entries=new, may_move=may_move
        )
        if new:
            self._entries[entry] = new[entry].ranked(RankedArray, None, 0.0)
        self._require_finite(result, {"q": q})
        rank = np.where(np.isfinite(result).all(axis=(-2, -1)), 6, 0)
        return _ranked(result, rank, out)

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

        Arguments as there; rank and ``tolerance`` as in :meth:`operational_inertia`.

        >>> import recursa as rc
        >>> arm = rc.robots.panda_like()
        >>> arm.delassus_inverse(arm.random_state(1)[0], ["link4", "flange"]).rank
        7
        """
        numbers, rows = self._selected_links(links, coordinates)
        matrix = self._blocks(q, numbers, numbers, rows, frame, None, threads)
        return self._inertia_of(matrix, numbers, rows, tolerance, out)

    # ---- what they share -------------------------------------------------------------------------------------------

    def _inertia_of(
        self,
        compliance: Array,
        links: tuple[int, ...],
        rows: Mapping[int, tuple[int, ...]],
        tolerance: float | None,
        out: Array | None,
    ) -> Array:
        """The (pseudo-)inverse of a compliance."""
        return _ranked(*pseudo_inverse(compliance, self._scale(links, rows), tolerance), out)

    def _scale(self, links: tuple[int, ...], rows: Mapping[int, tuple[int, ...]]) -> Array:
        """What makes the rows of a compliance comparable, for its rank: lengths in the robot's own unit."""
        length = operational.unit_length(self.model)
        return np.array([1.0 if row < 3 else 1.0 / length for link in links for row in rows[link]])

    def _at_links(self, frame: str, count: int = 1) -> _How:
        """Frames of bodies may move, not the world's if results are in its axes. Much about every link takes loops:
        straight-line code with so many results compiles slowly.
        """
        many = count > (MANY_LINKS if frame == "body" else FEW_BODIES) and self.model.nbodies > FEW_BODIES
        may_move = MayMove.INERTIAS if frame == "body" else MayMove.NOTHING
        return {"may_move": may_move, "form": "loop" if many else None}

    def _selected_links(
        self, links: Sequence[str], coordinates: Coordinates | Mapping[str, Coordinates]
    ) -> tuple[tuple[int, ...], dict[int, tuple[int, ...]]]:
        """Numbers of links, and which rows of each."""
        names = link_list(links)
        numbers = tuple(self.model.link_index(name) for name in names)
        if not isinstance(coordinates, Mapping):
            return numbers, dict.fromkeys(numbers, selected_rows(coordinates))
        for name in coordinates:
            if name not in names:
                raise unknown_name("link", name, names, owner="links, but coordinates are given for it")
        return numbers, {
            number: selected_rows(coordinates.get(name, "twist")) for name, number in zip(names, numbers, strict=True)
        }

    def _blocks(
        self,
        q: ArrayLike,
        left: tuple[int, ...],
        right: tuple[int, ...],
        rows: Mapping[int, tuple[int, ...]],
        frame: str,
        out: Array | None,
        threads: int | None,
        entry: tuple[str, ...] | None = None,
    ) -> Array:
        """Blocks of Omega: links ``left`` against links ``right``."""
        frame_function(frame)
        if not rows:
            return into(out, np.zeros((*as_array(self.model, "q", q, coordinates=True).shape[:-1], 0, 0)))
        if self._tied:
            stacked = [
                np.concatenate([self._body_rows(q, k, frame)[..., list(rows[k]), :] for k in side], axis=-2)
                for side in (left, right)
            ]
            return into(out, self._dense_blocks(q, *stacked))
        known = tuple(sorted(rows.items()))
        plan = self._plan("operational_blocks", partial(self._blocks_plan, rows, frame), known, frame)
        shape = tuple(sum(len(rows[k]) for k in side) for side in (left, right))

        def gather(values: Values) -> Iterator[Scalar]:
            return operational.block_matrix(values, left, right, rows)

        how = self._at_links(frame)
        result = self._evaluate(plan, {"q": q}, gather, shape, out, threads, (left, right), entry=entry, **how)
        self._require_finite(result, {"q": q})
        return result

    def _blocks_plan(self, rows: Mapping[int, tuple[int, ...]], frame: str) -> Plan:
        return operational.blocks_plan(self.model, rows, frame)

    def _body_rows(self, q: ArrayLike, link: int, frame: str) -> Array:
        return self.jacobian(q, self.model.links[link].name, frame=frame)  # type: ignore[arg-type]

    def _dense_blocks(self, q: ArrayLike, left: Array, right: Array) -> Array:
        """``left inv(mass) right*``."""
        return left @ self._mass_solved(q, np.swapaxes(right, -1, -2))

    def _mass_solved(self, q: ArrayLike, columns: Array) -> Array:
        """``inv(mass) columns``, (..., nv, m): filter and smoother, or with tied joints the mass matrix itself."""
        if self._tied:
            self._require_hinges({"q": q})
            return self._solved_columns(self.mass_matrix(q), columns)
        state = as_array(self.model, "q", q, coordinates=True)[..., None, :]
        arguments = {"q": state, "tau": np.swapaxes(columns, -1, -2)}
        rows = self._joint_vector(factorization.SOLVE, "qdd", arguments, None, None, may_move=MayMove.INERTIAS)
        self._require_finite(rows, arguments)
        return np.swapaxes(rows, -1, -2)


def _ranked(result: Array, rank: Array, out: Array | None) -> Array:
    """The result with its rank; into the caller's array, if there is one, which keeps the rank if it can."""
    if out is None:
        return RankedArray.of(result, rank)
    filled = into(out, result)
    if isinstance(filled, RankedArray):
        filled.rank = int(rank) if rank.ndim == 0 else rank
    return filled
