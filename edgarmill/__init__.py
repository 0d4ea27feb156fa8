"""edgarmill: SEC filings into verified, versioned, costed indexes for question answering."""

__version__ = "0.1.0"
