// Packages made of the modules below Hearth, which need no gRPC, have no calls to check.
#if canImport(Hearth)
  import HearthModel

  /// The cases that say something about server SDKs only.
  ///
  /// Rules rather than names of files: a new file of the same nature falls under the same rule.
  enum LeftOut {
    /// Returns the reason why the case says nothing about a mobile client; nil if it does.
    static func reason(_ kind: ConformanceCase.Kind, _ body: JSON) throws -> String? {
      switch kind {
      case .query: try query(body)
      case .set: try set(body)
      case .update, .updatePaths: try update(kind, body)
      case .listen: listen(body)
      case .create, .delete, .get: nil
      }
    }

    // MARK: - Queries

    private static func query(_ body: JSON) throws -> String? {
      let clauses = body["clauses"]?.elements ?? []
      if clauses.contains(where: { $0["select"] != nil }) {
        return "select: the mobile API has no projections"
      }
      if clauses.contains(where: { $0["offset"] != nil }) {
        return "offset: the mobile API has no offsets"
      }
      guard body["isError"]?.isTrue == true else { return nil }
      for clause in clauses {
        if let filter = clause["where"], let reason = try self.filter(filter) { return reason }
        for (name, _, _) in UserCalls.cursors {
          if let cursor = clause[name], let reason = self.cursor(cursor, body) { return reason }
        }
      }
      return nil
    }

    private static func filter(_ filter: JSON) throws -> String? {
      let op = try filter.requiredString("op")
      guard UserCalls.operators.contains(op) else {
        return "unknown operator: the Swift API has a method for each, so there is no wrong one to pass"
      }
      let value = try JSON(parsing: try filter.requiredString("jsonValue"))
      guard op != "==", value == .null || value == .string("NaN") else { return nil }
      return "null and NaN are legal operands of every operator (official SDK behaviour since 7.1)"
    }

    private static func cursor(_ cursor: JSON, _ body: JSON) -> String? {
      guard let snapshot = cursor["docSnapshot"] else {
        guard cursor["jsonValues"]?.elements.isEmpty ?? true else { return nil }
        return "a cursor of no values is legal: at most one for each order is asked for (official SDK behaviour)"
      }
      guard let path = snapshot["path"]?.string, let collection = body["collPath"]?.string else { return nil }
      let parent = path.split(separator: "/").dropLast().joined(separator: "/")
      guard parent != collection else { return nil }
      return "a cursor may stand at a document of any collection (official SDK behaviour)"
    }

    // MARK: - Writes

    private static func set(_ body: JSON) throws -> String? {
      guard body["isError"]?.isTrue == true, let fields = body["option"]?["fields"] else { return nil }
      let named = fields.elements.map(names)
      if hasConflict(named) {
        return "a merge field below another is covered by it (official SDK behaviour)"
      }
      let data = try JSON(parsing: try body.requiredString("jsonData"))
      if deletions(in: data, at: []).contains(where: { path in !named.contains { path.starts(with: $0) } }) {
        return "deletions outside the merge fields are ignored (pinned by the official SDK's tests)"
      }
      return nil
    }

    private static func update(_ kind: ConformanceCase.Kind, _ body: JSON) throws -> String? {
      guard body["isError"]?.isTrue == true else { return nil }
      if body["precondition"]?["exists"] == .boolean(false) {
        return "preconditions are no parameters of mobile calls: an update always needs the document"
      }
      let paths = kind == .update ? try keys(body) : (body["fieldPaths"]?.elements ?? []).map(names)
      if paths.isEmpty {
        return "an update of no fields is legal: it fails if there is no document (official SDK behaviour)"
      }
      if hasConflict(paths) {
        return "a dictionary holds a path once, and of a path and one below it the backend makes what it can"
      }
      return nil
    }

    private static func keys(_ body: JSON) throws -> [[String]] {
      guard case .object(let members) = try JSON(parsing: try body.requiredString("jsonData")) else { return [] }
      return members.keys.map { $0.split(separator: ".", omittingEmptySubsequences: false).map(String.init) }
    }

    private static func names(_ path: JSON) -> [String] { (path["field"]?.elements ?? []).compactMap(\.string) }

    /// Returns true if one of the paths is equal to another one or below it.
    private static func hasConflict(_ paths: [[String]]) -> Bool {
      paths.indices.contains { a in paths.indices.contains { b in a != b && paths[a].starts(with: paths[b]) } }
    }

    private static func deletions(in json: JSON, at path: [String]) -> [[String]] {
      switch json {
      case .string("Delete"): [path]
      case .object(let members): members.flatMap { deletions(in: $0.value, at: path + [$0.key]) }
      default: []
      }
    }

    // MARK: - Listening

    private static func listen(_ body: JSON) -> String? {
      guard body["isError"]?.isTrue == true else {
        guard showsUnchangedDocuments(body["snapshots"]?.elements ?? []) else { return nil }
        return
          "a document that was written again with the same fields is not shown as modified (official SDK behaviour)"
      }
      for response in body["responses"]?.elements ?? [] {
        guard let change = response["targetChange"] else { continue }
        if change["targetChangeType"] == .string("REMOVE"), change["cause"] == nil {
          return "REMOVE without a cause acknowledges the client's own request; an error comes with its cause"
        }
        let ids = change["targetIds"]?.elements ?? []
        if change["targetChangeType"] == .string("ADD"), ids.contains(where: { $0 != .integer(1) }) {
          return "a mobile client has many targets in one stream and ignores those that it does not listen to any more"
        }
      }
      return nil
    }

    /// Returns true if a document is expected as modified although only its update time differs.
    private static func showsUnchangedDocuments(_ snapshots: [JSON]) -> Bool {
      zip(snapshots, snapshots.dropFirst()).contains { old, new in
        (new["changes"]?.elements ?? []).contains { change in
          guard change["kind"] == .string("MODIFIED"), let document = change["doc"] else { return false }
          let before = (old["docs"]?.elements ?? []).first { $0["name"] == document["name"] }
          return before?["fields"] == document["fields"]
        }
      }
    }
  }
#endif
