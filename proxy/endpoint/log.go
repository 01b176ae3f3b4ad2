package endpoint

import (
	"errors"
	"net/http"
	"path/filepath"
	"strconv"

	"fencepost/proxy/wirelog"
)

// openLog takes {"path": absolute folder, "run_id": "decimal u64"}.
func (e *Endpoint) openLog(request *http.Request) (int, any, error) {
	var order struct {
		Path  string `json:"path"`
		RunID string `json:"run_id"`
	}
	if err := decode(request.Body, &order); err != nil {
		return 0, nil, err
	}
	if !filepath.IsAbs(order.Path) {
		return 0, nil, &failure{http.StatusBadRequest, "the path is not absolute", "path", order.Path, "an absolute path"}
	}
	run, err := strconv.ParseUint(order.RunID, 10, 64)
	if err != nil {
		return 0, nil, &failure{
			http.StatusBadRequest, "the run id is no number", "run_id", order.RunID, "0 to 2^64-1, decimal, as a string",
		}
	}
	if err := e.registry.Log.Open(order.Path, run); err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, wirelog.ErrOpen) || errors.Is(err, wirelog.ErrNotEmpty) {
			status = http.StatusConflict
		}
		return 0, nil, &failure{status: status, Text: err.Error(), Field: "path", Value: order.Path}
	}
	return http.StatusCreated, e.describedLog(), nil
}

func (e *Endpoint) getLog(*http.Request) (int, any, error) {
	return http.StatusOK, e.describedLog(), nil
}

func (e *Endpoint) describedLog() any {
	return struct {
		wirelog.Counts
		Links map[string]int `json:"links"`
	}{e.registry.Log.Counts(), e.registry.Log.Links()}
}
