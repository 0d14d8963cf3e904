"""Diagonalised dynamics (Jain & Rodriguez): velocities in which the mass matrix is the unit matrix."""
