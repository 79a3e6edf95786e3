"""The one family of errors meant for the user's eyes.

Each message says what was found, with its numbers, and what to do next, in one sentence. Pages and the command line
catch `EmbedvizError` alone; anything else is a bug, and goes to the log with its traceback.
"""


class EmbedvizError(Exception):
    """Something the user can understand and mend. `str(error)` is one sentence without markup."""


class UnknownModel(EmbedvizError):
    """A name that is neither in the catalog nor a folder on this machine."""


class ModelUnavailable(EmbedvizError):
    """A known model whose files are missing, damaged, or of a kind that embedviz does not read."""


class BadInput(EmbedvizError):
    """A text, number or file that cannot be used as it stands."""
