package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
	pb "google.golang.org/genproto/googleapis/firestore/v1"
	"google.golang.org/grpc"
)

// residentBytes is the resident size of the server's process (VmRSS in proc(5)).
func residentBytes() (float64, error) {
	if *process == 0 {
		return 0, errors.New("-process is needed")
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", *process))
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(status), "\n") {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "VmRSS:" {
			kilobytes, err := strconv.ParseFloat(words[1], 64)
			return kilobytes * 1024, err
		}
	}
	return 0, errors.New("no VmRSS")
}

// processorSeconds is the processor time that the server's process has used (utime and stime in proc(5), in hundredths of a second),
// or 0 where the system does not say.
func processorSeconds() float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", *process))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may hold anything.
	words := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(words) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(words[11], 64)
	system, _ := strconv.ParseFloat(words[12], 64)
	return (user + system) / 100
}

// share measures what the server's memory grows by for each of the things that open opens. Some are opened before, so that what the
// server needs for the first one does not count.
func share(open func() error) (Result, error) {
	for number := 0; number < max(*clients/10, 1); number++ {
		if err := open(); err != nil {
			return Result{}, err
		}
	}
	time.Sleep(time.Second)
	before, err := residentBytes()
	if err != nil {
		return Result{}, err
	}
	for number := 0; number < *clients; number++ {
		if err := open(); err != nil {
			return Result{Count: number}, err
		}
	}
	time.Sleep(time.Second)
	after, err := residentBytes()
	return Result{Bytes: (after - before) / float64(*clients), Count: *clients}, err
}

// idleListeners opens streams with a target of 10 documents each, on 10 connections, and lets them wait.
func idleListeners(ctx context.Context) (Result, error) {
	var connections []*grpc.ClientConn
	for len(connections) < 10 {
		connection, err := dial(ctx)
		if err != nil {
			return Result{}, err
		}
		defer connection.Close()
		connections = append(connections, connection)
	}
	opened := 0
	return share(func() error {
		stream, err := listen(expect(ctx, *documents), connections[opened%len(connections)], everything(*name), nil)
		if err != nil {
			return err
		}
		opened++
		if _, _, err = receiveSnapshot(stream); err != nil {
			return err
		}
		go stream.Recv()
		return nil
	})
}

// idleConnections opens connections that made one call each.
func idleConnections(ctx context.Context) (Result, error) {
	return share(func() error {
		connection, err := dial(ctx)
		if err != nil {
			return err
		}
		responses, err := pb.NewFirestoreClient(connection).BatchGetDocuments(asOwner(ctx), &pb.BatchGetDocumentsRequest{
			Database: database(), Documents: []string{database() + "/documents/" + *name + "/" + id(0)},
		})
		if err != nil {
			return err
		}
		for err == nil {
			_, err = responses.Recv()
		}
		return nil
	})
}

// pressure keeps 200 listeners on a collection that never read, while another client reads a large one (-size and -samples say how
// large) and a third one writes. It measures the largest resident size during that time.
func pressure(ctx context.Context) (Result, error) {
	client, err := connect(ctx)
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	var peak, written int64
	stopped := make(chan error, 2)
	go func() {
		for child.Err() == nil {
			now, err := residentBytes()
			if err != nil {
				stopped <- err
				return
			}
			if int64(now) > atomic.LoadInt64(&peak) {
				atomic.StoreInt64(&peak, int64(now))
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	var connections []*grpc.ClientConn
	for number := 0; number < *clients; number++ {
		if number%10 == 0 {
			// A fixed window: this client takes 64 KiB and no more.
			connection, err := dial(ctx, grpc.WithInitialWindowSize(65535), grpc.WithInitialConnWindowSize(1<<20))
			if err != nil {
				return Result{}, err
			}
			defer connection.Close()
			connections = append(connections, connection)
		}
		if _, err := listen(expect(child, *documents), connections[number/10], everything(*name), nil); err != nil {
			return Result{}, err
		}
	}
	go func() {
		for child.Err() == nil {
			if err := writeOne(child, client, int(written)); err != nil && child.Err() == nil {
				stopped <- err
				return
			}
			written++
		}
	}()
	count, err := readAll(expect(child, *samples), "large")
	if err == nil && count < *samples {
		err = fmt.Errorf("%d messages instead of %d", count, *samples)
	}
	// Those who do not read go on not reading for a while.
	if err == nil {
		time.Sleep(2 * time.Second)
	}
	select {
	case err = <-stopped:
	default:
	}
	return Result{Bytes: float64(atomic.LoadInt64(&peak)), Count: count}, err
}

func writeOne(ctx context.Context, client *firestore.Client, number int) error {
	index := number % *documents
	_, err := places(client).Doc(id(index)).Set(ctx, fields(index, number, *documents, 500))
	return err
}

// readAll reads a whole collection without decoding its documents.
func readAll(ctx context.Context, collection string) (int, error) {
	connection, err := dial(ctx)
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	stream, err := pb.NewFirestoreClient(connection).RunQuery(asOwner(ctx), &pb.RunQueryRequest{
		Parent:    database() + "/documents",
		QueryType: &pb.RunQueryRequest_StructuredQuery{StructuredQuery: everything(collection)},
	}, grpc.MaxCallRecvMsgSize(32<<20))
	if err != nil {
		return 0, err
	}
	for count := 0; ; count++ {
		var message rawMessage
		if err := stream.RecvMsg(&message); err != nil {
			if err.Error() == "EOF" {
				err = nil
			}
			return count, err
		}
	}
}

// scan measures how long commits take while the whole collection "many" is read repeatedly; with -samples 0 nothing is read.
func scan(ctx context.Context) (Result, error) {
	child, cancel := context.WithCancel(expect(ctx, *samples))
	defer cancel()
	failed := make(chan error, 1)
	if *samples > 0 {
		go func() {
			for child.Err() == nil {
				if _, err := readAll(child, "many"); err != nil && child.Err() == nil {
					failed <- err
					return
				}
			}
		}()
		time.Sleep(200 * time.Millisecond)
	}
	result, err := set(ctx)
	select {
	case err = <-failed:
	default:
	}
	return result, err
}
