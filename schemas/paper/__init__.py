"""Tables 1-3 of the paper, as data (tables.toml), and their audit; figures of published comparisons (ladders.toml)."""
