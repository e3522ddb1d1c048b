package commitment

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is a word of a sentence, as written and in lower case, and the punctuation after it, or a time.
type word struct {
	raw, low, after string
	time            bool
	bare            bool // Sat or 17:00 without "on" or "at": it is a time only beside another one
	lone            bool // a mere number
}

var (
	quotes   = regexp.MustCompile("[\"“”„«»`]|(?m:^\\s*[>|])|(?:^|\\s)['‘]")
	named    = regexp.MustCompile(`^(?:` + dayNames + `|` + monthNames + `)s?\b`)
	halves   = regexp.MustCompile(`(?i)\b([ap])\.m\b\.?`)
	unforget = regexp.MustCompile(`(?i)\b(?:don't|do not) forget\b`)
)

// sentences splits a text into sentences of words. One ends with a line or one of ".;!?…" if the next does not
// begin in lower case.
func sentences(text string) (out [][]string) {
	text = unforget.ReplaceAllString(strings.ReplaceAll(text, "’", "'"), "remember")
	var s []string
	for line := range strings.Lines(text) {
		for n, w := range strings.Fields(line) {
			if len(s) > 0 {
				last := strings.TrimRight(s[len(s)-1], `"')]*_`)
				first, _ := utf8.DecodeRuneInString(w)
				goesOn := unicode.IsLower(first) || titles[strings.ToLower(strings.TrimSuffix(last, "."))] || halves.MatchString(last) && named.MatchString(w)
				if !goesOn && (n == 0 || strings.ContainsAny(last[max(0, len(last)-1):], ".;!?…")) {
					out, s = append(out, s), nil
				}
			}
			s = append(s, w)
		}
	}
	return append(out, s)
}

// readTimes reads the times of a sentence, and its words.
func (t *reading) readTimes(fields []string) {
	for i, f := range fields {
		fields[i] = halves.ReplaceAllString(f, "${1}m")
	}
	const longest = 12 // words of a form
	for i := 0; i < len(fields); {
		ahead := strings.Join(fields[i:min(i+longest, len(fields))], " ")
		t.after, t.bare, t.lone = t.word(len(t.words)-1).time, false, false
		n := 0
		for _, f := range grammar {
			m := f.pattern.FindStringSubmatch(ahead)
			if m == nil {
				continue
			}
			m[1] = strings.ToLower(m[1])
			if last := len(m) - 1; f.read(t, m[1:last]) {
				n = len(strings.Fields(m[0]))
				t.words = append(t.words, word{raw: m[0], after: m[last], time: true, bare: t.bare, lone: t.lone})
				break
			}
		}
		if n == 0 {
			core := strings.Trim(fields[i], "([{<“‘'«*_~>|)]}”’»,.;:!?…-–—")
			_, after, _ := strings.Cut(fields[i], core)
			t.words = append(t.words, word{raw: core, low: strings.ToLower(core), after: after})
			n = 1
		}
		i += n
	}
}

func (t *reading) word(i int) word {
	if i < 0 || i >= len(t.words) {
		return word{}
	}
	return t.words[i]
}

// hasTime reports whether the sentence holds a word that can belong to a time.
func (t *reading) hasTime() bool {
	for i, w := range t.words {
		if w.time || t.isTemporal(i) {
			return true
		}
	}
	return false
}

// isTemporal reports whether a word that was not read can belong to a time.
func (t *reading) isTemporal(i int) bool {
	w, prev, next := t.words[i], t.word(i-1), t.word(i+1)
	for _, part := range append(strings.FieldsFunc(w.raw, func(r rune) bool { return strings.ContainsRune("-–/'", r) }), w.raw) {
		if timeWords[strings.ToLower(part)] || named.MatchString(part) {
			return true
		}
	}
	near := func(n int) bool {
		return slices.ContainsFunc(t.words[max(0, i-n):min(len(t.words), i+n+1)], func(w word) bool { return w.time })
	}
	switch digits := strings.TrimLeft(w.low, "0123456789"); {
	case w.low == "":
		return false
	case digits == "": // a number is one of a time if it could be, or stands beside one
		return near(1) || (len(w.low) < 3 || len(w.low) == 4 && w.low < "24") && (near(3) || attributive[prev.low])
	case digits != w.low:
		return true
	}
	// After a time a word in capitals may be a time zone.
	isZone := prev.time && len(w.raw) > 1 && w.raw != w.low && (w.raw == strings.ToUpper(w.raw) || next.raw == "" || w.after != "")
	return isZone || near(1) && (nearWords[w.low] || strings.ContainsAny(w.low, "0123456789/"))
}

