"""What an encoder expects in a gap: the scores for the place of one token that is hidden from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from embedviz.errors import BadInput
from embedviz.next_token import Distribution
from embedviz.tokens import Token, Tokens

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel


@dataclass(frozen=True, eq=False)
class MaskedWord:
    """The scores for the place of one token, read from both sides. token: what really stands there."""

    tokens: Tokens
    token: Token
    distribution: Distribution


def masked_word(model: LanguageModel, text: str, position: int, *, limit: int | None = None) -> MaskedWord:
    """Hide one token of a text and score every entry for its place.

    Raises BadInput for a blank text, a position that is none or a special token's, and a model that fills no gaps.
    """
    if not text.strip():
        raise BadInput("The text is blank: type a sentence.")
    tokens = model.tokenise(text, limit=limit)
    if not 0 <= position < len(tokens):
        raise BadInput(f"Positions run from 0 to {len(tokens) - 1}.")
    token = tokens.tokens[position]
    if token.special and token.start == token.end:
        raise BadInput(f"{token.label} is no part of the text: choose another token to hide.")
    return MaskedWord(tokens, token, Distribution(model.masked_scores(tokens.ids, position)))
