"""A loaded model: its tokenizer, its table, and the runs of its network, to hidden states and to scores.

Everything that touches the tokenizer or the network goes through one lock, because many visitors share one model.
Nothing here changes a weight: rows are looked up, and what is fed to the network is always a new tensor.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput
from embedviz.models.spec import ModelSpec
from embedviz.table import EmbeddingTable, Vectors
from embedviz.tokens import Tokens, Vocabulary

if TYPE_CHECKING:
    import torch

# A matrix product of fewer rows than 12 rounds a row by its place (torch 2.13 with MKL): equal beginnings of two short
# texts would differ in the last bits. So a batch is padded to at least this many tokens.
FEWEST_ROWS = 16
# A score taken apart must be that score: rounding moves one by up to 2e-3 in a run of another shape.
SAME = 1e-2
# Where a causal network keeps its final norm: Llama and Qwen, GPT-2, GPT-NeoX and OPT, Phi, MPT.
FINAL_NORMS = ("norm", "ln_f", "final_layer_norm", "final_layernorm", "norm_f")
# Positions whose scores are held at once while a whole text is scored: 13 MB for 49,152 rows.
SCORED_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class States:
    """The vectors of one text on their way through the network.

    tokens: the text. A start token put first on request is among them, but has no place in the arrays: there the token
        of position k stands at k − 1.
    vectors: (layer, token, dimension) float32. Layer 0 is the table row, layer k the state after block k, the last one
        after the final norm where the architecture has one.
    first_state: (token, dimension) float32, what the architecture itself feeds to block 1: the row (Llama), row +
        position (GPT-2), or row + position + type, normed (BERT).
    """

    tokens: Tokens
    vectors: Vectors
    first_state: Vectors


@dataclass(frozen=True, eq=False)
class Reading:
    """One run of one text: its states, and the scores of the next token (None for a model without that head)."""

    states: States
    logits: Vectors | None


class LanguageModel:
    """A model ready to read text. Made by `models.load`."""

    def __init__(self, spec: ModelSpec, tokenizer: Any, network: torch.nn.Module, notes: Sequence[str] = ()) -> None:
        self.spec = spec
        # What a reader must know of this model, as preparation found it.
        self.notes = tuple(notes)
        self._network = network
        self._lock = threading.RLock()
        weight = network.get_input_embeddings().weight
        head = network.get_output_embeddings()
        self.table = EmbeddingTable(_read_only(weight), tied=head is not None and head.weight is weight)
        self.output_table = (
            self.table if self.table.tied or head is None else EmbeddingTable(_read_only(head.weight), tied=False)
        )
        self.vocabulary = Vocabulary(tokenizer, self.table.rows)
        # Of the piece that stands for a gap, in a model that has the head to fill it.
        fills_gaps = head is not None and not spec.next_token_head
        self.mask_token_id: int | None = tokenizer.mask_token_id if fills_gaps else None

    @cached_property
    def start_token_id(self) -> int | None:
        """Id of the token fed before a text on request; None where the model has none."""
        if self.spec.start_token is None:
            return None
        return self.vocabulary.id_of(self.spec.start_token)

    @property
    def turns_positions(self) -> bool:
        """Whether position enters inside each block, by turning queries and keys (rotary; Su et al. 2021)."""
        return getattr(self._network.config, "rope_parameters", None) is not None

    def layer_name(self, layer: int) -> str:
        """What a layer is called where it is drawn: `table row`, `block 5`, `final norm`."""
        if layer == 0:
            return "table row"
        return "final norm" if layer == self.spec.blocks and self.spec.reads_left_to_right else f"block {layer}"

    def tokenise(
        self, text: str, *, start_token: bool = False, limit: int | None = None, reader: str = "this page"
    ) -> Tokens:
        """Cut a text into tokens, at most `limit` and never more than the model reads at once.

        `reader` names who set the limit. Raises BadInput where a start token is asked of a model that has none.
        """
        if start_token and self.start_token_id is None:
            raise BadInput(f"{self.spec.title} has no start token: leave that switch off.")
        if limit is None or limit >= self.spec.context:
            limit, reader = self.spec.context, "this model"
        with self._lock:
            return self.vocabulary.tokenise(
                text, limit=limit, reader=reader, start_token_id=self.start_token_id if start_token else None
            )

    def rows(self, tokens: Tokens) -> Vectors:
        """(token, dimension) the table row of each token: what `inputs_embeds` is given."""
        return self.table.lookup(tokens.ids)

    def scores(self, rows: Vectors) -> Vectors:
        """(row,) logits of the token after a text, given the text's rows (token, dimension) as `inputs_embeds`."""
        return self.scores_batch(rows[None])[0]

    def scores_batch(self, rows: Vectors) -> Vectors:
        """(text, row) logits of the token after each of some texts of one length, from one run.

        rows: (text, token, dimension), as for `scores`.
        """
        with self._running(rows.shape[1]):
            return self._last_logits(inputs_embeds=_embedded(rows))

    def scores_from_ids(self, tokens: Tokens) -> Vectors:
        """(row,) logits of the token after a text, given its ids: the same run the usual way, to check `scores`."""
        import torch

        with self._running(len(tokens)):
            return self._last_logits(input_ids=torch.tensor([tokens.ids]))[0]

    def self_check(self, tokens: Tokens) -> float:
        """Largest absolute difference, in logits, between the scores from rows and the scores from ids."""
        return float(np.abs(self.scores(self.rows(tokens)) - self.scores_from_ids(tokens)).max())

    def stepper(self, rows: Vectors) -> Callable[[int], Vectors]:
        """Go on from a text's rows: a function from the next id to the logits after it, which reads each token once."""
        return self.reader(rows)[0]

    def reader(self, rows: Vectors) -> tuple[Callable[[int], Vectors], Vectors]:
        """As `stepper`, with the logits (row,) after the text itself, which the same run gives."""
        import torch
        from transformers import DynamicCache

        cache, length = DynamicCache(config=self._network.config), len(rows)
        with self._running(length):
            output = self._network(inputs_embeds=_embedded(rows[None]), logits_to_keep=1, use_cache=True, cache=cache)
            first = output.logits[0, -1].numpy()

        def step(id: int) -> Vectors:
            nonlocal length
            length += 1
            with self._running(length):
                output = self._network(input_ids=torch.tensor([[id]]), logits_to_keep=1, use_cache=True, cache=cache)
            return output.logits[0, -1].numpy()

        return step, first

    def read(self, tokens: Tokens) -> Reading:
        """Run one text once, for its states and its next-token scores."""
        with self._running(len(tokens)):
            hidden, logits = self._states_and_logits(self.rows(tokens))
            return Reading(self._states(tokens, hidden), None if logits is None else logits.numpy())

    def last_states(self, rows: Vectors) -> tuple[Vectors, Vectors]:
        """A text's last vector on its way, and the scores it gives, from one run of its rows (token, dimension).

        Returns (layer, dimension), layers as in `States`, and the logits (row,). Raises BadInput where the scores are
        more than the product of the last state with the output rows, so that they cannot be taken apart.
        """
        with self._running(len(rows)):
            hidden, logits = self._product_states(rows)
            return np.stack([rows[-1], *(state[-1].numpy() for state in hidden[1:])]), logits.numpy()

    @property
    def output_bias(self) -> Vectors | None:
        """(row,) what the head adds to each score whatever the text; None where it adds nothing."""
        bias = getattr(self._network.get_output_embeddings(), "bias", None)
        return None if bias is None else _read_only(bias)

    def scored_early(self, states: Vectors) -> Vectors:
        """(state, row) logits that states from before the final norm (state, dimension) would give: norm, then head.

        The logit lens (nostalgebraist 2020). Raises BadInput for a network whose final norm is not known.
        """
        base = self._network.base_model
        places = [getattr(part, name, None) for part in (base, getattr(base, "decoder", None)) for name in FINAL_NORMS]
        norm = next((found for found in places if found is not None), None)
        if norm is None or not self.spec.next_token_head:
            raise BadInput(f"{self.spec.title} has no final norm known here: its layers cannot be read as scores.")
        with self._running(1):
            return self._network.get_output_embeddings()(norm(_embedded(states))).numpy()

    def log_probabilities(self, rows: Vectors, ids: Sequence[int]) -> NDArray[np.float64]:
        """(token − 1,) ln p, in nats, of each token of a text but the first, given those before it, from one run.

        The scores of all positions are never held at once. Raises BadInput as `last_states` does.
        """
        import torch

        with self._running(len(rows)):
            hidden, _ = self._product_states(rows)
            head, asked = self._network.get_output_embeddings(), torch.tensor(ids[1:])[:, None]
            parts = zip(hidden[-1][:-1].split(SCORED_AT_ONCE), asked.split(SCORED_AT_ONCE), strict=True)
            found = [head(states).log_softmax(-1).gather(-1, wanted)[:, 0].numpy() for states, wanted in parts]
            return np.concatenate(found or [np.empty(0)]).astype(np.float64)

    def last_states_placed(self, tokens: Tokens, places: NDArray[np.int64]) -> Vectors:
        """A text's last vector with its tokens counted as standing elsewhere.

        places: (variant, token) the position of each token, from 0. Returns (variant, layer, dimension), layers as in
        `States`, but layer 0 is what the architecture itself feeds to block 1. Raises BadInput for a network that takes
        no positions.
        """
        import torch

        base = self._network.base_model
        if "position_ids" not in inspect.signature(base.forward).parameters:
            raise BadInput(f"{self.spec.title} counts its positions itself: tokens cannot be moved.")
        with self._running(int(places.max(initial=-1)) + 1):
            hidden = base(
                input_ids=torch.tensor([tokens.ids]).expand(len(places), -1),
                position_ids=torch.from_numpy(places),
                # Without a mask, a gap between positions would be taken for the border of two texts.
                attention_mask=torch.ones(places.shape, dtype=torch.long),
                output_hidden_states=True,
                **self._no_cache,
            ).hidden_states
            return np.stack([state[:, -1].numpy() for state in hidden], axis=1)

    def masked_scores(self, ids: Sequence[int], position: int) -> Vectors:
        """(row,) logits of every entry for the place of one token, with the mask token put there instead.

        Raises BadInput for a model that has no head for gaps.
        """
        import torch

        if self.mask_token_id is None:
            raise BadInput(f"{self.spec.title} comes without the head that fills gaps.")
        with self._running(len(ids)):
            read = torch.tensor([[*ids[:position], self.mask_token_id, *ids[position + 1 :]]])
            return self._network(input_ids=read).logits[0, position].numpy()

    def states(self, texts: Sequence[Tokens]) -> list[States]:
        """Run several texts as one padded batch, without the head, and return the states of each."""
        with self._running(max((len(tokens) for tokens in texts), default=0)):
            hidden = self._hidden(texts)
            return [
                self._states(tokens, [state[k, : len(tokens)] for state in hidden]) for k, tokens in enumerate(texts)
            ]

    def states_at(self, texts: Sequence[Tokens], positions: Sequence[Sequence[int]]) -> list[Vectors]:
        """Run several texts as one padded batch, without the head, and return the states of a few tokens of each.

        positions: for each text the tokens asked for, as `Token.position` counts them: a start token is 0.
        Returns for each text (layer, token asked for, dimension) float32, layers as in `States`.
        """
        import torch

        texts_asked = [k for k, asked in enumerate(positions) for _ in asked]
        places = [place for asked in positions for place in asked]
        with self._running(max((len(tokens) for tokens in texts), default=0)):
            states = torch.stack([state[texts_asked, places] for state in self._hidden(texts)[1:]]).numpy()
        rows = self.table.lookup([texts[k].ids[place] for k, place in zip(texts_asked, places, strict=True)])
        vectors = np.concatenate([rows[None], states])
        return np.split(vectors, np.cumsum([len(asked) for asked in positions])[:-1], axis=1)

    def _hidden(self, texts: Sequence[Tokens]) -> tuple[torch.Tensor, ...]:
        """(text, token, dimension) before the first block and after each, of texts padded on the right."""
        import torch

        longest = max(len(tokens) for tokens in texts)
        longest = min(max(longest, -(-FEWEST_ROWS // len(texts))), self.spec.context)
        ids = torch.zeros(len(texts), longest, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for k, tokens in enumerate(texts):
            ids[k, : len(tokens)] = torch.tensor(tokens.ids)
            mask[k, : len(tokens)] = 1
        # Reading left to right, no token sees the padding after it; attention without a mask is faster.
        seen = {} if self.spec.reads_left_to_right else {"attention_mask": mask}
        return self._network.base_model(
            input_ids=ids, output_hidden_states=True, **seen, **self._no_cache
        ).hidden_states

    def _states_and_logits(self, rows: Vectors) -> tuple[list[torch.Tensor], torch.Tensor | None]:
        """(token, dimension) before the first block and after each, and the logits (row,) after the last token."""
        head = self.spec.next_token_head
        extra = {"logits_to_keep": 1} if head else {}
        network = self._network if head else self._network.base_model
        output = network(inputs_embeds=_embedded(rows[None]), output_hidden_states=True, **self._no_cache, **extra)
        return [state[0] for state in output.hidden_states], output.logits[0, -1] if head else None

    def _product_states(self, rows: Vectors) -> tuple[list[torch.Tensor], torch.Tensor]:
        """The same, where head and last state give the network's own logits: some cap or scale them on top."""
        hidden, logits = self._states_and_logits(rows)
        if logits is None or (self._network.get_output_embeddings()(hidden[-1][-1]) - logits).abs().max() > SAME:
            raise BadInput(f"{self.spec.title} does more than one product to get a score: it cannot be taken apart.")
        return hidden, logits

    def _states(self, tokens: Tokens, hidden: Sequence[torch.Tensor]) -> States:
        """Put the table row in the place of the architecture's own first state, and leave out a start token."""
        skip = 1 if tokens.start_token else 0
        vectors = np.stack([self.rows(tokens), *(state.numpy() for state in hidden[1:])])[:, skip:]
        first = hidden[0].numpy()[skip:].copy()
        for array in (vectors, first):
            array.flags.writeable = False
        return States(tokens, vectors, first)

    def _last_logits(self, **inputs: torch.Tensor) -> Vectors:
        return self._network(**inputs, logits_to_keep=1, **self._no_cache).logits[:, -1].numpy()

    @property
    def _no_cache(self) -> dict[str, bool]:
        """The key–value cache only costs memory where each text is run once; encoders do not know the word."""
        return {"use_cache": False} if self.spec.reads_left_to_right else {}

    @contextmanager
    def _running(self, length: int) -> Iterator[None]:
        import torch

        if length == 0:
            raise BadInput("There is no token to read: type a sentence.")
        if length > self.spec.context:
            raise BadInput(f"{length} tokens are too many: {self.spec.title} reads {self.spec.context} at once.")
        with self._lock, torch.inference_mode():
            yield


def _embedded(rows: Vectors) -> torch.Tensor:
    import torch

    # A copy: what torch is given may be read-only here.
    return torch.from_numpy(np.array(rows, dtype=np.float32))


def _read_only(weight: torch.Tensor) -> Vectors:
    values = weight.detach().numpy()
    values.flags.writeable = False
    return values
