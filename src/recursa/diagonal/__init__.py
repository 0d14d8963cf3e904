"""Diagonalised dynamics (Jain & Rodriguez), ``robot.diagonal``: speeds in which the mass matrix is the unit matrix."""
