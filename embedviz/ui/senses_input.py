"""Where the senses page gets its sentences: the gallery, typed or pasted lines, files, and a table to edit them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from embedviz.errors import BadInput, EmbedvizError
from embedviz.gallery import gallery
from embedviz.numbers import count, things
from embedviz.occurrence_files import read_file
from embedviz.occurrences import Occurrence, Occurrences, Skipped, places, read_lines, to_lines
from embedviz.safe_text import markdown_message, markdown_text
from embedviz.senses_view import EXAMPLE, EXAMPLE_SENTENCES
from embedviz.ui.address import Parameter, choice, forget_notes, packed, switch
from embedviz.ui.parts import closed_part
from embedviz.words import read_marked

MOST = 500
SETS = {
    "five": "Five of each sense, the clue before the word",
    "before": "Every sentence with the clue before the word",
    "after": "Those with the clue after the word",
    "all": "All of them",
    "pairs": "Pairs that differ in one word",
    "blind": "Five of each sense, and a pair with the clue after",
}
PRESETS = {
    "bank: river or money": ("bank", "five"),
    "spring: three senses": ("spring", "five"),
    "the clue comes after": ("bank", "blind"),
}
PARAMETERS = (
    Parameter("word", EXAMPLE),
    Parameter("set", "five", choice(*SETS)),
    packed("sentences"),
    switch("inflected", False),
)
_SAID, _TYPED = "sentences said", "sentences typed"


def tidy_word() -> None:
    """Take the word of another page as a word: `␣bank` of the table is bank here, and an id is none."""
    kept = str(st.session_state.get("word", EXAMPLE)).replace("␣", " ").strip()
    st.session_state["word"] = EXAMPLE if kept.startswith("#") or not kept else kept


def type_word() -> None:
    """A word of the gallery brings its sentences; any other is looked for in the sentences there are."""
    forget_notes()
    st.session_state.pop(_SAID, None)
    if st.session_state["word"].strip() in gallery():
        st.session_state["sentences"] = ""


def choose_preset() -> None:
    """Show a preset's sentences."""
    if chosen := st.session_state["senses_preset"]:
        show_set(*PRESETS[chosen])


def show_set(word: str, name: str) -> None:
    """Show sentences of the gallery."""
    st.session_state["word"], st.session_state["set"], st.session_state["sentences"] = word, name, ""
    st.session_state.pop(_SAID, None)
    forget_notes()


def preset_shown() -> str | None:
    """The preset that is shown now."""
    now = (st.session_state["word"], st.session_state["set"])
    own = st.session_state["sentences"]
    return next((name for name, preset in PRESETS.items() if preset == now and not own), None)


def read_uses() -> Occurrences:
    """The uses that the page shows. Raises BadInput where no line holds the word."""
    word, lines = st.session_state["word"].strip(), st.session_state["sentences"]
    if lines:
        return _read(lines, word)
    known = gallery().get(word)
    if known is None:
        raise BadInput(f"There are no sentences of {word} here: open the list of sentences and add some.")
    name = st.session_state["set"]
    if name == "pairs":
        return Occurrences(word, tuple(one for pair in known.pairs for one in pair.occurrences))
    if name == "blind":
        blind = [one for pair in known.pairs if pair.clue == "after" for one in pair.occurrences]
        return Occurrences(word, (*known.occurrences("before", EXAMPLE_SENTENCES), *blind))
    which = "before" if name == "five" else name
    per_sense = EXAMPLE_SENTENCES if name == "five" else None
    return Occurrences(word, known.occurrences(which, per_sense))  # type: ignore[arg-type]


def _read(lines: str, word: str) -> Occurrences:
    """Brackets say which word is meant, unless another one is typed."""
    inflected = st.session_state["inflected"]
    try:
        found = read_lines(lines, inflected=inflected, most=MOST)
    except BadInput:
        return read_lines(lines, word, inflected=inflected, most=MOST)
    if word and found.word.casefold() != word.casefold():
        return read_lines(lines, word, inflected=inflected, most=MOST)
    return found


def _take(lines: str, word: str = "") -> None:
    """Show these lines; the word follows their brackets."""
    st.session_state["sentences"] = lines
    if word:
        st.session_state["word"] = word
    forget_notes()


def _type_lines() -> None:
    # A tab cannot be typed into the field: a stroke before the sense does as well.
    lines = re.sub(r"[ \t]*\|[ \t]*([^|\n]*)$", r"\t\1", st.session_state[_TYPED], flags=re.MULTILINE)
    st.session_state.pop(_SAID, None)
    try:
        _take(lines, read_lines(lines).word)
    except BadInput:
        _take(lines)


def _take_file() -> None:
    file = st.session_state["sentences_file"]
    if file is None:
        return
    try:
        found = read_either(file.name, file.getvalue(), st.session_state["word"].strip())
    except BadInput as error:
        st.session_state[_SAID] = [f"{error} The sentences shown are those from before."]
        return
    read = f"{things(len(found.occurrences), 'sentence')} of {file.name} read."
    st.session_state[_SAID] = [f"{read} {left_out(found.skipped)}".strip(), *found.notes]
    _take(to_lines(found.occurrences), found.word)


