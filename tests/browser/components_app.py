"""A small app of the shared parts alone: frame, token strip, scrubber. The browser tests copy it and drive it."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from embedviz.safe_text import markdown_text, plotly_text
from embedviz.tokens import Token, Tokens
from embedviz.ui.address import Parameter, remember
from embedviz.ui.frame import SentenceLine, page, pair, show_notes
from embedviz.ui.scrubber import Moment, scrubber
from embedviz.ui.token_strip import token_strip

PLAIN = [("The", "text"), (" capital", "text"), (" of", "text"), (" France", "text"), (" is", "text")]
AWKWARD = [
    ("<|endoftext|>", "special"),
    ("<img src=x onerror=alert(1)>", "text"),
    (" ", "text"),
    ("   ", "text"),
    ("\t", "text"),
    ("a\n", "text"),
    ("\u05e9\u05c1", "text"),
    ("مرحبا", "text"),
    ("\u0301", "text"),
    ("\u200b", "text"),
    ("[UNK]", "unknown"),
    ("[unused7]", "unused"),
    ("F0 9F 98", "bytes"),
    ("83", "bytes"),
    ("\n\n", "text"),
    (" Donaudampfschifffahrtsgesellschaftskapitän", "text"),
    ("$5 *b* :red[x]", "text"),
]
STEPS = 9


def tokens_of(kinds):
    pieces = {12: (1, 2, "😃"), 13: (2, 2, "😃")} if kinds is AWKWARD else {}
    made = [
        Token(500 + k, text, text, text.encode(), kind == "special", kind, k, 0, 0, pieces.get(k))
        for k, (text, kind) in enumerate(kinds)
    ]
    return Tokens("", tuple(made), len(made))


TEXTS = {"plain": tokens_of(PLAIN), "awkward": tokens_of(AWKWARD), "long": tokens_of(PLAIN * 102 + PLAIN[:2])}


def figure(heights, title):
    drawn = go.Figure(go.Bar(y=heights(0), marker_color="#000001"))
    drawn.frames = [go.Frame(name=str(k), data=[go.Bar(y=heights(k))]) for k in range(STEPS)]
    steps = [{"method": "animate", "label": str(k), "args": [[str(k)]]} for k in range(STEPS)]
    slider = {"active": 0, "steps": steps, "font": {"size": 1}, "ticklen": 0, "currentvalue": {"visible": False}}
    drawn.update_layout(height=350, margin={"l": 8, "r": 4, "t": 34, "b": 12}, yaxis_range=[0, 10], sliders=[slider])
    drawn.update_layout(title={"text": plotly_text(title), "font": {"size": 14}})
    return drawn


st.session_state["runs"] = st.session_state.get("runs", 0) + 1
frame = page("Thread", [Parameter("text", "plain"), Parameter("step", 2, int)])
with frame.controls():
    text = st.pills("Try", list(TEXTS), key="text", label_visibility="collapsed", required=True)
    typed = st.text_input("Text", key="typed", label_visibility="collapsed", placeholder="Type here", width=260)
    frame.push_right()
    if st.button("Go to 6"):
        st.session_state["step"] = 6
    st.popover("SmolLM2 135M").write("model")
show_notes([*frame.notes, *(typed.split("|") if typed else [])])
chosen = token_strip(TEXTS[text], key="strip", chosen=0, label="Tokens")
left, right = pair(0.54)
title = "What comes next? <b>not bold</b> $5 & $6"
left.plotly_chart(figure(lambda k: [k, 1, len(text)], title), key="bars", alt="Bars.")
right.plotly_chart(figure(lambda k: [k, k / 2], "The whole way"), key="path", alt="The way.")


def rested(place):
    remember("step", place)


scrubber(
    key="steps",
    label="Step",
    moments=[Moment(f"{k} of 8: table rows", f"At step {k} the sentence <i>says</i> {k * 7}.") for k in range(9)],
    at=st.session_state["step"],
    figures=["bars", "path"],
    ticks=[(0, "0 table row"), (2, "2"), (4, "4"), (6, "6"), (8, "8 final norm")],
    on_rest=rested,
    projector=frame.projector,
)
line = SentenceLine()
if typed == "fail":
    line.fail("This part failed. The rest of the page works. The log has the details.")
st.expander("The tokens, one by one").write("closed")
st.text(f"runs {st.session_state['runs']}, chosen {chosen}")
st.markdown(f"echo {markdown_text(typed)}")
frame.write_address()
