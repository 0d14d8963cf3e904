"""Content of robot files and meshes that was made to do harm: a ModelError within a moment, never another exception."""

from __future__ import annotations

import json
import struct
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from recursa.spatial.inertia import RigidInertia

CORNERS = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], dtype="<f4").tobytes()
TETRAHEDRON = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]


def glb(indices: list[int]) -> bytes:
    """A binary glTF file: four corners, and triangles between them."""
    places = np.array(indices, dtype="<u4").tobytes()
    about = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "buffers": [{"byteLength": len(CORNERS + places)}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": len(CORNERS)},
            {"buffer": 0, "byteOffset": len(CORNERS), "byteLength": len(places)},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [0] * 3, "max": [0.1] * 3},
            {"bufferView": 1, "componentType": 5125, "count": len(indices), "type": "SCALAR"},
        ],
    }  # fmt: skip
    text = json.dumps(about).encode()
    text += b" " * (-len(text) % 4)
    content = CORNERS + places
    head = struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(content))
    return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(content), b"BIN\0") + content


def with_mesh(folder: Path, name: str, content: bytes) -> rc.Robot:
    (folder / name).write_bytes(content)
    shapes = "".join(
        f'<{role}><geometry><mesh filename="{name}"/></geometry></{role}>' for role in ("visual", "collision")
    )
    (folder / "robot.urdf").write_text(f'<robot name="r"><link name="body">{shapes}</link></robot>')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        return rc.load(folder / "robot.urdf", strict=False, floating=True)


def test_meshes_whose_triangles_refer_to_no_vertex_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    good = with_mesh(tmp_path, "good.glb", glb(TETRAHEDRON))
    assert good.with_inertia_from_geometry().mass == pytest.approx(1e-3 / 6 * 1000, rel=1e-6)
    for wrong in (4, 999, 2**32 - 1):
        robot = with_mesh(tmp_path, "bad.glb", glb([*TETRAHEDRON[:-1], wrong]))
        with pytest.raises(
            rc.ModelError, match=f"cannot be read: a triangle refers to vertex {wrong}, and there are 4"
        ):
            robot.with_inertia_from_geometry()
        with pytest.warns(rc.ModelWarning, match=f"vertex {wrong}"):
            assert robot.to_html(tmp_path / "page.html").exists()


DOCTYPE = '<!DOCTYPE COLLADA [<!ENTITY a "aaaaaaaaaa">]><COLLADA>&a;</COLLADA>'


