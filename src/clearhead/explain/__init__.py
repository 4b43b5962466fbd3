"""See inside: shapes, pictures, the attention view. The model does not know that it is watched."""
