-- All of the file is read: is it whole, and does every index say what its table says?
pragma integrity_check
