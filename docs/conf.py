"""Sphinx configuration."""

import sys
from importlib.metadata import version as _version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Recursa"
author = copyright = "The Recursa developers"
release = _version("recursa")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas without a network
    "sphinx_design",  # cards
    "sphinx_copybutton",
]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Recursa"
html_static_path = ["_static"]
html_css_files = ["site.css"]
copybutton_selector = "div.highlight-python pre, div.highlight-sh pre, div.highlight-c pre"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Array": "ndarray"}
nitpicky = False


def _with_tables(_app, docname, source):
    """Pages whose tables are made from what stands elsewhere: the registry, the hints, the measurements."""
    if docname in ("quantities", "parts-of-quantities"):
        from make_quantities import filled

        source[0] = filled(source[0])
    if docname == "coming-from":
        from make_dictionary import filled as with_dictionaries

        source[0] = with_dictionaries(source[0])
    if docname == "speed":
        from make_speeds import filled as with_speeds

        source[0] = with_speeds(source[0])
    if docname == "api":
        from make_reference import with_table

        source[0] = with_table(source[0])
    if docname.startswith("reference/"):
        from make_reference import filled as with_names

        source[0] = with_names(source[0])


def _with_pages(app):
    """Living pages, as docs/view.md shows them; written anew, so that they are those of this version."""
    import recursa as rc
    from recursa.view.formula_desk import formula_page

    folder = Path(app.outdir) / "live"
    folder.mkdir(parents=True, exist_ok=True)
    overhead = rc.robots.panda_like().with_gravity((0, 0, 9.81))  # an arm on a pedestal would swing through that
    overhead.to_html(folder / "arm.html", {"joint2": 0.4, "joint4": -1.8, "joint6": 1.6})
    rc.robots.space_robot().to_html(folder / "space.html")
    arm = rc.robots.puma560()
    told = [rc.explain(formula, arm, code="c") for formula in ("inv(mass) (T - C)", "H phi M phi* H*", "0.5 V* M V")]
    (folder / "formula.html").write_text(formula_page(arm, told), "utf-8")


def _plain_types(_app):
    """``ArrayLike`` and ``ndarray`` in signatures, also where they may be None."""
    from sphinx.util.inspect import TypeAliasForwardRef

    TypeAliasForwardRef.__repr__ = lambda self: self.name


def _without_aliases(_app, _what, _name, member, skip, _options):
    """Fields of named tuples are told of in the text of their class, and have none of their own."""
    return True if str(getattr(member, "__doc__", "")).startswith("Alias for field number") else skip


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", _without_aliases)
    app.connect("builder-inited", _plain_types)
    app.connect("source-read", _with_tables)
    app.connect("builder-inited", _with_pages)
