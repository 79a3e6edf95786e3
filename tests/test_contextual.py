"""Contextual vectors against plain one-sentence calls of transformers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from embedviz import contextual
from embedviz.contextual import contextual_vectors, mean_cosine_of_different, random_pairs, remembered
from embedviz.errors import BadInput
from embedviz.gallery import reference_sentences
from embedviz.geometry import cosine
from embedviz.occurrences import Occurrence
from embedviz.words import read_marked, words_in
from tiny_models import ARCHITECTURES, BLOCKS, DIMENSIONS

CAUSAL = [name for name in ARCHITECTURES if name != "bert"]
LINES = [
    "The [bank] of the river was steep.",
    "[bank] by the water",
    "She left the river [bank]",
    "The [bank] by the bank, and the bank.",
    "The bank by the [bank], and the bank.",
    "The bank by the bank, and the [bank].",
    "Seán's café 😃 bank 😃👍🏽 [bank] naïve",
    "cafe\u0301 the\tmuddy  [bank]\n",
    "The [embankments] stood",
    "He paid $5 at “the [bank]”.",
    "A [naïve😃] seal",
]
PAIR = ["The [bank] of the river", "The [bank] of England"]


def occurrences(lines: list[str]) -> list[Occurrence]:
    found = []
    for k, line in enumerate(lines, 1):
        text, span = read_marked(line)
        assert span is not None
        found.append(Occurrence(text, *span, line=k))
    return found


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    remembered.clear()


@contextmanager
def counted(model: Any) -> Iterator[list[int]]:
    """The number of texts in each run of the network."""
    runs: list[int] = []
    hook = model._network.base_model.register_forward_pre_hook(
        lambda _module, _args, given: runs.append(len(given["input_ids"])), with_kwargs=True
    )
    try:
        yield runs
    finally:
        hook.remove()


def plain(folder: Any, start_id: int | None, one: Occurrence) -> tuple[np.ndarray, np.ndarray]:
    """(layer, piece, dimension) the word's states and (piece, dimension) its rows, by one call on one sentence."""
    network, tokenizer = AutoModel.from_pretrained(folder, dtype=torch.float32), AutoTokenizer.from_pretrained(folder)
    encoding = tokenizer(one.sentence, return_offsets_mapping=True)
    ids, offsets = encoding.input_ids, encoding.offset_mapping
    if start_id is not None and ids[0] != start_id:
        ids, offsets = [start_id, *ids], [(0, 0), *offsets]
    places = [k for k, (start, end) in enumerate(offsets) if start < one.end and end > one.start]
    with torch.inference_mode():
        hidden = network(torch.tensor([ids]), output_hidden_states=True).hidden_states
    rows = network.get_input_embeddings().weight[[ids[k] for k in places]].detach().numpy()
    return np.stack([state[0, places].numpy() for state in hidden]), rows


def expected(folder: Any, start_id: int | None, one: Occurrence, pooling: str) -> np.ndarray:
    states, rows = plain(folder, start_id, one)
    states[0] = rows
    return {"mean": states.mean(axis=1), "first": states[:, 0], "last": states[:, -1]}[pooling]


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float((np.linalg.norm(found - expected, axis=-1) / np.linalg.norm(expected, axis=-1)).max())


@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_vectors_equal_a_plain_call_on_each_sentence_alone(
    tiny: Callable[[str], Any], name: str, pooling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contextual, "PACK", 90)
    model, given = tiny(name), occurrences(LINES)
    found = contextual_vectors(model, given, pooling=pooling)
    assert found.occurrences == tuple(given) and found.complete and not found.skipped
    assert found.vectors.shape == (len(LINES), BLOCKS + 1, DIMENSIONS) and found.vectors.dtype == np.float32
    assert found.start_token == (name in CAUSAL) and not found.vectors.flags.writeable
    for one, vectors in zip(given, found.vectors, strict=True):
        assert relative(vectors, expected(model.spec.location.path, model.start_token_id, one, pooling)) < 1e-4


@pytest.mark.parametrize("name", CAUSAL)
def test_without_the_start_token_vectors_equal_the_plain_call_without_it(tiny: Callable[[str], Any], name: str) -> None:
    model, given = tiny(name), occurrences(LINES)
    found = contextual_vectors(model, given, start_token=False)
    for one, vectors in zip(given, found.vectors, strict=True):
        assert relative(vectors, expected(model.spec.location.path, None, one, "mean")) < 1e-4


@pytest.mark.real_model
@pytest.mark.parametrize("name", ["smollm2-135m", "minilm-l6"])
def test_bundled_models_equal_a_plain_call_on_each_sentence_alone(name: str) -> None:
    import embedviz
    from embedviz.models.catalog import find
    from embedviz.models.prepare import prepare

    model, given = embedviz.load(name), occurrences(LINES)
    found = contextual_vectors(model, given)
    folder = prepare(find(name)).folder
    for one, vectors in zip(given, found.vectors, strict=True):
        assert relative(vectors, expected(folder, model.start_token_id, one, "mean")) < 1e-4


