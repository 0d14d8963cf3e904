"""The verb ``recursa examples``: scripts to start from, and the same as notebooks."""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from recursa.cli import show
from recursa.cli.root import JSON
from recursa.errors import RecursaError
from recursa.files import write_together

_CELL = "# %%"


@click.command()
@click.argument("folder", metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path), default="recursa-examples")
@click.option("--list", "only_list", is_flag=True, help="Only say which there are.")
@click.option("--force", is_flag=True, help="Write over files that have been changed.")
@JSON
def examples(folder: Path, only_list: bool, force: bool, as_json: bool) -> None:
    """Copy examples into a folder: scripts, and the same as notebooks.

    \b
    Examples:
      recursa examples
      recursa examples my-folder
      recursa examples --list
    """
    scripts = example_scripts()
    if only_list:
        if as_json:
            show.print_json({name: title_of(text) for name, text in scripts.items()})
        else:
            for name, text in scripts.items():
                click.echo(f"{name}.py\n    {title_of(text)}")
        return
    contents = {folder / f"{name}.py": text for name, text in scripts.items()}
    contents |= {folder / f"{name}.ipynb": as_notebook(text) for name, text in scripts.items()}
    changed = [path for path, text in contents.items() if path.exists() and path.read_bytes() != text.encode()]
    if changed and not force:
        raise RecursaError(f"'{changed[0]}' has been changed; name another folder, or write over it with --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecursaError(f"cannot make the folder '{folder}': {error.strerror or error}") from None
    write_together(contents)
    if as_json:
        show.print_json({"folder": str(folder), "files": sorted(path.name for path in contents)})
        return
    for name, text in scripts.items():
        click.echo(f"{folder / name}.py and .ipynb\n    {title_of(text)}")
    click.echo(f"Begin with: python {folder / next(iter(scripts))}.py")


def example_scripts() -> dict[str, str]:
    """Name and text of every script, the easy ones first."""
    place = files("recursa") / "examples"
    found = {Path(one.name).stem: one.read_text("utf-8") for one in place.iterdir() if one.name.endswith(".py")}
    first = ("torques", "reach", "many_falls")
    return {
        name: found[name] for name in sorted(found, key=lambda n: (first.index(n) if n in first else len(first), n))
    }


def title_of(script: str) -> str:
    """Its heading."""
    return next(line.removeprefix("# # ") for line in script.splitlines() if line.startswith("# # "))


def as_notebook(script: str) -> str:
    """A script with cells marked by ``# %%`` as a notebook.

    >>> cells = json.loads(as_notebook("# %% [markdown]\\n# # Title\\n\\n# %%\\nprint(1)\\n"))["cells"]
    >>> [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    [('markdown', '# Title'), ('code', 'print(1)')]
    """
    cells: list[dict[str, Any]] = []
    for number, part in enumerate(script.split(_CELL)[1:]):
        mark, _, text = part.partition("\n")
        lines = text.strip("\n").splitlines(keepends=True)
        identity = {"id": sha256(f"{number}{part}".encode()).hexdigest()[:8], "metadata": {}}
        if "markdown" in mark:
            prose = [line.removeprefix("#").removeprefix(" ") for line in lines]
            cells.append({"cell_type": "markdown", **identity, "source": prose})
        else:
            cells.append({"cell_type": "code", **identity, "execution_count": None, "outputs": [], "source": lines})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
