"""Options of other programs, and what to write here instead: an answer to a first guess."""

from collections.abc import Mapping

_STEPS = "--steps N (optimizer steps; a step is a batch of run.batch_tokens tokens)"
_RUN_DIR = "--run-dir DIRECTORY"
_PRECISION = "--set run.precision=bf16 or fp32"
_BIO_STEPS = "--set run.steps=N"
_DOMAINS = ("dna", "protein", "cells")
_FILE = "the file as an argument"
_DIRECTORY = "the directory of the model as the first argument"
_FINE_TUNE = (
    "clearhead train en_fr --set model.path=DIRECTORY (a translator), clearhead train "
    "classification or clearhead train tagging"
)

TRAIN = {
    **dict.fromkeys(
        ("--epochs", "--num-epochs", "--max-epochs", "--max-steps", "--num-steps"), _STEPS
    ),
    **dict.fromkeys(("--output-dir", "--out", "--save-dir", "--dir"), _RUN_DIR),
    "--lr": "--set optimizer.peak_lr=VALUE",
    "--learning-rate": "--set optimizer.peak_lr=VALUE",
    "--warmup": "--set optimizer.warmup=STEPS",
    "--optimizer": "--set optimizer.name=adam or muon",
    "--batch-size": "--set run.batch_tokens=N (tokens, not sentences)",
    "--batch-tokens": "--set run.batch_tokens=N",
    "--seed": "--set run.seed=N",
    "--dropout": "--set model.dropout=RATE",
    "--d-model": "--set model.d_model=N",
    "--layers": "--set model.encoder_layers=N --set model.decoder_layers=N",
    "--heads": "--set model.h=N",
    "--vocab-size": "--set vocabulary.size=N",
    **dict.fromkeys(("--train", "--train-data", "--input"), "--data CORPUS"),
    **dict.fromkeys(("--dev", "--valid", "--valid-data"), "--set data.dev=CORPUS"),
    "--config": "the file as an argument: clearhead train FILE.yaml",
    "--recipe": "the recipe as an argument: clearhead train NAME",
    "--model": "--set model.path=DIRECTORY (the weights to start from)",
    **dict.fromkeys(("--precision", "--fp16", "--bf16"), _PRECISION),
    "--threads": "--set run.threads=N",
    "--patience": "--set run.patience=N",
    "--continue": "--resume --run-dir DIRECTORY",
    "--gpu": "--device cuda",
}
_MODEL = {
    **dict.fromkeys(("--model-path", "--model-dir", "--checkpoint"), "--model DIRECTORY"),
    "--gpu": "--device cuda",
    "--cpu": "--device cpu",
}
_SEARCH = {
    **dict.fromkeys(("--beam", "--beams", "--num-beams"), "--beam-size N"),
    "--lenpen": "--length-penalty VALUE",
    "--normalize": "--length-penalty VALUE",
    "--batch-size": "--batch-tokens N (tokens, not sentences)",
}
TRANSLATE = {
    **_MODEL,
    **_SEARCH,
    "--nbest": "--n-best N",
    "--file": "--input FILE",
    "--src": "--input FILE",
    "--out": "--output FILE",
    "--max-len": "--max-length N",
    "--max-new-tokens": "--max-length N",
    "--json": "--format jsonl",
    "--no-repeat-ngram-size": "--no-repeat-ngram N",
    "--int8": "--precision int8",
    "--alignment": "--alignments",
}
EVALUATE = {
    **_MODEL,
    **_SEARCH,
    "--test": "--data CORPUS",
    "--references": "--data SOURCES,REFERENCES",
    "--ref": "--data SOURCES,REFERENCES",
}
GENERATE = {
    **_MODEL,
    "--prompt": "the prompt as an argument: clearhead generate 'Once upon a time'",
    "--max-length": "--max-new-tokens N",
    "--max-tokens": "--max-new-tokens N",
    **dict.fromkeys(("--n", "--num-samples", "--num-return-sequences"), "--samples N"),
    "--do-sample": "nothing in its place: sampling is the default, and --greedy turns it off",
}
_BIO_TRAIN = {
    **dict.fromkeys(("--epochs", "--num-epochs"), "--set run.epochs=N"),
    **dict.fromkeys(("--steps", "--max-steps"), _BIO_STEPS),
    **dict.fromkeys(("--output-dir", "--out"), _RUN_DIR),
    **dict.fromkeys(("--lr", "--learning-rate"), "--set optimizer.peak_lr=VALUE"),
    "--batch-size": "--set run.batch_texts=N",
    "--seed": "--set run.seed=N",
    "--dropout": "--set model.dropout=RATE",
    "--layers": "--set model.layers=N",
    **dict.fromkeys(("--train", "--data", "--input"), _FILE),
    "--gpu": "--set run.device=cuda",
    "--device": "--set run.device=DEVICE",
}
_BIO_PRETRAIN = {**_BIO_TRAIN, **dict.fromkeys(("--epochs", "--num-epochs"), _BIO_STEPS)}
_BIO_USE = {"--checkpoint": _DIRECTORY, "--model": _DIRECTORY, "--input": _FILE, "--data": _FILE}
GUESSES: Mapping[str, Mapping[str, str]] = {
    "train": TRAIN,
    "translate": TRANSLATE,
    "evaluate": EVALUATE,
    "generate": GENERATE,
    "embed": _MODEL,
    "classify": _MODEL,
    "fill-mask": _MODEL,
    **{f"bio {domain} train": _BIO_TRAIN for domain in _DOMAINS},
    **{f"bio {domain} pretrain": _BIO_PRETRAIN for domain in _DOMAINS},
    **{f"bio {domain} {verb}": _BIO_USE for domain in _DOMAINS for verb in ("predict", "embed")},
}

VERBS = {
    "help": "clearhead --help",
    "version": "clearhead --version",
    "download": "clearhead data get NAME",
    **dict.fromkeys(("finetune", "fine-tune"), _FINE_TUNE),
    "test": "clearhead evaluate or clearhead verify",
    "score": "clearhead evaluate",
    "benchmark": "clearhead bench",
    "predict": "clearhead classify, or clearhead bio dna predict",
    "chat": "clearhead generate",
}


def command_for(verb: str) -> str:
    """What to write instead of a verb that does not exist; empty if unknown.

    Words with spaces between them are a text to translate.
    """
    return 'clearhead translate "TEXT"' if " " in verb.strip() else VERBS.get(verb, "")


def advice(path: str, option: str) -> str:
    """What to write instead of an option that `clearhead PATH` lacks; empty if unknown."""
    return GUESSES.get(path, {}).get(option, "")
