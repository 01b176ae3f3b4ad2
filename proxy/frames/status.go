package frames

import "sort"

// NoStatus stands for "there is no status": a request, or an answer that never came.
const NoStatus int32 = -1

// foreignV2 is added to a V2 code that has no V3 equivalent, so that it stays visible as itself.
const foreignV2 int32 = 100_000

// Statuses are the answers' codes by their names in the protocol. The wire log and the rules speak
// V3's numbers for both protocols.
var Statuses = map[string]int32{
	"EOK": 0, "ENOLEDGER": 402, "ENOENTRY": 403, "EBADREQ": 404, "EIO": 501, "EUA": 502, "EBADVERSION": 503,
	"EFENCED": 504, "EREADONLY": 505, "ETOOMANYREQUESTS": 506, "EUNKNOWNLEDGERSTATE": 507,
}

// StatusNames are the names of all statuses, sorted.
func StatusNames() []string {
	names := make([]string, 0, len(Statuses))
	for name := range Statuses {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// fromV2 turns a V2 code into V3's number.
func fromV2(code int32) int32 {
	switch {
	case code == 0:
		return 0
	case code == 1 || code == 2:
		return 401 + code
	case code == 100:
		return 404
	case code >= 101 && code <= 107:
		return 400 + code
	}
	return foreignV2 + code
}

// toV2 turns V3's number into a V2 code; false when V2 has no such code.
func toV2(status int32) (int32, bool) {
	switch {
	case status == 0:
		return 0, true
	case status == 402 || status == 403:
		return status - 401, true
	case status == 404:
		return 100, true
	case status >= 501 && status <= 507:
		return status - 400, true
	}
	return 0, false
}
