package consolidate

import "strings"

// The words that the default planner knows, nearly all of them English. A word that
// it does not know stands for itself: two notes that differ in one are not taken to
// say the same. The lists are short on purpose, and a word is in one of them only if
// no fact hangs on it.

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

var (
	filler = set("the please kindly actually basically indeed that")

	// lettered are nouns that a single letter may name: plan A.
	lettered = set(`plan option team group type class vitamin level grade category series tier zone gate hall line
		section appendix table figure room building block phase step version part unit floor terminal platform size
		product variant hepatitis route exit dock bay lane row column shift`)

	negations = set(`not no never none nobody nothing nowhere neither nor without cannot hardly barely scarcely rarely
		seldom lacks lack except unless nicht kein keine keinen keinem keiner keines nie niemals ohne nunca jamás ningún
		ninguna ninguno sin ni pas jamais aucun aucune sans`)

	quantifiers = set(`all every some any most many much few several both half always often sometimes usually only
		just exactly almost nearly approximately least more less fewer most another other either enough alle jeder
		immer manchmal oft nur todos todas siempre solo sólo algunos`)

	dates = set(`january february march april May june july august september october november december jan feb mar
		apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mondays tuesdays
		wednesdays thursdays fridays saturdays sundays mon tue wed thu fri sat sun today tomorrow yesterday tonight
		morning afternoon evening night noon midnight weekday weekdays weekend weekends daily weekly monthly quarterly
		yearly annually hourly nightly spring summer autumn winter easter christmas am pm utc gmt cet cest est pst
		montag dienstag mittwoch donnerstag freitag samstag sonntag lunes martes miércoles jueves viernes sábado domingo`)

	measures = set(`metre metres meter meters kilometre kilometres mile miles foot feet inch inches litre litres gallon
		gallons gram grams kilogram kilograms ton tons tonne tonnes pound pounds ounce ounces degree degrees celsius
		fahrenheit seconds minute minutes hour hours day days week weeks month months quarter quarters year years
		euro euros dollar dollars yen franc francs piece pieces pair pairs box boxes pallet pallets percent dozen seat
		seats byte bytes kilobyte megabyte gigabyte % € $ £ ¥`)

	// prepositions begin a phrase; subordinators begin a clause.
	prepositions = set(`in on at by for from to with within without into onto over under above below before after
		during until since via per between among against about across along around behind beside beyond near off out
		outside inside through toward up down of as than like against except despite`)
	subordinators = set("before after when while if because once although unless until whenever since as")

	auxiliaries = set(`is are was were be been am has have had do does did can could may might must shall should will
		would`)

	// floating adverbs mean the same wherever they stand in a clause.
	floating = set("currently daily weekly monthly usually normally generally typically often sometimes always today tomorrow yesterday again")

	// wordings that speak of an order.
	ordering = set("respectively versa former latter vice")

	ambiguous     = set("us it who aid pin sim")
	abbreviations = set("mr ms mrs dr st no vs e.g i.e etc approx prof inc ltd co jr sr ca bzw z.b sra srta sr")
)

// contractions stand for several words.
var contractions = map[string][]string{
	"can't": {"can", "not"}, "cannot": {"can", "not"}, "won't": {"will", "not"}, "shan't": {"shall", "not"},
	"it's": {"it", "is"}, "that's": {"that", "is"}, "there's": {"there", "is"}, "he's": {"he", "is"},
	"she's": {"she", "is"}, "what's": {"what", "is"}, "who's": {"who", "is"}, "let's": {"let", "'s"},
	"i'm": {"i", "am"}, "and/or": {"and/or"},
}

// endings are cut off a word and stand for one.
var endings = []struct{ suffix, word string }{
	{"n't", "not"}, {"'re", "are"}, {"'ve", "have"}, {"'ll", "will"}, {"'s", "'s"},
}

// compounds are written in one word or with a hyphen.
var compounds = map[string]string{
	"e-mail": "email", "e-mails": "emails", "time-zone": "timezone", "on-line": "online", "off-line": "offline",
	"web-site": "website", "co-operate": "cooperate", "co-ordinate": "coordinate", "per-cent": "percent",
}

var currencies = []string{"€", "$", "£", "¥", "eur", "usd", "gbp", "jpy", "chf", "%"}

// currency is the one form of a currency.
func currency(c string) string {
	if u, ok := units[c]; ok {
		return u
	}
	return c
}

