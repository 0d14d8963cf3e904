"""Any robot in MuJoCo; see :mod:`recursa.interop.mujoco`."""

from __future__ import annotations

from recursa.errors import ModelError as UnsupportedError
from recursa.interop.mjcf import to_mjcf
from recursa.interop.mujoco import InMujoco, quiet

__all__ = ["InMujoco", "UnsupportedError", "to_mjcf"]

quiet()
