"""The papers' tables as printed: data only. What is wrong in print, or cannot be reproduced, says so in a note.

BP: Balafoutis & Patel (1991). Saha: S. K. Saha, ASME Journal of Applied Mechanics (1999). See ``docs/references.md``.
"""

from __future__ import annotations

from typing import NamedTuple

from recursa.counts.arms import Geometry

Pair = tuple[str, str]  # multiplications and additions as polynomials in n
Numbers = tuple[int, int]  # the same at n = 6


class Printed(NamedTuple):
    """A line of a table: its name, the polynomials by geometry, and the values at n = 6 where they are printed."""

    label: str
    polynomials: dict[Geometry, Pair]
    at_6: dict[Geometry, Numbers]
    note: str = ""


def _both(label: str, general: Pair, special: Pair, note: str = "") -> Printed:
    """A line of one equation, without values at n = 6."""
    return Printed(label, {"general": general, "0/90": special}, {}, note)


def _general(label: str, mul: str, add: str, at_6: Numbers, note: str = "") -> Printed:
    """A line for general geometry."""
    return Printed(label, {"general": (mul, add)}, {"general": at_6}, note)


def _at_6(label: str, mul: int, add: int, note: str = "") -> Printed:
    """A line of which only the values at n = 6 are printed."""
    return Printed(label, {}, {"general": (mul, add)}, note)


TOTAL = "total"

TABLE_5_1 = (
    _both("45a", ("8n - 8", "5n - 5"), ("4n - 4", "3n - 3")),
    _both("45b", ("10n - 10", "7n - 7"), ("6n - 6", "5n - 5")),
    _both("45c", ("6n - 5", "9n - 9"), ("6n - 5", "9n - 9")),
    _both(
        "45e",
        ("17n - 14", "13n - 13"),
        ("13n - 11", "11n - 11"),
        "g sin(alpha_1) is one constant here; 0/90: print leaves the zero of s unused",
    ),
    _both("45f", ("15n - 10", "15n - 12"), ("15n - 10", "15n - 12"), "print uses the zeros of Omega_1 for mu_1 only"),
    _both("46a", ("17n - 8", "13n - 7"), ("13n - 4", "11n - 5")),
    _both("46b", ("20n - 14", "19n - 13"), ("16n - 10", "17n - 11")),
    Printed(
        TOTAL,
        {"general": ("93n - 69", "81n - 66"), "0/90": ("73n - 50", "71n - 56")},
        {"general": (489, 420), "0/90": (388, 370)},
        "9 of each more here: mu_1 takes Omega_1 as full; 0/90: print leaves the zero of s unused",
    ),
)

TABLE_5_2 = (
    _both("45a", ("8n - 12", "5n - 9"), ("4n - 7", "3n - 5"), "0/90: print lies between alpha_2 = 0 and 90"),
    _both("45b", ("10n - 15", "7n - 11"), ("6n - 10", "5n - 8"), "print seems to take the third row of A_2 as given"),
    _both("45c", ("6n - 5", "9n - 9"), ("6n - 5", "9n - 9")),
    _both("45e", ("17n - 19", "13n - 16"), ("13n - 16", "11n - 14"), "all zeros of Omega_1 are used here"),
    _both("45f", ("15n - 13", "15n - 14"), ("15n - 13", "15n - 14")),
    _both(
        "46a", ("17n - 17", "13n - 16"), ("13n - 13", "11n - 3"),
        "0/90: 11n - 3 cannot be right, it is more than the 11n - 5 of Table 5.1: the row's own rule gives 11n - 14",
    ),
    _both("46b", ("20n - 27", "19n - 25"), ("16n - 20", "17n - 22")),
    Printed(
        TOTAL,
        {"general": ("93n - 108", "81n - 100"), "0/90": ("73n - 84", "71n - 75")},
        {"general": (450, 386), "0/90": (354, 351)},
        "0/90: with 46a put right 71n - 86, 340 at n = 6; 0/90: print leaves the zero of s unused",
    ),
)  # fmt: skip

