"""Words and productions of the reviews corpus, expanded and labelled by `write_reviews.py`.

In a production, `(A B)` is a binary node, an upper-case token is a symbol to expand, `verb~` agrees with the
subject in number and tense, and everything else is a word. The number in front of it is its weight.
"""

# One entry a line would make the tables five times as long.
# fmt: off

# Adjectives (strong and mild of either sign, neutral) and qualities that a noun of each kind may have.
WORDS_BY_KIND: dict[str, dict[str, str]] = {
    "any": {
        "GREAT": "brilliant superb wonderful splendid excellent magnificent terrific outstanding",
        "GOOD": "good fine decent impressive appealing satisfying",
        "BAD": "bad disappointing mediocre unimpressive unremarkable second-rate",
        "AWFUL": "terrible awful dreadful horrible appalling atrocious abysmal",
    },
    "story": {
        "GREAT": "dazzling masterful riveting",
        "GOOD": "clever moving funny witty original gripping tender elegant charming likeable",
        "BAD": "dull clumsy predictable shallow confusing tedious sentimental slow weak forgettable",
        "AWFUL": "idiotic unbearable insufferable",
        "PLAIN": "long short dark complicated violent serious",
        "NICE_QUALITY": "charm wit warmth depth tension humour imagination",
        "POOR_QUALITY": "clichés flaws padding gimmicks repetition",
    },
    "performer": {
        "GREAT": "phenomenal mesmerising",
        "GOOD": "talented lively graceful likeable funny confident charming",
        "BAD": "wooden tired arrogant lifeless nervous irritating weak",
        "AWFUL": "hopeless insufferable",
        "PLAIN": "young serious loud",
        "NICE_QUALITY": "charm energy passion warmth style",
        "POOR_QUALITY": "vanity mannerisms arrogance",
    },
    "service": {
        "GREAT": "faultless marvellous",
        "GOOD": "friendly polite attentive helpful charming pleasant",
        "BAD": "rude slow careless lazy arrogant unpleasant",
        "AWFUL": "hopeless vile",
        "PLAIN": "young serious talkative",
        "NICE_QUALITY": "charm patience warmth style",
        "POOR_QUALITY": "arrogance vanity malice",
    },
    "food": {
        "GREAT": "delicious exquisite heavenly",
        "GOOD": "fresh tasty crisp tempting delightful",
        "BAD": "bland stale greasy soggy poor forgettable",
        "AWFUL": "disgusting inedible revolting",
        "PLAIN": "sweet hot spicy rich salty",
        "NICE_QUALITY": "flavour texture character imagination",
        "POOR_QUALITY": "grease additives gristle",
    },
    "place": {
        "GREAT": "gorgeous spotless luxurious",
        "GOOD": "cosy clean comfortable bright elegant charming pleasant delightful",
        "BAD": "dirty noisy cramped shabby gloomy unpleasant",
        "AWFUL": "filthy squalid",
        "PLAIN": "small large warm dark modern",
        "NICE_QUALITY": "charm comfort style character warmth",
        "POOR_QUALITY": "noise dirt clutter dust",
    },
    "device": {
        "GREAT": "flawless stunning",
        "GOOD": "reliable fast sturdy handy clever elegant",
        "BAD": "flimsy sluggish fragile unreliable clumsy irritating poor",
        "AWFUL": "useless worthless",
        "PLAIN": "heavy large small simple thick",
        "NICE_QUALITY": "style power precision elegance",
        "POOR_QUALITY": "flaws bugs gimmicks clutter",
    },
    "music": {
        "GREAT": "glorious thrilling electrifying",
        "GOOD": "lively tuneful catchy tender original delightful charming",
        "BAD": "flat muddy repetitive lifeless tedious irritating poor",
        "AWFUL": "painful unbearable",
        "PLAIN": "loud soft long short",
        "NICE_QUALITY": "energy warmth passion depth",
        "POOR_QUALITY": "noise mistakes clichés repetition",
    },
}
# Words that contradict or imply each other, so that no sentence has two of one set.
CLASHES: tuple[frozenset[str], ...] = tuple(frozenset(words.split()) for words in (
    "reliable unreliable sturdy fragile flimsy useless worthless", "fast sluggish slow", "fresh stale",
    "polite friendly attentive helpful rude arrogant careless lazy arrogance", "crisp soggy",
    "clean dirty shabby filthy dirt dust", "bright gloomy dark", "lively lifeless tired energy",
    "original predictable clichés", "repetitive repetition", "greasy grease", "noisy noise",
    "elegant clumsy elegance", "humour funny witty wit", "comfort comfortable", "confident nervous",
    "inedible tasty tempting", "long short", "warm warmth",
))

