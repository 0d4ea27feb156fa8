"""The notes to the annual statements, each within its text block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from edgarmill.sample import boiler, story
from edgarmill.sample.books import Books
from edgarmill.sample.inline import Report, Row, millions
from edgarmill.sample.statements import Period, segments


def notes(report: Report, kept: Books, year: int, periods: Sequence[Period], weight: int) -> None:
    """`weight` above 1 adds a schedule of contracts that many times as long."""
    one = report.company
    report.heading("NOTES TO CONSOLIDATED FINANCIAL STATEMENTS")
    context = periods[0].context
    number = 0
    for number, (title, concept, text) in enumerate(boiler.POLICIES, 1):
        with block(report, concept, context):
            report.heading(f"Note {number} - {title}")
            report.say(text.format(**boiler.words(one, "policy", title, year)))
            if title == "Revenue":
                segments(report, periods)
            if title == "Inventories":
                _inventories(report, kept, year)
    others = (("Debt", "DebtDisclosureTextBlock", _debt), ("Commitments", "CommitmentsDisclosureTextBlock", _commitments),
              ("Contingencies", "LegalMattersAndContingenciesTextBlock", _contingencies), ("Acquisition",
                  "BusinessCombinationDisclosureTextBlock", _acquisition),
              ("Restructuring", "RestructuringAndRelatedActivitiesDisclosureTextBlock", _restructuring))
    for title, concept, write in others:
        number += 1
        with block(report, concept, context):
            report.heading(f"Note {number} - {title}")
            write(report, kept, year)
    if weight > 1:
        _schedule(report, kept, year, weight)


@contextmanager
def block(report: Report, concept: str, context: str) -> Iterator[None]:
    report.raw(report.open_block(concept, context), 0)
    yield
    report.raw("</ix:nonNumeric>", 0)


def _inventories(report: Report, kept: Books, year: int) -> None:
    totals = [kept.end(y).inventory for y in (year, year - 1)]
    raw = [t * report.company.rng("raw", y).randrange(30, 45) // 100 for t, y in zip(totals, (year, year - 1), strict=True)]
    process = [t * report.company.rng("process", y).randrange(10, 20) // 100 for t, y in zip(totals, (year, year - 1), strict=True)]
    goods = [t - r - p for t, r, p in zip(totals, raw, process, strict=True)]
    report.table([str(year), str(year - 1)], [Row("Materials and parts", raw), Row("Work in process", process),
                                              Row("Finished goods", goods),
                                              Row("Inventories, all stages", totals, total=True)], (), "(in thousands)")


def _debt(report: Report, kept: Books, year: int) -> None:
    end = kept.end(year)
    rate, due = story.notes_rate(report.company)
    report.say(f"Debt consists of {rate}% senior notes due {due} and a term loan. The notes are not secured. The carrying amount was "
               f"{millions(end.debt + end.current_debt)}, of which {millions(end.current_debt)} falls due within a year. All covenants "
               "were met.")


def _commitments(report: Report, kept: Books, year: int) -> None:
    report.say(story.commitments(report.company, kept, year),
               "Letters of credit and bonds secure our duties under some contracts; none was drawn.")


def _contingencies(report: Report, kept: Books, year: int) -> None:
    one = report.company
    if one.index % 2:
        report.say(story.lawsuit_began(one), story.lawsuit_stands(one, kept, year))
    report.say("We are party to other claims that arise in the course of business. We record a loss when it is probable and can be "
               "estimated, and do not expect those other claims to be material.")


def _acquisition(report: Report, kept: Books, year: int) -> None:
    one, deal = report.company, kept.purchase
    if deal.year > year:
        report.say("No business was acquired in the periods shown.")
        return
    segment = one.segments[one.rng("deal").randrange(len(one.segments))]
    report.say(story.acquisition(one, kept), f"Its results are reported within {segment} from that day and were not material.")
    report.say(story.goodwill_of_purchase(one, kept))


def _restructuring(report: Report, kept: Books, year: int) -> None:
    if kept.cut[0] > year:
        report.say("There were no restructuring charges in the periods shown.")
        return
    report.say(story.restructuring(report.company, kept),
               "Amounts not yet paid are within accrued liabilities and will be settled within a year.")


def _schedule(report: Report, kept: Books, year: int, weight: int) -> None:
    """Filling of any length, every line different: contracts with their amounts."""
    one, rng = report.company, report.company.rng("schedule", year)
    report.heading("Schedule of supply contracts")
    for part in range(1, weight):
        rows = []
        for line in range(1, 61):
            amount = rng.randrange(10, 90_000)
            rows.append(Row(f"Contract {part:04}-{line:02} for {rng.choice(one.sector.materials)}",
                            [amount, amount * rng.randrange(80, 120) // 100]))
        for start in range(0, 60, 20):
            report.table([str(year), str(year - 1)], rows[start:start + 20], (), "(in thousands)")
        words = boiler.words(one, "schedule", year, part)
        report.say(f"Group {part:04} of these contracts serves the {words['site']} in {words['town']} and can be ended on "
                   f"{rng.randrange(2, 40)} weeks' notice. Prices follow an index that moved by {rng.randrange(-90, 160) / 10}% over the "
                   f"year, and {rng.randrange(5, 95)}% of the volume was called off.")
