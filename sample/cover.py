"""Cover pages with their dei facts, shared by the three forms."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from edgarmill.sample.books import Books
from edgarmill.sample.companies import Company
from edgarmill.sample.inline import Report, long_date

NAMES = {"10-K": "ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934",
         "10-Q": "QUARTERLY REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934",
         "8-K": "CURRENT REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934"}


def cover(report: Report, form: str, start: date, end: date) -> None:
    """The first page: form, period, registrant, securities."""
    one = report.company
    context = report.contexts.duration(start, end)
    lines = ["UNITED STATES", "SECURITIES AND EXCHANGE COMMISSION", "Washington, D.C. 20549",
             f"FORM {report.fact('DocumentType', form, context)}", NAMES[form]]
    shown = report.fact("DocumentPeriodEndDate", long_date(end), context, "date-monthname-day-year-en")
    lines.append({"10-K": f"For the fiscal year ended {shown}", "10-Q": f"For the quarterly period ended {shown}",
                  "8-K": f"Date of Report (date of earliest event reported): {shown}"}[form])
    lines.append(f"Commission file number: {report.fact('EntityFileNumber', one.file_number, context)}")
    lines.append(f"<b>{report.fact('EntityRegistrantName', one.name.upper(), context)}</b>")
    lines.append("(Exact name of registrant as specified in its charter)")
    made = "".join(f'<div style="text-align:center;font-size:10pt">{line}</div>\n' for line in lines)
    report.raw(made, 700)
    report.raw(_registrant(report, one, context) + _securities(report, one, context), 700)


def _registrant(report: Report, one: Company, context: str) -> str:
    state, _, city, zip_code, _ = one.town
    cells = (
        (report.fact("EntityIncorporationStateCountryCode", "Delaware", context, "stateprovnameen"), "(State of incorporation)"),
        (report.fact("EntityTaxIdentificationNumber", one.ein, context), "(I.R.S. Employer Identification No.)"),
        (f"{report.fact('EntityAddressAddressLine1', one.street, context)}, {report.fact('EntityAddressCityOrTown', city, context)}, "
         f"{report.fact('EntityAddressStateOrProvince', state, context)} {report.fact('EntityAddressPostalZipCode', zip_code, context)}",
         "(Address of principal executive offices)"),
        (one.phone, "(Registrant's telephone number)"),
    )
    rows = "".join(f'<tr><td style="text-align:center">{value}</td></tr><tr><td style="text-align:center;font-size:8pt">{label}</td></tr>'
                   for value, label in cells)
    return f'<table style="width:100%">{rows}</table>\n'


def _securities(report: Report, one: Company, context: str) -> str:
    title = report.fact("Security12bTitle", "Common stock, par value $0.001 per share", context)
    symbol = report.fact("TradingSymbol", one.ticker, context)
    market = report.fact("SecurityExchangeName", one.exchange[1], context, "exchnameen")
    return ('<div style="font-size:9pt">Securities registered pursuant to Section 12(b) of the Act:</div>\n<table style="width:100%">'
            "<tr><td><b>Title of each class</b></td><td><b>Trading symbol</b></td><td><b>Name of each exchange</b></td></tr>"
            f"<tr><td>{title}</td><td>{symbol}</td><td>{market}</td></tr></table>\n")


def marks(report: Report, books: Books, form: str, year: int, quarter: int, filed: date) -> None:
    """Check marks, float and shares outstanding of a periodic report, and its hidden facts."""
    one = report.company
    context = report.contexts.duration(one.quarter_start(year, 1), one.quarter_end(year, quarter))
    shares = books.end(year, quarter).shares * 1000
    at_filing = report.contexts.instant(filed)
    report.raw('<div style="font-size:9pt">Indicate by check mark whether the registrant is a large accelerated filer, an accelerated '
               'filer, a '
               "non-accelerated filer or a smaller reporting company: large accelerated filer &#9746; accelerated filer &#9744; "
               "non-accelerated filer "
               "&#9744; smaller reporting company &#9744;</div>\n", 300)
    if form == "10-K":
        worth = Decimal(shares) * (books.year(year).per_share * 17)
        figure = report.number("dei:EntityPublicFloat", f"{worth / 1_000_000:,.1f}", context, "usd", 6)
        report.raw(f'<div style="font-size:9pt">The aggregate market value of common stock held by non-affiliates was about ${figure} '
                   'million.</div>\n', 120)
    outstanding = report.number("dei:EntityCommonStockSharesOutstanding", f"{shares:,}", at_filing, "shares")
    report.raw(f'<div style="font-size:9pt">Shares of common stock outstanding at {long_date(filed)}: {outstanding}</div>\n', 120)
    end = one.quarter_end(year, 4)
    for name, text in (("AmendmentFlag", "false"), ("DocumentFiscalYearFocus", str(year)),
                       ("DocumentFiscalPeriodFocus", "FY" if form == "10-K" else f"Q{quarter}"),
                       ("EntityCentralIndexKey", one.cik), ("CurrentFiscalYearEndDate", f"--{end:%m-%d}")):
        report.hide(name, text, context)
