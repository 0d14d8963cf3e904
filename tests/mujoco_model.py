"""Any robot in MuJoCo; see :mod:`recursa.interop.mujoco`."""

from __future__ import annotations

from recursa.errors import ModelError as UnsupportedError
from recursa.interop.mujoco import InMujoco, quiet

__all__ = ["InMujoco", "UnsupportedError"]

quiet()
