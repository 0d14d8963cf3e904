"""Sine and cosine inside a kernel: a polynomial after a three-term reduction, and libm for huge angles.

The reduction is exact enough up to 1e5 (Cody and Waite with fused multiply-adds; rounding by a magic number, because
converting nan to an integer is undefined). Lanes with a larger angle, or infinity, get libm's answer instead. float32
kernels do this in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from recursa.kernels.writer import Shape, Writer

# ---- -----------------------------------------------------------------------------------------------------------------
# Float64 arithmetic in every lane, whatever the kernel's number type: functions inside kernels are made of it.


class Doubles:
    """Writes operations on float64 numbers, one for every lane.

    Lanes are states or, where the kernel has one state at a time, as many numbers of it that are done ``together``.
    """

    def __init__(self, writer: Writer, together: int = 1) -> None:
        self.writer = writer
        self.together = together
        self.width = together * writer.shape.width
        self.shape = Shape(self.width)
        self.vector, self.integer, self.mask = map(self.shape.lanes, ("double", "i64", "i1"))

    def taken(self, numbers: Sequence[str]) -> str:
        """As many numbers as are done together, as the kernel has them, in one vector."""
        kind, first = self.writer.shape, numbers[0]
        if self.together == 1:
            return self.writer.put(f"fpext {kind.vector} {first} to {self.vector}") if kind.single else first
        return self.writer.gathered(numbers, self.shape)

    def given(self, x: str) -> list[str]:
        """The way back."""
        kind = self.writer.shape
        if self.together == 1:
            return [self.writer.put(f"fptrunc {self.vector} {x} to {kind.vector}") if kind.single else x]
        return [self.writer.lane(x, lane, self.shape) for lane in range(self.together)]

    def number(self, value: float) -> str:
        """A constant in every lane."""
        return self.shape.constant(value)

    def whole(self, value: int) -> str:
        """An integer in every lane."""
        return str(value) if self.width == 1 else f"splat (i64 {value})"

    def call(self, name: str, *operands: str) -> str:
        """An intrinsic."""
        return self.writer.call(name, *operands, shape=self.shape)

    def binary(self, op: str, a: str, b: str) -> str:
        """An operation of two numbers."""
        return self.writer.binary(op, a, b, shape=self.shape)

    def integers(self, op: str, a: str, b: str) -> str:
        """An operation of two integers."""
        return self.writer.put(f"{op} {self.integer} {a}, {b}")

    def cast(self, x: str, source: str, target: str) -> str:
        """The same bits as another type."""
        return self.writer.put(f"bitcast {source} {x} to {target}")

    def where(self, mask: str, if_true: str, if_false: str) -> str:
        """One or the other, lane by lane."""
        return self.writer.put(f"select {self.mask} {mask}, {self.vector} {if_true}, {self.vector} {if_false}")

    def polynomial(self, coefficients: Sequence[float], z: str) -> str:
        """From lowest degree, by Horner's rule."""
        total = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.call("fma", total, z, self.number(c))
        return total


LARGEST = 1.0e5
TOGETHER = 8  # angles of one state in a vector: a register of the widest processors, two or four of others
_TWO_OVER_PI = 0.6366197723675814
_MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number, whose last bits then name the quadrant
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
# minimax on [-pi/4, pi/4], from lowest degree: sin x = x + x^3 S(x^2), cos x = 1 - x^2/2 + x^4 C(x^2)
_SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


