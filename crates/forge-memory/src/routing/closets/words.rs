//! Word tables for extraction: stop words, verbs of decisions, evidence for
//! people. Six languages where possible.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::embed;

/// Words without information about the topic.
const EMPTY_WORDS: &str = "\
a about above after again against all also although always am an and another any anybody anyone \
anything are aren around as at away back be because been before being below between both but by \
can cannot could couldn did didn do does doesn doing don done down during each either else enough \
etc even ever every everyone everything few for from further get gets getting give given go goes \
going gone gonna got had hadn has hasn have haven having he her here hers herself him himself his \
how however i if in instead into is isn it its itself just kind keep kept know less let lets like \
likely ll lot lots made make makes making many maybe me might mine more most much must my myself \
need needs neither no nor not now of off often on once one ones only onto or other others otherwise \
our ours ourselves out over own perhaps please put quite rather re really right said same say says \
see seem seems several shall she should shouldn since so some someone something sometimes still such \
sure t take taken takes taking tell than thank thanks that the their theirs them themselves then \
there these they thing things think this those though through thus to too toward towards try trying \
under until up upon us use used uses using ve very want wants was wasn way ways we well went were \
weren what whatever when where whether which while who whoever whole whom whose why will with within \
without won would wouldn yes yet you your yours yourself yourselves able actually already almost \
along anyway came come comes coming despite especially feel feels felt find found good great look \
looks looking lately mean means okay oh hey hi hello hope new nice old part people possible pretty \
probably recently second simply time times today together two three usually various \
wondering worry yeah yep e.g i.e eg ie \
der die das den dem des ein eine einen einem einer eines und oder aber nicht ist sind war waren ich \
du er sie es wir ihr mein meine meinen meiner dein sein seine ihre uns euch mir dir ihm mich dich \
sich auf aus bei bis durch für gegen in mit nach ohne um unter von vor zu zum zur über auch als am \
an im ins noch nur schon sehr so dass weil wenn wie was wer wo hier dort dann doch mal man wird \
werden wurde wurden hat haben hatte kann können muss müssen soll sollte will wollen würde \
le la les un une des du de et ou mais ne pas est sont était être je tu il elle nous vous ils elles \
mon ma mes ton ta tes son sa ses notre votre leur leurs ce cet cette ces que qui quoi dont où sur \
sous dans par pour avec sans plus moins très aussi comme si se au aux en y a ai as avons avez ont \
el los las una unos unas y o pero no es son era ser yo tú él ella nosotros mi mis tu tus su sus \
este esta estos estas ese esa que quien donde con sin para por del al se lo le les me te nos más muy \
también como si ya hay ha han he fue \
il lo gli uno e ma non è sono era essere io lui lei noi voi loro mio mia miei tuo suo sua questo \
questa che chi dove con senza per di da nel nella del della dei delle al alla più molto anche come \
se già ho hai abbiamo hanno ci si \
os um uma e ou mas não é são eu ele ela nós meu minha seu sua isso isto que quem onde com sem para \
por do da dos das no na nos nas ao à mais muito também como já há foi";

/// Words of small talk: they count, but little.
const TALK_WORDS: &str = "\
advice suggest suggestion suggestions recommend recommendation recommendations recommended tips tip \
ideas idea help helpful helps helping question questions interested interesting planning plan plans \
considering consider information info share sharing provide provided providing learn learning \
explore exploring understand options option ways best better different specific important start \
started starting work working works important include includes including ensure create creating \
additional overall offer offers available enjoy enjoying enjoyed love loved amazing awesome \
excited exciting fun glad happy definitely absolutely certainly based check example examples \
experience experiences couple bit little big large small long short high low full free sound sounds \
top main general common popular type types list lists steps step guide regular regularly making \
remember keep mind note day days week weeks month months year years ago last next hours hour \
minutes morning evening night weekend wanted trying tried thought thinking wonder mentioned \
talk talking discuss discussed hear heard call called set sets week's unique perfect ideal simple \
easy quick quickly hard difficult able ready feeling life world place places area areas person \
number numbers amount level levels case cases form forms support process quality value values document documents \
article section";

pub(super) struct WordLexicon {
    flat: HashMap<&'static str, f32>,
}

/// The weights of words in the tables. Others are weighted by their frequency.
pub(super) static WORD_LEXICON: LazyLock<WordLexicon> = LazyLock::new(|| {
    let mut flat: HashMap<&str, f32> = HashMap::new();
    flat.extend(TALK_WORDS.split_ascii_whitespace().map(|word| (word, 0.15)));
    flat.extend(EMPTY_WORDS.split_ascii_whitespace().map(|word| (word, 0.0)));
    WordLexicon { flat }
});

