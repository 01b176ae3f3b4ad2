package bookkeeper

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"fencepost/proxy/frames"
)

// Type is the toxic's name at the REST API.
const Type = "bookkeeper"

// flushTimeout bounds what removing the toxic from an open connection may wait.
const flushTimeout = time.Second

func init() {
	toxics.Register(Type, new(Toxic))
}

// Toxic belongs on both streams of a link before its first connection, and stays. Its attributes
// only say where it sits, which toxiproxy does not report to a toxic; they never change.
type Toxic struct {
	Link string `json:"link"`
	Way  string `json:"way"` // requests (stream upstream) or answers (stream downstream)
}

// UnmarshalJSON refuses attributes that name no link or no way.
func (t *Toxic) UnmarshalJSON(data []byte) error {
	type plain Toxic
	if err := json.Unmarshal(data, (*plain)(t)); err != nil {
		return err
	}
	if t.Link == "" {
		return fmt.Errorf("attribute link of the toxic %s is empty", Type)
	}
	if !slices.Contains(frames.Ways, t.Way) {
		return fmt.Errorf("attribute way of the toxic %s is %q, not one of %v", Type, t.Way, frames.Ways)
	}
	return nil
}

// NewState begins one stream of a connection.
func (t *Toxic) NewState() any {
	way := slices.Index(frames.Ways, t.Way)
	if t.Link == "" || way < 0 {
		return nil // made without attributes
	}
	return Process.Link(t.Link).stream(way)
}

// Pipe passes frames on until the stream ends or toxiproxy interrupts it; it can be called again
// after an interrupt, and nothing is lost between.
func (t *Toxic) Pipe(stub *toxics.ToxicStub) {
	if s, ours := stub.State.(*flow); ours {
		s.pipe(stub)
		return
	}
	new(toxics.NoopToxic).Pipe(stub)
}

// Cleanup passes on what is kept back, for the toxic is taken off an open connection.
func (t *Toxic) Cleanup(stub *toxics.ToxicStub) {
	s, ours := stub.State.(*flow)
	if !ours {
		return
	}
	for _, data := range s.abandon() {
		if stub.WriteOutput(&stream.StreamChunk{Data: data, Timestamp: time.Now()}, flushTimeout) != nil {
			return
		}
	}
}
