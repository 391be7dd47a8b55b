package orchestration

import (
	"math/bits"

	"github.com/swell-fleet/swell/runtime"
)

// selector is a TargetSpec made ready to be put to many Shoots.
//
// Every entry is one bit: the include entries from bit 0 on, the exclude entries from the next word on. For each field that some entry
// sets there is a column, which turns a Shoot's value into the set of entries that this value satisfies; an entry that leaves the field
// open is in every set of its column. The entries that select a Shoot are what is left when the sets of all columns are intersected.
// A pattern is put to each distinct value once, however many Shoots have it.
type selector struct {
	includes     int
	includeWords int
	words        int
	all          []uint64

	account, subAccount, region        *patternColumn
	runtimeID, plan, shoot, instanceID *exactColumn
}

// exactColumn holds the sets of a field that is compared as a whole. Lists of thousands of IDs are common, so a set is kept as what it
// has beside the open entries.
type exactColumn struct {
	open    []uint64
	entries map[string][]int32
}

// keep drops from the set the entries that a value does not satisfy.
func (c *exactColumn) keep(set []uint64, value string) {
	named := c.entries[value]
	for i := range set {
		row := c.open[i]
		for len(named) > 0 && int(named[0])/64 == i {
			row |= 1 << (named[0] % 64)
			named = named[1:]
		}
		set[i] &= row
	}
}

// patternColumn holds the sets of a field that is compared with patterns.
type patternColumn struct {
	open     []uint64
	patterns []patternEntries

	// rowOf holds the row of each Shoot. Rows lie behind each other in rows; the first is the one of Shoots without a value.
	rowOf []int32
	rows  []uint64
}

// patternEntries says which entries carry one pattern.
type patternEntries struct {
	match   matcher
	entries []int32
}

// read takes the values of all Shoots and puts the patterns to each distinct one. An absent value satisfies no pattern.
func (c *patternColumn) read(shoots []shootFacts, valueOf func(*shootFacts) (string, bool)) {
	c.rowOf = make([]int32, len(shoots))
	numbers := map[string]int32{}
	var values []string
	for i := range shoots {
		value, present := valueOf(&shoots[i])
		if !present {
			continue
		}
		number, ok := numbers[value]
		if !ok {
			values = append(values, value)
			number = int32(len(values))
			numbers[value] = number
		}
		c.rowOf[i] = number
	}
	words := len(c.open)
	c.rows = make([]uint64, (len(values)+1)*words)
	copy(c.rows, c.open)
	inParallel(len(values), len(c.patterns), func(begin, end int) {
		for i := begin; i < end; i++ {
			row := c.rows[(i+1)*words : (i+2)*words]
			copy(row, c.open)
			for j := range c.patterns {
				if c.patterns[j].match(values[i]) {
					for _, bit := range c.patterns[j].entries {
						set(row, int(bit))
					}
				}
			}
		}
	})
}

// row returns the entries that the value of a Shoot satisfies.
func (c *patternColumn) row(shoot int) []uint64 {
	words := len(c.open)
	begin := int(c.rowOf[shoot]) * words
	return c.rows[begin : begin+words]
}

// compileTargets makes a selector. Its only error is a *TargetsError.
//
// A selector serves one resolution: it keeps what it read of the Shoots.
func compileTargets(targets TargetSpec) (*selector, error) {
	checker := targetChecker{patterns: map[string]pattern{}}
	if err := checker.checkAll(targets); err != nil {
		return nil, err
	}
	includeWords := (len(targets.Include) + 63) / 64
	s := &selector{includes: len(targets.Include), includeWords: includeWords, words: includeWords + (len(targets.Exclude)+63)/64}
	s.all = make([]uint64, s.words)
	entries := make([]entry, 0, len(targets.Include)+len(targets.Exclude))
	for i := range targets.Include {
		entries = append(entries, entry{bit: i, target: &targets.Include[i]})
	}
	for i := range targets.Exclude {
		entries = append(entries, entry{bit: includeWords*64 + i, target: &targets.Exclude[i]})
	}
	for _, entry := range entries {
		set(s.all, entry.bit)
	}
	s.account = s.patternColumn(entries, &checker, func(t *RuntimeTarget) string { return t.GlobalAccount })
	s.subAccount = s.patternColumn(entries, &checker, func(t *RuntimeTarget) string { return t.SubAccount })
	s.region = s.patternColumn(entries, &checker, func(t *RuntimeTarget) string { return t.Region })
	s.runtimeID = s.exactColumn(entries, func(t *RuntimeTarget) string { return t.RuntimeID })
	s.plan = s.exactColumn(entries, func(t *RuntimeTarget) string { return t.PlanName })
	s.shoot = s.exactColumn(entries, func(t *RuntimeTarget) string { return t.Shoot })
	s.instanceID = s.exactColumn(entries, func(t *RuntimeTarget) string { return t.InstanceID })
	return s, nil
}

