-- Changes when another connection has written.
pragma data_version
