"""The mass matrix as a metric: its connection and its curvature. When can an arm be decoupled for good?

Jain & Rodriguez, Lemma 2.2: coordinates in which the mass matrix is constant exist near a configuration exactly where
the curvature tensor is zero. The paper has coordinates; speeds of spherical, planar and free joints are no rates of
coordinates, so everything here is along the fields e_i of unit speeds, whose brackets are ``[e_i, e_j] = c_ijk e_k``
(:attr:`JointKind.structure <recursa.model.joint_kind.JointKind.structure>`). Where all brackets are zero these are the
paper's formulas. Plain arrays; sensitivities and Christoffel symbols come from ``metric_quantities.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recursa.model.model import Model
from recursa.sweeps.batching import Array


def structure_of(model: Model) -> list[tuple[int, int, int, float]]:
    """Structure constants (i, j, k, c) of a robot's speeds: those of its joints, which do not mix."""
    return [
        (joint.v_start + i, joint.v_start + j, joint.v_start + k, c)
        for joint in model.joints
        if joint.independent
        for i, j, k, c in joint.kind.structure
    ]


def curvature_terms(rates: Array, symbols: Array, mass_inverse: Array, model: Model) -> tuple[Array, Array]:
    """The two parts of R_hijk: from the rates ``e_j [ki, h]`` (..., j, k, i, h), and from the symbols themselves.

    R_hijk = <R(e_j, e_k) e_i, e_h>
           = e_j [ki,h] - e_k [ji,h] - c_jkm [mi,h]
             + [ji,.] inv(M) [kh,.] - [ki,.] inv(M) [jh,.]                          with coordinates, c = 0: (2.5)
    """
    bent = np.einsum("...jkih->...hijk", rates) - np.einsum("...kjih->...hijk", rates)
    for j, k, m, c in structure_of(model):
        bent[..., j, k] -= c * np.swapaxes(symbols[..., m, :, :], -1, -2)
    raised = symbols @ mass_inverse[..., None, :, :]
    turned = np.einsum("...jil,...khl->...hijk", raised, symbols) - np.einsum("...kil,...jhl->...hijk", raised, symbols)
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
