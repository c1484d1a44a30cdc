internal import HearthModel

/// Several writes of one document in a request. Production combines them into one write before it looks at the document. Writes that cannot
/// be combined are refused, whatever the document is (integration tests of the official SDKs; the texts are those of Google's emulator).
struct WriteCombinations {
  private enum Kind: String {
    /// For a document that must not exist.
    case insert
    /// For a document that must exist.
    case update
    /// For both.
    case upsert
    case delete
    /// Only for a precondition.
    case verify
  }

  private struct Combined {
    var kind: Kind
    /// The version that the stored document must have.
    var base: SnapshotVersion?
    var transformCount: Int
  }

  private let database: DatabaseID
  private var documents: [DocumentKey: Combined] = [:]

  private init(database: DatabaseID) {
    self.database = database
  }

  /// Checks the writes of a request. A second precondition on the version that the first one demands is met by it, and goes.
  ///
  /// - Throws: INVALID_ARGUMENT.
  static func check(_ mutations: inout [Mutation], in database: DatabaseID) throws(StatusError) {
    guard mutations.count > 1 else { return }
    var combinations = WriteCombinations(database: database)
    combinations.documents.reserveCapacity(mutations.count)
    for index in mutations.indices {
      if try combinations.isMetByEarlier(mutations[index]) { mutations[index].precondition = .none }
    }
  }

  private mutating func isMetByEarlier(_ mutation: Mutation) throws(StatusError) -> Bool {
    let kind = Self.kind(of: mutation)
    var base: SnapshotVersion?
    if case .updateTime(let version) = mutation.precondition { base = version }
    guard var earlier = documents[mutation.key] else {
      documents[mutation.key] = Combined(kind: kind, base: base, transformCount: mutation.transforms.count)
      return false
    }
    try Self.requireNoVerify(earlier.kind, kind)
    try Self.requireOrder(earlier.kind, mutation, kind)
    if let base, base != earlier.base { throw Self.otherVersion(base, than: earlier.base) }
    if kind == .delete {
      earlier.kind = .delete
    } else if earlier.kind == .delete {
      earlier.kind = .upsert
    }
    earlier.transformCount += mutation.transforms.count
    try WriteLimits.checkTransforms(count: earlier.transformCount, of: mutation.key, in: database)
    documents[mutation.key] = earlier
    return base != nil
  }

  private static func kind(of mutation: Mutation) -> Kind {
    switch mutation.operation {
    case .delete: return .delete
    case .verify: return .verify
    case .set, .patch: break
    }
    switch mutation.precondition {
    case .none: return .upsert
    case .exists(false), .updateTime(.none): return .insert
    case .exists(true), .updateTime: return .update
    }
  }

  private static func requireNoVerify(_ earlier: Kind, _ kind: Kind) throws(StatusError) {
    let words: String
    switch (earlier == .verify, kind == .verify) {
    case (false, false): return
    case (true, true): words = "verified more than once"
    case (true, false): words = "verified and then written"
    case (false, true): words = "written and then verified"
    }
    throw .invalid("the same document cannot be \(words) in a single request")
  }

  private static func requireOrder(_ earlier: Kind, _ mutation: Mutation, _ kind: Kind) throws(StatusError) {
    let isImpossible =
      earlier == .delete
      ? kind == .update || kind == .delete && mutation.precondition == .exists(true)
      : kind == .insert || mutation.precondition == .exists(false)
    guard !isImpossible else {
      throw .invalid("Cannot \(earlier.rawValue) then \(kind.rawValue) an entity in the same request.")
    }
  }

  private static func otherVersion(_ base: SnapshotVersion, than earlier: SnapshotVersion?) -> StatusError {
    func text(_ version: SnapshotVersion) -> String {
      "VersionPrecondition{exactBaseVersion=\(version.microseconds), maxBaseVersion=null}"
    }
    return .invalid(
      "Cannot collapse mutations with different version preconditions "
        + "(\(earlier.map(text) ?? "null") and \(text(base)))")
  }
}
