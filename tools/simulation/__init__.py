"""Captures of clusters that do not exist: a model of each node, faults that change the model, renderers that print as the real tools do."""
