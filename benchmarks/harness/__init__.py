"""What every benchmark uses: processes, data, peers, judges and tables."""
