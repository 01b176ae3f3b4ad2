package rules

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"

	"fencepost/proxy/frames"
)

// MostRules bounds a list, so that a frame's way through it stays short.
const MostRules = 1000

// MostDelayMS is an hour: more is a hold.
const MostDelayMS = 3_600_000

// Error says what of a list is wrong: the field, the offending value, and what would be right.
type Error struct {
	Field   string `json:"field"`
	Value   any    `json:"value"`
	Allowed string `json:"allowed"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s is %v; allowed: %s", e.Field, e.Value, e.Allowed)
}

var lastNumber atomic.Uint32

// NewList checks the specifications and makes their rules. A rule of old with the same content
// stays itself, with its counters. Errors are of type *Error.
func NewList(specs []Spec, old List) (List, error) {
	if len(specs) > MostRules {
		return nil, &Error{"rules", len(specs), fmt.Sprintf("at most %d rules", MostRules)}
	}
	list := make(List, 0, len(specs))
	seen := map[string]bool{}
	for i, spec := range specs {
		rule, err := newRule(spec)
		if err == nil && seen[spec.ID] {
			err = &Error{"id", spec.ID, "each id once in a list"}
		}
		if err != nil {
			err.Field = fmt.Sprintf("rules[%d].%s", i, err.Field)
			return nil, err
		}
		seen[spec.ID] = true
		if same := old.find(spec); same != nil {
			rule = same
		} else {
			rule.Number = lastNumber.Add(1)
		}
		list = append(list, rule)
	}
	return list, nil
}

func (l List) find(spec Spec) *Rule {
	for _, rule := range l {
		if reflect.DeepEqual(rule.Spec, spec) {
			return rule
		}
	}
	return nil
}

func newRule(spec Spec) (*Rule, *Error) {
	rule := &Rule{Spec: spec}
	for _, check := range []func(*Rule) *Error{checkName, checkMatch, checkCount, checkAction} {
		if err := check(rule); err != nil {
			return nil, err
		}
	}
	return rule, nil
}

func checkName(r *Rule) *Error {
	if r.Spec.ID == "" {
		return &Error{"id", r.Spec.ID, "a name that is not empty"}
	}
	way := slices.Index(frames.Ways, r.Spec.Way)
	if way < 0 {
		return &Error{"way", r.Spec.Way, fmt.Sprint(frames.Ways)}
	}
	r.way = frames.Way(way)
	return nil
}

func checkMatch(r *Rule) *Error {
	for i, name := range r.Spec.Kinds {
		kind := slices.Index(frames.Kinds, name)
		if kind < 0 {
			return &Error{fmt.Sprintf("kinds[%d]", i), name, fmt.Sprint(frames.Kinds)}
		}
		r.kinds |= 1 << kind
	}
	if span := r.Spec.Entries; span != nil && span[0] > span[1] {
		return &Error{"entries", *span, "[first, last] with first not above last"}
	}
	if len(r.Spec.Statuses) > 0 && r.way != frames.Answers {
		return &Error{"statuses", r.Spec.Statuses, "none, for only answers have a status"}
	}
	for i, name := range r.Spec.Statuses {
		status, known := frames.Statuses[name]
		if !known {
			return &Error{fmt.Sprintf("statuses[%d]", i), name, fmt.Sprint(frames.StatusNames())}
		}
		if r.statuses == nil {
			r.statuses = map[int32]bool{}
		}
		r.statuses[status] = true
	}
	return nil
}

func checkCount(r *Rule) *Error {
	if r.Spec.From < 0 {
		return &Error{"from", r.Spec.From, "a count from 1"}
	}
	if r.Spec.To < 0 || r.Spec.To > 0 && r.Spec.To < r.Spec.From {
		return &Error{"to", r.Spec.To, "a count not below from, or 0 for no end"}
	}
	if p := r.Spec.Probability; p != nil && !(*p >= 0 && *p <= 1) {
		return &Error{"probability", *p, "0 to 1"}
	}
	return nil
}

func checkAction(r *Rule) *Error {
	if !slices.Contains(Actions, string(r.Spec.Action)) {
		return &Error{"action", r.Spec.Action, fmt.Sprint(Actions)}
	}
	if r.Spec.Action == Delay && (r.Spec.DelayMS < 1 || r.Spec.DelayMS > MostDelayMS) {
		return &Error{"delay_ms", r.Spec.DelayMS, fmt.Sprintf("1 to %d with the action delay", MostDelayMS)}
	}
	if r.Spec.Action != Delay && r.Spec.DelayMS != 0 {
		return &Error{"delay_ms", r.Spec.DelayMS, "nothing without the action delay"}
	}
	if r.Spec.Action == Garble && !r.onlyAdds() {
		return &Error{"kinds", r.Spec.Kinds, "requests of add and recovery_add alone, with the action garble"}
	}
	if r.Spec.Action != Forge {
		if r.Spec.Status != "" {
			return &Error{"status", r.Spec.Status, "nothing without the action forge"}
		}
		return nil
	}
	status, known := frames.Statuses[r.Spec.Status]
	if !known || status == 0 {
		return &Error{"status", r.Spec.Status, fmt.Sprintf("an error of %v", frames.StatusNames())}
	}
	r.status = status
	if r.kinds == 0 || r.kinds&(1<<frames.Other) != 0 {
		return &Error{"kinds", r.Spec.Kinds, "one or more, without other, with the action forge"}
	}
	return nil
}

// onlyAdds reports whether the rule applies only to requests that carry an entry.
func (r *Rule) onlyAdds() bool {
	adds := uint32(1<<frames.Add | 1<<frames.RecoveryAdd)
	return r.way == frames.Requests && r.kinds != 0 && r.kinds&^adds == 0
}
