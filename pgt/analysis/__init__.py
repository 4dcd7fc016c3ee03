"""What a prediction is worth: results files, calibration, comparisons, limits."""
