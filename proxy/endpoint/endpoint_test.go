package endpoint_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"fencepost/proxy/bookkeeper"
	"fencepost/proxy/endpoint"
)

type problem struct {
	Error, Field, Allowed string
	Value                 any
}

// server has the link "writer-b1" with the toxic and the link "writer-zk1" without.
func server(t *testing.T) func(method, path, body string, into any) int {
	t.Helper()
	links := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	registry := &bookkeeper.Registry{}
	router := links.Routes()
	endpoint.Attach(router, links, registry)
	api := httptest.NewServer(router)
	t.Cleanup(func() {
		api.Close()
		_ = links.Collection.Clear()
		_ = registry.Log.Close()
	})
	call := func(method, path, body string, into any) int {
		t.Helper()
		request, _ := http.NewRequest(method, api.URL+path, strings.NewReader(body))
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		if into != nil && json.Unmarshal(text, into) != nil {
			t.Fatalf("%s %s: %s", method, path, text)
		}
		return answer.StatusCode
	}
	for path, name := range map[string]string{"/fencepost/links": "writer-b1", "/populate": "writer-zk1"} {
		body := fmt.Sprintf(`[{"name": %q, "listen": "127.250.102.1:0", "upstream": "127.250.0.1:1"}]`, name)
		if status := call("POST", path, body, nil); status != http.StatusCreated {
			t.Fatalf("%s: %d", name, status)
		}
	}
	return call
}

const rulesPath = "/fencepost/links/writer-b1/rules"

func TestAWrongRuleIsNamedWithItsValueAndChangesNothing(t *testing.T) {
	call := server(t)
	good := `{"id": "a", "way": "requests", "action": "drop"}`
	if status := call("PUT", rulesPath, `{"rules": [`+good+`]}`, nil); status != 200 {
		t.Fatal(status)
	}
	for rule, want := range map[string][2]string{
		`{"way": "requests", "action": "drop"}`:                                                 {"id", ""},
		`{"id": "b", "way": "up", "action": "drop"}`:                                            {"way", "up"},
		`{"id": "b", "way": "requests", "action": "lose"}`:                                      {"action", "lose"},
		`{"id": "b", "way": "requests", "kinds": ["add", "ad"], "action": "drop"}`:              {"kinds[1]", "ad"},
		`{"id": "b", "way": "answers", "statuses": ["FENCED"], "action": "drop"}`:               {"statuses[0]", "FENCED"},
		`{"id": "b", "way": "requests", "statuses": ["EOK"], "action": "drop"}`:                 {"statuses", "[EOK]"},
		`{"id": "b", "way": "requests", "entries": [3, 2], "action": "drop"}`:                   {"entries", "[3 2]"},
		`{"id": "b", "way": "requests", "from": -1, "action": "drop"}`:                          {"from", "-1"},
		`{"id": "b", "way": "requests", "from": 3, "to": 2, "action": "drop"}`:                  {"to", "2"},
		`{"id": "b", "way": "requests", "probability": 1.5, "action": "drop"}`:                  {"probability", "1.5"},
		`{"id": "b", "way": "requests", "action": "delay"}`:                                     {"delay_ms", "0"},
		`{"id": "b", "way": "requests", "action": "drop", "delay_ms": 5}`:                       {"delay_ms", "5"},
		`{"id": "b", "way": "requests", "action": "drop", "status": "EIO"}`:                     {"status", "EIO"},
		`{"id": "b", "way": "requests", "kinds": ["add"], "action": "forge"}`:                   {"status", ""},
		`{"id": "b", "way": "answers", "kinds": ["add"], "action": "forge", "status": "EOK"}`:   {"status", "EOK"},
		`{"id": "b", "way": "requests", "action": "forge", "status": "EIO"}`:                    {"kinds", "[]"},
		`{"id": "b", "way": "answers", "kinds": ["other"], "action": "forge", "status": "EIO"}`: {"kinds", "[other]"},
		good: {"id", "a"},
	} {
		var got problem
		status := call("PUT", rulesPath, `{"rules": [`+good+`, `+rule+`]}`, &got)
		value := ""
		if got.Value != nil {
			value = fmt.Sprint(got.Value)
		}
		want[0] = "rules[1]." + want[0]
		if status != 400 || got.Field != want[0] || value != want[1] && got.Value != nil || got.Allowed == "" {
			t.Errorf("%s: %d %+v, want %v", rule, status, got, want)
		}
	}
	var list struct{ Rules []struct{ ID string } }
	if call("GET", rulesPath, "", &list); len(list.Rules) != 1 || list.Rules[0].ID != "a" {
		t.Fatalf("%+v", list)
	}
}

