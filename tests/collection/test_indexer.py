from __future__ import annotations

import hashlib
import os
import random
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from indexing import command, ids, rows, run_until, same_tables
from making import draw, hostile, swapping, without_privileges
from networks import means
from PIL import Image

from ital.collection import Collection, describe, index, indexer
from ital.collection.encoder import Encoder
from ital.collection.reader import Reader
from ital.collection.scan import Skipped, scan
from ital.collection.store import Store, StoreError


class TestWhatIsIndexed:
    @pytest.mark.parametrize("outside", ["secret.png", "pipe"])
    def test_a_link_that_took_the_place_of_a_file(self, tmp_path, quick, outside):
        """After the folder was looked through, and before its files are read."""
        picture = draw(tmp_path / "in" / "a.png", 0)
        draw(tmp_path / "secret.png", 1)
        os.mkfifo(tmp_path / "pipe")
        (found,), _ = scan(tmp_path / "in")
        picture.unlink()
        picture.symlink_to(tmp_path / outside)
        (read,) = Reader(tmp_path / "in", Encoder(quick), set()).read([found])
        assert isinstance(read, Skipped)
        assert not read.lasting

    def test_never_the_content_of_others(self, tmp_path, quick):
        """However pictures are swapped with links while they are indexed, again and again."""
        own = draw(tmp_path / "in" / "a.png", 0)
        draw(tmp_path / "in" / "b.png", 1)
        secret = draw(tmp_path / "secret.png", 2)
        hashes = {
            hashlib.sha256(one.read_bytes()).hexdigest() for one in (own, own.with_name("b.png"))
        }
        with swapping(own, secret):
            for number in range(30):
                index(tmp_path / "in", tmp_path / f"{number}", quick)
                assert {row.hash for row in rows(tmp_path / f"{number}").values()} <= hashes

    def test_a_folder(self, folder, quick):
        seen = []
        done = index(folder, model=quick, report=lambda progress: seen.append(progress.done))
        assert (done.pictures, done.embedded, done.total, done.skipped) == (12, 12, 12, [])
        assert seen[0] == 0
        assert seen[-1] == 12
        found = rows(folder)
        assert sorted(found) == list(range(1, 13))
        assert [row.path for row in found.values()] == sorted(row.path for row in found.values())
        for row in found.values():
            path = folder / row.path
            status = path.stat()
            assert (row.size, row.modified) == (status.st_size, status.st_mtime_ns)
            assert (row.content.width, row.content.height) == (48, 32)
            with Image.open(path) as image:
                middle = np.asarray(image.convert("RGB").crop((8, 0, 40, 32)), float)
            mean = ((middle - (123.675, 116.28, 103.53)) / (58.395, 57.12, 57.375)).mean((0, 1))
            np.testing.assert_allclose(
                row.content.embedding, mean / np.linalg.norm(mean), atol=1e-4
            )

    def test_nothing_is_opened_again(self, folder, quick):
        index(folder, model=quick)
        before = rows(folder)
        for path in folder.rglob("*.png"):
            # Other content under the same size and time would be noticed only by opening it.
            status = path.stat()
            path.write_bytes(bytes(status.st_size))
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        done = index(folder)
        assert (done.total, done.unchanged, done.pictures) == (0, 12, 12)
        assert list(before) == list(rows(folder))

    def test_new_moved_copied_changed_and_gone(self, folder, quick):
        index(folder, model=quick)
        before = ids(folder)
        draw(folder / "new.png", 100)
        shutil.move(folder / "a" / "00.png", folder / "moved.png")
        (folder / "b").rename(folder / "renamed")
        shutil.copy(folder / "c" / "02.png", folder / "copy.png")
        draw(folder / "c" / "05.png", 101)
        (folder / "c" / "08.png").unlink()
        done = index(folder)
        assert (done.embedded, done.moved, done.gone, done.pictures) == (2, 6, 1, 13)
        after = ids(folder)
        assert after["moved.png"] == before["a/00.png"]
        for name in ("01", "04", "07", "10"):
            assert after[f"renamed/{name}.png"] == before[f"b/{name}.png"]
        assert after["c/05.png"] == before["c/05.png"]
        assert {after["new.png"], after["copy.png"]} == {13, 14}
        assert "c/08.png" not in after
        copy, original = (rows(folder)[after[name]] for name in ("copy.png", "c/02.png"))
        np.testing.assert_array_equal(copy.content.embedding, original.content.embedding)
        fresh = folder.parent / "fresh"
        shutil.copytree(folder, fresh, ignore=shutil.ignore_patterns(".ital"))
        index(fresh, model=quick)
        contents = {row.path: row.content for row in rows(fresh).values()}
        for row in rows(folder).values():
            np.testing.assert_array_equal(
                row.content.embedding, contents[row.path].embedding, err_msg=row.path
            )

    def test_copies_of_a_picture_that_changes(self, tmp_path, quick):
        """A renamed file has its own content, whatever becomes of its twin in the same run."""
        folder = tmp_path / "pictures"
        for number in range(20):
            draw(folder / f"{number:02}.png", number)
        shutil.copy(folder / "00.png", folder / "b.png")
        index(folder, model=quick)
        wanted = rows(folder)[1].content.embedding
        (folder / "00.png").rename(folder / "z.png")
        for path in sorted(folder.glob("*.png"))[:-1]:
            draw(path, 1000 + len(path.name) * ord(path.name[1]))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(indexer, "_COMMIT_ROWS", 1)
            patch.setattr(indexer, "BATCH", 1)
            index(folder)
        found = rows(folder)[ids(folder)["z.png"]]
        np.testing.assert_array_equal(found.content.embedding, wanted)

    def test_a_file_that_changes_meanwhile(self, folder, quick, monkeypatch):
        """Between its hash and its reading. It is left for the next run."""
        index(folder, model=quick)
        (folder / "a" / "00.png").rename(folder / "z.png")
        shutil.copy(folder / "z.png", folder / "zz.png")
        hashed = indexer._Run._hashes

        def hashes(run, work, *others):
            found = hashed(run, work, *others)
            draw(folder / "z.png", 500)
            return found

        monkeypatch.setattr(indexer._Run, "_hashes", hashes)
        monkeypatch.setattr(indexer, "_COMMIT_ROWS", 1)
        monkeypatch.setattr(indexer, "BATCH", 1)
        done = index(folder)
        assert [(one.path, one.lasting) for one in done.skipped] == [("zz.png", False)]
        monkeypatch.undo()
        assert index(folder).skipped == []
        contents = {row.path: row.content.embedding for row in rows(folder).values()}
        fresh = folder.parent / "fresh"
        shutil.copytree(folder, fresh, ignore=shutil.ignore_patterns(".ital"))
        index(fresh, model=quick)
        for row in rows(fresh).values():
            np.testing.assert_array_equal(contents[row.path], row.content.embedding)

    def test_a_model_that_moved(self, folder, quick, tmp_path):
        path = tmp_path / "first.onnx"
        path.write_bytes(Path(quick.name).read_bytes())
        index(folder, model=describe(str(path)))
        path = path.rename(tmp_path / "second.onnx")
        assert index(folder, model=describe(str(path))).unchanged == 12
        draw(folder / "new.png", 300)
        assert index(folder).embedded == 1
        assert Collection.open(folder).embed(folder / "new.png").shape == (3,)

    def test_identifiers_are_never_given_again(self, folder, quick):
        index(folder, model=quick)
        (folder / "c" / "11.png").unlink()
        index(folder)
        draw(folder / "z.png", 200)
        index(folder)
        assert ids(folder)["z.png"] == 13
        (folder / "z.png").unlink()
        index(folder)
        draw(folder / "z.png", 200)
        index(folder)
        assert ids(folder)["z.png"] == 14

    def test_models_do_not_mix(self, folder, quick, tmp_path):
        other = describe(str(means(tmp_path / "other.onnx", ("batch", 3, 16, 16))))
        index(folder, model=quick)
        first = ids(folder)
        (folder / "a" / "00.png").rename(folder / "moved.png")
        draw(folder / "new.png", 900)
        done = index(folder, model=other)
        assert done.embedded == 13
        assert {path: n for path, n in ids(folder, other).items() if path in first} == {
            path: n for path, n in first.items() if path != "a/00.png"
        }
        assert ids(folder, other)["moved.png"] == first["a/00.png"]
        assert ids(folder, quick) == first
        assert ids(folder) == ids(folder, other)
        done = index(folder, model=quick)
        assert (done.embedded, done.moved) == (1, 1)
        assert ids(folder, quick) == ids(folder, other)
        for row in rows(folder, quick).values():
            twin = rows(folder, other)[row.id]
            assert np.abs(row.content.embedding - twin.content.embedding).max() > 0

    def test_embeddings_of_half_the_size(self, folder, quick, tmp_path):
        """Rounded from the beginning, or when someone asks for it, and from then on."""
        index(folder, tmp_path / "half", quick, store="float16")
        index(folder, tmp_path / "whole", quick)
        whole = Collection.open(tmp_path / "whole").features()
        index(folder, tmp_path / "whole", store="float32")
        assert whole.dtype == np.float32
        for place, asked in (("half", None), ("half", "float16"), ("whole", "float16")):
            done = index(folder, tmp_path / place, store=asked)
            assert (done.total, done.unchanged) == (0, 12)
            found = Collection.open(tmp_path / place).features()
            assert found.dtype == np.float16
            np.testing.assert_array_equal(found, whole.astype(np.float16))
        (folder / "a" / "00.png").rename(folder / "moved.png")
        draw(folder / "new.png", 300)
        for place in ("half", "whole"):
            done = index(folder, tmp_path / place)
            assert (done.embedded, done.moved) == (1, 1)
        same_tables(tmp_path / "half", tmp_path / "whole")
        collection = Collection.open(tmp_path / "half")
        np.testing.assert_array_equal(collection.features()[:12], whole.astype(np.float16))
        new = collection.embed(folder / "new.png")
        np.testing.assert_allclose(collection.features()[12], new, atol=1e-3)
        search = collection.search(seed=0)
        search.query(relevant=[13])
        assert search.results(1).ids.tolist() == [13]
        index(folder, tmp_path / "half", dimension=2)
        reduced = Collection.open(tmp_path / "half")
        assert reduced.features().dtype == np.float16
        assert reduced.features().shape == (13, 2)
        np.testing.assert_allclose(
            reduced.features()[12], reduced.embed(folder / "new.png"), atol=1e-2
        )

    def test_a_collection_elsewhere(self, folder, quick, tmp_path):
        index(folder, tmp_path / "store", quick)
        assert not (folder / ".ital").exists()
        assert len(Collection.open(tmp_path / "store")) == 12
        inside = folder / "index"
        assert index(folder, inside, quick).skipped == []
        assert index(folder, inside).unchanged == 12

    def test_a_folder_may_be_moved_with_its_collection(self, folder, quick, tmp_path):
        index(folder, model=quick)
        folder.rename(tmp_path / "elsewhere")
        assert index(tmp_path / "elsewhere").unchanged == 12
        collection = Collection.open(tmp_path / "elsewhere")
        assert collection.path(1).exists()


