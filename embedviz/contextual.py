"""Contextual vectors: one word's states in its sentences, at all layers, and how alike any two words are there.

Only the marked word's states are kept. Sentences are sorted by length and run in batches of equal cost, without the
head and without a key–value cache. A causal model is fed one start token first, which is left out of all results: its
first position becomes an attention sink (Xiao et al. 2024), whose vector would ruin every cosine it enters.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput
from embedviz.gallery import reference_sentences
from embedviz.geometry import unit
from embedviz.numbers import count
from embedviz.occurrences import Occurrence, Skipped
from embedviz.tokens import Span, Token, Tokens, positions, visible
from embedviz.vector_cache import VectorCache
from embedviz.words import words_in

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel
    from embedviz.table import Vectors

Text = TypeVar("Text")
# Sentence, span, pooling, start token, limit: what decides a vector of one loaded model.
Key = tuple[str, int, int, str, bool, int | None]
Pooling = Literal["mean", "first", "last"]
POOLINGS: tuple[Pooling, ...] = ("mean", "first", "last")

# Tokens of a batch, padding counted: of 250, 500 and 1,000 the middle one was fastest on two cores (.79, .84 and .74 of
# the speed of the bare matrix products). More spill out of the processor's cache.
PACK = 512
# Most tokens of a sentence that pages read.
LIMIT = 512

remembered = VectorCache(most=256 * 2**20)


@dataclass(frozen=True, eq=False)
class ContextualVectors:
    """A word's vectors in its sentences.

    model: the model's name. pooling: how a word's pieces became one vector. start_token: whether one was fed first.
    occurrences: those that were read, in the order given. pieces: the tokens of each, with their places in the text; a
        start token counts as position 0.
    vectors: (occurrence, layer, dimension) float32, read-only. Layer 0 is the table row (pooled over the word's
        pieces), layer k the state after block k, the last one after the final norm where the architecture has one.
    skipped: those that cannot be read, with their line and the reason. notes: what a reader must know.
    asked: how many occurrences were given; after `stop` some are neither read nor skipped.
    """

    model: str
    occurrences: tuple[Occurrence, ...]
    pieces: tuple[tuple[Token, ...], ...]
    vectors: Vectors
    pooling: Pooling
    start_token: bool
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]
    asked: int

    @property
    def complete(self) -> bool:
        """Whether every occurrence was read or skipped: not stopped before the end."""
        return len(self.occurrences) + len(self.skipped) == self.asked


@dataclass(frozen=True, eq=False)
class Use:
    """One occurrence as a model read it: its pieces, (layer, dimension) vectors, and notes on its sentence."""

    pieces: tuple[Token, ...]
    vectors: Vectors
    notes: tuple[str, ...]


def contextual_vectors(
    model: LanguageModel,
    occurrences: Sequence[Occurrence],
    *,
    pooling: Pooling = "mean",
    start_token: bool | None = None,
    limit: int | None = LIMIT,
    progress: Callable[[int, int], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> ContextualVectors:
    """The vectors of a marked word in its sentences, at all layers. What was read before is not read again.

    pooling: "mean", "first" or "last" of the word's pieces. start_token: None feeds one to causal models that have one.
    limit: most tokens read of a sentence; None for all that the model can read at once.
    progress: told (done, all) occurrences after each batch. stop: asked before each batch; what was read till then is
    returned. Other threads get their turn at the model between batches.
    A causal model is given a sentence up to its marked word only: what follows cannot move its vector (`occlusion`
    reads it all the same, and measures 0).
    Raises BadInput for an unknown pooling, and for a start token asked of a model without one.
    """
    check_pooling(pooling)
    start_token, causal = starts(model, start_token), model.spec.reads_left_to_right
    keys: list[Key] = [(one.sentence, one.start, one.end, pooling, start_token, limit) for one in occurrences]
    found: dict[Key, Use] = {}
    waiting: dict[Key, tuple[Tokens, tuple[int, ...]]] = {}
    refused: dict[Key, str] = {}
    for key, one in zip(keys, occurrences, strict=True):
        if key in found or key in waiting or key in refused:
            continue
        if (known := remembered.get(model, key)) is not None:
            found[key] = known
            continue
        tokens = model.tokenise(one.sentence, start_token=start_token, limit=limit)
        try:
            asked = whole_word(tokens, (one.start, one.end))
            waiting[key] = up_to(tokens, asked[-1]) if causal else tokens, asked
        except BadInput as error:
            refused[key] = str(error)
    for batch in packed(list(waiting), [len(tokens) for tokens, _ in waiting.values()]):
        if stop is not None and stop():
            break
        texts, places = zip(*(waiting[key] for key in batch), strict=True)
        for key, states in zip(batch, model.states_at(texts, places), strict=True):
            tokens, asked = waiting[key]
            use = Use(tuple(tokens.tokens[place] for place in asked), pooled(states, pooling), tokens.notes)
            found[key] = use
            remembered.put(model, key, use, use.vectors.nbytes + 4 * len(tokens.text) + 1000)
        if progress is not None:
            progress(sum(key in found for key in keys), sum(key not in refused for key in keys))
        # A lock is not fair: without a pause this thread would mostly take the model's again before one that waits.
        time.sleep(0.001)
    return _assembled(model, occurrences, keys, found, refused, pooling, start_token)


def _assembled(
    model: LanguageModel,
    occurrences: Sequence[Occurrence],
    keys: Sequence[Key],
    found: dict[Key, Use],
    refused: dict[Key, str],
    pooling: Pooling,
    start_token: bool,
) -> ContextualVectors:
    lines = [one.line if one.line is not None else k for k, one in enumerate(occurrences, 1)]
    kept = [k for k, key in enumerate(keys) if key in found]
    uses = [found[keys[k]] for k in kept]
    vectors = np.empty((len(kept), model.spec.blocks + 1, model.table.dimensions), dtype=np.float32)
    for k, use in enumerate(uses):
        vectors[k] = use.vectors
    vectors.flags.writeable = False
    return ContextualVectors(
        model=model.spec.name,
        occurrences=tuple(occurrences[k] for k in kept),
        pieces=tuple(use.pieces for use in uses),
        vectors=vectors,
        pooling=pooling,
        start_token=start_token,
        skipped=tuple(Skipped(line, refused[key]) for line, key in zip(lines, keys, strict=True) if key in refused),
        notes=_notes([(lines[k], note) for k, use in zip(kept, uses, strict=True) for note in use.notes]),
        asked=len(occurrences),
    )


def _notes(said: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """Each thing said once, with its first three lines."""
    lines: dict[str, list[int]] = {}
    for line, note in said:
        lines.setdefault(note, []).append(line)
    return tuple(
        f"{'Line' if len(at) == 1 else 'Lines'} {', '.join(count(line) for line in at[:3])}"
        f"{f' and {count(len(at) - 3)} more' if len(at) > 3 else ''}: {note}"
        for note, at in lines.items()
    )


def whole_word(tokens: Tokens, span: Span) -> tuple[int, ...]:
    """Positions of a word's tokens, as `positions` finds them. Raises BadInput too where a cut goes through it."""
    places = positions(tokens, span)
    if tokens.total > len(tokens) and tokens.tokens[places[-1]].end < span[1]:
        word = visible(tokens.text[slice(*span)])
        raise BadInput(f"{word} was cut in two: only {len(tokens)} of {tokens.total} tokens were read.")
    return places