TABLE_5_3 = (
    _general("Hollerbach 4x4 (Alg. 5.1)", "830n - 592", "675n - 464", (4388, 3586), "presumably of whole matrices"),
    _general("Hollerbach 3x3 (Alg. 5.2)", "412n - 277", "320n - 201", (2195, 1719),
             "presumably of whole matrices; its running text has 675n - 201 additions, which cannot be right"),
    _general("Luh, Walker & Paul (Alg. 5.3)", "150n - 48", "131n - 48", (852, 738), "their own habits of counting"),
    _general("Craig", "126n - 99", "106n - 92", (657, 544), "Algorithm 5.3 in Craig's arrangement"),
    _general("Khosla & Neuman", "123n - 60", "96n - 55", (678, 521)),
    _general("Li", "120n - 104", "98n - 94", (616, 494)),
    _general("Khalil et al.", "105n - 92", "94n - 86", (538, 478), "with inertial parameters regrouped"),
    _general("Angeles et al.", "105n - 109", "90n - 105", (521, 435), "ours is in base axes, theirs is not"),
    _general("Algorithm 5.6", "96n - 77", "84n - 70", (499, 434), "print is without the trimming of Table 5.2"),
    _general("Algorithm 5.7 (Table 5.1)", "93n - 69", "81n - 66", (489, 420)),
    _general("Algorithm 5.7 (Table 5.2)", "93n - 108", "81n - 100", (450, 386)),
    _general("Featherstone (Alg. 5.4)", "130n - 68", "101n - 56", (712, 550), "running text; his spatial arithmetic"),
    _at_6("Waters (5.2.9)", 7051, 5652, "running text; presumably of whole matrices"),
    _at_6("Uicker & Kahn (5.2.7)", 66271, 51548, "running text; derivatives of symmetric indices are shared here"),
    _general("Vukobratovic et al. (5.2.17)", "3/2n^3 + 35/2n^2 + 9n - 36", "7/6n^3 + 23/2n^2 + 32n - 28", (992, 776),
             "running text; its formulas give 972 and 830, so that one of them cannot be right"),
)  # fmt: skip

TABLE_6_1 = (
    _both("6.3.29a", ("8n - 16", "7n - 10"), ("4n - 8", "5n - 10"), "n - 2 evaluations make 7n - 14 additions"),
    _both("6.3.29b", ("2n - 2", "0"), ("2n - 2", "0")),
    _both("6.3.29c", ("30n - 42", "39n - 52"), ("20n - 25", "32n - 42")),
    _both("6.3.30a", ("4n^2 - 12n + 8", "2n^2 - 6n + 4"), ("2n^2 - 6n + 4", "n^2 - 3n + 2")),
    _both(
        "6.3.30b", ("7n^2 - 17n + 10", "3.5n^2 - 7.5n + 4"), ("5n^2 - 13n + 8", "2.5n^2 - 5.5n + 3"),
        "additions cannot be right: the sum s' x f + eta is left out, 3 an evaluation",
    ),
    Printed(
        TOTAL,
        {"general": ("11n^2 + 11n - 42", "5.5n^2 + 32.5n - 54"), "0/90": ("7n^2 + 7n - 23", "3.5n^2 + 28.5n - 47")},
        {"general": (420, 339), "0/90": (271, 250)},
        "additions cannot be right, see 6.3.30b: with them 369 at n = 6, general",
    ),
)  # fmt: skip

TABLE_6_2 = (
    _general("Walker & Orin (Alg. 6.1)", "12n^2 + 56n - 27", "7n^2 + 67n - 56", (741, 601),
             "601 needs -53 in place of -56; the running text has 12n^2 + 26n + 27 multiplications, wrong"),
    _general("Angeles & Ma", "n^3 + 17n^2 - 15n + 8", "n^3 + 14n^2 - 16n + 5", (746, 629)),
    _general("Featherstone, composite bodies", "10n^2 + 31n - 41", "6n^2 + 40n - 46", (505, 410)),
    _general("Algorithm 6.2", "11n^2 + 11n - 42", "5.5n^2 + 32.5n - 54", (420, 339), "additions: see Table 6.1"),
)  # fmt: skip

TABLE_6_3 = (
    _at_6("Kazerounian & Gupta", 2468, 1879),
    _at_6("Walker & Orin", 1627, 1261, "ours with Algorithms 6.1 and 5.3"),
    _at_6("Wang & Ravani", 1659, 1252),
    _at_6("Featherstone, articulated bodies", 1533, 1415),
    _at_6("Featherstone, composite bodies", 1303, 1019, "ours with Algorithm 5.4"),
    _at_6("Angeles & Ma", 1353, 1165),
    _at_6("Algorithms 6.2 and 5.7, solve", 956, 790,
          "print is 420 + 450 + 86 and 339 + 386 + 65, without tau - C and at the full price of 5.7"),
)  # fmt: skip

