"""One verb a file: the only place that combines rooms and touches the study folder."""
