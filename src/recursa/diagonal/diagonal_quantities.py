"""Total rates, working moments and the equations in them as quantities: with square roots, and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain

from recursa.diagonal import diagonal_coriolis, equations_of_motion, rates_and_moments
from recursa.dynamics.factorization import six_by_six
from recursa.dynamics.gathering import FORCES, flat, joint_vector, listed, vector_of
from recursa.dynamics.wrenches import Losses, known_losses
from recursa.errors import NoSweepError, known_method
from recursa.model.may_move import MayMove
from recursa.quantities import Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Plan, Values


def require_independent(of: Subject) -> None:
    """Refuse robots with tied joints: their mass matrix has no sweeps for factors."""
    if of.tied:
        raise NoSweepError(
            f"robot '{of.model.name}' has tied joints, and the diagonalised equations are those of trees "
            f"with independent joints. {of.model.how_to_untie}"
        )


def _vector(plan: Plan, name: str, of: Subject, given: Names) -> Recipe:
    require_independent(of)
    return Recipe(plan, vector_of(of.model, name), (of.model.nv,), MayMove.INERTIAS)


def _coriolis(rate: str, plans: Mapping[str, Plan], of: Subject, given: Names, *, method: str = "short") -> Recipe:
    require_independent(of)
    known_method(f"C(q, {rate})", method, tuple(plans))
    if method in diagonal_coriolis.ONE_FREEDOM:
        for joint in of.model.joints:
            if joint.kind.nv > 1:
                raise NoSweepError(
                    f"method {method!r} is for joints with one freedom, and joint '{joint.name}' is "
                    f'{joint.kind.name}. Use method="short", which is for all of them'
                )
    return _vector(plans[method], "C", of, given)


def _causes(of: Subject, given: Names) -> Recipe:
    """Joint by joint, the three causes of its freedoms one after the other."""
    require_independent(of)
    return Recipe(
        diagonal_coriolis.CAUSES,
        listed("causes"),
        (3 * of.model.nv,),
        MayMove.FRAMES,  # regrouping keeps the sum of the causes, not each of them
    )


def _rates(make: Callable[..., Plan], of: Subject, given: Names, *, losses: Losses = False) -> Recipe:
    """The joint rates, then the rates of the total rates."""
    require_independent(of)
    model = of.model

    def gather(values: Values) -> Iterator[Scalar]:
        return chain.from_iterable(joint_vector(model, values.lists.get(name, [])) for name in ("rate", "eps"))

    plan = make(wrenches="wrenches" in given, losses=known_losses(losses), springs=model.has_springs)
    return Recipe(plan, gather, (2, model.nv), MayMove.INERTIAS)


def _articulated_rates(of: Subject, given: Names) -> Recipe:
    require_independent(of)

    def gather(values: Values) -> Iterator[Scalar]:
        return chain.from_iterable(six_by_six(rate) for rate in values.lists.get("Pdot", []))

    return Recipe(equations_of_motion.INERTIA_RATES, gather, (of.model.nbodies, 6, 6))


def _inertia_rate(of: Subject, given: Names) -> Recipe:
    """The blocks of D_dot, row by row one after the other."""
    require_independent(of)
    entries = sum(joint.kind.nv**2 for joint in of.model.joints)
    return Recipe(
        equations_of_motion.INERTIA_RATES,
        lambda values: flat(flat(values.lists.get("Ddot", []))),
        (entries,),
        MayMove.INERTIAS,
    )


_READS = {**{name: f"joint:{name}" for name in ("nu", "eps", "xi", "kappa")}, "wrenches": "wrench"}
_WORDS = {
    "nu": "total joint rates in sqrt(J), places as in v",
    "eps": "working moments in sqrt(J)/s, places as in v",
    "xi": "total joint rates in the units of v, places as in v",
    "kappa": "working moments in the units of tau, places as in v",
}
_SPEEDS = "rad/s for rotations, m/s for translations; places as in v"
_quantity = partial(Quantity, reads=_READS, words=_WORDS, on_constraints=refusals.ACCELERATIONS)

# ---- normalised ------------------------------------------------------------------------------------------------------

TOTAL_RATES = _quantity(
    "diagonal.total_rates",
    ("q", "v"),
    partial(_vector, rates_and_moments.TOTAL_RATES, "eps"),
    "total joint rates in sqrt(J), the kinetic energy is half their square; places as in v",
)
JOINT_RATES = _quantity(
    "diagonal.joint_rates",
    ("q", "nu"),
    partial(_vector, rates_and_moments.JOINT_RATES, "rate"),
    _SPEEDS,
)
WORKING_MOMENTS = _quantity(
    "diagonal.working_moments",
    ("q", "tau"),
    partial(_vector, rates_and_moments.WORKING_MOMENTS, "eps"),
    "working moments in sqrt(J)/s; places as in v",
)
JOINT_MOMENTS = _quantity(
    "diagonal.joint_moments",
    ("q", "eps"),
    partial(_vector, rates_and_moments.JOINT_MOMENTS, "T"),
    FORCES,
)
CORIOLIS = _quantity(
    "diagonal.coriolis",
    ("q", "nu"),
    partial(_coriolis, "nu", diagonal_coriolis.NORMALIZED),
    "sqrt(J)/s; places as in v",
)
RATES = _quantity(
    "diagonal.rates",
    ("q", "nu", "tau"),
    partial(_rates, equations_of_motion.equations_plan),
    "speeds as in v, then the rates of total joint rates in sqrt(J)/s, places as in v",
    optional=("wrenches",),
)
ARTICULATED_RATES = _quantity(
    "diagonal.articulated_rates",
    ("q", "v"),
    _articulated_rates,
    "per body rates of a 6 x 6 inertia in kg m^2/s, kg m/s and kg/s, link axes at the link origin",
)

# ---- without square roots --------------------------------------------------------------------------------------------

UNNORMALIZED_TOTAL_RATES = _quantity(
    "unnormalized.total_rates",
    ("q", "v"),
    partial(_vector, rates_and_moments.UNNORMALIZED_TOTAL_RATES, "xi"),
    _SPEEDS,
)
UNNORMALIZED_JOINT_RATES = _quantity(
    "unnormalized.joint_rates",
    ("q", "xi"),
    partial(_vector, rates_and_moments.UNNORMALIZED_JOINT_RATES, "rate"),
    _SPEEDS,
)
UNNORMALIZED_WORKING_MOMENTS = _quantity(
    "unnormalized.working_moments",
    ("q", "tau"),
    partial(_vector, rates_and_moments.UNNORMALIZED_WORKING_MOMENTS, "eps"),
    FORCES,
)
UNNORMALIZED_JOINT_MOMENTS = _quantity(
    "unnormalized.joint_moments",
    ("q", "kappa"),
    partial(_vector, rates_and_moments.UNNORMALIZED_JOINT_MOMENTS, "T"),
    FORCES,
)
UNNORMALIZED_CORIOLIS = _quantity(
    "unnormalized.coriolis",
    ("q", "xi"),
    partial(_coriolis, "xi", diagonal_coriolis.UNNORMALIZED),
    FORCES,
)
CORIOLIS_CAUSES = _quantity(
    "unnormalized.coriolis_causes",
    ("q", "xi"),
    _causes,
    "N m for rotations, N for translations; joint by joint the shares of outward, inward and own motion",
)
UNNORMALIZED_RATES = _quantity(
    "unnormalized.rates",
    ("q", "xi", "tau"),
    partial(_rates, equations_of_motion.unnormalized_equations_plan),
    "speeds as in v, then the rates of total joint rates: rad/s^2 for rotations, m/s^2 for translations",
    optional=("wrenches",),
)
INERTIA_RATE = _quantity(
    "unnormalized.inertia_rate",
    ("q", "v"),
    _inertia_rate,
    "kg m^2/s for rotations, kg/s for translations, kg m/s mixed; blocks of the diagonal, row by row",
)
