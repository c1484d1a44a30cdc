import Foundation
import HearthModel
import HearthWire
import SwiftProtobuf
import Testing

private let translator = WireTranslator(database: database)
private let key = try! DocumentKey(parsing: "cities/SF")
private let name = "projects/demo/databases/(default)/documents/cities/SF"
private let target = Query(path: ResourcePath(["cities"])).target

private func reencoded(_ message: Google_Firestore_V1_ListenResponse) throws -> Google_Firestore_V1_ListenResponse {
  try Google_Firestore_V1_ListenResponse(serializedBytes: message.serializedBytes() as [UInt8])
}

@Suite("The watch stream on the wire")
struct WatchTranslationTests {
  @Test(
    "an added target is sent with all its parts, labelled by its purpose",
    arguments: [
      (TargetPurpose.listen, nil), (.limboResolution, "limbo-document"),
      (.existenceFilterMismatch, "existence-filter-mismatch"),
      (.existenceFilterMismatchBloom, "existence-filter-mismatch-bloom"),
    ] as [(TargetPurpose, String?)])
  func requests(purpose: TargetPurpose, label: String?) throws {
    let request = WatchRequest.addTarget(
      TargetRequest(targetID: 2, target: target, purpose: purpose, resumeToken: [1, 2], expectedCount: 12))
    let message = translator.encode(request)
    #expect(message.database == database.resourceName)
    #expect(message.labels["goog-listen-tags"] == label)
    #expect(message.addTarget.targetID == 2)
    #expect(message.addTarget.targetType == translator.encode(target))
    #expect(message.addTarget.resumeToken == Data([1, 2]))
    #expect(message.addTarget.expectedCount.value == 12)
  }

  @Test("a read time is sent only in place of a token")
  func readTime() throws {
    var request = TargetRequest(targetID: 2, target: target, readTime: SnapshotVersion(microseconds: 7))
    #expect(translator.encode(.addTarget(request)).addTarget.readTime.nanos == 7000)
    request.resumeToken = [1]
    #expect(translator.encode(.addTarget(request)).addTarget.resumeToken == Data([1]))
    request.resumeToken = []
    request.readTime = SnapshotVersion.none
    #expect(translator.encode(.addTarget(request)).addTarget.resumeType == nil)
    #expect(!translator.encode(.addTarget(request)).addTarget.hasExpectedCount)
  }

  @Test("a removed target is named by its number")
  func removal() {
    let message = translator.encode(.removeTarget(4))
    #expect(message.database == database.resourceName)
    #expect(message.targetChange == .removeTarget(4))
    #expect(message.labels.isEmpty)
  }

  @Test("answers come back as they were, also through bytes")
  func responses() throws {
    let found = Document.found(
      key, version: SnapshotVersion(microseconds: 9), createTime: SnapshotVersion(microseconds: 3),
      fields: EncodedFields(["a": .integer(1)]))
    let responses: [WatchResponse] = [
      .targetChange(WatchTargetChange(state: .added, targetIDs: [2])),
      .targetChange(
        WatchTargetChange(
          state: .noChange, resumeToken: [5], readTime: SnapshotVersion(microseconds: 10))),
      .targetChange(WatchTargetChange(state: .current, targetIDs: [2, 4], resumeToken: [1])),
      .targetChange(WatchTargetChange(state: .reset, targetIDs: [2])),
      .targetChange(
        WatchTargetChange(
          state: .removed, targetIDs: [2], cause: StatusError(code: .permissionDenied, message: "no"))),
      .documentChange(
        WatchDocumentChange(key: key, updatedTargetIDs: [2], removedTargetIDs: [4], document: found)),
      .documentChange(
        WatchDocumentChange(
          key: key, removedTargetIDs: [2], document: .missing(key, version: SnapshotVersion(microseconds: 8)))),
      .documentChange(WatchDocumentChange(key: key, removedTargetIDs: [2])),
      .existenceFilter(WatchExistenceFilter(targetID: 2, count: 0)),
      .existenceFilter(
        WatchExistenceFilter(
          targetID: 2, count: 3, unchangedNames: BloomFilterData(bitmap: [7, 1], padding: 2, hashCount: 5))),
    ]
    for response in responses {
      #expect(try translator.decode(reencoded(translator.encode(response))) == response)
    }
  }

  @Test("the fields of a document stay the bytes that they were")
  func bytesStay() throws {
    // An entry whose value is written before its key, which no encoder of ours does.
    let fields: [UInt8] = [0x12, 0x07, 0x12, 0x02, 0x10, 0x05, 0x0a, 0x01, 0x61]
    let document = Document.found(
      key, version: SnapshotVersion(microseconds: 9), fields: EncodedFields(uncheckedBytes: fields))
    let message = translator.encode(
      .documentChange(WatchDocumentChange(key: key, updatedTargetIDs: [2], document: document)))
    guard case .documentChange(let change) = try translator.decode(reencoded(message)) else {
      Issue.record("not a document change")
      return
    }
    #expect(change.document?.fields.bytes == fields)
    #expect(try change.document?.fields.value(at: FieldPath(["a"])) == .integer(5))
  }