TABLE_7_1 = (
    _both("18a", ("8n - 8", "7n - 7"), ("4n - 4", "5n - 5")),
    _both("18b", ("14n - 14", "10n - 10"), ("10n - 10", "8n - 8")),
    _both("18c", ("30n - 12", "39n - 31"), ("20n - 2", "32n - 24")),
    _both("18d", ("69n - 51", "74n - 60"), ("51n - 33", "63n - 49")),
    _both("18f", ("4n - 4", "n - 1"), ("4n - 4", "n - 1")),
    _both("18g", ("9n - 9", "12n - 12"), ("9n - 9", "12n - 12")),
    _both("18j", ("6n - 6", "6n - 6"), ("6n - 6", "6n - 6")),
    _both("18k", ("18n - 18", "21n - 21"), ("18n - 18", "21n - 21")),
    _both("18m", ("2n - 2", "3n - 3"), ("2n - 2", "3n - 3"), "its terms are those of H.z, which 18j has"),
    _both("18n", ("7n - 7", "7n - 7"), ("7n - 7", "7n - 7"), "its terms are those of G.z, which 18k has"),
    Printed(
        TOTAL,
        {"general": ("167n - 131", "180n - 158"), "0/90": ("131n - 95", "158n - 136")},
        {"general": (871, 922), "0/90": (691, 812)},
        "without the nominal pass and sdot; ours with Omega z and sddot, which print takes from that pass",
    ),
)

TABLE_7_2 = (
    *(_both(label, ("4n^2 - 4n", "2n^2 - 2n"), ("2n^2 - 2n", "n^2 - n")) for label in ("19a", "19b", "19c")),
    _both("19d", ("7n^2 - 7n", "5n^2 - 5n"), ("5n^2 - 5n", "4n^2 - 4n")),
    *(
        _both(
            label,
            ("7n^2 - 16n + 9", "5n^2 - 11n + 6"),
            ("5n^2 - 10n + 5", "4n^2 - 8n + 4"),
            "0/90: print has 5n^2 - 10 + 5 multiplications, where its total needs 5n^2 - 10n + 5",
        )
        for label in ("19e", "19f", "19g")
    ),
    _both("19j", ("n^2 - n", "1.5n^2 - 1.5n"), ("n^2 - n", "1.5n^2 - 1.5n")),
    _both("19k", ("0", "0.5n^2 - 0.5n"), ("0", "0.5n^2 - 0.5n"), "twice H.z is a product here, a sum in print"),
    _both("19l", ("3n^2 - 3n", "3n^2 - 3n"), ("3n^2 - 3n", "3n^2 - 3n")),
    Printed(
        TOTAL,
        {"general": ("44n^2 - 71n + 27", "31n^2 - 49n + 18"), "0/90": ("30n^2 - 45n + 15", "24n^2 - 36n + 12")},
        {"general": (1185, 840), "0/90": (825, 660)},
        "with Table 7.1: 2056 and 1762 at n = 6, general; 1516 and 1472 at 0/90",
    ),
)

TEXT_7_3 = (
    _both(
        "Algorithm 7.1", ("44n^2 + 96n - 104", "31n^2 + 131n - 140"), ("30n^2 + 86n - 80", "24n^2 + 122n - 124"),
        "Tables 7.1 and 7.2 together; without the nominal pass and sdot",
    ),
    _at_6("direct (7.3.2)-(7.3.4)", 2186, 2040, "running text; ours in base axes, after a nominal pass in base axes"),
)  # fmt: skip

SAHA_1 = (
    _general("Hollerbach (1980)", "412n - 277", "320n - 201", (2195, 1719)),
    _general("Luh et al. (1980)", "150n - 48", "131n + 48", (852, 834),
             "BP, Table 5.3 has 131n - 48 (738) for the same work; one of the signs cannot be right"),
    _general("Walker & Orin (1982)", "137n - 22", "101n - 11", (800, 595)),
    _general("Saha (1999), DeNOC", "120n - 44", "97n - 55", (676, 527)),
    _general("Khalil et al. (1986)", "105n - 92", "94n - 86", (538, 478)),
    _general("Angeles et al. (1989)", "105n - 109", "90n - 105", (521, 435)),
    _general("Balafoutis et al. (1988)", "93n - 69", "81n - 65", (489, 421), "BP, Table 5.1 prints 81n - 66"),
)  # fmt: skip

_WITHOUT_PHI = "phi = C + G is not counted in print, which it does not say"
SAHA_2 = (
    _general("Saha (1999), DeNOC", "201n - 335", "193n - 361", (871, 797), _WITHOUT_PHI),
    _general("Featherstone (1983)", "199n - 198", "174n - 173", (996, 871), _WITHOUT_PHI),
    _general("Walker & Orin (1982)", "1/6n^3 + 23/2n^2 + 115/3n - 47", "1/6n^3 + 7n^2 + 233/6n - 46", (633, 480),
             f"the formula gives 475 additions, so that 480 cannot be right; {_WITHOUT_PHI}"),
)  # fmt: skip
