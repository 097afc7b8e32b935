"""From what users hold to sparse data: names, templates, encoding, layout, label trees."""
