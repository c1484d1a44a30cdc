import HearthModel
import HearthSync
import HearthWire
import SwiftProtobuf

/// Feeds the messages of a file to a listening client and compares the snapshots.
///
/// The files describe a server SDK, which watches one target on a stream, shows complete results only and believes what the
/// stream says. A mobile client also shows what the cache has, and asks the backend about a document that left the
/// result although it still matches. So its snapshots marked as coming from the cache are folded into the next one that
/// is not, which must be the one that the file expects.
struct ListenCheck {
  private let body: JSON

  init(_ body: JSON) {
    self.body = body
  }

  func differences() throws -> [String] {
    let client = try ListeningClient()
    var shown: [Shown] = []
    for response in body["responses"]?.elements ?? [] {
      let round = try client.receive(response)
      if let snapshot = Shown(folding: round, readTime: client.readTime) { shown.append(snapshot) }
      if let error = client.error {
        return body["isError"]?.isTrue == true ? [] : ["the listener ended: \(error)"]
      }
    }
    if body["isError"]?.isTrue == true { return ["the listener goes on, where an error is expected"] }
    let expected = body["snapshots"]?.elements ?? []
    guard shown.count == expected.count else {
      return ["\(shown.count) snapshots are not \(expected.count): \(shown.map(\.summary))"]
    }
    return try zip(shown, expected).enumerated().flatMap { index, pair in
      try pair.0.differences(from: pair.1).map { "snapshots[\(index)]: \($0)" }
    }
  }
}

/// The changes and the result that a listener has seen when a result is complete.
private struct Shown {
  private struct Change {
    var kind: String
    var document: Document
    var oldIndex: Int
    var newIndex: Int
  }

  private var documents: [Document]
  private var changes: [Change]
  private var readTime: SnapshotVersion

  /// - Parameter snapshots: The snapshots raised since the last complete result. The initializer returns nil if they show nothing new.
  init?(folding snapshots: ListeningClient.Round, readTime: SnapshotVersion) {
    guard let last = snapshots.raised.last, !last.isFromCache else { return nil }
    documents = Array(last.documents)
    let withChanges = snapshots.raised.filter { !$0.changes.isEmpty }
    if withChanges.count == 1 {
      changes = withChanges[0].changes.map { change in
        Change(
          kind: change.kind == .added ? "ADDED" : change.kind == .removed ? "REMOVED" : "MODIFIED",
          document: change.document, oldIndex: change.oldIndex ?? -1, newIndex: change.newIndex ?? -1)
      }
    } else {
      changes = Self.changes(from: snapshots.documentsBefore, to: Array(last.documents))
    }
    guard !changes.isEmpty || snapshots.isFirst else { return nil }
    self.readTime = readTime
  }

  /// The changes between two results: removed, added, modified, each in query order, with indexes for carrying them out one
  /// after the other.
  private static func changes(from old: [Document], to new: [Document]) -> [Change] {
    var current = old
    var changes: [Change] = []
    let newKeys = Set(new.map(\.key))
    for document in old where !newKeys.contains(document.key) {
      guard let index = current.firstIndex(where: { $0.key == document.key }) else { continue }
      current.remove(at: index)
      changes.append(Change(kind: "REMOVED", document: document, oldIndex: index, newIndex: -1))
    }
    let remaining = Dictionary(uniqueKeysWithValues: current.map { ($0.key, $0) })
    for document in new where remaining[document.key] == nil {
      let index = position(of: document, in: current, ordered: new)
      current.insert(document, at: index)
      changes.append(Change(kind: "ADDED", document: document, oldIndex: -1, newIndex: index))
    }
    for document in new {
      guard let before = remaining[document.key], before != document,
        let oldIndex = current.firstIndex(where: { $0.key == document.key })
      else { continue }
      current.remove(at: oldIndex)
      let index = position(of: document, in: current, ordered: new)
      current.insert(document, at: index)
      changes.append(Change(kind: "MODIFIED", document: document, oldIndex: oldIndex, newIndex: index))
    }
    return changes
  }

  /// Returns the index of the document among those that are already there.
  private static func position(of document: Document, in current: [Document], ordered: [Document]) -> Int {
    let before = Set(ordered.prefix { $0.key != document.key }.map(\.key))
    return current.lastIndex { before.contains($0.key) }.map { $0 + 1 } ?? 0
  }

  var summary: String {
    "[\(documents.map(\.key.id).joined(separator: " "))] "
      + changes.map { "\($0.kind) \($0.document.key.id) \($0.oldIndex) \($0.newIndex)" }.joined(separator: ", ")
  }

  func differences(from expected: JSON) throws -> [String] {
    var differences: [String] = []
    let actualDocuments = try documents.map(bytes)
    let expectedDocuments = try (expected["docs"]?.elements ?? []).map(bytes)
    if actualDocuments != expectedDocuments {
      differences.append("the documents \(documents.map(\.key.id)) or their contents are not as expected")
    }
    let expectedChanges = expected["changes"]?.elements ?? []
    if changes.count == expectedChanges.count {
      for (index, (change, json)) in zip(changes, expectedChanges).enumerated() where try !equals(change, json) {
        differences.append("changes[\(index)] is \(change), expected is \(try json.text)")
      }
    } else {
      differences.append("\(changes.count) changes are not \(expectedChanges.count): \(summary)")
    }
    let time = try Google_Protobuf_Timestamp(jsonString: try expected.required("readTime").text)
    if readTime != SnapshotVersion(Timestamp(seconds: time.seconds, nanoseconds: time.nanos)) {
      differences.append("the read time is \(readTime)")
    }
    return differences
  }

  private func equals(_ change: Change, _ json: JSON) throws -> Bool {
    // Zero is left out in protobuf's JSON form.
    try json["kind"]?.string == change.kind && json["oldIndex"]?.integer ?? 0 == change.oldIndex
      && json["newIndex"]?.integer ?? 0 == change.newIndex && bytes(change.document) == bytes(json.required("doc"))
  }

  private func bytes(_ document: Document) throws -> [UInt8] {
    try canonicalBytes(
      Google_Firestore_V1_Document(
        serializedBytes: WireTranslator(database: ListeningClient.databaseID).encodeDocument(document)))
  }

  private func bytes(_ json: JSON) throws -> [UInt8] {
    try canonicalBytes(Google_Firestore_V1_Document(jsonString: json.text))
  }
}
