package commitment

import (
	"strings"
	"unicode"
)

// refused are words that keep a sentence from being armed, wherever they stand in it.
var refused = map[Why]map[string]bool{
	WhyNegated: set(`not never no none nobody nothing neither nor cannot cant dont wont without except excluding avoid skip
		refrain hardly barely ignore disregard instead rather unlike cancel cancelled canceled cancels canceling cancelling
		cancellation scrap scratch nevermind obsolete moot void postpone postpones reschedule reschedules rearrange delay
		defer withdraw withdrawn drop done finish finished completed handled resolved already undo revoke off stop forget
		anymore decline abort strike nix kill disable dismiss discard reject refuse unschedule free empty rid unnecessary rarely seldom delete erase remove clear x nicht kein keine pas ne niet geen`),
	WhyReported: set(`said says tells told asked asks wrote writes written according apparently allegedly supposedly
		reportedly reported claims claimed mentions mentioned thinks thought heard hears announces announced suggests suggested
		promised believes believed knows knew quote quoted quoting explained replied e.g i.e example rumour rumor insists
		argues hints swears assures reckons predicts forecasts states reads`),
	WhySupposed: set(`if unless would could might may maybe perhaps possibly probably suppose supposing supposed imagine
		assuming assume provided hypothetically wish hope hopes hoping hopefully otherwise either or when whenever
		while once can likely tentatively tentative tbd tbc consider considering think thinking guess wonder wondering
		pretend say case hypothetical theoretically unlikely i'd we'd you'd he'd she'd they'd`),
	WhyTold: set(`yesterday ago was were been had did went gone came got gave took taken made sent met saw seen sat ran ate
		slept left found kept held brought bought caught built spent lost won paid sold spoke spoken drove flew began begun
		broke chose drew drank fell felt fought forgot froze grew hid led lay lit meant rode rose sang sank shook shot slid
		stole stood swam threw understood woke wore bent bit bitten bled blew bore bred
		burnt clung crept dealt dug fed fled flung forgave hung knelt learnt leapt overslept rang ridden sprang spun stuck struck
		swept swore swung taught tore torn wept woken worn withdrew passed previously formerly always usually often
		sometimes`),
}

// refusing returns why a word keeps its sentence from being armed, or "".
func (t *reading) refusing(i int) Why {
	w := t.word(i)
	if t.toks[i].used {
		return ""
	}
	if w == "forget" && (t.word(i-1) == "don't" || t.word(i-1) == "not" && t.word(i-2) == "do") ||
		w == "don't" && t.word(i+1) == "forget" || w == "not" && t.word(i+1) == "forget" && t.word(i-1) == "do" {
		return ""
	}
	if strings.HasSuffix(w, "n't") {
		return WhyNegated
	}
	if w == "are" && (t.word(i-1) == "we" || t.word(i-1) == "you") && t.word(i+1) == "going" {
		return ""
	}
	for _, why := range []Why{WhyNegated, WhyReported, WhySupposed, WhyTold} {
		if refused[why][w] {
			return why
		}
	}
	if strings.HasSuffix(w, "ed") && len(w) > 3 && !notPast[w] && !determiners[t.word(i-1)] {
		return WhyTold
	}
	return ""
}

// notPast end as a past tense does.
var notPast = set(`need feed speed proceed exceed succeed indeed hundred weed bleed breed embed seed shed agreed`)

var determiners = set("the a an my our your his her its their this that these those be get")

// verbs begin what is to be done. The list is short: a sentence that begins otherwise must name
// a day and a time of day.
var verbs = set(`add alert answer arrange ask back begin bring buy call change check close collect come create deliver
	deploy email e-mail feed fetch fill find finish fix follow get give go hand join leave let log lock look mail make meet
	message move notify order pack pay phone pick ping play post prepare print publish push put read reboot record release
	remember remind renew repair reply reschedule restart return review ring run schedule sell send set share ship show shut
	sign start submit switch take talk tell test text thank turn update upgrade vacuum visit wake wash water wipe write`)

// asking are words that begin a question, a condition, or what others do.
var asking = set(`who what where when why how which do does did is are am was were will would should could can shall may
	might have has had in he she they it`)

// leads stand before the verb.
var leads = set(`please plz pls kindly also and so ok okay then just hi hey hello let's let us i we you i'll we'll i'm we're am are
	will shall must should need have want plan intend ought going gotta to be
	don't forget`)

// intends reports whether the sentence has the form of an intention: it begins with a verb of the
// list, after "please", "I will" and their like, which is the second answer; or it names a day in
// English and a time of day, and begins as no question does; or it is nothing but a time.
func (t *reading) intends() (ok, verb bool) {
	first := true
	for i := range t.toks {
		tok := &t.toks[i]
		who, _, _ := strings.Cut(tok.low, "'")
		switch {
		case tok.used, !strings.ContainsFunc(tok.raw, unicode.IsLetter), labels[tok.low] && strings.Contains(tok.after, ":"):
		case leads[tok.low] && !(first && asking[who]):
			first = false
		case verbs[tok.low]:
			return true, true
		default:
			return t.english && (t.clock.set || t.part != "") && !asking[who], false
		}
	}
	return first, false
}

var labels = set("todo to-do reminder remember task action note important urgent fyi next")
