package commitment

import "strings"

// refused are words that keep a sentence from being armed, wherever they stand in it.
var refused = map[Why]map[string]bool{
	WhyNegated: set(`not never no none nobody nothing neither nor cannot cant dont wont without except excluding avoid skip
		refrain hardly barely ignore disregard instead rather unlike cancel cancelled canceled cancels canceling cancelling
		cancellation scrap scratch nevermind obsolete moot void postpone postpones reschedule reschedules rearrange delay
		defer withdraw withdrawn drop done finish finished completed handled resolved already undo revoke off stop forget
		anymore avoid decline`),
	WhyReported: set(`said says tells told asked asks wrote writes written according apparently allegedly supposedly
		reportedly reported claimed mentions mentioned thinks thought heard hears announces announced suggests suggested
		promised believes believed knows knew quote quoted quoting explained replied e.g example`),
	WhySupposed: set(`if unless would could might may maybe perhaps possibly probably suppose supposing supposed imagine
		assuming assume provided hypothetically wish hope hopes hoping hopefully otherwise either or whether when whenever
		while once can likely tentatively tentative tbd tbc consider considering think thinking guess wonder wondering
		pretend hypothetical theoretically unlikely i'd we'd you'd he'd she'd they'd`),
	WhyTold: set(`yesterday ago was were been had did went gone came got gave took taken made sent met saw seen sat ran ate
		slept left found kept held brought bought caught built spent lost won paid sold spoke spoken drove flew began begun
		broke chose drew drank fell felt fought forgot froze grew hid led lay lit meant rode rose sang sank shook shot slid
		stole stood swam threw understood woke wore has is are isn't aren't previously formerly always usually often
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

// verbs begin what is to be done: a closed list, since a word that is not on it may be a name, a
// thing, or of another language.
var verbs = set(`accept activate add address adjust alert align allocate analyse analyze announce answer apologise apologize
	apply appoint approach approve archive arrange ask assemble assign attach attend audit authorise authorize back bake
	begin block book borrow brief bring broadcast brush build buy call capture change charge chase check circulate clean
	clear close collect comment commit compare compile complete compute confirm congratulate connect contact convert cook
	copy create cut debug decide deliver demo deploy describe disable discuss dispatch distribute download draft drive dump
	edit email e-mail empty enable encourage ensure enter escalate evaluate examine execute expire explain export extend
	fax feed fetch file fill finalise finalize find fix flag flip flush follow forward freeze generate get give go grab greet
	hand handle hang head help hire host ice import include inform inspect install interview introduce investigate invite
	invoice iron join keep kick label launch leave lend let list load lock log look mail make mark meet merge message migrate
	monitor mount mow mute negotiate nominate notify nudge obtain offer open order organise organize pack paint park patch
	pause pay pack phone pick ping place plan plant plug post prepare present print process promote prune publish pull
	purchase push put query queue raise re-run reach read rebase reboot rebuild receive recheck record recycle refill refresh
	refund register release reload remind remove renew rent repair repeat replace reply report request reserve reset resend
	resolve respond restart restore resume retrieve retry return revert review revisit revoke rewrite ring roll rotate run
	save scan schedule see sell send serve set share ship show shut sign sit snooze sort speak start stay stock store
	submit subscribe summarise summarize switch sync tag take talk tell test text thank tidy tie top touch track train
	transfer translate trigger trim try turn tweet unblock unlock unmute unplug unsubscribe update upgrade upload use
	vacuum validate verify view visit vote wait wake walk warn wash watch water wipe withdraw work wrap write`)

// intends reports whether the sentence has the form of an intention: a verb of the list at its
// beginning, or after "I will", "we need to", "please", "remember to" and their like. Times and the
// labels "TODO:" and "Reminder:" may stand before it.
func (t *reading) intends() bool {
	var said []string
	for i := range t.toks {
		tok := &t.toks[i]
		if tok.used || tok.low != strings.Trim(tok.low, opening+closing) {
			continue
		}
		if len(said) == 0 && labels[tok.low] && strings.Contains(tok.after, ":") {
			continue
		}
		if said = append(said, tok.low); len(said) > 8 {
			break
		}
	}
	text := strings.Join(said, " ") + " "
	for again := true; again; {
		again = false
		for _, lead := range leads {
			if rest, ok := strings.CutPrefix(text, lead+" "); ok {
				text, again = rest, true
			}
		}
	}
	first, _, _ := strings.Cut(text, " ")
	return verbs[first]
}

var labels = set("todo to-do reminder remember task action note important urgent fyi next")

// leads stand before the verb.
var leads = []string{
	"please", "kindly", "also", "and", "so", "ok", "okay", "then", "just", "quickly", "let's", "let us",
	"i will", "i'll", "i shall", "i must", "i should", "i need to", "i have to", "i've to", "i want to", "i plan to",
	"i intend to", "i am going to", "i'm going to", "i ought to", "i've got to", "i'm to", "i am to",
	"we will", "we'll", "we shall", "we must", "we should", "we need to", "we have to", "we want to", "we plan to",
	"we intend to", "we are going to", "we're going to", "we ought to",
	"you must", "you should", "you need to", "you have to", "need to", "must", "have to", "gotta", "remember to",
	"don't forget to", "do not forget to", "make sure to", "make sure you", "make sure we", "make sure i", "be sure to", "remind me to", "remind us to",
	"make a note to", "note to self", "try to",
}
