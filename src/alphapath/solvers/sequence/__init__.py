"""Related problems on one kernel, each warm-started from an earlier one in one native call."""