// entry is an entry of either list with its bit.
type entry struct {
	bit    int
	target *RuntimeTarget
}

// exactColumn makes the column of one field, nil when no entry sets it. The entries are in the order of their bits.
func (s *selector) exactColumn(entries []entry, field func(*RuntimeTarget) string) *exactColumn {
	column := &exactColumn{open: make([]uint64, s.words), entries: map[string][]int32{}}
	for _, entry := range entries {
		if value := field(entry.target); value == "" {
			set(column.open, entry.bit)
		} else {
			column.entries[value] = append(column.entries[value], int32(entry.bit))
		}
	}
	if len(column.entries) == 0 {
		return nil
	}
	return column
}

// patternColumn makes the column of one field, nil when no entry sets it.
func (s *selector) patternColumn(entries []entry, checker *targetChecker, field func(*RuntimeTarget) string) *patternColumn {
	column := &patternColumn{open: make([]uint64, s.words)}
	index := map[string]int{}
	for _, entry := range entries {
		expression := field(entry.target)
		if expression == "" {
			set(column.open, entry.bit)
			continue
		}
		i, ok := index[expression]
		if !ok {
			i = len(column.patterns)
			index[expression] = i
			column.patterns = append(column.patterns, patternEntries{match: checker.patterns[expression].match})
		}
		column.patterns[i].entries = append(column.patterns[i].entries, int32(entry.bit))
	}
	if len(column.patterns) == 0 {
		return nil
	}
	return column
}

// verdict says what the entries make of one Shoot.
type verdict struct {
	// include is the first include entry that selects the Shoot, -1 when none does.
	include int
	// excluded tells that an exclude entry selects it too.
	excluded bool
}

// read takes from the Shoots what the entries ask for. It has to be called before judge.
func (s *selector) read(shoots []shootFacts) {
	if s.region != nil {
		s.region.read(shoots, func(shoot *shootFacts) (string, bool) { return shoot.region, shoot.region != "" })
	}
	if s.account != nil {
		s.account.read(shoots, func(shoot *shootFacts) (string, bool) { return shoot.account, shoot.hasAccount })
	}
	if s.subAccount != nil {
		s.subAccount.read(shoots, func(shoot *shootFacts) (string, bool) { return shoot.subAccount, shoot.hasSubAccount })
	}
}

// judge puts all entries to the Shoot with this place in the list that was read. known is the runtime as the lister knows it, nil when
// it does not. What is left of the entries is in scratch afterwards.
//
// The plan of a Shoot that the lister does not know cannot be told. Such a Shoot is no target in any case; so that it is reported
// where it might have been meant, its plan counts as the one that an include entry asks for.
func (s *selector) judge(place int, shoot *shootFacts, known *runtime.RuntimeDTO, scratch []uint64) verdict {
	copy(scratch, s.all)
	for _, column := range [...]*patternColumn{s.region, s.account, s.subAccount} {
		if column != nil {
			intersect(scratch, column.row(place))
		}
	}
	if s.runtimeID != nil {
		s.runtimeID.keep(scratch, shoot.runtimeID)
	}
	if s.shoot != nil {
		s.shoot.keep(scratch, shoot.name)
	}
	if s.plan != nil {
		if known != nil {
			s.plan.keep(scratch, known.ServicePlanName)
		} else {
			intersect(scratch[s.includeWords:], s.plan.open[s.includeWords:])
		}
	}
	if s.instanceID != nil {
		if known != nil {
			s.instanceID.keep(scratch, known.InstanceID)
		} else {
			intersect(scratch, s.instanceID.open)
		}
	}
	return verdict{include: first(scratch[:s.includeWords]), excluded: first(scratch[s.includeWords:]) >= 0}
}

func set(words []uint64, bit int) { words[bit/64] |= 1 << (bit % 64) }

func has(words []uint64, bit int) bool { return words[bit/64]&(1<<(bit%64)) != 0 }

func subtract(from, other []uint64) {
	for i := range from {
		from[i] &^= other[i]
	}
}

func intersect(into, other []uint64) {
	for i := range into {
		into[i] &= other[i]
	}
}

// first returns the lowest bit of a set, -1 when it is empty.
func first(words []uint64) int {
	for i, word := range words {
		if word != 0 {
			return i*64 + bits.TrailingZeros64(word)
		}
	}
	return -1
}
