"""Axes from opposites: two-dimensional oracles a person can check by eye, and what people may type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from embedviz.axes import axis, list_notes, place, read_pairs, read_words
from embedviz.errors import BadInput
from embedviz.figures.style import DESK
from embedviz.figures.table_parts import plane
from embedviz.meaning import Meaning, word
from embedviz.models.language_model import LanguageModel
from embedviz.tokens import Entry

Tiny = Callable[[str], LanguageModel]


def at(*coordinates: float, name: str = "x") -> Meaning:
    entry = Entry(1, name, name, name.encode(), False, "text")
    return Meaning(name, (entry,), np.array(coordinates, dtype=np.float32), ())


def test_an_axis_is_the_mean_difference_at_unit_length() -> None:
    found = axis([(at(0, 0, name="low"), at(4, 0, name="high")), (at(1, 1), at(1, 4))])
    assert found.direction == pytest.approx([0.8, 0.6])
    assert found.agreement == pytest.approx([0.8, 0.6])
    assert (found.low, found.high) == ("low", "high")
    assert axis([(at(0, 0), at(0, 2))]).agreement == pytest.approx([1])


def test_places_are_cosines_and_the_rest_is_left_out() -> None:
    across, up = axis([(at(0, 0, 0), at(1, 0, 0))]), axis([(at(0, 0, 0), at(0, 1, 0))])
    found = place((across, up), [at(3, 4, 0), at(0, 0, 2), at(1, 1, 2**0.5), at(0, 0, 0)])
    assert found.places[:3] == pytest.approx(np.array([[0.6, 0.8], [0, 0], [0.5, 0.5]]), abs=1e-7)
    assert found.left_out[:3] == pytest.approx([0, 1, 0.5], abs=1e-7)
    assert np.isnan(found.places[3]).all()
    assert np.isnan(found.left_out[3])
    assert found.between == 0


def test_the_pairs_own_words_are_landmarks_and_hollow_unless_they_were_asked_for() -> None:
    low, high, asked = (
        replace(one, entries=(replace(one.entries[0], id=id),))
        for id, one in enumerate((at(0, 0, 0, name="low"), at(2, 1, 0, name="high"), at(3, 4, 0)), start=1)
    )
    across, up = axis([(low, high)]), axis([(low, high)])
    found = place((across, up), [asked])
    assert [one.label for one in found.landmarks] == ["low", "high"]
    assert found.landmark_places[1] == pytest.approx([1, 1])
    filled, hollow = plane(found, DESK, width=900).data[:2]
    assert (len(filled.x), hollow.marker.symbol, list(hollow.x)) == (1, "circle-open", [1.0])
    assert [one.label for one in place((across, up), [high]).landmarks] == ["low"]


def test_the_mean_row_is_subtracted_on_request_and_its_effect_is_said() -> None:
    across, up = axis([(at(0, 0, 0), at(1, 0, 0))]), axis([(at(0, 0, 0), at(0, 1, 0))])
    words, mean = [at(3, 4, 0, name="far"), at(1, 1, 1, name="near")], np.array([3.0, 0.0, 0.0])
    plain, moved = place((across, up), words), place((across, up), words, mean_row=mean)
    assert moved.places[0] == pytest.approx([0, 1]) and moved.places[1] == pytest.approx([-2 / 6**0.5, 1 / 6**0.5])
    assert moved.left_out == pytest.approx([0, 1 / 6], abs=1e-7)
    assert np.array_equal(moved.uncentred, plain.places)
    titles = [plane(one, DESK, width=900).layout.annotations[0].text for one in (plain, moved)]
    assert ["less the mean row" in title for title in titles] == [False, True]
    assert moved.sentence.endswith("With the mean row subtracted, near moves most: across from .58 to −.82.")
    assert plain.sentence.endswith("0 is at a right angle to the axis, not half way between its ends.")


def test_axes_that_lean_on_each_other_still_span_their_plane_once() -> None:
    across, slanted = axis([(at(0, 0, 0), at(1, 0, 0))]), axis([(at(0, 0, 0), at(1, 1, 0))])
    found = place((across, slanted), [at(0, 5, 0), at(0, 3, 4)])
    assert found.left_out == pytest.approx([0, 16 / 25], abs=1e-7)
    assert found.between == pytest.approx(0.5**0.5)


def test_the_same_axis_twice_spans_a_line() -> None:
    across = axis([(at(0, 0), at(1, 0))])
    found = place((across, across), [at(3, 4)])
    assert found.left_out == pytest.approx([16 / 25])
    assert found.between == pytest.approx(1)


def test_what_makes_no_axis_is_one_sentence() -> None:
    for pairs, said in (
        ([], "at least one pair"),
        ([(at(1, 2, name="hot"), at(1, 2, name="hot"))], "hot and hot have the same row"),
        ([(at(0, 0), at(1, 0)), (at(1, 0), at(0, 0))], "cancel each other"),
    ):
        with pytest.raises(BadInput, match=said):
            axis(pairs)
    with pytest.raises(BadInput, match="No words"):
        place((axis([(at(0, 0), at(1, 0))]),) * 2, [])


@pytest.mark.parametrize(
    ("typed", "pairs"),
    [
        ("man, woman\nking,queen", (("man", "woman"), ("king", "queen"))),
        ("man woman; he she", (("man", "woman"), ("he", "she"))),
        ("hot / cold", (("hot", "cold"),)),
        ("hot – cold\n\n wet\tdry ", (("hot", "cold"), ("wet", "dry"))),
        ("New York, old town", (("New York", "old town"),)),
        ("and/or, either", (("and/or", "either"),)),
        ("well-known, unknown", (("well-known", "unknown"),)),
    ],
)
def test_pairs_are_read_as_people_type_them(typed: str, pairs: tuple[tuple[str, str], ...]) -> None:
    assert read_pairs(typed) == pairs


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "at least one pair"),
        (" \n; ", "at least one pair"),
        ("man, woman\nking", "king has 1"),
        ("man,", "man, has 1"),
        ("hot, warm, cold", "hot, warm, cold has 3"),
    ],
)
def test_an_axis_of_one_word_is_a_hint(typed: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_pairs(typed)


def test_word_lists_are_read_once_each_and_bounded() -> None:
    assert read_words("cat dog, cat\nriver") == (("cat dog", "cat", "river"), 3)
    assert read_words("cat dog\ncat") == (("cat", "dog"), 2)
    words, total = read_words(", ".join(f"word{k}" for k in range(730)))
    assert (len(words), total) == (500, 730)
    with pytest.raises(BadInput, match="No words"):
        read_words(" , ;\n")


def test_what_a_list_holds_too_much_of_is_said() -> None:
    assert list_notes("cat, dog", 2, "shown") == ()
    assert list_notes("cat, dog, cat", 2, "shown") == ("cat was given twice.",)
    assert list_notes("cat cat cat", 1, "read") == ("cat was given 3 times.",)
    again = " ".join(f"w{k} w{k}" for k in range(7))
    assert list_notes(again, 7, "read") == ("Given more than once: w0, w1, w2, w3, w4 and 2 more.",)
    assert list_notes("a b c", 2, "read") == ("2 of 3 words are read.",)


def test_nearly_all_is_not_100_percent() -> None:
    across, up = axis([(at(0, 0, 0), at(1, 0, 0))]), axis([(at(0, 0, 0), at(0, 1, 0))])
    assert place((across, up), [at(1, 0, 50)]).sentence.startswith("Over 99% of x is left out")
    assert place((across, up), [at(50, 0, 1)]).sentence.startswith("Under 1% of x is left out")


def test_the_side_without_words_is_the_narrower_one_and_every_word_is_in_sight() -> None:
    across, up = axis([(at(0, 0, 0), at(1, 0, 0))]), axis([(at(0, 0, 0), at(0, 1, 0))])
    figure = plane(place((across, up), [at(3, 4, 9), at(1, -4, 9)]), DESK, width=900)
    (left, right), (low, high) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert left < 0 < right and -left == pytest.approx(0.3 * right)
    assert low < min(figure.data[0].y) and high > max(figure.data[0].y)
    assert low < min(figure.data[1].y, default=0) and high > max(figure.data[1].y, default=0)
    zero = next(one for one in figure.layout.annotations if one.text.startswith("↑"))
    assert zero.x == pytest.approx(-left / (right - left))


def test_five_hundred_words_have_a_place_each(tiny: Tiny) -> None:
    model = tiny("gpt2")
    words = [word(model, f"bank{k}") for k in range(500)]
    both = axis([(word(model, "the"), word(model, "bank"))]), axis([(word(model, "in"), word(model, "at"))])
    found = place(both, words)
    assert found.places.shape == (500, 2)
    assert ((found.left_out >= 0) & (found.left_out <= 1)).all()


@pytest.mark.real_model
def test_women_and_men_lie_at_the_two_ends(smollm2: LanguageModel) -> None:
    gender, rank = (
        axis([(word(smollm2, low), word(smollm2, high)) for low, high in read_pairs(pairs)])
        for pairs in ("man woman; he she; boy girl; father mother", "poor rich; servant master; worker boss")
    )
    words = {name: word(smollm2, name) for name in ("king", "queen", "prince", "princess", "actor", "actress")}
    found = dict(zip(words, place((gender, rank), list(words.values())).places[:, 0], strict=True))
    for man, woman in (("king", "queen"), ("prince", "princess"), ("actor", "actress")):
        assert found[woman] - found[man] > 0.2
