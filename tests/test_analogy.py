"""Sums of rows: the plain sum and its neighbours, inputs left out, and what equal inputs turn it into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from embedviz.analogy import Analogy, analogy, expected
from embedviz.errors import BadInput
from embedviz.meaning import meaning, word
from embedviz.models.language_model import LanguageModel
from embedviz.table import EmbeddingTable
from embedviz.vocabulary_search import entry_list

Tiny = Callable[[str], LanguageModel]


def sum_of(model: LanguageModel, a: str, b: str, c: str, *, centre: bool = False, top: int = 10) -> Analogy:
    asked = [meaning(model, typed) for typed in (a, b, c)]
    return analogy(model.table, model.vocabulary, *asked, centre=centre, top=top)


@pytest.mark.parametrize("centre", [False, True])
def test_the_sum_and_its_neighbours_are_the_plain_ones(tiny: Tiny, centre: bool) -> None:
    model = tiny("gpt2")
    result = sum_of(model, "#60", "#61", "#62", centre=centre, top=400)
    rows = model.table.values.astype(np.float64)
    origin = rows.mean(axis=0) if centre else 0
    point, rows = rows[60] - rows[61] + rows[62] - origin, rows - origin
    cosines = rows @ point / np.linalg.norm(rows, axis=1) / np.linalg.norm(point)
    order = [k for k in np.argsort(-cosines, kind="stable") if k not in (0, 60, 61, 62)]
    assert [one.entry.id for one in result.neighbours.nearest] == order
    assert [one.value for one in result.neighbours.nearest] == pytest.approx(cosines[order].tolist(), abs=1e-9)
    assert result.neighbours.baseline.mean == pytest.approx(cosines.mean(), abs=1e-6)


def test_inputs_are_left_out_and_counted(tiny: Tiny) -> None:
    result = sum_of(tiny("gpt2"), "#60", "#61", "#62", top=400)
    assert [entry.id for entry in result.neighbours.left_out.inputs] == [60, 61, 62]
    assert result.inputs == (60, 61, 62)
    assert not {60, 61, 62} & {one.entry.id for one in result.neighbours.nearest}


def test_both_notations(tiny: Tiny) -> None:
    result = sum_of(tiny("gpt2"), " bank", " the", " in")
    assert result.sum == "␣bank − ␣the + ␣in"
    assert result.proportion == "␣the is to ␣bank as ␣in is to …"


@pytest.mark.parametrize(
    ("a", "b", "c", "note", "itself"),
    [
        ("#60", "#60", "#60", "All three are", 60),
        ("#60", "#60", "#62", "added and taken away: the sum is the row of", 62),
        ("#60", "#62", "#62", "added and taken away: the sum is the row of", 60),
        ("#60", "#62", "#60", "is added twice", None),
        ("#60", "#61", "#62", "", None),
    ],
)
def test_equal_inputs_are_said(tiny: Tiny, a: str, b: str, c: str, note: str, itself: int | None) -> None:
    model = tiny("gpt2")
    result = sum_of(model, a, b, c)
    assert len(result.notes) == (1 if note else 0)
    assert note in "".join(result.notes)
    if itself is not None:
        assert result.compared.vector == pytest.approx(model.table.values[itself].astype(float), abs=1e-12)


def test_king_minus_man_plus_king_is_a_sum_like_any_other(tiny: Tiny) -> None:
    model = tiny("gpt2")
    result = sum_of(model, " bank", " the", " bank")
    assert result.notes == ("␣bank is added twice.",)
    assert result.sentence.endswith("␣bank and ␣the are left out.")
    assert sum_of(model, " bank", " bank", " bank").sentence.endswith(". ␣bank is left out.")


def test_equal_notes_are_said_once_and_several_pieces_together(tiny: Tiny) -> None:
    model = tiny("gpt2")
    notes = sum_of(model, "bankers", "bankers", " the").notes
    assert len(notes) == 2 and notes[0].startswith("bankers is ")
    assert (
        "2 of the words are several pieces; the mean of their rows is shown."
        in sum_of(model, "bankers", "w12", " the").notes
    )


def test_a_word_without_a_space_before_it_has_a_hint(tiny: Tiny) -> None:
    model = tiny("gpt2")
    bare = [entry.text for entry in entry_list(model.vocabulary).entries if entry.kind == "text"]
    first, second = [text for text in bare if text.isalpha() and f" {text}" in bare][:2]
    said = f"No space stands before {first} and {second}; ␣{first} and ␣{second} are other rows."
    assert sum_of(model, first, second, " the").notes == (said,)
    assert sum_of(model, first, "#60", first).notes[-1] == f"No space stands before {first}; ␣{first} is another row."
    asked = [word(model, typed) for typed in (first, second, "bank")]
    assert analogy(model.table, model.vocabulary, *asked).notes == ()


def test_a_sum_of_zero_points_nowhere(tiny: Tiny) -> None:
    model = tiny("gpt2")
    rows = model.table.values.copy()
    rows[60], rows[61], rows[62] = [1] * 16, [3] * 16, [2] * 16
    asked = [replace(meaning(model, f"#{id}"), vector=rows[id]) for id in (60, 61, 62)]
    with pytest.raises(BadInput, match="all zeros: it points nowhere"):
        analogy(EmbeddingTable(rows, tied=True), model.vocabulary, *asked)


def test_the_place_of_an_expected_answer(tiny: Tiny) -> None:
    model = tiny("gpt2")
    result = sum_of(model, "#60", "#61", "#62", top=400)
    wanted = result.neighbours.nearest[37]
    found = expected(result, model.vocabulary, meaning(model, f"#{wanted.entry.id}"))
    assert (found.rank, found.value) == (38, pytest.approx(wanted.value, abs=1e-9))
    with pytest.raises(BadInput, match="left out of this list"):
        expected(result, model.vocabulary, meaning(model, "#61"))
    with pytest.raises(BadInput, match=r"must be one token\. bankers is \d+ pieces: [^.]+\.$"):
        expected(result, model.vocabulary, meaning(model, "bankers"))


@pytest.mark.real_model
@pytest.mark.parametrize(
    ("words", "answer", "value"),
    [
        ((" king", " man", " woman"), " queen", 0.72),
        ((" bigger", " big", " small"), " smaller", 0.81),
        ((" cats", " cat", " dog"), " dogs", 0.86),
    ],
)
def test_analogies_of_the_bundled_model(
    smollm2: LanguageModel, words: tuple[str, str, str], answer: str, value: float
) -> None:
    best = sum_of(smollm2, *words).neighbours.nearest[0]
    assert (best.entry.text, round(best.value, 2)) == (answer, value)


@pytest.mark.real_model
def test_capitals_fail_until_the_mean_row_is_subtracted_and_then_nearly_fail(smollm2: LanguageModel) -> None:
    rome = meaning(smollm2, " Rome")
    plain, centred = (sum_of(smollm2, " Paris", " France", " Italy", centre=centre) for centre in (False, True))
    assert expected(plain, smollm2.vocabulary, rome).rank > 10
    assert expected(centred, smollm2.vocabulary, rome).rank == 4
