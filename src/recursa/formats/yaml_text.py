"""YAML as plain data, if PyYAML is installed: objects, lists and text, nothing that a tag would have made of it.

Aliases are refused, since a few of them can stand for more data than there is memory; so are tags of other programs.
"""

from __future__ import annotations

from typing import Any

from recursa.errors import ModelError

_CORE = "tag:yaml.org,2002:"
_KNOWN = {_CORE + name for name in ("str", "int", "float", "null", "bool", "seq", "map", "timestamp", "value", "merge")}


class LinedObject(dict[str, Any]):
    """An object that knows the line it stands on."""

    line: int | None = None


def parse_yaml(text: str) -> Any:
    """The data in a YAML text: scalars are text as it stands, or None; mistakes are ModelErrors with their line."""
    try:
        import yaml
    except ImportError:
        what = "a table in YAML needs the package 'PyYAML': pip install 'recursa[yaml]'; JSON and CSV need nothing"
        raise ModelError(what) from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Composes nodes, and refuses aliases before they become any."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                line = self.peek_event().start_mark.line + 1
                raise ModelError("aliases (*name) are not accepted; write the values out", line=line)
            return super().compose_node(parent, index)

    try:
        node = yaml.compose(text, Loader=Loader)
        return None if node is None else _plain(node, yaml)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "unreadable characters"
        raise ModelError(f"this is not YAML: {problem}", line=None if mark is None else mark.line + 1) from None
    except RecursionError:
        raise ModelError("lists and objects nest too deeply for a table") from None


def _plain(node: Any, yaml: Any) -> Any:
    line = node.start_mark.line + 1
    if node.tag not in _KNOWN:
        raise ModelError(f"the tag {node.tag[:60]!a} is not accepted", line=line)
    if isinstance(node, yaml.ScalarNode):
        return None if node.tag == _CORE + "null" else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, yaml) for item in node.value]
    found = LinedObject()
    found.line = line
    for key, value in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else None
        if not isinstance(name, str):
            raise ModelError("a key must be a word", line=line)
        if name in found:
            raise ModelError(f"the key {name[:60]!a} is twice in the same object", line=key.start_mark.line + 1)
        found[name] = _plain(value, yaml)
    return found
