-- Reads the whole file, and compares each index with its table.
pragma integrity_check
