package rules

import (
	"strings"
	"testing"

	"fencepost/proxy/frames"
)

func list(t *testing.T, specs ...Spec) List {
	t.Helper()
	made, err := NewList(specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func message(kind frames.Kind, entry int64) *Message {
	return &Message{Header: frames.Header{Kind: kind, Ledger: 5, Entry: entry}, Way: frames.Requests}
}

// decided are the numbers of the messages, from 1, that the first rule acts on, out of n adds.
func decided(l List, n int) (taken []int) {
	for i := 1; i <= n; i++ {
		if rule := l.Decide(message(frames.Add, int64(i))); rule == l[0] {
			rule.Acted()
			taken = append(taken, i)
		}
	}
	return taken
}

func TestOnlyMatchesFromToAreActedOn(t *testing.T) {
	l := list(t, Spec{ID: "a", Way: "requests", Kinds: []string{"add"}, From: 2, To: 3, Action: Drop})
	l.Decide(message(frames.Read, 0)) // is no match
	if taken := decided(l, 5); len(taken) != 2 || taken[0] != 2 || taken[1] != 3 {
		t.Fatal(taken)
	}
	if counts := l[0].Counts(); counts != (Counts{Matched: 5, Acted: 2}) {
		t.Fatalf("%+v", counts)
	}
}

func TestTheFirstRuleThatActsWins(t *testing.T) {
	ledger := int64(6)
	l := list(
		t,
		Spec{ID: "once", Way: "requests", To: 1, Action: Drop},
		Spec{ID: "elsewhere", Way: "requests", Ledger: &ledger, Action: Drop},
		Spec{ID: "answers", Way: "answers", Action: Drop},
		Spec{ID: "entries", Way: "requests", Entries: &[2]int64{3, 4}, Action: Hold},
		Spec{ID: "behind", Way: "requests", Entries: &[2]int64{3, 4}, Action: Drop},
	)
	for _, one := range []struct {
		entry int64
		want  int
	}{{3, 0}, {2, -1}, {3, 3}, {4, 3}, {5, -1}} {
		rule := l.Decide(message(frames.Add, one.entry))
		if one.want < 0 && rule != nil || one.want >= 0 && rule != l[one.want] {
			t.Errorf("entry %d: %+v", one.entry, rule)
		}
	}
	if counts := l[4].Counts(); counts.Matched != 0 {
		t.Errorf("behind a rule that acted: %+v", counts)
	}
}

func TestABatchMatchesByAnyOfItsEntries(t *testing.T) {
	l := list(t, Spec{ID: "a", Way: "requests", Entries: &[2]int64{9, 9}, Action: Drop})
	batch := message(frames.Read, 7)
	batch.Entries = []frames.Entry{{Ledger: 5, Entry: 7}, {Ledger: 5, Entry: 8}}
	if l.Decide(batch) != nil {
		t.Fatal("entry 9 is not in it")
	}
	batch.Entries = append(batch.Entries, frames.Entry{Ledger: 5, Entry: 9})
	if l.Decide(batch) == nil {
		t.Fatal("entry 9 is in it")
	}
}

func TestChanceIsTheSeedsAndRepeats(t *testing.T) {
	half := 0.5
	spec := Spec{ID: "a", Way: "requests", Probability: &half, Seed: 7, Action: Drop}
	first, again := decided(list(t, spec), 1000), decided(list(t, spec), 1000)
	if len(first) < 440 || len(first) > 560 {
		t.Fatalf("%d of 1000", len(first))
	}
	spec.Seed = 8
	other := decided(list(t, spec), 1000)
	same := len(other) == len(first)
	for i := range first {
		if first[i] != again[i] {
			t.Fatal("the same seed decided differently")
		}
		same = same && first[i] == other[i]
	}
	if same {
		t.Fatal("another seed decided alike")
	}
}

func TestAChangedRuleBeginsAgain(t *testing.T) {
	spec := Spec{ID: "a", Way: "requests", Action: Drop}
	old := list(t, spec)
	old.Decide(message(frames.Add, 1))
	kept, err := NewList([]Spec{spec}, old)
	if err != nil || kept[0] != old[0] {
		t.Fatal("the same rule is another")
	}
	spec.Action = Hold
	changed, err := NewList([]Spec{spec}, old)
	if err != nil || changed[0] == old[0] || changed[0].Counts().Matched != 0 {
		t.Fatal("a changed rule kept its counters")
	}
}

func TestOnlyAddsAreGarbled(t *testing.T) {
	for _, spec := range []Spec{
		{ID: "g", Way: "requests", Action: Garble},
		{ID: "g", Way: "requests", Kinds: []string{"add", "read"}, Action: Garble},
		{ID: "g", Way: "answers", Kinds: []string{"add"}, Action: Garble},
	} {
		if _, err := NewList([]Spec{spec}, nil); err == nil || !strings.Contains(err.Error(), "kinds") {
			t.Fatalf("%+v: %v", spec, err)
		}
	}
	list(t, Spec{ID: "g", Way: "requests", Kinds: []string{"add", "recovery_add"}, Action: Garble})
}
