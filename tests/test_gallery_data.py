"""The gallery's sentences keep their own rules, so that a teacher's edit cannot quietly spoil a picture."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent.parent / "embedviz" / "data"
GALLERY: dict[str, Any] = tomllib.loads((DATA / "senses.toml").read_text(encoding="utf-8"))
REFERENCE = (DATA / "reference.txt").read_text(encoding="utf-8").splitlines()
CLUES = ("before", "after")
SENSES = [(entry["word"], sense) for entry in GALLERY["word"] for sense in entry["sense"]]
SENTENCES = [
    (word, clue, sentence) for word, sense in SENSES for clue in CLUES for sentence in sense.get(f"clue_{clue}", [])
]
PAIRS = GALLERY["pair"]
PAIR_SENTENCES = [(pair["word"], pair["clue"], item["sentence"]) for pair in PAIRS for item in pair["sentences"]]
OPENING = {
    "river": ["climbed", "lake", "river", "reeds", "willows"],
    "money": ["loan", "cash", "account", "dollars", "deposit"],
}
# Words that can stand in any sentence: no sense hangs on them.
COMMON_WORDS = """
a about across after again all already always an and another any are around as at away back be because been before
behind below beneath beside between both but by can could did do does down each even every everyone first for from
get had has have he her here him his how i if in inside into is it its last less like long many may me more most
must my near need nobody not nothing of off old on once one onto only open or other our out outside over put so
some still that the their them then there they this through to too two under until up us use very was we were
what when where which while who will with without you your
"""
COMMON = frozenset(COMMON_WORDS.split())


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z]+(?:['-][a-z]+)*", text.lower())


def stem(word: str) -> str:
    """Enough to see that `sings` and `singing` are one giveaway."""
    word = word.removesuffix("'s")
    for ending in ("ing", "ers", "er", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word


def content(text: str) -> set[str]:
    return {stem(word) for word in words_of(text) if word not in COMMON}


def cut(sentence: str) -> tuple[str, str, str]:
    """What stands before the mark, in it, and after it."""
    before, rest = sentence.split("[")
    marked, after = rest.split("]")
    return before, marked, after


def plain(sentence: str) -> str:
    return sentence.replace("[", "").replace("]", "")


def label(value: Any) -> str:
    return f"{value['name']}" if isinstance(value, dict) and "name" in value else str(value)


def test_the_gallery_has_words_enough() -> None:
    words = [entry["word"] for entry in GALLERY["word"]]
    assert len(words) == len(set(words)) >= 26
    senses = {entry["word"]: [sense["name"] for sense in entry["sense"]] for entry in GALLERY["word"]}
    assert all(len(names) == len(set(names)) >= 2 for names in senses.values())
    assert words[0] == "bank" and senses["bank"] == ["river", "money"]
    assert senses["spring"] == ["season", "water", "coil"]


def test_nothing_stands_in_the_file_that_no_one_reads() -> None:
    assert set(GALLERY) == {"word", "pair"}
    assert all(set(entry) == {"word", "sense"} for entry in GALLERY["word"])
    assert all(set(pair) == {"word", "clue", "sentences"} for pair in PAIRS)
    assert all(set(item) == {"sense", "sentence"} for pair in PAIRS for item in pair["sentences"])


@pytest.mark.parametrize(("word", "sense"), SENSES, ids=label)
class TestEachSense:
    def test_ten_sentences_with_the_clue_on_both_sides(self, word: str, sense: dict[str, Any]) -> None:
        assert set(sense) == {"name", "meaning", "clue_before", "clue_after"}
        assert len(sense["clue_before"]) >= 5 and len(sense["clue_after"]) >= 3
        assert len(sense["clue_before"]) + len(sense["clue_after"]) == 10

    def test_a_name_fits_the_picture(self, word: str, sense: dict[str, Any]) -> None:
        assert re.fullmatch(r"[a-z]{1,9}", sense["name"])
        assert sense["meaning"].strip() and word not in words_of(sense["meaning"])

    def test_no_giveaway_word_carries_the_sense(self, word: str, sense: dict[str, Any]) -> None:
        sentences = sense["clue_before"] + sense["clue_after"]
        uses = Counter(chain.from_iterable(content(plain(sentence)) for sentence in sentences))
        del uses[stem(word)]
        assert {giveaway: n for giveaway, n in uses.items() if n > 3} == {}

    def test_the_word_moves_about_in_the_sentence(self, word: str, sense: dict[str, Any]) -> None:
        sentences = sense["clue_before"] + sense["clue_after"]
        places = Counter(len(words_of(cut(sentence)[0])) for sentence in sentences)
        assert len(places) >= 4
        assert all(len(words_of(cut(sentence)[0])) > 0 for sentence in sense["clue_before"])
        assert places[0] <= 1

    def test_sentences_begin_in_different_ways(self, word: str, sense: dict[str, Any]) -> None:
        sentences = sense["clue_before"] + sense["clue_after"]
        firsts = Counter(words_of(sentence)[0] for sentence in sentences)
        assert max(firsts.values()) <= 6
        assert len({" ".join(words_of(sentence)[:3]) for sentence in sense["clue_before"]}) == len(sense["clue_before"])


def test_the_word_stands_once_and_marked() -> None:
    for word, _, sentence in SENTENCES + PAIR_SENTENCES:
        assert sentence.count("[") == sentence.count("]") == 1, sentence
        before, marked, after = cut(sentence)
        assert marked == word, sentence
        assert not re.search(r"[\w'-]$", before) and not re.match(r"[\w'-]", after), sentence
        forms = re.compile(rf"{re.escape(word)}(s|es|ed|ing|'s|s')?")
        assert sum(bool(forms.fullmatch(part)) for part in words_of(plain(sentence))) == 1, sentence


def test_a_sentence_is_a_sentence() -> None:
    for _, clue, sentence in SENTENCES:
        assert 6 <= len(plain(sentence).split()) <= 16, sentence
        assert re.fullmatch(r"[A-Z].*[.?!]", plain(sentence)), sentence
        before, _, after = cut(sentence)
        assert content(before if clue == "before" else after), f"no word for a clue {clue} the mark: {sentence}"


def test_characters_are_plain() -> None:
    for text in [sentence for *_, sentence in SENTENCES + PAIR_SENTENCES] + REFERENCE:
        assert text.isascii() and text.isprintable(), text
        assert '"' not in text and "`" not in text, text
        assert text == " ".join(text.split()), text


def test_no_sentence_stands_twice() -> None:
    texts = [plain(sentence) for *_, sentence in SENTENCES + PAIR_SENTENCES] + REFERENCE
    assert [text for text, n in Counter(" ".join(words_of(text)) for text in texts).items() if n > 1] == []


def test_a_neutral_beginning_does_not_decide() -> None:
    """Of the words before a mark with the clue after it, none may stand before the mark in only one sense's clues."""
    for entry in GALLERY["word"]:
        clues = {
            sense["name"]: set().union(*(content(cut(s)[0]) for s in sense["clue_before"])) for sense in entry["sense"]
        }
        for sense in entry["sense"]:
            others = set().union(*(words for name, words in clues.items() if name != sense["name"]))
            for sentence in sense["clue_after"]:
                assert content(cut(sentence)[0]) & (clues[sense["name"]] - others) == set(), sentence