# Per domain: nouns as "kind: nouns" (a plural ends in `*`), what a part may spoil, what the whole is compared
# with, and the preposition between a part and the whole.
DOMAINS: dict[str, dict[str, str]] = {
    "film": {
        "head": "story: film movie sequel comedy thriller drama",
        "part": "story: script plot ending dialogue jokes* story | performer: cast director actors* heroine "
        "villain | music: soundtrack",
        "idea": "premise idea evening", "rival": "trailer prequel remake", "of": "in",
    },
    "book": {
        "head": "story: book novel memoir biography",
        "part": "story: prose chapters* plot characters* translation epilogue | performer: narrator hero",
        "idea": "premise idea mystery", "rival": "adaptation prequel sample", "of": "in",
    },
    "restaurant": {
        "head": "place: restaurant bistro café diner",
        "part": "food: soup fish dessert bread pasta sauces* vegetables* | service: waiter waiters* chef "
        "| place: terrace",
        "idea": "meal evening dinner", "rival": "canteen bakery pizzeria", "of": "at",
    },
    "hotel": {
        "head": "place: hotel hostel guesthouse inn",
        "part": "place: room rooms* lobby bathroom pool beds* garden | service: staff porter receptionist "
        "| food: breakfast",
        "idea": "stay holiday weekend", "rival": "campsite motel pension", "of": "at",
    },
    "gadget": {
        "head": "device: phone tablet laptop camera",
        "part": "device: battery screen keyboard speakers* software buttons* charger stylus",
        "idea": "design idea concept", "rival": "predecessor competitor prototype", "of": "on",
    },
    "concert": {
        "head": "music: concert festival show recital",
        "part": "music: songs* sound encore melodies* finale | performer: singer band drummer orchestra "
        "pianist",
        "idea": "evening set symphony", "rival": "album rehearsal recording", "of": "at",
    },
    "game": {
        "head": "story: game adventure",
        "part": "story: levels* missions* tutorial puzzles* story | device: controls* menus* "
        "| music: soundtrack",
        "idea": "idea concept mystery", "rival": "demo prequel prototype", "of": "in",
    },
}

# Base, third person and past of the verbs, by the value of the event.
VERBS: dict[str, str] = {
    "DELIGHT": "delight delights delighted, impress impresses impressed, please pleases pleased, "
    "satisfy satisfies satisfied, convince convinces convinced",
    "DAZZLE": "dazzle dazzles dazzled, astonish astonishes astonished",
    "ANNOY": "disappoint disappoints disappointed, irritate irritates irritated, annoy annoys annoyed, "
    "frustrate frustrates frustrated",
    "ENRAGE": "infuriate infuriates infuriated, exasperate exasperates exasperated",
    "AMUSE": "amuse amuses amused, entertain entertains entertained, enchant enchants enchanted",
    "BORE": "bore bores bored, tire tires tired, grate grates grated",
    "SPOIL": "spoil spoils spoiled, ruin ruins ruined, undermine undermines undermined, wreck wrecks wrecked",
    "SAVE": "save saves saved, rescue rescues rescued, redeem redeems redeemed",
    "OTHER": "fail fails failed, lack lacks lacked, avoid avoids avoided, manage manages managed, "
    "try tries tried, want wants wanted, stop stops stopped, seem seems seemed, promise promises promised, "
    "deliver delivers delivered, run runs ran, open opens opened, follow follows followed, "
    "last lasts lasted, serve serves served, stand stands stood, begin begins began, come comes came, "
    "face faces faced, close closes closed, cost costs cost",
}

