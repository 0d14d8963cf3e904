"""The angle of a point, atan2, inside a kernel: one quotient and a polynomial, without branches.

Of both coordinates, without their signs, the smaller one is divided by the larger one, r; beyond tan(pi/8) the point is
turned back by pi/4 first. A multiple of pi/4 is added in the end, in two parts. Zeros with signs, infinities
and nan are as in C. float32 kernels do this in float64.
"""

from __future__ import annotations

import math

from recursa.kernels.doubles import Doubles
from recursa.kernels.writer import Writer

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
