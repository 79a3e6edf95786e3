"""The command line: the library's own calls, their results as lines to read or as JSON.

An error, a usage error too, is one line on stderr and exit code 2.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence

import typer

from embedviz.cli import models, senses, table, text
from embedviz.errors import EmbedvizError

app = typer.Typer(
    help="See what an embedding is: ids, rows, contextual vectors, next-token scores.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# In the order in which --help lists them.
app.command()(text.lookup)
app.command()(table.neighbours)
app.command()(table.analogy)
app.command("map")(table.table_map)
app.command()(text.scores)
app.command()(senses.senses)
app.command()(senses.vectors)
app.command()(models.models)
app.command()(models.prepare)
app.command()(models.doctor)
app.command()(models.serve)

# typer does not export the root of its own usage errors under a public name, so it is found above one that is.
_SAID: tuple[type[Exception], ...] = (
    EmbedvizError,
    *(kind for kind in typer.BadParameter.__mro__ if issubclass(kind, Exception) and hasattr(kind, "format_message")),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code: 0, or 2 with one line on stderr."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        # Tokens may be any character; a terminal that cannot show one must not stop the command.
        stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        code = app(args=arguments, standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except _SAID as error:
        message = getattr(error, "format_message", error.__str__)()
        print("embedviz:", " ".join(message.split()), file=sys.stderr)
        code = 2
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print("embedviz: The disk is full, so what was printed is not whole: free some space.", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.exit(code if isinstance(code, int) else 0)
