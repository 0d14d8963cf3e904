"""rc.tables: the printed tables, ours beside them, and what they are made of."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from numeric import close
from recursa.book.methods import INVERSE, MASS
from recursa.counts import printed_tables
from recursa.counts.arms import GEOMETRIES, generalized, table_arm
from recursa.counts.count import _TableEvaluator, counted, with_divisions
from recursa.counts.of_robots import METHODS
from recursa.counts.polynomials import Exact, ExactGraph, Polynomial
from recursa.counts.tables import TABLES
from recursa.errors import UnknownNameError
from recursa.evaluation.formulas import solve_symmetric
from recursa.quantities import quantities
from recursa.spatial.counter import Counts
from zoo import with_soaks

OF_PAPERS = [name for name in TABLES if name not in ("robots", "regrouping")]
BY_EQUATION = ("5.1", "5.2", "6.1", "7.1", "7.2")
every_table = pytest.mark.parametrize("name", OF_PAPERS)


def row(name: str, method: str, geometry: str = "general"):
    (found,) = (one for one in rc.tables(name) if (one.method, one.geometry) == (method, geometry))
    return found


def at_6(one) -> tuple[int, int]:
    return one.ours_mul_at_6, one.ours_add_at_6


# ---- parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "again"),
    [
        ("93n - 108", 450, "93 n - 108"),
        ("5.5n^2 + 32.5n - 54", 339, "11/2 n^2 + 65/2 n - 54"),
        ("1/6n^3+23/2n^2+115/3n-47", 633, "1/6 n^3 + 23/2 n^2 + 115/3 n - 47"),
        ("n^2 - n", 30, "n^2 - n"),
        ("-n", -6, "-n"),
        ("0", 0, "0"),
    ],
)
def test_polynomials_are_read_evaluated_and_printed(text, value, again):
    p = Polynomial.read(text)
    assert p(6) == value
    assert str(p) == again
    assert Polynomial.read(again) == p


@pytest.mark.parametrize("text", ["93m", "n**2", "+", "93n -"])
def test_what_is_no_polynomial_is_refused(text):
    with pytest.raises(rc.RecursaError, match="not a polynomial"):
        Polynomial.read(text)


def test_polynomials_need_a_value_more_than_they_have_coefficients():
    cubic = {n: n**3 - 2 * n + 1 for n in range(3, 8)}
    assert str(Polynomial.through(cubic)) == "n^3 - 2 n + 1"
    del cubic[7]
    assert Polynomial.through(cubic) is None
    assert str(Polynomial.through({3: 7, 9: 7})) == "7"


def test_constants_are_exact():
    a, b = Exact(1, 3), Exact(2, 7)
    assert a + b - b == Exact(1, 3)
    assert 1.0 / a == 3
    assert (a - 0.25) * 12.0 == 1
    assert (a / b) * b == a
    assert hash(a * 3.0) == hash(Exact(1))
    (x,) = ExactGraph().inputs("x", 1)
    assert (x * Exact(3) * Exact(1, 3)).number == x.number
    assert (a + x) - a is not None


@pytest.mark.parametrize("n", [1, 2, 6])
def test_the_solve_is_right_and_costs_what_the_book_says(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    matrix, right = root @ root.T + np.eye(n), rng.normal(size=n)
    close(solve_symmetric(matrix.tolist(), right.tolist()), np.linalg.solve(matrix, right), 1e-10)
    graph = ExactGraph()
    outputs = solve_symmetric([graph.inputs(f"row{i}", n) for i in range(n)], graph.inputs("b", n))
    found = graph.counts([x.number for x in outputs])
    assert found.mul + found.div == Polynomial.read("1/6n^3 + 3/2n^2 - 2/3n")(n)
    assert found.add == Polynomial.read("1/6n^3 + n^2 - 7/6n")(n)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_what_is_counted_computes_the_right_numbers(geometry):
    """All methods on the arm of the tables, in exact arithmetic but for sines: they agree."""
    model = table_arm(2, geometry)
    robot = rc.Robot(model, _TableEvaluator(model))
    q, v, a = np.array([[0.4, -0.7], [0.9, 1.3], [-0.6, 1.1]], dtype=object)
    torque = robot.inverse_dynamics(q, v, a).astype(float)
    for method in INVERSE:
        close(robot.inverse_dynamics(q, v, a, method=method).astype(float), torque, 1e-12, method)
    mass = robot.mass_matrix(q).astype(float)
    for method in MASS:
        close(robot.mass_matrix(q, method=method).astype(float), mass, 1e-12, method)
    found = robot.forward_dynamics(q, v, torque.astype(object), method="composite", mass="augmented", bias="tensor")
    close(found.astype(float), a.astype(float), 1e-10)
    one, other = (robot.linearize(q, v, a, method=method) for method in ("spatial", "balafoutis-patel"))
    for mine, theirs in zip(one, other, strict=True):
        close(mine.astype(float), theirs.astype(float), 1e-12)


# ---- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", with_soaks(OF_PAPERS, set(OF_PAPERS) - {"5.3"}))  # which takes some seconds
def test_fits_are_exact_and_say_what_was_counted(name):
    rows = list(rc.tables(name))
    assert len(rows) == len(rc.tables(name))
    assert {one.geometry for one in rows} == set(GEOMETRIES)
    for one in rows:
        if one.ours is None:
            assert at_6(one) == (None, None)
            continue
        assert Polynomial.read(one.ours_mul)(6) == one.ours_mul_at_6
        assert Polynomial.read(one.ours_add)(6) == one.ours_add_at_6


@every_table
def test_printed_polynomials_match_the_printed_values_or_carry_a_note(name):
    seen = 0
    for one in rc.tables(name):
        if one.printed_mul is None:
            continue
        seen += 1
        values = [Polynomial.read(text)(6) for text in (one.printed_mul, one.printed_add)]
        if values != [one.printed_mul_at_6, one.printed_add_at_6]:
            assert "cannot be right" in one.note or "needs" in one.note, one.method
    assert seen or name == "6.3"


@pytest.mark.parametrize("name", BY_EQUATION)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_equations_add_up_to_the_totals(name, geometry):
    *rows, total = (one for one in rc.tables(name) if one.geometry == geometry)
    assert total.method == printed_tables.TOTAL
    for kind in ("printed_mul", "printed_add", "ours_mul", "ours_add"):
        for n in (4, 9):
            parts = [getattr(one, kind) for one in rows if getattr(one, kind) is not None]
            assert sum(Polynomial.read(text)(n) for text in parts) == Polynomial.read(getattr(total, kind))(n), kind


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_tables_by_equation_match_the_whole_method(geometry):
    arm = table_arm(6, geometry)
    for name, quantity in (("5.2", "inverse_dynamics"), ("6.1", "mass_matrix")):
        found = counted(arm, quantity, {"method": "augmented"})
        assert at_6(row(name, printed_tables.TOTAL, geometry)) == (found.mul, found.add)
    whole = counted(arm, "linearize", {"method": "balafoutis-patel"})
    nominal = counted(arm, "inverse_dynamics", {})
    mul, add = np.add(at_6(row("7.1", "total", geometry)), at_6(row("7.2", "total", geometry)))
    assert mul < whole.mul <= mul + nominal.mul  # the nominal pass and sdot make the difference
    assert add < whole.add <= add + nominal.add


def test_bars_at_six_joints():
    bars = {
        (450 - 1, 386 - 1): at_6(row("5.2", "total")),
        (349, 295): at_6(row("6.2", "Featherstone, composite bodies")),
        (880, 740): at_6(row("6.3", "composite bodies, Algorithm 5.7, solve")),
        (1859, 1525): tuple(np.add(at_6(row("7.1", "total")), at_6(row("7.2", "total")))),
    }
    for bar, found in bars.items():
        assert found[0] <= bar[0], (bar, found)
        assert found[1] <= bar[1], (bar, found)


def test_every_printed_total_of_the_book_is_met():
    for name in ("5.2", "6.1", "7.1", "7.2"):
        for geometry in GEOMETRIES:
            one = row(name, "total", geometry)
            assert one.ours_mul_at_6 <= one.printed_mul_at_6
            assert one.ours_add_at_6 <= one.printed_add_at_6


def test_link_one_as_any_other_makes_the_printed_equations_of_table_5_1():
    for label in ("45a", "45b", "45c", "46a", "46b"):
        one = row("5.1", label)
        assert (one.ours_mul, one.ours_add) == (one.printed_mul, one.printed_add), label
    assert "Omega_1" in row("5.1", "total").note


def test_wrong_prints_are_noted_where_they_are():
    assert "11n - 14" in row("5.2", "46a", "0/90").note
    assert row("5.2", "46a").note == ""
    for label in ("19e", "19f", "19g"):
        assert "5n^2 - 10 + 5" in row("7.2", label, "0/90").note
        assert row("7.2", label).note == ""
    assert "475" in row("saha-2", "Walker & Orin (1982)").note
    assert "-53" in row("6.2", "Walker & Orin (Alg. 6.1)").note
    assert "972" in row("5.3", "Vukobratovic et al. (5.2.17)").note


def test_twelve_joints_of_table_2_are_the_printed_ones():
    """Saha's second column, without a heading in print; "O(n) is efficient when n >= 12" is the sum of both kinds."""
    printed = {
        "Saha (1999), DeNOC": (2077, 1955), "Featherstone (1983)": (2190, 1915), "Walker & Orin (1982)": (2357, 1716),
    }  # fmt: skip
    rows = {one.method: one for one in rc.tables("saha-2") if one.geometry == "general"}
    for method, both in printed.items():
        assert (rows[method].printed_mul_at_12, rows[method].printed_add_at_12) == both
    counts = with_divisions(counted(table_arm(12), "forward_dynamics", {"method": "denoc"}, at_rest=True))
    ours = rows["Saha (1999), DeNOC"]
    assert (ours.ours_mul_at_12, ours.ours_add_at_12) == (counts.mul, counts.add)
    linear, cubic = (
        [Polynomial.read(text) for text in (rows[method].printed_mul, rows[method].printed_add)]
        for method in ("Saha (1999), DeNOC", "Walker & Orin (1982)")
    )
    cheaper = [n for n in range(2, 30) if sum(p(n) for p in linear) < sum(p(n) for p in cubic)]
    assert cheaper == [2, *range(12, 30)]