class TestWhatIsSkipped:
    def test_reasons_are_remembered(self, folder, quick):
        bad = folder / "bad.jpg"
        bad.write_bytes(b"no picture")
        (folder / "empty.png").touch()
        wanted = {"bad.jpg": "not a picture of a known format", "empty.png": "empty"}
        for total in (14, 0):  # the second time, it is not opened
            done = index(folder, model=quick)
            assert {one.path: one.reason for one in done.skipped} == wanted
            assert done.total == total
        assert Collection.open(folder).skipped == done.skipped
        draw(bad.with_suffix(".png"), 7).rename(bad)  # by content, not by name
        assert [one.path for one in index(folder).skipped] == ["empty.png"]
        assert "bad.jpg" in ids(folder)

    def test_other_decoders_try_again(self, folder, quick):
        path = folder / "a" / "00.png"
        index(folder, model=quick)
        store = Store.find(folder)
        status = path.stat()
        draw(folder / "new.png", 1)
        status = (folder / "new.png").stat()
        wrong = Skipped("new.png", "a whim", status.st_size, status.st_mtime_ns)
        store.write_skipped([wrong], "others")
        assert index(folder).skipped == []
        assert "new.png" in ids(folder)

    def test_a_picture_that_breaks_leaves(self, folder, quick):
        index(folder, model=quick)
        (folder / "a" / "00.png").write_bytes(b"broken")
        done = index(folder)
        assert (done.gone, done.pictures) == (1, 11)
        assert "a/00.png" not in ids(folder)

    def test_a_model_without_an_answer(self, folder, tmp_path):
        model = describe(str(means(tmp_path / "m.onnx")), normalisation="unit")
        Image.new("RGB", (40, 40)).save(folder / "black.png")
        done = index(folder, model=model)
        assert [(one.path, one.reason) for one in done.skipped] == [
            ("black.png", "the model gives no vector")
        ]
        assert done.pictures == 12
        other = describe(str(means(tmp_path / "n.onnx")))
        assert index(folder, model=other).pictures == 13

    def test_links_that_come_to_nothing_leave(self, folder, quick):
        index(folder, model=quick)
        for name, target in (("00", "nowhere.png"), ("03", "/etc/hostname")):
            (folder / "a" / f"{name}.png").unlink()
            (folder / "a" / f"{name}.png").symlink_to(target)
        done = index(folder)
        assert (done.gone, done.pictures, len(done.skipped)) == (2, 10, 2)