def sincos(writer: Writer, angles: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    """Sines and cosines of several angles; lanes with huge ones are mended, so that no lane depends on another.

    An angle is one number, or two to be added: what their sum loses by rounding is not lost. In code for one state
    several angles share a vector.

    Ends the basic block that the writer is in, and starts another.
    """
    before = writer.label
    huge, done = f"{before}.huge", f"{before}.trig"
    groups = _groups(writer, angles)
    wide = [doubles.summed([doubles.taken(part) for part in parts]) for doubles, parts in groups]
    vectors = [doubles for doubles, _ in groups]
    masks = [doubles.huge(x) for doubles, (x, _) in zip(vectors, wide, strict=True)]
    fast = [doubles.fast(*angle) for doubles, angle in zip(vectors, wide, strict=True)]
    writer.line(f"  br i1 {_any(writer, vectors, masks)}, label %{huge}, label %{done}")
    writer.start(huge)
    mended = [
        tuple(doubles.where(mask, right, quick) for right, quick in zip(doubles.slow(*angle), pair, strict=True))
        for doubles, angle, mask, pair in zip(vectors, wide, masks, fast, strict=True)
    ]
    writer.line(f"  br label %{done}")
    writer.start(done)
    merged = [
        tuple(
            writer.put(f"phi {doubles.vector} [ {quick}, %{before} ], [ {right}, %{huge} ]")
            for quick, right in zip(pair, other, strict=True)
        )
        for doubles, pair, other in zip(vectors, fast, mended, strict=True)
    ]
    found: dict[tuple[str, ...], tuple[str, str]] = {}
    for (doubles, parts), (sines, cosines) in zip(groups, merged, strict=True):
        pairs = zip(doubles.given(sines), doubles.given(cosines), strict=True)
        found |= zip(zip(*parts, strict=True), pairs, strict=True)
    return [found[angle] for angle in angles]


def _groups(writer: Writer, angles: Sequence[tuple[str, ...]]) -> list[tuple[_Angles, list[tuple[str, ...]]]]:
    """Angles that share a vector, with its arithmetic: their first parts, and their second parts if they have them."""
    if writer.shape.width > 1 or writer.shape.single:
        return [(_Angles(writer), [(part,) for part in angle]) for angle in angles]
    groups = []
    for parts in sorted({len(angle) for angle in angles}):
        alike = [angle for angle in angles if len(angle) == parts]
        for start in range(0, len(alike), TOGETHER):
            chosen = alike[start : start + TOGETHER]
            groups.append((_Angles(writer, len(chosen)), list(zip(*chosen, strict=True))))
    return groups


def _any(writer: Writer, vectors: Sequence[_Angles], masks: Sequence[str]) -> str:
    """Whether any lane of any mask is set."""
    united: dict[int, str] = {}
    for doubles, mask in zip(vectors, masks, strict=True):
        before = united.get(doubles.width)
        united[doubles.width] = mask if before is None else writer.put(f"or {doubles.mask} {before}, {mask}")
    bits = []
    for width, mask in united.items():
        if width == 1:
            bits.append(mask)
        else:
            whole = writer.put(f"bitcast <{width} x i1> {mask} to i{width}")
            bits.append(writer.put(f"icmp ne i{width} {whole}, 0"))
    found = bits[0]
    for other in bits[1:]:
        found = writer.put(f"or i1 {found}, {other}")
    return found


class _Angles(Doubles):
    """What sines and cosines are made of."""

    def summed(self, parts: Sequence[str]) -> tuple[str, str | None]:
        """A sum, and what rounding took from it (Knuth)."""
        if len(parts) == 1:
            return parts[0], None
        a, b = parts
        total = self.binary("fadd", a, b)
        b_there = self.binary("fsub", total, a)
        a_there = self.binary("fsub", total, b_there)
        return total, self.binary("fadd", self.binary("fsub", a, a_there), self.binary("fsub", b, b_there))

    def huge(self, x: str) -> str:
        """The lanes whose angle is beyond the fast range; nan is not."""
        return self.writer.put(f"fcmp ogt {self.vector} {self.call('fabs', x)}, {self.number(LARGEST)}")

    def fast(self, x: str, lost: str | None) -> tuple[str, str]:
        """Polynomials after the reduction to [-pi/4, pi/4]."""
        shifted = self.call("fma", x, self.number(_TWO_OVER_PI), self.number(_MAGIC))
        turns = self.binary("fsub", shifted, self.number(_MAGIC))
        r = x
        for part in _HALF_PI:
            r = self.call("fma", turns, self.number(-part), r)
        if lost is not None:
            r = self.binary("fadd", r, lost)
        z = self.binary("fmul", r, r)
        sine = self.call("fma", self.binary("fmul", r, z), self.polynomial(_SIN, z), r)
        half = self.binary("fmul", z, self.number(0.5))
        one_less = self.binary("fsub", self.number(1.0), half)
        lost = self.binary("fsub", self.binary("fsub", self.number(1.0), one_less), half)
        tail = self.call("fma", self.binary("fmul", z, z), self.polynomial(_COS, z), lost)
        cosine = self.binary("fadd", one_less, tail)
        return self._quadrant(self.cast(shifted, self.vector, self.integer), sine, cosine)

    def _quadrant(self, quadrant: str, sine: str, cosine: str) -> tuple[str, str]:
        odd_bit = self.integers("and", quadrant, self.whole(1))
        odd = self.writer.put(f"icmp ne {self.integer} {odd_bit}, {self.whole(0)}")
        mask, vector = self.mask, self.vector
        first = self.writer.put(f"select {mask} {odd}, {vector} {cosine}, {vector} {sine}")
        second = self.writer.put(f"select {mask} {odd}, {vector} {sine}, {vector} {cosine}")
        return self._signed(first, quadrant), self._signed(second, self.integers("add", quadrant, self.whole(1)))

    def _signed(self, x: str, quadrant: str) -> str:
        """``-x`` in the lower half plane: bit 1 of the quadrant becomes the sign bit."""
        sign = self.integers("shl", self.integers("and", quadrant, self.whole(2)), self.whole(62))
        flipped = self.integers("xor", self.cast(x, self.vector, self.integer), sign)
        return self.cast(flipped, self.integer, self.vector)

    def slow(self, x: str, lost: str | None) -> tuple[str, str]:
        """libm, lane by lane."""
        sine, cosine = self._libm("sin", x), self._libm("cos", x)
        if lost is None:
            return sine, cosine
        s, c = self._libm("sin", lost), self._libm("cos", lost)
        against = self.writer.put(f"fneg {self.vector} {s}")
        return (
            self.call("fma", s, cosine, self.binary("fmul", c, sine)),
            self.call("fma", against, sine, self.binary("fmul", c, cosine)),
        )

    def _libm(self, name: str, x: str) -> str:
        one = Shape(1)
        entries = [self.writer.lane(x, lane, self.shape) for lane in range(self.width)]
        return self.writer.gathered([self.writer.call(name, entry, shape=one) for entry in entries], self.shape)


# ---- the angle of a point, atan2, inside a kernel: one quotient and a polynomial, without branches -------------------
# Of both coordinates, without their signs, the smaller one is divided by the larger one, r; beyond tan(pi/8) the point
# is turned back by pi/4 first. A multiple of pi/4 is added in the end, in two parts. Zeros with signs, infinities and
# nan are as in C. float32 kernels do this in float64.


_QUARTER = (0.7853981633974483, 3.061616997868383e-17)  # pi/4
_TURNED = 0.4142135623730951  # tan(pi/8)
_LARGE = 1e300  # sums of larger numbers may be infinite
# minimax on [-7/16, 7/16], from lowest degree: atan x = x - x^3 A(x^2)
_ATAN = (
    3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01, -1.11111104054623557880e-01,
    9.09088713343650656196e-02, -7.69187620504482999495e-02, 6.66107313738753120669e-02, -5.83357013379057348645e-02,
    4.97687799461593236017e-02, -3.65315727442169155270e-02, 1.62858201153657823623e-02,
)  # fmt: skip


def atan2(writer: Writer, y: str, x: str) -> str:
    """The angle of (x, y), in [-pi, pi]."""
    doubles = _Point(writer)
    (angle,) = doubles.given(doubles.angle(doubles.taken([y]), doubles.taken([x])))
    return angle


class _Point(Doubles):
    """What the angle of a point is made of."""

    def angle(self, y: str, x: str) -> str:
        """Of the four quarters and both halves of each."""
        steep, small, large = self._ordered(self.call("fabs", y), self.call("fabs", x))
        turned = self._compare("ogt", small, self.binary("fmul", large, self.number(_TURNED)))
        above = self.where(turned, self.binary("fsub", small, large), small)
        below = self.where(turned, self.binary("fadd", small, large), large)
        r = self.binary("fdiv", above, below)
        z = self.binary("fmul", r, r)
        rest = self.call("fma", self.binary("fmul", r, self._minus(z)), self.polynomial(_ATAN, z), r)
        eighths, backward = self._eighths(steep, turned, self._negative(x))
        rest = self.where(backward, self._minus(rest), rest)
        whole, part = (self.number(value) for value in _QUARTER)
        base = self.binary("fmul", eighths, whole)
        lost = self.call("fma", eighths, whole, self._minus(base))
        total = self.binary("fadd", rest, self.call("fma", eighths, part, lost))
        return self.call("copysign", self.binary("fadd", base, total), y)

    def _ordered(self, y: str, x: str) -> tuple[str, str, str]:
        """Whether y is the larger one, the smaller, the larger; only their quotient matters, which is a number."""
        steep = self._compare("ogt", y, x)
        small, large = self.where(steep, x, y), self.where(steep, y, x)
        huge = self._compare("ogt", large, self.number(_LARGE))
        small = self.where(huge, self.binary("fmul", small, self.number(0.25)), small)
        large = self.where(huge, self.binary("fmul", large, self.number(0.25)), large)
        infinite = self._compare("oeq", large, self.number(math.inf))
        both = self._compare("oeq", small, self.number(math.inf))
        share = self.where(both, self.number(1.0), self.binary("fmul", small, self.number(0.0)))
        none = self._compare("oeq", large, self.number(0.0))
        one = self.number(1.0)
        return steep, self.where(infinite, share, small), self.where(infinite, one, self.where(none, one, large))

    def _eighths(self, steep: str, turned: str, behind: str) -> tuple[str, str]:
        """Where the angle is counted from, in eighths of a turn, and whether it is counted backward."""
        from_axis = self.where(turned, self.number(1.0), self.where(steep, self.number(2.0), self.number(0.0)))
        eighths = self.where(behind, self.binary("fsub", self.number(4.0), from_axis), from_axis)
        return eighths, self.writer.put(f"xor {self.mask} {steep}, {behind}")

    def _negative(self, x: str) -> str:
        """Whether the sign is minus, also that of zero."""
        return self.writer.put(f"icmp slt {self.integer} {self.cast(x, self.vector, self.integer)}, {self.whole(0)}")

    def _minus(self, x: str) -> str:
        return self.writer.put(f"fneg {self.vector} {x}")

    def _compare(self, how: str, a: str, b: str) -> str:
        return self.writer.put(f"fcmp {how} {self.vector} {a}, {b}")
