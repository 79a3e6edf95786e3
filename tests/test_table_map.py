"""The map of the whole table: what is on it, how it is kept, how it is drawn, and the command that makes it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embedviz import cli, table_map
from embedviz.errors import BadInput
from embedviz.export import map_table
from embedviz.figures.labels import place_labels
from embedviz.figures.style import DESK, PROJECTOR, SHADES, for_file
from embedviz.figures.table_map import alt
from embedviz.figures.table_map import table_map as draw
from embedviz.models.load import load
from embedviz.projection.job import Stopped
from embedviz.projection.umap_client import UmapWorker
from embedviz.table_map import TableMap, View, close_view, in_view, leave, make, stored, well_known, whole_view
from tiny_models import save

SECONDS = 240


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("EMBEDVIZ_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def neox(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """More rows than entries: the last 12 are unused."""
    return load(str(save("gpt_neox", tmp_path_factory.mktemp("neox"))))


@pytest.fixture(scope="module")
def made(neox: Any, umap_worker: UmapWorker) -> TableMap:
    return make(neox, umap_worker).result(SECONDS)


def by_hand(labels: tuple[str, ...] = ("␣a", "b", "c", "d"), ids: tuple[int, ...] = (0, 1, 5, 9)) -> TableMap:
    layout = np.array([[0, 0], [1, 0], [0, 2], [8, 8]], dtype=np.float32)
    return TableMap("m", np.array(ids, dtype=np.int32), labels, layout, np.ones(4, np.float32), 0.234, 10, 1, 4, 1)


def test_every_row_that_text_selects_is_on_it_once(neox: Any, made: TableMap) -> None:
    assert made.rows == neox.table.rows
    assert (made.special, made.unused, made.zero) == (1, 12, 0)
    assert len(made.ids) == made.rows - 13 and (np.diff(made.ids) > 0).all()
    assert made.layout.shape == (len(made.ids), 2) and np.isfinite(made.layout).all()
    assert made.labels[made.place(200)] == neox.vocabulary.entry(200).label
    assert np.array_equal(made.lengths, neox.table.lengths[made.ids])
    assert "Left out of 412 rows: 1 special token, 12 unused rows." in made.sentence
    with pytest.raises(BadInput, match="Row 411 has no place"):
        made.place(411)


def test_the_share_kept_is_that_of_the_rows_themselves(neox: Any, made: TableMap) -> None:
    from embedviz.geometry import neighbours_kept

    assert made.kept == pytest.approx(neighbours_kept(neox.table.values[made.ids], made.layout), abs=0.01)
    assert made.kept > 0.15


def test_it_is_kept_on_disk_and_read_without_the_model(neox: Any, made: TableMap, cache: Path) -> None:
    found = stored(neox.spec)
    assert found is not None
    for name in ("ids", "layout", "lengths"):
        assert np.array_equal(getattr(found, name), getattr(made, name))
        with pytest.raises(ValueError, match="read-only"):
            getattr(found, name)[0] = 0
    assert (found.labels, found.kept, found.unused) == (made.labels, made.kept, made.unused)
    assert [file.suffix for file in (cache / "maps").iterdir()] == [".npz"]


def test_a_damaged_file_counts_as_none_and_an_older_one_goes(neox: Any, made: TableMap, cache: Path) -> None:
    file = table_map.file_of(neox.spec)
    whole = file.read_bytes()
    old = file.with_name(file.name[:-16] + "0123456789ab.npz")
    other = file.with_name("other-0123456789ab.npz")
    try:
        for wrong in (b"", whole[:1000], b"no map" * 100):
            file.write_bytes(wrong)
            assert stored(neox.spec) is None
        old.write_bytes(b"old")
        other.write_bytes(b"another model's")
        table_map._store(made, neox.spec)
        assert stored(neox.spec) is not None
        assert not old.exists() and other.exists()
    finally:
        file.write_bytes(whole)
        other.unlink(missing_ok=True)


def test_a_map_that_cannot_be_kept_is_shown_all_the_same_and_says_so(
    neox: Any, made: TableMap, umap_worker: UmapWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(table_map.np, "savez", full)
    file = table_map.file_of(neox.spec)
    kept = file.read_bytes()
    file.unlink()
    try:
        again = make(neox, umap_worker).result(SECONDS)
        assert re.search(r"cannot be kept in .*No space left on device.*EMBEDVIZ_CACHE", again.note)
        assert again.sentence.endswith(again.note)
        assert np.array_equal(again.layout, made.layout)
        assert stored(neox.spec) is None
        assert table_map.found(neox.spec) is again
    finally:
        file.write_bytes(kept)
    assert table_map.found(neox.spec).note == ""


def test_whether_a_map_can_be_kept_is_known_before_it_is_made(
    neox: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert table_map.cannot_keep(neox.spec) == ""
    assert not list((cache / "maps").glob("tmp*"))

    def read_only(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(table_map.tempfile, "TemporaryFile", read_only)
    assert "cannot be kept in" in table_map.cannot_keep(neox.spec)
    assert "Permission denied" in table_map.cannot_keep(neox.spec)


def test_asking_again_while_it_is_made_gives_the_same_job(neox: Any, umap_worker: UmapWorker) -> None:
    first = make(neox, umap_worker)
    assert make(neox, umap_worker) is first
    assert np.array_equal(first.result(SECONDS).layout, stored(neox.spec).layout)


def test_one_who_leaves_does_not_stop_the_map_for_others(neox: Any, umap_worker: UmapWorker) -> None:
    job = make(neox, umap_worker)
    assert make(neox, umap_worker) is job
    leave(job)
    assert not job.done
    assert len(job.result(SECONDS).ids) > 0


def test_the_last_who_leaves_stops_the_map(neox: Any, umap_worker: UmapWorker) -> None:
    jobs = [make(neox, umap_worker) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(leave, jobs))
    with pytest.raises(Stopped):
        jobs[0].result(SECONDS)
    assert make(neox, umap_worker) is not jobs[0]
    leave(jobs[0])  # too late to stop anything
    assert len(make(neox, umap_worker).result(SECONDS).ids) > 0


def test_views_hold_the_map_and_the_surroundings_of_a_token() -> None:
    found = by_hand()
    assert in_view(found, whole_view(found, 2.0), 2.0, [0, 1, 5, 9]) >= 3
    view = close_view(found, 0, [1, 5, 9], 1.0)
    assert (view.x, view.y) == (0, 0)
    assert in_view(found, view, 1.0, [0, 1]) == 2
    assert in_view(found, view, 1.0, [9]) == 0
    assert close_view(found, 0, [], 1.0).half > 0


def test_well_known_words_are_found_with_a_space_first() -> None:
    found = by_hand(("water", "␣water", "␣music", "xyz"))
    assert well_known(found) == (1, 5)


def test_the_figure_has_every_point_once_with_its_id_and_its_label(made: TableMap) -> None:
    figure = draw(made, DESK, width=1232, words=well_known(made))
    points = [trace for trace in figure.data if trace.type == "scattergl"]
    ids = np.concatenate([trace.customdata for trace in points])
    assert sorted(ids) == made.ids.tolist()
    for trace in points:
        for k in range(0, len(trace.x), 50):
            point = made.place(int(trace.customdata[k]))
            assert tuple(made.layout[point]) == (trace.x[k], trace.y[k])
            assert trace.text[k] == made.labels[point].replace("&", "&amp;").replace("<", "&lt;").replace(
                ">", "&gt;"
            ).replace("$", "&#36;")
        assert trace.hovertemplate == "%{text}, id %{customdata}<extra></extra>"
    assert figure.layout.height == 620
    assert draw(made, PROJECTOR, width=1232).layout.height == 560


@pytest.mark.parametrize("label", ["<b>x</b>", "$x$", "%{x}", "&lt;", "</script>"])
def test_labels_that_look_like_markup_are_shown_as_they_are(label: str) -> None:
    from embedviz.safe_text import plotly_text

    figure = draw(by_hand((label, "b", "c", "d")), DESK, width=600, chosen=0, neighbours=[5])
    assert figure.data[0].text[0] == plotly_text(label)
    assert plotly_text(label) in figure.data[-1].text
    assert label not in figure.data[0].hovertemplate or label == "%{x}"


def test_a_chosen_token_is_ringed_with_its_neighbours_and_all_else_is_grey(made: TableMap) -> None:
    chosen, near = int(made.ids[40]), [int(one) for one in made.ids[41:44]]
    view = close_view(made, chosen, near, 2.0)
    figure = draw(made, DESK, width=1232, chosen=chosen, neighbours=near, view=view)
    grey, rings, names = figure.data
    assert isinstance(grey.marker.color, str) and len(grey.x) == len(made.ids)
    assert rings.customdata.tolist() == [chosen, *near]
    assert rings.marker.size[0] > rings.marker.size[1]
    assert len(names.text) <= 40
    low, high = figure.layout.xaxis.range
    assert low < made.layout[40, 0] < high


def test_the_chosen_token_is_named_clear_of_every_ring() -> None:
    around = np.array([[0, 0], [0.4, 0], [-0.4, 0], [0, 0.4], [0, -0.4]], dtype=np.float32)
    found = replace(
        by_hand(("chosen", "b", "c", "d", "e"), (0, 1, 2, 3, 4)), layout=around, lengths=np.ones(5, np.float32)
    )
    figure = draw(found, DESK, width=600, chosen=0, neighbours=[1, 2, 3, 4], view=View(0, 0, 8))
    names = figure.data[-1]
    assert names.text[0] == "chosen"
    assert names.marker.size[0] > 2 * DESK.marker


def test_a_label_that_must_be_there_goes_farther_from_its_point() -> None:
    full = [(80.0, 80.0, 120.0, 120.0)]
    assert place_labels([(100, 100)], ["x"], 10, 200, 200, gap=15, taken=full) == ()
    (found,) = place_labels([(100, 100)], ["x"], 10, 200, 200, gap=15, taken=full, must=1)
    assert found.gap == 30


@pytest.mark.parametrize("colour", ["id", "length"])
def test_a_shade_is_a_quarter_of_the_ranks_and_none_covers_the_others(made: TableMap, colour: Any) -> None:
    traces = [one for one in draw(made, DESK, width=1232, colour=colour).data if one.type == "scattergl"]
    values = made.ids if colour == "id" else made.lengths
    by_shade = {
        shade: np.concatenate(
            [values[np.searchsorted(made.ids, one.customdata)] for one in traces if one.marker.color == shade]
        )
        for shade in SHADES
    }
    assert max(map(len, by_shade.values())) - min(map(len, by_shade.values())) <= 1
    for less, more in pairwise(by_shade.values()):
        assert less.max() <= more.min()
    order = [SHADES.index(one.marker.color) for one in traces]
    assert order == [(turn + k) % 4 for turn in range(4) for k in range(4)]
    assert "stronger colour" in draw(made, DESK, width=1232, colour=colour).layout.annotations[0].text


def test_two_entries_with_equal_labels_are_two_points() -> None:
    found = by_hand(("same", "same", "c", "d"))
    figure = draw(found, DESK, width=600, chosen=1, neighbours=[0])
    assert figure.data[1].customdata.tolist() == [1, 0]
    assert figure.data[1].x.tolist() == [1, 0]


def test_a_file_has_the_light_themes_own_colours(made: TableMap) -> None:
    colours = {trace.marker.color for trace in for_file(draw(made, DESK, width=1232)).data if trace.type == "scattergl"}
    assert colours <= {"#7C7FA2", "#666A92", "#505483", "#3A3F73"}


def test_the_alternative_text_has_the_takeaway() -> None:
    assert alt(by_hand(), None, []) == (
        "Map of 4 rows of the table. 23% of a row's true neighbours are among its nearest."
    )
    assert "ringed: ␣bank and its nearest rows ␣Bank .77." in alt(by_hand(), "␣bank", [("␣Bank", 0.77)])


def test_labels_do_not_touch_each_other_nor_the_edge_nor_what_is_taken() -> None:
    random = np.random.default_rng(0)
    points = [(float(x), float(y)) for x, y in random.uniform(0, 400, size=(200, 2))]
    taken = (100.0, 100.0, 300.0, 300.0)
    placed = place_labels(points, ["label"] * 200, 10, 400, 400, gap=5, taken=[taken])
    boxes = [taken]
    for one in placed:
        x, y = points[one.number]
        left = {"middle right": x + 5, "middle left": x - 35, "top center": x - 15, "bottom center": x - 15}[one.side]
        top = {"middle right": y - 6, "middle left": y - 6, "top center": y - 17, "bottom center": y + 5}[one.side]
        box = (left, top, left + 30, top + 12)
        assert left >= 0 and top >= 0 and box[2] <= 400 and box[3] <= 400
        assert all(box[2] <= other[0] or other[2] <= left or box[3] <= other[1] or other[3] <= top for other in boxes)
        boxes.append(box)
    assert 20 < len(placed) < 200
    assert placed[0].number == 0 or taken[0] < points[0][0] < taken[2]
    assert len(place_labels(points, ["label"] * 200, 10, 400, 400, most=3)) == 3
    assert place_labels([(-1.0, 5.0)], ["out of sight"], 10, 400, 400) == ()


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, umap_worker: UmapWorker
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.setattr(table_map, "shared", lambda: umap_worker)

    def called(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            cli.main(arguments)
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return called


def test_the_command_makes_the_map_once_and_writes_it(
    run: Callable[..., tuple[int, str, str]], cache: Path, tmp_path: Path
) -> None:
    folder, out = str(save("bert", tmp_path / "bert")), tmp_path / "map.csv"
    code, printed, told = run("map", "--model", folder, "--json")
    answer = json.loads(printed)
    assert code == 0
    assert set(answer) == {"model", "points", "kept", "left_out", "out"}
    code, printed, told = run("map", "--model", folder, "--out", str(out))
    assert code == 0 and told == ""
    assert "true neighbours are among its nearest here" in printed
    with out.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == answer["points"]
    assert list(lines[0]) == ["id", "text", "x", "y", "length"]


@pytest.mark.parametrize(("out", "message"), [("map.txt", "ends in .csv"), ("no/such/map.csv", "There is no folder")])
def test_a_place_that_cannot_be_written_is_said_before_the_work(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, out: str, message: str
) -> None:
    code, _, told = run("map", "--out", str(tmp_path / out))
    assert code == 2 and message in told


def test_the_table_is_the_figures_data(made: TableMap) -> None:
    table = map_table(made)
    assert table["id"].tolist() == made.ids.tolist()
    assert np.array_equal(table[["x", "y"]].to_numpy(), made.layout)


def test_rows_without_length_are_left_out_and_counted(neox: Any, umap_worker: UmapWorker) -> None:
    values = neox.table.values.copy()
    values[[3, 7]] = 0
    # A name under which nothing is prepared: such a map is not kept.
    spec = replace(neox.spec, name="edited", location=replace(neox.spec.location, path=Path("nowhere")))
    edited = type("Edited", (), {"table": replace(neox.table, values=values), "vocabulary": neox.vocabulary})()
    edited.spec = spec
    found = make(edited, umap_worker).result(SECONDS)
    assert found.zero == 2 and not {3, 7} & set(found.ids.tolist())
    assert stored(spec) is None


@pytest.mark.real_model
def test_well_known_words_of_the_bundled_model_are_single_tokens() -> None:
    from embedviz.vocabulary_search import entry_list

    model = load("smollm2-135m")
    listed = entry_list(model.vocabulary)
    ids = tuple(np.flatnonzero(listed.ordinary).tolist())
    labels = tuple(listed.entries[id].label for id in ids)
    places = np.zeros((len(ids), 2), np.float32)
    found = well_known(TableMap("m", np.array(ids, np.int32), labels, places, places[:, 0], 0.2, len(ids), 0, 0, 0))
    assert len(found) > 150