def read_either(name: str, data: bytes, word: str) -> Occurrences:
    """Read a file by the marks in it, else by the page's word. Raises BadInput where it has no sentence to use."""
    inflected = st.session_state["inflected"]
    try:
        found = read_file(name, data, inflected=inflected, most=MOST)
        if found.occurrences:
            return found
        failed = BadInput(f"{name} has no sentence that can be used. {left_out(found.skipped)}")
    except BadInput as error:
        failed = error
    try:
        found = read_file(name, data, word, inflected=inflected, most=MOST)
    except BadInput:
        raise failed from None
    if not found.occurrences:
        raise failed
    return found


def said() -> list[str]:
    """What the last file said of itself."""
    return list(st.session_state.get(_SAID, ()))


def left_out(skipped: Sequence[Skipped]) -> str:
    """The lines left out, the first three with their reasons."""
    if not skipped:
        return ""
    named = " ".join(f"Line {count(one.line)}: {one.reason}" for one in skipped[:3])
    more = f" {count(len(skipped) - 3)} more are listed in Sentences." if len(skipped) > 3 else ""
    return f"{things(len(skipped), 'line')} left out. {named}{more}"


def _pick() -> None:
    word = st.session_state["gallery_word"] or st.session_state["word"]
    if word in gallery():
        show_set(word, st.session_state["gallery_set"])


def sentences_popover(shown: int) -> None:
    """The list of sentences behind one button: the gallery, lines to type or paste, a file."""
    with st.popover(things(shown, "sentence"), key="sentences_box"):
        own = bool(st.session_state["sentences"])
        known = st.session_state["word"] if st.session_state["word"] in gallery() and not own else None
        st.session_state["gallery_word"], st.session_state["gallery_set"] = known, st.session_state["set"]
        st.selectbox(
            "From the gallery", list(gallery()), index=None, key="gallery_word", on_change=_pick,
            placeholder="Your own sentences are shown" if own else "Choose a word",
            format_func=lambda one: f"{one}: {', '.join(sense.name for sense in gallery()[one].senses)}",
        )  # fmt: skip
        st.selectbox(
            "Which of its sentences", list(SETS), key="gallery_set", on_change=_pick, format_func=SETS.__getitem__
        )
        if not st.session_state["sentences"] or _TYPED not in st.session_state:
            try:
                st.session_state[_TYPED] = to_lines(read_uses().occurrences).replace("\t", " | ")
            except EmbedvizError:
                st.session_state[_TYPED] = ""
        st.text_area(
            "Or your own: a sentence a line, the word in [brackets], then | and its sense", key=_TYPED, height=200,
            on_change=_type_lines,
        )  # fmt: skip
        st.file_uploader(
            "Or a file: TXT, CSV, TSV or JSONL", ["txt", "csv", "tsv", "jsonl"], key="sentences_file",
            on_change=_take_file,
        )  # fmt: skip
        st.toggle("Take other forms of the word too (banks, banking)", key="inflected", persist_state="session")


def edit_part(found: Occurrences) -> None:
    """Each sentence with its sense, to change, add or delete; where the word stands twice, which of them."""
    with closed_part("Sentences", "sentences") as open_now:
        if not open_now:
            return
        lines = to_lines(found.occurrences).split("\n") if found.occurrences else []
        spots = [places(one) for one in found.occurrences]
        table = pd.DataFrame(
            {
                "sentence": [line.partition("\t")[0] for line in lines],
                "sense": [one.sense or "" for one in found.occurrences],
            }
        )
        if any(len(one) > 1 for one in spots):
            table["which"] = [
                spot.index((one.start, one.end)) + 1 for spot, one in zip(spots, found.occurrences, strict=True)
            ]
        edited = st.data_editor(
            table, num_rows="dynamic", hide_index=True, key=f"senses_editor_{hash(tuple(lines))}",
            column_config={
                "sentence": st.column_config.TextColumn("sentence, the word in [brackets]", width="large"),
                "which": st.column_config.NumberColumn("which of its places", min_value=1, step=1),
            },
        )  # fmt: skip
        if not edited.equals(table):
            _take(_edited_lines(edited, found.occurrences, st.session_state["sentences"]))
            st.rerun()
        st.markdown(markdown_text("Double-click a cell to change it. The last row takes a new sentence."))
        if found.skipped:
            st.markdown(markdown_message(f"{things(len(found.skipped), 'line')} left out:"))
            st.dataframe(pd.DataFrame([vars(one) for one in found.skipped]), hide_index=True, key="senses_skipped")


def _edited_lines(edited: pd.DataFrame, before: Sequence[Occurrence], typed: str) -> str:
    """The lines of an edited table; a changed `which` moves the brackets to that place of the word.

    typed: the lines as they were. Those that could not be used stay, after the others.
    """
    used = {one.line for one in before}
    kept = [line for number, line in enumerate(typed.split("\n"), start=1) if number not in used and line.strip()]
    lines = []
    for number, row in zip(edited.index, edited.fillna("").to_dict("records"), strict=True):
        sentence, sense = str(row["sentence"]).replace("\t", " ").replace("\n", " "), str(row["sense"]).strip()
        if number < len(before) and row.get("which"):
            one, spots = before[number], places(before[number])
            at = min(max(int(row["which"]), 1), len(spots)) - 1
            if spots[at] != (one.start, one.end) and read_marked(sentence)[0] == one.sentence:
                sentence = to_lines([Occurrence(one.sentence, *spots[at])])
        if sentence.strip():
            lines.append(f"{sentence}\t{sense}" if sense else sentence)
    return "\n".join([*lines, *kept])
