"""What moved a word's vector: each other word of its sentence taken out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embedviz.contextual import LIMIT, Pooling, check_pooling, pooled, remembered, starts, whole_word
from embedviz.numbers import count
from embedviz.occurrences import Occurrence
from embedviz.tokens import Span, Tokens, positions
from embedviz.words import words_in

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel
    from embedviz.table import Vectors

# Most words taken out of a sentence, and most tokens of the one batch, padding counted: about 300 MB of states.
MOST_WORDS = 60
MOST_TOKENS = 4096


@dataclass(frozen=True, eq=False)
class Occlusion:
    """A marked word's vectors with each other word of its sentence taken out.

    words: the span in the sentence of each word taken out, in order.
    whole: (layer, dimension) with nothing taken out, from the same batch. Layers as in `ContextualVectors`.
    vectors: (word, layer, dimension) with that word taken out. Both float32, read-only.
    recut: (word,) whether the marked word was then cut into other tokens, as when it comes to stand first: its vector
        moves for that reason too, at layer 0 already.
    In a causal model, what stands after the marked word moves nothing: the difference is exactly 0.
    """

    model: str
    occurrence: Occurrence
    words: tuple[Span, ...]
    whole: Vectors
    vectors: Vectors
    recut: NDArray[np.bool_]
    pooling: Pooling
    start_token: bool
    notes: tuple[str, ...]


def without_each_word(
    model: LanguageModel,
    occurrence: Occurrence,
    *,
    pooling: Pooling = "mean",
    start_token: bool | None = None,
    limit: int | None = LIMIT,
    most: int = MOST_WORDS,
) -> Occlusion:
    """Take each other word out of a sentence in turn, with one space beside it, and read all in one batch.

    most: words taken out, those nearest to the marked one; fewer in long sentences, which `notes` says. The rest as in
    `contextual_vectors`; a second call reads nothing. Raises BadInput where the word cannot be read.
    """
    check_pooling(pooling)
    start_token = starts(model, start_token)
    # The sense is no part of what is read, but the answer names its occurrence.
    key = ("occlusion", occurrence, pooling, start_token, limit, most)
    if (known := remembered.get(model, key)) is not None:
        return known
    tokens = model.tokenise(occurrence.sentence, start_token=start_token, limit=limit)
    span = (occurrence.start, occurrence.end)
    whole_word(tokens, span)
    # What was cut off would come back into view when a word before it goes.
    read = tokens.text[: max(token.end for token in tokens.tokens)]
    others = [word for word in words_in(read) if word[1] <= span[0] or word[0] >= span[1]]
    kept = nearest(others, span, min(most, MOST_TOKENS // len(tokens) - 1))
    variants = [(read, span), *(without(read, word, span) for word in kept)]
    texts = [model.tokenise(text, start_token=start_token) for text, _ in variants]
    asked = [positions(text, place) for text, (_, place) in zip(texts, variants, strict=True)]
    vectors = np.stack([pooled(states, pooling) for states in model.states_at(texts, asked)])
    pieces = [[text.ids[place] for place in one] for text, one in zip(texts, asked, strict=True)]
    recut = np.array([ids != pieces[0] for ids in pieces[1:]], dtype=bool)
    for array in (vectors, recut):
        array.flags.writeable = False
    found = Occlusion(
        model.spec.name, occurrence, tuple(kept), vectors[0], vectors[1:], recut, pooling, start_token,
        _notes(tokens, kept, others),
    )  # fmt: skip
    remembered.put(model, key, found, vectors.nbytes + 1000)
    return found


def _notes(tokens: Tokens, kept: Sequence[Span], others: Sequence[Span]) -> tuple[str, ...]:
    if len(kept) == len(others):
        return tokens.notes
    return (*tokens.notes, f"A long sentence: only the {count(len(kept))} words nearest to the marked one, of "
            f"{count(len(others))}, were taken out in turn.")  # fmt: skip


def nearest(words: Sequence[Span], span: Span, most: int) -> list[Span]:
    """The words nearest to a span, counted in words to either side, in the order of the sentence."""
    before = sum(end <= span[0] for _, end in words)
    distance = [before - k if k < before else k - before + 1 for k in range(len(words))]
    return [words[k] for k in sorted(sorted(range(len(words)), key=lambda k: distance[k])[: max(most, 0)])]


def without(text: str, word: Span, span: Span) -> tuple[str, Span]:
    """The text without a word and one space beside it, and where the span then stands.

    The space before goes first: `the steep bank` becomes `the bank`, and the marked word keeps the space before it.
    """
    start, end = word
    if start > 0 and text[start - 1].isspace():
        start -= 1
    elif end < len(text) and text[end].isspace():
        end += 1
    taken = end - start if end <= span[0] else 0
    return text[:start] + text[end:], (span[0] - taken, span[1] - taken)
