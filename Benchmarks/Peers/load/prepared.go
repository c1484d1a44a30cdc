package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/golang/protobuf/proto"
	"github.com/golang/protobuf/ptypes/timestamp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	pb "google.golang.org/genproto/googleapis/firestore/v1"
	"google.golang.org/genproto/googleapis/type/latlng"
)

// The scenarios "prepared-set" and "prepared-get" make the calls of "set" and "get" with messages that were encoded before the measurement
// begins, as HTTP/2 frames from one thread, one call after the other for each client. Google's client needs more processor time for a call
// than the servers do, so on a small machine it is what its scenarios measure.

// The messages that are prepared. A set gets a price of its own when it is sent, so each one changes its document.
const preparedCount = 4096

const databasePath = "projects/" + project + "/databases/(default)"

type preparedCall struct {
	message []byte
	// Where the price is in the message; 0 if it has none.
	price int
}

func preparedSet(ctx context.Context) (Result, error) {
	random := rand.New(rand.NewSource(time.Now().UnixNano()))
	calls := make([]preparedCall, preparedCount)
	for number := range calls {
		index := random.Intn(*documents)
		marker := math.Pi + float64(index)
		message, err := proto.Marshal(&pb.CommitRequest{
			Database: databasePath,
			Writes: []*pb.Write{{Operation: &pb.Write_Update{Update: &pb.Document{
				Name: documentPath(index), Fields: encodedFields(fields(index, 0, *documents, 500), marker),
			}}}},
		})
		if err != nil {
			return Result{}, err
		}
		place := bytes.Index(message, binary.LittleEndian.AppendUint64(nil, math.Float64bits(marker)))
		if place < 0 {
			return Result{}, fmt.Errorf("the message of document %d has no price", index)
		}
		calls[number] = preparedCall{message, place}
	}
	return runPrepared(ctx, "Commit", calls)
}

func preparedGet(ctx context.Context) (Result, error) {
	random := rand.New(rand.NewSource(time.Now().UnixNano()))
	calls := make([]preparedCall, preparedCount)
	for number := range calls {
		message, err := proto.Marshal(&pb.BatchGetDocumentsRequest{
			Database: databasePath, Documents: []string{documentPath(random.Intn(*documents))},
		})
		if err != nil {
			return Result{}, err
		}
		calls[number] = preparedCall{message, 0}
	}
	return runPrepared(ctx, "BatchGetDocuments", calls)
}

func documentPath(index int) string { return databasePath + "/documents/" + *name + "/" + id(index) }

// encodedFields are the fields of a sample document as messages, with another price.
func encodedFields(sample map[string]interface{}, price float64) map[string]*pb.Value {
	encoded := map[string]*pb.Value{}
	for field, value := range sample {
		encoded[field] = encodedValue(value)
	}
	encoded["price"] = &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: price}}
	return encoded
}

func encodedValue(value interface{}) *pb.Value {
	switch value := value.(type) {
	case string:
		return &pb.Value{ValueType: &pb.Value_StringValue{StringValue: value}}
	case int:
		return &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: int64(value)}}
	case float64:
		return &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: value}}
	case bool:
		return &pb.Value{ValueType: &pb.Value_BooleanValue{BooleanValue: value}}
	case time.Time:
		return &pb.Value{ValueType: &pb.Value_TimestampValue{TimestampValue: &timestamp.Timestamp{Seconds: value.Unix()}}}
	case *latlng.LatLng:
		return &pb.Value{ValueType: &pb.Value_GeoPointValue{GeoPointValue: value}}
	case []string:
		array := &pb.ArrayValue{}
		for _, element := range value {
			array.Values = append(array.Values, encodedValue(element))
		}
		return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: array}}
	case map[string]interface{}:
		entries := &pb.MapValue{Fields: map[string]*pb.Value{}}
		for field, entry := range value {
			entries.Fields[field] = encodedValue(entry)
		}
		return &pb.Value{ValueType: &pb.Value_MapValue{MapValue: entries}}
	}
	panic(fmt.Sprintf("a sample document has no %T", value))
}

