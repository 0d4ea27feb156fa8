"""What a filing's work may take: the collector of reference cycles rests meanwhile, and works again whatever happens."""

from __future__ import annotations

import gc

import pytest

from edgarmill.workers.limits import uncollected


def test_the_collector_rests_within_and_works_again_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(KeyError), uncollected(), uncollected():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
