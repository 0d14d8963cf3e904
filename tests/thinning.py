"""Large products of cases: ``make test`` runs every sixth one, ``make test-all`` all of them."""

from __future__ import annotations

from itertools import groupby
from zlib import crc32

import pytest

FEW = 2  # cases; so many are all run
ONE_OF = 6
LARGE_PRODUCTS = {
    "bridges": (
        "casadi", "casadi_compiled",
    ),
    "errors": (
        "hostile_content", "real_files_fuzz", "table_fuzz",
    ),
    "identities": (
        "diagonal_identities", "operator_identities", "operator_rates",
    ),
    "kernels": (
        "c_export", "choice_of_form", "entries", "every_machine", "forms", "graph", "plan_derivatives", "walk_bits",
        "random_plans", "rollout_kernels", "straight_in", "straight_in_batches",
    ),
    "lowering": (
        "operator_constraints", "operator_frames", "operator_functionals", "operator_groupings",
        "operator_inverses", "operator_kernels", "operator_lowering", "operator_roots", "rate_lowering",
    ),
    "oracles": (
        "base_parameter_counts", "book_methods", "compiled_urdfs", "configuration_derivatives",
        "constrained_answers", "constraint_derivatives", "constraint_rank", "constraints_dense",
        "constraints_massless", "constraints_pinocchio", "denoc_examples", "derivatives", "dynamics_pinocchio",
        "link_derivatives", "momentum_rates", "mujoco", "operational_pinocchio", "operational_walks", "pinocchio",
        "pushed_derivatives", "regressors", "second_derivatives", "walks", "written_files",
    ),
    "physics": (
        "analytic_ik", "closed_loops", "controllers", "dynamics_consistency", "everyday_controllers",
        "forward_methods", "free_flying", "goals",
        "identification", "inverse_kinematics", "kinematics_consistency", "landing", "mechanisms",
        "operational_space",
    ),
    "scaling": (
        "constraint_counts", "loops_scale", "tangent_counts", "walks_scale",
    ),
    "unit": (
        "base_parameters", "batching", "checkpoints", "cli_narrow", "count_tables", "docs", "explain",
        "factorization", "fusing", "hybrid", "linear_losses", "may_move", "operation_counts", "operators",
        "plan_checking", "reach_with_constraints", "rollout", "rollout_rows", "sparsity",
    ),
}  # fmt: skip
"""Files in which one function runs over many robots, questions or options, by folder."""


def thin(items: list[pytest.Item]) -> None:
    """Mark five of six cases of a function in these files as slow; which is left depends on the function's name."""
    large = [item for item in items if item.path.stem[5:] in LARGE_PRODUCTS.get(item.path.parent.name, ())]
    for name, group in groupby(large, key=lambda item: item.nodeid.partition("[")[0]):
        cases = [case for case in group if case.get_closest_marker("slow") is None]
        if len(cases) > FEW:
            kept = crc32(name.encode()) % ONE_OF
            for number, item in enumerate(cases):
                if number % ONE_OF != kept % len(cases):
                    item.add_marker(pytest.mark.slow)
