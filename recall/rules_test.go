package recall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
)

// What an entry has beside its words decides between entries that match alike. Each entry is an hour or a
// month from the next, and the last one, the newest, would come first without the rule.
func TestMoreThanWordsOrdersEntries(t *testing.T) {
	w := newWorld(t, inmem.New(), newRanker(recall.Config{}))
	put := func(text string, apart time.Duration, subjects ...string) {
		_, err := w.job.Put(bg, ref, memory.Draft{Content: text, Subjects: subjects})
		require.NoError(t, err)
		w.now = w.now.Add(apart)
	}
	const hour, month = time.Hour, 31 * 24 * time.Hour
	put("moved to a flat by the river", hour, "person:Ida Berg")
	put("moved to a flat by the park", hour, "person:Noor")
	require.Equal(t, "moved to a flat by the river", w.ask("which flat has Ida moved to")[0], "the subject is named")
	require.Equal(t, "moved to a flat by the park", w.ask("which flat was moved to")[0])

	put("the boiler was repaired", month) // on 1 May
	put("the boiler was repaired again", month)
	require.Equal(t, "the boiler was repaired", w.ask("boiler repaired in May")[0], "the month is named")
	require.Equal(t, "the boiler was repaired again", w.ask("boiler repaired in June")[0])

	put("our trip to Ghent begins", time.Minute)
	put("the train leaves at nine", hour)
	put("the train leaves at noon", month)
	require.Equal(t, "the train leaves at nine", w.ask("when does the train for the trip to Ghent leave")[1], "said beside the trip")
	require.Equal(t, "the train leaves at noon", w.ask("when does the train leave")[0])

	put("the invoice was 12,500 francs", hour)
	for _, number := range []string{"12500", "12,500", "12.500", "12'500"} {
		require.Equal(t, []string{"the invoice was 12,500 francs"}, w.ask(number), number)
	}
}
