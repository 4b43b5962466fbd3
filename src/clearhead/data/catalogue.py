"""Corpora that `clearhead data get` knows: where they lie, what they are, what one may do."""

import difflib

from clearhead.data.remote import Corpus, Member, RemoteFile
from clearhead.errors import UserError


def find_corpus(name: str) -> Corpus:
    """The entry of that name.

    Raises:
        UserError: there is none; the message has the nearest name and all names.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(name, CATALOGUE, n=1, cutoff=0.4)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise UserError(f"{name} is not in the catalogue{hint}; expected {', '.join(CATALOGUE)}")


def _opus(corpus: str, version: str) -> tuple[RemoteFile, ...]:
    path = f"{corpus}/{version}/moses/en-fr.txt.zip"
    sides = (f"{corpus}.en-fr.{language}" for language in ("en", "fr"))
    mirrors = (
        f"https://object.pouta.csc.fi/OPUS-{path}",
        f"https://opus.nlpl.eu/download.php?f={path}",
    )
    return (RemoteFile("en-fr.txt.zip", mirrors, tuple(Member(side, side) for side in sides)),)


MULTI30K_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
MULTI30K_SPLITS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")


def _multi30k(split: str, language: str) -> RemoteFile:
    name = f"{split}.{language}"
    path = f"data/task1/raw/{name}.gz"
    mirrors = (
        f"https://raw.githubusercontent.com/multi30k/dataset/{MULTI30K_COMMIT}/{path}",
        f"https://cdn.jsdelivr.net/gh/multi30k/dataset@{MULTI30K_COMMIT}/{path}",
        f"https://github.com/multi30k/dataset/raw/master/{path}",
    )
    return RemoteFile(f"{name}.gz", mirrors, (Member(name, name),))


TATOEBA_2019 = Member(
    "fra.txt",
    "fra.txt",
    sha256="0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104",
)
MODELEXLAB = "modelexlab/data/adddaf33ac35572bcfeb421efec29435e7ea9332/fra-eng.zip"
TATOEBA_MIRRORS = (
    f"https://raw.githubusercontent.com/{MODELEXLAB}",
    "https://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip",
)
MANYTHINGS = ("https://www.manythings.org/anki/fra-eng.zip",)
EUROPARL = "proceedings of the European Parliament; no copyright restriction is known"

CATALOGUE: dict[str, Corpus] = {
    "tatoeba": Corpus(
        title="everyday sentences, edition of 2019-04-07",
        pairs="167,130",
        size="3.4 MB",
        licence="CC BY 2.0; attribution: manythings.org/anki and tatoeba.org",
        files=(RemoteFile("fra-eng.zip", TATOEBA_MIRRORS, (TATOEBA_2019,)),),
        spec="{}/fra.txt",
    ),
    "manythings": Corpus(
        title="everyday sentences, today's edition with authors",
        pairs="more than 230,000",
        size="about 8 MB",
        licence="CC BY 2.0; each line names its authors at tatoeba.org",
        files=(RemoteFile("fra-eng.zip", MANYTHINGS, (Member("fra.txt", "fra.txt"),)),),
        spec="{}/fra.txt",
    ),
    "multi30k": Corpus(
        title="captions of photographs, raw and cased",
        pairs="29,000 + 1,014 + 2,461",
        size="1.6 MB",
        licence="for research and education, not commercial",
        files=tuple(
            _multi30k(split, language) for split in MULTI30K_SPLITS for language in ("en", "fr")
        ),
        spec="{0}/train.en,{0}/train.fr",
    ),
    "opus-books": Corpus(
        title="novels (OPUS Books v1)",
        pairs="127,085",
        size="about 12 MB",
        licence="for personal, educational and research use; cite OPUS (Tiedemann, 2012)",
        files=_opus("Books", "v1"),
        spec="{0}/Books.en-fr.en,{0}/Books.en-fr.fr",
    ),
    "europarl": Corpus(
        title="parliament (Europarl v8 of OPUS)",
        pairs="about 2 million",
        size="about 200 MB",
        licence=f"{EUROPARL}; cite Koehn (2005) and OPUS",
        files=_opus("Europarl", "v8"),
        spec="{0}/Europarl.en-fr.en,{0}/Europarl.en-fr.fr",
    ),
    "europarl-v7": Corpus(
        title="parliament (Europarl v7 of OPUS)",
        pairs="about 2 million",
        size="about 200 MB",
        licence=f"{EUROPARL}; cite Koehn (2005) and OPUS",
        files=_opus("Europarl", "v7"),
        spec="{0}/Europarl.en-fr.en,{0}/Europarl.en-fr.fr",
    ),
}