// whyBarred returns why a word keeps its sentence from being armed, or "".
func (t *reading) whyBarred(i int) Why {
	w := t.words[i].low
	for _, why := range []Why{WhyNegated, WhyReported, WhySupposed, WhyTold} {
		if bars[why][w] {
			return why
		}
	}
	switch {
	case strings.HasSuffix(w, "n't"):
		return WhyNegated
	case strings.HasSuffix(w, "ed") && len(w) > 3 && !notPast[w] && !determiners[t.word(i-1).low]:
		return WhyTold
	case strings.Contains(t.words[i].after, "?"):
		return WhySupposed
	}
	return ""
}

// whyRejected returns why the sentence was not read whole, or is no intention, or "".
func (t *reading) whyRejected() Why {
	if t.why != "" {
		return t.why
	}
	begin, hasIntent := t.findIntent()
	last, asked := 0, false // the last time; the rest is what is asked for
	for i, w := range t.words {
		if w.time {
			last = i
		}
	}
	for i, w := range t.words {
		prev, next := t.word(i-1), t.word(i+1)
		alarm := (prev.low == "for" || prev.low == "to") && alarms[t.word(i-2).low]
		switch {
		case w.time && attributive[prev.low] && !alarm && !strings.ContainsAny(prev.after, ",:"),
			w.bare && !prev.time && (i > 0 || !next.time),                                 // "Exodus 12:30", "Sat on a bench"
			w.lone && w.after == "" && next.raw != "" && !next.time && !follows[next.low], // "at 7 Main Street"
			// "the 12 May invoice"
			w.time && i > 0 && !prev.time && w.after == "" && next.raw != "" && !next.time && !follows[next.low] && !clauses[next.low],
			!w.time && t.isTemporal(i):
			return WhyUnclear
		case begin <= i && i < last && clauses[w.low]: // "Check in starts at 15:00"
			return WhyTold
		default:
			asked = asked || i > last && w.low == "whether"
			if why := t.whyBarred(i); why != "" && !(asked && why == WhyTold) {
				return why
			}
		}
	}
	if !hasIntent {
		return WhyNoIntent
	}
	return ""
}

// findIntent reports whether the sentence asks its reader for something: it begins with a verb of the list, after
// "please", "I will" and their like, or it is nothing but a time. begin is its first word after those.
func (t *reading) findIntent() (begin int, ok bool) {
	led := false
	for i, w := range t.words {
		who, _, _ := strings.Cut(w.low, "'")
		switch {
		case w.time, !strings.ContainsFunc(w.raw, unicode.IsLetter), labels[w.low] && strings.Contains(w.after, ":"):
		case leads[w.low] && (led || !asking[who]):
			led = true
		default:
			return i, verbs[w.low]
		}
	}
	return 0, !led
}

// bars are words that keep a sentence from being armed, wherever they stand in it.
var bars = map[Why]map[string]bool{
	WhyNegated: set(`not never no none nobody nothing neither nor cannot cant dont wont without except excluding avoid skip
		refrain hardly barely ignore disregard instead rather unlike cancel cancelled canceled cancels canceling cancelling
		cancellation scrap scratch nevermind obsolete moot void postpone postpones reschedule reschedules rearrange delay
		defer withdraw withdrawn drop done finish finished completed handled resolved already undo revoke off stop forget
		anymore decline abort strike nix kill disable dismiss discard reject refuse unschedule free empty rid unnecessary rarely seldom delete erase remove clear nope nah x ❌ ✗ ✘ ✖ ☒ ☑ ✅ ✔ ✓ nicht kein keine pas ne niet geen`),
	WhyReported: set(`said says tells told asked asks wrote writes written according apparently allegedly supposedly
		reportedly reported claims claimed mentions mentioned thinks thought heard hears announces announced suggests suggested
		promised believes believed knows knew quote quoted quoting explained replied e.g i.e example rumour rumor insists
		argues hints swears assures reckons predicts forecasts states reads`),
	WhySupposed: set(`if unless would could might may maybe perhaps possibly probably suppose supposing supposed imagine
		assuming assume provided hypothetically wish hope hopes hoping hopefully otherwise either or when whenever
		while once can likely tentatively tentative tbd tbc consider considering think thinking guess wonder wondering
		pretend say case hypothetical theoretically unlikely subject pending i'd we'd you'd he'd she'd they'd`),
	WhyTold: set(`yesterday ago was were been had did went gone came got gave took taken made sent met saw seen sat ran ate
		slept left found kept held brought bought caught built spent lost won paid sold spoke spoken drove flew began begun
		broke chose drew drank fell felt fought forgot froze grew hid led lay lit meant rode rose sang sank shook shot slid
		stole stood swam threw understood woke wore bent bit bitten bled blew bore bred
		burnt clung crept dealt dug fed fled flung forgave hung knelt learnt leapt overslept rang ridden sprang spun stuck struck
		swept swore swung taught tore torn wept woken worn withdrew passed previously formerly always usually often
		sometimes`),
}

