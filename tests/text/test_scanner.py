"""How text is cut into tokens, class by class, and what each token's form is."""

from __future__ import annotations

import pytest

from lexitree.text import Token, penn_form, tokenize


def texts(text: str) -> str:
    """The tokens as written, with bars between them."""
    return "|".join(token.text for token in tokenize(text))


def forms(text: str) -> list[str]:
    return [token.form for token in tokenize(text)]


def cuts(*expected: str) -> pytest.MarkDecorator:
    """Each expectation is the text with bars where it is cut; a bar takes no part in the text."""
    pairs = [(cut.replace("|", ""), cut.replace(" ", "|").replace("||", "|")) for cut in expected]
    return pytest.mark.parametrize(("text", "expected"), pairs)


def test_a_token_knows_its_place_and_its_form() -> None:
    assert tokenize("A (fine) day") == [
        Token("A", 0, 1, "A"),
        Token("(", 2, 3, "-LRB-"),
        Token("fine", 3, 7, "fine"),
        Token(")", 7, 8, "-RRB-"),
        Token("day", 9, 12, "day"),
    ]


@pytest.mark.parametrize("blank", ["", " ", "\n\t \r\n", "\u00a0\u2003\u3000\x1c\x85"])
def test_blank_text_has_no_tokens(blank: str) -> None:
    assert tokenize(blank) == []


@cuts(
    *("do|n't", "Do|n’t", "DO|N'T go", "ca|n't", "wo|n't|!", "ai|n't|, so", "would|n't|'ve"),
    *("it|'s", "It|’s", "IT|'S", "they|'re", "I|'d|'ve", "we|'ll see", "I|'m", "you|'ve", "he|'d go"),
    *("can|not", "Can|not be", "gon|na go", "Got|ta|!", "wan|na", "lem|me", "gim|me"),
    *("'t|is", "'T|was", "’t|is so", "‘t|is so", "‘90s", "y'|all", "d'|ye"),
    *("o'clock", "O'Fallon|'s", "ma'am", "raison d'etre", "C'mon|!", "rock'n'roll"),
    *("rock 'n' roll", "Guns 'n Roses", "get 'em", "’til now", "the '70s", "in '53|.", "ol' man", "o' the"),
    *("it 's", "do n't", "n't", "do|nt", "Could|nt", "CA|NT", "I|m", "they|re", "its", "were"),
)
def test_contractions(text: str, expected: str) -> None:
    assert texts(text) == expected


@cuts(
    *("Allen|'s film", "the dogs|' day", "Stevens|’ vibrant", "the 1990|'s", "“|Empire|”|'s", "James|'s"),
    *("lookin|' for",),
)
def test_possessives(text: str, expected: str) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('He said "yes" .', "He said `` yes '' ."),
        ('"Yes," he said, "and no."', "`` Yes , '' he said , `` and no . ''"),
        ("'Yes' and 'no.'", "` Yes ' and ` no . '"),
        ("“Yes” ‘no’ „ja“ «oui»", "`` Yes '' ` no ' `` ja `` `` oui ''"),
        ('("Yes")', "-LRB- `` Yes '' -RRB-"),
        ("\"'Yes', he said\"", "`` ` Yes ' , he said ''"),
        ("``Yes'' and `no'", "`` Yes '' and ` no '"),
        ("the dogs ' day and ` his '", "the dogs ' day and ` his '"),
        ('a " b " c', "a `` b '' c"),
        ('a"b"c', "a `` b '' c"),
        ('6" nails', "6 '' nails"),
        ('a 6"x4" card', "a 6 '' x4 '' card"),
        ('"', "``"),
        ('""', "`` ''"),
        ("the dogs' 'day'", "the dogs ' ` day '"),
        ('--"Yes"', "-- `` Yes ''"),
        ('"Open\n\n" b', "`` Open `` b"),
    ],
)
def test_quotation_marks_have_sides(text: str, expected: str) -> None:
    assert " ".join(forms(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("([{}])", "-LRB- -LSB- -LCB- -RCB- -RSB- -RRB-"),
        ("(U)nrelenting", "-LRB- U -RRB- nrelenting"),
        ("（好）", "-LRB- 好 -RRB-"),
        ("-LRB- so -RRB-", "-LRB- so -RRB-"),
        ("so... it", "so ... it"),
        ("so… it", "so ... it"),
        ("...so", "... so"),
        ("so.... it", "so ... it"),
        ("so..", "so .."),
        ("a -- b", "a -- b"),
        ("a--b", "a -- b"),
        ("a—b", "a -- b"),
        ("a – b", "a -- b"),
        ("a --- b", "a -- b"),
        ("a - b", "a - b"),
        ("1990–95", "1990-95"),
        ("well‑made", "well-made"),
        ("it’s", "it 's"),
        ("writer/director", "writer\\/director"),
        ("a / b", "a \\/ b"),
        ("***", "\\*\\*\\*"),
        ("cafe\u0301", "café"),
        ("so\u00adcial", "social"),
        ("\ufeffHello", "Hello"),
        ("ab\u200bcd", "ab cd"),
        ("ab\x00cd", "ab cd"),
        ("\u200b", "\u200b"),
        ("Really?! No!!", "Really ? No !"),
        ("👍👍 ★★★☆☆", "👍 ★★★☆☆"),
        ("dont CANT youre", "do n't CA N'T you 're"),
    ],
)
def test_forms_follow_penn(text: str, expected: str) -> None:
    assert " ".join(forms(text)) == expected