func TestABodyThatIsNotAskedForIsRefused(t *testing.T) {
	call := server(t)
	for _, body := range []string{``, `[]`, `{"rules": [{"id": "a", "way": "requests", "action": "drop", "entry": 5}]}`, `{"rules": []} {}`, `{"rules": [{"ledger": "x"}]}`} {
		var got problem
		if status := call("PUT", rulesPath, body, &got); status != 400 || got.Error == "" {
			t.Errorf("%q: %d %+v", body, status, got)
		}
	}
}

func TestOnlyLinksWithTheToxicHaveRules(t *testing.T) {
	call := server(t)
	for name, want := range map[string]int{"writer-b9": 404, "writer-zk1": 409, "writer-b1": 200} {
		var got problem
		if status := call("GET", "/fencepost/links/"+name+"/counters", "", &got); status != want {
			t.Errorf("%s: %d %+v", name, status, got)
		}
		if want != 200 && got.Value != name {
			t.Errorf("%s: %+v", name, got)
		}
	}
	var got problem
	if status := call("POST", "/fencepost/links/writer-b1/release", `{"rule": "x"}`, &got); status != 404 || got.Value != "x" {
		t.Errorf("%d %+v", status, got)
	}
}

func TestARuleThatStaysKeepsItsNumber(t *testing.T) {
	call := server(t)
	numbers := func(body string) (found []int) {
		var list struct{ Rules []struct{ Number int } }
		if status := call("PUT", rulesPath, body, &list); status != 200 {
			t.Fatal(status)
		}
		for _, rule := range list.Rules {
			found = append(found, rule.Number)
		}
		return found
	}
	a, b := `{"id": "a", "way": "requests", "ledger": 5, "action": "drop"}`, `{"id": "b", "way": "answers", "action": "hold"}`
	first := numbers(`{"rules": [` + a + `]}`)
	second := numbers(`{"rules": [` + b + `, ` + a + `]}`)
	if second[1] != first[0] || second[0] == first[0] {
		t.Fatalf("%v, then %v", first, second)
	}
	if third := numbers(`{"rules": [` + strings.Replace(a, "5", "6", 1) + `]}`); third[0] == first[0] {
		t.Fatal("another rule has the same number")
	}
}

func TestTheLogIsOpenedOnceAtAnAbsolutePath(t *testing.T) {
	call := server(t)
	folder := filepath.Join(t.TempDir(), "frames")
	for _, one := range []struct {
		path, run, field string
		status           int
	}{
		{"frames", "7", "path", 400}, {folder, "x", "run_id", 400}, {folder, "18446744073709551615", "", 201},
		{folder, "7", "path", 409},
	} {
		var got problem
		body := fmt.Sprintf(`{"path": %q, "run_id": %q}`, one.path, one.run)
		if status := call("POST", "/fencepost/log", body, &got); status != one.status || got.Field != one.field {
			t.Errorf("%s: %d %+v", body, status, got)
		}
	}
	var state struct {
		Open          bool
		RunID         string `json:"run_id"`
		Records, Lost int
		Links         map[string]int
	}
	call("GET", "/fencepost/log", "", &state)
	if !state.Open || state.RunID != "18446744073709551615" || state.Links["writer-b1"] != 1 || state.Lost != 0 {
		t.Fatalf("%+v", state)
	}
}

func TestALinkThatIsThereIsRefused(t *testing.T) {
	call := server(t)
	var got problem
	body := `[{"name": "writer-b1", "listen": "127.250.102.1:0", "upstream": "127.250.0.1:1"}]`
	if status := call("POST", "/fencepost/links", body, &got); status != 409 || !strings.Contains(got.Error, "writer-b1") {
		t.Errorf("%d %+v", status, got)
	}
	if status := call("POST", "/fencepost/links", `[{"name": "x"}]`, &got); status != 400 {
		t.Errorf("%d %+v", status, got)
	}
}
