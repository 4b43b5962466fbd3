"""Right answers pass however they are written; wrong ones are refused and, if known, named."""

import json
import re
import warnings

import pytest

from clearhead.learn.answer import run_answer
from clearhead.learn.client import Grader
from clearhead.learn.grading import grade, of_errors
from clearhead.learn.manifest import course
from clearhead.learn.report import Report
from clearhead.learn.session import check_text
from clearhead.learn.texts import solution, starting_text, variant_text
from tests.learn import answers


def graded(grader: Grader, name: str, text: str) -> Report:
    return grader.grade(course().exercise(name), text)


def graded_here(name: str, text: str) -> Report:
    """Graded in this process: these answers are ours, and there are many."""
    exercise = course().exercise(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = json.loads(json.dumps(run_answer(text, exercise)))
        return grade(name, exercise.subject, result)


@pytest.mark.parametrize(("exercise", "text"), answers.RIGHT, ids=lambda v: v.split("\n")[0][:30])
def test_a_right_answer_passes_however_it_is_written(exercise: str, text: str) -> None:
    report = graded_here(exercise, text)
    assert report.passed, str(report)


@pytest.mark.parametrize(
    ("exercise", "text", "mistake"), answers.WRONG, ids=lambda v: v.split("\n")[0][:30]
)
def test_a_wrong_answer_in_a_learners_words_is_named(
    exercise: str, text: str, mistake: str
) -> None:
    report = graded_here(exercise, text)
    assert not report.passed
    assert [m.name for m in report.mistakes] == [mistake], str(report)


@pytest.mark.parametrize(
    ("exercise", "text", "words"), answers.UNNAMED, ids=lambda v: v.split("\n")[0][:30]
)
def test_a_wrong_answer_without_a_known_mistake_is_refused_and_not_misnamed(
    exercise: str, text: str, words: str
) -> None:
    report = graded_here(exercise, text)
    assert not report.passed and words in str(report)
    assert not report.mistakes, str(report)


@pytest.mark.parametrize(
    "error",
    ["AssertionError: Torch not compiled with CUDA enabled",
     "RuntimeError: Found no NVIDIA driver on your system.",
     "RuntimeError: Expected all tensors to be on the same device, but found mps:0 and cpu"],
)  # fmt: skip
def test_a_fixed_device_is_recognized_with_every_build_of_torch(error: str) -> None:
    assert [*of_errors([{"raw": error}])] == ["device-fixed"]


def test_output_and_weights_in_a_list_are_a_pair_as_well() -> None:
    pair = "return kept @ value, weights"
    text = solution("attention").replace(pair, "return [kept @ value, weights]")
    for exercise in ("scale", "write-attention"):
        report = graded_here(exercise, text)
        assert report.passed, str(report)


def test_two_mistakes_at_once_are_both_named(grader: Grader) -> None:
    text = variant_text("layer_normalization", "mean-added", "alpha-forgotten")
    report = graded(grader, "normalize", text)
    assert {m.name for m in report.mistakes} == {"mean-added", "alpha-forgotten"}


def test_an_unknown_mistake_reports_shape_and_largest_difference(grader: Grader) -> None:
    text = solution("residual").replace("return x + self", "return 0.5 * x + self")
    report = graded(grader, "residual", text)
    assert not report.passed and not report.mistakes
    assert "largest difference" in str(report) and "shape and dtype are right" in str(report)


def test_a_predicted_number_may_be_a_tensor() -> None:
    values = "loss_of_uniform = torch.log(torch.tensor(8000.0))\nperplexity_of_uniform = 8000"
    text = f"import torch\n\nVOCABULARY = 8000\n{values}\n"
    assert graded_here("first-loss", text).passed
    assert not graded_here("first-loss", text.replace("log(", "log2(")).passed


def test_a_predicted_number_may_be_one_of_numpy() -> None:
    sizes = "LAYERS, HEADS, D_K, LENGTH = 6, 8, 64, 100\n"
    numbers = sizes + "bytes_in_float32 = 4 * np.prod([512, 2048])"
    rest = "bytes_in_int8 = np.int32(512 * 2048)\nbytes_of_the_cache = 4 * 6 * 2 * 8 * 64 * 100\n"
    assert graded_here("cache-size", f"import numpy as np\n{numbers}\n{rest}").passed
    assert not graded_here("cache-size", f"import numpy as np\n{numbers} + 9999\n{rest}").passed


def test_a_constant_factor_is_said(grader: Grader) -> None:
    text = solution("projection").replace("return torch.log", "return 3 * torch.log")
    report = graded(grader, "log-probabilities", text)
    assert "every element is 3 times the expected one" in str(report)


def test_a_wrong_shape_is_said_before_values(grader: Grader) -> None:
    text = solution("residual").replace("return x + self", "return 0.5 * x[:, 1:] + self")
    text = text.replace("self.dropout(sublayer(self.norm(x)))", "0")
    message = str(graded(grader, "residual", text))
    assert "expected shape" in message and "largest difference" not in message


def test_a_shape_error_is_explained_by_the_tracer(grader: Grader) -> None:
    text = variant_text("attention", "key-not-transposed")
    report = graded(grader, "scale", text)
    assert "matmul" in report.error and "key.transpose(-2, -1)" in report.error
    assert report.line == 1 + text[: text.index("query @ key")].count("\n")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("write-feed-forward", "self.linear_2(self.dropout(torch.relu(self.linear_1(x))))",
         "self.linear_2(self.dropout(torch.relu(self.linear_1(x)).mul_(1)))"),
        ("write-attention", "kept @ value, weights", "kept @ value, weights.mul_(1)"),
    ],
)  # fmt: skip
def test_a_result_changed_in_place_is_not_taken_for_the_input(
    name: str, old: str, new: str
) -> None:
    text = solution(course().exercise(name).subject)
    assert old in text
    report = graded_here(name, text.replace(old, new))
    assert [m.name for m in report.mistakes] == ["needed-value-changed-in-place"], str(report)