def up_to(tokens: Tokens, position: int) -> Tokens:
    """The tokens up to a position: all that a causal model's state there depends on, and less to read."""
    return replace(tokens, tokens=tokens.tokens[: position + 1])


def starts(model: LanguageModel, start_token: bool | None) -> bool:
    """Whether a start token is fed first: as asked, and where nothing is asked, for models that have one."""
    return model.start_token_id is not None if start_token is None else start_token


def check_pooling(pooling: str) -> None:
    """Raise BadInput for a pooling that is none of the three."""
    if pooling not in POOLINGS:
        raise BadInput(
            f"Pieces are pooled by {', '.join(POOLINGS[:-1])} or {POOLINGS[-1]}; {pooling!r} is none of these."
        )


def pooled(states: Vectors, pooling: Pooling) -> Vectors:
    """(layer, dimension) one vector from those of a word's pieces (layer, piece, dimension), as a read-only copy."""
    if pooling == "mean":
        vector = states.mean(axis=1, dtype=np.float64).astype(np.float32)
    else:
        vector = states[:, 0 if pooling == "first" else -1].copy()
    vector.flags.writeable = False
    return vector


def packed(texts: Sequence[Text], lengths: Sequence[int]) -> Iterator[list[Text]]:
    """Batches of texts of like length, shortest first, each of at most `PACK` tokens with its padding."""
    batch: list[Text] = []
    for k in sorted(range(len(texts)), key=lambda k: lengths[k]):
        if batch and (len(batch) + 1) * lengths[k] > PACK:
            yield batch
            batch = []
        batch.append(texts[k])
    if batch:
        yield batch


