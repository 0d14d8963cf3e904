"""Single calls in every form, as multiples of those with plain arrays: ``python benchmarks/single_calls.py [ROBOT]``.

The calls of a group are measured in turns, in slices of about a millisecond of processor time; the fastest slice of
each counts, which is what is left when nobody else uses the machine. Where Pinocchio is installed its call for the same
quantity takes turns with them: its multiple is how many times faster ours is. Prints a table in Markdown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from time import process_time

import numpy as np

import recursa as rc
from recursa.interop import pinocchio as bridge

try:
    import pinocchio as pin
except ImportError:
    pin = None

Call = Callable[[], object]
Rows = Iterator[tuple[str, Call]]
TURNS, SLICE = 60, 1e-3


def fastest(calls: list[Call]) -> list[float]:
    """Seconds per call, each the least of its slices."""
    counts = [repetitions(call) for call in calls]
    best = [np.inf] * len(calls)
    for _ in range(TURNS):
        for k, (call, count) in enumerate(zip(calls, counts, strict=True)):
            best[k] = min(best[k], seconds(call, count))
    return best


def seconds(call: Call, count: int) -> float:
    """Processor time per call."""
    start = process_time()
    for _ in range(count):
        call()
    return (process_time() - start) / count


def repetitions(call: Call) -> int:
    """Calls in a slice; the first ones compile and learn."""
    for _ in range(3):
        call()
    return max(1, int(SLICE / max(seconds(call, 20), 1e-8)))


def groups(robot: rc.Robot) -> Iterator[Rows]:
    """The calls to compare, each group with the one with plain arrays first."""
    (q, v), a = robot.random_state(1), robot.random_state(2)[1]
    tip = robot.link_names[-1]
    names = [joint.name for joint in robot.model.joints]
    lists = [x.tolist() for x in (q, v, a)]
    tuples = [tuple(x) for x in lists]
    named = [dict(zip(names, x, strict=True)) for x in lists]
    wrenches = np.random.default_rng(0).normal(size=(robot.nlinks, 6))
    parameters = np.concatenate([inertia.components() for inertia in robot.model.inertias])
    base, out, matrix = np.zeros(6), np.empty(robot.nv), np.empty((robot.nv, robot.nv))
    whole, by_link = np.arange(robot.nv), {tip: wrenches[0]}
    force = {"at": tip, "force": (1.0, 2.0, 3.0), "point": (0.0, 0.0, 0.1)}
    in_world, in_link = rc.Wrench(**force), rc.Wrench(**force, frame="link")
    inverse, forward, sensitivity = robot.inverse_dynamics, robot.forward_dynamics, robot.diagonal.sensitivity

    theirs = peers(robot, q, v, a)

    def of_inverse_dynamics() -> Rows:
        yield "`inverse_dynamics(q, v, a)`, arrays", lambda: inverse(q, v, a)
        yield from theirs["rnea"]
        yield "lists", lambda: inverse(*lists)
        yield "tuples", lambda: inverse(*tuples)
        yield "mappings by joint name", lambda: inverse(*named)
        yield "whole numbers", lambda: inverse(whole, whole, whole)
        yield "`q=`, `v=`, `a=`", lambda: inverse(q=q, v=v, a=a)
        yield "`a=`, `q=`, `v=`", lambda: inverse(a=a, q=q, v=v)
        yield "`out=`", lambda: inverse(q, v, a, out=out)
        yield "`losses=True`", lambda: inverse(q, v, a, losses=True)
        yield "`wrenches=` an array", lambda: inverse(q, v, a, wrenches=wrenches)
        yield "`wrenches=` a `Wrench` in link axes", lambda: inverse(q, v, a, wrenches=in_link)
        yield "`wrenches=` a list of one in world axes", lambda: inverse(q, v, a, wrenches=[in_world])
        yield "`wrenches=` six numbers by link", lambda: inverse(q, v, a, wrenches=by_link)
        yield '`method="rodriguez"`', lambda: inverse(q, v, a, method="rodriguez")
        yield "`base_acceleration=`", lambda: inverse(q, v, a, base_acceleration=base)
        yield "`parameters=`", lambda: inverse(q, v, a, parameters=parameters)

    def of_mass_matrix() -> Rows:
        yield "`mass_matrix(q)`, an array", lambda: robot.mass_matrix(q)
        yield from theirs["crba"]
        yield "a mapping", lambda: robot.mass_matrix(named[0])
        yield "`out=`", lambda: robot.mass_matrix(q, out=matrix)
        yield "`packed=True`", lambda: robot.mass_matrix(q, packed=True)
        yield "`parameters=`", lambda: robot.mass_matrix(q, parameters=parameters)

    def of_forward_dynamics() -> Rows:
        yield "`forward_dynamics(q, v, tau)`, arrays", lambda: forward(q, v, a)
        yield from theirs["aba"]
        yield "lists", lambda: forward(*lists)
        yield "mappings by joint name", lambda: forward(*named)
        yield "`out=`", lambda: forward(q, v, a, out=out)
        yield "`losses=True`", lambda: forward(q, v, a, losses=True)
        yield "`wrenches=` an array", lambda: forward(q, v, a, wrenches=wrenches)
        yield "`wrenches=` a list of one in world axes", lambda: forward(q, v, a, wrenches=[in_world])
        yield "`parameters=`, judged at every state", lambda: forward(q, v, a, parameters=parameters)

    def of_jacobian() -> Rows:
        yield "`jacobian(q, link)`, an array", lambda: robot.jacobian(q, tip)
        yield '`frame="world"`', lambda: robot.jacobian(q, tip, frame="world")
        yield "a list", lambda: robot.jacobian(lists[0], tip)
        yield "a mapping", lambda: robot.jacobian(named[0], tip)

    def of_compliance() -> Rows:
        yield "`operational_compliance(q, link)`, an array", lambda: robot.operational_compliance(q, tip)
        yield "`operational_inertia(q, link)`", lambda: robot.operational_inertia(q, tip)
        yield '`operational_inertia(q, link, frame="world")`', lambda: robot.operational_inertia(q, tip, frame="world")
        middle = robot.link_names[len(robot.link_names) // 2]
        yield "`operational_inertia` of a link in the middle", lambda: robot.operational_inertia(q, middle)

    def of_sensitivity() -> Rows:
        yield "`diagonal.sensitivity(q)`, an array", lambda: sensitivity(q)
        yield "a list", lambda: sensitivity(lists[0])
        yield "`along=`", lambda: sensitivity(q, along=v)
        yield "`left=`", lambda: sensitivity(q, left=v)
        yield "`left=`, `right=`", lambda: sensitivity(q, left=v, right=a)
        yield "`right=`, `along=`", lambda: sensitivity(q, right=v, along=a)
        yield "all three", lambda: sensitivity(q, left=v, right=v, along=a)

    def of_tangent() -> Rows:
        yield "`inverse_dynamics(q, v, a)`, arrays", lambda: inverse(q, v, a)
        yield "`diagonal.sensitivity(q)`", lambda: sensitivity(q)
        yield "`linearize(q, v, a, direction=(dq, dv, da))`", lambda: robot.linearize(q, v, a, direction=(a, q, v))

    yield from (
        of_inverse_dynamics(), of_mass_matrix(), of_forward_dynamics(), of_jacobian(), of_compliance(),
        of_sensitivity(), of_tangent(),
    )  # fmt: skip


def peers(robot: rc.Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, list[tuple[str, Call]]]:
    """Pinocchio's calls by name, none where it is not installed."""
    if pin is None:
        return {"rnea": [], "crba": [], "aba": []}
    model = bridge.build(robot)
    data = model.createData()
    place, speed, third = bridge.configuration(robot, model, q), *(bridge.velocity(robot, model, x) for x in (v, a))
    return {
        "rnea": [("Pinocchio, `rnea(model, data, q, v, a)`", lambda: pin.rnea(model, data, place, speed, third))],
        "crba": [("Pinocchio, `crba(model, data, q)`", lambda: pin.crba(model, data, place))],
        "aba": [("Pinocchio, `aba(model, data, q, v, tau)`", lambda: pin.aba(model, data, place, speed, third))],
    }


def main() -> None:
    """Print the table of one robot."""
    name = sys.argv[1] if len(sys.argv) > 1 else "panda_like"
    robot = getattr(rc.robots, name)()
    print(f"| {name} | µs | times the array call |\n|---|---|---|")
    for group in groups(robot):
        labels, calls = zip(*group, strict=True)
        times = fastest(list(calls))
        for label, time in zip(labels, times, strict=True):
            print(f"| {label} | {1e6 * time:.2f} | {time / times[0]:.1f} |")


if __name__ == "__main__":
    main()