def test_a_method_joins_the_tables_by_its_name(monkeypatch):
    monkeypatch.setitem(INVERSE, "denoc", INVERSE["luh-walker-paul"])
    rows = {one.method: one for one in TABLES["saha-1"].rows() if one.geometry == "general"}
    assert rows["Saha (1999), DeNOC"].ours_mul is not None
    assert rows["Khalil et al. (1986)"].ours is None


@pytest.mark.parametrize("name", TABLES)
def test_tables_print_and_become_json(name):
    table = rc.tables(name)
    text = str(table)
    assert table.title in text
    assert table.rules in text
    assert len(text.splitlines()) == len(table) + 3
    data = json.loads(json.dumps(table.as_dict()))
    assert data["name"] == name
    assert len(data["rows"]) == len(table)
    assert table.markdown().count("\n") == len(table) + 1


def test_unknown_table_lists_all():
    with pytest.raises(UnknownNameError, match=r"no table '8\.1'") as caught:
        rc.tables("8.1")
    assert all(name in str(caught.value) for name in TABLES)
    assert rc.tables(5.3) is rc.tables("5.3")  # a number is what people type


# ---- rules of rc.count -----------------------------------------------------------------------------------------------


def test_table_rules_keep_only_the_structure_of_a_robot():
    arm, other = rc.robots.chain(6, seed=1), rc.robots.chain(6, seed=8)
    about_joints = [one.name for one in quantities() if one.of_joints and one.name != "hybrid_dynamics"]
    named = {"prescribed": ("joint2",)}
    assert rc.count(arm, "hybrid_dynamics", rules="table", **named) == rc.count(
        other, "hybrid_dynamics", rules="table", **named
    )
    assert {"inverse_dynamics", "mass_matrix", "forward_dynamics", "linearize"} <= set(about_joints)
    for quantity in about_joints:
        assert rc.count(arm, quantity, rules="table") == rc.count(other, quantity, rules="table"), quantity
    found = rc.count(arm, "inverse_dynamics", method="augmented", rules="table")
    assert (found.mul, found.add) == at_6(row("5.2", "total"))
    puma = rc.count(rc.robots.puma560(), "inverse_dynamics", method="augmented", rules="table")
    assert puma.mul < found.mul  # its twists
    assert puma.mul > rc.count(rc.robots.puma560(), "inverse_dynamics", method="augmented").mul  # its zeros
    model = generalized(rc.robots.stanford().model)
    assert [joint.kind.name for joint in model.joints].count("prismatic") == 1
    assert rc.count(rc.robots.free_flyer(), "mass_matrix", rules="table").mul > 0
    assert rc.count(rc.robots.tree(5), "forward_dynamics", rules="table").div > 0


