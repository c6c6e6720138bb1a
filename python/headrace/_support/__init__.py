"""What all other modules of the package may use: checks of arguments, log, progress, memory, where the program lies."""
