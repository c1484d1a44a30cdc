// Google's Go client under load on a single connection.
//
// Many goroutines set and get documents while a query listener waits for a document that changes every 50 ms. Uses
// FIRESTORE_EMULATOR_HOST and GOOGLE_CLOUD_PROJECT. Ends with a line "go load: calls=… errors=0 …" and status 0, or with
// status 1 if a call failed, an attempt had to be repeated, the connection broke, or the listener missed the last change.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand"
	"net"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

const (
	beatInterval = 50 * time.Millisecond
	getsPerSet   = 4
	shownErrors  = 5
	// For the calls before the load, for those that are still unanswered at its end, and for the listener's last report.
	answerLimit = 10 * time.Second
)

// watcher records what the client library does not report: dials, ended connections, and attempts that it repeats by itself.
type watcher struct {
	dials, brokenConnections, failedAttempts, listenStreams int64
	// Not 0 once the program itself ends its streams and its connection.
	closing int32

	lock   sync.Mutex
	errors int64
	texts  []string
}

type methodKey struct{}

func (w *watcher) dial(ctx context.Context, address string) (net.Conn, error) {
	atomic.AddInt64(&w.dials, 1)
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

func (w *watcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (w *watcher) HandleConn(_ context.Context, event stats.ConnStats) {
	if _, ended := event.(*stats.ConnEnd); ended && atomic.LoadInt32(&w.closing) == 0 {
		atomic.AddInt64(&w.brokenConnections, 1)
	}
}

func (w *watcher) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if info.FullMethodName == "/google.firestore.v1.Firestore/Listen" {
		atomic.AddInt64(&w.listenStreams, 1)
	}
	return context.WithValue(ctx, methodKey{}, info.FullMethodName)
}

func (w *watcher) HandleRPC(ctx context.Context, event stats.RPCStats) {
	end, ended := event.(*stats.End)
	if !ended || end.Error == nil || atomic.LoadInt32(&w.closing) != 0 {
		return
	}
	atomic.AddInt64(&w.failedAttempts, 1)
	w.show(fmt.Errorf("attempt of %v: %v", ctx.Value(methodKey{}), end.Error))
}

// failed counts a call that returned an error or a wrong answer.
func (w *watcher) failed(err error) {
	w.lock.Lock()
	w.errors++
	w.lock.Unlock()
	w.show(err)
}

func (w *watcher) show(err error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if len(w.texts) < shownErrors {
		w.texts = append(w.texts, err.Error())
	}
}

// owner lets the calls pass the rules, as the client does by itself when it dials an emulator.
type owner struct{}

func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

func (owner) RequireTransportSecurity() bool { return false }

func newClient(ctx context.Context, w *watcher, pings bool) (*firestore.Client, error) {
	address := os.Getenv("FIRESTORE_EMULATOR_HOST")
	if address == "" {
		return nil, fmt.Errorf("FIRESTORE_EMULATOR_HOST is not set")
	}
	project := os.Getenv("GOOGLE_CLOUD_PROJECT")
	if project == "" {
		project = "go-load"
	}
	// With the variable set, the client dials a connection of its own and ignores dial options.
	if err := os.Unsetenv("FIRESTORE_EMULATOR_HOST"); err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithInsecure(), grpc.WithPerRPCCredentials(owner{}), grpc.WithStatsHandler(w), grpc.WithContextDialer(w.dial),
	}
	if !pings {
		// Windows of a fixed size make the client stop measuring the bandwidth, which it does with pings.
		options = append(options, grpc.WithInitialWindowSize(1<<20), grpc.WithInitialConnWindowSize(1<<20))
	}
	connection, err := grpc.Dial(address, options...)
	if err != nil {
		return nil, err
	}
	// A client that is given a connection has a pool of exactly that one.
	return firestore.NewClient(ctx, project, option.WithGRPCConn(connection))
}

// fields returns ten fields; "number" names the document, so that a reader can tell a foreign answer from its own.
func fields(number, version int) map[string]interface{} {
	return map[string]interface{}{
		"number":     number,
		"version":    version,
		"name":       fmt.Sprintf("document %d", number),
		"text":       "The quick brown fox jumps over the lazy dog.",
		"ratio":      float64(version) / 3,
		"open":       version%2 == 0,
		"nothing":    nil,
		"created":    time.Unix(1600000000, 0).UTC(),
		"regions":    []string{"west_coast", "norcal", "socal"},
		"population": map[string]interface{}{"city": 873965, "metro": 4566961},
	}
}

// worker is one goroutine's share of the load. Only this goroutine sets its document; every goroutine gets all of them.
type worker struct {
	watcher   *watcher
	documents []*firestore.DocumentRef
	number    int
	random    *rand.Rand
	version   int
	gets      int
	sets      int
}

func (k *worker) set(ctx context.Context) {
	k.version++
	k.sets++
	if _, err := k.documents[k.number].Set(ctx, fields(k.number, k.version)); err != nil {
		k.watcher.failed(fmt.Errorf("set of document %d: %v", k.number, err))
	}
}