class TestWhatIsRefused:
    def test_two_at_once(self, folder, quick):
        index(folder, model=quick)
        with (
            FileLock(folder / ".ital" / "lock"),
            pytest.raises(StoreError, match="another process is indexing"),
        ):
            index(folder)
        assert index(folder).unchanged == 12

    def test_no_folder(self, tmp_path):
        with pytest.raises(StoreError, match="folder must be a folder of pictures"):
            index(tmp_path / "none")

    def test_a_place_that_is_taken(self, folder, quick, tmp_path):
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "diary.txt").touch()
        with pytest.raises(StoreError, match=r"new or empty folder.*diary"):
            index(folder, tmp_path / "full", quick)
        index(folder, tmp_path / "store", quick)
        (tmp_path / "others").mkdir()
        with pytest.raises(StoreError, match="holds a collection of"):
            index(tmp_path / "others", tmp_path / "store", quick)

    def test_a_disk_that_is_missing(self, folder, quick, tmp_path):
        index(folder, tmp_path / "store", quick)
        shutil.rmtree(folder)
        folder.mkdir()
        with pytest.raises(StoreError, match="is a disk missing"):
            index(folder, tmp_path / "store")
        assert len(Collection.open(tmp_path / "store")) == 12

    def test_types_that_cannot_be_had(self, folder, quick):
        with pytest.raises(StoreError, match="store must be float32 or float16, got 'int8'"):
            index(folder, model=quick, store="int8")
        assert not (folder / ".ital").exists()
        index(folder, model=quick, store="float16")
        draw(folder / "new.png", 1)
        with pytest.raises(StoreError, match=r"store must be float16, .* got 'float32'"):
            index(folder, store="float32")
        assert len(Collection.open(folder)) == 12

    def test_nothing_to_learn_components_from(self, tmp_path, quick):
        (tmp_path / "none").mkdir()
        with pytest.raises(StoreError, match="pca needs pictures"):
            index(tmp_path / "none", model=quick, dimension=2)


