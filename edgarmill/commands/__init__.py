"""One verb a file; the file's name is the verb and `command` is what click runs. Heavy imports stand inside the functions."""