func (k *worker) get(ctx context.Context) {
	k.gets++
	number := k.random.Intn(len(k.documents))
	snapshot, err := k.documents[number].Get(ctx)
	if err != nil {
		k.watcher.failed(fmt.Errorf("get of document %d: %v", number, err))
		return
	}
	data := snapshot.Data()
	if data["number"] != int64(number) || len(data) != len(fields(0, 0)) {
		k.watcher.failed(fmt.Errorf("get of document %d returned %v", number, data))
	}
}

// run makes calls until the deadline has passed.
func (k *worker) run(ctx context.Context, mode string, deadline time.Time) {
	for step := 0; time.Now().Before(deadline) && ctx.Err() == nil; step++ {
		if mode == "set" || mode == "mixed" && step%(getsPerSet+1) == 0 {
			k.set(ctx)
		} else {
			k.get(ctx)
		}
	}
}

// beats is a document that changes every 50 ms, and when each change was committed and heard of.
type beats struct {
	watcher  *watcher
	document *firestore.DocumentRef

	lock sync.Mutex
	// By sequence number: when the commit began, when it had returned, and when the listener reported it. A listener may skip a
	// change that was overwritten by the next one, and may report one before the commit has returned.
	begun, returned, heard map[int64]time.Time
	last, lastHeard        int64
	progress               chan struct{}
}

func newBeats(w *watcher, document *firestore.DocumentRef) *beats {
	return &beats{
		watcher: w, document: document, last: -1, lastHeard: -1, progress: make(chan struct{}, 1),
		begun: map[int64]time.Time{}, returned: map[int64]time.Time{}, heard: map[int64]time.Time{},
	}
}

// commit writes the next sequence number; 0 is the state from which the listener starts.
func (b *beats) commit(ctx context.Context) {
	b.lock.Lock()
	sequence := b.last + 1
	b.begun[sequence] = time.Now()
	b.lock.Unlock()
	_, err := b.document.Set(ctx, map[string]interface{}{"kind": "beat", "sequence": sequence})
	if err != nil {
		b.watcher.failed(fmt.Errorf("beat %d: %v", sequence, err))
		return
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	b.returned[sequence] = time.Now()
	b.last = sequence
}

// run commits a change at every tick until the deadline has passed, and at least one.
func (b *beats) run(ctx context.Context, deadline time.Time) {
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for {
		b.commit(ctx)
		if now := <-ticker.C; !now.Before(deadline) || ctx.Err() != nil {
			return
		}
	}
}

// listen reports changes until the context is cancelled.
func (b *beats) listen(ctx context.Context) {
	snapshots := b.document.Parent.Where("kind", "==", "beat").Snapshots(ctx)
	for {
		snapshot, err := snapshots.Next()
		now := time.Now()
		if atomic.LoadInt32(&b.watcher.closing) != 0 {
			return
		}
		if err != nil {
			b.watcher.failed(fmt.Errorf("listener: %v", err))
			return
		}
		for _, change := range snapshot.Changes {
			sequence, found := change.Doc.Data()["sequence"].(int64)
			if !found || change.Kind == firestore.DocumentRemoved {
				b.watcher.failed(fmt.Errorf("listener: change of kind %d to %v", change.Kind, change.Doc.Data()))
				continue
			}
			b.lock.Lock()
			if sequence <= b.lastHeard {
				b.lock.Unlock()
				b.watcher.failed(fmt.Errorf("listener: beat %d came after beat %d", sequence, b.lastHeard))
				continue
			}
			b.heard[sequence] = now
			b.lastHeard = sequence
			b.lock.Unlock()
		}
		select {
		case b.progress <- struct{}{}:
		default:
		}
	}
}

// waitForLast waits until the listener has reported the last change that was committed.
func (b *beats) waitForLast(limit time.Duration) bool {
	timeout := time.After(limit)
	for {
		b.lock.Lock()
		complete := b.last >= 0 && b.lastHeard >= b.last
		b.lock.Unlock()
		if complete {
			return true
		}
		select {
		case <-b.progress:
		case <-timeout:
			return false
		}
	}
}

// latencies returns the milliseconds between the begin (or the return) of each commit and the listener's report of it, sorted.
func (b *beats) latencies(since map[int64]time.Time) []float64 {
	b.lock.Lock()
	defer b.lock.Unlock()
	var result []float64
	for sequence, heard := range b.heard {
		// What the listener started from was not a change to it.
		if start, found := since[sequence]; found && sequence > 0 {
			result = append(result, float64(heard.Sub(start))/float64(time.Millisecond))
		}
	}
	sort.Float64s(result)
	return result
}

// percentile returns the smallest value that at least this share of the sorted values does not exceed.
func percentile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(math.Ceil(share*float64(len(sorted))))-1]
}

// load is what all goroutines share.
type load struct {
	watcher *watcher
	workers []*worker
	beats   *beats
	cancel  context.CancelFunc
}

