-- Is the file whole? The indexes are not compared with their tables.
pragma quick_check