@dataclass(frozen=True, eq=False)
class RandomWords:
    """Words of `data/reference.txt` as a model reads them: what any two words have in common.

    pairs: (layer,) mean cosine of two different words, exact over all pairs that differ in spelling, capitals aside.
    sample: (word, layer, dimension) float32, one use of each of some words, evenly from the text.
    """

    pairs: NDArray[np.float64]
    sample: Vectors


# Words kept as a sample: 7 MB for 31 layers of 576 dimensions.
SAMPLED = 100
_baselines: WeakKeyDictionary[LanguageModel, dict[bool, RandomWords]] = WeakKeyDictionary()
_baselines_lock = threading.Lock()


def random_pairs(model: LanguageModel, *, start_token: bool | None = None) -> NDArray[np.float64]:
    """(layer,) the mean cosine of two different words of `data/reference.txt`: the baseline of every cosine here."""
    return random_words(model, start_token=start_token).pairs


def random_words(model: LanguageModel, *, start_token: bool | None = None) -> RandomWords:
    """Words of our own text. A word is letters only, and its vector the mean of its pieces. Once for a loaded model."""
    start_token = starts(model, start_token)
    with _baselines_lock:
        known = _baselines.setdefault(model, {})
        if start_token not in known:
            known[start_token] = _random_words(model, start_token)
        return known[start_token]


def _random_words(model: LanguageModel, start_token: bool) -> RandomWords:
    texts = [model.tokenise(sentence, start_token=start_token) for sentence in reference_sentences()]
    words: list[str] = []
    vectors: list[Vectors] = []
    for batch in packed(texts, [len(tokens) for tokens in texts]):
        spans = [[span for span in words_in(tokens.text) if tokens.text[slice(*span)].isalpha()] for tokens in batch]
        asked = [[positions(tokens, span) for span in found] for tokens, found in zip(batch, spans, strict=True)]
        states = model.states_at(batch, [[place for word in one for place in word] for one in asked])
        for tokens, found, one, several in zip(batch, spans, asked, states, strict=True):
            ends = np.cumsum([len(word) for word in one])[:-1]
            vectors += [pooled(pieces, "mean") for pieces in np.split(several, ends, axis=1)]
            words += [tokens.text[slice(*span)].casefold() for span in found]
    first = [words.index(word) for word in dict.fromkeys(words)]
    kept = [first[k] for k in np.linspace(0, len(first) - 1, min(SAMPLED, len(first))).round().astype(int)]
    sample = np.stack([vectors[k] for k in kept])
    sample.flags.writeable = False
    return RandomWords(mean_cosine_of_different(np.stack(vectors, axis=1), words), sample)


def mean_cosine_of_different(vectors: Vectors, words: Sequence[str]) -> NDArray[np.float64]:
    """(layer,) mean cosine over all pairs of vectors (layer, word, dimension) that are not of one word.

    The sum over all pairs is the squared length of the sum of the unit vectors; pairs of one word are taken off again.
    """
    _, groups, sizes = np.unique(words, return_inverse=True, return_counts=True)
    means = np.empty(len(vectors))
    for layer, states in enumerate(vectors):
        sums = np.zeros((len(sizes), states.shape[1]))
        np.add.at(sums, groups, unit(states.astype(np.float64)))
        means[layer] = np.square(sums.sum(axis=0)).sum() - np.square(sums).sum()
    means /= len(words) ** 2 - np.square(sizes).sum()
    means.flags.writeable = False
    return means
