package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fencepost/proxy/frames/samples"
	"fencepost/proxy/wirelog"
)

// asProgram makes the test binary behave as the program itself, so that it can be killed.
const asProgram = "FENCEPOST_PROXY_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

// post asks a server until it answers.
func post(t *testing.T, url, body string) []byte {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		answer, err := http.Post(url, "application/json", strings.NewReader(body))
		if err == nil {
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != http.StatusCreated {
				t.Fatalf("%s: %s %s", url, answer.Status, text)
			}
			return text
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestAKilledProxyLosesNoRecord kills the program while a client sends, and finds every frame that
// arrived in the log.
func TestAKilledProxyLosesNoRecord(t *testing.T) {
	bookie, err := net.Listen("tcp", upstreamHost)
	if err != nil {
		t.Fatal(err)
	}
	defer bookie.Close()
	port, folder := freePort(t), filepath.Join(t.TempDir(), "frames")
	program := exec.Command(os.Args[0], "-host", apiHost, "-port", port)
	program.Env = append(os.Environ(), asProgram+"=1")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Process.Kill() }()

	url := "http://" + net.JoinHostPort(apiHost, port)
	body := fmt.Sprintf(`[{"name": "killed-b1", "listen": %q, "upstream": %q}]`, linkAddress, bookie.Addr())
	var made struct{ Proxies []struct{ Listen string } }
	if err := json.Unmarshal(post(t, url+"/fencepost/links", body), &made); err != nil {
		t.Fatal(err)
	}
	post(t, url+"/fencepost/log", fmt.Sprintf(`{"path": %q, "run_id": "1"}`, folder))
	client, err := net.DialTimeout("tcp", made.Proxies[0].Listen, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	arrived, err := bookie.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = arrived.SetDeadline(time.Now().Add(patience))
	frame := samples.AddV3(1, 5, 7, 6, 0, 1000)
	go func() {
		for {
			if _, err := client.Write(bytes.Repeat(frame, 20)); err != nil {
				return
			}
		}
	}()
	got, err := io.ReadFull(arrived, make([]byte, 5000*len(frame)))
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	more, _ := io.Copy(io.Discard, arrived)
	_ = program.Wait()

	frames := (int64(got) + more) / int64(len(frame))
	if records := count(t, folder); records < frames {
		t.Fatalf("%d frames arrived, %d are in the log", frames, records)
	}
}

// count is the number of records in a log of one segment.
func count(t *testing.T, folder string) (n int64) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "frames-000001.wire"))
	if err != nil {
		t.Fatal(err)
	}
	for data = data[wirelog.HeaderBytes:]; len(data) > 0 && binary.LittleEndian.Uint64(data) != 0; n++ {
		data = data[wirelog.RecordBytes:]
	}
	return n
}