// runPrepared repeats the calls as repeat does.
func runPrepared(ctx context.Context, method string, calls []preparedCall) (Result, error) {
	connection, err := dialFrames(ctx, method)
	if err != nil {
		return Result{}, err
	}
	defer connection.socket.Close()
	runtime.LockOSThread()
	processor := processorSeconds()
	started := time.Now()
	begin := started.Add(toDuration(*seconds / 10))
	end := begin.Add(toDuration(*seconds))
	// No two runs set the same prices.
	connection.price = float64(started.UnixNano() / 1000)
	var all, early times
	var last time.Time
	running := 0
	next := func() error {
		running++
		call := calls[connection.sent%len(calls)]
		return connection.send(call)
	}
	for running < *clients {
		if err := next(); err != nil {
			return Result{}, err
		}
	}
	for running > 0 {
		start, err := connection.receive()
		if err != nil {
			return Result{}, err
		}
		running--
		last = time.Now()
		if start.After(begin) {
			all = append(all, last.Sub(start).Seconds())
		} else {
			early = append(early, last.Sub(start).Seconds())
		}
		if last.Before(end) {
			if err := next(); err != nil {
				return Result{}, err
			}
		}
	}
	return rate(all, early, started, begin, last, processorSeconds()-processor), nil
}

// blocking is a socket that is read and written by blocking system calls: no other goroutine has to wake this one.
type blocking int

func (b blocking) Read(into []byte) (int, error) {
	for {
		count, err := syscall.Read(int(b), into)
		if err == syscall.EINTR {
			continue
		}
		if count == 0 && err == nil {
			return 0, fmt.Errorf("the server has closed the connection")
		}
		return count, err
	}
}

func (b blocking) Write(from []byte) (int, error) {
	written := 0
	for written < len(from) {
		count, err := syscall.Write(int(b), from[written:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return written, err
		}
		written += count
	}
	return written, nil
}

// frameConnection is one HTTP/2 connection for calls with one message each, all of one method.
type frameConnection struct {
	socket *os.File
	reader *bufio.Reader
	writer *bufio.Writer
	framer *http2.Framer
	// The header fields of each call; the encoder has them in its table after the first one.
	fields  []hpack.HeaderField
	block   bytes.Buffer
	encoder *hpack.Encoder
	body    []byte
	// Calls that were given to send, those that wait for the window included.
	sent    int
	waiting []preparedCall
	// Bytes of DATA that the server still accepts, and those that were received since the last update of our window.
	window   int
	received int
	streams  uint32
	starts   map[uint32]time.Time
	price    float64
}

const framesWindow = 1 << 24

func dialFrames(ctx context.Context, method string) (*frameConnection, error) {
	if *authority != "" {
		return nil, fmt.Errorf("prepared calls are for servers without TLS")
	}
	var dialer net.Dialer
	network, err := dialer.DialContext(ctx, "tcp", *host)
	if err != nil {
		return nil, err
	}
	socket, err := network.(*net.TCPConn).File()
	network.Close()
	if err != nil {
		return nil, err
	}
	// Fd makes the socket block.
	raw := blocking(socket.Fd())
	limit := syscall.NsecToTimeval(toDuration(*deadline).Nanoseconds())
	if err := syscall.SetsockoptTimeval(int(raw), syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit); err != nil {
		return nil, err
	}
	c := &frameConnection{
		socket: socket, reader: bufio.NewReaderSize(raw, 1<<16), writer: bufio.NewWriterSize(raw, 1<<17), window: 65535,
		starts: map[uint32]time.Time{}, streams: 1,
	}
	c.framer = http2.NewFramer(c.writer, c.reader)
	c.framer.SetReuseFrames()
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.encoder = hpack.NewEncoder(&c.block)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", "/google.firestore.v1.Firestore/" + method}, {":authority", *host},
		{"content-type", "application/grpc"}, {"te", "trailers"}, {"user-agent", "prepared"},
		{"authorization", "Bearer " + *token}, {"google-cloud-resource-prefix", databasePath}, {"echo-documents", "1"},
	} {
		c.fields = append(c.fields, hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	if _, err := c.writer.WriteString(http2.ClientPreface); err != nil {
		return nil, err
	}
	if err := c.framer.WriteSettings(); err != nil {
		return nil, err
	}
	return c, c.framer.WriteWindowUpdate(0, framesWindow)
}

// send sends a call, or lets it wait until the server accepts its message.
func (c *frameConnection) send(call preparedCall) error {
	c.sent++
	c.starts[c.streams+uint32(2*len(c.waiting))] = time.Now()
	if len(c.waiting) > 0 || len(call.message)+5 > c.window {
		c.waiting = append(c.waiting, call)
		return nil
	}
	return c.write(call)
}

func (c *frameConnection) write(call preparedCall) error {
	c.block.Reset()
	for _, field := range c.fields {
		if err := c.encoder.WriteField(field); err != nil {
			return err
		}
	}
	stream := c.streams
	c.streams += 2
	err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndHeaders: true})
	if err != nil {
		return err
	}
	c.body = append(binary.BigEndian.AppendUint32(append(c.body[:0], 0), uint32(len(call.message))), call.message...)
	if call.price > 0 {
		c.price++
		binary.LittleEndian.PutUint64(c.body[5+call.price:], math.Float64bits(c.price))
	}
	c.window -= len(c.body)
	return c.framer.WriteData(stream, true, c.body)
}

