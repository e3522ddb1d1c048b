package dates

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The shapes of English times. What they match the library reads; what they do not match is not read.
const (
	weekdays = `(?:mon|tues|wednes|thurs|fri|satur|sun)day`
	months   = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
	nth      = `\d{1,2}(?:st|nd|rd|th)?`
	date_    = `(?:\d{4}-\d{2}-\d{2}|` + nth + `(?: of)? ` + months + `(?:,? \d{4})?|` + months + ` ` + nth + `(?:,? \d{4})?)`
	day      = `(?:today|tomorrow|(?:the )?day after tomorrow|(?:(?:this|next) )?` + weekdays + `|(?:` + weekdays + `,? )?(?:the )?` + date_ + `|the \d{1,2}(?:st|nd|rd|th))`
	number   = `(?:an?|\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)`
	units    = `(?:min|mins|(?:minute|hour|day|week)s?)`
	span     = `(?:in ` + number + ` ` + units + `|` + number + ` ` + units + ` from now)`
	clock    = `(?:(?:0?[1-9]|1[0-2])(?::[0-5]\d)? ?[ap]m|(?:[01]?\d|2[0-3]):[0-5]\d|noon)(?: (?:utc|gmt|[+-]\d{2}:\d{2}))?`
	instant  = `\d{4}-\d{2}-\d{2}t\d{2}:\d{2}(?::\d{2})?(?:z|[+-]\d{2}:\d{2})?`
	join     = `(?:,? (?:at |by |on )?)`
)

var (
	phrases   = compile(instant + `|(?:` + day + `|` + span + `)(?:` + join + clock + `)?|` + clock + `(?:` + join + day + `)?`)
	weekday   = regexp.MustCompile(weekdays)
	elapsed   = regexp.MustCompile(`(?:min|mins|minutes?|hours?)(?: from now)?$`)
	clockOnly = regexp.MustCompile(`^` + clock + `$`)
	offset    = regexp.MustCompile(`utc|gmt|\dz|[+-]\d{2}:\d{2}`)
	absolute  = regexp.MustCompile(`\d{4}`)
	nextDay   = regexp.MustCompile(`^(.*?)(this|next) (` + weekdays + `)(.*)$`)

	// timely are words that can belong to a time, or set a bound to one.
	timely = compile(`\d{1,2}:\d{2}|\d{1,2} ?[ap]m|` + weekdays + `s?|(?:january|february|april|june|july|august|september|october|november|december)|\d{4}-\d{2}(?:-\d{2})?|\d+[/-]\d+(?:[/-]\d+)?|\d+\.\d+\.\d+|weekdays?|` +
		`today|tomorrow|yesterday|tonight|tonite|noon|midnight|mornings?|afternoons?|evenings?|nights?|(?:second|minute|hour|day|week|month|year|weekend)s?|` +
		`until|till|before|after|since|during|between|within|every|everyday|each|daily|weekly|monthly|ago|later|earlier|o'clock|hrs|` + months + ` \d+|\d+ ` + months)
	// A time stands behind on, at or by, or is one of the words that need none, or stands apart.
	prepositions = regexp.MustCompile(`(?:^|[ (])(?:on|at|by) $`)
	alarms       = regexp.MustCompile(`\b(?:alarm|reminder|timer) (?:for|to) $`)
	adverbs      = regexp.MustCompile(`^(?:today|tomorrow|in |next |this |the day after|day after|` + weekdays + ` (?:at )?\d|` + number + ` ` + units + ` from now)`)
	apart        = regexp.MustCompile(`(?:^|[,:;.!] ?|-? - )$`)
	badBefore    = regexp.MustCompile(`(?:\b(?:the|a|an|of|for|from|to|around|about|last|past|not|than|over|and|or|per|as|with|half|quarter)|['’]s|[-–(/#]) ?$`)
	badAfter     = regexp.MustCompile(`^(?:['’-]| ?[–/]| \((?:utc|gmt)| (?:\d|or\b|and (?:at|on|by|\d|again|an?)\b|to \d|to (?:noon|the \d)|about \d|(?:at|by|around) (?:\d|half|quarter|a quarter|` + number + `\b)|sharp|ish\b|(?:\S+ ){1,3}time\b|\w+/\w+))|^ (?:invoice|report|meeting|talk|release|version|deals?|slides|time)\b`)

	// clause are words behind which something else than the reader acts.
	clause = compile(`as|that|which|who|because|while|where|is|are|happens|starts?|begins|ends|closes|opens|leaves|will be`)

	// named are abbreviations behind a time of day; few of them mean one zone.
	named = regexp.MustCompile(`\d(?: ?[AaPp]\.?[Mm]\.?)?,? \(?([A-Z]{2,5})\b`)

	// denied are words of what is not to be done, was done, or only may be.
	denied = compile(`not|never|no|none|nothing|nope|without|cannot|\w+n['’]t|cancel\w*|(?:turn|switch)(?:ed)? off (?:the|my|that|this) (?:\w+ )?(?:alarm|reminder|notification)s?|scrap\w*|scratch\w*|skip\w*|stop\w*|abort\w*|drop that|call(?:ed|s)? off|is off|postpone\w*|take off|put off|get rid of|(?:drop|disable|dismiss|kill|strike|withdraw|lift|mute|silence|pull|void|unset) .*\b(?:alarm|reminder|event|meeting|appointment|call|booking|reservation|calendar|session|notification)s?|resched\w*|instead|forget|undo|ignore|revoke\w*|` +
		`done|already|did|was|were|had|has been|have been|said|says|told|wrote|asked|heard|according|` +
		`if|unless|maybe|perhaps|might|would|should we|suppose|assuming|depends|probably|possibly|hopefully|for example|e\.g|\[x\]|when|once|in case`)

	asks   = regexp.MustCompile(`^` + opening + `(?:` + verbs + `)\b|^i (?:need|want) (?:this|that|the|an?|my|your) |(?:^|[,.;] ?)(?:please |can you |could you )?(?:remember|remind me)(?: then| of (?:it|that))?[.!?]*$`)
	polite = regexp.MustCompile(`\b(?:can|could|will|would) you\b`)
)

