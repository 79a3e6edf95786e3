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


def chosen_line(name: str, title: str) -> int | None:
    """The line of a figure's table that the reader chose, to ring its mark; None where none is chosen."""
    kept = st.session_state.get(f"{name}_data_{title}")
    lines = kept["selection"]["rows"] if kept else []
    return int(lines[0]) if lines else None


def data_menu(
    name: str,
    tables: Mapping[str, Callable[[], pd.DataFrame]],
    figures: Mapping[str, go.Figure],
    code: Callable[[], str] | None = None,
) -> None:
    """One row of small buttons under a figure: data as table, CSV, page (HTML), show the code.

    name: what the files are called. tables, figures: by the words that tell them apart. Nothing is computed before it
    is asked for. A line chosen in a table is what `chosen_line` gives in the run that follows.
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
    if show_table:
        for title, table in tables.items():
            st.markdown(f"**{title}**")
            st.dataframe(
                table(), hide_index=True, key=f"{name}_data_{title}", on_select="rerun", selection_mode="single-row",
                alt=f"{name}, {title}, as numbers. Choose a line to ring its mark.",
            )  # fmt: skip
    if code is not None and show_code:
        st.code(code(), language="python")


def _label(kind: str, title: str, among: Mapping[str, object]) -> str:
    return kind if len(among) == 1 else f"{kind}: {title}"


def _file(name: str, title: str, ending: str) -> str:
    return f"embedviz-{name}-{title}.{ending}".replace(" ", "-")
