"""Identity of pictures, against a literal account of what a person did to the files."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ital.collection.identity import Entry, claims, unsettled
from ital.collection.scan import File


def entry(identifier, path, content, modified=0):
    return Entry(identifier, path, content, len(content), modified)


def file(path, content, modified=0):
    return File(path, len(content), modified)


def settle(files, entries, elsewhere=()):
    """Identifiers by path after a run over ``files``, a mapping of path to (content, modified)."""
    found = [file(path, *about) for path, about in files.items()]
    rest = unsettled(found, entries)
    hashes = {path: content for path, (content, _) in files.items()}
    given = claims(rest.files, hashes, rest.entries, elsewhere, {one.id for one in entries})
    kept = {one.path: one.id for one in entries if one not in rest.entries}
    return kept | given


def test_what_stays_keeps_its_identifier_unopened():
    entries = [entry(1, "a", "x"), entry(2, "b", "y")]
    rest = unsettled([file("a", "x"), file("b", "y")], entries)
    assert rest.files == []
    assert rest.entries == []


def test_moved_changed_touched_copied_swapped():
    entries = [entry(1, "a", "x"), entry(2, "b", "yy")]
    assert settle({"c": ("x", 0), "b": ("yy", 0)}, entries) == {"b": 2, "c": 1}
    assert settle({"a": ("zzz", 5), "b": ("yy", 0)}, entries) == {"a": 1, "b": 2}
    assert settle({"a": ("x", 5), "b": ("yy", 0)}, entries) == {"a": 1, "b": 2}
    assert settle({"a": ("x", 0), "b": ("yy", 0), "c": ("x", 0)}, entries) == {"a": 1, "b": 2}
    assert settle({"a": ("yy", 0), "b": ("x", 0)}, entries) == {"a": 2, "b": 1}


def test_moved_with_another_in_its_place():
    entries = [entry(1, "a", "x")]
    assert settle({"a": ("new", 9), "z": ("x", 0)}, entries) == {"z": 1}


def test_a_crash_between_the_two_rows_of_a_move():
    """The new file at the old path has its row; the moved one has not been seen yet."""
    entries = [entry(1, "a", "x"), entry(7, "a", "new", 9)]
    assert settle({"a": ("new", 9), "z": ("x", 0)}, entries) == {"a": 7, "z": 1}


def test_two_copies_one_moved():
    entries = [entry(1, "a", "x"), entry(2, "b", "x")]
    assert settle({"a": ("x", 3), "c": ("x", 3)}, entries) == {"a": 1, "c": 2}


def test_other_models_share_identifiers():
    others = [entry(4, "a", "x"), entry(5, "b", "y"), entry(6, "c", "z")]
    assert settle({"a": ("x", 0), "d": ("y", 0)}, [], others) == {"a": 4, "d": 5}
    # One that is taken under this model is not given twice.
    assert settle({"c": ("w", 0), "b": ("y", 0)}, [entry(5, "c", "w")], others) == {"c": 5}


contents = st.sampled_from(["x", "yy", "zzz", "wwww"])
names = st.sampled_from("abcdef")


@given(
    st.dictionaries(names, contents, max_size=6),
    st.dictionaries(names, st.tuples(contents, st.integers(0, 1)), max_size=6),
    st.dictionaries(names, contents, max_size=3),
)
def test_no_identifier_is_given_twice_and_content_comes_first(before, after, others):
    entries = [entry(n, path, content) for n, (path, content) in enumerate(before.items(), 1)]
    elsewhere = [entry(n, path, content) for n, (path, content) in enumerate(others.items(), 5)]
    ids = settle(after, entries, elsewhere)
    assert len(set(ids.values())) == len(ids)
    assert set(ids) <= set(after)
    known = {one.id: one for one in [*elsewhere, *entries]}
    for path, identifier in ids.items():
        # Content that is known, or a path that is.
        assert known[identifier].hash == after[path][0] or known[identifier].path == path
    for one in entries:
        same = [path for path, (content, _) in after.items() if content == one.hash]
        if one.path not in after and one.id not in ids.values():
            # It may only be gone if all files of its content are other pictures.
            assert all(known[ids[path]].hash == one.hash for path in same)
