"""Integrators: every time step that is taken anywhere, written once, and the one table of their names."""

from __future__ import annotations

from recursa.integrators.explicit import INTEGRATORS, Integrator, named, names, stages_of
from recursa.integrators.mechanics import ArrayStep, Mechanics, Scheme

__all__ = ["INTEGRATORS", "ArrayStep", "Integrator", "Mechanics", "Scheme", "named", "names", "stages_of"]
