"""What fetching would take: every filing counted once, requests and bytes of what is not in the lake."""

from __future__ import annotations

import pytest
from edgar_desk import listing

from edgarmill.workers.source.edgar.estimate import MEDIAN_BYTES, SHARE, estimate

K, Q, E = "0000000001-24-000001", "0000000001-24-000002", "0000000001-24-000003"


def test_documents_cost_a_header_page_a_document_and_an_exhibit_where_item_901_names_them() -> None:
    rows = [listing(K, size=1_000), listing(E, "8-K", items=("2.02", "9.01"), size=100), listing(Q, "8-K", items=("5.02",), size=100)]
    found = estimate(rows, (), "documents", 7)
    assert [(line.form, line.filings, line.requests) for line in found.lines] == [("10-K", 1, 2), ("8-K", 2, 5)]
    assert (found.filings, found.to_fetch, found.requests, found.listing_requests) == (3, 3, 7, 7)
    assert (found.lines[0].bytes_low, found.lines[0].bytes_high) == tuple(share * 1_000 for share in SHARE)


def test_the_full_text_costs_one_request_and_its_listed_size() -> None:
    [line] = estimate([listing(K, size=1_000)], (), "submission", 0).lines
    assert (line.requests, line.bytes_low, line.bytes_high) == (1, 1_000, 1_000)


def test_before_documents_had_names_the_full_text_is_reckoned() -> None:
    [line] = estimate([listing(K, filed="1999-03-01", size=1_000)], (), "documents", 0).lines
    assert (line.requests, line.bytes_low, line.bytes_high) == (1, 1_000, 1_000)


def test_a_size_that_is_not_listed_is_the_median_of_its_form() -> None:
    [line] = estimate([listing(K)], (), "submission", 0).lines
    assert line.bytes_low == MEDIAN_BYTES["10-K"]


def test_what_the_lake_has_costs_nothing() -> None:
    [line] = estimate([listing(K, size=1_000), listing(Q, size=1_000)], {K}, "documents", 0).lines
    assert (line.filings, line.here, line.requests, line.bytes_high) == (2, 1, 2, SHARE[1] * 1_000)


def test_forms_and_years_are_apart_and_counts_close() -> None:
    rows = [listing(K), listing(Q, filed="2025-03-01"), listing(E, "10-K405", filed="2002-03-01")]
    found = estimate(rows, (), "documents", 0)
    assert [(line.form, line.year) for line in found.lines] == [("10-K", 2024), ("10-K", 2025), ("10-K405", 2002)]
    assert found.filings == sum(line.filings for line in found.lines) == 3


def test_time_is_requests_over_the_limit_and_packed_bytes_over_the_line() -> None:
    found = estimate([listing(K, size=4_600_000)], (), "submission", 0)
    assert found.seconds_at(8) == pytest.approx(0.125)
    assert found.seconds_over(1_000_000) == (pytest.approx(1.0), pytest.approx(1.0))


def test_nothing_is_no_time() -> None:
    found = estimate([], (), "documents", 2)
    assert (found.filings, found.requests, found.seconds_at(8), found.seconds_over(1.0)) == (0, 0, 0.0, (0.0, 0.0))