  /// A malformed answer and the field that the error must name.
  struct Malformed: Sendable, CustomTestStringConvertible {
    var field: String
    var testDescription: String { field }
    var change: @Sendable (inout Google_Firestore_V1_ListenResponse) -> Void
  }

  static let malformed: [Malformed] = [
    Malformed(field: "ListenResponse.response_type") { _ in },
    Malformed(field: "ListenResponse.target_change.target_change_type") {
      $0.targetChange.targetChangeType = .UNRECOGNIZED(9)
    },
    Malformed(field: "ListenResponse.target_change.read_time.seconds") { $0.targetChange.readTime.seconds = .min },
    Malformed(field: "ListenResponse.document_change.document.name") { $0.documentChange = .init() },
    Malformed(field: "ListenResponse.document_change.document.update_time") {
      $0.documentChange.document = document(createTime: nil, updateTime: nil)
    },
    Malformed(field: "ListenResponse.document_change.document.update_time.seconds") {
      $0.documentChange.document = document(createTime: nil, updateTime: Timestamp(seconds: .max, nanoseconds: 0))
    },
    Malformed(field: "ListenResponse.document_change.document.create_time.seconds") {
      $0.documentChange.document = document(
        createTime: Timestamp(seconds: -62_135_596_801, nanoseconds: 0),
        updateTime: Timestamp(seconds: 1, nanoseconds: 0))
    },
    Malformed(field: "ListenResponse.document_change.document") { $0.documentChange.document = Data([0x0a]) },
    Malformed(field: "ListenResponse.document_delete.document") { $0.documentDelete.document = "cities/SF" },
    Malformed(field: "ListenResponse.document_delete.read_time.nanos") {
      $0.documentDelete.document = name
      $0.documentDelete.readTime.nanos = .max
    },
    Malformed(field: "ListenResponse.document_remove.document") {
      $0.documentRemove.document = "projects/demo/databases/other/documents/cities/SF"
    },
    Malformed(field: "ListenResponse.filter.count") { $0.filter.count = -1 },
  ]

  private static func document(createTime: Timestamp?, updateTime: Timestamp?) -> Data {
    Data(EncodedDocument.encode(name: name, fields: .empty, createTime: createTime, updateTime: updateTime))
  }

  @Test("a malformed answer is refused with the name of the field", arguments: malformed)
  func refusesMalformed(_ malformed: Malformed) throws {
    var message = Google_Firestore_V1_ListenResponse()
    malformed.change(&message)
    #expect(try wireError { _ = try translator.decode(message) }.field == malformed.field)
  }

  @Test("a deletion without a time is taken, as the official clients do")
  func deletionWithoutTime() throws {
    var message = Google_Firestore_V1_ListenResponse()
    message.documentDelete.document = name
    guard case .documentChange(let change) = try translator.decode(message) else {
      Issue.record("not a document change")
      return
    }
    #expect(change.document == .missing(key, version: .none))
  }
}

@Suite("Batch reads on the wire")
struct BatchGetTranslationTests {
  @Test("found and missing documents come back as they were")
  func roundTrip() throws {
    let request = translator.encodeBatchGet([key])
    #expect(request.database == database.resourceName)
    #expect(request.documents == [name])

    let readTime = SnapshotVersion(microseconds: 20)
    let found = Document.found(
      key, version: SnapshotVersion(microseconds: 9), createTime: SnapshotVersion(microseconds: 3),
      fields: EncodedFields(["a": .integer(1)]))
    let decoded = try #require(try translator.decode(translator.encodeBatchGetResponse(found, readTime: readTime)))
    #expect(decoded == found)
    #expect(decoded.createTime == found.createTime)
    #expect(decoded.readTime == readTime)

    let missing = Document.missing(key, version: readTime)
    #expect(try translator.decode(translator.encodeBatchGetResponse(missing, readTime: readTime)) == missing)
  }

  @Test("an answer that only opens a transaction holds no document; an empty one is refused")
  func withoutDocument() throws {
    var message = Google_Firestore_V1_BatchGetDocumentsResponse()
    #expect(try wireError { _ = try translator.decode(message) }.field == "BatchGetDocumentsResponse.result")
    message.transaction = Data([1])
    #expect(try translator.decode(message) == nil)
    message.missing = name
    #expect(try wireError { _ = try translator.decode(message) }.field == "BatchGetDocumentsResponse.read_time")
    message.readTime.seconds = 1
    message.missing = "x"
    #expect(try wireError { _ = try translator.decode(message) }.field == "BatchGetDocumentsResponse.missing")
  }
}
