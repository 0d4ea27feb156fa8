"""The fictional companies of the sample: who they are. Everything follows from (seed, index), so any company can be made alone.

CIKs begin at 9,990,001, far above the numbers that EDGAR has given; names and tickers are coined.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, timedelta

from edgarmill.sample.sectors import SECTORS, Sector

BASE_YEAR = 2024  # the newest full fiscal year
FIRST_CIK = 9_990_001
HEADS = ("Alder", "Brant", "Corin", "Dunmar", "Elster", "Farrow", "Garrick", "Hasel", "Istra", "Jarrow", "Kelmar", "Lorne", "Merrin",
    "Norvel", "Oskar",
         "Pellan", "Quarry", "Rusko", "Selwyn", "Tarn", "Ulver", "Vantor", "Wexley", "Yarrow")
TAILS = ("bridge", "cote", "dale", "fen", "gate", "holm", "kirk", "lake", "moor", "ness", "orth", "port", "reach", "stead", "thorpe",
    "ville", "wick", "yard")
ENDINGS = ("Corporation", "Inc.", "Holdings, Inc.", "Group, Inc.")
TOWNS = (("OH", "Ohio", "Millgrove", "44099", "330"), ("MN", "Minnesota", "Lake Alwin", "55999", "651"), ("TX", "Texas", "Cedar Ford",
    "75999", "972"),
         ("MA", "Massachusetts", "Harrowton", "01999", "978"), ("OR", "Oregon", "Tamarack Falls", "97099", "503"), ("GA", "Georgia",
             "Pinewater", "30999", "770"),
         ("WI", "Wisconsin", "Stonebury", "53099", "262"), ("CO", "Colorado", "Ridgeway Flats", "80699", "720"))
STREETS = ("Foundry Road", "Harbor Avenue", "Canal Street", "Orchard Parkway", "Signal Hill Drive", "Weir Lane")
FIRST_NAMES = ("Ilse", "Marek", "Odalys", "Tobin", "Priya", "Anselm", "Ruth", "Kofi", "Lenora", "Stellan", "Mei", "Dario", "Hedda", "Omar",
    "Wilma", "Jonas")
LAST_NAMES = ("Abernack", "Brightwell", "Castellow", "Drummer", "Eversole", "Fairweather", "Grimaldo", "Hollenbeck", "Ironwood", "Jessop",
    "Kallander",
              "Lindqvist", "Marchetti", "Nakagawa", "Oyelaran", "Prendergast", "Quillfeather", "Rasmund", "Sorensby", "Tillotson")
BRANDS = ("Veltrix", "Auralis", "Condyne", "Brevant", "Solmark", "Tesserin", "Halcyra", "Nimbria", "Orvane", "Quintor", "Rhodane",
    "Sylvaris", "Talvex",
          "Umbrio", "Vireon", "Zephyron")
EXCHANGES = (("Nasdaq", "The Nasdaq Stock Market LLC", "NASDAQ"), ("NYSE", "New York Stock Exchange", "NYSE"))
YEAR_ENDS = (12, 6, 12, 9, 12, 3)


@dataclass(frozen=True)
class Company:
    seed: int
    index: int
    name: str
    short: str
    ticker: str
    cik: str  # ten digits
    sector: Sector
    segments: tuple[str, ...]
    brands: tuple[str, ...]
    town: tuple[str, str, str, str, str]  # state code, state, city, zip, area code
    street: str
    year_end: int  # month in whose last day the fiscal year ends
    founded: int
    officers: tuple[str, str, str, str]  # chief executive, finance, operating, accounting
    exchange: tuple[str, str, str]
    auditor: str

    def rng(self, *topic: object) -> random.Random:
        """Chance of this company for a topic, the same wherever and in whatever order it is asked for."""
        return random.Random(f"{self.seed}/{self.index}/" + "/".join(map(str, topic)))

    @property
    def prefix(self) -> str:
        """Namespace prefix and stem of file names."""
        return self.ticker.lower()

    @property
    def file_number(self) -> str:
        return f"001-{90000 + self.index % 10000:05}"

    @property
    def ein(self) -> str:
        return f"99-{9000000 + self.index:07}"

    @property
    def phone(self) -> str:
        return f"({self.town[4]}) 555-{100 + self.index % 100:04}"

    def quarter_end(self, year: int, quarter: int) -> date:
        """Last day of a fiscal quarter. Fiscal year N ends in calendar year N."""
        months = year * 12 + self.year_end - 3 * (4 - quarter)  # month after the quarter, counted from 0
        return date(months // 12, months % 12 + 1, 1) - timedelta(days=1)

    def quarter_start(self, year: int, quarter: int) -> date:
        return self.quarter_end(*((year, quarter - 1) if quarter > 1 else (year - 1, 4))) + timedelta(days=1)


def company(seed: int, index: int) -> Company:
    """The company with this number (from 0)."""
    rng = random.Random(f"{seed}/{index}/company")
    round_, place = divmod(index, len(HEADS) * len(TAILS))
    head, tail = HEADS[place * 7 % len(HEADS)], TAILS[(place * 5 + place // len(HEADS)) % len(TAILS)]
    short = head + tail + (f" {round_ + 1}" if round_ else "")
    sector = SECTORS[index % len(SECTORS)]
    people = [f"{first} {last}" for first, last in zip(rng.sample(FIRST_NAMES, 4), rng.sample(LAST_NAMES, 4), strict=True)]
    brands = tuple(f"{brand} {rng.choice((20, 40, 60, 100, 200, 300, 500, 700))}" for brand in rng.sample(BRANDS, 6))
    return Company(
        seed=seed, index=index, name=f"{short} {ENDINGS[index % len(ENDINGS)]}", short=short,
        ticker=(head[:2] + tail[:2]).upper() + (_letters(round_) if round_ else ""), cik=f"{FIRST_CIK + index:010}", sector=sector,
        segments=sector.segments[: rng.choice((2, 3, 3))], brands=brands, town=TOWNS[(index * 3 + rng.randrange(2)) % len(TOWNS)],
        street=f"{rng.randrange(100, 9900)} {rng.choice(STREETS)}", year_end=YEAR_ENDS[index % len(YEAR_ENDS)],
        founded=rng.randrange(1921, 2004),
        officers=(people[0], people[1], people[2], people[3]), exchange=EXCHANGES[index % 2], auditor=rng.choice(("Hollis & Brandt LLP",
            "Tarrant Voss LLP")),
    )


def _letters(number: int) -> str:
    """1 -> A, 26 -> Z, 27 -> AA."""
    text = ""
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(65 + rest) + text
    return text
