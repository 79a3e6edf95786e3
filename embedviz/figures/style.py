"""Sizes, colours and the few layouts that all figures share.

A colour is named by its place in the theme's list (Streamlit's stand-ins `#000001` to `#000009`), so a change between
light and dark recolours a figure in the browser, without asking which theme it is. `for_file` puts the light theme's
real colours in for exports.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

GROUPS = ("#000001", "#000002", "#000003", "#000004", "#000005", "#000006")
INK, GREY, PROBABILITY = "#000007", "#000008", "#000009"
RAIL = "rgba(127,127,127,.6)"

# The light theme's own colours, in the order of chartCategoricalColors (.streamlit/config.toml; a test compares).
LIGHT = ("#0072B2", "#BD4B00", "#007A5A", "#A3487F", "#8A6100", "#5F6675", "#16181D", "#5F6675", "#5B4FB0")
# Numbers of a vector, lowest to highest: teal, white, brown (light theme).
DIVERGING = ("#01665E", "#5AB4AC", "#F7F7F7", "#D8B365", "#8C510A")
# Little to much in one hue, from the page's own colour on: the theme's ten sequential colours (Streamlit's stand-ins),
# and what they are in the light theme.
SEQUENTIAL = tuple(f"#{k:06d}" for k in range(11, 21))
LIGHT_SEQUENTIAL = (
    "#FFFFFF", "#E9EAEF", "#D3D4E0", "#BDBFD0", "#A7AAC1", "#9294B1", "#7C7FA2", "#666A92", "#505483", "#3A3F73",
)  # fmt: skip
# The page's own colour, for outlines of marks; the last four stand out 3:1 from it in light and dark alike.
PAGE, SHADES = SEQUENTIAL[0], SEQUENTIAL[6:]

CODE_FONT = '"Source Code Pro", monospace'


@dataclass(frozen=True)
class Sizes:
    """Pixel sizes of a figure, for a desk or for a projector."""

    text: int
    value: int
    token: int
    line: int
    marker: int
    top: int
    pair: int
    pair_with_chips: int
    map: int


DESK = Sizes(text=14, value=16, token=16, line=3, marker=14, top=34, pair=440, pair_with_chips=320, map=620)
PROJECTOR = Sizes(text=20, value=22, token=22, line=5, marker=19, top=44, pair=430, pair_with_chips=370, map=560)


def sizes(projector: bool) -> Sizes:
    """The sizes for a desk or a projector."""
    return PROJECTOR if projector else DESK


def figure(size: Sizes, height: int, title: str, traces: Sequence[Any] = ()) -> go.Figure:
    """An empty figure with our margins, fonts and a left-aligned title (escaped by the caller if people typed it)."""
    made = go.Figure(list(traces))
    made.update_layout(
        height=height,
        margin={"l": 8, "r": 4, "t": size.top, "b": 12},
        font={"size": size.text, "color": INK},
        showlegend=False,
        hoverlabel={"font_size": size.text},
        dragmode=False,
    )
    if not title:
        made.update_layout(margin={"t": 8})
        return made
    made.add_annotation(
        text=title, x=0, y=1, xref="paper", yref="paper", xanchor="left", yanchor="bottom", yshift=6,
        showarrow=False, font={"size": size.text, "color": INK},
    )  # fmt: skip
    return made


def note(made: go.Figure, text: str, size: Sizes, *, x: float, y: float, anchor: tuple[str, str], shift: float) -> None:
    """A line of text at a place of the plot's own box (0 to 1 each way), `shift` pixels higher."""
    made.add_annotation(
        text=text, x=x, y=y, xref="paper", yref="paper", xanchor=anchor[0], yanchor=anchor[1], yshift=shift,
        align="left", showarrow=False, font={"size": size.text, "color": INK},
    )  # fmt: skip


def ring(made: go.Figure, x: float, y: float, size: Sizes) -> None:
    """Ring one mark: the one whose line was chosen in the figure's table."""
    made.add_scatter(
        x=[x], y=[y], mode="markers", hoverinfo="skip", name="ring",
        marker={"symbol": "circle-open", "size": size.marker + 10, "color": INK, "line": {"width": size.line}},
    )  # fmt: skip


def hide_axis() -> dict[str, Any]:
    """An axis that is not drawn: positions alone carry the meaning."""
    return {"visible": False, "fixedrange": True}


def moments(made: go.Figure, frames: Sequence[Sequence[Any]], traces: Sequence[int], at: int) -> None:
    """Give a figure one frame a moment, and Plotly's own slider, hidden, for exports and as a fallback.

    frames: for each moment the new data of `traces`, by their places in the figure. at: the moment it opens on.
    """
    made.frames = [go.Frame(name=str(k), data=list(data), traces=list(traces)) for k, data in enumerate(frames)]
    step = {"mode": "immediate", "frame": {"duration": 0, "redraw": False}, "transition": {"duration": 0}}
    made.update_layout(
        sliders=[
            {
                "active": at,
                "x": 0,
                "len": 1,
                "y": 0,
                "pad": {"t": 0, "b": 0, "l": 0, "r": 0},
                "currentvalue": {"visible": False},
                "font": {"size": 1},
                "ticklen": 0,
                "minorticklen": 0,
                "steps": [{"method": "animate", "label": str(k), "args": [[str(k)], step]} for k in range(len(frames))],
            }
        ]
    )


def cut(label: str, most: int) -> str:
    """A label of at most `most` characters, with an ellipsis where it was longer."""
    return label if len(label) <= most else label[: most - 1] + "…"


def for_file(made: go.Figure) -> go.Figure:
    """A copy with the light theme's real colours, its slider shown, to be read outside the app."""
    text = json.dumps(made.to_plotly_json(), default=lambda value: value.tolist())
    stand_ins = [f"#{k:06d}" for k in range(1, len(LIGHT) + 1)]
    for stand_in, colour in zip((*stand_ins, *SEQUENTIAL), (*LIGHT, *LIGHT_SEQUENTIAL), strict=True):
        text = text.replace(f'"{stand_in}"', f'"{colour}"')
    copy = go.Figure(json.loads(text))
    copy.update_layout(
        template="plotly_white",
        coloraxis={"colorscale": list(DIVERGING)},
        font={"family": "Source Sans Pro, Arial, sans-serif"},
    )
    themed = {"type": "heatmap", "autocolorscale": True}
    copy.update_traces(autocolorscale=False, colorscale=list(DIVERGING), selector=themed)
    for slider in copy.layout.sliders:
        slider.update(font={"size": 12}, ticklen=4, pad={"t": 24, "b": 8}, currentvalue={"visible": True})
    return copy


def html(made: go.Figure) -> str:
    """A page that opens offline: Plotly inside, pictures saved from it as SVG."""
    config = {"displaylogo": False, "toImageButtonOptions": {"format": "svg"}}
    return str(for_file(made).to_html(include_plotlyjs=True, full_html=True, config=config))
