"""Options of other programs, and what to write here instead: an answer to a first guess."""

from collections.abc import Mapping

_STEPS = "--steps N (optimizer steps; a step is a batch of run.batch_tokens tokens)"
_RUN_DIR = "--run-dir DIRECTORY"
_PRECISION = "--set run.precision=bf16 or fp32"

TRAIN = {
    "--epochs": _STEPS,
    "--num-epochs": _STEPS,
    "--max-epochs": _STEPS,
    "--max-steps": _STEPS,
    "--num-steps": _STEPS,
    "--output-dir": _RUN_DIR,
    "--out": _RUN_DIR,
    "--save-dir": _RUN_DIR,
    "--dir": _RUN_DIR,
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
    "--train": "--data CORPUS",
    "--train-data": "--data CORPUS",
    "--input": "--data CORPUS",
    "--dev": "--set data.dev=CORPUS",
    "--valid": "--set data.dev=CORPUS",
    "--valid-data": "--set data.dev=CORPUS",
    "--config": "the file as argument: clearhead train FILE.yaml",
    "--recipe": "the recipe as argument: clearhead train NAME",
    "--model": "--set model.path=DIRECTORY (the weights to start from)",
    "--precision": _PRECISION,
    "--fp16": _PRECISION,
    "--bf16": _PRECISION,
    "--threads": "--set run.threads=N",
    "--patience": "--set run.patience=N",
    "--continue": "--resume --run-dir DIRECTORY",
    "--gpu": "--device cuda",
}
_MODEL = {
    "--model-path": "--model DIRECTORY",
    "--model-dir": "--model DIRECTORY",
    "--checkpoint": "--model DIRECTORY",
    "--gpu": "--device cuda",
    "--cpu": "--device cpu",
}
_SEARCH = {
    "--beam": "--beam-size N",
    "--beams": "--beam-size N",
    "--num-beams": "--beam-size N",
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
    "--prompt": "the prompt as argument: clearhead generate 'Once upon a time'",
    "--max-length": "--max-new-tokens N",
    "--max-tokens": "--max-new-tokens N",
    "--n": "--samples N",
    "--num-samples": "--samples N",
    "--num-return-sequences": "--samples N",
    "--do-sample": "nothing: sampling is the default, and --greedy switches it off",
}
GUESSES: Mapping[str, Mapping[str, str]] = {
    "train": TRAIN,
    "translate": TRANSLATE,
    "evaluate": EVALUATE,
    "generate": GENERATE,
    "embed": _MODEL,
    "classify": _MODEL,
    "fill-mask": _MODEL,
}


VERBS = {
    "help": "clearhead --help",
    "version": "clearhead --version",
    "download": "clearhead data get NAME",
    "finetune": "clearhead train classification or clearhead train tagging",
    "fine-tune": "clearhead train classification or clearhead train tagging",
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


def advice(verb: str, option: str) -> str:
    """What to write instead of an option that the verb does not have; empty if unknown."""
    return GUESSES.get(verb, {}).get(option, "")
