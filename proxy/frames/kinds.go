// Package frames reads BookKeeper's wire protocol as far as a proxy needs it: where a frame ends,
// what kind of message it is, which ledger, entry, transaction and status its header names.
//
// It handles only bytes: no sockets, rules or log. The layouts follow BookkeeperProtocol.proto
// and BookieProtocol.java of BookKeeper 4.14 to 4.18. Nothing here allocates for a frame that lies
// whole in what was fed, and nothing here ever changes a byte.
package frames

// Way is the direction of a stream, seen from the client.
type Way uint8

// The two ways of a connection. Their numbers are part of the wire log's format.
const (
	Requests Way = 0
	Answers  Way = 1
)

// Ways are the names of the ways, by number.
var Ways = []string{"requests", "answers"}

func (w Way) String() string { return nameOf(Ways, int(w)) }

// Protocol is the version that a connection speaks. The numbers are part of the wire log's format.
type Protocol uint8

// A connection's protocol is unknown until its first frame begins.
const (
	Unknown Protocol = 0
	V2      Protocol = 2
	V3      Protocol = 3
)

// First bytes of a payload: field 1 (the header) of a V3 message, and the version byte of V2.
const (
	firstOfV3 = 0x0A
	firstOfV2 = 0x02
)

// Kind is what a request asks; an answer has the kind of its request.
type Kind uint8

// The kinds. Their numbers are part of the wire log's format: append only.
const (
	Other Kind = iota
	Add
	RecoveryAdd
	FencingLACRead
	RecoveryRead
	Read
	LACRead
	WriteLAC
	Force
)

// Kinds are the names of the kinds, by number.
var Kinds = []string{
	"other", "add", "recovery_add", "fencing_lac_read", "recovery_read", "read", "lac_read", "write_lac", "force",
}

func (k Kind) String() string { return nameOf(Kinds, int(k)) }

// Fencing reports whether such a request fences its ledger.
func (k Kind) Fencing() bool { return k == FencingLACRead || k == RecoveryRead }

// Recovery reports whether only recovery sends this kind.
func (k Kind) Recovery() bool { return k.Fencing() || k == RecoveryAdd }

func nameOf(names []string, number int) string {
	if number < len(names) {
		return names[number]
	}
	return "?"
}
