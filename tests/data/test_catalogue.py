import re

import pytest

from clearhead.data.download import CATALOGUE, Corpus, find_corpus
from clearhead.errors import UserError

ENTRIES = pytest.mark.parametrize("corpus", CATALOGUE.values(), ids=CATALOGUE)


@ENTRIES
def test_every_file_has_an_encrypted_address_and_a_form_that_can_be_unpacked(
    corpus: Corpus,
) -> None:
    for file in corpus.files:
        assert file.mirrors
        assert all(url.startswith("https://") for url in file.mirrors)
        assert file.name.endswith((".zip", ".gz"))
        assert file.members
        assert all("/" not in m.name and m.name != file.name for m in file.members)


@ENTRIES
def test_what_to_type_next_names_files_that_are_unpacked(corpus: Corpus) -> None:
    unpacked = {member.name for file in corpus.files for member in file.members}
    named = {part.removeprefix("here/") for part in corpus.spec.format("here").split(",")}
    assert named <= unpacked


@ENTRIES
def test_checksums_are_sha256(corpus: Corpus) -> None:
    sums = [file.sha256 for file in corpus.files]
    sums += [member.sha256 for file in corpus.files for member in file.members]
    assert all(s is None or re.fullmatch("[0-9a-f]{64}", s) for s in sums)


def test_an_unknown_name_gets_the_nearest_and_all() -> None:
    with pytest.raises(UserError, match=r"did you mean tatoeba\?.* expected tatoeba, manythings"):
        find_corpus("tatoebe")
    with pytest.raises(UserError, match=r"xyz is not in the catalogue; expected"):
        find_corpus("xyz")
