package bookkeeper_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"fencepost/proxy/bookkeeper"
	. "fencepost/proxy/frames/samples"
)

// holdAll is a silent partition of the whole link.
const holdAll = `{"id": "up", "way": "requests", "action": "hold"}, {"id": "down", "way": "answers", "action": "hold"}`

// promptly bounds an order at the REST API while a receiver does not read.
const promptly = 2 * time.Second

func holding(n int64) func(bookkeeper.Counters) bool {
	return func(c bookkeeper.Counters) bool { return c.HeldNow == n }
}

// quiet expects that nothing has come.
func (p *peer) quiet() {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := p.Read(make([]byte, 1)); n > 0 || !err.(net.Error).Timeout() {
		p.t.Fatalf("%d bytes came, %v", n, err)
	}
	_ = p.SetReadDeadline(time.Now().Add(patience))
}

func TestASilentPartitionKeepsEveryFrameOfOldAndNewConnectionsInOrder(t *testing.T) {
	r := newRig(t)
	client, bookie := r.connect()
	client.send(AddV3(1, 5, 0, -1, 0, 10))
	bookie.gets(AddV3(1, 5, 0, -1, 0, 10))
	r.rules(holdAll)
	next, nextBookie := r.connect() // as on a network that lets a handshake through
	requests := [][]byte{
		AddV3(2, 5, 1, 0, 0, 10), AskV3(OpForce, 3, 5), AskV3(5, 4, 5), // the last is of kind other
		Frame([]byte{0x0A, 0xFF}), ReadV3(5, 5, -1, Fence),
	}
	answers := [][]byte{AddedV3(1, 5, 0, 0), AnswerV3(5, 9, 5, 0)}
	client.send(requests...)
	bookie.send(answers...)
	next.send(ReadV2(5, 7, 0))
	r.until("held", holding(int64(len(requests)+len(answers)+1)))
	for _, end := range []*peer{client, bookie, next, nextBookie} {
		end.quiet()
	}
	var answer struct{ Released int }
	r.call("DELETE", "rules", "", &answer)
	more := AddV3(6, 5, 2, 1, 0, 10)
	client.send(more)
	bookie.gets(append(requests, more)...)
	client.gets(answers...)
	nextBookie.gets(ReadV2(5, 7, 0))
	if found := r.counters(); answer.Released != 8 || found.HeldNow != 0 || found.Discarded != 0 {
		t.Fatalf("released %d, %+v", answer.Released, found)
	}
}

func TestWhatSeveralRulesHeldGoesOnInTheOrderInWhichItCame(t *testing.T) {
	r := newRig(t)
	r.rules(`{"id": "odd", "way": "requests", "kinds": ["add"], "action": "hold"}, ` + holdAll)
	client, bookie := r.connect()
	var sent [][]byte
	for i := range int64(4) {
		sent = append(sent, AddV3(uint64(2*i), 5, i, 0, 0, 10), ReadV3(uint64(2*i+1), 5, i, 0))
	}
	client.send(sent...)
	r.until("held", holding(8))
	r.rules(`{"id": "other", "way": "requests", "kinds": ["force"], "action": "drop"}`)
	bookie.gets(sent...)
}

func TestTheEndOfAPartitionedConnectionIsPassedOn(t *testing.T) {
	r := newRig(t)
	r.rules(holdAll)
	client, bookie := r.connect()
	client.send(ReadV3(1, 5, 0, 0))
	bookie.send(AddedV3(1, 5, 0, 0))
	r.until("held", holding(2))
	bookie.Close()
	if rest := client.rest(); len(rest) != 0 {
		t.Fatalf("%x came", rest)
	}
	found := r.until("over", func(c bookkeeper.Counters) bool { return c.OpenConnections == 0 })
	if found.HeldNow != 0 || found.Discarded != 2 {
		t.Fatalf("%+v", found)
	}
	client, bookie = r.connect() // the next is held as well
	client.send(ReadV3(1, 5, 0, 0))
	r.until("held again", holding(1))
	bookie.quiet()
}

// choked has a connection whose ends do not read and have filled everything between, both ways, with
// one frame held besides. It returns both ends.
func (r *rig) choked() (client, bookie *peer) {
	r.t.Helper()
	r.rules(`{"id": "h", "way": "requests", "ledger": 6, "action": "hold"}`)
	client, bookie = r.connect()
	client.send(ReadV3(1, 6, 0, 0))
	r.until("held", holding(1))
	client.fill(AddV3(2, 5, 7, 6, 0, 1<<20))
	bookie.fill(ReadAnswerV3(3, 5, 7, 0, 1<<20))
	return client, bookie
}

// fill sends a frame again and again until the way is full.
func (p *peer) fill(frame []byte) {
	for {
		_ = p.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		if _, err := p.Write(frame); err != nil {
			return
		}
	}
}

func (r *rig) prompt(method, path, body string) {
	r.t.Helper()
	began := time.Now()
	if status := r.call(method, path, body, nil); status/100 != 2 {
		r.t.Fatalf("%s %s: %d", method, path, status)
	}
	if took := time.Since(began); took > promptly {
		r.t.Fatalf("%s %s took %s", method, path, took)
	}
}

func TestOrdersAreObeyedAtOnceWhenTheReceiverDoesNotRead(t *testing.T) {
	r := newRig(t)
	r.choked()
	r.prompt("PUT", "rules", fmt.Sprintf(`{"rules": [%s]}`, holdAll))
	if found := r.counters(); found.HeldNow != 0 {
		t.Fatalf("not released: %+v", found)
	}
	r.prompt("POST", "release", `{}`)
	r.prompt("DELETE", "rules", "")
	r.prompt("GET", "/proxies/"+r.name, "")
}

func TestACutLeavesNothingBehindWhenTheReceiverDoesNotRead(t *testing.T) {
	for name, order := range map[string]func(*rig){
		"disabled": func(r *rig) { r.prompt("POST", "/proxies/"+r.name, `{"enabled": false}`) },
		"patched":  func(r *rig) { r.prompt("PATCH", "/proxies/"+r.name, `{"enabled": false}`) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.choked()
			order(r)
			found := r.until("over", func(c bookkeeper.Counters) bool { return c.OpenConnections == 0 })
			if found.HeldNow != 0 || found.Discarded != 1 {
				t.Fatalf("%+v", found)
			}
			r.prompt("POST", "/proxies/"+r.name, `{"enabled": true}`)
			client, bookie := r.connect()
			client.send(ReadV3(1, 5, 0, 0))
			bookie.gets(ReadV3(1, 5, 0, 0))
		})
	}
}

func TestAPausedReceiverThatDiesLeavesNothingBehind(t *testing.T) {
	r := newRig(t)
	first, server := r.connect()
	first.exchange(server)
	before := runtime.NumGoroutine()
	client, bookie := r.choked()
	go func() { _, _ = io.Copy(io.Discard, client) }()
	_ = bookie.Conn.(*net.TCPConn).SetLinger(0)
	bookie.Close()
	found := r.until("over", func(c bookkeeper.Counters) bool { return c.OpenConnections == 1 })
	if found.HeldNow != 0 || found.Discarded != 1 {
		t.Fatalf("%+v", found)
	}
	settle(t, before)
}
