"""The senses page's deeper parts that measure, in the order of the page."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from embedviz import senses_export
from embedviz.comparison import compare
from embedviz.context_measures import (
    explainable_variance,
    self_similarity,
    similarity_matrix,
)
from embedviz.contextual import contextual_vectors, random_words
from embedviz.export import neighbour_table
from embedviz.figures import senses_parts as more_figures
from embedviz.figures.style import Sizes
from embedviz.models.language_model import LanguageModel
from embedviz.nearest_sense import on_second_set, what_moved
from embedviz.neighbours import nearest
from embedviz.numbers import count, decimal
from embedviz.occlusion import without_each_word
from embedviz.safe_text import markdown_text
from embedviz.senses import random_variance
from embedviz.tokens import visible_line
from embedviz.ui import frame, senses_work
from embedviz.ui.address import Parameter, whole_number
from embedviz.ui.charts import chart, data_menu
from embedviz.ui.parts import closed_part
from embedviz.ui.senses_input import left_out, read_either
from embedviz.ui.senses_work import Uses

NAMES = ("sentences", "guess", "moved", "matrix", "accuracy", "context", "rows", "picture", "models")
PARAMETERS = (Parameter("guess", ""), Parameter("use", 1, whole_number(1, 9999)), Parameter("beside", ""))
# Parts whose numbers are of the scrubber's layer.
FOLLOWING = ("guess", "moved", "matrix", "rows", "picture", "accuracy")


def any_follows_the_layer() -> bool:
    """Whether a part is open that must follow the slider."""
    return any(st.session_state.get(f"part_{name}") for name in FOLLOWING) or bool(st.session_state.get("senses_table"))


def guess_part(model: LanguageModel | None, uses: Uses | None, size: Sizes, word: str, layer: int) -> None:
    """A new sentence: which sense it is nearest to at each layer, with its ring in the picture."""
    with closed_part("Guess a new sentence", "guess", uses) as open_now:
        if not open_now or uses is None or model is None:
            return
        st.text_input(
            f"A new sentence with {word} in it", key="guess", persist_state="session",
            placeholder=f"We sat down on the {word} and watched the ducks.",
        )  # fmt: skip
        if not st.session_state["guess"].strip():
            return
        found = senses_work.guessed(
            model, uses, word, st.session_state["guess"], inflected=st.session_state["inflected"]
        )
        drawn = more_figures.guess(found.result, size, named=uses.measures.labels, at=layer)
        chart(drawn, key="senses_guess", alt=found.sentence)
        frame.show_notes(found.notes)
        told = f"{found.at(layer)} {found.sentence} The ring in the picture is your sentence; the others stay."
        st.markdown(markdown_text(told))
        if model.spec.reads_left_to_right:
            one = found.occurrence
            before, after = one.sentence[: one.start].strip(), one.sentence[one.end :].strip(" .!?")
            if after:
                read = f"only “{before}” before {one.word}" if before else f"nothing before {one.word}"
                st.markdown(markdown_text(f"{model.spec.title} has read {read}; what stands after it cannot count."))
        if uses.measures.labels.names and st.session_state["method"] == "umap":
            st.markdown("In a UMAP the ring stands among its three nearest uses; the picture is not made anew.")
        data_menu("senses guess", {"layers": lambda: senses_export.guess_table(found.result)}, {"guess": drawn})


def choose_use(uses: Uses, key: str) -> int:
    """One use by its sentence, kept in the address by its number."""
    sentences = [
        f"{k}. {visible_line(one.sentence, 90)}" for k, one in enumerate(uses.found.occurrences, start=1)
    ]  # fmt: skip
    at = st.session_state["use"] - 1 if st.session_state["use"] <= len(sentences) else 0

    def keep() -> None:
        st.session_state["use"] = int(st.session_state[key].partition(".")[0])

    # Shown as typed: a select box does not read Markdown in its options.
    chosen = st.selectbox("Sentence", sentences, at, key=key, on_change=keep)
    return sentences.index(chosen)


def moved_part(model: LanguageModel | None, uses: Uses | None, size: Sizes, layer: int) -> None:
    """Each other word taken out: how far the vector moves, and how much of its lean to its sense goes."""
    with closed_part("Which words moved it", "moved", uses) as open_now:
        if not open_now or uses is None or model is None:
            return
        number = choose_use(uses, "senses_moved_use")
        one = uses.found.occurrences[number]
        taken = without_each_word(model, one, pooling=uses.found.pooling, start_token=uses.found.start_token)
        if not taken.words:
            st.markdown("There is no other word in this sentence to take out.")
            return
        moved = what_moved(
            uses.found.vectors, uses.senses, one.sense, taken.whole, taken.vectors, leave_out=number
        )  # fmt: skip
        words = [one.sentence[slice(*span)] for span in taken.words]
        before = sum(span[0] < one.start for span in taken.words)
        drawn = more_figures.moved(moved, words, size, layer=layer, sense=one.sense, word=one.word, before=before)
        clue = moved.clue[layer]
        most = int(np.argmax(moved.moved[:, layer]))
        far = decimal(float(moved.moved[most, layer]))
        said = [f"At layer {layer}, taking out {words[most]} moves {one.word} most, by {far}."]
        if layer == 0:
            said = [f"At layer 0 no word has moved {one.word} yet: it is its row."]
        elif not moved.moved[:, layer].any():
            said = [f"No word stands before {one.word}, so none has moved it."]
        if clue is not None and one.sense:
            lost, lean = decimal(float(moved.lost[clue, layer])), decimal(float(moved.lean[layer]))
            said.append(f"Taking out {words[clue]} takes most of its lean to {one.sense}: {lost} of {lean}.")
        if model.spec.reads_left_to_right and before < len(words):
            said.append(f"Words after {one.word} move it by exactly 0: this model has not read them yet.")
        chart(drawn, key="senses_moved", alt=" ".join(said))
        st.markdown(markdown_text(" ".join(said)))
        frame.show_notes(taken.notes)
        data_menu("senses moved", {"words": lambda: senses_export.moved_table(moved, words, layer)}, {"moved": drawn})


def matrix_part(uses: Uses | None, size: Sizes, layer: int, projector: bool) -> None:
    """The cosine of every two uses, ordered by sense."""
    with closed_part("Every pair", "matrix", uses) as open_now:
        if not open_now or uses is None:
            return
        found = similarity_matrix(uses.found.vectors[:, layer], uses.senses)
        drawn = more_figures.matrix(
            found, size, layer=layer, baseline=float(uses.random[layer]), named=uses.measures.labels
        )
        alike = uses.measures.similarity
        said = (
            f"At layer {layer}: same sense {decimal(float(alike.within[layer]))}, other sense "
            f"{decimal(float(alike.between[layer]))}, random pair {decimal(float(uses.random[layer]))}."
        )
        chart(drawn, key="senses_matrix", alt=f"Cosine of every two of {len(found.order)} uses. {said}")
        st.markdown(said)
        table = partial(senses_export.matrix_table, found, uses.found.occurrences)
        data_menu("senses pairs", {"cosines": table}, {"pairs": drawn})


def accuracy_part(model: LanguageModel | None, uses: Uses | None, size: Sizes, layer: int, word: str) -> None:
    """How often a use is nearest to its own sense, leave one out, and on a second file."""
    with closed_part("Can the sense be read off?", "accuracy", uses) as open_now:
        if not open_now or uses is None or model is None:
            return
        measured = uses.measures
        right = measured.accuracy
        if not np.isfinite(right.by_layer).any():
            st.markdown(measured.parting.reason or "Two senses with two sentences each are needed to tell.")
            return
        second = None
        file = st.file_uploader("Test on a second file of sentences", ["txt", "csv", "tsv", "jsonl"], key="senses_test")
        if file is not None:
            read = read_either(file.name, file.getvalue(), word)
            tested = contextual_vectors(
                model, read.occurrences, pooling=uses.found.pooling, start_token=uses.found.start_token
            )
            second = on_second_set(
                uses.found.vectors, uses.senses, tested.vectors, [one.sense for one in tested.occurrences]
            )
            frame.show_notes([one for one in (left_out((*read.skipped, *tested.skipped)), *read.notes) if one])
            if not np.isfinite(second.by_layer).any():
                names = ", ".join(visible_line(name) for name in uses.measures.labels.names)
                st.markdown(markdown_text(f"None of the second file's sentences has one of the senses {names}."))
                second = None
        drawn = more_figures.accuracy(right, size, at=layer, second=second)
        best, chance = measured.best_layer, right.chance
        said = []
        if measured.parting.layer is not None:
            at = measured.parting.layer
            said.append(
                f"Right {round(100 * right.by_layer[at])} of 100 from layer {at}; chance {round(100 * chance)}."
            )
        else:
            said.append(measured.parting.reason)
        if best is not None:
            said.append(f"Best at layer {best}: {round(100 * right.by_layer[best])} of 100.")
        said.append(f"Each of {count(right.tested)} uses is left out of its own sense's mean when it is tested.")
        if second is not None and best is not None:
            there = round(100 * second.by_layer[best])
            told = f"On the second file's {count(second.tested)} sentences, as a mean over the senses, {there} of 100"
            said.append(f"{told} at layer {best}.")
        if len({(one.sentence, one.start) for one in uses.found.occurrences}) < len(uses.found.occurrences):
            said.append("Some sentences repeat, which makes this easier than it is.")
        if right.left_out:
            said.append(f"Not tested, for want of a second sentence: {', '.join(right.left_out)}.")
        chart(drawn, key="senses_accuracy", alt=said[0])
        st.markdown(markdown_text(" ".join(said)))
        data_menu(
            "senses accuracy", {"layers": lambda: senses_export.accuracy_table(right, second)}, {"accuracy": drawn}
        )


def context_part(model: LanguageModel | None, uses: Uses | None, size: Sizes) -> None:
    """Ethayarajh's two measures, each less that of random words."""
    with closed_part("How much is context?", "context", uses) as open_now:
        if not open_now or uses is None or model is None:
            return
        if len(uses.found.occurrences) < 2:
            st.markdown("One use: add a second to compare.")
            return
        alike = self_similarity(uses.found.vectors, uses.random)
        sample = random_words(model, start_token=uses.found.start_token).sample
        explained = explainable_variance(
            uses.found.vectors, random_variance(sample, len(uses.found.occurrences))
        )  # fmt: skip
        drawn = more_figures.context(alike, explained, size)
        last = len(alike) - 1
        said = (
            f"Two uses are more alike than a random pair by {decimal(float(alike[1]))} at layer 1 and by "
            f"{decimal(float(alike[last]))} at layer {last}. There, one vector could at best explain "
            f"{decimal(float(explained[last]))} more of the uses than of as many random words."
        )
        chart(drawn, key="senses_context", alt=said)
        st.markdown(f"{said} After Ethayarajh (2019).")
        table = partial(senses_export.context_table, alike, explained)
        data_menu("senses context", {"layers": table}, {"context": drawn})


def rows_part(model: LanguageModel | None, uses: Uses | None, layer: int) -> None:
    """The rows of the table nearest to one use's vector at the slider's layer."""
    with closed_part("Rows of the table near one use", "rows", uses) as open_now:
        if not open_now or uses is None or model is None:
            return
        number = choose_use(uses, "senses_rows_use")
        table = model.output_table if layer == model.spec.blocks else model.table
        ranked = nearest(compare(table, uses.found.vectors[number, layer]), model.vocabulary)
        base = ranked.baseline
        st.markdown(f"Layer {layer}, cosine with every row: mean {decimal(base.mean)}, deviation {decimal(base.std)}.")
        listed = neighbour_table(ranked.nearest, "cosine")
        st.dataframe(listed, hide_index=True, key="senses_rows", alt=f"Rows nearest to the use at layer {layer}.")
        said = "From layer 1 on, vectors and rows lie in other directions: such a list says little of meaning."
        if layer == model.spec.blocks and model.spec.next_token_head:
            said = "The last vector is made to be near the row of the next token, not of this one."
        st.markdown(said)
        data_menu("senses rows", {"rows": lambda: listed}, {})