# Values from -2 to 2 of the other words with a polarity; adjectives and verbs take theirs from their list.
POLAR_WORDS: dict[int, str] = {
    2: "loved love adored masterpiece triumph jewel marvel best",
    1: "enjoyed enjoy liked like admired admire laughed smiled applauded better delight treat pleasure "
    "success charmed",
    -1: "disliked dislike resented resent yawned complained groaned worse disappointment failure mess "
    "letdown",
    -2: "hated hate loathed loathe disaster catastrophe nightmare fiasco worst",
}
LIST_VALUES: dict[str, int] = {
    "GREAT": 2, "GOOD": 1, "BAD": -1, "AWFUL": -2, "NICE_QUALITY": 1, "POOR_QUALITY": -1, "DELIGHT": 1,
    "DAZZLE": 2, "ANNOY": -1, "ENRAGE": -2, "AMUSE": 1, "BORE": -1, "SPOIL": -1, "SAVE": 1,
}

# What a word or fixed phrase does to the phrase on its right; the verbs of SPOIL and SAVE do so as well.
OPERATORS: dict[str, str] = {
    "negate": "not n't never hardly scarcely no nobody neither without little less only could should might "
    "would if stop stops stopped avoid avoids avoided far_from anything_but by_no_means no_one free_of "
    "if_only",
    "keep": "is are was were be been being has have had do does did can wo to of at in on with by that about "
    "even also easy more as think find found seem seems seemed manage manages managed deliver delivers "
    "delivered full_of plenty_of no_means got",
    "amplify": "very really truly extremely remarkably particularly absolutely simply utterly completely "
    "much far",
    "soften": "slightly rather somewhat a_bit fairly quite reasonably mostly often occasionally sometimes",
    "overdo": "too",
    "attempt": "try tries tried want wants wanted promise promises promised expected",
    "punctuate": ", . !",
    "but": "but yet",
    "although": "although though while even_though despite in_spite_of for_all",
    "and": "and or", "nor": "nor", "than": "than", "because": "because", "not only": "not_only",
}
# Negators that are themselves mildly negative.
NEGATIVE_NEGATORS = "fail fails failed lack lacks lacked hard impossible doubt short_on"

# Symbols whose expansion talks about a new noun, drawn from that list of the domain.
BINDERS: dict[str, str] = {
    "PART_CLAUSE": "part", "EMBEDDED": "part", "WISH": "part", "NICE_THING": "part", "POOR_THING": "part",
    "ANY_THING": "part", "FOUND": "part", "LIKED": "part", "HEAD_CLAUSE": "head", "PRESENTATION": "head",
    "LIKED_WHOLE": "head", "FRAGMENT": "head", "WHOLE": "head", "IT_CLAUSE": "it", "NICE_IDEA": "idea",
    "POOR_IDEA": "idea", "EXPECTATION": "idea", "RIVAL": "rival", "PLAIN_RIVAL": "rival",
}
# Symbols that only suit some kinds of nouns.
SHOWS = ("story", "performer", "music")
GUARDS: dict[str, tuple[str, ...]] = {
    "CROWD": SHOWS, "SHOW_VP": ("story", "music"), "CUSTOMERS": ("place", "device"),
}

