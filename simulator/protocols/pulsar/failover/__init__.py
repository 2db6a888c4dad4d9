"""Moving consumers from one cluster to another: four modes, the forecast, what the move brought."""
