"""Saha's dynamics by the decoupled natural orthogonal complement: twists at mass centres, ``t = N_l N_d qd``."""