@pytest.mark.parametrize("sense", GALLERY["word"][0]["sense"], ids=label)
def test_the_opening_example_has_one_clear_clue_each(sense: dict[str, Any]) -> None:
    clues = OPENING[sense["name"]]
    everything = {clue for group in OPENING.values() for clue in group}
    for clue, sentence in zip(clues, sense["clue_before"][:5], strict=True):
        assert everything & set(words_of(cut(sentence)[0])) == {clue}


def test_there_are_pairs_enough() -> None:
    before = [pair["word"] for pair in PAIRS if pair["clue"] == "before"]
    after = [pair["word"] for pair in PAIRS if pair["clue"] == "after"]
    assert len(before) >= 12 and len(set(before)) >= 8
    assert len(after) >= 6
    assert len(before) + len(after) == len(PAIRS)
    assert [item["sentence"] for pair in PAIRS if pair["clue"] == "after" for item in pair["sentences"]][:2] == [
        "The [bank] of the river",
        "The [bank] of England",
    ]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['word']}-{pair['clue']}")
def test_a_pair_differs_where_it_says(pair: dict[str, Any]) -> None:
    one, two = pair["sentences"]
    known = {sense["name"] for word, sense in SENSES if word == pair["word"]}
    assert one["sense"] != two["sense"] and {one["sense"], two["sense"]} <= known
    left, right = one["sentence"].split(), two["sentence"].split()
    assert 4 <= len(left) <= 16 and 4 <= len(right) <= 16
    if pair["clue"] == "before":
        assert len(left) == len(right)
        [place] = [k for k, (a, b) in enumerate(zip(left, right, strict=True)) if a != b]
        assert place < next(k for k, part in enumerate(left) if "[" in part)
    else:
        assert cut(one["sentence"])[0] == cut(two["sentence"])[0]
        assert cut(one["sentence"])[2] != cut(two["sentence"])[2]


def test_reference_sentences_are_many_and_varied() -> None:
    assert len(REFERENCE) == 60
    assert all(8 <= len(line.split()) <= 16 and re.fullmatch(r"[A-Z].*[.?!]", line) for line in REFERENCE)
    uses = Counter(chain.from_iterable(content(line) for line in REFERENCE))
    assert {word: n for word, n in uses.items() if n > 4} == {}
    assert len(uses) >= 250
