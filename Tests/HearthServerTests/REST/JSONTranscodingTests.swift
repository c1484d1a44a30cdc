import Foundation
import HearthModel
import HearthWire
import SwiftProtobuf
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("JSON of protocol buffers")
struct JSONTranscodingTests {
  private let schema = ProtoSchema.server

  private func json(_ bytes: [UInt8], of name: String, isPretty: Bool = false) throws -> String {
    let index = try #require(schema.index(of: name))
    var output = JSONOutput(isPretty: isPretty)
    try bytes.withUnsafeBytes { try JSONEncoding(schema: schema).write($0, of: index, to: &output) }
    return String(decoding: output.bytes, as: UTF8.self)
  }

  private func bytes(_ json: String, of name: String) throws -> [UInt8] {
    let index = try #require(schema.index(of: name))
    return try JSONDecoding(schema: schema).message(index, from: Array(json.utf8)[...])
  }

  @Test("random messages are the same bytes after the way to JSON and back", arguments: SeededGenerator.seeds(20))
  func roundTrip(seed: UInt64) throws {
    var messages = RandomMessages(random: SeededGenerator(seed: seed))
    let names = [
      "Document", "Value", "CommitRequest", "CommitResponse", "RunQueryRequest", "RunQueryResponse",
      "RunAggregationQueryRequest", "BatchGetDocumentsResponse", "ListDocumentsResponse", "PartitionQueryRequest",
      "BatchWriteRequest", "UpdateDocumentRequest", "ListenResponse", "ExecutePipelineRequest",
    ]
    for name in names.map({ "google.firestore.v1." + $0 }) + ["google.protobuf.Struct", "google.rpc.BadRequest"] {
      for _ in 0..<10 {
        let original = messages.message(name)
        for isPretty in [false, true] {
          let json = try json(original, of: name, isPretty: isPretty)
          #expect(try bytes(json, of: name) == original, "seed \(seed), \(name): \(json)")
        }
      }
    }
  }

  @Test("the JSON is the same message to SwiftProtobuf, and its JSON to us", arguments: SeededGenerator.seeds(10))
  func sameAsSwiftProtobuf(seed: UInt64) throws {
    func check<Content: Message & Equatable>(_ type: Content.Type, _ original: [UInt8]) throws {
      let message = try Content(serializedBytes: original)
      let ours = try json(original, of: Content.protoMessageName)
      #expect(try Content(jsonString: ours) == message, "seed \(seed): \(ours)")
      let theirs = try message.jsonString()
      #expect(try Content(serializedBytes: bytes(theirs, of: Content.protoMessageName)) == message, "\(theirs)")
    }
    var messages = RandomMessages(random: SeededGenerator(seed: seed))
    for _ in 0..<20 {
      try check(Google_Firestore_V1_Document.self, messages.message("google.firestore.v1.Document"))
      try check(Google_Firestore_V1_ExplainMetrics.self, messages.message("google.firestore.v1.ExplainMetrics"))
      try check(Google_Firestore_V1_WriteResult.self, messages.message("google.firestore.v1.WriteResult"))
      try check(Google_Firestore_V1_TransactionOptions.self, messages.message("google.firestore.v1.TransactionOptions"))
      try check(Google_Firestore_V1_DocumentTransform.FieldTransform.self, [])
    }
  }