// notPast end as a past tense does.
var notPast = set(`need feed speed proceed exceed succeed indeed hundred weed bleed breed embed seed shed agreed`)

var determiners = set("the a an my our your his her its their this that these those be get")

// verbs begin what is to be done.
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
	will shall must should need have want plan intend ought going gotta to be`)

var labels = set("todo to-do reminder remember task action note important urgent fyi next")

var titles = set("dr mr mrs ms prof st sr jr no vs")

// timeWords can belong to a time wherever they stand.
var timeWords = set(`today tomorrow tonight yesterday noon midday midnight morning mornings afternoon afternoons evening
	evenings night nights nightly overnight dawn dusk sunrise sunset day days daily week weeks weekly weekend weekends
	weekday weekdays workday workdays fortnight month months monthly year years yearly annually decade hour hours hourly hr
	hrs minute minutes min mins second seconds sec secs quarter quarters quarterly am pm o'clock oclock before after
	afterwards until till til except since during between within ago last later earlier soon now currently immediately asap
	eod cob eob eow eom eoy every each biweekly once twice always often usually regularly early late everyday anytime sometime time
	times christmas xmas easter thanksgiving halloween holiday holidays birthday midweek tomorrows half past earliest`)

// nearWords belong to a time if one stands beside them.
var nearWords = set(`one two three four five six seven eight nine ten eleven twelve half couple few several dozen first
	third fourth fifth end beginning start middle mid local onwards roughly circa nearly almost plus minus next following
	upcoming coming previous past again or eastern pacific central mountain`)

// attributive words make of the time after them something that is spoken about, a span, or an
// estimate.
var attributive = set(`at by on for from to of off about around approximately roughly circa nearly almost before after until till
	since between than through the a an my our your his her its their this last past or not every each within via per under
	over regarding re into as plus minus & vs versus mr mrs ms dr line page starting
	beginning effective`)

// clauses are words after which a time may be that of what is told, and not of what is to be done.
var clauses = set(`that which who whose whom where when while because whether how what why as since so but than
	is are isn't aren't has it's he's she's there's what's that's starts begins opens closes ends goes comes leaves
	arrives runs takes`)

// follows may stand after a mere number that is an hour.
var follows = set("to for about with on in by via and the my our please so i we")

// alarms are set for a time, and not about one.
var alarms = set("alarm alarms reminder alert timer set")

// zones are the abbreviations of time zones that mean one thing, and a place whose clocks show
// them. Others, such as CST, IST and BST, mean several.
var zones = map[string]string{
	"UTC": "UTC", "GMT": "UTC", "Z": "UTC", "EST": "America/New_York", "EDT": "America/New_York", "CDT": "America/Chicago",
	"MST": "America/Denver", "MDT": "America/Denver", "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles",
	"AKST": "America/Anchorage", "AKDT": "America/Anchorage", "HST": "Pacific/Honolulu", "WET": "Europe/Lisbon",
	"WEST": "Europe/Lisbon", "CET": "Europe/Paris", "CEST": "Europe/Paris", "EET": "Europe/Helsinki",
	"EEST": "Europe/Helsinki", "MSK": "Europe/Moscow", "SAST": "Africa/Johannesburg", "JST": "Asia/Tokyo", "KST": "Asia/Seoul",
	"AWST": "Australia/Perth", "AEST": "Australia/Sydney", "AEDT": "Australia/Sydney", "NZST": "Pacific/Auckland",
	"NZDT": "Pacific/Auckland",
}

// set makes a set of words.
func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}
