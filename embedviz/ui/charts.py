"""A figure on a page: its description for readers, and under it the same data as tables, files and code."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from embedviz.figures.style import html


def chart(figure: go.Figure, *, key: str, alt: str) -> None:
    """Draw a figure. alt: its takeaway, for those who do not see it. Its camera (PNG) shows on hover."""
    config = {"displaylogo": False, "modeBarButtons": [["toImage"]], "scrollZoom": False, "doubleClick": False}
    st.plotly_chart(figure, key=key, alt=alt, config=config)


def chosen_lines(name: str, title: str) -> list[int]:
    """The lines of a figure's table that the reader chose, to ring their marks."""
    kept = st.session_state.get(f"{name}_data_{title}")
    return [int(line) for line in kept["selection"]["rows"]] if kept else []


def chosen_line(name: str, title: str) -> int | None:
    """The line that the reader chose where one can be chosen; None where none is."""
    return next(iter(chosen_lines(name, title)), None)


def data_menu(
    name: str,
    tables: Mapping[str, Callable[[], pd.DataFrame]],
    figures: Mapping[str, go.Figure],
    code: Callable[[], str] | None = None,
    *,
    files: Mapping[str, Callable[[], bytes]] | None = None,
    several: bool = False,
) -> None:
    """One row of small buttons under a figure: data as table, CSV, page (HTML), show the code.

    name: what the files are called. tables, figures: by the words that tell them apart. Nothing is computed before it
    is asked for. files: further downloads, by their endings such as "npz". A line chosen in a table is what
    `chosen_line` gives in the run that follows; `several`: more than one can be chosen.
    """
    with st.container(horizontal=True, gap="small", key=f"{name}_menu"):
        show_table = st.toggle("Data as table", key=f"{name}_table")
        show_code = code is not None and st.toggle("Show the code", key=f"{name}_code")
        for title, table in tables.items():
            # A download is made in another thread, after this loop has gone on: each needs its own table.
            def csv(table: Callable[[], pd.DataFrame] = table) -> bytes:
                return table().to_csv(index=False, float_format="%.6g").encode()

            st.download_button(
                _label("CSV", title, tables), csv, _file(name, title, "csv"), "text/csv",
                on_click="ignore", key=f"{name}_csv_{title}",
            )  # fmt: skip
        for title, figure in figures.items():

            def page(figure: go.Figure = figure) -> bytes:
                return html(figure).encode()

            st.download_button(
                _label("Page (HTML)", title, figures), page, _file(name, title, "html"), "text/html",
                on_click="ignore", key=f"{name}_html_{title}",
            )  # fmt: skip
        for ending, content in (files or {}).items():
            st.download_button(
                ending.upper(), content, _file(name, "vectors", ending), "application/octet-stream",
                on_click="ignore", key=f"{name}_file_{ending}",
            )  # fmt: skip
    if show_table:
        for title, table in tables.items():
            st.markdown(f"**{title}**")
            st.dataframe(
                table(), hide_index=True, key=f"{name}_data_{title}", on_select="rerun",
                selection_mode="multi-row" if several else "single-row",
                alt=f"{name}, {title}, as numbers. Choose a line to ring its mark.",
            )  # fmt: skip
    if code is not None and show_code:
        st.code(code(), language="python")


def _label(kind: str, title: str, among: Mapping[str, object]) -> str:
    return kind if len(among) == 1 else f"{kind}: {title}"


def _file(name: str, title: str, ending: str) -> str:
    return f"embedviz-{name}-{title}.{ending}".replace(" ", "-")
