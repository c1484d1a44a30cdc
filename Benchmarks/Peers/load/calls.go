package main

import (
	"context"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
)

// repeat calls from several goroutines for some seconds, on one connection. Calls that start in the first tenth are not counted, unless
// all are so slow that there are no others.
func repeat(ctx context.Context, call func(context.Context, *firestore.Client, *rand.Rand) error) (Result, error) {
	client, err := connect(ctx)
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	processor := processorSeconds()
	started := time.Now()
	// Each run makes other choices. Otherwise it would set the documents to what an earlier run has left there, and most sets would change
	// nothing.
	seed := started.UnixNano()
	begin := started.Add(toDuration(*seconds / 10))
	end := begin.Add(toDuration(*seconds))
	var mutex sync.Mutex
	var all, early times
	var last time.Time
	errs := make(chan error, *clients)
	for number := 0; number < *clients; number++ {
		go func(number int) {
			random := rand.New(rand.NewSource(seed + int64(number)))
			var mine, mineEarly times
			var finished time.Time
			for {
				start := time.Now()
				if start.After(end) {
					break
				}
				if err := call(ctx, client, random); err != nil {
					errs <- err
					return
				}
				finished = time.Now()
				if start.After(begin) {
					mine = append(mine, finished.Sub(start).Seconds())
				} else {
					mineEarly = append(mineEarly, finished.Sub(start).Seconds())
				}
			}
			mutex.Lock()
			all = append(all, mine...)
			early = append(early, mineEarly...)
			if finished.After(last) {
				last = finished
			}
			mutex.Unlock()
			errs <- nil
		}(number)
	}
	for number := 0; number < *clients; number++ {
		if err := <-errs; err != nil {
			return Result{}, err
		}
	}
	return rate(all, early, started, begin, last, processorSeconds()-processor), nil
}

// rate is the result of calls that were repeated from a time on, without the early ones unless there are no others. Slow calls end after
// the end, so the last one decides how long it took.
func rate(all, early times, started, begin, last time.Time, processor float64) Result {
	calls := len(all) + len(early)
	if len(all) == 0 {
		all, begin = early, started
	}
	result := all.result()
	result.Rate = float64(len(all)) / last.Sub(begin).Seconds()
	result.Processor = processor / float64(calls)
	return result
}

func set(ctx context.Context) (Result, error) {
	return repeat(ctx, func(ctx context.Context, client *firestore.Client, random *rand.Rand) error {
		index := random.Intn(*documents)
		_, err := places(client).Doc(id(index)).Set(ctx, fields(index, random.Intn(1000), *documents, 500))
		return err
	})
}

func get(ctx context.Context) (Result, error) {
	return repeat(ctx, func(ctx context.Context, client *firestore.Client, random *rand.Rand) error {
		_, err := places(client).Doc(id(random.Intn(*documents))).Get(ctx)
		return err
	})
}

// first measures the first call of a client to a server, connecting included.
func first(ctx context.Context) (Result, error) {
	start := time.Now()
	client, err := connect(ctx)
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	_, err = places(client).Doc(id(0)).Get(ctx)
	return times{time.Since(start).Seconds()}.result(), err
}

func equality(ctx context.Context) (Result, error) {
	return queries(ctx, groupSize, func(client *firestore.Client, random *rand.Rand) firestore.Query {
		return group(client, random.Intn(*documents))
	})
}

func rangeQuery(ctx context.Context) (Result, error) {
	return queries(ctx, 25, func(client *firestore.Client, random *rand.Rand) firestore.Query {
		return ranked(client, random.Intn(*documents/2))
	})
}

func queries(
	ctx context.Context, count int, query func(*firestore.Client, *rand.Rand) firestore.Query,
) (Result, error) {
	return repeat(expect(ctx, count), func(ctx context.Context, client *firestore.Client, random *rand.Rand) error {
		found, err := query(client, random).Documents(ctx).GetAll()
		if err == nil && len(found) != count {
			err = fmt.Errorf("%d documents instead of %d", len(found), count)
		}
		return err
	})
}

// fill writes the documents of a collection in batches of 400 (fewer if they are large), several at the same time.
func fill(ctx context.Context) (Result, error) {
	client, err := connect(ctx)
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	perBatch := min(400, max(8_000_000 / *size, 1))
	var next, written int64
	errs := make(chan error, *clients)
	start := time.Now()
	processor := processorSeconds()
	for number := 0; number < *clients; number++ {
		go func() {
			for {
				first := int(atomic.AddInt64(&next, int64(perBatch))) - perBatch
				if first >= *documents {
					errs <- nil
					return
				}
				batch := client.Batch()
				last := min(first+perBatch, *documents)
				for index := first; index < last; index++ {
					batch.Set(places(client).Doc(id(index)), fields(index, 0, *documents, *size))
				}
				if _, err := batch.Commit(ctx); err != nil {
					errs <- err
					return
				}
				atomic.AddInt64(&written, int64(last-first))
			}
		}()
	}
	for number := 0; number < *clients; number++ {
		if err := <-errs; err != nil {
			return Result{Count: int(atomic.LoadInt64(&written))}, err
		}
	}
	return Result{
		Rate: float64(*documents) / time.Since(start).Seconds(), Count: *documents,
		Processor: (processorSeconds() - processor) / float64(*documents),
	}, nil
}
