"""Training, from a recipe to a model directory; start reading at `clearhead.training.session`."""