// opening is what may stand before the verb of a request.
const opening = `(?:(?:hey|hi|ok|okay|olly|alexa|todo|to do|reminder|action|note|urgent|so|and|then|also)\b[,:;-]? ?|- |\* |\[ ?\] )*` +
	`(?:please,? |pls |plz |kindly )?` +
	`(?:(?:[a-z]+, please )|(?:can|could|would) you (?:please )?|will you please |you (?:need to|must|have to|should) |i (?:need|want|would like|'d like) you to |i (?:must|have to|need to|will|should|shall) |i['’]ll |` +
	`we (?:must|have to|need to) |remember to |be sure to |make sure (?:to|you) |do |just |let['’]?s )?(?:please )?`

// verbs begin a request.
const verbs = `add|alert|allow|announce|answer|apply|archive|arrange|ask|assign|attend|back up|backup|bake|book|bring|build|buy|call|cancel|change|charge|chase|check|clean|close|collect|compare|compile|complete|` +
	`confirm|contact|copy|create|cut|decide|defrost|deliver|deploy|dispatch|download|draft|drop|drive|email|e-mail|empty|enable|disable|escalate|export|extend|feed|fetch|file|fill|finish|fix|follow up|forward|get|give|go|` +
	`hand|help|hold|import|inform|inspect|install|invite|join|keep|launch|leave|let|lock|log|look|mail|make|mark|measure|meet|merge|message|migrate|move|notify|offer|open|order|pack|page|pay|phone|pick|ping|plan|plant|play|post|prepare|` +
	`print|promote|publish|purge|push|put|read|rebuild|rebook|record|refill|refund|register|release|remind|renew|rent|repair|replace|reply|report|request|reserve|reset|restart|restore|resume|return|review|ring|roll|rotate|run|save|schedule|` +
	`sell|send|set|share|ship|sign|sort|start|stop|store|submit|switch|sync|tag|take|talk|tell|test|text|throw|tidy|track|transfer|try|turn|unlock|update|upgrade|upload|verify|visit|wait|wake|walk|wash|watch|water|wipe|write|remember|scale|shift|note|rearrange|swap|light|circulate|backport|alarm|get going|rehearse|renumber|refactor|investigate|solve|practice|attach|cover|cook|study|pray|join|rinse|wrap|say|speak|tweet|email|mow|pull|dry|vote`

