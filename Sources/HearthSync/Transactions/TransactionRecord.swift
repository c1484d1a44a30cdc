package import HearthModel

/// The reads and writes of one attempt at a transaction, and the writes that commit it optimistically.
///
/// The backend commits only if every document is unchanged since it was read. The first write to a document carries that as its
/// precondition; a document that was only read is verified (firebase-ios-sdk transaction.cc, Commit).
package struct TransactionRecord {
  private var readVersions: [DocumentKey: SnapshotVersion] = [:]
  private var writtenKeys: Set<DocumentKey> = []
  private var mutations: [Mutation] = []
  /// The first write that can never succeed.
  private var refusal: StatusError?

  package init() {}

  /// True if a document may be read now.
  ///
  /// - Throws: `invalidArgument` after the first write.
  package func validateRead() throws(StatusError) {
    guard mutations.isEmpty, refusal == nil else {
      throw StatusError(
        code: .invalidArgument,
        message: "Firestore transactions require all reads to be executed before all writes.")
    }
  }

  /// Notes a document as the backend has sent it.
  ///
  /// - Throws: `aborted` if it was read before in this attempt and has changed since.
  package mutating func read(_ document: Document) throws(StatusError) {
    let version = document.isFound ? document.version : .none
    if let earlier = readVersions[document.key], earlier != version {
      throw StatusError(code: .aborted, message: "Document version changed between two reads.")
    }
    readVersions[document.key] = version
  }

  /// Adds a write. Its precondition follows from what was read.
  package mutating func write(_ mutation: Mutation) {
    var mutation = mutation
    let key = mutation.key
    if let version = readVersions[key], !writtenKeys.contains(key) {
      if version > .none {
        mutation.precondition = .updateTime(version)
      } else if mutation.precondition == .exists(true) {
        refusal =
          refusal
          ?? StatusError(
            code: .invalidArgument, message: "Can't update a document that doesn't exist. (\(key.canonicalString))")
      } else {
        mutation.precondition = .exists(false)
      }
    }
    writtenKeys.insert(key)
    mutations.append(mutation)
  }

  /// The writes to commit in one request, those that only verify what was read at the end in key order.
  ///
  /// - Throws: `invalidArgument` for an update of a document that was read as missing.
  package func commit() throws(StatusError) -> [Mutation] {
    if let refusal { throw refusal }
    let unwritten = readVersions.filter { !writtenKeys.contains($0.key) }.sorted { $0.key < $1.key }
    return mutations
      + unwritten.map { key, version in
        Mutation(
          key: key, operation: .verify, precondition: version > .none ? .updateTime(version) : .exists(false))
      }
  }

  /// True if another attempt can succeed where one ended with this code: after a conflict, and after everything that is
  /// not permanent.
  package static func mayRetry(after code: StatusCode) -> Bool {
    switch code {
    case .aborted, .alreadyExists, .failedPrecondition: true
    default: !code.isPermanentForWrites
    }
  }
}
