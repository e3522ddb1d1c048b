package consolidate

// Plan is what a pass means to do, as a value: it can be printed, tested and thrown
// away. It names entries by id and holds no text but that of [Merge].Text.
type Plan struct {
	// Merge are groups of entries that say the same, or of which a [Merger] is to say
	// whether they do. They are applied in their order.
	Merge []Merge
	// Supersede are facts that a newer one replaced.
	Supersede []Supersede
}

// Merge is a group of entries that become one.
type Merge struct {
	// Keep is the entry that stays. It is empty where a text is to take the place of all
	// of them: Text, or what the [Merger] answers.
	Keep string
	// Retire are the entries that give way, as merged.
	Retire []string
	// Text is the merged text of a planner that writes it itself.
	Text string
	// Reason explains the merge; it must not hold what an entry says.
	Reason string
}

// Supersede is entries that give way to a newer value of their slot.
type Supersede struct {
	// By is the newest entry of the slot, which stays.
	By string
	// Retire are the older ones; they stay in the lineage as history.
	Retire []string
	// Reason explains it; it must not hold what an entry says.
	Reason string
}

// Retired is how many entries the plan retires.
func (p Plan) Retired() (n int) {
	for _, m := range p.Merge {
		n += len(m.Retire)
	}
	for _, s := range p.Supersede {
		n += len(s.Retire)
	}
	return n
}