PRODUCTIONS: dict[str, list[str]] = {
    "SENTENCE": [
        "5 CLAUSE", "4 ((OPENING ,) CLAUSE)", "14 ((CLAUSE ,) (BUT CLAUSE))",
        "9 (((ALTHOUGH CLAUSE) ,) CLAUSE)", "6 (CLAUSE (THOUGH CLAUSE))",
        "5 (((ALTHOUGH HEAD_CLAUSE) ,) IT_CLAUSE)", "3 (((DESPITE ANY_THING) ,) CLAUSE)",
        "2 (CLAUSE (DESPITE ANY_THING))", "3 (((DESPITE (its QUALITY)) ,) HEAD_CLAUSE)",
        "2 ((((for all) (its QUALITY)) ,) HEAD_CLAUSE)", "6 ((CLAUSE ,) (and CLAUSE))",
        "4 ((CLAUSE ,) (but (CLAUSE (and CLAUSE))))", "4 (((ALTHOUGH CLAUSE) ,) (CLAUSE (and CLAUSE)))",
        "4 ((I LIKED_WHOLE) (because PART_CLAUSE))", "2 PRESENTATION",
        "2 ((PRESENTATION ,) (BUT PART_CLAUSE))", "5 FRAGMENT", "1 (I EXPECTATION)",
    ],
    "CLAUSE": ["11 PART_CLAUSE", "6 HEAD_CLAUSE", "5 PERSONAL"],
    "PART_CLAUSE": [
        "9 (SUBJECT VP)", "3 (SUBJECT RESCUE)", "3 ((the (NICE NOUN)) SHORTFALL)",
        "1 ((the (NICE NOUN)) PRAISE)", "1 ((the (POOR NOUN)) LETDOWN)",
        "1 ((the (NICE NOUN)) (SAVE POOR_IDEA))", "2 ((the (NICE NOUN)) ((can not) (SAVE0 POOR_IDEA)))",
        "1 ((the (POOR NOUN)) (SPOIL NICE_IDEA))", "2 ((the (POOR NOUN)) ((can not) (SPOIL0 NICE_IDEA)))",
        "1 ((even (the (NICE NOUN))) ((can not) (SAVE0 POOR_IDEA)))",
        "1 (((the (only (GOOD thing))) (about WHOLE)) (IT_IS (the NOUN)))",
        "1 (((the (only (BAD thing))) (about WHOLE)) (IT_IS (the NOUN)))",
    ],
    "HEAD_CLAUSE": [
        "7 ((the NOUN) VP)", "2 ((this NOUN) VP)", "3 ((the NOUN) (IS COMPARISON))", "4 ((the NOUN) NOMINAL)",
        "4 ((the NOUN) FACT)",
    ],
    "IT_CLAUSE": ["4 (it VP)", "1 (it (IS COMPARISON))", "2 (it NOMINAL)"],
    "PRESENTATION": [
        "4 (this (IT_IS (a (NOUN (that VERBAL)))))", "3 (this (IT_IS (a (ADJ NOUN))))",
        "3 (this ((IT_IS n't) (a (ADJ NOUN))))", "1 (this (IT_IS ((the (BEST NOUN)) (of (the YEAR)))))",
        "1 (this ((IT_IS n't) ((the (BEST NOUN)) (of (the YEAR)))))",
    ],
    "EMBEDDED": [
        "4 ((the NOUN) (IS ADJ))", "2 ((the NOUN) (IS (VERY MILD)))", "2 ((the NOUN) (lack~ NICE_QUALITY))",
    ],
    "PERSONAL": [
        "3 (I LIKED)", "3 (I FOUND)", "2 (I ((do n't) (think EMBEDDED)))", "1 (I (doubt (that EMBEDDED)))",
        "1 (I (think EMBEDDED))", "2 CROWD", "2 CUSTOMERS", "1 (NOBODY (was PLEASED))",
        "1 (everyone (was PLEASED))", "1 (I (was (never PLEASED)))", "1 (you ((wo n't) (be PLEASED)))",
    ],
    "CROWD": ["2 (NOBODY REACTED)", "1 (everyone REACTED)", "1 (I (was (never bored)))"],
    "CUSTOMERS": ["2 (NOBODY complained)", "1 (everyone complained)"],
    "LIKED": [
        "3 (LIKE_PAST (the NOUN))", "3 ((did n't) (LIKE (the NOUN)))", "1 (never (LIKE_PAST (the NOUN)))",
    ],
    "LIKED_WHOLE": ["1 (LIKE_PAST (the NOUN))", "1 ((did n't) (LIKE (the NOUN)))"],
    "FOUND": ["2 (found ((the NOUN) AP))", "2 ((did n't) (find ((the NOUN) NEGATED)))"],
    "EXPECTATION": [
        "1 ((expected (a (POOR NOUN))) (LINK (got (a (NICE one)))))",
        "1 ((expected (a (NICE NOUN))) (LINK (got (a (POOR one)))))",
    ],
    "SUBJECT": ["6 (the NOUN)", "1 (THIS NOUN)", "2 ((the NOUN) (OF WHOLE))"],
    "WHOLE": ["1 (the NOUN)", "1 (this NOUN)"],
    "VP": ["8 COPULA", "7 VERBAL", "2 SHOW_VP"],
    "COPULA": [
        "6 (IS AP)", "5 ((IS n't) NEGATED)", "2 (IS (not NEGATED))", "2 (IS (NEVER ADJ))",
        "3 (IS (FAR_FROM ADJ))", "1 (seem~ AP)", "1 ((DOES n't) (seem ADJ))", "3 (IS PAIRING)",
        "3 ((COULD (have been)) NICE)", "1 ((COULD (have been)) (VERY GOOD))",
        "2 ((could (have been)) worse)", "1 ((could (have been)) better)",
        "2 (((would be) WISHED) (if WISH))", "2 (IS ((neither GOOD) (nor NICE)))",
        "2 (IS ((neither BAD) (nor BAD)))", "1 (IS ((neither GOOD) (nor BAD)))",
        "3 (IS (((not only) OWN_GOOD) (but (also GOOD))))", "3 (IS (((not only) OWN_BAD) (but (also BAD))))",
        "2 (IS (too PLAIN))", "1 ((IS n't) (too PLAIN))", "1 (IS PLAIN)", "2 ((IS n't) (GOOD enough))",
        "1 (IS (GOOD enough))", "3 (IS (HARD (to LIKE)))", "1 (IS (easy (to LIKE)))",
    ],
    "VERBAL": ["1 LETDOWN", "1 PRAISE"],
    "SHORTFALL": [
        "3 ((DOES n't) DELIGHT)", "1 (never DELIGHTS)", "3 (fail~ (to DELIGHT))", "3 (lack~ NICE_QUALITY)",
        "1 (HAS (NO NICE_QUALITY))", "1 (IS ((short on) NICE_QUALITY))",
    ],
    "LETDOWN": [
        "12 SHORTFALL", "2 ANNOYS", "1 (REALLY ANNOYS)", "2 (never (fail~ (to ANNOY)))",
        "1 (manage~ (to ANNOY))", "1 (HAS ((plenty of) POOR_QUALITY))", "1 (IS ((full of) POOR_QUALITY))",
        "1 (IS (not (without POOR_QUALITY)))", "1 ((DOES n't) (avoid POOR_QUALITY))",
        "1 ((promise~ NICE_QUALITY) (but (deliver~ POOR_QUALITY)))",
    ],
    "PRAISE": [
        "2 DELIGHTS", "1 (REALLY DELIGHTS)", "3 ((DOES n't) ANNOY)", "2 (never ANNOYS)",
        "1 (fail~ (to ANNOY))", "3 (never (fail~ (to DELIGHT)))", "1 (manage~ (to DELIGHT))",
        "2 ((DOES n't) (lack NICE_QUALITY))", "2 (HAS (no POOR_QUALITY))",
        "1 (HAS ((plenty of) NICE_QUALITY))", "1 (IS ((full of) NICE_QUALITY))",
        "2 (IS ((free of) POOR_QUALITY))", "2 (IS (not (without NICE_QUALITY)))", "1 (avoid~ POOR_QUALITY)",
    ],
    "RESCUE": [
        "3 (SPOIL NICE_IDEA)", "2 (completely (SPOIL NICE_IDEA))", "3 ((can not) (SPOIL0 NICE_IDEA))",
        "3 (SAVE POOR_IDEA)", "3 ((can not) (SAVE0 POOR_IDEA))", "1 ((DOES n't) (SPOIL0 NICE_IDEA))",
    ],
    "SHOW_VP": [
        "1 (try~ (to (be NICE)))", "1 ((try~ (to (be NICE))) (and fail~))", "1 (want~ (to (be NICE)))",
        "2 (never (stop~ (being NICE)))", "1 (soon (stop~ (being GOOD)))",
    ],
    "NOMINAL": [
        "2 (IS (a NAME))", "2 ((IS n't) (a NAME))", "1 (IS (no STRONG_NAME))", "2 (IS (hardly (a NAME)))",
        "1 (IS ((far from) (a NAME)))", "2 ((COULD (have been)) (a NICE_NAME))",
        "2 ((could (have been)) (a AWFUL_NAME))",
    ],
    "AP": [
        "5 ADJ", "3 (VERY MILD)", "3 (UTTERLY STRONG)", "1 (SLIGHTLY BAD)", "1 (FAIRLY GOOD)",
        "3 (MOSTLY STRONG)", "1 (GOOD (and NICE))", "1 (BAD (and POOR))", "2 (OWN_GOOD (but OWN_BAD))",
        "2 (OWN_BAD (YET OWN_GOOD))",
    ],
    "NEGATED": ["5 ADJ", "2 (very MILD)", "1 (particularly GOOD)", "2 (GOOD (or GOOD))", "1 (BAD (or BAD))"],
    "PAIRING": [
        "1 ((more OWN_GOOD) (than OWN_BAD))", "1 ((more OWN_BAD) (than OWN_GOOD))",
        "1 ((less OWN_BAD) (than OWN_GOOD))", "1 ((less OWN_GOOD) (than OWN_BAD))",
        "1 ((more OWN_GOOD) (than OWN_GOOD))", "1 ((more OWN_BAD) (than OWN_BAD))",
    ],
    "COMPARISON": [
        "1 (better (than RIVAL))", "1 (worse (than RIVAL))", "1 ((MUCH better) (than RIVAL))",
        "1 ((MUCH worse) (than RIVAL))", "1 ((less OWN_GOOD) (than RIVAL))",
        "1 ((less OWN_BAD) (than RIVAL))", "1 ((as ADJ) (as PLAIN_RIVAL))",
        "2 ((not (as MILD)) (as PLAIN_RIVAL))", "1 ((no better) (than RIVAL))",
    ],
    "PLAIN_RIVAL": ["1 (the NOUN)"],
    "RIVAL": ["3 (the NOUN)", "2 (the (ADJ NOUN))"],
    "WISH": ["1 ((the NOUN) (were NICE))"],
    "NICE_THING": ["1 (the (NICE NOUN))"],
    "POOR_THING": ["1 (the (POOR NOUN))"],
    "ANY_THING": ["1 (the (ADJ NOUN))"],
    "NICE_IDEA": ["3 (a (NICE NOUN))", "1 (the (NICE NOUN))"],
    "POOR_IDEA": ["3 (a (POOR NOUN))", "1 (the (POOR NOUN))"],
    "FRAGMENT": [
        "2 ADJ", "1 (UTTERLY STRONG)", "2 (not NEGATED)", "1 (NEVER ADJ)", "2 (a (NOUN (that VERBAL)))",
        "1 (hardly (a NAME))", "1 (a NAME)", "2 ((a (POOR NOUN)) (saved (by NICE_THING)))",
        "2 ((a (NICE NOUN)) (ruined (by POOR_THING)))", "2 ((a (NICE NOUN)) (with (no QUALITY)))",
        "1 ((a (POOR NOUN)) (without NICE_QUALITY))", "2 ((if only) WISH)", "1 (FAR_FROM ADJ)",
    ],
    "ADJ": ["3 GOOD", "2 GREAT", "3 BAD", "2 AWFUL"],
    "MILD": ["1 GOOD", "1 BAD"],
    "STRONG": ["1 GREAT", "1 AWFUL"],
    "NICE": ["1 GOOD", "1 GREAT"],
    "POOR": ["1 BAD", "1 AWFUL"],
    "WISHED": ["1 better", "1 GREAT"],
    "QUALITY": ["1 NICE_QUALITY", "1 POOR_QUALITY"],
    "NO": ["1 no", "1 little"],
    "NEVER": ["2 never", "1 hardly", "1 scarcely"],
    "BUT": ["4 but", "1 yet"],
    "YET": ["1 but", "1 yet"],
    "LINK": ["1 and", "1 but"],
    "THOUGH": ["2 although", "1 though", "2 (even though)"],
    "ALTHOUGH": ["3 although", "2 though", "2 while", "2 (even though)"],
    "DESPITE": ["2 despite", "1 ((in spite) of)"],
    "FAR_FROM": ["1 (far from)", "1 (anything but)", "1 (by (no means))"],
    "COULD": ["2 could", "1 should", "1 might"],
    "HARD": ["2 hard", "1 impossible"],
    "VERY": ["4 very", "2 really", "1 truly", "1 extremely", "1 remarkably"],
    "REALLY": ["1 really", "1 truly"],
    "UTTERLY": ["1 absolutely", "1 simply", "1 utterly", "1 truly"],
    "MUCH": ["1 much", "1 far"],
    "SLIGHTLY": ["1 slightly", "1 rather", "1 somewhat", "1 (a bit)"],
    "FAIRLY": ["1 fairly", "1 quite", "1 reasonably"],
    "MOSTLY": ["2 mostly", "1 often", "1 occasionally", "1 sometimes"],
    "NOBODY": ["1 nobody", "1 (no one)"],
    "REACTED": ["1 laughed", "1 smiled", "1 applauded", "1 yawned", "1 groaned"],
    "PLEASED": ["1 annoyed", "1 disappointed", "1 impressed", "1 charmed", "1 satisfied"],
    "LIKE": ["1 love", "2 enjoy", "2 like", "1 admire", "1 dislike", "1 hate", "1 resent", "1 loathe"],
    "LIKE_PAST": [
        "1 loved", "1 adored", "2 enjoyed", "1 liked", "1 admired", "1 disliked", "1 hated", "1 resented",
        "1 loathed",
    ],
    "NAME": ["1 NICE_NAME", "1 POOR_NAME"],
    "STRONG_NAME": ["1 GREAT_NAME", "1 AWFUL_NAME"],
    "NICE_NAME": ["1 GREAT_NAME", "1 delight", "1 treat", "1 pleasure", "1 success"],
    "POOR_NAME": ["1 AWFUL_NAME", "1 disappointment", "1 failure", "1 mess", "1 letdown"],
    "GREAT_NAME": ["1 masterpiece", "1 triumph", "1 jewel", "1 marvel"],
    "AWFUL_NAME": ["1 disaster", "1 catastrophe", "1 nightmare", "1 fiasco"],
    "OPENING": [
        "1 (in (the end))", "1 (to (be honest))", "1 (all (in all))", "1 frankly", "1 (for me)",
        "1 (on (the whole))", "1 (to (my mind))",
    ],
    "BEST": ["1 best", "1 worst"],
    "YEAR": ["2 year", "1 month", "1 season"],
    "NUMBER": ["2 two", "2 three", "1 four", "1 five", "1 six", "1 nine"],
    "PLACE": [
        "1 Lisbon", "1 Vienna", "1 Dublin", "1 (the station)", "1 (the (old harbour))",
        "1 (a (quiet valley))", "1 (a (small town))", "1 (the coast)",
    ],
}