def test_regrouping_costs_nothing_to_leave_out():
    for one in rc.tables("regrouping"):
        assert one.regrouped_mul <= one.mul
        assert one.regrouped_add <= one.add
    assert rc.count(rc.robots.stanford(), "inverse_dynamics", regroup=False) == Counts(141, 119, 0, 0, 8)


def test_counts_of_solve_and_linearization():
    robot = rc.robots.stanford()
    M, C = rc.count(robot, "mass_matrix"), rc.count(robot, "bias_forces")
    both = rc.count(robot, "forward_dynamics", method="composite")
    assert both.mul < M.mul + C.mul + 65 + 60
    assert both.div == 21
    assert rc.count(robot, "linearize").mul > rc.count(robot, "inverse_dynamics").mul


def test_wrong_questions_are_explained():
    robot = rc.robots.planar()
    with pytest.raises(rc.UnknownNameError, match="quantity in joint space"):
        rc.count(robot, "poses", rules="table")
    with pytest.raises(rc.UnknownNameError, match="option for counting mass_matrix"):
        rc.count(robot, "mass_matrix", rules="table", parameters=True)
    with pytest.raises(rc.UnknownNameError, match="table"):
        rc.count(robot, "mass_matrix", rules="tabel")
    with pytest.raises(rc.NoSweepError, match="free"):
        rc.count(rc.robots.free_flyer(), "inverse_dynamics", method="augmented", rules="table")


