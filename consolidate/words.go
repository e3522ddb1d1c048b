package consolidate

import (
	"strings"
	"unicode/utf8"
)

// words is a set of words.
type words map[string]bool

func set(list string) words {
	m := words{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// connecting are the words that a merged text may have and no source: articles and conjunctions
// that join what the sources say.
var connecting = set(`the a an and of that this these those which who whose it its they their them also as well
	der die das den dem des ein eine einen einem einer eines und sowie auch dass sich
	le la les l d un une des du de et qui que qu ainsi aussi ce cet cette ces se s son sa ses leur leurs
	el los las una unos unas y lo su sus también
	и а но также это что который которая которое которые`)

// persons are more such words, in groups that exclude each other: one of them is allowed only if no
// source has a word of another group of its line.
var persons = [][]words{
	{set("he his him"), set("she her hers")},
	{set("er ihn ihm"), set("sie ihr ihre ihren")},
	{set("il ils"), set("elle elles")},
	{set("él"), set("ella")},
	{set("он его ему"), set("она её ее ей")},
}

// irregular are words that are the same up to inflection, line by line, without another ending.
var irregular = func() map[string]string {
	lines := map[string]string{}
	for line := range strings.SplitSeq(`is are|was were|has have|do does|ist sind|war waren|hat haben|est sont|était étaient|ont a|es son|está están|
		era eran|fue fueron|estaba estaban|tiene tienen`, "|") {
		for w := range strings.FieldsSeq(line) {
			lines[w] = "=" + line
		}
	}
	return lines
}()

// openers are no names where they begin a sentence.
var openers = set(`in on at by for from to if when after before since during i we you
	im am an auf bei zu zum zur nach vor seit für ab um à au aux dans en pour par sur chez al desde hasta para por
	в во на по у к из от до за при`)

// negations deny what stands next to them. Those in Japanese and Chinese are parts of words.
var negations = set(`not never none nobody nothing nowhere neither nor without hardly barely scarcely except unless
	nicht kein nie niemals nichts niemand niemanden niemandem nirgends ohne weder kaum außer
	ne pas plus jamais rien aucun aucune personne sans ni guère nul nulle sauf non
	nunca jamás nada nadie ningún ninguno ninguna sin tampoco salvo excepto
	не нет ни без никогда никто ничто ничего нельзя кроме
	ない なかっ なく ません ずに 不 未 無 非 没 无 别`)

// marked are the forms of the other words that a merged text must keep, with their kinds.
var marked = func() map[string]int {
	all := map[string]int{}
	for kind, list := range []string{
		dates: `january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
			monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday tonight daily weekly monthly yearly annually
			januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag heute morgen
			gestern übermorgen vorgestern täglich wöchentlich monatlich jährlich
			janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi samedi dimanche
			aujourd'hui demain hier
			enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre lunes martes miércoles jueves viernes
			sábado domingo hoy mañana ayer anteayer
			январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь понедельник вторник среда четверг пятница суббота
			воскресенье сегодня завтра вчера ежедневно еженедельно ежемесячно
			月曜 火曜 水曜 木曜 金曜 土曜 日曜 今日 明日 昨日 毎日 毎週 毎月 毎年 毎晩 毎朝`,
		numbers: `zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty
			thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half quarter dozen first second third once twice thrice
			all every each both some few many most only always sometimes often
			null zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig
			hundert tausend milliarde halb halbe dutzend erste zweite dritte einmal zweimal dreimal alle jede beide einige wenige viele meisten
			nur immer manchmal oft
			zéro deux trois quatre cinq sept huit neuf dix onze douze treize quatorze quinze seize vingt trente quarante cinquante soixante cent
			mille demi demie douzaine premier première deuxième troisième tous toutes tout toute chaque quelques plusieurs seul seule seulement
			toujours parfois souvent
			cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince veinte treinta cuarenta cincuenta sesenta
			setenta ochenta noventa cien ciento mil millón medio media docena primero primera segundo tercero todos todas todo toda cada ambos
			algunos algunas pocos muchos solo sólo siempre veces
			ноль один два две три четыре пять шесть семь восемь девять десять двадцать тридцать сорок сто тысяча половина первый второй третий
			все всё каждый оба некоторые несколько только всегда иногда часто
			全員 全部 すべて だけ のみ`,
		meanings: `or either oder entweder ou o u или либо if wenn falls si если
			can might could would should must wants maybe perhaps probably possibly almost nearly former formerly used
			kann könnte will möchte darf muss soll sollte würde vielleicht wahrscheinlich möglicherweise fast beinahe früher
			peut pourrait veut doit devrait peutêtre probablement presque
			puede podría quiere debe debería quizá quizás probablemente casi solía
			может хочет должен возможно наверное вероятно бы почти раньше
			かも だろう はず`,
	} {
		for w := range set(list) {
			for _, f := range forms(w) {
				all[f] = kind
			}
		}
	}
	return all
}()

// particles are parts of words and particles of Japanese that a merged text may have and no source.
var particles = set("している して します する です である ます また および そして は が を に で と も の へ や て る り い し す え れ く き っ さ")

// inflections are endings that exchange each other in inflection; "-" is none. Endings that make
// another tense or another gender are not among them.
var inflections = func() (groups [][]string) {
	for _, line := range []string{
		"- s es ing", "e es ing", "y ies",
		"- e en n s es", "e en er es em", "t en e", "- n", // German
		"e ent es er", "- x", "al aux", "a an", "e en", // French and Spanish
		"- а у ом е ы и ов ам ами ах", "а ы и е у ой ам ами ах", "я и е ю ей ям ями ях ь ем ев ём", "й я ю ем е и ев ям ями ях",
		"о а у ом е ам ами ах", "ый ий ой ая яя ое ее ые ие ого его ому ему ым им ом ем ую юю ых их ыми ими", "ть ет ют ем", "ит ят ат", "ет ут",
	} {
		groups = append(groups, strings.Fields(line))
	}
	return groups
}()

// spelling writes a word in lower case and without what its spellings differ in.
var spelling = strings.NewReplacer("-", "", "‐", "", "ß", "ss", "ё", "е", "\u0301", "")

// forms are the keys of a word: it and another one are the same up to inflection if they share a key.
func forms(word string) []string {
	word = spelling.Replace(strings.ToLower(word))
	keys := []string{word}
	if key, ok := irregular[word]; ok {
		keys = append(keys, key)
	}
	if len(word) > 64 {
		return keys
	}
	for i, group := range inflections {
		for _, ending := range group {
			stem, ok := strings.CutSuffix(word, strings.TrimPrefix(ending, "-"))
			if ok && utf8.RuneCountInString(stem) >= 3 {
				keys = append(keys, stem+string(rune('0'+i)))
			}
		}
	}
	return keys
}
