"""The same sentences in a second model, with a scrubber of its own."""

from __future__ import annotations

import streamlit as st

from embedviz import senses_export
from embedviz.figures import senses as figures
from embedviz.figures.style import Sizes
from embedviz.models import catalog
from embedviz.models.language_model import LanguageModel
from embedviz.occurrences import Occurrences
from embedviz.safe_text import markdown_text
from embedviz.senses_view import view
from embedviz.ui import frame, senses_work
from embedviz.ui.charts import chart, data_menu
from embedviz.ui.parts import closed_part
from embedviz.ui.scrubber import Moment, scrubber
from embedviz.ui.senses_picture import reading
from embedviz.ui.shelf import Loading, shelf


def two_models_part(model: LanguageModel | None, asked: Occurrences, size: Sizes, *, projector: bool) -> None:
    """The same sentences in a second model, with a scrubber of its own."""
    with closed_part("Two models", "models", model) as open_now:
        if not open_now or model is None or not asked.occurrences:
            return
        others = [spec for spec in catalog.offered() if spec.name != model.spec.name]
        others.sort(key=lambda spec: spec.reads_left_to_right == model.spec.reads_left_to_right)
        names = [spec.name for spec in others]
        if st.session_state["beside"] not in names:
            st.session_state["beside"] = names[0]
        titles = {spec.name: f"{spec.title}, {spec.reading}" for spec in others}
        st.selectbox("Second model", names, key="beside", format_func=titles.__getitem__, persist_state="session")
        other = shelf().ask(st.session_state["beside"])
        if other is None or isinstance(other, Loading):
            _wait_for(st.session_state["beside"])
            return
        line = frame.SentenceLine("_beside")
        pooling, start_token = reading(other)
        uses = senses_work.read(other, asked.occurrences, line, pooling=pooling, start_token=start_token)
        places = senses_work.pca_picture(uses.key, 2, uses)
        shown = view(other, asked.word, uses.found, uses.measures, places, uses.random)
        at = shown.opening_layer
        left, right = st.columns([0.52, 0.48], gap="small", wrap=True)
        drawn = {"picture": figures.picture(shown, size, at=at), "curve": figures.curve(shown, size, at=at)}
        with left:
            chart(drawn["picture"], key="beside_picture", alt=shown.alt(at))
        with right:
            chart(drawn["curve"], key="beside_curve", alt=shown.alt(at))
        last, most = len(shown.layers) - 1, 110 if projector else None
        scrubber(
            key="beside_layers", label=f"Layers of {other.spec.title}", at=at, projector=False,
            moments=[Moment(shown.layer_name(k), shown.sentence(k, most)) for k in range(last + 1)],
            figures=["beside_picture", "beside_curve"],
            ticks=[(0, "0 table row"), (last, str(last))],
        )  # fmt: skip
        data_menu("senses beside", {"layers": lambda: senses_export.layers_table(shown)}, drawn)


def _wait_for(name: str) -> None:
    """Load a second model, and run the page again when it is there."""
    shelf().start(name)

    @st.fragment(run_every=1.0)
    def line() -> None:
        loading = shelf().loading(name)
        if loading is None or loading.future.done():
            st.rerun()
        st.markdown(markdown_text(f"{loading.spec.title} is loading: {loading.wait_words}. {loading.words}"))

    line()
