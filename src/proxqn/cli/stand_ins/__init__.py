"""Commands that take other programs' arguments and files, for scripts that call those."""