/// Weighs the information of a word in lower case, from 0 to 1. It grows with
/// the logarithm of how many words are more common, like an inverse document
/// frequency in a large corpus.
pub(super) fn word_weight(word: &str) -> f32 {
    let stem = word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word);
    let head = stem.split(['\'', '’']).next().unwrap_or(stem);
    if let Some(weight) = WORD_LEXICON.flat.get(head) {
        return *weight;
    }
    if word.bytes().any(|b| b.is_ascii_digit()) {
        let plain = word.bytes().any(|b| b.is_ascii_alphabetic()) || word.len() > 4;
        return if plain { 0.7 } else { 0.4 };
    }
    // A compound has the average weight of its parts, because no frequency list
    // contains it.
    if head.contains(['-', '/', '_']) {
        let parts: Vec<f32> = head
            .split(['-', '/', '_'])
            .filter(|part| !part.is_empty())
            .map(word_weight)
            .collect();
        return parts.iter().sum::<f32>() / parts.len().max(1) as f32;
    }
    if head.chars().count() < 2 {
        return 0.0;
    }
    let rank = embed::count_commoner_words(head)
        .or_else(|| embed::count_commoner_words(head.strip_suffix('s')?))
        .unwrap_or(28_000) as f32;
    ((rank.max(1.0).ln() - 4.5) / 5.75).clamp(0.1, 1.0)
}

/// Returns `true` if a word in lower case has no information about the topic.
pub(crate) fn is_empty_word(word: &str) -> bool {
    WORD_LEXICON.flat.get(word) == Some(&0.0)
}

/// Verbs and phrases that report a decision or its reversal, in lower case. A
/// match may continue, so that the stem `reemplaz` covers its endings.
pub(super) const DECISION_VERBS: [&str; 74] = [
    "switched",
    "switching from",
    "rejected",
    "abandoned",
    "dropped",
    "picked",
    "decided",
    "decision:",
    "replaced",
    "replaces",
    "replacing",
    "chose",
    "chosen",
    "opted for",
    "going with",
    "settled on",
    "moved from",
    "migrated",
    "reverted",
    "rolled back",
    "gave up",
    "given up",
    "no longer",
    "stopped using",
    "stopped",
    "quit",
    "cancelled",
    "canceled",
    "deprecated",
    "superseded",
    "supersedes",
    "instead of",
    "rather than",
    "agreed to",
    "agreed on",
    "ruled out",
    "approved",
    "vetoed",
    "we will use",
    "changed my mind",
    "changed our mind",
    // German
    "entschieden",
    "beschlossen",
    "verworfen",
    "gewechselt",
    "umgestiegen",
    "ersetzt",
    "aufgegeben",
    "abgelehnt",
    "statt ",
    // French
    "décidé",
    "abandonné",
    "remplacé",
    "rejeté",
    "choisi",
    "au lieu de",
    "plutôt que",
    // Spanish
    "decidido",
    "decidimos",
    "decidí",
    "abandonado",
    "reemplaz",
    "rechaz",
    "elegimos",
    "en lugar de",
    "cambiamos",
    // Italian
    "deciso",
    "abbandonato",
    "sostituito",
    "scelto",
    "invece di",
    // Portuguese
    "decidiu",
    "substituí",
    "em vez de",
];

/// Words of the first person, with which people state facts about themselves.
pub(super) const FIRST_PERSON_WORDS: &str = "\
i i'm i've i'd i'll im ive my mine me myself we we're we've we'd our ours us \
ich mein meine meinen meinem meiner mir mich wir unser unsere uns \
je j'ai j mon ma mes moi nous notre nos \
yo mi mis me nosotros nuestro nuestra soy tengo vivo trabajo estoy \
io mio mia miei mie noi nostro nostra sono ho \
eu meu minha meus minhas nós nosso nossa sou tenho moro";

/// Words that deny or require something.
pub(super) const FIRM_WORDS: &str = "not never must only always cannot nie kein keine nicht muss jamais \
    nunca mai siempre sempre";

/// Openings of sentences that introduce others and state nothing.
pub(super) const INTRODUCTION_OPENINGS: [&str; 10] = [
    "in this document",
    "in this article",
    "in this note",
    "in this section",
    "in this guide",
    "this document",
    "this article",
    "this section",
    "here's a ",
    "here is a ",
];

/// Openings of a sentence that carry no information and are removed.
pub(super) const THROAT_CLEARING: [&str; 44] = [
    "by the way, ",
    "btw, ",
    "also, ",
    "actually, ",
    "oh, and ",
    "oh, ",
    "well, ",
    "so, ",
    "so ",
    "and ",
    "but ",
    "speaking of which, ",
    "anyway, ",
    "in fact, ",
    "of course, ",
    "yes, ",
    "yeah, ",
    "no, ",
    "okay, ",
    "ok, ",
    "hi, ",
    "hey, ",
    "hi! ",
    "thanks! ",
    "thanks, ",
    "thank you, ",
    "that's great! ",
    "great! ",
    "sure, ",
    "i think ",
    "i was thinking, ",
    "i was wondering, ",
    "just to let you know, ",
    "for what it's worth, ",
    "as i said, ",
    "to be honest, ",
    "i should mention that ",
    "i should mention, ",
    "i forgot to mention, ",
    "i also wanted to mention that ",
    "it should be noted that ",
    "please note that ",
    "note that ",
    "übrigens, ",
];

