"""What makes a card doubtful: images that models have seen, blends that show, claims of submissions."""
