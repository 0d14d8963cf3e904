"""A study that takes some seconds, as a program to be killed: ``python study_under_fire.py STORE [ADDRESS]``."""

import sys

import recursa as rc


def described() -> rc.Study:
    """400 motions in blocks of 10, each long enough to be hit."""
    return rc.study(
        rc.robots.planar(3),
        vary={"q0": "uniform", "v0": ("normal", 0.0, 0.5), "payload.mass": ("normal", 0.4, 0.05)},
        samples=400,
        seed=5,
        step=1e-4,
        steps=20_000,
        save_every=10_000,
        keep={"q": "full", "peak_speed": ["extrema", "moments", ("quantiles", [0.1, 0.9]), ("top", 7)]},
    )


BLOCK = 10

if __name__ == "__main__":
    store, *address = sys.argv[1:]
    engine = {"engine": "dask", "address": address[0]} if address else {"engine": "dask", "workers": 2}
    described().run(store=store, block=BLOCK, progress=False, **engine)
