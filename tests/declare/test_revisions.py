"""Revisions of a declaration and their order."""

from __future__ import annotations

from quarterjack.declare.revisions import Revisions


def test_the_last_revision_is_the_one_that_was_applied_last():
    revisions = Revisions({}).with_last("first").with_last("second")

    assert revisions.is_last("second")
    assert revisions.is_before("first", "second")
    assert revisions.with_last("second") == revisions

    reverted = revisions.with_last("first")

    assert reverted.is_last("first")
    assert reverted.is_before("second", "first")


def test_a_revision_that_was_never_applied_is_neither_last_nor_before():
    revisions = Revisions({}).with_last("first")

    assert not Revisions({}).is_last("new")
    assert not revisions.is_last("new")
    assert not revisions.is_before("new", "first")
    assert not revisions.is_before("first", "new")


def test_only_the_latest_revisions_are_stored():
    revisions = Revisions({})
    for number in range(200):
        revisions = revisions.with_last(f"revision {number}")

    assert revisions.is_last("revision 199")
    assert revisions.is_before("revision 198", "revision 199")
    assert not revisions.is_before("revision 3", "revision 199"), "it is not stored any more"
    assert len(revisions.to_text()) < 2000
    assert Revisions.from_text(revisions.to_text()) == revisions
