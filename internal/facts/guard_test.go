package facts

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A text that says all that its two sources say is accepted. If a model spoils one thing of
// it, it is refused: a sign, a unit, a currency, a number, a date, a name, a negation, a
// quotation, a path, a flag, an address or a version.
func TestC8_OneSpoiledFactIsRefused(t *testing.T) {
	for _, c := range []struct {
		a, b, both string
		spoil      []string // what becomes what, by turns
	}{
		{
			"The cold store of Ameland is kept at -21 °C and it does not open before 06:30.",
			`On 14 March the keys were given to Wim, and the sign says "staff only" in red.`,
			`The cold store of Ameland is kept at -21 °C and does not open before 06:30; on 14 March the keys were given to Wim, and the sign says "staff only".`,
			[]string{"-21", "21", "-21", "−12", "°C", "°F", " °C", "", "does not open", "opens", "not open", "not close", "06:30", "06:00", "14 March", "14 May", "14", "4",
				"Wim", "Willem", "to Wim", "to them", "Ameland", "Texel", `"staff only"`, `"staff"`, `"staff only"`, "staff only", "keys", "keys of Odd"},
		},
		{
			"The exporter of the Fulmar team runs with --dry-run and writes to /srv/out/a.csv at night.",
			"It needs libvips 8.13.2, and the bill of €1,250 was never paid by them.",
			"The exporter of the Fulmar team runs with --dry-run and writes to /srv/out/a.csv; it needs libvips 8.13.2, and the bill of €1,250 was never paid.",
			[]string{"--dry-run", "--run", "--dry-run", "-n", "/srv/out/a.csv", "/srv/out/b.csv", "/srv/out/a.csv", "a.csv", "8.13.2", "8.13", "€1,250", "$1,250", "€1,250", "1,250", "1,250", "1.250",
				"never paid", "paid", "never paid", "never billed", "Fulmar", "Petrel"},
		},
		{
			"Die Pumpe für das Becken läuft mit 3 kW und wird nicht gewartet.",
			"Am Donnerstag ist Frau Szabó mit zwei Leuten bei der Anlage.",
			"Die Pumpe für das Becken läuft mit 3 kW und wird nicht gewartet; am Donnerstag ist Frau Szabó mit zwei Leuten bei der Anlage.",
			[]string{"3 kW", "3 W", "3 kW", "30 kW", "nicht ", "", "nicht gewartet", "nicht verkauft", "Donnerstag", "Dienstag", "Szabó", "Szabo", "zwei", "drei", "Becken", "Ofen"},
		},
		{
			"La clé de la cave est chez Maëlle et il ne faut pas passer avant 18 h.",
			"Les trois caisses de vin sont dans le garage depuis mardi avec la facture de 240 €.",
			"La clé de la cave est chez Maëlle, il ne faut pas passer avant 18 h, et les trois caisses de vin sont dans le garage depuis mardi avec la facture de 240 €.",
			[]string{"Maëlle", "Manon", "18 h", "18 min", "18", "8", "ne faut pas", "faut", "pas passer", "pas sortir", "trois", "deux", "mardi", "jeudi", "240 €", "240 $", "240 €", "240"},
		},
		{
			"El taller de Begoña no abre los sábados y la cuota es de 35 euros.",
			"La contraseña está en el cajón sin llave y el técnico viene el lunes.",
			"El taller de Begoña no abre los sábados y la cuota es de 35 euros; la contraseña está en el cajón sin llave y el técnico viene el lunes.",
			[]string{"Begoña", "Begona", "no abre", "abre", "no abre", "no cierra", "sábados", "domingos", "35 euros", "35 dólares", "35", "53", "sin llave", "con llave", "lunes", "martes"},
		},
	} {
		sources := []string{c.a, c.b}
		require.Empty(t, whyRefused(c.both, sources), c.both)
		for i := 0; i < len(c.spoil); i += 2 {
			spoiled := strings.Replace(c.both, c.spoil[i], c.spoil[i+1], 1)
			require.NotEqual(t, c.both, spoiled, c.spoil[i])
			if whyRefused(spoiled, sources) == "" {
				t.Errorf("%q became %q in %q", c.spoil[i], c.spoil[i+1], spoiled)
			}
		}
		for _, other := range []string{"Das alles ist so, wie es in der Akte steht.", "Tutto è come prima.", "全部そのままです。", "", "ok"} {
			require.NotEmpty(t, whyRefused(other, sources), other)
		}
	}
}
