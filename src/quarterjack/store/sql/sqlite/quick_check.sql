-- Reads the whole file, but does not compare indexes with tables.
pragma quick_check
