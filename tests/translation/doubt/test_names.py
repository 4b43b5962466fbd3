from random import Random

import pytest

from clearhead.data.grammar.lexicon import first_names
from clearhead.translation.doubt.names import missing_names
from tests.corpora import corpus_pairs

ARRIVED = [
    ("My name is Aleksandra.", "Je m'appelle Aleksandra."),
    ("I live in London.", "J'habite à Londres."),
    ("She is from the Netherlands.", "Elle vient des Pays-Bas."),
    ("The shop assistant from Portugal left.", "La vendeuse portugaise est partie."),
    ("They moved to Vienna.", "Ils ont déménagé à Vienne."),
    ("His family came from Hungary.", "Sa famille est venue de Hongrie."),
    ("I drink coffee from Honduras.", "Je bois du café du Honduras."),
    ("I'm on my way home to Israel.", "Je rentre chez moi, en Israël."),
    ("I have a cousin in Haiti.", "J'ai un cousin en Haïti."),
    ("We met in Montreal.", "Nous nous sommes rencontrés à Montréal."),
    ("I saw Tom's brother.", "J'ai vu le frère de Tom."),
    ("I saw Anna.", "J'ai vu la sœur d'Anna."),
    ("We dined with the Johnsons.", "Nous avons dîné chez les Johnson."),
    ("Has he met Jean-Paul?", "A-t-il rencontré Jean-Paul ?"),
    ("They read DNA.", "Ils lisent l'ADN."),
    ("They have eight GPUs.", "Ils ont huit GPU."),
    ("See you on Monday, Mr. Smith.", "À lundi, monsieur Smith."),
    ("He speaks Japanese, I think.", "Il parle japonais, je crois."),
    ("He said: There is time.", "Il a dit : il y a le temps."),
    ("Why Attention Is All You Need", "Pourquoi l'attention est tout ce dont vous avez besoin"),
    ("I NEVER said that.", "Je n'ai jamais dit cela."),
    ("WHERE IS KARIN?", "OÙ EST-ELLE ?"),
    ("She is Norwegian.", "Elle est norvégienne."),
    ("Two Norwegians live here.", "Deux Norvégiennes vivent ici."),
    ("the government of Latvia", "le gouvernement letton"),
    ("They left the United States.", "Ils ont quitté les Etats-Unis."),
    ("I met Chad in Vietnam.", "J'ai rencontré Chad au Vietnam."),
    ("It was on Apr. 30.", "C'était le 30 avril."),
    ("It was on Apr. 30.", "C'était le 30/04."),
    ("She left in March.", "Elle est partie en mars."),
    ("She left in March.", "Elle est partie le 3/2019."),
    ("It closes on Sundays.", "Il ferme le dimanche."),
    ("May I march in June?", "Puis-je marcher en juin ?"),
    ("We met on Black Friday.", "Nous nous sommes rencontrés au Black Friday."),
    ("J. R. R. Tolkien wrote it.", "J.R.R. Tolkien l'a écrit."),
    ("So do I, 5K and Q&A.", "Moi aussi."),
    ("A plan B, or A?", "Un plan B, ou A ?"),
    ("The U.S. Army left.", "L'armée américaine est partie."),
    ("Take vitamin C. Tom takes it.", "Prends de la vitamine C. Tom en prend."),
    ("It has 170 kB, 3 km and 5kg.", "Il fait 170 ko, 3 kilomètres et 5 kilos."),
    ("Read our Privacy Policy.", "Lisez notre politique de confidentialité."),
    ("# Welcome to our website!", "# Bienvenue sur notre site !"),
    ("1) Wash the vegetables", "1) Lavez les légumes"),
    ("A. Close the door", "A. Fermez la porte"),
    ("Create an Account", "Créer un compte"),
    ("Frequently Asked Questions", "Foire aux questions"),
    ("It is **Very** important.", "C'est **très** important."),
    ("Photosynthesis needs light.", "La photosynthèse a besoin de lumière."),
]
MISSING = [
    ("My name is Aleksandra.", "Mon nom est Aleandra.", "Aleksandra"),
    ("I live in Vancouver.", "Je vis à Vancqui.", "Vancouver"),
    ("It lies in Bolivia.", "Cela se trouve en Polivie.", "Bolivia"),
    ("I live in London.", "J'habite à Paris.", "London"),
    ("She is Norwegian.", "Elle est Norwegian.", "Norwegian"),
    ("She is from Latvia.", "Elle vient de Latvia.", "Latvia"),
    ("She is from Peru.", "Elle vient de Pérou.", "Peru"),
    ("She lives in Lithuania.", "Elle vit à Lituanie.", "Lithuania"),
    ("Chile is a long country.", "Chili est un pays long.", "Chile"),
    ("It was on Dec. 30.", "C'était le 30 Dec.", "Dec."),
    ("I have worked here since March 2019.", "Je travaille ici depuis le 2019.", "March"),
    ("It was in late August.", "C'était à la fin de l'année.", "August"),
    ("We open on Tuesdays.", "Nous ouvrons le jeudi.", "Tuesdays"),
    ("DNA has four bases: A, C, G and T.", "L'ADN a quatre bases : un C, G et T.", "A"),
    ("Plan B failed.", "Le plan a échoué.", "B"),
    ("I read J. K. Rowling.", "J'ai lu J. Rowling.", "J. K. Rowling"),
    ("I met Dr. A. Smith.", "J'ai rencontré le docteur Smith.", "A. Smith"),
    ("It has 170 kB.", "Il fait 170 kB.", "kB"),
    ("It is 813 mm long.", "Il fait 813 m de long.", "mm"),
    ("Is Mrs. Okonkwo in?", "Est-ce que Mme Okonwo est là ?", "Okonkwo"),
    ("Ask Tomasz.", "Demande à Tom.", "Tomasz"),
    ("Thank you, Joaquín!", "Merci, Joaquamnn !", "Joaquín"),
    ("I met Zofia Meadow.", "J'ai rencontré Zofia Prairie.", "Meadow"),
    ("We use GitHub.", "Nous utilisons Gitub.", "GitHub"),
    ("It runs on a GPU.", "Il tourne sur un GIl.", "GPU"),
]


@pytest.mark.parametrize(("source", "translation"), ARRIVED)
def test_a_name_or_its_french_form_is_not_missing(source: str, translation: str) -> None:
    assert missing_names(source, translation) == []


@pytest.mark.parametrize(("source", "translation", "name"), MISSING)
def test_a_missing_or_misspelt_name_is_named(source: str, translation: str, name: str) -> None:
    assert missing_names(source, translation) == [name]


def test_human_translations_raise_few_alarms() -> None:
    pairs = corpus_pairs()[::4]
    alarms = [pair for pair in pairs if missing_names(*pair)]
    assert len(alarms) <= len(pairs) / 200


def test_a_name_without_a_consonant_inside_is_missing() -> None:
    """A letter is dropped from names of many cultures, as a model drops it."""
    random, found = Random(7), 0
    names = [name for name, _ in first_names() if len(name) > 4 and name.isalpha()]
    for name in names:
        inside = [i for i, c in enumerate(name[2:-2], 2) if c.lower() not in "aeiouy"]
        at = random.choice(inside or [0])
        wrong = name[:at] + name[at + 1 :]
        doubled = at and name[at].casefold() in (name[at - 1].casefold(), name[at + 1].casefold())
        found += doubled or missing_names(f"I met {name}.", f"J'ai vu {wrong}.") != []
    assert found / len(names) > 0.98
