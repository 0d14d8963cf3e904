"""The ways from a robot into JAX and PyTorch, which are imported when they are taken."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from recursa.errors import not_installed
from recursa.evaluation.answering import Facade

if TYPE_CHECKING:
    from recursa.bridges.jax_calls import Implementation
    from recursa.bridges.jax_robot import JaxRobot
    from recursa.bridges.torch_robot import TorchRobot


class JaxTorchMethods(Facade):
    """The same robot inside frameworks that differentiate."""

    __slots__ = ()

    def jax(self, *, implementation: Implementation = "native") -> JaxRobot:
        """The robot's quantities as pure functions of JAX arrays, for ``jit``, ``vmap``, ``grad`` and all the others.

        ``implementation``: "native", our compiled code on processors, and the other one elsewhere; "traced", the
        same arithmetic on JAX arrays, on every platform. Gradients by q are by its coordinates;
        ``tangent_gradient`` turns them into those by small motions. Needs the extra ``recursa[jax]``::

            rj = robot.jax()
            jax.grad(lambda q: rj.kinetic_energy(q, v))(q)
        """
        _require("jax")
        from recursa.bridges.jax_robot import JaxRobot

        return JaxRobot(self.evaluator, implementation)

    def torch(self) -> TorchRobot:
        """The robot's quantities as functions of PyTorch tensors on the processor, which autograd goes through.

        Tensors are read and written where they are, float32 or float64. Needs the extra ``recursa[torch]``::

            rt = robot.torch()
            rt.kinetic_energy(q, v).backward()
        """
        _require("torch")
        from recursa.bridges.torch_robot import TorchRobot

        return TorchRobot(self.evaluator)


def _require(package: str) -> None:
    if find_spec(package) is None:
        raise not_installed(package, package)
