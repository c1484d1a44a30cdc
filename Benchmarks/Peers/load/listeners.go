package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"cloud.google.com/go/firestore"
	pb "google.golang.org/genproto/googleapis/firestore/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// fanOut measures the time from the start of a commit until each of the listeners has its snapshot. All listen to a query with
// 10 results; each commit changes one of them.
func fanOut(ctx context.Context) (Result, error) {
	return fan(ctx, groupSize, func(client *firestore.Client) firestore.Query { return group(client, 7) })
}

// fanOutLimit does the same with the first 25 of the whole collection, in the order of their ranks.
func fanOutLimit(ctx context.Context) (Result, error) {
	return fan(ctx, 25, func(client *firestore.Client) firestore.Query {
		return places(client).OrderBy("rank", firestore.Asc).Limit(25)
	})
}

func fan(ctx context.Context, count int, query func(*firestore.Client) firestore.Query) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := connect(ctx)
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	listener := client
	if *listening != 0 {
		// Another node of the same database.
		os.Setenv("FIRESTORE_EMULATOR_HOST", fmt.Sprintf("127.0.0.1:%d", *listening))
		if listener, err = connect(ctx); err != nil {
			return Result{}, err
		}
		defer listener.Close()
	}
	type arrival struct {
		revision int
		at       time.Time
	}
	arrivals := make(chan arrival, *clients*4)
	errs := make(chan error, *clients+1)
	for number := 0; number < *clients; number++ {
		go func() {
			snapshots := query(listener).Snapshots(expect(ctx, count))
			defer snapshots.Stop()
			for {
				snapshot, err := snapshots.Next()
				if err != nil {
					errs <- err
					return
				}
				newest := 0
				for _, change := range snapshot.Changes {
					newest = max(newest, revision(change.Doc))
				}
				arrivals <- arrival{newest, time.Now()}
			}
		}()
	}
	first := 0
	for first < *clients {
		select {
		case <-arrivals:
			first++
		case err := <-errs:
			return Result{}, err
		}
	}
	// The document with the lowest rank of all is also the first of a group; group 7 has document 7.
	index := 7
	if count == 25 {
		index = 0
	}
	// Revisions only rise, also from one run to the next.
	base := int(time.Now().UnixNano() / 1_000_000)
	var all times
	for sample := 0; sample < *samples+1; sample++ {
		revision := base + sample
		start := time.Now()
		go func() {
			_, err := places(client).Doc(id(index)).Set(notifying(ctx), fields(index, revision, *documents, 500))
			if err != nil {
				errs <- err
			}
		}()
		for arrived := 0; arrived < *clients; {
			select {
			case arrival := <-arrivals:
				if arrival.revision != revision {
					continue
				}
				arrived++
				// The first commit warms up.
				if sample > 0 {
					all = append(all, arrival.at.Sub(start).Seconds())
				}
			case err := <-errs:
				return all.result(), err
			}
		}
	}
	return all.result(), nil
}

func dial(ctx context.Context, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.DialContext(ctx, *host, append(options, grpc.WithInsecure(), grpc.WithBlock())...)
}

// asOwner is what the official client sends to an emulator.
func asOwner(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(
		ctx, "authorization", "Bearer owner", "google-cloud-resource-prefix", database())
}

func database() string { return "projects/" + project + "/databases/(default)" }

func everything(collection string) *pb.StructuredQuery {
	return &pb.StructuredQuery{From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: collection}}}
}

// firstRanks has as many results as its argument says.
func firstRanks(collection string, count int) *pb.StructuredQuery {
	query := everything(collection)
	query.Where = &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_FieldFilter{
		FieldFilter: &pb.StructuredQuery_FieldFilter{
			Field: &pb.StructuredQuery_FieldReference{FieldPath: "rank"}, Op: pb.StructuredQuery_FieldFilter_LESS_THAN,
			Value: &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: int64(count)}},
		}}}
	return query
}

// listen opens a stream and adds one target to it.
func listen(
	ctx context.Context, connection *grpc.ClientConn, query *pb.StructuredQuery, token []byte,
) (pb.Firestore_ListenClient, error) {
	stream, err := pb.NewFirestoreClient(connection).Listen(asOwner(ctx))
	if err != nil {
		return nil, err
	}
	target := &pb.Target{TargetId: 2, TargetType: &pb.Target_Query{Query: &pb.Target_QueryTarget{
		Parent: database() + "/documents", QueryType: &pb.Target_QueryTarget_StructuredQuery{StructuredQuery: query},
	}}}
	if token != nil {
		target.ResumeType = &pb.Target_ResumeToken{ResumeToken: token}
	}
	return stream, stream.Send(&pb.ListenRequest{
		Database: database(), TargetChange: &pb.ListenRequest_AddTarget{AddTarget: target}})
}

