"""What every result of Faultscape can do: give a table, a plot and HTML, be saved, and be loaded again."""