# ---- documentation ---------------------------------------------------------------------------------------------------

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
from make_counts import PAGES, table  # noqa: E402

PAGE = "\n".join(page.read_text("utf-8") for page in PAGES)


@pytest.mark.parametrize("name", ["5.3", "6.2", "6.3", "7.3", "saha-1", "saha-2", "regrouping"])
def test_docs_show_the_table_as_it_is(name):
    lines = [line for line in table(name).splitlines()[2:] if "DeNOC" not in line]
    missing = [line for line in lines if line not in PAGE]
    assert lines
    assert not missing


def test_docs_show_the_totals_and_the_robots():
    for name in BY_EQUATION:
        for geometry in GEOMETRIES:
            cells = row(name, "total", geometry).cells()
            values = (cells[key] for key in ("at 6", "ours at 6", "printed", "ours"))
            assert f"| {name} | {geometry} | {' | '.join(values)} |" in PAGE
    rows = list(rc.tables("robots"))
    names = list(dict.fromkeys(one.robot for one in rows))
    counts = {(one.quantity, one.method, one.robot): f"{one.mul}/{one.add}" for one in rows}
    for quantity, methods in METHODS.items():
        for method in methods:
            cells = [counts.get((quantity, method, robot), "-") for robot in names]
            assert method == "denoc" or f'| `"{method}"` | {" | ".join(cells)} |' in PAGE, (quantity, method)
    bars = tuple(np.add(at_6(row("7.1", "total")), at_6(row("7.2", "total"))))
    assert re.search(rf"{bars[0]}/{bars[1]} at\s+n = 6", PAGE)