def test_a_function_without_return_is_named_with_its_line(grader: Grader) -> None:
    text = solution("multi_head_attention").replace("return x.transpose", "x.transpose")
    report = graded(grader, "split-heads", text)
    assert report.error == "join_heads returns nothing"
    assert report.line == 1 + text[: text.index("def join_heads")].count("\n")


PREALLOCATED = """
import torch
from torch.nn.functional import scaled_dot_product_attention

def attend_cached(query, key, value, cache):
    if not cache:
        cache["key"], cache["value"] = key.repeat(1, 1, 99, 1), value.repeat(1, 1, 99, 1)
        cache["n"] = 0
    n = cache["n"]
    cache["key"][:, :, n : n + 1], cache["value"][:, :, n : n + 1] = key, value
    cache["n"] = n = n + 1
    return scaled_dot_product_attention(query, cache["key"][:, :, :n], cache["value"][:, :, :n])
"""


def test_a_cache_that_is_filled_in_place_passes() -> None:
    assert graded_here("cache", PREALLOCATED).passed


def test_a_cache_that_outlives_the_sentence_is_not_named_a_batch_of_one() -> None:
    start = "def attend_cached(query, key, value, cache):\n"
    kept = PREALLOCATED.replace(start, "kept = {}\n\n" + start + "    cache = kept\n")
    report = graded_here("cache", kept)
    assert "a new sentence begins: does not hold" in str(report) and not report.mistakes


def test_n_grams_of_other_words_with_the_same_letters_are_told_apart() -> None:
    report = graded_here("bleu-parts", solution("bleu_parts").replace("tuple(", "''.join("))
    assert [m.name for m in report.mistakes] == ["words-joined-without-a-space"]


def test_a_boolean_mask_has_no_factor(grader: Grader) -> None:
    text = solution("masks").replace("(ids != pad_id)", "(ids != 0)")
    assert "times the expected one" not in str(graded(grader, "padding-mask", text))


def test_a_list_of_layers_that_is_called_is_not_taken_for_an_open_exercise(grader: Grader) -> None:
    text = variant_text("encoder", "list-of-layers-called")
    error = graded(grader, "encoder", text).error
    assert 'missing the required "forward" function' in error and "not written yet" not in error


@pytest.mark.parametrize(
    ("old", "new", "mistakes"),
    [
        ("self.tgt_pos(self.tgt_embed(tgt))", "self.src_pos(self.src_embed(tgt))",
         ["target-embedded-as-source"]),
        ("self.tgt_pos(self.tgt_embed(tgt))", "self.tgt_pos(self.tgt_embed(tgt.float()))", []),
    ],
)  # fmt: skip
def test_an_error_of_the_librarys_checks_is_a_mistakes_only_with_its_message(
    old: str, new: str, mistakes: list[str]
) -> None:
    report = graded_here("encode-decode", solution("transformer").replace(old, new))
    assert [m.name for m in report.mistakes] == mistakes, str(report)