// compile compiles a pattern of whole words, of which the longest match counts.
func compile(pattern string) *regexp.Regexp {
	r := regexp.MustCompile(`(?:^|[^\pL\pN])(` + pattern + `)(?:$|[^\pL\pN])`)
	r.Longest()
	return r
}

// rewrites bring times into the shapes above.
var rewrites = []struct {
	of *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`\s+`), " "},
	{regexp.MustCompile(`\bwould you\b`), "can you"},
	{regexp.MustCompile(`\bin half an hour\b`), "in 30 minutes"},
	{regexp.MustCompile(`\bdon['’]t let me (?:miss|forget)(?: it)?\b`), "remind me"},
	{regexp.MustCompile(`\bdon['’]t forget(?: it)?([.!]*)$`), "remember$1"},
	{regexp.MustCompile(`\b([ap])\.\s?m\b\.?`), "${1}m"},
	{regexp.MustCompile(`\b(\d{1,2})\.(\d{2} ?[ap]m)\b`), "$1:$2"},
	{regexp.MustCompile(`\b(\d{2})(\d{2}) ?(?:hrs|hours)\b`), "$1:$2"},
	{regexp.MustCompile(`\bmidday\b`), "noon"},
	{regexp.MustCompile(`\b(\d{1,2})(:\d{2})? ?(?:o['’]clock )?in the morning\b`), "$1$2 am"},
	{regexp.MustCompile(`\b([1-9]|1[01])(:\d{2})? ?(?:o['’]clock )?in the (?:afternoon|evening)\b`), "$1$2 pm"},
	{regexp.MustCompile(`\b(\d{1,2})(:\d{2})? ?(tomorrow|this) morning\b`), "$1$2 am $3"},
	{regexp.MustCompile(`\b([1-9]|1[01])(:\d{2})? ?(tomorrow|this) (?:afternoon|evening)\b`), "$1$2 pm $3"},
	{regexp.MustCompile(`\b(today|tomorrow|this|` + weekdays + `) morning at (\d{1,2})(:\d{2})?\b`), "$1 at $2$3 am"},
	{regexp.MustCompile(`\b(today|tomorrow|this|` + weekdays + `) (?:afternoon|evening) at ([1-9]|1[01])(:\d{2})?\b`), "$1 at $2$3 pm"},
	{regexp.MustCompile(`\b(?:tonight|this evening) at ([1-9]|1[01])(:\d{2})?(?: ?pm)?\b`), "today at $1$2 pm"},
	{regexp.MustCompile(`\b([1-9]|1[01])(:\d{2})?(?: ?pm)? tonight\b`), "$1$2 pm today"},
	{regexp.MustCompile(`\bthis (?:at|(morning|afternoon|evening))\b`), "today at $1"},
	{regexp.MustCompile(`(\d ?[ap]m) this\b`), "$1 today"},
	{regexp.MustCompile(`\btoday at (morning|afternoon|evening)\b`), "today $1"},
	{regexp.MustCompile(`\b(today|tomorrow|` + weekdays + `) morning\b`), "$1 at 9 am"},
	{regexp.MustCompile(`\b(today|tomorrow|` + weekdays + `) afternoon\b`), "$1 at 2 pm"},
	{regexp.MustCompile(`\b(today|tomorrow|` + weekdays + `) evening\b`), "$1 at 6 pm"},
	{regexp.MustCompile(`(\d ?[ap]m) [ap]m\b`), "$1"},
	{regexp.MustCompile(`^(.*)\b(?:don['’]t|do not) (?:forget|fail) to `), "${1}remember to "},
	{regexp.MustCompile(`\bweeks? from today\b`), "weeks from now"},
	{regexp.MustCompile(`\bdays? from today\b`), "days from now"},
}

