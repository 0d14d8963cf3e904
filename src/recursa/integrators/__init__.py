"""Integrators: every time step that is taken anywhere, written once, and the one table of their names."""

from __future__ import annotations

from recursa.integrators.mechanics import ArrayStep, Mechanics, Scheme
from recursa.integrators.stages import stages_of
from recursa.integrators.table import INTEGRATORS, Integrator, named, names

__all__ = ["INTEGRATORS", "ArrayStep", "Integrator", "Mechanics", "Scheme", "named", "names", "stages_of"]
