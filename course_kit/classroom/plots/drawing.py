"""What every plot uses: colours, new Axes, and `show`, which puts picture and description into a notebook."""

import base64
import html
import io
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LINES", "ON_BAR", "new_axes", "png", "show", "square_at"]

# Okabe and Ito's colours, which people who see colours differently can tell apart too, each with a marker.
LINES = tuple(zip(("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"), "os^Dv", strict=True))
ON_BAR = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}  # behind words on a bar


def show(ax: "Axes | Figure", alt: str = "") -> None:
    """Show a figure with its description, then close it; outside a notebook the description is printed.

    The plots of this package describe themselves; for one of your own say in `alt` what it shows.

    JupyterLab gives a picture no `alt`, whatever its metadata say. So the description is the output's plain text (which
    nbval compares), the metadata's `alt` for converters that read it, and words to unfold below, for everyone.
    """
    from matplotlib import pyplot

    alt = alt.strip() or getattr(ax, "description", "")
    if not alt:
        raise ValueError("a figure needs a description: say in `alt` what it shows and what follows from it")
    figure: Any = ax if hasattr(ax, "savefig") else ax.figure
    if not _in_ipython():
        print(alt)
        pyplot.close(figure)
        return
    from IPython.display import display

    image = base64.b64encode(png(figure)).decode("ascii")
    display({"image/png": image, "text/plain": alt}, metadata={"image/png": {"alt": alt}}, raw=True)
    words = f"<details><summary>This picture in words</summary><p>{html.escape(alt)}</p></details>"
    display({"text/html": words, "text/plain": "This picture in words."}, raw=True)
    pyplot.close(figure)  # or the notebook draws it a second time at the end of the cell


def png(figure: "Figure") -> bytes:
    """The figure as PNG: the same bytes for the same drawing and version of matplotlib, no date, no program name."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, bbox_inches="tight", metadata={"Software": None})
    return buffer.getvalue()


def _in_ipython() -> bool:
    return "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None


def new_axes(width: float = 7, height: float = 3.5) -> "Axes":
    """The axes of a new figure, in inches."""
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height))[1]


def square_at(column: int, row: int, colour: str) -> Any:
    """A cell of a map, around its whole numbers."""
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="white")
