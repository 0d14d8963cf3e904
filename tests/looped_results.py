"""What kernels that loop over bodies are to make of a plan; matrices of large robots, which they make by walks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import recursa as rc
from questions import answered, kernel_used
from recursa.denoc import forward
from recursa.diagonal import metric_quantities
from recursa.evaluation.resolved_quantity import Question
from recursa.kernels.loop import Looped
from recursa.methods import first_order, matrices, second_order
from recursa.model.model import Model
from recursa.quantities import Quantity
from recursa.sweeps import run
from recursa.walks import factor_pairs


def looped_result(what: Looped, model: Model, inputs: Mapping[str, Any]) -> np.ndarray:
    """The numbers of the result, in C order, the plan being run step by step and NumPy doing the rest."""

    def entries(more: Mapping[str, Any]) -> np.ndarray:
        return np.array(list(what.gather(run(what.plan, model, {**inputs, **more}))))

    if what.unit is not None:
        units = np.eye(what.unit.count).tolist()
        return np.stack([entries({what.unit.name: unit}) for unit in units], axis=-1).ravel()
    if what.product is None:
        return entries({})
    n = what.product.size
    first, *others = entries({}).reshape(1 + what.product.factors, what.product.rows, n)
    return np.stack([*(-first.T @ other for other in others), first[:n]]).ravel()


# ---- matrices by walks -----------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """A quantity, with what it takes of :func:`every_input`."""

    quantity: Quantity
    inputs: str
    options: dict[str, Any] = {}
    given: tuple[str, ...] = ()


ASKED = {
    "mass_matrix": Asked(matrices.MASS_MATRIX, "q", {"method": "composite"}),
    "mass_matrix_inverse": Asked(matrices.MASS_MATRIX_INVERSE, "q"),
    "coriolis_matrix": Asked(matrices.CORIOLIS_MATRIX, "q v"),
    "regressor": Asked(matrices.REGRESSOR, "q v a"),
    "inverse_derivatives": Asked(first_order.INVERSE_DYNAMICS_DERIVATIVES, "q v a"),
    "forward_derivatives": Asked(first_order.FORWARD_DYNAMICS_DERIVATIVES, "q v tau"),
    "second_derivatives": Asked(
        second_order.INVERSE_DYNAMICS_SECOND_DERIVATIVES, "q v a contract", given=("contract",)
    ),
    "factor": Asked(factor_pairs.FACTOR, "q"),
    "inverse_factor": Asked(factor_pairs.INVERSE_FACTOR, "q"),
    "freedom_by_freedom": Asked(forward.FACTOR, "q"),
    "mass_rate": Asked(metric_quantities.SENSITIVITY, "q along", given=("along",)),
    "momentum_change": Asked(metric_quantities.SENSITIVITY, "q right", given=("right",)),
}
DIVIDING = ("mass_matrix_inverse", "forward_derivatives", "factor", "inverse_factor", "freedom_by_freedom")


def every_input(q: np.ndarray, v: np.ndarray, a: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
    """What any of them takes."""
    return {"q": q, "v": v, "a": a, "tau": a, "contract": w, "along": v, "right": w}


def way(robot: rc.Robot, what: str) -> Any:
    asked = ASKED[what]
    return robot.evaluator.resolve(Question.of(asked.quantity, asked.given, asked.options))


def by_walks(robot: rc.Robot, what: str, state: dict[str, Any]) -> np.ndarray:
    """What the plan of walks makes of one state, run step by step."""
    recipe = way(robot, what).recipe
    inputs = {ASKED[what].quantity.reads.get(name, name): state[name] for name in ASKED[what].inputs.split()}
    return looped_result(recipe.looped, robot.model, inputs).reshape(recipe.shape)


def by_kernel(robot: rc.Robot, what: str, state: dict[str, Any], **more: Any) -> np.ndarray:
    """What the loops make of a batch, whatever the robot's size."""
    asked = ASKED[what]
    with answered("loop"):
        return robot.evaluator.evaluate(
            asked.quantity, {name: state[name] for name in asked.inputs.split()}, asked.options, **more
        )


def kernel_of(robot: rc.Robot, what: str) -> Any:
    """The loops that have answered."""
    asked = ASKED[what]
    kernel = kernel_used(robot, asked.quantity, *asked.given, **asked.options)
    assert kernel.form == "loop"
    return kernel