def test_pieces_name_the_words_own_tokens_after_the_start_token(tiny: Callable[[str], Any]) -> None:
    for name in ARCHITECTURES:
        found = contextual_vectors(tiny(name), occurrences(LINES))
        for one, pieces in zip(found.occurrences, found.pieces, strict=True):
            assert pieces[0].start <= one.start < pieces[0].end and pieces[-1].end >= one.end
            tokens = tiny(name).tokenise(one.sentence, start_token=name in CAUSAL)
            assert all(tokens.tokens[piece.position] == piece for piece in pieces)
    assert contextual_vectors(tiny("gpt2"), occurrences(["[bank]"])).pieces[0][0].position == 1


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_what_follows_the_word_moves_it_only_in_a_model_that_reads_both_ways(
    tiny: Callable[[str], Any], name: str
) -> None:
    with counted(tiny(name)) as runs:
        river, england = contextual_vectors(tiny(name), occurrences(PAIR)).vectors
    assert runs == [2]
    assert np.array_equal(river[0], england[0])
    if name in CAUSAL:
        assert np.array_equal(river, england)
    else:
        assert (np.abs(river[1:] - england[1:]).max(axis=1) > 0).all()


@pytest.mark.real_model
def test_the_bundled_models_bank_is_the_same_until_the_clue_is_read(smollm2: Any) -> None:
    river, england = contextual_vectors(smollm2, occurrences(PAIR)).vectors
    assert np.array_equal(river, england)
    contextual_vectors(smollm2, occurrences([PAIR[0], *LINES]))
    alone = contextual_vectors(smollm2, occurrences(PAIR[1:])).vectors[0]
    assert relative(alone, river) < 1e-4


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_the_static_row_is_the_same_to_the_bit_in_all_sentences(
    tiny: Callable[[str], Any], name: str, pooling: Any
) -> None:
    given = occurrences([f"{'By the water ' * k}the [embankments] stood" for k in range(5)])
    vectors = contextual_vectors(tiny(name), given, pooling=pooling).vectors
    assert (vectors[:, 0] == vectors[0, 0]).all()
    assert not (vectors[1:, 1] == vectors[0, 1]).all()


def test_none_one_and_twenty_copies(tiny: Callable[[str], Any]) -> None:
    model = tiny("gpt2")
    none = contextual_vectors(model, [])
    assert none.vectors.shape == (0, BLOCKS + 1, DIMENSIONS) and none.complete and none.asked == 0
    one = contextual_vectors(model, occurrences(LINES[:1]))
    assert one.vectors.shape == (1, BLOCKS + 1, DIMENSIONS)
    remembered.clear()
    with counted(model) as runs:
        copies = contextual_vectors(model, occurrences(LINES[:1] * 20))
    assert runs == [1] and len(copies.occurrences) == 20 and (copies.vectors == copies.vectors[0]).all()


def test_what_cannot_be_read_is_skipped_with_its_line_and_the_rest_is_kept(tiny: Callable[[str], Any]) -> None:
    model = tiny("gpt2")
    long = "by the water " * 40
    given = [
        Occurrence("The bank", 4, 8, line=3),
        Occurrence("The bank", 4, 99, line=4),
        Occurrence("The bank", -4, 2, line=5),
        Occurrence("The bank", 4, 4),
        Occurrence("", 0, 0, line=7),
        Occurrence(long + "bank", len(long), len(long) + 4, line=8),
        Occurrence("bank " + long, 0, 4, line=9),
    ]
    found = contextual_vectors(model, given, limit=20)
    assert [one.line for one in found.occurrences] == [3, 9] and found.complete and found.asked == 7
    assert [one.line for one in found.skipped] == [4, 5, 4, 7, 8]
    assert "not inside this text of 8 characters" in found.skipped[0].reason
    assert "bank was cut off: only 20 of" in found.skipped[-1].reason
    assert len(found.notes) == 1 and found.notes[0].startswith("Line 9: 20 of")
    assert len(contextual_vectors(model, given, limit=None).occurrences) == 2


def test_a_word_that_the_limit_cuts_in_two_is_skipped(tiny: Callable[[str], Any]) -> None:
    model = tiny("gpt2")
    one = Occurrence("The embankments", 4, 15, line=1)
    tokens = model.tokenise(one.sentence, start_token=True)
    found = contextual_vectors(model, [one], limit=len(tokens) - 1)
    assert not found.occurrences and "embankments was cut in two" in found.skipped[0].reason


