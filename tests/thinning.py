"""Large products of cases: ``make test`` runs every sixth one, ``make test-all`` all of them."""

from __future__ import annotations

from itertools import groupby
from zlib import crc32

import pytest

FEW = 4  # cases; so many are all run
ONE_OF = 6
LARGE_PRODUCTS = {
    "identities": ("operator_identities", "operator_rates"),
    "kernels": ("c_export", "forms", "random_plans"),
    "lowering": ("operator_inverses", "operator_kernels", "operator_lowering", "rate_lowering"),
    "oracles": (
        "base_parameter_counts", "book_methods", "compiled_urdfs", "configuration_derivatives", "denoc_examples",
        "derivatives",
        "link_derivatives", "momentum_rates", "mujoco", "operational_walks", "pinocchio", "pushed_derivatives",
        "regressors", "second_derivatives", "walks", "written_files",
    ),
    "physics": ("forward_methods", "kinematics_consistency", "operational_space"),
    "unit": ("batching", "factorization", "fusing", "linear_losses", "may_move", "operation_counts", "sparsity"),
}  # fmt: skip
"""Files in which one function runs over many robots, questions or options, by folder."""


def thin(items: list[pytest.Item]) -> None:
    """Mark five of six cases of a function in these files as slow; which is left depends on the function's name."""
    large = [item for item in items if item.path.stem[5:] in LARGE_PRODUCTS.get(item.path.parent.name, ())]
    for name, group in groupby(large, key=lambda item: item.nodeid.partition("[")[0]):
        cases = list(group)
        if len(cases) > FEW:
            kept = crc32(name.encode()) % ONE_OF
            for number, item in enumerate(cases):
                if number % ONE_OF != kept % len(cases):
                    item.add_marker(pytest.mark.slow)
