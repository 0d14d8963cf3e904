"""What Recursa consists of and needs, as CycloneDX; ``make dist`` puts it beside the wheel.

The wheel holds parts of three.js, in the page that shows robots, and no other code or data of others. Its
requirements, and theirs, are listed in the versions that are installed here, with the licences that they state.
``python tools/sbom.py`` prints it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

FORMAT = "1.5"
_NAME = re.compile(r"[\w.-]+")


def bill_of_materials(epoch: int) -> dict[str, bytes]:
    """The file, by its name; the same bytes for the same time and what is installed."""
    own = metadata.distribution("recursa")
    found: dict[str, metadata.Distribution] = {}
    needs = {_reference(own): _needed(own, found)}
    listed = {_reference(one): _component(one, "library") for one in found.values()} | _bundled()
    needs |= {_reference(one): _needed(one, {}) for one in found.values()}
    content: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": FORMAT,
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "component": _component(own, "library"),
        },
        "components": [listed[name] for name in sorted(listed)],
        "dependencies": [{"ref": name, "dependsOn": sorted(needs[name])} for name in sorted(needs)],
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    content["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}"
    return {f"recursa-{own.version}.cdx.json": (json.dumps(content, indent=2) + "\n").encode()}


def _bundled() -> dict[str, dict[str, Any]]:
    """What is inside of the package, in the versions it was built with."""
    built = json.loads((Path(__file__).parents[1] / "frontend" / "package.json").read_text("utf-8"))
    version = built["devDependencies"]["three"]
    reference = f"pkg:npm/three@{version}"
    said = {"type": "library", "bom-ref": reference, "name": "three", "version": version, "purl": reference}
    return {reference: {**said, "licenses": [{"license": {"id": "MIT"}}]}}


def _needed(of: metadata.Distribution, found: dict[str, metadata.Distribution]) -> list[str]:
    """References of what a distribution requires without extras; all that follows from it is put into ``found``."""
    references = []
    for line in of.requires or ():
        if "extra ==" in line:
            continue
        try:
            one = metadata.distribution(_NAME.match(line)[0])
        except metadata.PackageNotFoundError:  # of another system or version of Python
            continue
        references.append(_reference(one))
        if _reference(one) not in map(_reference, found.values()):
            found[_reference(one)] = one
            _needed(one, found)
    return references


def _reference(of: metadata.Distribution) -> str:
    return f"pkg:pypi/{re.sub('[-_.]+', '-', of.metadata['Name']).lower()}@{of.version}"


def _component(of: metadata.Distribution, kind: str) -> dict[str, Any]:
    said = {"type": kind, "bom-ref": _reference(of), "name": of.metadata["Name"], "version": of.version}
    said["purl"] = _reference(of)
    licence = _licence(of)
    return said | ({"licenses": [licence]} if licence else {})


def _licence(of: metadata.Distribution) -> dict[str, Any] | None:
    """As an expression where one is stated, else by name: the first line of the text, or the classifiers."""
    if of.metadata.get("License-Expression"):
        return {"expression": of.metadata["License-Expression"]}
    text = (of.metadata.get("License") or "").strip().splitlines()
    classified = [one.split(" :: ")[-1] for one in of.metadata.get_all("Classifier") or () if one.startswith("License")]
    name = text[0] if len(text) == 1 else ", ".join(classified) or (text[0] if text else "")
    return {"license": {"name": name}} if name else None


if __name__ == "__main__":
    (made,) = bill_of_materials(int(Path(__file__).stat().st_mtime)).values()
    sys.stdout.buffer.write(made)
