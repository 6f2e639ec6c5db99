"""The fitted model: scoring, calibration, the file."""
