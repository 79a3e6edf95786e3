"""What long work tells the person who waits."""

from collections.abc import Callable

# Words, and the share done from 0 to 1, or None where it is not known.
Progress = Callable[[str, float | None], None]


def silent(words: str, share: float | None) -> None:
    """The progress callback of callers who pass none."""


def part_of(progress: Progress, start: float, end: float) -> Progress:
    """A progress callback whose shares fill only a part of another's."""
    return lambda words, share: progress(words, None if share is None else start + share * (end - start))
