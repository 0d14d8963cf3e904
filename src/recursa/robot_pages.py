"""Robots in a browser: pages written to files, and what a notebook shows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

from numpy.typing import ArrayLike

from recursa.evaluation.answering import Facade
from recursa.files import known_suffix, named_file, write_together

if TYPE_CHECKING:
    from recursa.robot import Robot
    from recursa.view.serving import View
    from recursa.view.widget import Widget


class Viewing(Facade):
    """Pages."""

    __slots__ = ()

    def to_html(self, path: str | os.PathLike[str], q: ArrayLike | None = None, meshes: bool = True) -> Path:
        """Write the robot as a page for any browser: one file, which needs no network. Returns its path.

        In it the robot can be turned, posed by sliders, let go, held, pulled by its links: the page has the robot's own
        dynamics, as :meth:`export_js` writes them, and simulates as ``simulate(integrator="rk4", stops=True)`` does.
        Loops of a mechanism stay closed. See :doc:`/view`.

        - ``q``: where it begins, (nq,) or a mapping by joint names; without it the neutral configuration, moved into
          the joints' ranges and assembled. It has to close the robot's loops: :meth:`assemble` finds one that does.
        - ``meshes``: whether meshes that :func:`recursa.load` found become part of the page
          (with the extra ``meshes``, which brings trimesh). False makes it small.

        >>> import pathlib, tempfile, recursa as rc
        >>> file = rc.robots.planar(2).to_html(pathlib.Path(tempfile.mkdtemp(), "arm.html"))
        >>> file.name, file.stat().st_size < 1_500_000
        ('arm.html', True)
        """
        from recursa.view.page import ENDINGS, robot_page  # who shows nothing need not wait for it

        place = known_suffix(named_file(path), ENDINGS)
        write_together({place: robot_page(cast("Robot", self), q, meshes=meshes)})
        return place

    def view(self, q: ArrayLike | None = None, *, meshes: bool = True, open: bool = True) -> View:
        """Show the robot in a local page that this program moves: ``view.show(q)``, ``view.play(run)``.

        The page is served to this machine alone, under an address that cannot be guessed (``view.url``), until
        ``view.close()``. At the end of a notebook cell it shows itself. ``q`` and
        ``meshes`` are as for :meth:`to_html`; ``open=False`` starts no browser.

        >>> import recursa as rc
        >>> arm = rc.robots.planar(2)
        >>> with arm.view(open=False) as view:
        ...     view.show({"joint1": 0.5})
        """
        from recursa.view.page import open_in_browser
        from recursa.view.serving import View

        made = View(cast("Robot", self), q, meshes=meshes)
        if open:
            open_in_browser(made.url)
        return made

    def widget(self, q: ArrayLike | None = None, *, meshes: bool = False, height: int = 520) -> Widget:
        """The same within a notebook, wherever its kernel runs: ``widget.show(q)``, ``widget.play(run)``.

        ``q`` and ``meshes`` are as for :meth:`to_html`, ``height`` in pixels. Needs the extra ``notebook``, which
        brings anywidget.

        >>> import recursa as rc
        >>> widget = rc.robots.planar(2).widget()
        >>> widget.show([0.3, 0.4])
        """
        from recursa.view.widget import robot_widget

        return robot_widget(cast("Robot", self), q, meshes, height)

    def _repr_html_(self) -> str:
        """What a notebook shows: the page, without meshes."""
        from recursa.view.page import framed, robot_page

        return framed(robot_page(cast("Robot", self), meshes=False))