@pytest.mark.parametrize(
    "content",
    [
        DOCTYPE.encode(),
        DOCTYPE.encode("utf-16"),
        DOCTYPE.encode("utf-16-le"),
        ('<?xml version="1.0" encoding="utf-16"?>' + DOCTYPE).encode("utf-16-be"),
        DOCTYPE.encode("utf-32"),
        ('<?xml version="1.0" encoding="utf-7"?>' + DOCTYPE.replace("<!", "+ADwAIQ-")).encode(),
        (f'<?xml version="1.0" {" " * 300}encoding="utf-7"?>' + DOCTYPE.replace("<!", "+ADwAIQ-")).encode(),
        DOCTYPE.encode("utf-32-le"),
        DOCTYPE.encode("cp037"),
    ],
    ids=["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "utf-7-far", "utf-32-le", "ebcdic"],
)
def test_document_types_are_refused_in_every_encoding(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimesh = pytest.importorskip("trimesh")
    parsed: list[bytes] = []

    def load(file, **options):  # type: ignore[no-untyped-def]
        parsed.append(file.read())
        raise ValueError("not reached by document types")

    monkeypatch.setattr(trimesh, "load", load)
    with pytest.raises(rc.ModelError):
        with_mesh(tmp_path, "shape.dae", content).with_inertia_from_geometry()
    for text in parsed:  # what is left to another parser is UTF-8 by declaration, without a document type
        assert text.startswith(b'<?xml version="1.0" encoding="utf-8"?>')
        assert b"<!DOCTYPE" not in text
        assert b"\0" not in text


def test_collada_in_other_encodings_is_still_read(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    pytest.importorskip("collada")
    import trimesh

    text = trimesh.creation.box((0.1, 0.2, 0.3)).export(file_type="dae").decode()
    masses = [
        with_mesh(tmp_path, "box.dae", content).with_inertia_from_geometry().mass
        for content in (text.encode(), text.replace("utf-8", "utf-16").replace("UTF-8", "UTF-16").encode("utf-16"))
    ]
    assert masses == pytest.approx([6.0, 6.0], rel=1e-6)


TABLE = "convention: standard\nrows:\n  - {{joint: revolute, a: {number}, mass: 1, inertia: [1, 1, 1]}}\n"


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        ("9" * 5000, "more than 400 digits"),
        ("0x" + "f" * 5000, "more than 400 digits"),
        ("0x" + "f" * 390, "too large for a float"),
        ("1" + ":59" * 60_000, "more than 400 digits"),
    ],
    ids=["decimal", "hexadecimal", "large", "sexagesimal"],
)
def test_numbers_without_end_in_yaml_are_refused_at_once(tmp_path: Path, number: str, reason: str) -> None:
    pytest.importorskip("yaml")
    constraints = tmp_path / "constraints.yaml"
    constraints.write_text(f"constraints:\n  - {{relation: {{joint1: 1, joint2: {number}}}}}\n")
    start = time.perf_counter()
    with pytest.raises(rc.ModelError, match=reason):
        rc.load(rc.robots.chain(2).to_urdf(), constraints=constraints)
    assert time.perf_counter() - start < 5.0
    with pytest.raises(rc.ModelError):
        rc.load(TABLE.format(number=number), format="dh")


SOLID = (
    '<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial></link>"
)


def massless_chain(count: int) -> str:
    links = "".join(
        f'<link name="l{k}"/><joint name="j{k}" type="continuous"><parent link="l{k - 1}"/><child link="l{k}"/></joint>'
        for k in range(1, count)
    )
    return f'<robot name="r"><link name="l0"/>{links}</robot>'


def test_time_to_load_chains_of_massless_links_grows_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: how often joints are asked whether they are independent."""
    from recursa.model.model import Joint

    asked = [0]
    independent = Joint.independent.fget

    def counted(self: Joint) -> bool:
        asked[0] += 1
        return independent(self)  # type: ignore[misc]

    counts = []
    monkeypatch.setattr(Joint, "independent", property(counted))
    for count in (100, 200, 400):
        asked[0] = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rc.ModelWarning)
            rc.load(massless_chain(count), strict=False)
        counts.append(asked[0])
    assert counts[2] - counts[1] <= 2.2 * (counts[1] - counts[0])


def test_bodies_are_looked_at_once_where_many_joints_have_nothing_to_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """All turn about one axis, so that rounding makes pivots of links without mass negative."""
    asked, moment_about_com = [0], RigidInertia.moment_about_com
    text = massless_chain(200).replace('<link name="l199"/>', SOLID.format(name="l199")).replace(
        "</joint>", '<axis xyz="0 0 1"/></joint>'
    )  # fmt: skip

    def counted(self):  # type: ignore[no-untyped-def]
        asked[0] += 1
        return moment_about_com(self)

    monkeypatch.setattr(RigidInertia, "moment_about_com", counted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        robot = rc.load(text, strict=False)
    assert any(one.value < 0.0 for one in robot.doctor() if one.code == "hinge")
    assert asked[0] < 20 * 200


@pytest.mark.parametrize("floating", [False, True])
def test_negative_mass_of_the_root_is_refused(floating: bool) -> None:
    text = massless_chain(2).replace(
        '<link name="l0"/>', SOLID.format(name="l0").replace('mass value="1"', 'mass value="-1"')
    )
    with pytest.raises(rc.ModelError, match=r"link 'l0' .*: its mass is -1 kg"):
        rc.load(text, floating=floating)
    with pytest.warns(rc.ModelWarning, match="its mass is -1 kg"):
        rc.load(text, floating=floating, strict=False)
