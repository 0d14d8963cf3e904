"""All questions that a robot answers about its states, side by side: no group stands on another."""

from __future__ import annotations

from recursa.diagonal.diagonal_methods import DiagonalMethods
from recursa.facade.book import BookMethods
from recursa.facade.configurations import ConfigurationMethods
from recursa.facade.constraint_methods import ConstraintMethods
from recursa.facade.derivative_methods import DerivativeMethods
from recursa.facade.dynamics import DynamicsMethods
from recursa.facade.kinematic_methods import KinematicsMethods, ManipulabilityMethods
from recursa.facade.mass_matrix_factorization import FactorizationMethods, FilteringMethods
from recursa.facade.mass_methods import MassPropertyMethods, MatrixMethods
from recursa.facade.parameters import ParameterMethods
from recursa.facade.regressors import RegressorMethods
from recursa.facade.second_derivative_methods import SecondDerivativeMethods
from recursa.free.free_methods import ChangeOfBaseMethods
from recursa.operational.operational_methods import OperationalMethods


class Answers(
    ConfigurationMethods,
    KinematicsMethods,
    ManipulabilityMethods,
    MassPropertyMethods,
    DynamicsMethods,
    BookMethods,
    MatrixMethods,
    RegressorMethods,
    FactorizationMethods,
    FilteringMethods,
    DerivativeMethods,
    SecondDerivativeMethods,
    OperationalMethods,
    ConstraintMethods,
    DiagonalMethods,
    ChangeOfBaseMethods,
    ParameterMethods,
):
    """A model and everything one can ask of its states, for one or many."""

    __slots__ = ()
