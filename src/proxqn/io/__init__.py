"""Files: what people hold is read, models are written whole and checked when they come back."""
