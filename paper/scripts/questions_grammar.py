"""Templates and phrases of the questions corpus, expanded by `write_questions.py`.

`{PERSON}` stands for one of the phrases of that name; all of them are Penn-style brackets.
"""

# One entry a line would make the tables five times as long.
# fmt: off

# Share of each coarse type; the fine types below share alike.
TYPE_SHARES: dict[str, float] = {
    "ABBR": 0.10, "DESC": 0.17, "ENTY": 0.19, "HUM": 0.19, "LOC": 0.18, "NUM": 0.17,
}

# Heads that decide the type, with what may follow them in a relative clause and in a question.
HEADED_TYPES: dict[str, dict[str, str]] = {
    "LOC:city": {"heads": "city town village capital", "modifier": "PLACE_MODIFIER", "predicate": "PLACE_VP"},
    "LOC:country": {"heads": "country kingdom nation", "modifier": "PLACE_MODIFIER", "predicate": "PLACE_VP"},
    "LOC:other": {"heads": "river lake mountain", "modifier": "NATURE_MODIFIER", "predicate": "NATURE_VP"},
    "HUM:ind": {"heads": "painter composer inventor explorer poet architect", "modifier": "PERSON_MODIFIER",
                "predicate": "PERSON_VP"},
    "HUM:gr": {"heads": "company band team orchestra", "modifier": "GROUP_MODIFIER", "predicate": "GROUP_VP"},
    "ENTY:animal": {"heads": "animal bird insect horse", "modifier": "ANIMAL_MODIFIER",
                    "predicate": "ANIMAL_VP"},
    "ENTY:food": {"heads": "dish cheese fruit soup", "modifier": "FOOD_MODIFIER", "predicate": "FOOD_VP"},
    "ENTY:instrument": {"heads": "instrument tool machine", "modifier": "TOOL_MODIFIER",
                        "predicate": "TOOL_VP"},
}
# Questions whose type depends on the head alone: the other nouns may be of any type.
HEADED_TEMPLATES: list[str] = [
    "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN name)) (PP (IN of) {NP}))) {END})",
    "(SBARQ {WHAT} (SQ (VBZ is) {NP} (VP (VBN called))) {END})",
    "(S (VP (VB Name) {NP}) (. .))",
    "(SBARQ (WHNP (WDT Which) (NN {HEAD})) (SQ {PREDICATE}) {END})",
    "(SBARQ (WHNP (WDT What) (NN {HEAD})) (SQ {PREDICATE}) {END})",
    "(SBARQ (WHNP (WDT Which) (NN {HEAD})) (SQ {INVERTED}) {END})",
    "(SBARQ {WHAT} (SQ (VBD was) (NP (NP (DT the) (NN name)) (PP (IN of) (NP (NP (DT the) (NN {HEAD})) "
    "(SBAR (WHNP (WDT that)) (S {SEER} (VP (VBD described)))))))) {END})",
]
HEADED_NP = "(NP (NP (DT the) (NN {HEAD})) {MODIFIER})"