func newLoad(client *firestore.Client, w *watcher, goroutines int, cancel context.CancelFunc) *load {
	collection := client.Collection(fmt.Sprintf("load-%d", time.Now().UnixNano()))
	var documents []*firestore.DocumentRef
	for number := 0; number < goroutines; number++ {
		documents = append(documents, collection.Doc(fmt.Sprintf("document-%d", number)))
	}
	l := &load{watcher: w, cancel: cancel, beats: newBeats(w, client.Collection(collection.ID+"-beats").Doc("beat"))}
	for number := range documents {
		l.workers = append(l.workers, &worker{
			watcher: w, documents: documents, number: number, random: rand.New(rand.NewSource(int64(number))),
		})
	}
	return l
}

// inParallel runs the work of every goroutine, and gives up on calls that are not answered within the limit.
func (l *load) inParallel(limit time.Duration, work func(*worker), others ...func()) {
	giveUp := time.AfterFunc(limit, func() {
		l.watcher.failed(fmt.Errorf("a call was not answered within %v", answerLimit))
		l.cancel()
	})
	defer giveUp.Stop()
	var group sync.WaitGroup
	start := func(body func()) {
		group.Add(1)
		go func() {
			defer group.Done()
			body()
		}()
	}
	for _, k := range l.workers {
		k := k
		start(func() { work(k) })
	}
	for _, other := range others {
		start(other)
	}
	group.Wait()
}

// prepare creates every document and starts the listener.
func (l *load) prepare(ctx context.Context) {
	l.inParallel(answerLimit, func(k *worker) { k.set(ctx); k.sets = 0 }, func() { l.beats.commit(ctx) })
	go l.beats.listen(ctx)
	if !l.beats.waitForLast(answerLimit) {
		l.watcher.failed(fmt.Errorf("the listener did not report its first state within %v", answerLimit))
	}
}

// run makes calls for the duration, and returns the seconds until the last of them was answered.
func (l *load) run(ctx context.Context, mode string, duration time.Duration) float64 {
	start := time.Now()
	deadline := start.Add(duration)
	l.inParallel(
		duration+answerLimit, func(k *worker) { k.run(ctx, mode, deadline) }, func() { l.beats.run(ctx, deadline) })
	elapsed := time.Since(start).Seconds()
	if !l.beats.waitForLast(answerLimit) {
		l.watcher.failed(fmt.Errorf("the listener did not report the last beat within %v", answerLimit))
	}
	// The client reopens a listener's stream without a word, also where the server ended it without an error.
	if streams := atomic.LoadInt64(&l.watcher.listenStreams); streams != 1 {
		l.watcher.failed(fmt.Errorf("the client opened %d streams for one listener", streams))
	}
	return elapsed
}

// report prints the first errors and the closing line, and returns whether everything went well.
func (l *load) report(seconds float64) bool {
	gets, sets := 0, 0
	for _, k := range l.workers {
		gets += k.gets
		sets += k.sets
	}
	fromBegin, fromReturn := l.beats.latencies(l.beats.begun), l.beats.latencies(l.beats.returned)
	w := l.watcher
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, text := range w.texts {
		fmt.Fprintln(os.Stderr, "go load: error:", text)
	}
	dials, broken := atomic.LoadInt64(&w.dials), atomic.LoadInt64(&w.brokenConnections)
	failedAttempts := atomic.LoadInt64(&w.failedAttempts)
	fmt.Printf(
		"go load: calls=%d gets_per_second=%.0f sets_per_second=%.0f errors=%d failed_attempts=%d connections=%d "+
			"broken_connections=%d beats=%d listener_events=%d listener_p50_ms=%.1f listener_p99_ms=%.1f "+
			"after_commit_p50_ms=%.1f after_commit_p99_ms=%.1f\n",
		gets+sets, float64(gets)/seconds, float64(sets)/seconds, w.errors, failedAttempts, dials, broken,
		l.beats.last, len(fromBegin), percentile(fromBegin, 0.5), percentile(fromBegin, 0.99),
		percentile(fromReturn, 0.5), percentile(fromReturn, 0.99))
	return w.errors == 0 && failedAttempts == 0 && dials == 1 && broken == 0
}

func main() {
	goroutines := flag.Int("goroutines", 64, "how many goroutines make calls at the same time")
	seconds := flag.Float64("seconds", 20, "how long they make calls")
	mode := flag.String("mode", "mixed", "get, set, or mixed (4 gets for each set)")
	pings := flag.Bool("pings", true, "ping beside calls, as the client does unless told otherwise")
	flag.Parse()
	if *mode != "get" && *mode != "set" && *mode != "mixed" || *goroutines < 1 || *seconds <= 0 || flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}

	// Cancelled by hand: a deadline in the context would make the client send one with every call.
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{}
	client, err := newClient(ctx, w, *pings)
	if err != nil {
		fmt.Fprintln(os.Stderr, "go load:", err)
		os.Exit(2)
	}
	l := newLoad(client, w, *goroutines, cancel)
	l.prepare(ctx)
	elapsed := l.run(ctx, *mode, time.Duration(*seconds*float64(time.Second)))
	atomic.StoreInt32(&w.closing, 1)
	cancel()
	if !l.report(elapsed) {
		os.Exit(1)
	}
}
