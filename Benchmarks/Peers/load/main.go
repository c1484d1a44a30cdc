// Command load puts load on a Firestore server with Google's Go client and prints what it measured as one line of JSON.
//
// It is built without network from Debian's golang-google-cloud-dev, see scripts/bench. One process measures one scenario against one
// server. All calls of a scenario use one connection, as programs with this client do, unless the scenario is about connections.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// The same project in all runs; the database is the default one.
const project = "benchmark"

var (
	host      = flag.String("host", "", "HOST:PORT of the server")
	clients   = flag.Int("clients", 1, "goroutines that call at the same time, or listeners")
	documents = flag.Int("documents", 20000, "documents of the collection")
	samples   = flag.Int("samples", 10, "commits to measure, or changes to make")
	seconds   = flag.Float64("seconds", 1, "how long to repeat the calls")
	deadline  = flag.Float64("deadline", 60, "seconds after which the scenario is given up")
	size      = flag.Int("size", 500, "bytes of a document, where the scenario fills")
	process   = flag.Int("process", 0, "the server's process, whose resident size is read")
	name      = flag.String("collection", "places", "the collection")
	authority = flag.String("ca", "", "file with the authority of the server's certificate; none for a server without TLS")
	listening = flag.Int("listeners-port", 0, "port of this machine to which the listeners connect instead; 0 for the host")
	token     = flag.String("token", "owner", "bearer token of the calls")
)

// Result is what one scenario measured. Fields that do not apply are left out.
type Result struct {
	// Operations or documents per second.
	Rate float64 `json:"rate,omitempty"`
	// Seconds.
	P50 float64 `json:"p50,omitempty"`
	P99 float64 `json:"p99,omitempty"`
	// Of all, where the slowest matters.
	Worst float64 `json:"worst,omitempty"`
	// Bytes: a resident size, or the share of one listener or connection.
	Bytes float64 `json:"bytes,omitempty"`
	// Seconds of the server's processor time for each operation, those that warm up included.
	Processor float64 `json:"processor,omitempty"`
	// The number of measured calls, snapshots or documents.
	Count int `json:"count,omitempty"`
	// Says why there is no figure, or what is special about it.
	Note string `json:"note,omitempty"`
}

var scenarios = map[string]func(context.Context) (Result, error){
	"fill": fill, "set": set, "get": get, "equality": equality, "range": rangeQuery,
	"prepared-set": preparedSet, "prepared-get": preparedGet,
	"fan-out": fanOut, "fan-out-limit": fanOutLimit, "snapshot": snapshot, "resume": resume,
	"first": first, "idle-listeners": idleListeners, "idle-connections": idleConnections, "pressure": pressure, "scan": scan,
	"burst-limit": burst, "burst-limit-to-last": burst, "burst-limit-not-reached": burst, "burst-eight": burst,
}

func main() {
	flag.Parse()
	run, ok := scenarios[flag.Arg(0)]
	if !ok || *host == "" {
		fmt.Fprintln(os.Stderr, "usage: load -host HOST:PORT [flags] SCENARIO")
		os.Exit(2)
	}
	if !isProtected() {
		os.Setenv("FIRESTORE_EMULATOR_HOST", *host)
	}
	ctx, cancel := context.WithTimeout(context.Background(), toDuration(*deadline))
	defer cancel()
	result, err := run(ctx)
	if err != nil {
		if ctx.Err() == nil && status.Code(err) != codes.DeadlineExceeded {
			fmt.Fprintf(os.Stderr, "load %s: %v\n", flag.Arg(0), err)
			os.Exit(1)
		}
		result.Note = fmt.Sprintf("not within %.0f s", *deadline)
	}
	line, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func toDuration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func connect(ctx context.Context) (*firestore.Client, error) {
	if !isProtected() {
		return firestore.NewClient(ctx, project)
	}
	connection, err := dialProtected()
	if err != nil {
		return nil, err
	}
	return firestore.NewClient(ctx, project, option.WithGRPCConn(connection))
}

// expect tells the echo service how many documents the answer has; other servers ignore it.
func expect(ctx context.Context, count int) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "echo-documents", strconv.Itoa(count))
}

// notifying tells the echo service that the commit is for the listeners.
func notifying(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "echo-notify", "1")
}

// times is a list of durations in seconds.
type times []float64

func (t times) percentile(p float64) float64 {
	if len(t) == 0 {
		return 0
	}
	sorted := append(times(nil), t...)
	sort.Float64s(sorted)
	return sorted[int(p*float64(len(sorted)-1)+0.5)]
}

func (t times) result() Result {
	return Result{P50: t.percentile(0.5), P99: t.percentile(0.99), Count: len(t)}
}
