"""Service levels: ledgers of events -> availability, credits, claims and termination of one month. All arithmetic is exact."""