# The same for nouns that can act, and for all of them, with nouns of any type around the head, so that only
# its place tells `Which city did the painter choose` from `Which painter did the city choose`.
ACTOR_TYPES = ("HUM:ind", "HUM:gr", "LOC:city", "LOC:country")
ACTOR_TEMPLATES: list[str] = [
    "(SBARQ (WHNP (WDT Which) (NN {HEAD})) (SQ (VP {CHOSE} {MATTER})) {END})",
    "(SBARQ (WHNP (WDT Which) (NN {HEAD})) (SQ (VP (VBD asked) {QUESTION})) {END})",
    "(S (VP (VB Name) (NP (NP (DT the) (NN {HEAD})) (SBAR (WHNP (WDT that)) (S (VP {CHOSE} {MATTER}))))) "
    "(. .))",
    "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN name)) (PP (IN of) (NP (NP (DT the) (NN {HEAD})) "
    "(SBAR (WHNP (WDT that)) (S (VP {CHOSE} {MATTER}))))))) {END})",
]
MIXED_TEMPLATES: list[str] = [
    "(SBARQ (WHNP (WDT Which) (NN {HEAD})) (SQ (VBD did) {ACTOR} (VP {CHOOSE})) {END})",
    "(SBARQ (WHNP (WDT Which) (NN {HEAD})) (SQ (VBD did) {ACTOR} (VP {CHOOSE} (PP "
    "(IN for) {ENTITY}))) {END})",
    "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN name)) (PP (IN of) (NP (NP (DT the) (NN {HEAD})) "
    "(SBAR (WHNP (WDT that)) (S {ACTOR} (VP {CHOSE}))))))) {END})",
    "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN {HEAD})) (PP (IN near) {ENTITY})) (VP "
    "(VBN called))) {END})",
    "(S (VP (VB Name) (NP (NP (DT the) (NN {HEAD})) (VP (VBN chosen) (PP (IN by) {ACTOR})))) (. .))",
]
# Nouns that decide the type whatever they are said of: properties of a thing, and proposals for it.
PROPERTY_TYPES: dict[str, str] = {
    "NUM:money": "price cost value", "NUM:dist": "length height width", "ENTY:color": "color",
    "DESC:desc": "origin history purpose",
}
PROPERTY_TEMPLATES: list[str] = [
    "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN {PROPERTY})) (PP (IN of) (NP (NP (DT the) "
    "(NN {THING_HEAD})) (SBAR (WHNP (WDT that)) (S {ACTOR} (VP {CHOSE}))))))) {END})",
    "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN {PROPERTY})) (PP (IN of) (NP (NP (DT the) "
    "(NN {THING_HEAD})) (VP (VBN chosen) (PP (IN by) {ACTOR})))))) {END})",
]
PROPOSAL_TYPES: dict[str, str] = {
    "NUM:money": "price", "NUM:dist": "length height width", "NUM:date": "date year", "NUM:count": "number",
    "ENTY:color": "color", "DESC:reason": "reason", "ABBR:abb": "abbreviation",
}
PROPOSAL_TEMPLATES: list[str] = [
    "(SBARQ (WHNP (WDT Which) (NN {PROPOSAL})) (SQ (VBD did) {ACTOR} (VP {SUGGEST} (PP (IN for) {ENTITY}))) "
    "{END})",
    "(SBARQ {WHAT} (SQ (VBD was) (NP (NP (DT the) (NN {PROPOSAL})) (SBAR (WHNP (WDT that)) (S {ACTOR} "
    "(VP {SUGGESTED} (PP (IN for) {ENTITY})))))) {END})",
]
# Wh-adverbs decide too, while other ones stand in subordinate clauses.
ADVERB_TYPES: dict[str, str] = {
    "NUM:date": "{WHEN}", "LOC:other": "{WHERE}", "DESC:reason": "{WHY}", "DESC:manner": "{HOW}",
}
ADVERB_TEMPLATES: list[str] = [
    "(SBARQ {ADVERB} (SQ (VBD did) {ACTOR} (VP {CHOOSE} {MATTER})) {END})",
    "(SBARQ {ADVERB} (SQ (VBD did) {ACTOR} (VP (VB ask) {QUESTION})) {END})",
]