# Neutral things to say about the whole, by domain.
FACTS: dict[str, list[str]] = {
    "film": [
        "2 (run~ (for (NUMBER hours)))", "2 (IS (set (in PLACE)))", "1 (open~ (in PLACE))",
        "1 (follow~ (NUMBER sisters))",
    ],
    "book": [
        "2 (HAS (NUMBER chapters))", "2 (begin~ (in PLACE))", "1 (follow~ (NUMBER sisters))",
        "1 (IS (set (in PLACE)))",
    ],
    "restaurant": [
        "2 (stand~ (near PLACE))", "1 (serve~ (lunch (until NUMBER)))", "1 (HAS (NUMBER tables))",
        "1 (close~ (at NUMBER))",
    ],
    "hotel": [
        "2 (stand~ (near PLACE))", "1 (HAS (NUMBER floors))", "1 (face~ PLACE)",
        "1 (serve~ (lunch (until NUMBER)))",
    ],
    "gadget": [
        "2 (come~ (with (NUMBER cables)))", "2 (cost~ ((NUMBER hundred) euros))", "1 (HAS (NUMBER buttons))",
    ],
    "concert": [
        "2 (last~ (for (NUMBER hours)))", "1 (begin~ (at NUMBER))", "1 (come~ (to PLACE))",
        "1 (HAS (NUMBER parts))",
    ],
    "game": [
        "2 (HAS (NUMBER levels))", "2 (IS (set (in PLACE)))", "1 (follow~ (NUMBER sisters))",
        "1 (last~ (for (NUMBER hours)))",
    ],
}