// receiveSnapshot reads until the target is current and the server says what time that is.
func receiveSnapshot(stream pb.Firestore_ListenClient) (documents int, token []byte, err error) {
	isCurrent := false
	for {
		response, err := stream.Recv()
		if err != nil {
			return documents, nil, err
		}
		switch change := response.ResponseType.(type) {
		case *pb.ListenResponse_DocumentChange:
			documents++
		case *pb.ListenResponse_TargetChange:
			switch change.TargetChange.TargetChangeType {
			case pb.TargetChange_CURRENT:
				isCurrent = true
			case pb.TargetChange_REMOVE:
				return documents, nil, fmt.Errorf("target removed: %v", change.TargetChange.Cause)
			case pb.TargetChange_NO_CHANGE:
				if isCurrent && len(change.TargetChange.TargetIds) == 0 && change.TargetChange.ReadTime != nil {
					return documents, change.TargetChange.ResumeToken, nil
				}
			}
		}
	}
}

// snapshot measures the time until all documents of the collection have come to one listener. They are counted, not decoded: the official
// client needs seconds to put so many documents in order, whoever sends them.
func snapshot(ctx context.Context) (Result, error) {
	connection, err := dial(ctx)
	if err != nil {
		return Result{}, err
	}
	defer connection.Close()
	var all times
	for sample := 0; sample < *samples; sample++ {
		child, cancel := context.WithCancel(expect(ctx, *documents))
		start := time.Now()
		stream, err := listen(child, connection, everything(*name), nil)
		if err != nil {
			cancel()
			return Result{}, err
		}
		// Each message of a document has more bytes than any other.
		for count := 0; count < *documents; {
			var message rawMessage
			if err := stream.RecvMsg(&message); err != nil {
				cancel()
				return Result{}, err
			}
			if message.size > 200 {
				count++
			}
		}
		all = append(all, time.Since(start).Seconds())
		cancel()
	}
	return all.result(), nil
}

// rawMessage is a message whose size alone is read.
type rawMessage struct{ size int }

func (m *rawMessage) Reset()         { m.size = 0 }
func (m *rawMessage) String() string { return fmt.Sprint(m.size) }
func (m *rawMessage) ProtoMessage()  {}
func (m *rawMessage) Unmarshal(data []byte) error {
	m.size = len(data)
	return nil
}
func (m *rawMessage) Marshal() ([]byte, error) { return nil, io.ErrUnexpectedEOF }

// resume measures the time from a request with a token to the snapshot, for a target with 10,000 results (fewer in small
// collections). Some of them have changed since.
func resume(ctx context.Context) (Result, error) {
	client, err := connect(ctx)
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	connection, err := dial(ctx)
	if err != nil {
		return Result{}, err
	}
	defer connection.Close()
	query := firstRanks(*name, *documents/2)
	child, cancel := context.WithCancel(expect(ctx, *documents/2))
	stream, err := listen(child, connection, query, nil)
	if err != nil {
		cancel()
		return Result{}, err
	}
	_, token, err := receiveSnapshot(stream)
	cancel()
	if err != nil {
		return Result{}, err
	}
	changed := 0
	for index := 0; changed < 10; index++ {
		if rank(index, *documents) >= *documents/2 {
			continue
		}
		changed++
		if _, err := places(client).Doc(id(index)).Set(ctx, fields(index, int(time.Now().Unix()), *documents, 500)); err != nil {
			return Result{}, err
		}
	}
	var all times
	received := 0
	for sample := 0; sample < *samples; sample++ {
		child, cancel := context.WithCancel(expect(ctx, changed))
		start := time.Now()
		stream, err := listen(child, connection, query, token)
		if err == nil {
			received, _, err = receiveSnapshot(stream)
		}
		cancel()
		if err != nil {
			return Result{}, err
		}
		all = append(all, time.Since(start).Seconds())
	}
	result := all.result()
	if received != changed {
		result.Note = fmt.Sprintf("%d documents sent", received)
	}
	return result, nil
}
