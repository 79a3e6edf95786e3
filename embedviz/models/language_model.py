"""A loaded model: its tokenizer, its table, and two runs of its network, to hidden states and to scores.

Everything that touches the tokenizer or the network goes through one lock, because many visitors share one model.
Nothing here changes a weight: rows are looked up, and what is fed to the network is always a new tensor.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from embedviz.errors import BadInput, ModelUnavailable
from embedviz.models.catalog import find
from embedviz.models.conversion import loading
from embedviz.models.prepare import Prepared, prepare
from embedviz.models.progress import Progress
from embedviz.models.spec import ModelSpec
from embedviz.table import EmbeddingTable, Vectors
from embedviz.tokens import Tokens, Vocabulary

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)


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
    """A model ready to read text. Made by `load`."""

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
        import torch

        with self._running(len(rows)):
            embedded = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))[None]
            return self._last_logits(inputs_embeds=embedded)

    def scores_from_ids(self, tokens: Tokens) -> Vectors:
        """(row,) logits of the token after a text, given its ids: the same run the usual way, to check `scores`."""
        import torch

        with self._running(len(tokens)):
            return self._last_logits(input_ids=torch.tensor([tokens.ids]))

    def self_check(self, tokens: Tokens) -> float:
        """Largest absolute difference, in logits, between the scores from rows and the scores from ids."""
        return float(np.abs(self.scores(self.rows(tokens)) - self.scores_from_ids(tokens)).max())

    def stepper(self, rows: Vectors) -> Callable[[int], Vectors]:
        """Go on from a text's rows: a function from the next id to the logits after it, which reads each token once."""
        import torch
        from transformers import DynamicCache

        cache, length = DynamicCache(config=self._network.config), len(rows)
        with self._running(length):
            embedded = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))[None]
            self._network(inputs_embeds=embedded, logits_to_keep=1, use_cache=True, cache=cache)

        def step(id: int) -> Vectors:
            nonlocal length
            length += 1
            with self._running(length):
                output = self._network(input_ids=torch.tensor([[id]]), logits_to_keep=1, use_cache=True, cache=cache)
            return output.logits[0, -1].numpy()

        return step

    def read(self, tokens: Tokens) -> Reading:
        """Run one text once, for its states and its next-token scores."""
        import torch

        with self._running(len(tokens)):
            extra = {"logits_to_keep": 1} if self.spec.next_token_head else {}
            output = self._network(
                inputs_embeds=torch.from_numpy(self.rows(tokens))[None],
                output_hidden_states=True,
                **self._no_cache,
                **extra,
            )
            logits = output.logits[0, -1].numpy() if self.spec.next_token_head else None
            return Reading(self._states(tokens, [state[0] for state in output.hidden_states]), logits)

    def states(self, texts: Sequence[Tokens]) -> list[States]:
        """Run several texts as one padded batch, without the head, and return the states of each."""
        import torch

        longest = max((len(tokens) for tokens in texts), default=0)
        with self._running(longest):
            ids = torch.zeros(len(texts), longest, dtype=torch.long)
            mask = torch.zeros_like(ids)
            for k, tokens in enumerate(texts):
                ids[k, : len(tokens)] = torch.tensor(tokens.ids)
                mask[k, : len(tokens)] = 1
            output = self._network.base_model(
                input_ids=ids, attention_mask=mask, output_hidden_states=True, **self._no_cache
            )
            return [
                self._states(tokens, [state[k, : len(tokens)] for state in output.hidden_states])
                for k, tokens in enumerate(texts)
            ]

    def _states(self, tokens: Tokens, hidden: Sequence[torch.Tensor]) -> States:
        """Put the table row in the place of the architecture's own first state, and leave out a start token."""
        skip = 1 if tokens.start_token else 0
        vectors = np.stack([self.rows(tokens), *(state.numpy() for state in hidden[1:])])[:, skip:]
        first = hidden[0].numpy()[skip:].copy()
        for array in (vectors, first):
            array.flags.writeable = False
        return States(tokens, vectors, first)

    def _last_logits(self, **inputs: torch.Tensor) -> Vectors:
        return self._network(**inputs, logits_to_keep=1, **self._no_cache).logits[0, -1].numpy()

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


def _read_only(weight: torch.Tensor) -> Vectors:
    values = weight.detach().numpy()
    values.flags.writeable = False
    return values


def load(name: str, progress: Progress | None = None) -> LanguageModel:
    """Load a model by its name in the catalog or its folder, preparing it first if this machine has not done so.

    Raises UnknownModel or ModelUnavailable, each with one sentence. `progress` is told what is being done.
    """
    spec = find(name)
    return load_prepared(prepare(spec, progress))


def load_prepared(prepared: Prepared) -> LanguageModel:
    """Read a prepared folder into memory in float32. Raises ModelUnavailable if its weights do not fit its config."""
    import torch
    from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    spec, folder = prepared.spec, Path(prepared.folder)
    auto = AutoModelForCausalLM if spec.next_token_head else AutoModel
    with loading:
        # transformers' bars and notes would stand between our own lines; what matters in them is checked below.
        logging.disable_progress_bar()
        logging.set_verbosity_error()
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            network, found = auto.from_pretrained(
                folder, local_files_only=True, dtype=torch.float32, use_safetensors=True, output_loading_info=True
            )
        except Exception as error:
            # A folder from anywhere can be wrong in ways that only its reader finds, each with an error of its own.
            logger.info("loading %s failed", folder, exc_info=True)
            reason = str(error).strip().partition("\n")[0][:200] or type(error).__name__
            raise ModelUnavailable(
                f"{spec.title} cannot be read by transformers ({type(error).__name__}: {reason}): "
                "get the folder again from its source."
            ) from error
    # A pooler on top of an encoder's last state is no part of anything shown here.
    missing = sorted(key for key in found["missing_keys"] if "pooler" not in key)
    if missing or found["mismatched_keys"]:
        what = missing or sorted(str(key) for key in found["mismatched_keys"])
        raise ModelUnavailable(
            f"{spec.title}: {len(what)} weights do not fit its config.json ({what[0]} first), so its numbers would be "
            "made up. Get the folder again from its source."
        )
    # A sum is not finite if one of its numbers is not, and is quicker than a look at each.
    broken = [name for name, weight in network.named_parameters() if not torch.isfinite(weight.sum())]
    if broken:
        raise ModelUnavailable(
            f"{spec.title}: {len(broken)} of its weights hold numbers that are not finite ({broken[0]} first), so it "
            "can compute nothing. Get the folder again from its source."
        )
    network.eval().requires_grad_(False)
    return LanguageModel(spec, tokenizer, network, prepared.notes)