def test_one_note_for_many_lines(tiny: Callable[[str], Any]) -> None:
    found = contextual_vectors(tiny("bert"), occurrences([f"{'a ' * k}😃 [bank]" for k in range(5)]))
    assert len(found.notes) == 1
    assert found.notes[0].startswith("Lines 1, 2, 3 and 2 more: Not in the vocabulary")


def test_wrong_settings_are_refused(tiny: Callable[[str], Any]) -> None:
    with pytest.raises(BadInput, match="mean, first or last; 'max' is none"):
        contextual_vectors(tiny("gpt2"), [], pooling="max")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="has no start token"):
        contextual_vectors(tiny("bert"), occurrences(PAIR), start_token=True)


def test_a_second_look_runs_no_model_and_a_larger_set_only_what_is_new(tiny: Callable[[str], Any]) -> None:
    model, given = tiny("llama"), occurrences(LINES)
    with counted(model) as runs:
        first = contextual_vectors(model, given[:6])
        assert sum(runs) == 6
        again = contextual_vectors(model, given[:6])
        assert sum(runs) == 6 and np.array_equal(first.vectors, again.vectors) and first.pieces == again.pieces
        more = contextual_vectors(model, [*reversed(given), *occurrences(PAIR)])
        assert sum(runs) == len(LINES) + 2
        assert np.array_equal(more.vectors[: len(LINES)][::-1][:6], first.vectors)
        contextual_vectors(model, given[:6], pooling="last")
        contextual_vectors(model, given[:6], start_token=False)
        assert sum(runs) == len(LINES) + 2 + 12


def test_progress_counts_occurrences_and_stop_keeps_what_was_read(
    tiny: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contextual, "PACK", 40)
    model = tiny("gpt2")
    given = [*occurrences(LINES), Occurrence("bank", 3, 9, line=12), *occurrences(LINES[1:2])]
    told: list[tuple[int, int]] = []
    part = contextual_vectors(
        model, given, progress=lambda done, all: told.append((done, all)), stop=lambda: len(told) == 1
    )
    assert told == [(len(part.occurrences), 12)] and 0 < told[0][0] < 12
    assert not part.complete and part.asked == 13 and len(part.skipped) == 1
    with counted(model) as runs:
        rest = contextual_vectors(model, given, progress=lambda done, all: told.append((done, all)))
    assert told[-1] == (12, 12) and rest.complete and told == sorted(told)
    # The last of all is a copy of the second.
    assert sum(runs) == len(LINES) - len({(one.sentence, one.start) for one in part.occurrences})
    never = contextual_vectors(model, occurrences(PAIR), stop=lambda: True)
    assert never.vectors.shape[0] == 0 and not never.complete and never.asked == 2


def test_others_get_the_model_between_batches(tiny: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contextual, "PACK", 1)
    model, begun, done = tiny("gpt2"), threading.Event(), threading.Event()

    def other() -> None:
        begun.wait()
        model.states([model.tokenise("The bank")])
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    given = occurrences([f"The [bank] {k}" for k in range(200)])
    found = contextual_vectors(model, given, progress=lambda *_: begun.set(), stop=done.is_set)
    thread.join()
    assert not found.complete


def test_many_visitors_at_once_get_the_same(tiny: Callable[[str], Any]) -> None:
    model, given = tiny("gpt_neox"), occurrences(LINES)
    alone = contextual_vectors(model, given).vectors
    remembered.clear()
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda k: contextual_vectors(model, given[k:]), range(8)):
            assert relative(found.vectors, alone[len(LINES) - len(found.vectors) :]) < 1e-5


def test_pairs_of_one_word_are_left_out_of_the_mean() -> None:
    vectors = np.array([[[1, 0], [0, 2], [3, 0]], [[1, 1], [1, 0], [0, 5]]], dtype=np.float32)
    assert mean_cosine_of_different(vectors, ["a", "a", "b"]) == pytest.approx([0.5, np.sqrt(0.5) / 2])


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_random_pairs_equal_all_pairs_one_by_one(tiny: Callable[[str], Any], name: str) -> None:
    model = tiny(name)
    given = [
        Occurrence(text, *span)
        for text in reference_sentences()
        for span in words_in(text)
        if text[slice(*span)].isalpha()
    ]
    vectors = contextual_vectors(model, given).vectors
    words = [one.word.lower() for one in given]
    different = np.array([[a != b for a in words] for b in words])
    for layer, found in enumerate(random_pairs(model)):
        states = vectors[:, layer]
        assert found == pytest.approx(cosine(states[:, None], states[None])[different].mean(), abs=1e-5)
    with counted(model) as runs:
        assert random_pairs(model) is random_pairs(model) and runs == []


@pytest.mark.real_model
def test_random_pairs_of_the_bundled_model(smollm2: Any) -> None:
    found = random_pairs(smollm2)
    assert found.shape == (31,)
    assert found[0] == pytest.approx(0.08, abs=0.03) and found[9] == pytest.approx(0.59, abs=0.05)