def test_an_inverted_mask_and_a_positive_number_are_both_named(grader: Grader) -> None:
    text = solution("attention").replace(
        "masked_fill(~visible, torch", "masked_fill(visible, torch"
    )
    diagnosis = graded(grader, "write-attention", text).mistakes[0].diagnosis
    assert "large positive" in diagnosis and "where the mask is True" in diagnosis


@pytest.mark.parametrize(
    ("exercise", "old", "new"),
    [
        ("write-attention", "scores.masked_fill(~visible, torch.finfo(scores.dtype).min)",
         "scores + (1 - visible.float()) * -torch.inf"),
        ("frequencies", "torch.exp(even * (-math.log(10000.0) / d_model))", "1 / even"),
    ],
)  # fmt: skip
def test_nan_beside_right_results_is_not_taken_for_a_mistake_that_has_none(
    exercise: str, old: str, new: str
) -> None:
    text = solution(course().exercise(exercise).subject)
    assert old in text
    report = graded_here(exercise, text.replace(old, new))
    assert not report.passed and not report.mistakes, str(report)


@pytest.mark.parametrize("hidden", ["mask == 0", "~mask"])
def test_a_mask_that_is_used_although_it_is_none_is_named(hidden: str) -> None:
    text = answers.examined.ATTENTION.replace("masked_fill(mask == 0", f"masked_fill({hidden}")
    text = text.replace("    if mask is not None:\n        scores =", "    scores =")
    report = graded_here("write-attention", text)
    assert [m.name for m in report.mistakes] == ["mask-used-without-one"], str(report)


def test_more_genes_asked_for_than_there_are_is_no_fixed_size() -> None:
    text = """
def rank_encoding(counts, medians, max_length):
    found = (counts / counts.sum() / medians).topk(max_length).indices
    return [int(gene) for gene in found if counts[gene] > 0]
"""
    report = graded_here("rank-encoding", text)
    assert [m.name for m in report.mistakes] == ["more-than-there-are"], str(report)


def test_layers_that_the_exercise_gives_are_not_said_to_be_swapped(grader: Grader) -> None:
    text = variant_text("feed_forward", "input-not-widened")
    report = graded(grader, "feed-forward", text)
    assert "d_model (8) does not match d_ff (13)" in report.error
    assert "swapped" not in str(report)
    assert [m.name for m in report.mistakes] == ["input-not-widened"]


def test_a_file_as_handed_out_says_which_line_is_open(grader: Grader) -> None:
    exercise = course().exercise("scale")
    report = grader.grade(exercise, starting_text(exercise))
    assert not report.passed and "the blank ____ is not filled in" in report.error


def test_a_syntax_error_shows_line_and_caret(grader: Grader) -> None:
    report = graded(grader, "scale", "def attention(query:\n    pass\n")
    assert report.line == 1 and "^" in report.error and "Traceback" not in str(report)


def test_a_renamed_function_is_named(grader: Grader) -> None:
    text = solution("attention").replace("def attention", "def attend")
    error = graded(grader, "scale", text).error
    assert "expected a definition of attention; found" in error and "attend" in error


def test_a_wrong_signature_is_shown_beside_the_expected_one(grader: Grader) -> None:
    text = solution("shift_right").replace("(labels: Tensor, bos_id: int)", "(labels)")
    text = text.replace("= bos_id", "= 1")
    error = graded(grader, "shift-right", text).error
    assert error == "expected shift_right(labels, bos_id), found shift_right(labels)"


@pytest.mark.parametrize("call", ["self.split_heads(k, self.w_k)", "self.split_heads()"])
def test_a_call_that_does_not_fit_a_right_signature_is_not_contrasted_with_it(call: str) -> None:
    text = solution("multi_head_attention").replace("self.split_heads(self.w_k(k))", call)
    report = graded_here("output-projection", text)
    first = "this call does not fit MultiHeadAttentionBlock.split_heads(x): "
    assert report.error.startswith(first) and report.line, str(report)


