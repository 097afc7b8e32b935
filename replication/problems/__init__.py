"""The data: a choice that fits in a line of JSON, and what it loads."""
