/// A request as rules see it.
package struct RuleRequest {
  /// A request for one document. Its values are made when a condition looks at them.
  struct ForDocument {
    let auth: RuleValue
    let time: RuleTimestamp
    /// For `create` and `update`, the fields that the document will have.
    let changed: DeferredFields
    let inTransaction: Bool
    let stored: DeferredFields
  }

  enum Form {
    case document(ForDocument)
    /// A part of a query, with the variables `request` and `resource`.
    case query(request: RuleValue, resource: RuleValue)
  }

  package let method: RuleMethod
  /// The names of the path of the document, from `databases` on, or of the collection that a query is about.
  package let path: [String]
  let form: Form
  /// The levels of the variable `request`, without those of fields that are made when a condition looks at them.
  let depth: Int

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
      method, path: path, auth: auth, time: time, inTransaction: inTransaction, changed: DeferredFields(changed),
      stored: DeferredFields(document))
  }

  /// A request for one document whose fields are read and decoded when a condition looks at them, which many conditions never do.
  ///
  /// - Parameters: As for ``init(_:path:auth:time:document:changed:inTransaction:)``. `changed` and `document` are called once each at most.
  package init(
    _ method: RuleMethod, path: [String], auth: RuleValue, time: RuleTimestamp, inTransaction: Bool = false,
    changed: @escaping () -> RuleMap? = { nil }, document: @escaping () -> RuleMap?
  ) {
    self.init(
      method, path: path, auth: auth, time: time, inTransaction: inTransaction, changed: DeferredFields(changed),
      stored: DeferredFields(document))
  }

  private init(
    _ method: RuleMethod, path: [String], auth: RuleValue, time: RuleTimestamp, inTransaction: Bool,
    changed: DeferredFields, stored: DeferredFields
  ) {
    let changed = method.isForNewFields ? changed : DeferredFields(nil)
    self.method = method
    self.path = path
    // A map is one level more than the deepest one in it. The document is a map with its fields.
    depth = 1 + max(auth.depth, changed.knownDepth > 0 ? changed.knownDepth + 1 : 0)
    form = .document(
      ForDocument(
        auth: auth, time: time, changed: changed, inTransaction: method.isWrite || inTransaction, stored: stored))
  }

  /// One part of a query.
  ///
  /// - Parameter document: The fields of the document that the part names; nil to know what the filters tell of it.
  init(_ part: RuleQuery.Part, document fields: RuleMap?, auth: RuleValue, time: RuleTimestamp) {
    method = .list
    path = part.path
    let query = part.query
    var members = Self.members(.list, path, auth, time)
    members += [(Names.query, query.value), (Names.inTransaction, .bool(false))]
    // The paths of a collection group are not known.
    if query.hasAllDescendants { members.removeAll { $0.key == Names.path } }
    let request = RuleValue.map(RuleMap(fields: members))
    depth = request.depth
    if let fields {
      form = .query(request: request, resource: .document(fields, at: path))
      return
    }
    var known: [ExactText: RuleValue] = [Names.data: .partialMap(part.facts)]
    if let document = part.document, let id = document.last {
      known[Names.id] = .string(id)
      known[Names.name] = .path(RulePath(document))
    }
    form = .query(request: request, resource: .partialMap(PartialMap(name: "resource", known: known)))
  }

  /// The variable `request`.
  var value: RuleValue {
    switch form {
    case .query(let request, _): return request
    case .document(let request):
      var members = Self.members(method, path, request.auth, request.time)
      if method.isWrite { members.append((Names.resource, changedDocument(request))) }
      members.append((Names.inTransaction, .bool(request.inTransaction)))
      return .map(RuleMap(fields: members))
    }
  }

  /// The member `request.resource` of a write.
  private func changedDocument(_ request: ForDocument) -> RuleValue {
    request.changed.fields.map { .document($0, at: path) } ?? .null
  }

  /// The variable `resource`.
  var resource: RuleValue {
    switch form {
    case .query(_, let resource): resource
    case .document(let request): request.stored.fields.map { .document($0, at: path) } ?? .null
    }
  }

  /// A member of the variable `request`.
  ///
  /// - Parameter deepest: The levels that the variable may have.
  /// - Returns: Nil if it is found in ``value`` only, or not at all.
  func member(_ member: Program.RequestMember, deepest: Int) -> RuleValue? {
    guard case .document(let request) = form else { return nil }
    if member == .resource || member == .dataOfResource, let fields = request.changed.fields,
      fields.depth + 1 >= deepest
    {
      return nil
    }
    return switch member {
    case .method: .string(method.rawValue)
    case .path: .path(RulePath(path))
    case .auth: request.auth
    case .time: .timestamp(request.time)
    case .inTransaction: .bool(request.inTransaction)
    case .resource: method.isWrite ? changedDocument(request) : nil
    case .dataOfResource: request.changed.fields.map { .map($0) }
    }
  }

  /// A member of the variable `resource`.
  ///
  /// - Parameter deepest: The levels that the variable may have.
  /// - Returns: As for ``member(_:deepest:)``.
  func resourceMember(_ member: Program.DocumentMember, deepest: Int) -> RuleValue? {
    guard case .document(let request) = form, let fields = request.stored.fields, fields.depth < deepest else {
      return nil
    }
    return switch member {
    case .data: .map(fields)
    case .id: .string(path.last ?? "")
    case .name: .path(RulePath(path))
    }
  }

  fileprivate enum Names {
    static let (method, path, auth, time) = (
      ExactText("method"), ExactText("path"), ExactText("auth"), ExactText("time")
    )
    static let (resource, query, inTransaction) = (
      ExactText("resource"), ExactText("query"), ExactText("inTransaction")
    )
    static let (data, id, name) = (ExactText("data"), ExactText("id"), ExactText(RuleQuery.nameOfDocument))
  }

  private static func members(
    _ method: RuleMethod, _ path: [String], _ auth: RuleValue, _ time: RuleTimestamp
  ) -> [(key: ExactText, value: RuleValue)] {
    [
      (Names.method, .string(method.rawValue)), (Names.path, .path(RulePath(path))), (Names.auth, auth),
      (Names.time, .timestamp(time)),
    ]
  }
}

extension RuleMethod {
  fileprivate var isForNewFields: Bool { self == .create || self == .update }
  fileprivate var isWrite: Bool { isForNewFields || self == .delete }
}

extension RuleValue {
  /// A document as rules see it: `data`, `id` and `__name__`.
  static func document(_ fields: RuleMap, at path: [String]) -> RuleValue {
    .map(
      RuleMap(fields: [
        (RuleRequest.Names.name, .path(RulePath(path))), (RuleRequest.Names.data, .map(fields)),
        (RuleRequest.Names.id, .string(path.last ?? "")),
      ]))
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
