"""The gallery as objects; what its sentences must be is in test_gallery_data."""

from __future__ import annotations

import pytest

from embedviz.gallery import gallery, reference_sentences


def test_every_sentence_of_the_gallery_marks_its_word() -> None:
    assert len(gallery()) >= 26
    for name, entry in gallery().items():
        assert entry.word == name
        assert {one.word for one in entry.occurrences("all")} == {name}
        assert all(one.sense in {sense.name for sense in entry.senses} for one in entry.occurrences("all"))
        assert not any("[" in one.sentence for one in entry.occurrences("all"))


def test_the_opening_example_is_five_of_each_sense_of_the_first_word() -> None:
    first = next(iter(gallery().values()))
    chosen = first.occurrences("before", per_sense=5)
    assert [one.sense for one in chosen] == ["river"] * 5 + ["money"] * 5
    assert chosen[0].sentence == "An otter climbed up the bank and shook itself dry."
    assert (chosen[0].start, chosen[0].end, chosen[0].line) == (24, 28, None)


def test_clues_before_and_after_are_all_there_is() -> None:
    spring = gallery()["spring"]
    before, after = spring.occurrences(), spring.occurrences("after")
    assert len(spring.occurrences("all")) == len(before) + len(after) == 30
    assert {*before, *after} == {*spring.occurrences("all")}
    assert spring.occurrences("all", per_sense=1) == tuple(sense.clue_before[0] for sense in spring.senses)
    assert len(spring.occurrences("all", per_sense=99)) == 30


def test_pairs_are_two_senses_of_their_word() -> None:
    pairs = [(name, pair) for name, entry in gallery().items() for pair in entry.pairs]
    assert len(pairs) >= 18
    for name, pair in pairs:
        one, two = pair.occurrences
        assert one.word == two.word == name and one.sense != two.sense
    [after] = [pair for pair in gallery()["bank"].pairs if pair.clue == "after"]
    assert [one.sentence for one in after.occurrences] == ["The bank of the river", "The bank of England"]


def test_what_is_shared_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        gallery()["bank"] = gallery()["spring"]  # type: ignore[index]
    assert len(reference_sentences()) == 60
