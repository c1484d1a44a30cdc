package import HearthModel
internal import HearthStore

/// One conflict that a rule has resolved.
package struct ConflictEntry: Equatable, Sendable {
  package enum Contents: Equatable, Sendable {
    case conflict(KeptConflict)
    /// The row does not hold what this release writes.
    case unreadable(reason: String)
  }

  /// Nil if it is not known whose write it was.
  package var owner: OutboxOwner?
  package var contents: Contents
}

extension CacheInspection {
  private var resolvedConflicts: ResolvedConflictTable {
    ResolvedConflictTable(database: database, databaseID: nameForValues)
  }

  /// Calls `body` with each resolved conflict that is kept, oldest first.
  ///
  /// - Parameters:
  ///   - user: Only conflicts of this user, `.some(nil)` being the signed-out user; nil for those of all.
  ///   - body: returns false to stop.
  package func forEachResolvedConflict(of user: String?? = nil, _ body: (ConflictEntry) throws -> Bool) throws {
    try resolvedConflicts.forEach(of: user.map { MutationQueue.userKey($0) }) { key, conflict in
      let owner = key.flatMap { OutboxOwner.isKey($0) ? OutboxOwner(key: $0) : nil }
      let contents: ConflictEntry.Contents
      do {
        contents = .conflict(try conflict())
      } catch CacheError.corruptRecord(_, _, let reason) {
        contents = .unreadable(reason: reason)
      } catch let error as StoreError where error.kind == .corrupt {
        contents = .unreadable(reason: error.message)
      }
      return try body(ConflictEntry(owner: owner, contents: contents))
    }
  }

  /// The resolved conflicts of all users, and of each. Does not read what they say.
  func resolvedConflictCounts() throws -> (total: Int, byOwner: [OutboxOwner: Int]) {
    var (total, byOwner) = (0, [OutboxOwner: Int]())
    for (key, count) in try resolvedConflicts.counts() {
      total += count
      if let key { byOwner[OutboxOwner(key: key), default: 0] += count }
    }
    return (total, byOwner)
  }
}

extension ConflictEntry {
  /// - Parameter value: gives the JSON of a value.
  package func json(_ value: (Value) -> JSONText) -> JSONText {
    let identity: [(name: String, value: JSONText)] = [
      ("user", owner.map(\.userIDJSON) ?? .null), ("owner", .string(owner.inWords)),
    ]
    switch contents {
    case .unreadable(let reason): return .object(identity + [("unreadable", .string(reason))])
    case .conflict(let conflict):
      let report = conflict.report
      var members = [("batch", .integer(conflict.batchID))] + identity
      members += [
        ("resolvedAt", .string(conflict.resolvedAt.rfc3339)), ("document", .string(report.key.canonicalString)),
        ("outcome", .string(report.ending.name)),
      ]
      if case .both(let copy) = report.ending { members.append(("copy", .string(copy.canonicalString))) }
      members += [
        ("isDeletedLocally", .bool(report.isDeletedLocally)), ("isDeletedRemotely", .bool(report.isDeletedRemotely)),
        ("fields", .array(report.fields.map { $0.json(value) })),
      ]
      return .object(members)
    }
  }
}

extension ConflictReport.Ending {
  /// As the API calls it (`ResolvedConflict.Outcome`).
  fileprivate var name: String {
    switch self {
    case .merged: "merged"
    case .local: "keptLocal"
    case .remote: "keptRemote"
    case .both: "keptBoth"
    }
  }
}

extension ConflictReport.Field {
  /// A side that does not have the field has no member.
  fileprivate func json(_ json: (Value) -> JSONText) -> JSONText {
    var members: [(name: String, value: JSONText)] = [("name", .string(path.canonicalString))]
    for (name, value) in [("base", base), ("local", local), ("remote", remote)] {
      if let value { members.append((name, json(value))) }
    }
    let side = kept.map { JSONText.string($0 == .local ? "local" : "remote") }
    return .object(members + [("kept", side ?? .null)])
  }
}
