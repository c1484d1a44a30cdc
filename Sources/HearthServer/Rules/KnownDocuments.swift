internal import HearthModel
internal import HearthRules

/// The documents that rules look up for one request.
struct KnownDocuments {
  private let database: DatabaseID
  /// Compared by bytes, as names of documents are.
  private var states: [LookedUpDocument: DocumentLookup] = [:]
  private var used: Set<LookedUpDocument> = []
  /// Documents that the query names and on whose contents the answer depends.
  private var named: Set<LookedUpDocument> = []
  private var usesTime = false
  /// The bytes of the documents that were looked up.
  private(set) var bytes = 0
  let effort: RuleEffort

  init(_ database: DatabaseID, _ effort: RuleEffort) {
    self.database = database
    self.effort = effort
  }

  /// One of another database is none.
  subscript(document: LookedUpDocument) -> DocumentLookup {
    if let state = states[document] { return state }
    return DocumentKey(document.path, in: database) == nil ? .missing : .notRead
  }

  func has(_ document: LookedUpDocument) -> Bool {
    if case .notRead = self[document] { false } else { true }
  }

  var basis: RuleBasis {
    RuleBasis(
      documents: Set(used.union(named).compactMap { DocumentKey($0.path, in: database) }), usesTime: usesTime)
  }

  /// The documents that are wanted and not known, each under the name by which it is wanted.
  func unread(among wanted: [LookedUpDocument]) -> [(name: LookedUpDocument, key: DocumentKey)] {
    wanted.filter { !has($0) }.compactMap { name in DocumentKey(name.path, in: database).map { (name, $0) } }
  }

  /// - Parameter isWritten: True for a document as the request leaves it.
  /// - Returns: The effort.
  mutating func add(
    _ document: Document, for name: LookedUpDocument, isWritten: Bool = false
  ) throws(StatusError) -> Int {
    let (map, effort) = try effort.fields(of: document)
    bytes += document.fields.bytes.count
    states[name] = map.map { .found($0) } ?? (isWritten ? .removed : .missing)
    return effort
  }

  /// As ``RuleEffort/takeTurn()``.
  func takeTurn() -> Bool { effort.takeTurn() }

  /// - Returns: The number of documents that were looked up by now.
  mutating func note(_ decision: RuleDecision) -> Int {
    used.formUnion(decision.documents)
    named.formUnion(decision.named)
    usesTime = usesTime || decision.usesTime
    return used.count
  }
}