// receive waits until a call has ended and returns when it started. What was written is sent before it waits.
func (c *frameConnection) receive() (time.Time, error) {
	for {
		if c.reader.Buffered() == 0 {
			if err := c.writer.Flush(); err != nil {
				return time.Time{}, err
			}
		}
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return time.Time{}, err
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			if !frame.StreamEnded() {
				continue
			}
			if err := checkStatus(frame); err != nil {
				return time.Time{}, err
			}
			start := c.starts[frame.StreamID]
			delete(c.starts, frame.StreamID)
			return start, nil
		default:
			if err := c.handle(frame); err != nil {
				return time.Time{}, err
			}
		}
	}
}

// handle does what a frame asks for that ends no call.
func (c *frameConnection) handle(frame http2.Frame) error {
	switch frame := frame.(type) {
	case *http2.DataFrame:
		c.received += int(frame.Length)
		if c.received > framesWindow/2 {
			increment := uint32(c.received)
			c.received = 0
			return c.framer.WriteWindowUpdate(0, increment)
		}
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			return c.framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			return c.framer.WritePing(true, frame.Data)
		}
	case *http2.WindowUpdateFrame:
		if frame.StreamID != 0 {
			return nil
		}
		c.window += int(frame.Increment)
		for len(c.waiting) > 0 && len(c.waiting[0].message)+5 <= c.window {
			call := c.waiting[0]
			c.waiting = c.waiting[1:]
			if err := c.write(call); err != nil {
				return err
			}
		}
	case *http2.RSTStreamFrame:
		return fmt.Errorf("stream %d was reset: %v", frame.StreamID, frame.ErrCode)
	case *http2.GoAwayFrame:
		return fmt.Errorf("the server leaves: %v %s", frame.ErrCode, frame.DebugData())
	}
	return nil
}

func checkStatus(frame *http2.MetaHeadersFrame) error {
	status, message := "none", ""
	for _, field := range frame.RegularFields() {
		switch field.Name {
		case "grpc-status":
			status = field.Value
		case "grpc-message":
			message = field.Value
		}
	}
	if status != "0" {
		return fmt.Errorf("status %s: %s", status, message)
	}
	return nil
}