/// Titles that mark the name after them as a person.
pub(super) const HONORIFIC_WORDS: &str = "\
mr mrs ms miss mx dr prof professor sir dame lord lady madam rev reverend father sister saint judge \
captain coach uncle aunt auntie grandma grandpa grandmother grandfather herr frau señor señora don \
doña monsieur madame mme mlle signor signora senhor senhora cousin";

/// Relations that introduce a name: `my sister Ana`, `mein Bruder Jan`.
pub(super) const RELATION_WORDS: &str = "\
friend friends sister brother wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee \
son daughter mother father mom mum dad boss manager colleague coworker roommate neighbor neighbour \
teacher therapist doctor nephew niece cousin uncle aunt grandma grandpa dog cat named \
schwester bruder frau mann freund freundin chef kollege kollegin sohn tochter mutter vater \
sœur soeur frère femme mari ami amie collègue fils fille \
hermana hermano esposa esposo amigo amiga jefe hijo hija madre padre \
sorella fratello moglie marito amica collega figlio figlia irmã irmão marido filho filha";

/// Verbs that mark the name before them as a person.
pub(super) const PERSON_VERBS: &str = "\
said says say asked asks told tells replied replies wrote writes thinks thought wants wanted argued \
argues suggested suggests proposed proposes agreed agrees disagreed objected joined mentioned \
explained noted believes prefers confirmed approved owns leads sagt sagte meint schrieb dit a-dit \
écrit dijo dice escribió disse dice scrive escreveu";

/// Common given names; they count only with a capital letter within a sentence.
pub(super) const GIVEN_NAMES: &str = "\
aaron abby abigail adam adrian ahmed aisha alan albert alejandro alessandro alex alexander alexandra \
alexis alice alicia alison allison amanda amber amelia amir amy ana andrea andreas andrew andy angela \
anita ann anna anne annie anthony antonio arthur ashley audrey barbara beatrice ben benjamin bernard \
beth betty bianca bob bobby brad brandon brenda brian bruce caitlin calvin cameron camila carl carla \
carlos carmen carol carolina caroline catherine cathy charles charlie charlotte chen chloe chris \
christian christina christine christopher claire clara claudia colin connor cristina cynthia daisy dan \
daniel daniela danny dave david deborah debra dennis derek diana diego dmitri dominic donald donna \
doris dorothy doug douglas dylan eddie edith edward elena eleanor eli elias elizabeth ella ellen emily \
emma eric erica erik erin ethan eugene eva evan evelyn fatima felix fernando fiona florian frances \
francesca francisco franz fred frederick gabriel gabriela gary george gerald giovanni giulia greg \
gregory hannah hans harold harry hassan heather hector heidi helen henry hiroshi hugo ian ibrahim \
ingrid irene isaac isabel isabella ivan jack jackie jackson jacob jake james jamie jan jane janet \
jasmine jason javier jean jeff jeffrey jen jenna jennifer jenny jeremy jerry jesse jessica jim jimmy \
joan joanna joao joe johanna john johnny jon jonas jonathan jordan jorge jose josé joseph josh joshua \
joyce juan judith judy julia julian julie justin karen karl kate katherine kathleen kathy katie kayla \
keith kelly ken kenneth kevin kim kimberly kristen kurt kyle lars laura lauren leah lee leila leo leon \
leonard leonardo leslie lewis liam lily linda lisa liz logan lola lorenzo louis louise lucas lucia lucy \
luigi luis luke luna lydia madison maggie marc marco marcus margaret maria marianne marie mario marion \
martha martin martina mary mateo matt matteo matthew matthias maurice megan mei mel melanie melissa mia \
michael michelle miguel mike mila miriam mohammed molly monica nadia nancy naomi natalia natalie nathan \
neil nicholas nick nicole nikolai nina noah noel nora oliver olivia omar oscar otto owen pablo pamela \
paola patricia patrick paul paula pedro peter phil philip pierre priya rachel rafael rahul ralph raj \
ramon raymond rebecca ricardo richard rick riley rita rob robert roberto robin rodrigo roger roland ron \
ronald rosa rosie ruth ryan sabrina sally sam samantha samuel sandra sara sarah scott sean sebastian \
sergio seth sharon sheila shirley silvia simon sofia sonia sophia sophie stefan stella stephanie stephen \
steve steven stuart sue susan suzanne sven sylvia tamara tania tanya tara ted teresa terry thomas \
tiffany tim timothy tina todd tom tommy tony tracy travis tyler ursula valerie vanessa vera veronica \
victor victoria vincent violet vivian walter wanda wayne wendy werner wesley william wolfgang xavier \
yuki yusuf yvonne zach zachary zoe";

/// Given names that are ordinary words too, and so need more evidence.
pub(super) const AMBIGUOUS_NAMES: &str = "amber chase daisy dan don grant hope jack jan jean jordan joy lee \
    leo lily logan luna madison mark may robin rosa rose ruby sue violet will austin dallas kim";

pub(super) fn has_word(table: &str, word: &str) -> bool {
    !word.is_empty() && table.split_ascii_whitespace().any(|known| known == word)
}
