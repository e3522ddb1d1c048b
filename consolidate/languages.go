package consolidate

import (
	"strings"
	"unicode"

	"github.com/openwop/agentmemory/internal/text"
)

// language is what the guard of C8 knows of a language. It is used for nothing else: no
// word list decides which entries are the same.
type language struct {
	name string
	// tells are frequent words that hardly any other language has.
	tells words
	// small are other frequent words. Neither are names or units.
	small words
	// negations deny what stands next to them.
	negations words
	// dates are months, weekdays and days told from today.
	dates words
	// numbers are number words and quantifiers.
	numbers words
}

type words map[string]bool

func set(list string) words {
	m := words{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// languages are those in which a model may write a text of its own.
var languages = []*language{
	{
		name:      "English",
		tells:     set("the and are with that this has from she they must does would their which when been were it its his who than these those because should about after before"),
		small:     set("a an of to is was in on at by for have had he we you i be as or but if will can may do did her our your my so up out over per into under there then"),
		negations: set("not no never none nobody nothing nowhere neither nor cannot without hardly barely scarcely except unless"),
		dates: set(`january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
			monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday tonight mondays tuesdays wednesdays thursdays fridays saturdays sundays`),
		numbers: set(`zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty
			thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half quarter dozen first second third once twice thrice
			all every each both some few many most only always sometimes often`),
	},
	{
		name:      "German",
		tells:     set("das und ist eine für mit auf sich wird sind wurde dem zum zur nach werden hat einen einem einer aus bei dass auch wenn oder"),
		small:     set("der die den des ein im in an am um von vom zu als er sie es wir ihr ich man war hatte haben kann muss soll will bis vor über unter nur noch pro je uhr seit ihre seine sein"),
		negations: set("nicht kein keine keinen keinem keiner keines nie niemals nichts niemand niemanden niemandem nirgends ohne weder kaum außer"),
		dates: set(`januar februar märz april mai juni juli august september oktober november dezember montag dienstag mittwoch donnerstag freitag
			samstag sonnabend sonntag heute morgen gestern übermorgen vorgestern montags dienstags mittwochs donnerstags freitags samstags sonntags`),
		numbers: set(`null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig
			hundert tausend million milliarde halb halbe dutzend erste zweite dritte einmal zweimal dreimal alle jede jeder jedes beide einige wenige viele meisten nur immer manchmal oft`),
	},
	{
		name:      "French",
		tells:     set("une dans pour avec sont aux cette elle nous vous leur ses été était qui les du est"),
		small:     set("le la l de des d un et il ils elles je tu on ce c ces en au à par sur se s sa son que qu a ont avait être avoir y ou où mais si plus très m t j"),
		negations: set("ne n pas jamais rien aucun aucune personne sans ni guère nulle nul sauf non"),
		dates: set(`janvier février mars avril mai juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi samedi dimanche
			aujourd'hui demain hier lundis mardis mercredis jeudis vendredis samedis dimanches`),
		numbers: set(`zéro deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize vingt trente quarante cinquante soixante
			cent cents mille million milliard demi demie douzaine premier première deuxième troisième tous toutes tout toute chaque quelques plusieurs seul seule seulement toujours parfois souvent`),
	},
	{
		name:      "Spanish",
		tells:     set("el los las y está fue más sus una del pero son"),
		small:     set("la de un en que se su con por para es al lo le les a o si ha han era ser muy como yo él ella ellos nos mi tu"),
		negations: set("no nunca jamás nada nadie ningún ninguno ninguna sin ni tampoco salvo excepto"),
		dates: set(`enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre lunes martes miércoles jueves viernes
			sábado domingo sábados domingos hoy mañana ayer anteayer`),
		numbers: set(`cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince veinte treinta cuarenta cincuenta sesenta setenta
			ochenta noventa cien ciento mil millón medio media docena primero primera segundo tercero todos todas todo toda cada ambos algunos algunas pocos muchos solo sólo siempre veces`),
	},
}

// foreign are words of languages that resemble one of the list. A text that holds one of
// them is in none of the list.
var foreign = set(`het een niet geen voor zijn wordt ook op vir dat nich fan vun fir og har ikke ikkje jeg det som til på att och är inte ett ekki
	di è anche nel alla dei degli gli della sono che per na nas em uma com não os é ao aos pela pelo você unha polo coa amb els és dels aquest
	nu și în się jest kaj estas nan ye nun nae dinnae cannae isso nem`)

// languageOf is the language of a text, nil if it is none of the list or cannot be told. A
// word that tells counts two and a small one counts one: two, at the least, and one for
// every four different words, and fewer of any other language.
func languageOf(tokens []text.Token) *language {
	scores := make([]int, len(languages))
	seen := map[string]bool{}
	for _, t := range tokens {
		if t.Kind == text.Pair {
			return nil
		}
		if t.Kind != text.Word {
			continue
		}
		w := strings.ToLower(t.Text)
		if seen[w] {
			continue
		}
		seen[w] = true
		if foreign[w] || strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }) {
			return nil
		}
		for i, l := range languages {
			if l.tells[w] {
				scores[i] += 2
			} else if l.small[w] {
				scores[i]++
			}
		}
	}
	best, second := 0, 0
	for i, n := range scores {
		if n > scores[best] {
			best = i
		}
	}
	for i, n := range scores {
		if i != best {
			second = max(second, n)
		}
	}
	if scores[best] < 2 || scores[best] <= second || 4*scores[best] < len(seen) {
		return nil
	}
	return languages[best]
}
