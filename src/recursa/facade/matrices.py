"""The mass matrix and its relatives."""

from __future__ import annotations

import numpy as np  # noqa: F401  (in examples)
from numpy.typing import ArrayLike

from recursa.dynamics.base_velocity import BaseVelocity
from recursa.dynamics.sparsity import PATTERNS, Sparsity
from recursa.errors import unknown_name
from recursa.evaluation.answering import answers
from recursa.evaluation.facade import Facade
from recursa.methods import matrices
from recursa.methods.matrices import MassMethod
from recursa.sweeps.batching import Array


class MatrixMethods(Facade):
    """Matrices of the equations of motion."""

    __slots__ = ()

    @answers(matrices.MASS_MATRIX)
    def mass_matrix(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        method: MassMethod = "composite",
        packed: bool = False,
        base_velocity: BaseVelocity = "body",
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The mass matrix (..., nv, nv): ``H phi M phi* H* + A``. Constraints do not change it: its rows and columns
        are the coordinates of the tree.

        - ``"composite"``: composite bodies, Rodriguez & Kreutz-Delgado (28)-(33); for every robot.
        - ``"augmented"``: augmented and generalised links, Balafoutis & Patel, Algorithm 6.2 (6.3.28)-(6.3.30).
        - ``"walker-orin"``: composite bodies about their mass centres, Algorithm 6.1 (6.2.8), (6.2.9).
        - ``"column"``: inverse dynamics with unit accelerations, Balafoutis & Patel (6.2.4); for every robot.
        - ``"denoc"``: composite bodies about the mass centres of links, Saha (23b), (24); for every robot.

        ``"augmented"`` and ``"walker-orin"`` are for joints that turn or slide and take no ``parameters``.
        ``packed=True`` leaves out what is zero for good, (..., n) entries at the places of :meth:`sparsity`.

        ``base_velocity``: ``"body"``, ``"mixed"`` or ``"world"``, the axes of the velocity of a free base. In
        others the same motion has other numbers, ``v = T u``, and the matrix is ``T* M T``; see :doc:`/arguments`.

        >>> import recursa as rc
        >>> rc.robots.stanford().mass_matrix([0, np.pi / 2, 0, 0, 0, 0])[2, 2].round(12)
        np.float64(6.1)
        """

    @answers(matrices.MASS_MATRIX_INVERSE)
    def mass_matrix_inverse(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """The inverse of the mass matrix (..., nv, nv): ``(I - H psi K)* inv(D) (I - H psi K)``, Identity 6 (46).

        Kernels of robots with few bodies take both factors from the entries of the mass matrix: fewer operations. A
        robot with constraints responds in another way and is refused: see :meth:`constrained_compliance`.
        """

    @answers(matrices.CORIOLIS_MATRIX)
    def coriolis_matrix(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        packed: bool = False,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The Coriolis matrix (..., nv, nv) of Christoffel symbols: ``C v`` is the bias without gravity, and
        ``dM/dt - 2 C`` is skew (Echeandia & Wensing 2020). ``packed`` as for :meth:`mass_matrix`. Constraints do not
        change it: its rows and columns are the coordinates of the tree.
        """

    def sparsity(self, name: str) -> Sparsity:
        """Where the entries of a packed matrix belong, for the methods that take ``packed=True``: "mass_matrix",
        "coriolis_matrix", "regressor", "inverse_dynamics_derivatives" (of each of the three). Where the inverse of
        the mass matrix takes part, as in derivatives of forward dynamics, only different trees at the world make zeros.

        >>> import recursa as rc
        >>> where = rc.robots.tree(15).sparsity("mass_matrix")
        >>> where.shape, where.rows[:5], where.columns[:5]
        ((15, 15), array([0, 0, 0, 0, 0]), array([0, 1, 2, 3, 4]))
        """
        if name not in PATTERNS:
            raise unknown_name("packed matrix", name, PATTERNS)
        return PATTERNS[name](self.model)
