package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Addresses of the tests lie above the octets that runs lease.
const (
	apiHost      = "127.250.0.250"
	linkAddress  = "127.250.101.1:0"
	upstreamHost = "127.250.0.1:0"
	patience     = 10 * time.Second
)

// output is a writer that the program and the test share.
type output struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(data)
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}

// program is one fencepost-proxy, run in this process; closing its standard input ends it.
type program struct {
	url    string
	stdin  *io.PipeWriter
	stderr *output
	code   chan int
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", apiHost+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

func start(t *testing.T, more ...string) *program {
	t.Helper()
	port := freePort(t)
	reader, writer := io.Pipe()
	p := &program{
		url: "http://" + net.JoinHostPort(apiHost, port), stdin: writer, stderr: &output{}, code: make(chan int, 1),
	}
	go func() {
		p.code <- run(append([]string{"-host", apiHost, "-port", port, "-exit-on-eof"}, more...), reader, p.stderr)
	}()
	t.Cleanup(func() { writer.Close() })
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		answer, err := http.Get(p.url + "/version")
		if err == nil {
			answer.Body.Close()
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("the REST API never answered: %v\n%s", err, p.stderr)
		}
	}
}

func (p *program) wait(t *testing.T) int {
	t.Helper()
	select {
	case code := <-p.code:
		return code
	case <-time.After(patience):
		t.Fatalf("still running\n%s", p.stderr)
		return -1
	}
}

// echo answers every byte with itself.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", upstreamHost)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_, _ = io.Copy(connection, connection)
			}()
		}
	}()
	return listener.Addr().String()
}

// link creates one link over the REST API and returns where it listens.
func (p *program) link(t *testing.T, upstream string) string {
	t.Helper()
	body := fmt.Sprintf(`[{"name": "writer-b1", "listen": %q, "upstream": %q}]`, linkAddress, upstream)
	answer, err := http.Post(p.url+"/populate", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var created struct {
		Proxies []struct{ Listen string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&created); err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusCreated || len(created.Proxies) != 1 {
		t.Fatalf("status %s, created %v", answer.Status, created)
	}
	return created.Proxies[0].Listen
}

func TestALinkPassesBytesAndEndsWithTheProgram(t *testing.T) {
	p := start(t)
	connection, err := net.DialTimeout("tcp", p.link(t, echo(t)), patience)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(patience))
	sent := []byte("an entry")
	if _, err := connection.Write(sent); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(connection, got); err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("got %q, error %v", got, err)
	}

	p.stdin.Close()
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr)
	}
	if n, err := connection.Read(got); err == nil {
		t.Fatalf("the link still delivered %d bytes after the end", n)
	}
}

func listOfLinks(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "links.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLinksOfAListAreThereFromTheStart(t *testing.T) {
	list := fmt.Sprintf(`[{"name": "listed", "listen": %q, "upstream": %q}]`, linkAddress, echo(t))
	p := start(t, "-links", listOfLinks(t, list))
	answer, err := http.Get(p.url + "/fencepost/links/listed/rules")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK { // 404 without the link, 409 without its toxic
		t.Fatalf("status %s", answer.Status)
	}
}

func TestAListThatCannotBeReadEndsTheProgram(t *testing.T) {
	for list, code := range map[string]int{
		filepath.Join(t.TempDir(), "absent"):                  2,
		listOfLinks(t, `[{"name": "b1"`):                      1,
		listOfLinks(t, `[{"name": "b1", "listen": ":0"}]`):    1,
		listOfLinks(t, `[{"name": "b1", "upstreams": ":0"}]`): 1,
	} {
		stderr := &output{}
		got := run([]string{"-host", apiHost, "-port", freePort(t), "-links", list}, strings.NewReader(""), stderr)
		if got != code || !strings.Contains(stderr.String(), "the list of links: ") {
			t.Errorf("exit code %d, said %q", got, stderr)
		}
	}
}

func TestLogHasNoLineForEachRequest(t *testing.T) {
	p := start(t)
	p.link(t, echo(t))
	p.stdin.Close()
	p.wait(t)
	if text := p.stderr.String(); !strings.Contains(text, "serving") || strings.Contains(text, `"level":"debug"`) {
		t.Fatalf("log:\n%s", text)
	}
}

func TestATakenAddressIsAnErrorWithItsReason(t *testing.T) {
	listener, err := net.Listen("tcp", apiHost+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	stderr := &output{}
	code := run([]string{"-host", apiHost, "-port", port}, strings.NewReader(""), stderr)
	if code != 1 || !strings.Contains(stderr.String(), "address already in use") {
		t.Fatalf("exit code %d, said %q", code, stderr)
	}
}
