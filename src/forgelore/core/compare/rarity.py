"""Rarity of words, like inverse document frequency: the rarer a word, the more it says that two texts share it.

The project's own counts decide, joined with what is common in any tracker: in an index of four items every word is in
a quarter of them at least, and counts alone would call "the" as telling as "deadlock".

    weight = -ln((documents with it + PRIOR * usual share) / (documents + PRIOR))

Keys are stems, as the full-text tokenizer makes them.
"""

import math

PRIOR = 200  # documents of a tracker that nobody knows
RARE = 0.003  # the usual share of a word that is in no list below
LARGEST = 7.5  # a word in 1 of 1,800 documents; rarer ones are names and slips of the pen

# Stems by the share of issues that hold them: means over three public trackers.
_SHARES = {
    0.4: "a and be for http i in is it not of on the thi to us with",
    0.2: (
        "all an ar as at but by can com error expect file from github have if issu no or org s should so t test that "
        "user version wa when which work"
    ),
    0.1: (
        "actual add after also ani bug build chang code configur creat current default do doe fail fix follow get ha "
        "how like load log make messag more my need new onli open oper other problem report reproduc result run same "
        "see set some src start step support system then there time type up updat we will window you"
    ),
    0.055: (
        "about access ad address anoth becaus been befor behavior block c call cannot case caus check client close "
        "command compil complet config connect content core could data detail did differ directori doesn don dure e en "
        "enabl even exampl except exist failur find first found function gener go happen header help here html includ "
        "info inform initi instal instead into just kei line link linux list local look m mai main mani miss move name "
        "normal note now option os out page perform pleas possibl process project provid read relat releas remov "
        "request return secur seem server show sinc site size sourc still string such text than thei them these thread "
        "tool try two upgrad wai want warn what where while without would www x"
    ),
    0.028: (
        "abl abov account activ addit again allow alreadi alwai am api appear applic attach avail b back base below "
        "better between bin bit blob both branch broken cach class clean come comment commit common consid contain "
        "copi correct correctli crash d debug defin delet depend descript design develop disabl displai doc document "
        "done down download due each either empti end environ etc everi execut extra fals featur few field final fine "
        "format full g give good got h had handl home howev id imag implement import index input instanc intern "
        "invalid io job keep know larg last latest lead let lib librari long longer lot manag master mayb me mean "
        "memori method might modul most much multipl must net network never next non noth notic null number o object "
        "observ occur old origin our output over packag part pass path point port pre prefer present previou probabl "
        "public pull re reason receiv recent refer replac requir right sai screenshot script search second select send "
        "servic sever share similar someth space specif specifi statu stop store sure switch take target task their "
        "thing think those through too track tri true unabl under unknown until upload url usag usr util valu ve veri "
        "via wait web websit well were write wrong your"
    ),
}
_USUAL = {stem: share for share, stems in _SHARES.items() for stem in stems.split()}
COMMON = frozenset(_USUAL)


def weight_of(stem: str, count: int, total: int) -> float:
    """Return 0 (in every document) to `LARGEST`: "the" in 26,000 of 29,000 -> 0.1, "deadlock" in 40 -> 6.6."""
    usual = _USUAL.get(stem, RARE)
    share = (min(count, total) + PRIOR * usual) / (total + PRIOR)
    return min(LARGEST, -math.log(share))
