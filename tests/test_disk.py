"""Folders are written whole or not at all."""

import shutil

import pytest

from embedviz.errors import ModelUnavailable
from embedviz.models.disk import name_when_whole, remove_folder, require_space, whole_folder


def contents(parent):
    files = (path for path in parent.rglob("*") if path.is_file())
    return {path.relative_to(parent).as_posix(): path.read_text() for path in files}


def test_a_whole_folder_takes_the_place_of_the_old_one_and_of_what_a_killed_run_left(tmp_path):
    for name in ("model", ".partial-model", ".old-model"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").write_text("old")
    with whole_folder(tmp_path / "model") as folder:
        assert list(folder.iterdir()) == []
        (folder / "new").write_text("new")
        assert (tmp_path / "model" / "old").exists()
    assert contents(tmp_path) == {"model/new": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_the_old_folder_and_nothing_else(tmp_path, error):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "old").write_text("old")

    def write_and_fail():
        with whole_folder(tmp_path / "model") as folder:
            (folder / "new").write_text("new")
            raise error

    with pytest.raises(error):
        write_and_fail()
    assert contents(tmp_path) == {"model/old": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_removing_a_folder_takes_its_leftovers_with_it_and_no_other_folder(tmp_path):
    for name in ("model", ".partial-model", ".old-model", "other"):
        (tmp_path / name).mkdir()
    assert {name_when_whole(path) for path in tmp_path.iterdir()} == {"model", "other"}
    remove_folder(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_too_little_space_for_a_download_is_said_before_it_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1_000_000))
    with pytest.raises(ModelUnavailable, match="548 MB are needed and 1 MB are free"):
        require_space(tmp_path / "not" / "yet", 548_000_000, "download gpt2")
