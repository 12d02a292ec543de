"""Related problems on one kernel, each started from an earlier solution in one native call."""
