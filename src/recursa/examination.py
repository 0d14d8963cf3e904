"""Robots of models that were looked at: what means nothing is refused, what is doubtful is said."""

from __future__ import annotations

from recursa.doctor import Finding, Report, examine
from recursa.errors import ModelError
from recursa.model.model import Model
from recursa.robot import Robot


def examined(model: Model, strict: bool, *, depth: int = 1) -> Robot:
    """The robot of a model: meaningless data are refused if ``strict``, doubtful ones are warnings.

    ``depth`` says how many functions stand between this one and the user's call.
    """
    report = examine(model)
    if strict and report.errors:
        raise _refusal(model, report)
    report.warn(stacklevel=2 + depth)
    return Robot(model)


def _refusal(model: Model, report: Report) -> ModelError:
    shown = [*report.errors, *_related(model, report)]
    reasons = "".join(f"\n  {finding}" for finding in shown[:10])
    left = f"\n  ... and {len(shown) - 10} more" if len(shown) > 10 else ""
    return ModelError(
        f"robot '{model.name}' has data that mean nothing:{reasons}{left}\n"
        "  Mend them, or load with strict=False to go on all the same.",
        line=report.errors[0].line,
        source=model.description.source,
    )


def _related(model: Model, report: Report) -> list[Finding]:
    """Warnings about the links and joints that have errors, and about the bodies that these joints move."""
    said = {(finding.kind, finding.name) for finding in report.errors}
    bodies = {number for number, joint in enumerate(model.joints) if ("joint", joint.name) in said}
    said |= {("link", link.name) for link in model.links if link.body in bodies}
    return [finding for finding in report if finding.severity == "warning" and (finding.kind, finding.name) in said]
