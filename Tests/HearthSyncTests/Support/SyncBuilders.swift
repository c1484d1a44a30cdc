import HearthModel

@testable import HearthSync

func key(_ path: String) -> DocumentKey {
  do { return try DocumentKey(parsing: path) } catch { fatalError("bad key in a test: \(error)") }
}

func version(_ microseconds: Int64) -> SnapshotVersion {
  SnapshotVersion(microseconds: microseconds)
}

func found(_ path: String, _ version: Int64, _ fields: MapValue = [:]) -> Document {
  .found(key(path), version: SnapshotVersion(microseconds: version), fields: EncodedFields(fields))
}

func missing(_ path: String, _ version: Int64) -> Document {
  .missing(key(path), version: SnapshotVersion(microseconds: version))
}

/// The document as it looks with a local write that the backend does not know.
func locallyWritten(_ path: String, _ fields: MapValue = [:]) -> Document {
  var document = found(path, 0, fields)
  document.mutationState = .hasLocalMutations
  return document
}

/// The document as it looks after the acknowledgement, before the watch stream has delivered it.
func committed(_ path: String, _ version: Int64, _ fields: MapValue = [:]) -> Document {
  var document = found(path, version, fields)
  document.mutationState = .hasCommittedMutations
  return document
}

func field(_ name: String) -> FieldPath {
  do { return try FieldPath(parsingUserFormat: name) } catch { fatalError("bad field in a test: \(error)") }
}

func collection(_ path: String) -> Query {
  do { return Query(path: try ResourcePath(parsing: path)) } catch { fatalError("bad path in a test: \(error)") }
}

/// The collection of most tests of shared caches.
let rooms = collection("rooms")

func number(_ n: Int64) -> MapValue { ["n": .integer(n)] }

func set(_ path: String, _ n: Int64 = 1) -> Mutation { .set(key(path), number(n)) }

extension Query {
  func ordered(by name: String, _ direction: OrderBy.Direction = .ascending) -> Query {
    with(order: OrderBy(path: field(name), direction: direction))
  }

  func filtered(_ name: String, _ op: FieldFilter.Operator, _ value: Value) -> Query {
    with(filter: .field(field(name), op, value))
  }
}

func error(_ code: StatusCode) -> StatusError {
  StatusError(code: code, message: "\(code)")
}

/// Short forms of changes, so that a failed expectation can be read: `"+a@1000"`.
func brief(_ changes: [DocumentViewChange]) -> [String] {
  changes.map { change in
    let sign =
      switch change.kind {
      case .added: "+"
      case .removed: "-"
      case .modified: "~"
      case .metadata: "="
      }
    return sign + change.document.key.id
  }
}

extension ViewSnapshot {
  var ids: [String] { documents.map(\.key.id) }

  /// A short form for comparisons: source, documents and changes.
  var summary: String {
    let source = isFromCache ? "cache" : "server"
    return "\(source)\(hasPendingWrites ? " pending" : "") [\(ids.joined(separator: " "))] "
      + brief(changes).joined(separator: " ")
  }
}