def test_killed_ten_times(tmp_path, quick):
    """The end is that of a run that nobody disturbed, whenever it was killed."""
    chance = random.Random(0)
    folder = tmp_path / "pictures"
    for number in range(150):
        draw(folder / f"{number % 7}" / f"{number:03}.png", number)
    (folder / "3" / "broken.png").write_bytes(b"broken")
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    index(folder, undisturbed, quick)
    kills = 0
    while kills < 10:
        finished = run_until(chance.randrange(12), chance.uniform(0, 0.05), folder, killed, quick)
        if finished:
            shutil.rmtree(killed)
        kills += not finished
    done = index(folder, killed, quick)
    assert [one.path for one in done.skipped] == ["3/broken.png"]
    assert sorted(ids(killed)) == sorted(ids(undisturbed))
    assert len(ids(killed)) == len(rows(killed)) == 150
    same_tables(killed, undisturbed)


def test_killed_while_it_catches_up(tmp_path, quick):
    """Moves, swaps, changes and deletions, with a crash among them."""
    chance = random.Random(1)
    folder = tmp_path / "pictures"
    for number in range(40):
        draw(folder / f"{number:03}.png", number)
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    index(folder, undisturbed, quick)
    shutil.copytree(undisturbed, killed)
    for number in range(12):
        (folder / f"{number:03}.png").rename(folder / f"moved-{number:03}.png")
    for number in range(12, 20, 2):
        one, other = folder / f"{number:03}.png", folder / f"{number + 1:03}.png"
        one.rename(folder / "aside")
        other.rename(one)
        (folder / "aside").rename(other)
    for number in range(20, 26):
        draw(folder / f"{number:03}.png", 1000 + number)
    for number in range(26, 30):
        (folder / f"{number:03}.png").rename(folder / f"zz-{number:03}.png")
        draw(folder / f"{number:03}.png", 2000 + number)
    for number in range(30, 36):
        (folder / f"{number:03}.png").unlink()
    index(folder, undisturbed, quick)
    for _ in range(5):
        run_until(chance.randrange(1, 8), chance.uniform(0, 0.05), folder, killed, quick)
    index(folder, killed, quick)
    same_tables(killed, undisturbed)
    found = ids(killed)
    assert [found[f"moved-{n:03}.png"] for n in range(12)] == list(range(1, 13))
    assert (found["012.png"], found["013.png"]) == (14, 13)
    assert [found[f"{n:03}.png"] for n in range(20, 26)] == list(range(21, 27))
    assert [found[f"zz-{n:03}.png"] for n in range(26, 30)] == list(range(27, 31))


