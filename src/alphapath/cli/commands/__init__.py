"""The commands, one per file: `HELP`, `EXAMPLE`, `add_arguments(parser)`, `run(options)`."""
