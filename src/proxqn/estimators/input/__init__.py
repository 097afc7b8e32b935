"""Data as users pass them, checked and brought into one form."""
