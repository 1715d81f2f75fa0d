"""Words by which the name of a place says what it is, in English, German, French and Spanish.

A pattern is matched against the words of a name, in lower case and without accents: `bar` is that word alone,
`hospital*` begins a word, `*klinik*` is anywhere in one (German joins words), and several words stand in a row.
`unless` are names that look alike and mean something else.
"""

from __future__ import annotations

import re
import unicodedata
from fnmatch import fnmatchcase

MEDICAL = (
    "hospital* hopital* *krankenhaus* *spital *klinik* clinic* clinique* *pharma* *apotheke* farmacia* drugstore* "
    "*arzt* *aerzt* doctor* medic* medizin* dentist* dental *zahn* *therap* terapeut* terapia* psych* psiquiatr* "
    "psicolog* physio* surgery cirug* chirurg* *oncolog* onkolog* *cancer* dialys* radiolog* gynec* gynaek* "
    "ginecolog* maternity maternit* *hebamme* midwife rehab* reha detox* *entzug* hospice hospiz* urgencias "
    "urgences ambulator* *labor fertility abortion planned_parenthood std_clinic counselling counseling sucht* "
    "*suchthilfe* *suchtberatung* addiction* aa_meeting salud sante cabinet_medical centro_medico gp"
)
WORSHIP = (
    "church* *kirche* eglise* iglesia* chapel* *kapelle chapelle* capilla* cathedral* cathedrale* catedral* dom "
    "*muenster mosque* *moschee* mosquee* mezquita* masjid* synagog* sinagoga* temple* tempel* templo* gurdwara* "
    "pagoda* mandir monastery kloster* monaster* couvent convent convento parish pfarr* paroisse parroquia "
    "kingdom_hall gemeindehaus prayer* *gebet* priere oracion"
)
POLITICS = (
    "union_office union_hall trade_union* labour_union* labor_union* union_meeting* unions *gewerkschaft* "
    "syndicat* sindicat* political* politi* party_office party_headquarters *partei* parti_politique partido* "
    "campaign_office protest* demonstration* kundgebung* manif* manifestacion* picket* parliament* parlament* "
    "activist*"
)
INTIMATE = (
    "adult* brothel* bordell* burdel* sex* erotic* erotik* erotiq* strip_club striptease swinger* *freudenhaus* "
    "gay* lesbian* queer* lgbt* red_light* love_hotel* bathhouse"
)
JUSTICE = (
    "court courts courthouse* *gericht *gerichte amtsgericht* tribunal* juzgado* palais_de_justice police* "
    "*polizei* policia* comisaria* commissariat* gendarmerie* prison* jail* gefaengnis* gefangnis* carcel* "
    "penitenci* probation* bewaehrung* *anwalt* lawyer* attorney* abogad* avocat* law_firm immigration* "
    "auslaender* auslander* extranjeria"
)
PLEASURE = (
    "bar bars pub pubs *kneipe* nightclub* night_club* club clubs disco* discothek* diskothek* discoteca* "
    "boite_de_nuit casino* kasino* spielhalle* spielbank* gambl* betting* bookmaker* bookie* wettbuero* bingo* "
    "apuestas tragaperras cocktail* brewery *brauerei* cannabis dispensary coffeeshop"
)
OTHER_HOMES = (
    "friend* girlfriend* boyfriend* *freund* amie amies ami amis amig* copain* copine* novi? lover* liebhaber* "
    "affair* partner* ex date dates"
)
HOMES = "home house zuhause daheim wohnung chez_moi maison casa hogar domicile flat apartment"
WORKPLACES = "work* *arbeit* office* *buero* buro bureau* travail trabajo oficina job"

UNLESS = {
    "justice": "tennis_court* food_court* squash_court* basketball_court* court_road court_street",
    "pleasure": "sports_club golf_club tennis_club fitness_club health_club snack_bar salad_bar book_club chess_club "
    "rowing_club milk_bar juice_bar sushi_bar",
    "worship": "temple_street temple_road church_street church_road domino*",
    "medical": "reha_sport",
    "intimate": "adult_education sextant*",
}
"""By rule."""


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name: lower case, without accents, umlauts in either spelling."""
    spelled = name.casefold().replace("ß", "ss")
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", spelled) if not unicodedata.combining(letter))
    return tuple(re.findall(r"[a-z0-9]+", plain))


def spellings(name: str) -> tuple[tuple[str, ...], ...]:
    """Its words with umlauts as one letter, and as two: Ärztehaus is arztehaus and aerztehaus."""
    two = name.casefold()
    for umlaut, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue")):
        two = unicodedata.normalize("NFC", two).replace(umlaut, letters)
    return tuple(dict.fromkeys((words_of(name), words_of(two))))


def says(name: str, patterns: str, unless: str = "") -> str | None:
    """The part of a name that some pattern fits, if any, and if none of `unless` does."""
    for words in spellings(name):
        if any(_found(words, pattern) for pattern in unless.split()):
            return None
    for words in spellings(name):
        for pattern in patterns.split():
            found = _found(words, pattern)
            if found is not None:
                return found
    return None


def _found(words: tuple[str, ...], pattern: str) -> str | None:
    wanted = pattern.split("_")
    for first in range(len(words) - len(wanted) + 1):
        row = words[first : first + len(wanted)]
        if all(fnmatchcase(word, part) for word, part in zip(row, wanted, strict=True)):
            return " ".join(row)
    return None