// units after a number, in one form each.
var units = group(map[string]string{}, `
	min mins minute minutes = minutes
	s sec secs second seconds = seconds
	h hr hrs hour hours = hours
	d day days = days
	wk wks week weeks = weeks
	month months = months
	yr yrs year years = years
	ms millisecond milliseconds = milliseconds
	kg kgs kilo kilos kilogram kilograms = kg
	g gram grams gramme grammes = g
	mg milligram milligrams = mg
	lb lbs pound-weight = lb
	t ton tons = tons
	km kms kilometre kilometres kilometer kilometers = km
	m metre metres meter meters = m
	cm centimetre centimetres centimeter centimeters = cm
	mm millimetre millimetres millimeter millimeters = mm
	mi mile miles = miles
	l litre litres liter liters = litres
	ml millilitre millilitres milliliter milliliters = ml
	kb kilobyte kilobytes = kb
	mb megabyte megabytes = mb
	gb gigabyte gigabytes = gb
	tb terabyte terabytes = tb
	% percent pct = %
	€ eur euro euros = €
	$ usd dollar dollars = $
	£ gbp = £
	¥ jpy yen = ¥
	chf francs franc = chf
	°c = °c
	°f = °f
	am a.m = am
	pm p.m = pm`)

// synonyms in one form each. Words of different tense or number are in different
// groups.
var synonyms = group(map[string]string{}, `
	each every = every
	email e-mail = email
	begins starts = starts
	begin start = start
	began started = started
	beginning starting = starting
	finishes ends = ends
	finish end = end
	finished ended = ended
	big large = large
	bigger larger = larger
	biggest largest = largest
	small little = small
	buys purchases = buys
	bought purchased = bought
	help assist = help
	helps assists = helps
	helped assisted = helped
	show display = show
	shows displays = shows
	showed displayed = showed
	shown = shown
	quickly rapidly fast = quickly
	till until = until
	upon on = on
	amongst among = among
	whilst while = while
	towards toward = toward
	okay ok = ok
	telephone phone = phone
	telephones phones = phones
	photograph photo = photo
	photographs photos = photos
	info information = information
	app application = application
	apps applications = applications
	fridge refrigerator = refrigerator
	admin administrator = administrator
	admins administrators = administrators
	dept department = department
	approx approximately roughly circa = approximately
	maximum max = maximum
	regarding concerning = regarding
	through via = via
	wants want = want
	needs need requires require = need
	needed required = needed
	gives provides = gives
	give provide = give
	gave provided = gave
	gets receives = gets
	get receive = get
	got received = got
	sends = sends
	keeps retains = keeps
	keep retain = keep
	kept retained = kept
	lets allows permits = allows
	let allow permit = allow
	allowed permitted = allowed
	picks chooses selects = selects
	pick choose select = select
	picked chose selected = selected
	fixes repairs = fixes
	fix repair = fix
	fixed repaired = fixed
	occurs happens = happens
	occur happen = happen
	occurred happened = happened
	answers replies responds = answers
	answer reply respond = answer
	answered replied responded = answered
	likes = likes
	dislikes = dislikes
	almost nearly = nearly
	often frequently = often
	rarely seldom = seldom
	normally usually = usually
	maybe perhaps = perhaps
	however but = but
	also too additionally = also
	therefore so thus hence = so
	staff personnel = staff
	holiday vacation = holiday
	holidays vacations = holidays
	lorry truck = truck
	lorries trucks = trucks
	mobile cellphone = mobile
	movie film = film
	firm company = company
	firms companies = companies
	physician doctor = doctor
	purchase-order po = po
	correct right = correct
	incorrect wrong = incorrect
	glad happy = happy
	entire whole = whole
	main primary = main
	ms miss = ms
	mr mister = mr
	favourite favorite = favourite
	colour color = colour
	colours colors = colours
	centre center = centre
	centres centers = centres
	licence license = licence
	cheque check = check
	catalogue catalog = catalogue
	programme program = program
	cancelled canceled = cancelled
	labelled labeled = labelled
	travelling traveling = travelling
	organise organize = organise
	organises organizes = organises
	organised organized = organised
	organisation organization = organisation
	authorise authorize = authorise
	authorises authorizes = authorises
	authorised authorized = authorised
	customise customize = customise
	customised customized = customised
	recognise recognize = recognise
	summarise summarize = summarise
	synchronise synchronize = synchronise
	synchronised synchronized = synchronised
	grey gray = grey
	lab laboratory = laboratory
	labs laboratories = laboratories
	today's = today
	& and = and
	jan january = january
	feb february = february
	mar march = march
	apr april = april
	jun june = june
	jul july = july
	aug august = august
	sep sept september = september
	oct october = october
	nov november = november
	dec december = december
	mon monday = monday
	tue tues tuesday = tuesday
	wed weds wednesday = wednesday
	thu thur thurs thursday = thursday
	fri friday = friday
	sat saturday = saturday
	sun sunday = sunday`)

// numerals are numbers in words.
var numerals = map[string]string{
	"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
	"ten": "10", "eleven": "11", "twelve": "12", "first": "1st", "third": "3rd", "fourth": "4th", "fifth": "5th",
}

// group reads lines of the form "word word = form" into m.
func group(m map[string]string, lines string) map[string]string {
	for line := range strings.Lines(lines) {
		words, form, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if !ok {
			continue
		}
		for _, w := range strings.Fields(words) {
			m[w] = form
		}
	}
	return m
}