def test_a_mask_of_floats_is_explained_without_a_name_of_c() -> None:
    text = solution("masks").replace("(ids != pad_id)", "(ids != pad_id).float()")
    report = graded_here("padding-mask", text)
    assert "masks are boolean here: leave out .float()" in str(report)
    assert "bitwise" not in str(report)


@pytest.mark.parametrize(
    ("exercise", "old", "new", "wrong", "right"),
    [
        ("quiz-blocks", 'rows_sum_to = "b"', 'rows_sum_to = "a"', "rows_sum_to", "'b'"),
        ("first-loss", "loss.item()", "3.9", "loss_of_uniform", "8.98"),
        (
            "attention-shapes", "tuple(weights.shape)", "(2, 5, 5)",
            "shape_of_weights", "expected",
        ),
    ],
)  # fmt: skip
def test_a_wrong_prediction_is_named_without_the_right_value(
    exercise: str, old: str, new: str, wrong: str, right: str
) -> None:
    subject = course().exercise(exercise).subject
    report = graded_here(exercise, solution(subject).replace(old, new))
    assert not report.passed and not report.matrices
    assert f"wrong: {wrong}\n" in str(report) and right not in str(report)


def test_results_that_are_no_numbers_are_counted_as_different() -> None:
    right = "masked_fill(~visible, torch.finfo(scores.dtype).min)"
    assert right in solution("attention")
    text = solution("attention").replace(right, "masked_fill(~visible, float('inf'))")
    report = graded_here("hide-scores", text)
    assert re.search(r"got nan \([1-9]\d* of \d+ elements differ", str(report)), str(report)


def test_a_scalar_has_no_index() -> None:
    text = solution("label_smoothing").replace("return ", "return 2.5 * ")
    report = graded_here("label-smoothing", text)
    assert re.search(r"expected [\d.]+, got [\d.]+; shape and dtype are right", str(report))
    assert "[]" not in str(report)


def test_a_mistake_to_find_is_not_named_for_the_file_as_it_was_handed_out(grader: Grader) -> None:
    for exercise in (e for e in course().exercises if e.kind == "bug"):
        report = check_text(exercise, starting_text(exercise), grader)
        assert report.checks and not report.passed and not report.mistakes, str(report)
        edited = check_text(exercise, f"# mine\n{starting_text(exercise)}", grader)
        assert {m.name for m in edited.mistakes} == {*exercise.bugs}


@pytest.mark.parametrize(
    ("exercise", "old", "new", "words"),
    [
        ("encoder-block", "y, y, y, src_mask", "y, y, src_mask", "v has shape"),
        (
            "self-attention", "self.W_q(x), self.W_k(x), self.W_v(x)",
            "self.W_q, self.W_k, self.W_v", "Q is of type Linear",
        ),
    ],
)  # fmt: skip
def test_vectors_are_not_taken_for_ids(exercise: str, old: str, new: str, words: str) -> None:
    subject = course().exercise(exercise).subject
    report = graded_here(exercise, solution(subject).replace(old, new))
    assert words in report.lines()[0] and "ids" not in str(report)


@pytest.mark.parametrize(
    ("old", "new", "advice"),
    [
        ("kept @ value, weights", "value @ kept, weights", "kept must stand before value"),
        ("query @ key.transpose(-2, -1)", "query * key", "with the matrix product query @ key"),
        ("query @ key.transpose(-2, -1)", "key @ query.mT", "must be (query, key), not transposed"),
    ],
)
def test_the_likely_cause_of_a_wrong_product_fits_attention(
    old: str, new: str, advice: str
) -> None:
    assert advice in str(graded_here("scores", solution("attention").replace(old, new)))


def test_a_mask_of_zeros_and_ones_is_a_mask(grader: Grader) -> None:
    text = solution("masks").replace("(ids != pad_id)[", "(ids != pad_id).int()[")
    text = text.replace("& look_ahead_mask", "* look_ahead_mask")
    assert graded(grader, "padding-mask", text).passed


