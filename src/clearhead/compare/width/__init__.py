"""What a wider d_model costs and what it gives, counted and measured."""
