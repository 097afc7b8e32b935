"""The paper's experiments: what is run, and what came out, as data that a page can show."""
