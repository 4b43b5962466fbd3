"""The table of positional encodings as a heat map: the clock with many hands."""

from matplotlib.figure import Figure

from clearhead.blocks.positional_encoding import sinusoids
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import RULES, SIGNED, in_style


@in_style()
def sinusoid_map(positions: int = 100, d_model: int = 128) -> Picture:
    """(positions, d_model), left the fast waves, right the slow ones (paper, section 3.5)."""
    figure = Figure(figsize=(9, 4.8))
    axes = figure.subplots()
    table = sinusoids(positions, d_model).numpy()
    image = axes.imshow(table, cmap=SIGNED, vmin=-1, vmax=1, aspect="auto", interpolation="none")
    axes.set_xlabel("dimension: even are sines, odd are cosines; further right, slower")
    axes.set_ylabel("position of the token")
    axes.set_title(f"Positional encoding, {positions} positions, d_model = {d_model}")
    figure.colorbar(image, ax=axes, label="what is added to the embedding", aspect=25)
    return Picture(figure, RULES)
