from __future__ import annotations

import shutil

from running import invoke

from ital import Collection


def test_labels_become_a_search_and_add_to_it(folder, tmp_path):
    table, saved = tmp_path / "labels.csv", tmp_path / "search.json"
    table.write_text("path,label\na/00.png,yes\nb/01.png,no\nc/02.png,unsure\nc/05.png,\n")
    result = invoke("labels", "import", folder, table, "--search", saved)
    assert result.exit_code == 0, result.output
    assert "1 yes, 1 no, 1 unsure" in result.stderr
    collection = Collection.open(folder)
    known = collection.identifiers(collection.paths)
    expected = {known["a/00.png"]: True, known["b/01.png"]: False, known["c/02.png"]: None}
    assert collection.load_search(saved).labels == expected
    for name, path in (("yes", "c/05.png"), ("no", "c/08.png")):
        (tmp_path / name).mkdir()
        shutil.copy(folder / path, tmp_path / name)
    folders = ("--yes", tmp_path / "yes", "--no", tmp_path / "no")
    result = invoke("labels", "import", folder, "--search", saved, *folders)
    assert result.exit_code == 0, result.output
    expected |= {known["c/05.png"]: True, known["c/08.png"]: False}
    assert collection.load_search(saved).labels == expected


def test_mistakes_are_explained_and_change_nothing(folder, tmp_path):
    table, saved = tmp_path / "labels.csv", tmp_path / "search.json"
    table.write_text("path,label\na/00.png,yes\nb/00.png,no\n")
    for arguments, words in (
        ([table], "labels.csv', line 3: path must be that of a picture of the collection"),
        ([], "needs a file, or folders by --yes and --no"),
        (["--yes", tmp_path / "none"], "--yes must be a folder of pictures"),
    ):
        result = invoke("labels", "import", folder, *arguments, "--search", saved)
        assert result.exit_code == 2
        assert words in result.stderr
        assert not saved.exists()
