"""See what an embedding is: from ids to rows, from rows to contextual vectors, and from those to the next token.

>>> import embedviz
>>> model = embedviz.load("smollm2-135m")
>>> tokens = model.tokenise("The river bank")
>>> rows = model.rows(tokens)                 # (token, dimension), straight from the table
>>> logits = model.scores(rows)               # fed as inputs_embeds: one score for every entry of the list
>>> model.vocabulary.entry(int(logits.argmax())).text
' was'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from embedviz.errors import BadInput, EmbedvizError, ModelUnavailable, UnknownModel

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

__version__ = "0.1.0"
__all__ = ["BadInput", "EmbedvizError", "ModelUnavailable", "UnknownModel", "load"]


def load(name: str = "smollm2-135m") -> LanguageModel:
    """Load a model by its name in the catalog or its folder; the first time on a machine this prepares it."""
    # torch and transformers take seconds to import, so importing embedviz itself does not wait for them.
    from embedviz.models.load import load as load_model

    return load_model(name)