def test_killed_while_embeddings_are_rounded(tmp_path, quick):
    """They are all of one type or all of the other, and the same command goes on."""
    chance = random.Random(2)
    folder = tmp_path / "pictures"
    for number in range(40):
        draw(folder / f"{number:03}.png", number)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    index(folder, whole, quick)
    wanted = Collection.open(whole).features()
    for _ in range(5):
        shutil.rmtree(killed, ignore_errors=True)
        shutil.copytree(whole, killed)
        run_until(-1, chance.uniform(0, 0.05), folder, killed, quick, store="float16")
        found = Collection.open(killed).features()
        np.testing.assert_array_equal(found, wanted.astype(found.dtype))
    index(folder, killed, quick, store="float16")
    found = Collection.open(killed).features()
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, wanted.astype(np.float16))


def limited(folder: Path, to: Path, model, prepare) -> subprocess.CompletedProcess[str]:
    """Index in a process of its own, after some preparation there."""
    arguments = command(folder, to, model)
    return subprocess.run(
        arguments, capture_output=True, text=True, preexec_fn=prepare, check=False, timeout=300
    )


def test_a_full_disk(tmp_path, quick):
    """No file may grow: nothing is lost, and the rest comes when there is room."""
    folder = tmp_path / "pictures"
    for number in range(30):
        draw(folder / f"{number:03}.png", number)
    index(folder, model=quick)
    for number in range(30, 60):
        draw(folder / f"{number:03}.png", number)

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    result = limited(folder, folder / ".ital", quick, prepare=little_room)
    assert result.returncode != 0
    assert "there is no room on the disk. All that was indexed before is kept" in result.stderr
    assert len(Collection.open(folder)) == 30
    assert index(folder).pictures == 60
    assert ids(folder)["059.png"] == 60


