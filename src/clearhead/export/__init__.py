"""The model in another house: files that production engines load, and proof that they agree."""
