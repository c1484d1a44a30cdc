package main

import (
	"context"
	"flag"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/golang/protobuf/ptypes/timestamp"
	"github.com/golang/protobuf/ptypes/wrappers"
	pb "google.golang.org/genproto/googleapis/firestore/v1"
)

// The targets of one stream in the scenarios of bursts. Each commit of a burst concerns all of them.
var burstTargets = map[string]func() []*pb.Target{
	"burst-limit": func() []*pb.Target { return queryTargets(byRank(pb.StructuredQuery_ASCENDING, burstLimit)) },
	// As clients send limitToLast: with the order reversed.
	"burst-limit-to-last": func() []*pb.Target { return queryTargets(byRank(pb.StructuredQuery_DESCENDING, burstLimit)) },
	// A limit of twice the documents that there are.
	"burst-limit-not-reached": func() []*pb.Target { return queryTargets(byRank(pb.StructuredQuery_ASCENDING, 2*burstSize)) },
	"burst-eight": func() []*pb.Target {
		all := queryTargets(
			byRank(pb.StructuredQuery_ASCENDING, burstLimit), byRank(pb.StructuredQuery_DESCENDING, burstLimit),
			byRank(pb.StructuredQuery_ASCENDING, 2*burstSize), byRank(pb.StructuredQuery_DESCENDING, burstLimit+5),
			everything(burstCollection), byRank(pb.StructuredQuery_ASCENDING, 0), firstRanks(burstCollection, burstSize))
		var names []string
		for index := 0; index < burstSize; index++ {
			names = append(names, burstName(index))
		}
		return append(all, &pb.Target{
			TargetType: &pb.Target_Documents{Documents: &pb.Target_DocumentsTarget{Documents: names}}})
	},
}

const (
	burstCollection = "bursts"
	burstSize       = 40
	burstLimit      = 30
	// The documents that come and go: ranks 10 to 29, which are in every target's result.
	firstVictim, victims = 10, 20
)

func queryTargets(all ...*pb.StructuredQuery) []*pb.Target {
	var targets []*pb.Target
	for _, query := range all {
		targets = append(targets, &pb.Target{TargetType: &pb.Target_Query{Query: &pb.Target_QueryTarget{
			Parent: database() + "/documents", QueryType: &pb.Target_QueryTarget_StructuredQuery{StructuredQuery: query},
		}}})
	}
	return targets
}

// byRank is the collection in the order of its ranks; a limit of 0 is none.
func byRank(direction pb.StructuredQuery_Direction, limit int) *pb.StructuredQuery {
	query := everything(burstCollection)
	query.OrderBy = []*pb.StructuredQuery_Order{{
		Field: &pb.StructuredQuery_FieldReference{FieldPath: "rank"}, Direction: direction}}
	if limit > 0 {
		query.Limit = &wrappers.Int32Value{Value: int32(limit)}
	}
	return query
}

// burst measures the time from the start of a commit until the stream's snapshot contains it, while commits follow each other without
// a pause. Each takes a document out of all results or puts it back. The worst of all is what counts: a wake-up that is lost shows as one
// snapshot that comes when something else wakes the stream. The number of clients has to divide that of the documents that come and go.
func burst(ctx context.Context) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connection, err := dial(ctx)
	if err != nil {
		return Result{}, err
	}
	defer connection.Close()
	server := pb.NewFirestoreClient(connection)
	var all []*pb.Write
	for index := 0; index < burstSize; index++ {
		all = append(all, burstSet(index))
	}
	if _, err := server.Commit(asOwner(ctx), &pb.CommitRequest{Database: database(), Writes: all}); err != nil {
		return Result{}, err
	}
	stream, err := server.Listen(asOwner(ctx))
	if err != nil {
		return Result{}, err
	}
	targets := burstTargets[flag.Arg(0)]()
	for number, target := range targets {
		target.TargetId = int32(2 + 2*number)
		if err := stream.Send(&pb.ListenRequest{
			Database: database(), TargetChange: &pb.ListenRequest_AddTarget{AddTarget: target}}); err != nil {
			return Result{}, err
		}
	}
	burst := burstRun{server: server, snapshots: make(chan moment, 1024), failures: make(chan error, *clients+1)}
	go func() { burst.failures <- burst.receive(stream, len(targets)) }()
	select {
	case <-burst.snapshots:
	case err := <-burst.failures:
		return Result{}, err
	}
	return burst.measure(ctx)
}