HOSTILE = """
import json, resource, sys
from ital.collection import describe, index
done = index(sys.argv[1], sys.argv[2], describe(sys.argv[3]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
skipped = {one.path: one.reason for one in done.skipped}
json.dump({"pictures": done.pictures, "skipped": skipped, "peak": peak}, sys.stdout)
"""


def test_a_hostile_folder(tmp_path, quick):
    import json

    folder, mark = tmp_path / "pictures", tmp_path / "was-here"
    folder.mkdir()
    wanted = hostile(folder, mark)
    command = [sys.executable, "-c", HOSTILE, folder, tmp_path / "store", quick.name]
    try:
        result = subprocess.run(
            command, capture_output=True, preexec_fn=without_privileges, check=False
        )
    finally:
        (folder / "shut").chmod(0o700)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["pictures"] == 6
    for path, reason in wanted.items():
        if reason == "too long":
            (longest,) = [one for one in found["skipped"] if path.startswith(one)]
            assert reason in found["skipped"].pop(longest)
        else:
            assert reason in found["skipped"].pop(path).lower(), path
    assert found["skipped"] == {}
    assert found["peak"] < 2 * 2**20  # kilobytes
    assert not mark.exists()
    assert "to-hidden.png" in ids(tmp_path / "store")


def test_rows_behind_a_shut_door_stay(tmp_path, quick):
    folder = tmp_path / "pictures"
    for name in ("open/a.png", "shut/b.png", "shut/deep/c.png", "locked.png"):
        draw(folder / name, len(name))
    index(folder, model=quick)
    before = ids(folder)
    (folder / "shut").chmod(0)
    locked = draw(folder / "locked.png", 99)
    locked.chmod(0)
    try:
        result = limited(folder, folder / ".ital", quick, prepare=without_privileges)
    finally:
        (folder / "shut").chmod(0o700)
    assert result.returncode == 0, result.stderr
    assert ids(folder) == before
    locked.chmod(0o600)
    assert index(folder).embedded == 1
    assert ids(folder) == before


def test_a_read_only_folder(tmp_path, quick):
    folder = tmp_path / "pictures"
    draw(folder / "a.png", 0)
    folder.chmod(0o500)
    try:
        result = limited(folder, folder / ".ital", quick, prepare=without_privileges)
        assert "give another place by --to" in result.stderr
        result = limited(folder, tmp_path / "store", quick, prepare=without_privileges)
        assert result.returncode == 0, result.stderr
    finally:
        folder.chmod(0o700)
    assert len(Collection.open(tmp_path / "store")) == 1


def test_a_corrupt_model_loses_nothing(folder, quick, tmp_path, monkeypatch):
    index(folder, model=quick)
    draw(folder / "new.png", 1)
    path = tmp_path / "model.onnx"
    path.write_bytes(Path(quick.name).read_bytes())
    model = describe(str(path))
    path.write_bytes(b"corrupt")
    with pytest.raises(ValueError, match="must be an ONNX model"):
        index(folder, model=model)
    assert len(Collection.open(folder)) == 12
    assert index(folder, model=quick).pictures == 13