def test_what_the_answer_prints_is_shown(grader: Grader) -> None:
    assert "hello" in graded(grader, "residual", solution("residual") + "print('hello')\n").printed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("return torch.roll(labels, 1)", "name 'torch' is not defined; write `import torch`"),
        ("return labels.rol(1, 1)", "has no attribute 'rol'; did you mean roll?"),
        ("return labels.roll(int(input()), 1)", "use the arguments of the function instead"),
        ("while True: print(9 ** 999)", "prints more than 1 MB: remove the print from the loop"),
    ],
)
def test_an_error_of_python_says_what_is_missing(grader: Grader, line: str, message: str) -> None:
    report = graded(grader, "shift-right", f"def shift_right(labels, bos_id):\n    {line}\n")
    assert message in report.error and report.line == 2


def test_a_letter_without_quotes_is_explained(grader: Grader) -> None:
    report = graded(grader, "quiz-blocks", "rows_sum_to = b\n")
    assert "is not defined; write the letter in quotes" in report.error


def test_an_error_on_some_sizes_says_its_line(grader: Grader) -> None:
    text = solution("shift_right").replace("return shifted", "return shifted + 0 * labels[1, 0]")
    report = graded(grader, "shift-right", text)
    assert re.search(r"batch=1, tgt_len=4: line \d+: IndexError", str(report))


def test_weights_after_dropout_are_accepted_where_the_exercise_gives_the_code() -> None:
    assert graded_here("scale", answers.attention.SEED).passed
    assert not graded_here("write-attention", answers.attention.SEED).passed


def test_a_matrix_that_is_quantized_must_keep_its_weights(grader: Grader) -> None:
    body = "scale = weight.abs().amax(dim=1, keepdim=True) / 127"
    ends = ("(weight / scale).round()", "weight.div_(scale).round_()")
    start = f"import torch\ndef quantize(weight):\n    {body}\n    return "
    texts = (f"{start}{end}.to(torch.int8), scale\n" for end in ends)
    assert [graded(grader, "quantize", text).passed for text in texts] == [True, False]


HIDDEN = "torch.finfo(scores.dtype).min"
CLEARED = ".to(scores.dtype).masked_fill(~visible, 0.0)"


@pytest.mark.parametrize("number", ["-100", "-1000."])
def test_a_hidden_score_must_be_below_every_visible_one(number: str) -> None:
    text = solution("attention").replace(HIDDEN, number)
    for answer in (text, text.replace(CLEARED, ".to(scores.dtype)")):
        report = graded_here("hide-scores", answer)
        assert [m.name for m in report.mistakes] == ["hidden-scores-not-low-enough"], str(report)
        assert "have all the weight, however low their scores are" in str(report)


@pytest.mark.parametrize("number", ["-1e9", "float('-inf')", "torch.finfo(torch.float32).min"])
def test_minus_infinity_and_very_large_negative_numbers_hide_a_score(number: str) -> None:
    assert graded_here("hide-scores", solution("attention").replace(HIDDEN, number)).passed


def test_the_elements_of_a_boolean_mask_are_true_and_false() -> None:
    report = graded_here("look-ahead-mask", solution("masks").replace(".tril()", ".triu()"))
    assert re.search(r"at \[[^]]+\]: expected (True, got False|False, got True) \(", str(report))
    assert {type(x) for matrix in report.matrices for row in matrix for x in row} == {bool}


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("write-attention", "def attention(q, k, v, mask, dropout): ...  # first try\n\n\n"),
        ("multi-head-attention", "class Layer:\n    def forward(self, *args): ...\n\n\n"),
    ],
)
def test_a_function_without_return_beside_a_right_answer_is_no_mistake(
    name: str, before: str
) -> None:
    report = graded_here(name, before + solution(course().exercise(name).subject))
    assert report.passed, str(report)


def test_a_result_that_is_not_returned_is_still_named() -> None:
    text = solution("attention").replace("return kept @ value, weights", "kept @ value")
    assert "attention returns nothing" in str(graded_here("write-attention", text))


@pytest.mark.parametrize("ruler", ["'________'", "'-____-'"])
def test_a_line_drawn_in_a_string_is_no_open_blank(ruler: str) -> None:
    text = solution("residual").replace("return x +", f"print({ruler})\n        return x +")
    assert graded_here("residual", text).passed


def test_a_docstring_in_single_quotes_may_mention_the_blank() -> None:
    text = starting_text(course().exercise("scale")).replace("/ ____", "/ math.sqrt(d_k)")
    report = graded_here("scale", text.replace('"""', "'''"))
    assert report.passed, str(report)
