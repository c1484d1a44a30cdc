import HearthData
import HearthModel
import HearthRules
import HearthServer

/// A request with the documents around it, on which rules decide.
struct RuleCase {
  /// The subject of a request.
  enum Target {
    case document(DocumentKey)
    case query(RuleQuery)
  }

  /// The database of the documents. Rules see its name in paths.
  static let database = DatabaseID(projectID: "demo")

  /// Unique in its file.
  let name: String
  /// The line of its file on which it begins.
  let line: Int
  let method: RuleMethod
  /// The document or the collection, as it was written.
  let path: String
  let target: Target
  /// `request.auth`.
  let auth: RuleValue
  let time: Timestamp
  /// The document after a `create` or `update`.
  let data: RuleMap?
  /// The documents that exist before the request.
  let documents: [DocumentKey: RuleMap]
  /// Documents whose state after the request is another one; nil for those that are gone.
  let documentsAfter: [DocumentKey: RuleMap?]
  /// True if the request has to be allowed; nil if nothing is expected.
  let expectsAllowed: Bool?

  /// The request in words, such as `get users/ada`.
  var title: String { "\(method.rawValue) \(path)" }

  /// Names the likely reason for a failure of `resource` or `request.query`, such as a document that was forgotten; nil for none.
  ///
  /// - Parameters:
  ///   - failure: The reason why a condition has no value.
  ///   - cause: The text of the expression that failed.
  func hint(_ failure: RuleFailure, at cause: String) -> String? {
    switch target {
    case .document(let key):
      guard case .memberOfNull = failure, cause.hasPrefix("resource"), documents[key] == nil else { return nil }
      return "there is no document \(path) before the request"
    case .query(let query):
      guard query.limit == nil, cause.contains("request.query.limit") else { return nil }
      return "the query has no limit"
    }
  }

  func decide(by rules: RuleSet, isTraced: Bool) -> RuleDecision {
    let lookUp = lookUp
    switch target {
    case .query(let query):
      return rules.evaluate(query, auth: auth, time: RuleTimestamp(time), isTraced: isTraced, lookUp: lookUp)
    case .document(let key):
      let request = RuleRequest(
        method, path: key.ruleNames(in: Self.database), auth: auth, time: RuleTimestamp(time),
        document: documents[key], changed: data)
      return rules.evaluate(request, isTraced: isTraced, lookUp: lookUp)
    }
  }

  private var lookUp: (LookedUpDocument) -> DocumentLookup {
    var states: [LookedUpDocument: DocumentLookup] = [:]
    func set(_ key: DocumentKey, _ fields: RuleMap?, isAfterwards: Bool) {
      let name = LookedUpDocument(path: key.ruleNames(in: Self.database), isAfterwards: isAfterwards)
      states[name] = fields.map { .found($0) } ?? (isAfterwards && documentsAfter[key] != nil ? .removed : .missing)
    }
    for (key, fields) in documents {
      set(key, fields, isAfterwards: false)
      set(key, fields, isAfterwards: true)
    }
    if case .document(let key) = target, method != .get { set(key, data, isAfterwards: true) }
    for (key, fields) in documentsAfter { set(key, fields, isAfterwards: true) }
    return { states[$0] ?? .missing }
  }
}

/// A mistake in a case, with the file, the case and the field that it is in.
struct RuleCaseError: Error, CustomStringConvertible {
  let description: String

  /// - Parameter description: A sentence or more. One that ends with the sentence of another error has one full stop all the same.
  init(description: String) { self.description = DataError(description).description }
}
