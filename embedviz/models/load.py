"""From a name to a model in memory: prepared if need be, read in float32, and refused where its weights are no good."""

from __future__ import annotations

import logging
from pathlib import Path

from embedviz.errors import ModelUnavailable
from embedviz.models.catalog import find
from embedviz.models.conversion import loading
from embedviz.models.files import read_json
from embedviz.models.language_model import LanguageModel
from embedviz.models.prepare import Prepared, prepare
from embedviz.models.progress import Progress

logger = logging.getLogger(__name__)


def load(name: str, progress: Progress | None = None) -> LanguageModel:
    """Load a model by its name in the catalog or its folder, preparing it first if this machine has not done so.

    Raises UnknownModel or ModelUnavailable, each with one sentence. `progress` is told what is being done.
    """
    spec = find(name)
    return load_prepared(prepare(spec, progress))


def load_prepared(prepared: Prepared) -> LanguageModel:
    """Read a prepared folder into memory in float32. Raises ModelUnavailable if its weights do not fit its config."""
    import torch
    from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer
    from transformers.utils import logging

    spec, folder = prepared.spec, Path(prepared.folder)
    auto = AutoModelForCausalLM if spec.next_token_head else AutoModel
    architectures = read_json(folder / "config.json").get("architectures") or ()
    if auto is AutoModel and any(str(name).endswith("ForMaskedLM") for name in architectures):
        auto = AutoModelForMaskedLM
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
    head = [key for key in missing if not key.startswith(network.base_model_prefix)]
    if auto is AutoModelForMaskedLM and head:
        # Everything but the gaps can be shown without the head for them.
        network, missing = network.base_model, [key for key in missing if key not in head]
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
