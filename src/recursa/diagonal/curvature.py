"""The curvature of the mass matrix as a metric: when can an arm be decoupled for good?

Jain & Rodriguez, Lemma 2.2: coordinates in which the mass matrix is constant exist near a configuration exactly where
the curvature tensor is zero. Plain arrays; sensitivities and Christoffel symbols come from ``metric_quantities.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recursa.sweeps.batching import Array


def curvature_terms(second: Array, first_kind: Array, mass_inverse: Array) -> tuple[Array, Array]:
    """The two parts of R_hijk (2.5): from ``d2 M_ij / dq_k dq_l`` (..., i, j, k, l), and from ``[ij, k]``.

    R_hijk = 1/2 (d_i d_j M_hk + d_h d_k M_ij - d_h d_j M_ik - d_i d_k M_hj)
             + [ij,.] inv(M) [hk,.] - [ik,.] inv(M) [hj,.]
    """
    bent = 0.5 * (
        np.einsum("...hkij->...hijk", second)
        + np.einsum("...ijhk->...hijk", second)
        - np.einsum("...ikhj->...hijk", second)
        - np.einsum("...hjik->...hijk", second)
    )
    raised = first_kind @ mass_inverse[..., None, :, :]
    turned = np.einsum("...ijl,...hkl->...hijk", raised, first_kind) - np.einsum(
        "...ikl,...hjl->...hijk", raised, first_kind
    )
    return bent, turned


def in_orthonormal_axes(tensor: Array, inverse_factor: Array) -> Array:
    """R with all four indices along unit total rates: ``v = inv(m)* nu``, so entries no longer depend on units of q."""
    t = inverse_factor
    return np.einsum("...abcd,...ha,...ib,...jc,...kd->...hijk", tensor, t, t, t, t, optimize=True)


@dataclass(frozen=True)
class Flatness:
    """What sampled curvature says about a robot, made by :meth:`Diagonal.is_flat`.

    A curvature that is not zero at one configuration proves that no coordinates make the mass matrix constant. Zero at
    every sample proves nothing: it only found no obstacle.

    - ``flat``: whether the curvature was zero, to ``tolerance``, at every sample.
    - ``samples``: how many configurations were looked at.
    - ``largest``: the largest entry of R along unit total rates, in 1/(kg m^2); of two freedoms Gauss's curvature.
    - ``relative``: the largest of them compared with the terms that cancel in it; what ``tolerance`` is about.
    - ``at``: the configuration where that was.
    - ``verdict``: the same in words.
    """

    flat: bool
    samples: int
    largest: float
    relative: float
    at: Array
    tolerance: float
    verdict: str

    def __bool__(self) -> bool:
        return self.flat

    def __str__(self) -> str:
        return self.verdict
