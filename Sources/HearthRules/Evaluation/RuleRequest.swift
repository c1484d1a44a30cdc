/// A request as rules see it.
package struct RuleRequest: Sendable {
  package let method: RuleMethod
  /// The names of the path of the document, from `databases` on, or of the collection that a query is about.
  package let path: [String]
  /// The variable `request`.
  let request: RuleValue
  /// The variable `resource`.
  let resource: DeferredValue

  /// A request for one document.
  ///
  /// - Parameters:
  ///   - path: The document, such as `databases/(default)/documents/users/alice`.
  ///   - auth: The map with `uid` and `token`, or `null`.
  ///   - document: The fields of the document as it is stored; nil if there is none.
  ///   - changed: For `create` and `update`, the fields that the document will have.
  ///   - inTransaction: True for a `get` by which a commit demands that a document has not changed. As in production, all writes are in a
  ///     transaction, that of their commit.
  package init(
    _ method: RuleMethod, path: [String], auth: RuleValue, time: RuleTimestamp, document: RuleMap?,
    changed: RuleMap? = nil, inTransaction: Bool = false
  ) {
    self.init(
      method, path: path, auth: auth, time: time, changed: changed, inTransaction: inTransaction,
      document: { document })
  }

  /// A request for one document whose fields are decoded when a condition looks at them, which many conditions never do.
  ///
  /// - Parameters: As for ``init(_:path:auth:time:document:changed:inTransaction:)``. `document` is called once at most.
  package init(
    _ method: RuleMethod, path: [String], auth: RuleValue, time: RuleTimestamp, changed: RuleMap? = nil,
    inTransaction: Bool = false, document: @escaping @Sendable () -> RuleMap?
  ) {
    self.method = method
    self.path = path
    var fields = Self.fields(method, path, auth, time)
    var isWrite = true
    switch method {
    case .create, .update: fields.append(("resource", changed.map { .document($0, at: path) } ?? .null))
    case .delete: fields.append(("resource", .null))
    case .get, .list: isWrite = false
    }
    fields.append(("inTransaction", .bool(isWrite || inTransaction)))
    request = .map(RuleMap(pairs: fields))
    resource = DeferredValue { document().map { .document($0, at: path) } ?? .null }
  }

  /// One part of a query.
  ///
  /// - Parameter document: The fields of the document that the part names; nil to know what the filters tell of it.
  init(_ part: RuleQuery.Part, document fields: RuleMap?, auth: RuleValue, time: RuleTimestamp) {
    method = .list
    path = part.path
    let query = part.query
    var members = Self.fields(.list, path, auth, time)
    members += [("query", query.value), ("inTransaction", .bool(false))]
    // Of a collection group nobody knows the paths.
    if query.hasAllDescendants { members.removeAll { $0.key == "path" } }
    request = .map(RuleMap(pairs: members))
    if let fields {
      let document = RuleValue.document(fields, at: path)
      resource = DeferredValue { document }
      return
    }
    var known: [ExactText: RuleValue] = [ExactText("data"): .partialMap(part.facts)]
    if let document = part.document, let id = document.last {
      known[ExactText("id")] = .string(id)
      known[ExactText(RuleQuery.nameOfDocument)] = .path(RulePath(document))
    }
    let document = RuleValue.partialMap(PartialMap(name: "resource", known: known))
    resource = DeferredValue { document }
  }

  private static func fields(
    _ method: RuleMethod, _ path: [String], _ auth: RuleValue, _ time: RuleTimestamp
  ) -> [(key: String, value: RuleValue)] {
    [("method", .string(method.rawValue)), ("path", .path(RulePath(path))), ("auth", auth), ("time", .timestamp(time))]
  }
}

extension RuleValue {
  /// A document as rules see it: `data`, `id` and `__name__`.
  static func document(_ fields: RuleMap, at path: [String]) -> RuleValue {
    .map(
      RuleMap(pairs: [("data", .map(fields)), ("id", .string(path.last ?? "")), ("__name__", .path(RulePath(path)))]))
  }
}

/// The answer to a look-up of a document.
package enum DocumentLookup: Sendable {
  case found(RuleMap)
  case missing
  /// There is none after the request, which has named it: one that another write of the request deletes.
  case removed
  /// The caller has not read the document yet. The decision names it, and the evaluation can be repeated.
  case notRead
}

/// A document that `get`, `exists` and the like name.
package struct LookedUpDocument: Hashable, Sendable {
  /// The names of its path, from `databases` on.
  package let path: [String]
  /// True for `getAfter` and `existsAfter`: the state after the request.
  package let isAfterwards: Bool

  package init(path: [String], isAfterwards: Bool) {
    self.path = path
    self.isAfterwards = isAfterwards
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.isAfterwards == right.isAfterwards && left.path.hasSameBytes(as: right.path)
  }

  package func hash(into hasher: inout Hasher) {
    for name in path { name.hashBytes(into: &hasher) }
    hasher.combine(isAfterwards)
  }
}
