"""Pure functions from results to Plotly figures: no widgets, no model."""
