package bookkeeper_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"fencepost/proxy/bookkeeper"
	"fencepost/proxy/endpoint"
	. "fencepost/proxy/frames/samples"
)

const patience = 10 * time.Second

var linkNames atomic.Int32

// rig is a server with one link that has the toxic, to a bookie that the test plays.
type rig struct {
	t      *testing.T
	api    string
	name   string
	listen string
	bookie net.Listener
}

// peer is one end of a connection through the link.
type peer struct {
	t *testing.T
	net.Conn
}

func newServer(t testing.TB) (*toxiproxy.ApiServer, string) {
	t.Helper()
	links := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	router := links.Routes()
	endpoint.Attach(router, links, &bookkeeper.Process)
	api := httptest.NewServer(router)
	t.Cleanup(func() {
		api.Close()
		_ = links.Collection.Clear()
	})
	return links, api.URL
}

func newRig(t *testing.T) *rig {
	t.Helper()
	_, api := newServer(t)
	bookie, err := net.Listen("tcp", "127.250.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bookie.Close() })
	r := &rig{t: t, api: api, name: fmt.Sprintf("link-%d", linkNames.Add(1)), bookie: bookie}
	var made struct {
		Proxies []struct{ Listen string }
	}
	body := fmt.Sprintf(`[{"name": %q, "listen": "127.250.101.1:0", "upstream": %q}]`, r.name, bookie.Addr())
	if status := r.call("POST", "/fencepost/links", body, &made); status != http.StatusCreated {
		t.Fatalf("the link was not made: %d", status)
	}
	r.listen = made.Proxies[0].Listen
	return r
}

// call asks the REST API; "rules", "counters" and "release" mean those of the rig's link.
func (r *rig) call(method, path, body string, into any) int {
	r.t.Helper()
	if !strings.HasPrefix(path, "/") {
		path = "/fencepost/links/" + r.name + "/" + path
	}
	request, err := http.NewRequest(method, r.api+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			r.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return answer.StatusCode
}

// rules puts rules in force, given as the list's JSON.
func (r *rig) rules(list string) {
	r.t.Helper()
	var answer any
	if status := r.call("PUT", "rules", `{"rules": [`+list+`]}`, &answer); status != http.StatusOK {
		r.t.Fatalf("rules: %d %v", status, answer)
	}
}

func (r *rig) counters() bookkeeper.Counters {
	r.t.Helper()
	var found bookkeeper.Counters
	if status := r.call("GET", "counters", "", &found); status != http.StatusOK {
		r.t.Fatalf("counters: %d", status)
	}
	return found
}

// until waits until the counters are as wanted.
func (r *rig) until(what string, reached func(bookkeeper.Counters) bool) bookkeeper.Counters {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		found := r.counters()
		if reached(found) {
			return found
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("not %s: %+v", what, found)
		}
	}
}

// connect opens a connection through the link and returns both of its ends.
func (r *rig) connect() (client, bookie *peer) {
	r.t.Helper()
	near, err := net.DialTimeout("tcp", r.listen, patience)
	if err != nil {
		r.t.Fatal(err)
	}
	far, err := r.bookie.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, end := range []net.Conn{near, far} {
		_ = end.SetDeadline(time.Now().Add(patience))
		r.t.Cleanup(func() { end.Close() })
	}
	return &peer{r.t, near}, &peer{r.t, far}
}

func (p *peer) send(frames ...[]byte) {
	p.t.Helper()
	if _, err := p.Write(bytes.Join(frames, nil)); err != nil {
		p.t.Fatal(err)
	}
}

// frame reads the next frame.
func (p *peer) frame() []byte {
	p.t.Helper()
	head := make([]byte, 4)
	if _, err := io.ReadFull(p, head); err != nil {
		p.t.Fatalf("no frame came: %v", err)
	}
	frame := append(head, make([]byte, binary.BigEndian.Uint32(head))...)
	if _, err := io.ReadFull(p, frame[4:]); err != nil {
		p.t.Fatal(err)
	}
	return frame
}

// gets expects these frames, in this order.
func (p *peer) gets(frames ...[]byte) {
	p.t.Helper()
	for i, want := range frames {
		if got := p.frame(); !bytes.Equal(got, want) {
			p.t.Fatalf("frame %d is %x, not %x", i, got, want)
		}
	}
}

// rest is all that comes until the other end closes.
func (p *peer) rest() []byte {
	p.t.Helper()
	all, err := io.ReadAll(p)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		p.t.Fatal(err)
	}
	return all
}

// exchange passes a frame each way: what serves a connection runs behind it.
func (p *peer) exchange(with *peer) {
	p.t.Helper()
	p.send(ReadV3(1, 5, 0, 0))
	with.gets(ReadV3(1, 5, 0, 0))
	with.send(ReadAnswerV3(1, 5, 0, 0, 9))
	p.gets(ReadAnswerV3(1, 5, 0, 0, 9))
}

// settle waits until there are no more goroutines than before.
func settle(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
