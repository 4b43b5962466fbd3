"""The corpora of `clearhead data get`: their addresses, files, sizes and licences."""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from clearhead.errors import UserError


@dataclass(frozen=True)
class Member:
    """A file inside an archive; for a plain .gz file, its content.

    Attributes:
        name: its file name in the archive, without directories.
        saved_as: its file name on disk.
        sha256: the checksum of its content, where it is known.
    """

    name: str
    saved_as: str
    sha256: str | None = None


@dataclass(frozen=True)
class RemoteFile:
    """An archive (.zip or .gz) on the network, and the members that are unpacked.

    `mirrors` are tried in order. Where `sha256` is None, the checksum of the first download is
    saved next to the file and checked from then on.
    """

    name: str
    mirrors: tuple[str, ...]
    members: tuple[Member, ...]
    sha256: str | None = None


@dataclass(frozen=True)
class Corpus:
    """An entry of the catalogue; `spec` is the value of `--data`, with `{}` for the directory."""

    title: str
    pairs: str
    size: str
    licence: str
    files: tuple[RemoteFile, ...]
    spec: str
    unit: str = "pairs"  # of what `pairs` counts
    command: str = "clearhead train en_fr --data"  # that takes `spec`


def find_corpus(name: str) -> Corpus:
    """The entry of this name.

    Raises:
        UserError: there is none; the message has the most similar name and all names.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(name, CATALOGUE, n=1, cutoff=0.4)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise UserError(f"{name} is not in the catalogue{hint}; expected {', '.join(CATALOGUE)}")


def attribution(spec: str) -> str:
    """Title and licence of each corpus of the catalogue in a value of `--data`.

    A corpus is recognised by the directory and the file name that `clearhead data get` creates.
    """
    named = endings(spec)
    return "; ".join(
        f"{corpus.title}, {corpus.licence}"
        for name, corpus in CATALOGUE.items()
        if named & endings(corpus.spec.format(name))
    )


def endings(spec: str) -> set[tuple[str, ...]]:
    """The last directory and the name of each file in a value of `--data`; ("grammar",) of ours."""
    return {
        ("grammar",) if part.startswith("grammar:") else Path(part).parts[-2:]
        for part in re.split(r" \+ |,", spec)
    }


def _opus(corpus: str, version: str, sha256: str | None = None) -> tuple[RemoteFile, ...]:
    path = f"{corpus}/{version}/moses/en-fr.txt.zip"
    sides = (f"{corpus}.en-fr.{language}" for language in ("en", "fr"))
    mirrors = (
        f"https://object.pouta.csc.fi/OPUS-{path}",
        f"https://opus.nlpl.eu/download.php?f={path}",
    )
    members = tuple(Member(side, side) for side in sides)
    return (RemoteFile("en-fr.txt.zip", mirrors, members, sha256),)


# From the metadata of `datasets` for opus_books, en-fr (12,009,501 bytes).
OPUS_BOOKS_V1 = "3b9eade0b11d6cc280502cbe52908ec476d9faa3bb589e70cf3ee1e44fcfc473"
MULTI30K_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
MULTI30K_SPLITS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")


# From torchtext. A file without a checksum here gets one at its first download.
MULTI30K_SHA256 = {
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
}


def _multi30k(split: str, language: str) -> RemoteFile:
    name = f"{split}.{language}"
    path = f"data/task1/raw/{name}.gz"
    mirrors = (
        f"https://raw.githubusercontent.com/multi30k/dataset/{MULTI30K_COMMIT}/{path}",
        f"https://cdn.jsdelivr.net/gh/multi30k/dataset@{MULTI30K_COMMIT}/{path}",
        f"https://github.com/multi30k/dataset/raw/master/{path}",
    )
    return RemoteFile(f"{name}.gz", mirrors, (Member(name, name, MULTI30K_SHA256.get(name)),))


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

SCANPY = "https://github.com/scverse/scanpy/archive/refs/tags/1.11.5.zip"
CELLS = Member(
    "10x_pbmc68k_reduced.h5ad",
    "10x_pbmc68k_reduced.h5ad",
    sha256="e71d41e737c941559b7c57c9243bdb3d2c889c2adfdf00e3422ac6b46783676f",
)
K12 = "GCF_000005845.2_ASM584v2"
K12_ADDRESS = f"https://ftp.ncbi.nlm.nih.gov/genomes/all/GCF/000/005/845/{K12}/{K12}_genomic.fna.gz"

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
        files=_opus("Books", "v1", OPUS_BOOKS_V1),
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
    "pbmc68k": Corpus(
        title="blood cells, 765 genes, ten types (from the source of scanpy 1.11.5)",
        pairs="700",
        size="a few MB",
        licence="BSD-3-Clause (scanpy); cite Zheng et al. (2017)",
        files=(RemoteFile("scanpy-1.11.5.zip", (SCANPY,), (CELLS,)),),
        spec="{}/10x_pbmc68k_reduced.h5ad",
        unit="cells",
        command="clearhead bio cells train",
    ),
    "ecoli-genome": Corpus(
        title="Escherichia coli K-12 MG1655, for masked-language-model pre-training",
        pairs="1",
        size="1.4 MB",
        licence="RefSeq, public domain; cite NC_000913.3",
        files=(RemoteFile(f"{K12}.fna.gz", (K12_ADDRESS,), (Member("genome.fna", "genome.fna"),)),),
        spec="{}/genome.fna",
        unit="chromosome",
        command="clearhead bio dna pretrain",
    ),
}
