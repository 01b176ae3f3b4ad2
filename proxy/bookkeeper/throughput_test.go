package bookkeeper_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"fencepost/proxy/bookkeeper"
	. "fencepost/proxy/frames/samples"
)

const frameBytes = 1100

// BenchmarkLink sends adds of 1.1 KiB through one link and has each answered, as a bookie would in
// batches: plain, with the toxic, with the toxic and the log, and with rules that never act besides.
func BenchmarkLink(b *testing.B) {
	idle := make([]string, 5)
	for i := range idle {
		idle[i] = fmt.Sprintf(`{"id": "r%d", "way": "requests", "kinds": ["read"], "ledger": %d, "action": "drop"}`, i, i)
	}
	for _, one := range []struct {
		name, path string
		log        bool
		rules      []string
	}{
		{"plain", "/populate", false, nil},
		{"toxic", "/fencepost/links", false, nil},
		{"toxic-log", "/fencepost/links", true, nil},
		{"toxic-log-rules", "/fencepost/links", true, idle},
	} {
		b.Run(one.name, func(b *testing.B) {
			if one.log {
				if err := bookkeeper.Process.Log.Open(filepath.Join(b.TempDir(), "frames"), 1); err != nil {
					b.Fatal(err)
				}
				defer bookkeeper.Process.Log.Close()
			}
			address := benchLink(b, one.path, one.rules)
			pump(b, address)
		})
	}
}

func benchLink(b *testing.B, path string, rules []string) string {
	b.Helper()
	_, api := newServer(b)
	upstream := answering(b)
	name := fmt.Sprintf("link-%d", linkNames.Add(1))
	body := fmt.Sprintf(`[{"name": %q, "listen": "127.250.101.1:0", "upstream": %q}]`, name, upstream)
	answer, err := http.Post(api+path, "application/json", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	var made struct{ Proxies []struct{ Listen string } }
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || len(made.Proxies) != 1 {
		b.Fatal(err, made)
	}
	if rules != nil {
		list := fmt.Sprintf(`{"rules": [%s]}`, strings.Join(rules, ","))
		request, _ := http.NewRequest("PUT", api+"/fencepost/links/"+name+"/rules", strings.NewReader(list))
		answer, err := http.DefaultClient.Do(request)
		if err != nil || answer.StatusCode != 200 {
			b.Fatal(err, answer)
		}
		answer.Body.Close()
	}
	return made.Proxies[0].Listen
}

// answering is a bookie that answers each add of batchOf without looking at it.
func answering(b *testing.B) string {
	b.Helper()
	bookie, err := net.Listen("tcp", "127.250.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { bookie.Close() })
	go func() {
		for {
			connection, err := bookie.Accept()
			if err != nil {
				return
			}
			go answerAll(connection)
		}
	}()
	return bookie.Addr().String()
}

const batchOf = 64

func batches() (requests, answers []byte) {
	for i := range int64(batchOf) {
		size := frameBytes - len(AddV3(uint64(1000+i), 5, 1000+i, i, 0, 0))
		requests = append(requests, AddV3(uint64(1000+i), 5, 1000+i, i, 0, size)...)
		answers = append(answers, AddedV3(uint64(1000+i), 5, 1000+i, 0)...)
	}
	return requests, answers
}

func answerAll(connection net.Conn) {
	defer connection.Close()
	requests, answers := batches()
	room := make([]byte, len(requests))
	for {
		if _, err := io.ReadFull(connection, room); err != nil {
			return
		}
		if _, err := connection.Write(answers); err != nil {
			return
		}
	}
}

// pump keeps four batches under way; b.N counts requests.
func pump(b *testing.B, address string) {
	b.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	defer connection.Close()
	requests, answers := batches()
	room := make([]byte, len(answers))
	turns := b.N/batchOf + 1
	slots := make(chan struct{}, 4)
	b.ResetTimer()
	go func() {
		for range turns {
			slots <- struct{}{}
			if _, err := connection.Write(requests); err != nil {
				return
			}
		}
	}()
	for range turns {
		if _, err := io.ReadFull(connection, room); err != nil {
			b.Fatal(err)
		}
		<-slots
	}
	b.StopTimer()
	b.ReportMetric(float64(turns*batchOf)/b.Elapsed().Seconds(), "requests/s")
}
