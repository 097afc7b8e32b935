"""Files made to harm, by the million: ``python -m tests.fuzz KIND``, ``make fuzz-files``."""
