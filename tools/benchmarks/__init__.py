"""One file per group of figures; each has figures(), which yields rows of bench.json."""