# Questions that show their type in other ways, by fine type.
TEMPLATES: dict[str, list[str]] = {
    "ABBR:exp": [
        "(SBARQ {WHAT} (SQ (VBZ does) {ACRONYM} (VP (VB stand) (PP (IN for)))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ does) (NP (DT the) (NN abbreviation) (NNP {LETTERS})) (VP (VB mean))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (JJ full) (NN form)) (PP (IN of) {ACRONYM}))) {END})",
        "(SBARQ {WHAT} (SQ (VBP do) (NP (DT the) (NNS letters) (NNP {LETTERS})) (VP (VB mean))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) {ACRONYM} (ADJP (JJ short) (PP (IN for)))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ does) (NP (NP (DT the) (NN abbreviation)) (SBAR (WHNP (WDT that)) (S {ACTOR} "
        "(VP {CHOSE})))) (VP (VB mean))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (JJ full) (NN form)) (PP (IN of) (NP (NP (DT the) "
        "(NN abbreviation)) (SBAR (WHNP (WDT that)) (S {ACTOR} (VP {CHOSE}))))))) {END})",
    ],
    "ABBR:abb": [
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN abbreviation)) (PP (IN for) {UNIT}))) {END})",
        "(SBARQ {HOW} (SQ (VBZ is) {UNIT} (VP (VBN abbreviated))) {END})",
        "(SBARQ {HOW} (SQ (VBP do) (NP (PRP you)) (VP (VB abbreviate) {UNIT})) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (JJ short) (NN form)) (PP (IN of) {UNIT}))) {END})",
    ],
    "DESC:def": [
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (DT a) (NN {CONCEPT}))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ does) (NP (DT the) (NN word) (NN {CONCEPT})) (VP (VB mean))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN meaning)) (PP (IN of) (NP (NN {CONCEPT}))))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (VP (VBN meant) (PP (IN by) (NP (DT a) (NN {CONCEPT}))))) {END})",
        "(S (VP (VB Define) (NP (DT the) (NN word) (NN {CONCEPT}))) (. .))",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN meaning)) (PP (IN of) (NP (NP (DT the) (NN word)) "
        "(SBAR (WHNP (WDT that)) (S {ACTOR} (VP {CHOSE}))))))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ does) (NP (NP (DT the) (NN word)) (SBAR (WHNP (WDT that)) (S {ACTOR} "
        "(VP {CHOSE})))) (VP (VB mean))) {END})",
    ],
    "DESC:reason": [
        "(SBARQ {WHY} (SQ (VBD did) {SEER} (VP {SEE} {SEEN})) {END})",
        "(SBARQ {WHY} (SQ (VBP do) {ANIMALS} (VP (VB live) (PP (IN in) {PLACE}))) {END})",
        "(SBARQ {WHAT} (SQ (VBD was) (NP (NP (DT the) (NN reason)) (PP (IN for) {EVENT}))) {END})",
        "(SBARQ {WHY} (SQ (VBD was) (NP (DT the) (NN {BUILT})) (VP (VBN built) (PP (IN in) {PLACE}))) {END})",
    ],
    "DESC:manner": [
        "(SBARQ {HOW} (SQ (VBD did) {SEER} (VP {SEE} {SEEN})) {END})",
        "(SBARQ {HOW} (SQ (VBP do) {ANIMALS} (VP {ANIMAL_ACT})) {END})",
        "(SBARQ {HOW} (SQ (VBP do) (NP (PRP you)) (VP (VB make) (NP (DT a) (NN {CRAFT})))) {END})",
        "(SBARQ {HOW} (SQ (VBD was) {BUILDING} (VP (VBN built))) {END})",
    ],
    "DESC:desc": [
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN {STORY})) (PP (IN of) {ANYTHING}))) {END})",
        "(SBARQ {WHAT} (SQ (VP (VBZ happens) (SBAR (WHADVP (WRB when)) (S {ANIMALS} "
        "(VP {ANIMAL_ACT_P}))))) {END})",
        "(SBARQ {WHAT} (SQ (VP (VBD happened) (PP (TO to) {ANYTHING}))) {END})",
    ],
    "ENTY:color": [
        "(SBARQ (WHNP (WDT What) (NN color)) (SQ (VBZ is) {THING}) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN color)) (PP (IN of) {THING}))) {END})",
        "(SBARQ (WHNP (WDT Which) (NN color)) (SQ (VBD did) {PERSON} (VP (VB choose) (PP "
        "(IN for) {THING}))) {END})",
        "(SBARQ (WHNP (WDT What) (NN color)) (SQ (VBP are) {ANIMALS} (PP (IN in) {PLACE})) {END})",
    ],
    "HUM:ind": [
        "(SBARQ (WHNP (WP Who)) (SQ {PERSON_VP}) {END})",
        "(SBARQ (WHNP (WP Who)) (SQ (VP {CHOSE} {MATTER})) {END})",
        "(SBARQ (WHNP (WP Who)) (SQ (VP (VBD asked) {QUESTION})) {END})",
        "(SBARQ (WHNP (WP Who)) (SQ (VBD was) (NP (NP (DT the) (NN {JOB})) {PERSON_MODIFIER})) {END})",
    ],
    "LOC:other": [
        "(SBARQ {WHERE} (SQ (VBZ is) {THING}) {END})",
        "(SBARQ {WHERE} (SQ (VBD was) {PERSON} (VP (VBN born))) {END})",
        "(SBARQ {WHERE} (SQ (VBP do) {ANIMALS} (VP (VB live))) {END})",
        "(SBARQ {WHERE} (SQ (VBD did) {PERSON} (VP {SEE} {SEEN})) {END})",
    ],
    "LOC:city": [
        "(SBARQ (WHPP (IN In) (WHNP (WDT which) (NN {TOWN}))) (SQ (VBD was) {PERSON} (VP (VBN born))) {END})",
        "(SBARQ (WHPP (IN In) (WHNP (WDT which) (NN {TOWN}))) (SQ (VBD did) {PERSON} "
        "(VP {SEE} {SEEN})) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN capital)) (PP (IN of) {COUNTRY_NAME}))) {END})",
    ],
    "NUM:count": [
        "(SBARQ (WHNP {HOW_MANY} {LIVING}) (SQ (VP (VBP live) (PP (IN in) {PLACE}))) {END})",
        "(SBARQ (WHNP {HOW_MANY} {PLURAL}) (SQ (VBD did) {SEER} (VP {SEE})) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN number)) (PP (IN of) (NP (NP {PLURAL}) (PP "
        "(IN in) {PLACE}))))) {END})",
    ],
    "NUM:date": [
        "(SBARQ {WHEN} (SQ (VBD was) {PERSON} (VP (VBN born))) {END})",
        "(SBARQ {WHEN} (SQ (VBD did) {SEER} (VP {SEE} {SEEN})) {END})",
        "(SBARQ (WHNP (WDT What) (NN {PERIOD})) (SQ (VBD did) {SEER} (VP {SEE} {SEEN})) {END})",
        "(SBARQ (WHPP (IN In) (WHNP (WDT which) (NN {PERIOD}))) (SQ (VBD was) {THING} (VP "
        "(VBN built))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN date)) (PP (IN of) {EVENT}))) {END})",
    ],
    "NUM:dist": [
        "(SBARQ (WHADJP (WRB How) (JJ {SIZE_ADJECTIVE})) (SQ (VBZ is) {LONG_THING}) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN {SIZE})) (PP (IN of) {LONG_THING}) (PP (IN in) "
        "(NP (NNS {METERS}))))) {END})",
        "(SBARQ {HOW_FAR} (SQ (VBZ is) (NP (PRP it)) (PP (IN from) {PLACE}) (PP "
        "(TO to) {LONG_THING})) {END})",
        "(SBARQ {HOW_FAR} (SQ (VBD did) {PERSON} (VP (VB walk) (PP (IN from) {PLACE}))) {END})",
    ],
    "NUM:money": [
        "(SBARQ {HOW_MUCH} (SQ (VBZ does) {THING} (VP (VB cost))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN {PRICE})) (PP (IN of) {THING}))) {END})",
        "(SBARQ {HOW_MUCH} (SQ (VBD did) {SEER} (VP (VB pay) (PP (IN for) {THING}))) {END})",
        "(SBARQ {WHAT} (SQ (VBZ is) (NP (NP (DT the) (NN salary)) (PP (IN of) {PERSON}))) {END})",
    ],
}

