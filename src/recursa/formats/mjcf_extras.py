"""What a compiled MJCF model says beside the tree: constraints, motors, named states; and what is not modelled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from numpy.polynomial import Polynomial

from recursa.formats.mjcf_numbers import BALL, FREE, HINGE, Names, codes, names_in, pose, reordered, unbounded
from recursa.formats.mjcf_text import Prepared
from recursa.model.description import Actuator, Closure, NamedState, Note, Relation
from recursa.spatial.constants import rotation_of
from recursa.spatial.inertia import Force
from recursa.spatial.rotation import IDENTITY
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3

REFERENCE_STATE = "qpos0"
_HARMLESS = ("contact", "servo", "actuator", "inactive", "mocap", "limit")  # until something touches or is driven
_ON_JOINTS = (0, 1)  # transmissions to a joint, in its own axes or in those of its parent
_NO_TAU = "Add what it does to tau, or leave it out in both programs."


class Extras:
    """What stands beside the tree, as records; ``notes`` are filled as records are asked for.

    ``actuators`` are the motors whose force means constant generalised forces.
    """

    def __init__(self, model: Any, names: Names, prepared: Prepared) -> None:
        self.model = model
        self.codes = codes()
        self.names = names
        self.prepared = prepared
        self.notes: list[Note] = []
        self.actuators = tuple(self._read_actuators())
        self._note_what_is_not_modelled()

    def _note(self, code: str, reason: str, fix: str = _NO_TAU, line: int | None = None) -> None:
        self.notes.append(Note(code, reason, fix, line, "note" if code in _HARMLESS else "warning"))

    def gravity(self) -> tuple[float, float, float]:
        """In world axes; zero where a flag disables it."""
        options = self.model.opt
        if options.disableflags & self.codes.no_gravity:
            return 0.0, 0.0, 0.0
        x, y, z = options.gravity.tolist()
        return x, y, z

    # ---- constraints -------------------------------------------------------------------------------------------------

    def _constraints(self, *kinds: str) -> Iterator[tuple[int, str, str]]:
        """Number, kind and name of the active constraints of some kinds."""
        model = self.model
        if not model.neq:
            return
        known, names = self.codes.constraints, names_in(model, "eq")
        for k, number in enumerate(model.eq_type):
            kind = known.get(number)
            if kind in kinds and model.eq_active0[k]:
                yield k, kind, names[k] or f"{kind}{k}"

    def closures(self) -> tuple[Closure, ...]:
        """Points held together, and bodies welded to each other."""
        lines = self.prepared.lines("connect", "weld") if self.model.neq else {}
        return tuple(
            Closure(name, "point" if kind == "connect" else "weld", *self._ends(k, kind), line=lines.get(name))
            for k, kind, name in self._constraints("connect", "weld")
        )

    def _ends(self, k: int, kind: str) -> tuple[str, str, Transform, Transform]:
        """The bodies of a constraint and the frames on them that are held together."""
        model, data = self.model, self.model.eq_data[k]
        one, other = model.eq_obj1id[k], model.eq_obj2id[k]
        if model.eq_objtype[k] == self.codes.site:
            bodies = [self.names.bodies[model.site_bodyid[site]] for site in (one, other)]
            first, second = (pose(model.site_pos[site], model.site_quat[site]) for site in (one, other))
            return bodies[0], bodies[1], first, second
        bodies = [self.names.bodies[one], self.names.bodies[other]]
        if kind == "connect":
            return bodies[0], bodies[1], Transform(IDENTITY, Vec3(*data[:3])), Transform(IDENTITY, Vec3(*data[3:6]))
        return bodies[0], bodies[1], pose(data[3:6], data[6:10]), Transform(IDENTITY, Vec3(*data[:3]))

    def relations(self) -> tuple[Relation, ...]:
        """Joints that follow others: ``q - ref = polynomial(q_other - ref_other)``, multiplied out."""
        model, found = self.model, []
        lines = self.prepared.lines("joint") if model.neq else {}
        for k, _, name in self._constraints("joint"):
            one, other = model.eq_obj1id[k], model.eq_obj2id[k]
            coefficients = model.eq_data[k][:5]
            if other < 0:
                polynomial: Sequence[float] = coefficients[:1]
            else:
                polynomial = _shifted(coefficients, self._ref(other))
            polynomial = (polynomial[0] + self._ref(one), *polynomial[1:])
            driver = self.names.joints[other] if other >= 0 else None
            found.append(Relation(name, self.names.joints[one], driver, tuple(polynomial), lines.get(name)))
        return tuple(found)

    def _ref(self, joint: int) -> float:
        return self.model.qpos0[self.model.jnt_qposadr[joint]]

    # ---- motors ------------------------------------------------------------------------------------------------------

    def effort(self, joint: int) -> float | None:
        """The largest force at a joint: what it says itself, or what all motors that act on it can do together."""
        if self.model.jnt_actfrclimited[joint]:
            return max(map(abs, self.model.jnt_actfrcrange[joint])) or None
        total = self._efforts.get(self.names.joints[joint], 0.0) if self.actuators else 0.0
        return total if 0.0 < total < math.inf else None

    @cached_property
    def _efforts(self) -> dict[str, float]:
        """What all motors can do together, by joint."""
        found: dict[str, float] = {}
        for actuator in self.actuators:
            for driven, gear in actuator.gears:
                most = abs(gear[0]) * max(map(abs, actuator.force or (math.inf,)))
                found[driven] = found.get(driven, 0.0) + most
        return found

    def _read_actuators(self) -> Iterator[Actuator]:
        model, names = self.model, names_in(self.model, "actuator")
        lines = self.prepared.lines("general", "motor", "position", "velocity", "intvelocity") if names else {}
        for k, own in enumerate(names):
            name = own or f"actuator{k}"
            gears = self._gears(k, model.actuator_gear[_output(model, k)])
            if gears is None:
                what = "what it does to the joints depends on their positions"
                self._note("actuator", f"actuator '{name}' was left out: {what}.", line=lines.get(name))
                continue
            plain = not (model.actuator_dyntype[k] or model.actuator_gaintype[k] or model.actuator_biastype[k])
            if not plain:
                what = "has dynamics or feedback of its own, which are not modelled"
                self._note("servo", f"actuator '{name}' {what}: its force acts here as it is.", line=lines.get(name))
            yield Actuator(name, gears, self._force(k, plain), lines.get(name))

    def _force(self, k: int, plain: bool) -> tuple[float, float] | None:
        """The range of the force; ``plain``: whether that is the control times a constant."""
        model, low, high = self.model, -math.inf, math.inf
        if model.actuator_forcelimited[k]:
            low, high = map(unbounded, model.actuator_forcerange[k])
        control = getattr(model, "actuator_ctrladr", range(k + 1))[k]
        if plain and model.actuator_ctrllimited[control]:
            gain = model.actuator_gainprm[k][0]
            ends = sorted([gain * x for x in model.actuator_ctrlrange[control]])
            low, high = max(low, ends[0]), min(high, ends[1])
        return None if (low, high) == (-math.inf, math.inf) else (low, high)

    def _gears(self, k: int, gear: list[float]) -> tuple[tuple[str, tuple[float, ...]], ...] | None:
        """Per joint the generalised forces by one unit of force; None where they are not constant."""
        model, codes = self.model, self.codes
        transmission, target = model.actuator_trntype[k], model.actuator_trnid[k][0]
        if transmission in _ON_JOINTS:
            kind = model.jnt_type[target]
            turned = transmission == codes.in_parent and kind in (BALL, FREE)
            if turned or (kind == FREE and any(gear[:3])):
                return None
            freedoms = reordered(gear) if kind == FREE else tuple(gear[: 3 if kind == BALL else 1])
            return ((self.names.joints[target], freedoms),)
        if transmission == codes.by_tendon and self._fixed(target):
            path = range(model.tendon_adr[target], model.tendon_adr[target] + model.tendon_num[target])
            return tuple((self.names.joints[model.wrap_objid[k]], (gear[0] * model.wrap_prm[k],)) for k in path)
        if transmission == codes.at_site and model.actuator_trnid[k][1] < 0:
            return self._thrust(target, gear)
        return None

    def _thrust(self, site: int, gear: list[float]) -> tuple[tuple[str, tuple[float, ...]], ...] | None:
        """A wrench at a site is constant in the axes of a body that flies freely, if the site is fixed to that."""
        model, body = self.model, self.model.site_bodyid[site]
        place = pose(model.site_pos[site], model.site_quat[site])
        while model.body_jntnum[body] == 0 and body != 0:
            place = pose(model.body_pos[body], model.body_quat[body]) @ place
            body = model.body_parentid[body]
        joint = model.body_jntadr[body]
        if joint < 0 or model.jnt_type[joint] != FREE:
            return None
        wrench = place.force(Force(Vec3(*gear[3:]), Vec3(*gear[:3])))
        return ((self.names.joints[joint], tuple(wrench.components())),)

    def _fixed(self, tendon: int) -> bool:
        """Whether a tendon is a linear function of joint coordinates."""
        first = self.model.tendon_adr[tendon]
        return bool(self.model.wrap_type[first] == self.codes.over_joints)

    # ---- states ------------------------------------------------------------------------------------------------------

    def states(self) -> tuple[NamedState, ...]:
        """The keyframes, and the reference state where that is not the neutral one."""
        model, found = self.model, []
        for k, name in enumerate(names_in(model, "key") if model.nkey else ()):
            qpos, qvel, joints = model.key_qpos[k], model.key_qvel[k], range(model.njnt)
            q = tuple([self._coordinates(joint, qpos) for joint in joints])
            v = tuple([self._speeds(joint, qpos, qvel) for joint in joints]) if any(qvel) else ()
            found.append(NamedState(name or f"key{k}", q, v))
        if not any(model.qpos0):
            return tuple(found)
        reference = [self._coordinates(joint, model.qpos0) for joint in range(model.njnt)]
        special = tuple((name, q) for name, q in reference if any(q[:-1]) or q[-1] != (1.0 if len(q) > 1 else 0.0))
        if special and REFERENCE_STATE not in [state.name for state in found]:
            found.append(NamedState(REFERENCE_STATE, special))
        return tuple(found)

    def _coordinates(self, joint: int, qpos: Any) -> tuple[str, tuple[float, ...]]:
        kind, first = self.model.jnt_type[joint], self.model.jnt_qposadr[joint]
        size = 7 if kind == FREE else 4 if kind == BALL else 1
        own = qpos[first : first + size]
        if size > 1:
            *place, w, x, y, z = own
            own = [*place, x, y, z, w]
        return self.names.joints[joint], tuple(own)

    def _speeds(self, joint: int, qpos: Any, qvel: Any) -> tuple[str, tuple[float, ...]]:
        kind, first = self.model.jnt_type[joint], self.model.jnt_dofadr[joint]
        own = qvel[first : first + (6 if kind == FREE else 3 if kind == BALL else 1)]
        if kind == FREE:
            at = self.model.jnt_qposadr[joint]
            own[:3] = rotation_of(qpos[at + 3 : at + 7]).inverse_times(Vec3(*own[:3]))
        return self.names.joints[joint], reordered(own)

    # ---- what is not modelled ----------------------------------------------------------------------------------------

    def _note_what_is_not_modelled(self) -> None:
        model = self.model
        self._note_joints()
        self._note_bodies()
        for k, own in enumerate(names_in(model, "tendon") if model.ntendon else ()):
            acts = [model.tendon_stiffness, model.tendon_damping, model.tendon_frictionloss, model.tendon_limited]
            acts += [array for array in (getattr(model, "tendon_armature", None),) if array is not None]
            if any(array[k] for array in acts) or not self._fixed(k):
                self._note("tendon", f"tendon '{own or f'tendon{k}'}' was left out: tendons pull nothing here.")
        for k, own in enumerate(names_in(model, "eq") if model.neq else ()):
            name = own or f"number {k}"
            if not model.eq_active0[k]:
                self._note("inactive", f"constraint '{name}' is not active and was left out.", "Nothing.")
            elif model.eq_type[k] not in self.codes.constraints:
                self._note(
                    "equality", f"constraint '{name}' was left out: only those between bodies or joints are read."
                )
        options = model.opt
        if options.density or options.viscosity:
            self._note("fluid", "the bodies move in a fluid there; here nothing is in their way.")
        if model.ngeom and any(map(all, zip(model.geom_contype, model.geom_conaffinity, strict=True))):
            what = "bodies that touch push each other there; contacts are not modelled here."
            self._note("contact", what, "Nothing, while nothing touches.")

    def _note_joints(self) -> None:
        model = self.model
        bent = [getattr(model, name, ()) for name in ("jnt_stiffnesspoly", "dof_dampingpoly")]  # from MuJoCo 4 on
        if min(model.jnt_type, default=HINGE) > BALL and not any(map(any, chain(*bent))):
            return  # there is nothing about hinges and slides that is not read
        lines = self.prepared.lines("joint", "freejoint")
        for joint, name in enumerate(self.names.joints):
            kind, first = model.jnt_type[joint], model.jnt_dofadr[joint]
            line = lines.get(name)
            if model.jnt_stiffness[joint] and kind in (BALL, FREE):
                what = "joints with several freedoms have no springs here"
                self._note("spring", f"the spring of joint '{name}' was left out: {what}.", line=line)
            if _some(model, "jnt_stiffnesspoly", joint):
                self._note("spring", f"joint '{name}': only the linear part of its spring was read.", line=line)
            if _some(model, "dof_dampingpoly", first):
                self._note("damping", f"joint '{name}': only the linear part of its damping was read.", line=line)
            if kind == BALL and model.jnt_limited[joint]:
                self._note("limit", f"the range of ball joint '{name}' was left out.", "Watch its angle.", line)
            if kind == FREE and (model.dof_armature[first] or model.dof_frictionloss[first]):
                what = "armature and friction loss act along the axes of the link here, along those of the world there"
                self._note("free-armature", f"free joint '{name}': {what}.", "Give the body the mass.", line)

    def _note_bodies(self) -> None:
        model = self.model
        if max(model.body_mocapid) < 0 and not any(model.body_gravcomp):
            return
        lines = self.prepared.lines("body")
        for body, name in enumerate(self.names.bodies):
            if model.body_mocapid[body] >= 0:
                what = "is moved from outside (mocap) there; it stands still here"
                self._note("mocap", f"body '{name}' {what}.", "Move what hangs on it yourself.", lines.get(name))
            if model.body_gravcomp[body]:
                what = "has gravity compensation there, which is not modelled"
                self._note("gravcomp", f"body '{name}' {what}.", line=lines.get(name))


def reflected(model: Any, what: str) -> dict[int, float]:
    """The armature or damping that motors add to every freedom of joints: theirs times gear squared."""
    found: dict[int, float] = {}
    owns = getattr(model, f"actuator_{what}", ())  # from MuJoCo 4 on
    for k, own in enumerate(owns if any(owns) else ()):
        if own and model.actuator_trntype[k] in _ON_JOINTS:
            joint, gear = model.actuator_trnid[k][0], model.actuator_gear[_output(model, k)][0]
            found[joint] = found.get(joint, 0.0) + gear * gear * own
    return found


def _output(model: Any, k: int) -> int:
    """Where the gears of a motor are; some have several outputs from MuJoCo 4 on."""
    return model.actuator_outadr[k] if hasattr(model, "actuator_outadr") else k


def _some(model: Any, array: str, row: int) -> bool:
    """Whether a row of an array, which older versions do not have, says anything."""
    return any(getattr(model, array)[row]) if hasattr(model, array) else False


def _shifted(coefficients: Sequence[float], by: float) -> tuple[float, ...]:
    """The polynomial of x whose values are those of another at ``x - by``; lowest power first.

    >>> _shifted((1.0, 2.0, 3.0), 1.0)
    (2.0, -4.0, 3.0)
    """
    return tuple(Polynomial(coefficients)(Polynomial((-by, 1.0))).coef.tolist())
