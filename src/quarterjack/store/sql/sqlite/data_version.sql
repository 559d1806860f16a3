-- Another number than before means that another connection has written.
pragma data_version
