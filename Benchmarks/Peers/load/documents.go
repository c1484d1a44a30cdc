package main

import (
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/genproto/googleapis/type/latlng"
)

// The number of documents with the same group.
const groupSize = 10

var words = []string{
	"harbour", "orchard", "lantern", "meadow", "quarry", "station", "terrace", "velvet", "willow", "zephyr",
}

// id spreads the numbers over the key space; 7919 is prime and divides no size that is used, so no two are the same.
func id(index int) string {
	return fmt.Sprintf("%07dplaceplaceplace", index*7919%10_000_000)[:20]
}

func groups(count int) int { return max(count/groupSize, 1) }

// rank is a number below the count that no other document has, in no order.
func rank(index, count int) int { return index * 7919 % count }

// fields has 11 fields of about 500 bytes together; size makes the notes longer. Another revision has other values of
// the same size, with the same group and rank.
func fields(index, revision, count, size int) map[string]interface{} {
	// Not math/rand: seeding it costs more than the rest.
	state := uint32(index + revision*7919)
	next := func(below int) int {
		state = state*1664525 + 1013904223
		return int(state>>16) % below
	}
	word := func() string { return words[next(len(words))] }
	var notes strings.Builder
	for notes.Len() < 170+size-500 {
		notes.WriteString(word())
		notes.WriteByte(' ')
	}
	return map[string]interface{}{
		"title":     fmt.Sprintf("Place number %d", index),
		"group":     index % groups(count),
		"rank":      rank(index, count),
		"price":     float64(revision),
		"active":    index%2 == 0,
		"createdAt": time.Unix(1_700_000_000+int64(index), 0),
		"tags":      []string{word(), word(), word()},
		"location":  &latlng.LatLng{Latitude: float64(next(180) - 90), Longitude: float64(next(360) - 180)},
		"address":   map[string]interface{}{"street": fmt.Sprintf("%s street %d", word(), index%200), "city": word()},
		"owner":     id(index + 1),
		"notes":     notes.String()[:170+size-500],
	}
}

// revision reads back which revision a document is.
func revision(document *firestore.DocumentSnapshot) int {
	price, _ := document.Data()["price"].(float64)
	return int(price)
}

func places(client *firestore.Client) *firestore.CollectionRef { return client.Collection(*name) }

// group is the query with groupSize results.
func group(client *firestore.Client, number int) firestore.Query {
	return places(client).Where("group", "==", number%groups(*documents))
}

// ranked is the query with a limit of 25.
func ranked(client *firestore.Client, start int) firestore.Query {
	return places(client).Where("rank", ">=", start).OrderBy("rank", firestore.Asc).Limit(25)
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}
