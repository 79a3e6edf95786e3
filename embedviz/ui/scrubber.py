"""The scrubber: one slider that moves the frames of several figures in the browser, with a sentence for each moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent
_HTML = """<div class="row" role="group">
<span class="name"></span>
<button type="button" class="back" aria-label="one step back">◀</button>
<button type="button" class="on" aria-label="one step on">▶</button>
<button type="button" class="play">Play</button>
<div class="rail"><input type="range" min="0" step="1"><div class="ticks" aria-hidden="true"></div></div>
</div>
<p class="sentence" aria-live="polite"></p>"""
_component = st.components.v2.component(
    "embedviz_scrubber",
    html=_HTML,
    css=(_HERE / "scrubber.css").read_text(encoding="utf-8"),
    js=(_HERE / "scrubber.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True)
class Moment:
    """One stop of the scrubber: its name (at most 12.5 rem wide) and the sentence under the slider. Plain text."""

    name: str
    sentence: str


def scrubber(
    *,
    key: str,
    label: str,
    moments: Sequence[Moment],
    at: int,
    figures: Sequence[str],
    ticks: Sequence[tuple[int, str]] = (),
    on_rest: Callable[[int], None] | None = None,
    redraw: bool = False,
    rerun: bool = False,
    projector: bool = False,
) -> int:
    """Draw the scrubber and return the moment at which the reader left it, 0 to len(moments) − 1.

    at: with `on_rest`, which keeps the moment, where to stand at each run of the page. Without, the scrubber keeps the
    moment itself, and a new value here moves it. The reader's position wins while the page runs.
    figures: keys of the st.plotly_chart elements whose frames are named "0", "1", …; a frame that is missing is left
    out. ticks: (moment, text). on_rest: called with the moment half a second after the last move, in a run of the
    scrubber alone; with `rerun` the whole page follows, for what stands outside the figures. redraw: draw figures anew
    at each step, for heatmaps and shapes, which do not move without it.
    projector: listen to a presenter's remote (PageUp, PageDown, Space).
    """
    kept_name = f"{key} at"
    asked, place = st.session_state.get(kept_name, (None, 0))
    st.session_state[kept_name] = (at, at if on_rest or asked != at else place)

    def rested() -> None:
        place = int(st.session_state[key]["rest"])
        st.session_state[kept_name] = (at, place)
        if on_rest:
            on_rest(place)
        st.session_state[f"{key} rested"] = rerun

    @st.fragment
    def draw() -> None:
        data = {
            "label": label,
            "moments": [{"name": moment.name, "sentence": moment.sentence} for moment in moments],
            "at": place_of(st.session_state[kept_name][1], moments),
            "figures": list(figures),
            "ticks": [list(tick) for tick in ticks],
            "redraw": redraw,
            "projector": projector,
        }
        _component(key=key, data=data, on_rest_change=rested)
        if st.session_state.pop(f"{key} rested", False):
            st.rerun()

    draw()
    return place_of(st.session_state[kept_name][1], moments)


def place_of(place: int, moments: Sequence[Moment]) -> int:
    """The nearest moment there is: a shorter run of moments ends earlier."""
    return max(0, min(place, len(moments) - 1))
