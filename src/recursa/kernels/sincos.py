"""Sine and cosine inside a kernel: a polynomial after a three-term reduction, and libm for huge angles.

The reduction is exact enough up to 1e5 (Cody and Waite with fused multiply-adds; rounding by a magic number, because
converting nan to an integer is undefined). Lanes with a larger angle, or infinity, get libm's answer instead. float32
kernels do this in float64.
"""

from __future__ import annotations

from collections.abc import Sequence

from recursa.kernels.doubles import Doubles
from recursa.kernels.writer import Shape, Writer

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
