package import HearthModel

/// A stored document, read in place: nothing is copied or decoded until it is needed.
///
/// It is valid only during the call that passes it.
package struct StoredDocument {
  /// The columns that a statement must return, in this order.
  static let columns = headColumns + ", fields"
  /// The columns that identify the state of the document. They are enough for ``kind``, ``version``, ``readTime`` and
  /// ``hasCommittedMutations``.
  static let headColumns = "id, kind, version, create_time, read_time, nanoseconds, has_committed_mutations"

  private enum Column {
    static let id = 0
    static let kind = 1
    static let version = 2
    static let createTime = 3
    static let readTime = 4
    static let nanoseconds = 5
    static let hasCommittedMutations = 6
    static let fields = 7
  }

  let statement: Statement
  /// The collection that holds the document.
  package let collection: ResourcePath

  /// Built at each call.
  package var key: DocumentKey {
    get throws(StoreError) {
      let id = try statement.string(at: Column.id)
      guard !id.isEmpty, !id.utf8.contains(UInt8(ascii: "/")) else {
        throw .corrupt("table documents, collection \(collection): \"\(id)\" is not a document id")
      }
      do throws(ModelError) {
        return try DocumentKey(collection.appending(id))
      } catch {
        throw .corrupt("table collections: \"\(collection)\" is not the path of a collection: \(error)")
      }
    }
  }

  package var kind: Document.Kind {
    get throws(StoreError) {
      switch try located({ () throws(StoreError) in try statement.int64(at: Column.kind) }) {
      case DocumentSchema.Kind.found: return .found
      case DocumentSchema.Kind.missing: return .missing
      case DocumentSchema.Kind.foundWithUnknownContents: return .foundWithUnknownContents
      case let number: throw StoreError.corrupt("\(number) is not a kind of document").at(place)
      }
    }
  }

  package var version: SnapshotVersion {
    get throws(StoreError) { try times.version }
  }

  package var readTime: SnapshotVersion {
    get throws(StoreError) { try times.readTime }
  }

  /// The size of the fields; 0 for a document that does not exist.
  var fieldBytes: Int { statement.byteCount(at: Column.fields) }

  /// False if the statement has left the fields out.
  var hasFields: Bool { !statement.isNull(at: Column.fields) }

  package var hasCommittedMutations: Bool {
    get throws(StoreError) {
      try located { () throws(StoreError) in try statement.int64(at: Column.hasCommittedMutations) != 0 }
    }
  }

  private var times: (version: SnapshotVersion, createTime: SnapshotVersion, readTime: SnapshotVersion) {
    get throws(StoreError) {
      try located { () throws(StoreError) in
        try StoredTimes(
          version: statement.int64(at: Column.version), createTime: statement.int64(at: Column.createTime),
          readTime: statement.int64(at: Column.readTime), nanoseconds: statement.int64(at: Column.nanoseconds)
        ).decoded()
      }
    }
  }

  /// Calls `body` with the fields in place. Malformed fields that `body` reads are reported as a corrupt database
  /// that names the document.
  package func withFields<R>(_ body: (EncodedFieldsView) throws -> R) throws -> R {
    do {
      return try statement.withBytes(at: Column.fields) { try body(EncodedFieldsView($0)) }
    } catch let error as WireFormatError {
      throw malformed(error)
    } catch let error as StoreError where error.kind == .corrupt {
      throw error.at(place)
    }
  }

  /// Returns whether the fields meet conditions. Malformed fields are reported as by ``withFields(_:)``.
  func meets(_ conditions: FieldConditions) throws -> Bool {
    do {
      return try conditions.areMet(by: EncodedFieldsView(statement.blob(at: Column.fields)))
    } catch let error as WireFormatError {
      throw malformed(error)
    } catch let error as StoreError where error.kind == .corrupt {
      throw error.at(place)
    }
  }

  private func malformed(_ error: WireFormatError) -> StoreError {
    StoreError.corrupt("fields are malformed: \(error)").at(place)
  }

  /// A copy that outlives the call. The fields are checked to be well formed as a whole.
  package func document() throws(StoreError) -> Document {
    try document(key: key)
  }

  func document(key: DocumentKey, withFields: Bool = true) throws(StoreError) -> Document {
    let kind = try kind
    let times = try times
    let isCommitted = try hasCommittedMutations
    var document: Document
    switch kind {
    case .found:
      document = .found(
        key, version: times.version, createTime: times.createTime, readTime: times.readTime,
        fields: withFields ? try fields() : EncodedFields(uncheckedBytes: []))
    case .missing:
      document = .missing(key, version: times.version, readTime: times.readTime)
    case .foundWithUnknownContents, .unknown:
      document = .foundWithUnknownContents(key, version: times.version)
      document.readTime = times.readTime
    }
    document.mutationState = isCommitted ? .hasCommittedMutations : .synced
    return document
  }

  private func fields() throws(StoreError) -> EncodedFields {
    let bytes = try located { () throws(StoreError) in try statement.bytes(at: Column.fields) }
    do throws(WireFormatError) {
      return try EncodedFields(validating: bytes)
    } catch {
      throw malformed(error)
    }
  }

  // MARK: - Writing

  /// Binds the columns of ``columns`` from parameter `first` on.
  static func bind(_ document: Document, to statement: Statement, from first: Int) throws(StoreError) {
    let kind: Int64
    switch document.kind {
    case .found: kind = DocumentSchema.Kind.found
    case .missing: kind = DocumentSchema.Kind.missing
    case .foundWithUnknownContents: kind = DocumentSchema.Kind.foundWithUnknownContents
    case .unknown: throw .misuse("Document \(document.key): there is nothing to store about an unknown document.")
    }
    let times = try StoredTimes(of: document)
    try statement.bind(first + Column.id, document.key.id)
    try statement.bind(first + Column.kind, kind)
    try statement.bind(first + Column.version, times.version)
    try statement.bind(first + Column.createTime, times.createTime)
    try statement.bind(first + Column.readTime, times.readTime)
    try statement.bind(first + Column.nanoseconds, times.nanoseconds)
    try statement.bind(first + Column.hasCommittedMutations, document.hasCommittedMutations ? 1 : 0)
    try statement.bind(first + Column.fields, document.fields.bytes)
  }

  // MARK: - Errors

  /// The table and the key, for messages.
  private var place: String {
    let id = (try? statement.string(at: Column.id)) ?? "?"
    return "table documents, \(collection)/\(id)"
  }

  private func located<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try body()
    } catch {
      throw error.at(place)
    }
  }
}
