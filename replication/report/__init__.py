"""From kept runs to a page: numbers, verdicts, tables, figures, words."""
