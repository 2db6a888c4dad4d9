"""Moving consumers from one cluster to another: four modes, the forecast, and the result."""
