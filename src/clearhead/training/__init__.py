"""From a recipe to a model directory; `clearhead.training.session` is the door."""
