"""Methods, plans and single runs: each made in a process of its own and kept at once."""