// moment is a version, and when its commit was begun or its snapshot came.
type moment struct{ version, at time.Time }

type burstRun struct {
	server    pb.FirestoreClient
	snapshots chan moment
	failures  chan error
}

// receive says when which version has come, from the first snapshot on in which all targets are current.
func (b burstRun) receive(stream pb.Firestore_ListenClient, targets int) error {
	current := map[int32]bool{}
	for {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		change := response.GetTargetChange()
		if change == nil {
			continue
		}
		switch change.TargetChangeType {
		case pb.TargetChange_REMOVE:
			return fmt.Errorf("target removed: %v", change.Cause)
		case pb.TargetChange_CURRENT:
			for _, target := range change.TargetIds {
				current[target] = true
			}
		case pb.TargetChange_NO_CHANGE:
			if len(current) == targets && len(change.TargetIds) == 0 && change.ReadTime != nil {
				b.snapshots <- moment{at(change.ReadTime), time.Now()}
			}
		}
	}
}

// measure lets the clients write, and waits for a snapshot with the last commit.
func (b burstRun) measure(ctx context.Context) (Result, error) {
	commits := make(chan moment, *clients)
	var writers sync.WaitGroup
	for number := 0; number < *clients; number++ {
		writers.Add(1)
		go func(number int) {
			defer writers.Done()
			b.write(ctx, number, commits)
		}(number)
	}
	go func() { writers.Wait(); close(commits) }()
	var newest time.Time
	var begun, arrived []moment
	for commits != nil || len(arrived) == 0 || arrived[len(arrived)-1].version.Before(newest) {
		select {
		case commit, more := <-commits:
			if !more {
				commits = nil
				continue
			}
			begun = append(begun, commit)
			if commit.version.After(newest) {
				newest = commit.version
			}
		case snapshot := <-b.snapshots:
			arrived = append(arrived, snapshot)
		case err := <-b.failures:
			return Result{}, err
		}
	}
	var all times
	for _, commit := range begun {
		first := sort.Search(len(arrived), func(i int) bool { return !arrived[i].version.Before(commit.version) })
		all = append(all, arrived[first].at.Sub(commit.at).Seconds())
	}
	result := all.result()
	result.Worst = all.percentile(1)
	return result, nil
}

// write commits one write after the other: two for each document, which goes and comes back.
func (b burstRun) write(ctx context.Context, number int, commits chan<- moment) {
	for sample := 0; sample < *samples / *clients; sample++ {
		index := firstVictim + (number+sample/2**clients)%victims
		write := burstSet(index)
		if sample%2 == 0 {
			write = &pb.Write{Operation: &pb.Write_Delete{Delete: burstName(index)}}
		}
		start := time.Now()
		response, err := b.server.Commit(
			asOwner(ctx), &pb.CommitRequest{Database: database(), Writes: []*pb.Write{write}})
		if err != nil {
			b.failures <- err
			return
		}
		commits <- moment{at(response.CommitTime), start}
	}
}

func burstName(index int) string {
	return database() + "/documents/" + burstCollection + "/" + id(index)
}

func burstSet(index int) *pb.Write {
	return &pb.Write{Operation: &pb.Write_Update{Update: &pb.Document{
		Name: burstName(index),
		Fields: map[string]*pb.Value{
			"rank": {ValueType: &pb.Value_IntegerValue{IntegerValue: int64(index)}},
			"text": {ValueType: &pb.Value_StringValue{StringValue: "one of the documents that come and go"}},
		},
	}}}
}

func at(version *timestamp.Timestamp) time.Time {
	return time.Unix(version.Seconds, int64(version.Nanos))
}