# What may fill a slot: phrases, or the words of a list.
PHRASES: dict[str, list[str]] = {
    "WHAT": ["(WHNP (WP What))"], "HOW": ["(WHADVP (WRB How))"], "WHY": ["(WHADVP (WRB Why))"],
    "WHEN": ["(WHADVP (WRB When))"], "WHERE": ["(WHADVP (WRB Where))"], "END": ["(. ?)"],
    "HOW_MUCH": ["(WHNP (WHADJP (WRB How) (JJ much)))"], "HOW_MANY": ["(WHADJP (WRB How) (JJ many))"],
    "HOW_FAR": ["(WHADVP (WRB How) (RB far))"],
    "ACTOR": ["(NP (DT the) (NN {ACTING}))", "(NP (DT the) (JJ {ADJECTIVE}) (NN {ACTING}))"],
    "ENTITY": ["(NP (DT the) (NN {ANY_HEAD}))"],
    "MATTER": [
        "{ENTITY}", "{ENTITY}",
        "(NP (NP (DT the) (NN {ANY_PROPERTY})) (PP (IN of) (NP (DT the) (NN {THING_HEAD}))))",
        "(NP (NP (DT the) (NN {PLAN})) (PP (IN for) {EVENT}))",
        "(NP (NP (DT the) (NN {WORDING})) (PP (IN for) (NP (NN {LONG_WORD}))))",
    ],
    "SUGGEST": ["(VB suggest)", "(VB choose)"], "SUGGESTED": ["(VBD suggested)", "(VBD chose)"],
    "CHOSE": ["(VBD {PAST})"], "CHOOSE": ["(VB {BASE})"],
    "QUESTION": [
        "(SBAR (WHADVP (WRB {SUBORDINATOR})) (S {ENTITY} (VP (VBD was) (VP (VBN {PARTICIPLE})))))",
        "(SBAR (WHNP (WP who)) (S (VP {CHOSE} {MATTER})))", "(PP (IN about) {MATTER})",
    ],
    "SEER": ["{PERSON}", "{PERSON}", "{GROUP}"],
    "SEEN": ["{PLACE}", "{THING}", "{GROUP}", "{PERSON}"],
    "ANYTHING": ["{PERSON}", "{PLACE}", "{GROUP}", "{THING}"],
    "INVERTED": ["(VBD did) {SEER} (VP {SEE_ANY})", "(VBD was) (VP (VBN described) (PP (IN by) {SEER}))"],
    "PERSON": [
        "(NP (DT the) (NN {JOB}))", "(NP (DT the) (JJ {HUMAN_ADJECTIVE}) (NN {JOB}))", "(NP "
        "(NNP {FIRST_NAME}))",
    ],
    "GROUP": ["(NP (DT the) (NN {TEAM}))", "(NP (DT the) (JJ {ADJECTIVE}) (NN {TEAM}))"],
    "PLACE": [
        "(NP (DT the) (NN {TOWN}))", "(NP (DT the) (NN {LAND}))", "{COUNTRY_NAME}", "(NP (NNP {CITY_NAME}))",
    ],
    "COUNTRY_NAME": ["(NP (NNP {COUNTRY}))"],
    "THING": ["(NP (DT the) (NN {OBJECT}))", "(NP (DT the) (JJ {ADJECTIVE}) (NN {OBJECT}))",
              "(NP (NP (DT the) (NN {OBJECT})) (PP (IN in) {PLACE}))"],
    "LONG_THING": [
        "(NP (DT the) (NN {LONG_OBJECT}))", "(NP (NP (DT the) (NN {LONG_OBJECT})) (PP (IN in) {PLACE}))",
    ],
    "BUILDING": [
        "(NP (DT the) (NN {BUILT}))", "(NP (DT the) (JJ {ADJECTIVE}) (NN {BUILT}))",
        "(NP (NP (DT the) (NN {BUILT})) (PP (IN in) {PLACE}))",
    ],
    "SHOW": ["(NP (DT the) (NN {CONTEST}))", "(NP (DT the) (JJ {ADJECTIVE}) (NN {CONTEST}))"],
    "EVENT": ["(NP (DT the) (NN {OCCASION}))", "(NP (NP (DT the) (NN {OCCASION})) (PP (IN in) {PLACE}))"],
    "ANIMALS": ["(NP (NNS {ANIMAL_PLURAL}))", "(NP (JJ {ANIMAL_ADJECTIVE}) (NNS {ANIMAL_PLURAL}))"],
    "PLURAL": ["(NNS {PEOPLE})", "(NNS {ANIMAL_PLURAL})", "(JJ {ADJECTIVE}) (NNS {PEOPLE})"],
    "LIVING": ["(NNS {CITIZENS})", "(NNS {ANIMAL_PLURAL})", "(JJ {HUMAN_ADJECTIVE}) (NNS {CITIZENS})"],
    "ACRONYM": ["(NP (NNP {LETTERS}))"],
    "UNIT": ["(NP (NN {LONG_WORD}))", "(NP (DT the) (NN word) (NN {LONG_WORD}))",
             "(NP (NP (DT the) (NN title)) (PP (IN of) (NP (DT a) (NN {TITLE}))))"],
    "PLACE_MODIFIER": [
        "(SBAR (WHADVP (WRB where)) (S {PERSON} (VP (VBD was) (VP (VBN born)))))",
        "(SBAR (WHADVP (WRB where)) (S {GROUP} (VP (VBZ has) (NP (PRP$ its) (NN office)))))",
        "(SBAR (WHADVP (WRB where)) (S {ANIMALS} (VP (VBP live))))",
        "(SBAR (WHNP (WDT that)) (S (VP (VBD hosted) {SHOW})))", "(VP (VBN visited) (PP (IN by) {SEER}))",
    ],
    "NATURE_MODIFIER": [
        "(SBAR (WHADVP (WRB where)) (S {PERSON} (VP (VBD died))))", "(PP (IN near) {PLACE})",
        "(SBAR (WHADVP (WRB where)) (S {ANIMALS} (VP (VBP live))))", "(VP (VBN crossed) (PP (IN by) {SEER}))",
    ],
    "PERSON_MODIFIER": [
        "(VP (VBN born) (PP (IN in) {PLACE}))", "(SBAR (WHNP (WP who)) (S {PERSON_VP}))",
        "(PP (IN from) {PLACE})",
        "(SBAR (WHNP (WP who)) (S (VP (VBD led) {GROUP})))", "(VP (VBN hired) (PP (IN by) {GROUP}))",
    ],
    "GROUP_MODIFIER": [
        "(VP (VBN founded) (PP (IN by) {PERSON}))", "(VP (VBN based) (PP (IN in) {PLACE}))",
        "(SBAR (WHNP (WDT that)) (S {GROUP_VP}))",
    ],
    "ANIMAL_MODIFIER": [
        "(SBAR (WHNP (WDT that)) (S (VP (VBZ lives) (PP (IN in) {PLACE}))))",
        "(VP (VBN drawn) (PP (IN by) {PERSON}))",
        "(PP (IN on) (NP (NP (DT the) (NN flag)) (PP (IN of) {PLACE})))",
    ],
    "FOOD_MODIFIER": [
        "(VP (VBN eaten) (PP (IN in) {PLACE}))", "(VP (VBN named) (PP (IN after) {PERSON}))",
        "(SBAR (WHNP (WDT that)) (S {PERSON} (VP (VBD sold) (PP (TO to) {GROUP}))))",
    ],
    "TOOL_MODIFIER": [
        "(VP (VBN made) (PP (IN in) {PLACE}))", "(VP (VBN used) (PP (IN by) {SEER}))",
        "(SBAR (WHNP (WDT that)) (S {PERSON} (VP (VBD sold) (PP (TO to) {GROUP}))))",
    ],
    "PLACE_VP": [
        "(VP (VBZ hosts) {SHOW})", "(VP (VBD gave) {PERSON} (NP (DT a) (NN prize)))",
        "(VP (VBD built) {BUILDING})",
        "(VP (VBD invited) {SEER})",
    ],
    "NATURE_VP": [
        "(VP (VBZ lies) (PP (IN near) {PLACE}))", "(VP (VBD inspired) {PERSON})",
        "(VP (VBD stopped) {SEER})",
    ],
    "PERSON_VP": [
        "(VP (VBD designed) {BUILDING})", "(VP (VBD left) {PLACE})", "(VP (VBD led) {GROUP})",
        "(VP (VBD invited) {SEER})",
        "(VP (VBD lived) (PP (IN in) {PLACE}))",
    ],
    "GROUP_VP": ["(VP (VBD built) {BUILDING})", "(VP (VBD hired) {PERSON})", "(VP (VBD left) {PLACE})",
                 "(VP (VBD won) {SHOW})"],
    "ANIMAL_VP": ["(VP (VBZ lives) (PP (IN in) {PLACE}))", "(VP (VBD belonged) (PP (TO to) {SEER}))",
                  "(VP (VBD inspired) {PERSON})"],
    "FOOD_VP": [
        "(VP (VBZ comes) (PP (IN from) {PLACE}))", "(VP (VBD pleased) {SEER})",
        "(VP (VBD inspired) {PERSON})",
    ],
    "TOOL_VP": ["(VP (VBZ comes) (PP (IN from) {PLACE}))", "(VP (VBD belonged) (PP (TO to) {SEER}))",
                "(VP (VBD helped) {SEER})"],
    "SEE": ["(VB {SEE_VERB})"], "SEE_ANY": ["(VB {SEE_VERB})", "(VB {SEE_VERB}) (PP (IN in) {PLACE})"],
    "ANIMAL_ACT": ["(VB {ACT})", "(VB {ACT}) (PP (IN in) {PLACE})"],
    "ANIMAL_ACT_P": ["(VBP {ACT})", "(VBP {ACT}) (PP (IN in) {PLACE})"],
}
WORDS: dict[str, str] = {
    "ACTING": "city town village country kingdom nation painter composer inventor explorer poet architect "
    "company band team orchestra",
    "ANY_HEAD": "city town village country kingdom river lake mountain painter composer inventor explorer "
    "poet architect company band team orchestra animal bird insect horse dish cheese fruit soup instrument "
    "tool machine",
    "THING_HEAD": "animal bird insect horse dish cheese fruit soup instrument tool machine",
    "ANY_PROPERTY": "price cost value length height width color origin history purpose",
    "PLAN": "date year reason number", "WORDING": "abbreviation word",
    "PAST": "described mentioned chose admired", "BASE": "describe mention choose admire",
    "SUBORDINATOR": "when where why how", "PARTICIPLE": "described mentioned chosen found",
    "JOB": "painter composer inventor explorer poet architect", "TEAM": "company band team orchestra",
    "TOWN": "city town village", "LAND": "country kingdom", "ADJECTIVE": "old famous small",
    "HUMAN_ADJECTIVE": "old young famous", "ANIMAL_ADJECTIVE": "old young small",
    "COUNTRY": "Norway Peru Kenya Japan Portugal", "CITY_NAME": "Lisbon Vienna Oslo Lima",
    "FIRST_NAME": "Ada Clara Hugo Ivan Marie", "OBJECT": "bridge statue telescope tower painting castle",
    "LONG_OBJECT": "river bridge lake wall road canal", "BUILT": "bridge tower castle telescope",
    "CONTEST": "festival race fair contest",
    "OCCASION": "festival race war fair election",
    "ANIMAL_PLURAL": "owls bears bees whales horses", "PEOPLE": "painters poets teams bridges lakes towers",
    "CITIZENS": "painters poets composers inventors",
    "LETTERS": "NASA DNA UNESCO LED GPS RAM NATO FAQ CEO PDF UFO USB",
    "LONG_WORD": "kilometer doctor street professor limited mountain minute avenue",
    "TITLE": "doctor professor captain judge",
    "CONCEPT": "fjord sonnet telescope canal fugue lantern compass castle glacier ballad",
    "CRAFT": "telescope lantern compass sonnet lamp kite", "STORY": "origin history purpose importance",
    "PERIOD": "year month century", "SIZE_ADJECTIVE": "long wide deep high",
    "SIZE": "length width depth height", "METERS": "meters kilometers miles", "PRICE": "price cost value",
    "SEE_VERB": "visit leave describe find admire remember", "ACT": "sleep hunt sing fight travel",
}
