"""xacro: a URDF with properties, macros, conditions and includes, expanded and handed to the URDF reader.

What the tool of that name makes of a file is made here, without Python's ``eval``: expressions are evaluated by a
whitelist of what they may contain (:mod:`recursa.formats.expressions`), other files are opened only in the folders that
the user named, and depth, work and sizes are bounded. Elements keep the file and line that they were written on.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple

from recursa.errors import ModelError, did_you_mean
from recursa.formats.source import Assets, Source
from recursa.formats.xacro_text import Scope, Texts, truth
from recursa.formats.xml import Element, NotesElsewhere, clipped, parse
from recursa.model.description import Note

MAX_FILES = 30  # that include each other
MAX_NESTING = 2000  # of elements, conditions and macro calls in each other

PREFIX = "xacro:"
_DEFAULT = r"""\$\{.*?\}|\$\(.*?\)|(?:'.*?'|".*?"|[^\s'"]+)+|"""
_PARAMETER = re.compile(rf"\s*([^\s:=]+?)\s*:?=\s*(\^\|?)?({_DEFAULT})(?:\s+|\Z)(.*)", re.S)

_Work = Generator[Any, Any, Any]  # what calls others yields them, so that nesting costs no Python stack


def begins(root: str, text: str) -> bool:
    """Whether a text is a URDF with something for xacro to do: the prefix is declared, and it is used.

    >>> begins("robot", "<robot xmlns:xacro='http://www.ros.org/wiki/xacro'><link name='${name}'/></robot>")
    True
    """
    return root == "robot" and "xmlns:xacro" in text and _uses(text) and _uses(_without_comments(text))


def _uses(text: str) -> bool:
    return ("$" in text and ("${" in text or "$(" in text)) or "<xacro:" in text


def _without_comments(text: str) -> str:
    """The text without comments: many files keep in them what they were expanded from."""
    before, *pieces = text.split("<!--")
    return before + "".join(piece.partition("-->")[2] for piece in pieces)


def expand(source: Source, arguments: Mapping[str, str]) -> Element:
    """The root element of what a xacro text stands for; elements of other files keep those files' lines.

    >>> text = "<robot xmlns:xacro='x'><xacro:property name='n' value='3'/><link name='arm${n + 1}'/></robot>"
    >>> expand(Source(text, None, Assets()), {}).children[0].attributes
    {'name': 'arm4'}
    """
    return _Expander(source.assets, arguments, source.path).run(parse(source.content, source.path, with_text=True))


class _Macro(NamedTuple):
    body: Element
    parameters: tuple[str, ...]
    defaults: Mapping[str, tuple[bool, str | None]]
    """Whether the caller's property of that name is taken, and the text that is taken else."""


class _Where(NamedTuple):
    """What is known at a place: macros and properties."""

    macros: Scope
    names: Scope


class _Expander:
    def __init__(self, assets: Assets, arguments: Mapping[str, str], path: str | None) -> None:
        self.texts = Texts(assets, arguments, path)
        self.assets = assets
        self.calls: list[tuple[str, Element]] = []
        self.at: Element | None = None
        self.notes: list[Note] = []
        self.handlers: dict[str, Callable[[Element, Element, _Where], _Work | None]] = {
            "property": self.define,
            "macro": self.define_macro,
            "arg": self.declare,
            "include": self.include,
            "if": self.condition,
            "unless": self.condition,
            "insert_block": self.insert,
            "element": self.element,
            "attribute": self.attribute,
            "call": self.call_by_name,
        }

    def run(self, root: Element) -> Element:
        where = _Where(Scope(None, self.texts.value), self.texts.top)
        self.notes, self.at = root.notes, root
        try:
            found = _driven(self.copied(root, where))
            self.require_arguments()
        except ModelError as error:
            raise self.placed(error) from None
        return found

    def require_arguments(self) -> None:
        for name in self.texts.given:
            if name not in self.texts.asked:
                raise ModelError(f"the file has no argument '{name[:60]}'. {did_you_mean(name, self.texts.asked)}")

    def placed(self, error: ModelError) -> ModelError:
        """The error with file and line, and the macro that was being expanded."""
        if error.line is not None or error.source is not None or self.at is None:
            return error
        reason = error.reason
        if self.calls:
            name, by = self.calls[-1]
            reason += f" (in macro '{clipped(name)}', called in {by.source or '<text>'}, line {by.line})"
        return self.at.error(reason)

    # ---- elements ----------------------------------------------------------------------------------------------------

    def copied(self, element: Element, where: _Where) -> _Work:
        """An ordinary element: attributes and text evaluated, children expanded."""
        attributes = {
            name: self.texts.text(value, where.names)
            for name, value in element.attributes.items()
            if not name.startswith(PREFIX) and name != "xmlns:xacro"
        }
        found = Element(element.tag, attributes, element.line, element.source, element.notes)
        yield self.content(element, found, where)
        return found

    def content(self, element: Element, target: Element, where: _Where) -> _Work:
        """What stands inside an element, expanded into another."""
        for child in element.children:
            work = self.visit(child, target, where)
            if work is not None:
                yield work
        self.at = element
        target.text += self.texts.text(element.text, where.names)  # its place among the children is not known

    def visit(self, child: Element, target: Element, where: _Where) -> _Work | None:
        self.at = child
        self.texts.spend(5)
        if not child.tag.startswith(PREFIX):
            return self.append(child, target, where)
        handler = self.handlers.get(child.tag.removeprefix(PREFIX))
        if handler is not None:
            return handler(child, target, where)
        return self.call(child, child.tag.removeprefix(PREFIX), target, where)

    def append(self, child: Element, target: Element, where: _Where) -> _Work:
        target.add((yield self.copied(child, where)))

    def condition(self, element: Element, target: Element, where: _Where) -> _Work | None:
        text = _required(element, "value")
        wanted = element.tag == PREFIX + "if"
        return self.content(element, target, where) if truth(self.value(text, where), text) is wanted else None

    def element(self, element: Element, target: Element, where: _Where) -> _Work | None:
        name = self.texts.text(_required(element, PREFIX + "name"), where.names)
        if not name:
            raise ModelError("the name of a <xacro:element> is empty")
        return self.visit(_as(element, name, PREFIX + "name"), target, where)

    def attribute(self, element: Element, target: Element, where: _Where) -> None:
        name, value = (self.texts.text(_required(element, one), where.names) for one in ("name", "value"))
        if not name:
            raise ModelError("the name of a <xacro:attribute> is empty")
        target.attributes[name] = value

    def value(self, text: str, where: _Where) -> Any:
        return self.texts.value(text, where.names)

    # ---- properties and arguments ------------------------------------------------------------------------------------

    def declare(self, element: Element, target: Element, where: _Where) -> None:
        name = _required(element, "name")
        self.texts.asked.add(name)
        if name not in self.texts.arguments:
            self.texts.arguments[name] = self.texts.text(_required(element, "default"), where.names)

    def define(self, element: Element, target: Element, where: _Where) -> None:
        name = self._property_name(element, where)
        value, default = element.attributes.get("value"), element.attributes.get("default")
        remove = self._flag(element, "remove", "false", where)
        if sum((value is not None, default is not None, remove)) > 1:
            raise ModelError(f"property '{name}': value, default and remove exclude each other")
        if remove and name in where.names:
            where.names.remove(name)
            return
        if default is not None:
            if name in where.names:
                return
            value = default
        lazy = self._flag(element, "lazy_eval", "true", where)
        scope = self._scope(element, where.names)
        lazy = lazy and scope is where.names
        if value is None:
            scope.set("**" + name, element, lazy=False)
        else:
            scope.set(name, value if lazy else self.value(value, where), lazy=lazy)

    def _property_name(self, element: Element, where: _Where) -> str:
        name = self.texts.text(_required(element, "name"), where.names)
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
            raise ModelError(f"'{clipped(name)}' cannot be the name of a property: letters, digits and _ can")
        return name

    def _flag(self, element: Element, attribute: str, default: str, where: _Where) -> bool:
        text = element.attributes.get(attribute) or default
        return truth(self.value(text, where), text)

    @staticmethod
    def _scope(element: Element, names: Scope) -> Scope:
        """Where a property is defined: here, around the macro, or for the whole file."""
        scope = element.attributes.get("scope")
        if scope == "global":
            return names.top()
        if scope != "parent" or names.outer is None or names.outer.outer is None:
            return names
        outer = names.outer
        while not names.namespace and outer.namespace and outer.outer is not None:
            outer = outer.outer
        return outer

    # ---- macros ------------------------------------------------------------------------------------------------------

    def define_macro(self, element: Element, target: Element, where: _Where) -> None:
        name = _required(element, "name").removeprefix(PREFIX)
        if name == "call" or "." in name:
            raise ModelError(f"'{clipped(name)}' cannot be the name of a macro")
        parameters: list[str] = []
        defaults: dict[str, tuple[bool, str | None]] = {}
        rest = element.attributes.get("params", "").strip()
        while rest:
            match = _PARAMETER.match(rest)
            if match:
                parameter, forward, default, rest = match.groups()
                defaults[parameter] = forward is not None, default or None
            else:
                parameter, *others = rest.split(None, 1)
                rest = others[0] if others else ""
            parameters.append(parameter)
            rest = rest.strip()
        where.macros.set(name, _Macro(element, tuple(parameters), defaults), lazy=False)

    def call_by_name(self, element: Element, target: Element, where: _Where) -> _Work:
        name = self.texts.text(_required(element, "macro"), where.names)
        return self.call(_as(element, PREFIX + name, "macro"), name, target, where)

    def call(self, element: Element, name: str, target: Element, where: _Where) -> _Work:
        self.texts.spend(20)
        macro, home = self._macro(name, where)
        inside = Scope(home.names, self.texts.value)
        open_ = list(macro.parameters)
        for parameter, text in element.attributes.items():
            if parameter not in open_:
                raise ModelError(f"macro '{clipped(name)}' has no parameter '{clipped(parameter)}'. "
                                      + did_you_mean(parameter, macro.parameters))  # fmt: skip
            open_.remove(parameter)
            inside.set(parameter, self.value(text, where), lazy=False)
        blocks = Element(element.tag, {}, element.line, element.source, element.notes)
        yield self.content(element, blocks, where)
        self.at = element
        self._give_blocks(blocks.children, open_, inside, name)
        self._give_defaults(macro, open_, inside, where)
        if open_:
            raise ModelError(f"macro '{clipped(name)}' needs the parameters {', '.join(map(clipped, open_))}")
        self.calls.append((name, element))
        yield self.content(macro.body, target, _Where(Scope(home.macros, self.texts.value), inside))
        self.calls.pop()

    def _macro(self, name: str, where: _Where) -> tuple[_Macro, _Where]:
        """A macro, and what is known where it was included: its name may have namespaces before it."""
        *spaces, last = name.split(".") if name not in where.macros else (name,)
        macros, names = where
        try:
            for space in spaces:
                macros, names = macros[space], names[space]
            found = macros[last] if isinstance(macros, Scope) else None
        except KeyError:
            found = None
        if not isinstance(found, _Macro):
            hint = did_you_mean(name, where.macros.names())
            raise ModelError(f"there is no macro '{clipped(name)}'. {hint}")
        return found, _Where(macros, names)

    @staticmethod
    def _give_blocks(blocks: Sequence[Element], open_: list[str], inside: Scope, name: str) -> None:
        given = iter(blocks)
        for parameter in [one for one in open_ if one.startswith("*")]:
            block = next(given, None)
            if block is None:
                raise ModelError(f"macro '{clipped(name)}' needs an element for its block '{clipped(parameter)}'")
            open_.remove(parameter)
            inside.set(parameter, block, lazy=False)
        left = next(given, None)
        if left is not None:
            raise ModelError(f"macro '{clipped(name)}' has no use for the element <{clipped(left.tag)}>")

    def _give_defaults(self, macro: _Macro, open_: list[str], inside: Scope, where: _Where) -> None:
        for parameter in [one for one in open_ if one in macro.defaults and not one.startswith("*")]:
            forward, default = macro.defaults[parameter]
            if forward and parameter in where.names:
                value = where.names[parameter]
            elif default is not None:
                value = self.value(default, where)
            elif forward:
                raise ModelError(f"there is no property '{clipped(parameter)}' to hand on (^)")
            else:
                continue
            inside.set(parameter, value, lazy=False)
            open_.remove(parameter)

    def insert(self, element: Element, target: Element, where: _Where) -> _Work:
        name = _required(element, "name")
        if "**" + name in where.names:
            return self.content(where.names["**" + name], target, where)
        if "*" + name in where.names:
            return self.append(where.names["*" + name], target, where)
        blocks = [one.lstrip("*") for one in where.names.names() if one.startswith("*")]
        raise ModelError(f"there is no block '{clipped(name)}'. {did_you_mean(name, blocks)}")

    # ---- other files -------------------------------------------------------------------------------------------------

    def include(self, element: Element, target: Element, where: _Where) -> _Work | None:
        reference = self.texts.text(_required(element, "filename"), where.names)
        if re.search(r"[*?\[]", reference):
            raise ModelError(f"'{clipped(reference)}' is a pattern; name the files to include")
        optional = element.attributes.get("optional")
        if optional and truth(optional, optional) and self.assets.find(reference, self.texts.files[-1]) is None:
            return None
        if len(self.texts.files) > MAX_FILES:
            raise ModelError(f"files include each other more than {MAX_FILES} deep")
        content, path = self.assets.read(reference, self.texts.files[-1], "<xacro:include>")
        self.texts.spend(len(content) >> 4)
        root = parse(content, str(path), with_text=True, notes=NotesElsewhere(self.notes, str(path)))
        space = self.texts.text(element.attributes.get("ns", ""), where.names)
        if space:
            inner = _Where(
                Scope(None, self.texts.value, namespace=True), Scope(where.names, self.texts.value, namespace=True)
            )
            where.macros.set(space, inner.macros, lazy=False)
            where.names.set(space, inner.names, lazy=False)
            where = inner
        return self.included(root, target, where)

    def included(self, root: Element, target: Element, where: _Where) -> _Work:
        self.texts.files.append(root.source)
        yield self.content(root, target, where)
        self.texts.files.pop()


def _as(element: Element, tag: str, attribute: str) -> Element:
    """The element under the tag that one of its attributes says, without that attribute."""
    attributes = {name: value for name, value in element.attributes.items() if name != attribute}
    named = Element(tag, attributes, element.line, element.source, element.notes)
    named.children, named.text = element.children, element.text
    return named


def _required(element: Element, attribute: str) -> str:
    value = element.attributes.get(attribute)
    if value is None:
        raise element.error(f"<{clipped(element.tag)}> needs the attribute '{attribute}'")
    return value


def _driven(work: _Work) -> Any:
    """Run work that yields the work it waits for."""
    stack, result = [work], None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as done:
            stack.pop()
            result = done.value
        if len(stack) > MAX_NESTING:
            raise ModelError(f"elements and macros nest deeper than {MAX_NESTING}; does a macro call itself?")
    return result
