// Command fencepost-proxy runs every link of one run: toxiproxy's own server, embedded.
//
// A link is one toxiproxy proxy with its listening and its upstream address; the harness creates
// and changes them over toxiproxy's ordinary REST API. This program is independent of plans and
// runs. Its only part about BookKeeper is the toxic of package bookkeeper, which registers itself; its
// rules, its counters and the wire log are at the routes of package endpoint.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"
)

// garbagePercent lets the heap of a few megabytes grow fivefold between collections: every chunk of
// every link is garbage a moment later, and collecting it took a twelfth of the processor time.
const garbagePercent = 400

func main() {
	calm()
	debug.SetGCPercent(garbagePercent)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stderr))
}

// run serves until SIGTERM or SIGINT, or until stdin ends when -exit-on-eof is given.
// It returns the exit code: 0 after an ordered end, 1 when it could not serve, 2 for wrong flags.
func run(args []string, stdin io.Reader, stderr io.Writer) int {
	flags := flag.NewFlagSet("fencepost-proxy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	host := flags.String("host", "127.0.0.1", "address of the REST API")
	port := flags.String("port", "8474", "port of the REST API")
	list := flags.String("links", "", "file with links to make at once, as POST /fencepost/links takes them")
	exitOnEOF := flags.Bool("exit-on-eof", false, "end when standard input ends")
	if err := flags.Parse(args); err != nil {
		return 2
	}

	logger := zerolog.New(stderr).Level(zerolog.InfoLevel).With().Timestamp().Logger()
	log.Logger = logger // toxics log through the package's logger

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if *exitOnEOF {
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			stop()
		}()
	}

	var links io.Reader
	if *list != "" {
		data, err := os.ReadFile(*list)
		if err != nil {
			fmt.Fprintf(stderr, "fencepost-proxy: the list of links: %v\n", err)
			return 2
		}
		links = bytes.NewReader(data)
	}

	listener, err := net.Listen("tcp", net.JoinHostPort(*host, *port))
	if err != nil {
		fmt.Fprintf(stderr, "fencepost-proxy: the REST API cannot listen: %v\n", err)
		return 1
	}
	if err := serve(ctx, listener, links, logger); err != nil {
		fmt.Fprintf(stderr, "fencepost-proxy: %v\n", err)
		return 1
	}
	return 0
}
