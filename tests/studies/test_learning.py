"""A store as a data set: the page's class of rows, in PyTorch's loader; and read as it lies on the disk."""

import re
from pathlib import Path

import numpy as np
import pytest

import recursa as rc

pytest.importorskip("zarr")
PAGE = Path(__file__).parents[2] / "docs" / "studies-examples.md"


@pytest.fixture
def rows(tmp_path):
    """The class that the page shows, on a store of 500 rows."""
    robot = rc.robots.panda_like()
    vary = {"q": "uniform", "v": "uniform", "tau": ("normal", 0.0, 10.0)}
    rc.study(robot, vary, "forward_dynamics", samples=500, seed=1).run(store=tmp_path / "data.zarr", block=100)
    block = next(one for one in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if "class Rows" in one)
    found: dict = {}
    exec(block[: block.index("rows = Rows(")], found)
    return robot, found["Rows"](f"{tmp_path}/data.zarr", batch=50)


def test_batches_are_rows_of_the_study(rows) -> None:
    robot, data = rows
    assert len(data) == 10
    q, v, tau, a = data[7]
    assert q.shape == (50, 7) and np.allclose(a, robot.forward_dynamics(q, v, tau), rtol=1e-12)


@pytest.mark.parametrize("processes", [0, 2])
def test_pytorch_loads_every_row_once(rows, processes) -> None:
    torch = pytest.importorskip("torch")
    robot, data = rows
    loader = torch.utils.data.DataLoader(
        data, batch_size=None, shuffle=True, num_workers=processes, timeout=60 * (processes > 0)
    )
    batches = list(loader)
    assert len(batches) == 10 and all(isinstance(one, torch.Tensor) for batch in batches for one in batch)
    q, v, tau, a = (torch.cat([batch[k] for batch in batches]).numpy() for k in range(4))
    assert np.allclose(a, robot.forward_dynamics(q, v, tau), rtol=1e-12)
    expected = np.concatenate([data[k][0] for k in range(10)])
    assert sorted(map(tuple, q)) == sorted(map(tuple, expected))
