package bookkeeper

import (
	"math/rand"
	"testing"
)

// TestATableHoldsWhatAMapWouldHold puts and removes at random, with keys that lie close together.
func TestATableHoldsWhatAMapWouldHold(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	var found table
	expected := map[key]int64{}
	for turn := range 200_000 {
		k := key{int64(random.Intn(3)), int64(random.Intn(400)) - 1, int64(random.Intn(3)) - 1, uint8(1 + random.Intn(2))}
		one := found.find(&k)
		asked, there := expected[k]
		if there != (one != nil) || there && (one.asked != asked || one.key != k) {
			t.Fatalf("turn %d: %+v is %+v, expected %d %v", turn, k, one, asked, there)
		}
		switch {
		case there && (random.Intn(3) > 0 || len(expected) > 2000):
			found.remove(one)
			delete(expected, k)
		case !there:
			found.put(waiting{key: k, request: request{asked: int64(turn), answers: 1}})
			expected[k] = int64(turn)
		}
		if found.len() != len(expected) {
			t.Fatalf("turn %d: %d, expected %d", turn, found.len(), len(expected))
		}
	}
}

func BenchmarkTable(b *testing.B) {
	var inFlight table
	for i := range int64(1000) {
		inFlight.put(waiting{key: key{txn: 3 * i, op: 2}, request: request{answers: 1}})
	}
	for i := range int64(b.N) {
		k := key{txn: 3 * i, op: 2}
		inFlight.remove(inFlight.find(&k))
		inFlight.put(waiting{key: key{txn: 3 * (i + 1000), op: 2}, request: request{answers: 1}})
	}
}
