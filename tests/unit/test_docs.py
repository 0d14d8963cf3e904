"""Every Python block in the README and the docs runs, in order, page by page, and prints what stands below it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import recursa as rc

ROOT = Path(__file__).parents[2]
COMPILED = ("rollout.md", "control.md", "diagonal-simulation.md", "lqr.md", "simulation.md")  # thousands of evaluations
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python" in page.read_text("utf-8")
]
HAND = """<robot name="hand"><link name="palm"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="continuous"><parent link="palm"/><child link="a"/></joint>
  <joint name="k" type="continuous"><parent link="a"/><child link="b"/><mimic joint="j"/></joint></robot>"""


def blocks(page: Path) -> list[tuple[str, str]]:
    """Code, and what the page says it prints: a block of text or C right below."""
    found = r"```python\n(.*?)```(?:\n\n```(?:text|c)\n(.*?)```)?"
    return re.findall(found, page.read_text("utf-8"), flags=re.DOTALL)


def free_tree() -> str:
    builder = rc.Builder("go2")
    builder.link("base", mass=5.0, inertia=(0.1, 0.2, 0.25)).joint("weld", "fixed", parent="world", child="base")
    return builder.build().to_urdf().replace('"world"', '"trunk"')


def as_run(page: Path) -> object:
    marks = [pytest.mark.compiled] if page.name in COMPILED else []
    return pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize("page", [as_run(page) for page in PAGES])
def test_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(rc.robots.panda_like().to_urdf())
    (tmp_path / "go2.urdf").write_text(free_tree())
    (tmp_path / "hand.urdf").write_text(HAND)
    if "pinocchio" in page.read_text("utf-8") and page.name == "interop.md":
        pytest.importorskip("pinocchio")
        pytest.importorskip("mujoco")
    names: dict[str, object] = {}
    for number, (code, printed) in enumerate(blocks(page)):
        if page.name == "architecture.md":  # an excerpt of a module, given its imports
            exec("from recursa.sweeps import Step", names)
        capsys.readouterr()
        exec(compile(code, f"{page.name}, block {number}", "exec"), names)
        assert not printed or capsys.readouterr().out == printed, f"{page.name}, block {number}"


def test_readme_starts_with_commands_code_and_picture():
    first_screen = "\n".join((ROOT / "README.md").read_text("utf-8").splitlines()[:30])
    assert "make demo" in first_screen
    assert "make test" in first_screen
    assert "```python" in first_screen
    picture = re.search(r'src="([^"]+)"', first_screen)
    assert picture is not None
    assert (ROOT / picture[1]).stat().st_size > 10_000


def test_architecture_page_names_every_module():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    for path in Path(rc.__file__).parent.rglob("*.py"):
        assert path.name.startswith("__") or path.name in page, f"{path.name} is not on the page"
