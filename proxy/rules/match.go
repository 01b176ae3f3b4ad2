package rules

import (
	"math"

	"fencepost/proxy/frames"
)

// Message is what a rule sees of a frame: its header, completed from its request where it is an
// answer, and the entries of a batch.
type Message struct {
	frames.Header
	Way     frames.Way
	Entries []frames.Entry
}

// List is the ordered list of one link's rules. It never changes; a new list replaces it.
type List []*Rule

// Decide returns the first rule that acts on the message, nil when none does. Each rule whose
// criteria fit counts a match, up to and including that rule; the caller counts that it acted.
func (l List) Decide(message *Message) *Rule {
	for _, rule := range l {
		if rule.fits(message) && rule.takes() {
			return rule
		}
	}
	return nil
}

// fits reports whether all criteria but count and probability hold.
func (r *Rule) fits(message *Message) bool {
	if r.way != message.Way || r.kinds != 0 && r.kinds&(1<<message.Kind) == 0 {
		return false
	}
	if r.Spec.Ledger != nil && *r.Spec.Ledger != message.Ledger {
		return false
	}
	if r.statuses != nil && !r.statuses[message.Status] {
		return false
	}
	return r.Spec.Entries == nil || r.covers(message)
}

func (r *Rule) covers(message *Message) bool {
	first, last := r.Spec.Entries[0], r.Spec.Entries[1]
	if len(message.Entries) == 0 {
		return first <= message.Entry && message.Entry <= last
	}
	for _, entry := range message.Entries {
		if first <= entry.Entry && entry.Entry <= last {
			return true
		}
	}
	return false
}

// takes counts the match and reports whether the rule acts on it.
func (r *Rule) takes() bool {
	n := r.matched.Add(1)
	if n < r.Spec.From || r.Spec.To > 0 && n > r.Spec.To {
		return false
	}
	return r.Spec.Probability == nil || chance(r.Spec.Seed, uint64(n)) < *r.Spec.Probability
}

// chance is a number in [0, 1) that seed and n alone decide (one step of splitmix64).
func chance(seed, n uint64) float64 {
	z := seed + n*0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return math.Ldexp(float64(z>>11), -53)
}
