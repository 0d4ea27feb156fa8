"""EDGAR as a source, live or replayed: only the base addresses differ (`edgar_url`, `edgar_data_url`).

selection   which filings are wanted: filers, forms, dates, limits
discover    what EDGAR lists of them: by filer, by daily index since the last complete day, or by full index
fetch       one filing's files, checked to be whole, into raw/
"""
