"""The notebook on BERT and GPT shows what its text says."""

import re

from tests.notebooks.running import run


def test_every_cell_runs_and_shows_what_it_promises() -> None:
    ran = run("family")
    assert ran.printed.count("<All keys matched successfully>") == 2
    parts, difference, answers = ran.shown("text/markdown")
    assert "| EncoderBlock | 2 | 2 |" in parts
    assert "-            config, lambda: blocks.PostNormResidualConnection" in difference
    assert "+        visible = blocks.look_ahead_mask(" in difference
    assert answers.count("**[MASK]**") == 6
    # The last word changes every hidden state of BERT, but only the last ones of GPT.
    seen = dict(re.findall(r"^(Bert|Gpt) +([x.]+)$", ran.printed, re.M))
    assert set(seen["Bert"][:5]) == {"x"} and re.fullmatch(r"\.+x+", seen["Gpt"])
    losses = [float(loss) for loss in re.findall(r"loss (\d+\.\d+)", ran.printed)]
    half = len(losses) // 2
    assert losses[0] > losses[half - 1] and losses[half] > losses[-1]
    for apart in re.findall(r"largest difference ([0-9.e+-]+)", ran.printed):
        assert float(apart) <= 1e-5
    assert not ran.warned and len(ran.shown("image/png")) == 1