  @Test("fields in another order on the wire are merged as every reader merges them")
  func unorderedFields() throws {
    let name = "google.firestore.v1.Document"
    let later = try bytes(#"{"updateTime": "1970-01-01T00:00:05Z", "name": "b"}"#, of: name)
    let first = try bytes(#"{"name": "a", "fields": {"x": {"booleanValue": true}}}"#, of: name)
    #expect(
      try json(later + first, of: name)
        == #"{"name":"a","fields":{"x":{"booleanValue":true}},"updateTime":"1970-01-01T00:00:05Z"}"#)
  }

  @Test("each kind of value has the JSON that is documented")
  func golden() throws {
    let fields = """
      {"name":"n","fields":{"null":{"nullValue":null},"bool":{"booleanValue":false},"int":{"integerValue":"-9223372036854775808"},\
      "double":{"doubleValue":-0},"nan":{"doubleValue":"NaN"},"inf":{"doubleValue":"-Infinity"},"one":{"doubleValue":1},\
      "time":{"timestampValue":"1969-12-31T23:59:59.000001Z"},"text":{"stringValue":"\\"\\u003c\\n"},"bytes":{"bytesValue":"+/8="},\
      "ref":{"referenceValue":"r"},"geo":{"geoPointValue":{"latitude":1.5}},"list":{"arrayValue":{"values":[{"nullValue":null}]}},\
      "map":{"mapValue":{}}},"createTime":"0001-01-01T00:00:00Z","updateTime":"9999-12-31T23:59:59.999999999Z"}
      """
    let document = try bytes(fields, of: "google.firestore.v1.Document")
    #expect(try json(document, of: "google.firestore.v1.Document") == fields)
  }

  @Test(
    "what may be written in several ways is read in each",
    arguments: [
      ("google.firestore.v1.Value", #"{"integerValue": 5}"#, #"{"integerValue":"5"}"#),
      ("google.firestore.v1.Value", #"{"integer_value": 5.0}"#, #"{"integerValue":"5"}"#),
      ("google.firestore.v1.Value", #"{"integerValue": 1e3}"#, #"{"integerValue":"1000"}"#),
      ("google.firestore.v1.Value", #"{"doubleValue": "1.5"}"#, #"{"doubleValue":1.5}"#),
      ("google.firestore.v1.Value", #"{"bytesValue": "-_8"}"#, #"{"bytesValue":"+/8="}"#),
      (
        "google.firestore.v1.Value", #"{"timestampValue": "2020-02-29T01:00:00.12+01:00"}"#,
        #"{"timestampValue":"2020-02-29T00:00:00.120Z"}"#
      ),
      ("google.firestore.v1.StructuredQuery.Order", #"{"direction": 2}"#, #"{"direction":"DESCENDING"}"#),
      ("google.firestore.v1.StructuredQuery", #"{"limit": "7", "offset": null}"#, #"{"limit":7}"#),
      ("google.protobuf.FieldMask", #""a.bC,d""#, #""a.bC,d""#),
      ("google.protobuf.Struct", #"{"a": [1, "x", null, {"b": true}]}"#, #"{"a":[1,"x",null,{"b":true}]}"#),
      ("google.protobuf.Duration", #""-1.5s""#, #""-1.500s""#),
      (
        "google.protobuf.Any", #"{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}"#,
        #"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}"#
      ),
      ("google.firestore.v1.Document", "{}", "{}"),
    ])
  func leniency(name: String, input: String, expected: String) throws {
    #expect(try json(bytes(input, of: name), of: name) == expected)
  }

  @Test(
    "JSON that is no such message is refused in Google's words",
    arguments: [
      (#"{"x": 1}"#, #"Invalid JSON payload received. Unknown name "x": Cannot find field."#),
      (
        #"{"fields": {"a": {"intValue": 1}}}"#,
        #"Invalid JSON payload received. Unknown name "intValue" at 'fields[a].value': Cannot find field."#
      ),
      (
        #"{"fields": {"a": {"integerValue": "x"}}}"#,
        #"Invalid value at 'fields[a].value.integer_value' (TYPE_INT64), "x""#
      ),
      (
        #"{"fields": {"a": {"integerValue": 1.5}}}"#,
        "Invalid value at 'fields[a].value.integer_value' (TYPE_INT64), 1.5"
      ),
      (
        #"{"fields": {"a": {"integerValue": "9223372036854775808"}}}"#,
        #"Invalid value at 'fields[a].value.integer_value' (TYPE_INT64), "9223372036854775808""#
      ),
      (#"{"fields": {"a": {"booleanValue": 1}}}"#, "Invalid value at 'fields[a].value.boolean_value' (TYPE_BOOL), 1"),
      (#"{"fields": {"a": {"stringValue": 1}}}"#, "Invalid value at 'fields[a].value.string_value' (TYPE_STRING), 1"),
      (
        #"{"fields": {"a": {"stringValue": "a", "integerValue": 1}}}"#,
        "Invalid value at 'fields[a].value' (oneof), oneof field 'value_type' is already set. Cannot set 'integerValue'"
      ),
      (#"{"fields": {"a": {}, "a": {}}}"#, "Invalid value at 'fields': Repeated map key: 'a' is already set."),
      (#"{"name": "a", "name": "b"}"#, #"Repeated field "name": a name may stand once in an object."#),
      (#"{"fields": []}"#, "Invalid value at 'fields' (Map), Starting a list on a scalar field"),
      (
        #"{"name": ["a"]}"#,
        #"Invalid JSON payload received. Unknown name "name" at 'name': Proto field is not repeating, cannot start list."#
      ),
      (
        #"{"createTime": "2021-02-29T00:00:00Z"}"#,
        #"Invalid value at 'create_time' (google.protobuf.Timestamp), "2021-02-29T00:00:00Z""#
      ),
      (
        #"{"createTime": "10000-01-01T00:00:00Z"}"#,
        #"Invalid value at 'create_time' (google.protobuf.Timestamp), "10000-01-01T00:00:00Z""#
      ),
      (
        #"{"fields": {"a": {"bytesValue": "a b"}}}"#,
        #"Invalid value at 'fields[a].value.bytes_value': Base64 decoding failed for "a b""#
      ),
      ("[]", "Invalid JSON payload received. Root element must be a message."),
      ("{", "Invalid JSON payload received. a string in quotation marks is expected (byte 1)."),
    ])
  func refusals(input: String, message: String) throws {
    do {
      _ = try bytes(input, of: "google.firestore.v1.Document")
      Issue.record("\(input) was accepted")
    } catch let failure as RESTFailure {
      #expect(failure.message == message)
    }
  }

  @Test("names of fields that differ only in Unicode's normalisation are two")
  func normalization() throws {
    let json = "{\"fields\":{\"\u{E9}\":{\"nullValue\":null},\"e\u{301}\":{\"nullValue\":null}}}"
    #expect(try self.json(bytes(json, of: "google.firestore.v1.Document"), of: "google.firestore.v1.Document") == json)
  }

  @Test("random bytes are no crash", arguments: SeededGenerator.seeds(20))
  func noise(seed: UInt64) throws {
    var messages = RandomMessages(random: SeededGenerator(seed: seed))
    let index = try #require(schema.index(of: "google.firestore.v1.CommitRequest"))
    for _ in 0..<100 {
      var bytes = messages.message("google.firestore.v1.CommitRequest")
      for _ in 0..<3 where !bytes.isEmpty {
        bytes[messages.random.below(bytes.count)] = UInt8(messages.random.below(256))
      }
      var output = JSONOutput(isPretty: false)
      let isRead =
        (try? bytes.withUnsafeBytes { try JSONEncoding(schema: schema).write($0, of: index, to: &output) }) != nil
      // The output is JSON, whatever the bytes were.
      if isRead { _ = try JSONTextReader.read(output.bytes[...]) }
    }
  }

  @Test("messages nested 10,000 levels deep are an error, not the end of the stack")
  func depth() throws {
    var bytes: [UInt8] = []
    for _ in 0..<10_000 {
      var array = WireWriter()
      array.writeBytes(bytes, field: 1)
      var value = WireWriter()
      value.writeBytes(array.bytes, field: 9)
      bytes = value.bytes
    }
    #expect(throws: WireFormatError.self) { try json(bytes, of: "google.firestore.v1.Value") }
  }
}