// placeName is an IANA name behind a time.
var placeName = regexp.MustCompile(`^ (?:in )?([a-z]+/[a-z_/]+)`)

// isoDate is a date that the calendar has to have.
var isoDate = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)

// quoted is what another person has said.
var quoted = regexp.MustCompile(`["“”„«»]|(?:^|\s)['‘>]`)

// hasNamedZone reports whether a time of day has a time zone that is not read.
func hasNamedZone(text string) bool {
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		if !slices.Contains([]string{"AM", "PM", "UTC", "GMT"}, m[1]) {
			return true
		}
	}
	return false
}

// inWords is a time of day in words.
var inWords = regexp.MustCompile(`\b(?:(a quarter|quarter|half|five|ten|twenty|twenty-five) (past|to) )?(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2})((?: o['’]clock)?,? in the (?:morning|afternoon|evening)| o['’]clock| [ap]m)`)

var numbers = map[string]int{
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
	"a quarter": 15, "quarter": 15, "twenty": 20, "twenty-five": 25, "half": 30,
}

// normalize brings the times of a text into the shapes above.
func normalize(text string) string {
	text = strings.TrimSpace(strings.ToLower(text))
	text = inWords.ReplaceAllStringFunc(text, func(words string) string {
		m := inWords.FindStringSubmatch(words)
		hour, ok := numbers[m[3]]
		if !ok && m[2] == "" {
			return words
		}
		if !ok {
			hour, _ = strconv.Atoi(m[3])
		}
		minute := numbers[m[1]]
		if m[2] == "to" {
			hour, minute = (hour+10)%12+1, 60-minute
		}
		return fmt.Sprintf("%d:%02d%s", hour, minute, m[4])
	})
	for _, r := range rewrites {
		text = r.of.ReplaceAllString(text, r.to)
	}
	return text
}

// findPhrase finds the time of a text, with the words around it. stands is false if it does not stand
// as a time of what the text is about.
func findPhrase(text string) (before, phrase, after string, stands, found bool) {
	m := phrases.FindStringSubmatchIndex(text)
	if m == nil {
		return "", "", "", false, false
	}
	before, phrase, after = text[:m[2]], text[m[2]:m[3]], text[m[3]:]
	prep := prepositions.FindStringIndex(before)
	switch {
	case prep != nil:
		before = before[:prep[0]]
		stands = !badBefore.MatchString(before)
	case alarms.MatchString(before):
		stands = true
	case apart.MatchString(before):
		stands = true
	case adverbs.MatchString(phrase):
		stands = !badBefore.MatchString(before)
	}
	return before, phrase, after, stands && !clause.MatchString(strings.TrimPrefix(before, "start ")), true
}

// resolveWeek leaves a day of the week out of its week: "this Friday" is one of the week of now, and
// "next Friday" one of the week after, which begins on a Monday. ok is false if that is not the first
// such day, which some mean by it.
func resolveWeek(phrase string, now time.Time) (string, bool) {
	m := nextDay.FindStringSubmatch(phrase)
	if m == nil {
		return phrase, true
	}
	today := (int(now.Weekday()) + 6) % 7
	named := 0
	for d := range 7 {
		if strings.HasPrefix(strings.ToLower(time.Weekday((d+1)%7).String()), m[3][:3]) {
			named = d
		}
	}
	if inThisWeek := named > today; inThisWeek == (m[2] == "next") || today == 6 {
		return "", false
	}
	return m[1] + m[3] + m[4], true
}
