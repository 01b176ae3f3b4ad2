package bookkeeper

import "math/bits"

// table is a hash table of the requests in flight, by linear probing in a slice that is at most half
// full. Go's own map took as long as all of the parsing: neighbours in time are neighbours here, for
// clients count their transactions and their entries up.
type table struct {
	slots []waiting // a power of two of them; those without expected answers are free
	used  int
}

const (
	firstSlots = 64 // a power of two
	blockBits  = 3  // keys that differ in their last bits alone lie in one block
)

func (t *table) len() int { return t.used }

// find returns the request of a key, nil when there is none. It is valid until the next change.
func (t *table) find(k *key) *waiting {
	if t.used == 0 {
		return nil
	}
	if slot := &t.slots[t.seek(k)]; slot.answers > 0 {
		return slot
	}
	return nil
}

// put adds a request under a key that the table has not.
func (t *table) put(one waiting) {
	if 2*(t.used+1) > len(t.slots) {
		t.grow()
	}
	t.slots[t.seek(&one.key)] = one
	t.used++
}

// remove takes out what find returned, and moves what would no longer be found behind it.
func (t *table) remove(one *waiting) {
	mask := len(t.slots) - 1
	hole := t.seek(&one.key)
	for at := (hole + 1) & mask; t.slots[at].answers > 0; at = (at + 1) & mask {
		if home := t.home(&t.slots[at].key); (at-home)&mask >= (at-hole)&mask {
			t.slots[hole] = t.slots[at]
			hole = at
		}
	}
	t.slots[hole] = waiting{}
	t.used--
}

// seek is the slot of a key, or the free one where it belongs.
func (t *table) seek(k *key) int {
	mask := len(t.slots) - 1
	at := t.home(k)
	for t.slots[at].answers > 0 && t.slots[at].key != *k {
		at = (at + 1) & mask
	}
	return at
}

// home is the slot at which the search for a key begins.
func (t *table) home(k *key) int {
	low := uint64(k.txn ^ k.entry)
	mixed := (low>>blockBits ^ uint64(k.ledger)*0x9E3779B97F4A7C15 ^ uint64(k.op)<<56) * 0xD6E8FEB86659FD93
	block := int(mixed >> (64 - bits.Len(uint(len(t.slots)-1))))
	return block&^(1<<blockBits-1) | int(low&(1<<blockBits-1))
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]waiting, max(firstSlots, 2*len(old)))
	for i := range old {
		if old[i].answers > 0 {
			t.slots[t.seek(&old[i].key)] = old[i]
		}
	}
}