@cuts(
    *("so|, it|; or|: no|!", "What|?!", "100|% sure", "R&B", "AT&T", "PB & J", "a|,|b", "(|a|)|,"),
    *(
        "well-made",
        "a 50-year-old man",
        "coming-of-age/coming-out",
        "anti- and pro-war",
        "'|sub|'|-|standard",
    ),
    *("foo_bar", "_|yes|_", "and/or", "w/o"),
)
def test_signs_and_compounds(text: str, expected: str) -> None:
    assert texts(text) == expected


@cuts(
    *(
        "1,000.50",
        "3.14",
        "10|%",
        "$|5",
        "$|1.8 million",
        "£|20",
        "US$|5",
        "1/2",
        "9/11",
        "24/7",
        "2002-09-11",
    ),
    *("11/9/2001", "10:30 a.m. on", "10:30am", "1990s", "21st", "K-19", "#|9", "No. 1 is", "1|, 2", "1|,|2"),
    *(".5 of", "-5 now", "+1", "35mm", "20|°|C", "3.5-inch", "v1.2.3", "５|％", "1. Open", "1,000-strong"),
)
def test_numbers(text: str, expected: str) -> None:
    assert texts(text) == expected


@cuts(
    *(
        "U.S. troops",
        "Mr. Zhang|'s",
        "e.g. this",
        "i.e.|, that",
        "Ph.D. thesis",
        "etc.|, and",
        "vs. Woo",
        "E.T is",
    ),
    *(
        "J.R.R. Tolkien",
        "Samuel L. Jackson",
        "Cuba Gooding Jr. is",
        "Warner Bros. film",
        "DR. STRANGE",
        "Sept. 11",
    ),
    *("see p. 3 and pp. 4-5", "Monsters|, Inc.|, it", "P.O.V. camera", "word|."),
)
def test_abbreviations_keep_their_period(text: str, expected: str) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Gags, injuries, etc.", "Gags , injuries , etc. ."),
        ("He left the U.S.", "He left the U.S. ."),
        ('He left "the U.S."', "He left `` the U.S. . ''"),
        ("He left the U.S. The end.", "He left the U.S. . The end ."),
        ("Was it the U.S.?", "Was it the U.S. ?"),
        ("At 10 p.m. He left", "At 10 p.m. . He left"),
        ("Plan B.", "Plan B ."),
        ("Hello, Mr.", "Hello , Mr."),
    ],
)
def test_a_period_that_ends_the_sentence_too_is_cut_off(text: str, expected: str) -> None:
    assert " ".join(forms(text)) == expected


@cuts(
    *(
        ":-)",
        "Great :)",
        "great :-( but",
        "I <3 it",
        "</3",
        ":D",
        "xD",
        ";-)|.",
        ":'(",
        "=P",
        ":-/",
        "8-)",
        "^_^",
    ),
    *("o_O", ">_<", "\\o/", "¯\\_(ツ)_/¯", "great|:)", ":))))", "(: so"),
    *("list|: (|a|)", "a|<|30", "x|:|Doe", "(|8|)", "3:2", "Be|:|Done"),
)
def test_emoticons(text: str, expected: str) -> None:
    assert texts(text) == expected


@cuts(
    *(
        "😀",
        "😀😀",
        "good|😀|!",
        "👨‍👩‍👧",
        "👍🏽",
        "👍🏽|👍",
        "🇩🇪|🇫🇷",
        "1️⃣",
        "❤️",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "👩🏽‍🚀 rocks",
        "™",
        "©",
    ),
)
def test_emoji_stay_whole(text: str, expected: str) -> None:
    assert texts(text) == expected


@cuts(
    *(
        "http://a.org/b?c=1&d=2",
        "(|https://a.org/b|)",
        "https://a.org/b|.",
        "see https://a.org/x_(y)|, ok",
        "www.a.com|!",
    ),
    *("feardotcom.com|.", "Amazon.com|'s", "config.py", "a.org/b/c.html", "movie|.|I liked", "end|.|Next"),
    *("me@a.org", "first.last+tag@mail.a.co.uk|.", "<|me@a.org|>", "#tag", "#|9"),
    *("#a_b|.", "@me|: hi", "a @ b", "HTTP://A.ORG"),
)
def test_addresses_and_tags(text: str, expected: str) -> None:
    assert texts(text) == expected


@cuts(
    *(
        "naïve café",
        "cafe\u0301 noir",
        "Привет|, мир|!",
        "你好世界|。",
        "مرحبا بالعالم|؟",
        "हिन्दी में|।",
        "สวัสดี",
        "می\u200cخواهم",
    ),
    *(
        "\u0301a b",
        "Łódź",
        "𝒳𝒴 z",
        "ab\u200b|cd",
        "ab\x00|cd",
        "\ufeffHello|!",
    ),
)
def test_other_scripts_and_invisible_characters(text: str, expected: str) -> None:
    assert texts(text) == expected


def test_a_form_of_one_piece() -> None:
    assert [penn_form(text) for text in ("(", "“", "—", "…", "a/b", "x")] == [
        "-LRB-",
        "``",
        "--",
        "...",
        "a\\/b",
        "x",
    ]


def test_very_long_tokens_are_not_normalized() -> None:
    """Ordering the marks of a token takes quadratic time."""
    assert penn_form("e\u0301") == "é"
    marks = "e" + "\u0301\u0316" * 1_000
    assert penn_form(marks) == marks
