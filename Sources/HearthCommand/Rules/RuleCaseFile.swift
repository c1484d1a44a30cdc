import Foundation
import HearthData
import HearthModel
import HearthRPC
import HearthRules
import HearthServer

/// Reads cases from JSON. docs/rules.md describes the form.
struct RuleCaseFile {
  let name: String
  let cases: [RuleCase]

  private static let largestFile = 4 << 20
  private static let largestValueCount = 500_000

  /// - Parameters:
  ///   - path: The file.
  ///   - now: The time of requests that do not say theirs.
  init(path: String, now: Timestamp) throws(RuleCaseError) {
    let bytes = try Self.bytes(path)
    let places = JSONPlaces(bytes)
    let json: JSONText
    do {
      json = try JSONTextReader.read(bytes[...], maximumValueCount: Self.largestValueCount)
    } catch {
      let (line, column) = places.position(of: error.offset)
      throw RuleCaseError(
        description: "\(path):\(line): this is not JSON: \(JSONFault.text(error, in: bytes[...])), at column \(column)."
      )
    }
    let file = try RuleCaseFields(
      json, at: RuleCasePlace(words: path, file: (path, places)), names: ["documents", "cases"])
    let documents = try Self.documents(in: file, "documents")
    var cases: [RuleCase] = []
    var names: Set<String> = []
    for (index, json) in try file.array("cases").enumerated() {
      let place = file.place.below(.member("cases"), .element(index), words: "\(path): case \(index + 1)")
      let one = try RuleCaseReader(json, at: place, documents: documents, now: now).read()
      guard names.insert(one.name).inserted else {
        throw place.error("\"name\": another case is called \"\(one.name)\".", at: [.member("name")])
      }
      cases.append(one)
    }
    guard !cases.isEmpty else { throw file.error("cases", "an array with at least one case is expected.") }
    self.name = path
    self.cases = cases
  }

  private static func bytes(_ path: String) throws(RuleCaseError) -> [UInt8] {
    do {
      return Array(try BoundedFile(path: path, maximumBytes: largestFile).contents())
    } catch {
      throw RuleCaseError(description: "The file of cases \"\(path)\" \(error).")
    }
  }

  /// Documents by their paths; nil for those that are said to be missing.
  static func documents(in fields: RuleCaseFields, _ name: String) throws(RuleCaseError) -> [DocumentKey: RuleMap?] {
    guard let json = fields[name] else { return [:] }
    guard case .object(let members) = json else {
      throw fields.error(name, "an object with fields by paths is expected, such as {\"users/ada\": {\"age\": 36}}.")
    }
    var documents: [DocumentKey: RuleMap?] = [:]
    for member in members {
      do {
        let key = try DataPath.document(member.name)
        guard !documents.keys.contains(key) else { throw DataError("it stands there twice") }
        if case .null = member.value {
          documents.updateValue(nil, forKey: key)
        } else {
          documents[key] = RuleMap(try ValueJSON(database: RuleCase.database).documentFields(member.value))
        }
      } catch {
        throw fields.error(name, "\"\(member.name.prefix(200))\": \(error).", at: [.member(member.name)])
      }
    }
    return documents
  }
}

/// Reads one case.
struct RuleCaseReader {
  private let fields: RuleCaseFields
  private let request: RuleCaseFields
  private let documents: [DocumentKey: RuleMap?]
  private let now: Timestamp

  private static let requestNames = [
    "method", "path", "auth", "time", "data", "where", "orderBy", "limit", "offset", "collectionGroup",
  ]

  /// - Parameters:
  ///   - json: The object of the case.
  ///   - place: Where it stands, for messages.
  ///   - documents: The documents of all cases.
  ///   - now: The time of requests that tell none.
  init(
    _ json: JSONText, at place: RuleCasePlace, documents: [DocumentKey: RuleMap?], now: Timestamp
  ) throws(RuleCaseError) {
    let names = ["name", "request", "documents", "documentsAfter", "expect"]
    var fields = try RuleCaseFields(json, at: place, names: names)
    if let name = try fields.string("name") {
      fields = try RuleCaseFields(
        json, at: place.below(words: "\(place.words) \"\(name.prefix(80))\""), names: names)
    }
    guard let request = fields["request"] else {
      throw fields.error("request", "it is missing: an object with \"method\", \"path\" and what the request has.")
    }
    self.fields = fields
    self.request = try RuleCaseFields(
      request, at: fields.place.below(.member("request"), words: "\(fields.place.words): request"),
      names: Self.requestNames)
    self.documents = documents
    self.now = now
  }

  func read() throws(RuleCaseError) -> RuleCase {
    let name = try fields.required("name", "a text that is unique in the file")
    let methods = RuleMethod.allCases.map(\.rawValue).joined(separator: ", ")
    let word = try request.required("method", "one of \(methods)")
    guard let method = RuleMethod(rawValue: word) else {
      throw request.error("method", "\"\(word.prefix(40))\" is none of \(methods).")
    }
    let path = try request.required(
      "path", method == .list ? "that of a collection, such as users" : "that of a document, such as users/ada")
    let time = try time()
    let existing = documents.merging(try RuleCaseFile.documents(in: fields, "documents")) { $1 }.compactMapValues(
      \.self)
    let target = try target(method, path)
    let data = try data(method, at: time)
    if case .document(let key) = target { try check(method, existsBefore: existing[key] != nil) }
    return RuleCase(
      name: name, line: fields.place.line(), method: method, path: path, target: target, auth: try auth(), time: time,
      data: data,
      documents: existing, documentsAfter: try RuleCaseFile.documents(in: fields, "documentsAfter"),
      expectsAllowed: try expectation())
  }

  private func expectation() throws(RuleCaseError) -> Bool? {
    switch try fields.string("expect") {
    case nil: return nil
    case "allow": return true
    case "deny": return false
    case let word?: throw fields.error("expect", "\"\(word.prefix(40))\" is neither \"allow\" nor \"deny\".")
    }
  }

  private func time() throws(RuleCaseError) -> Timestamp {
    guard let text = try request.string("time") else { return now }
    guard let time = ValueJSON.time(text) else {
      throw request.error("time", "\"\(text.prefix(40))\" is not a time such as 2026-03-01T12:30:00Z.")
    }
    return time
  }

  /// Null, or the map with `uid` and `token`. The token has the `sub` of every token.
  private func auth() throws(RuleCaseError) -> RuleValue {
    guard let json = request["auth"] else { return .null }
    if case .null = json { return .null }
    let auth = try RuleCaseFields(
      json, at: request.place.below(.member("auth"), words: "\(request.place.words): \"auth\""),
      names: ["uid", "token"])
    let uid = try auth.required("uid", "the id of the user")
    var claims = MapValue()
    if let token = auth["token"] {
      do {
        claims = try ValueJSON(database: RuleCase.database).fields(token)
      } catch {
        throw auth.error("token", "\(error).")
      }
    }
    if claims["sub"] == nil { claims["sub"] = .string(uid) }
    return .map(["uid": .string(uid), "token": .map(RuleMap(claims))])
  }

  // MARK: - Documents

  private func check(_ method: RuleMethod, existsBefore: Bool) throws(RuleCaseError) {
    if method == .create, existsBefore {
      throw request.error("method", "the document exists before the request, so a write of it is an update.")
    }
    if method == .update, !existsBefore {
      throw request.error("method", "the document does not exist before the request, so a write of it is a create.")
    }
  }

  /// The document after the write. In place of a value it may have `{"$serverTimestamp": true}`.
  private func data(_ method: RuleMethod, at time: Timestamp) throws(RuleCaseError) -> RuleMap? {
    guard method == .create || method == .update else {
      guard request["data"] == nil else { throw request.error("data", "only create and update have it.") }
      return nil
    }
    guard let json = request["data"] else {
      throw request.error("data", "it is missing: the fields of the document after the write.")
    }
    do {
      let write = try WriteJSON(json, hasPaths: false, database: RuleCase.database)
      var fields = write.fields
      for transform in write.transforms {
        guard case .serverTimestamp = transform.operation else {
          throw DataError("field \(transform.path.canonicalString): only $serverTimestamp is taken here")
        }
        fields.set(.timestamp(time), at: transform.path)
      }
      guard write.removed.isEmpty else {
        throw DataError("a field that is not there is left out; $delete is not taken")
      }
      return RuleMap(fields)
    } catch {
      throw request.error("data", "\(error).")
    }
  }

  // MARK: - Queries

  private func target(_ method: RuleMethod, _ path: String) throws(RuleCaseError) -> RuleCase.Target {
    guard method == .list else {
      if let name = ["where", "orderBy", "limit", "offset", "collectionGroup"].first(where: { request[$0] != nil }) {
        throw request.error(name, "only list has it.")
      }
      do {
        return .document(try DataPath.document(path))
      } catch {
        throw request.error("path", "\(error)")
      }
    }
    var words = DataQuery(collection: path)
    words.isCollectionGroup = try request.flag("collectionGroup")
    words.limit = try request.integer("limit", from: 1)
    for json in try request.array("orderBy") {
      guard case .string(let order) = json else {
        throw request.error("orderBy", "texts are expected, such as [\"name\", \"age:desc\"].")
      }
      words.orders.append(order)
    }
    var query = try query(words, "path")
    for json in try request.array("where") { query = query.with(filter: try filter(json, words)) }
    guard var ruleQuery = RuleQuery(query, in: RuleCase.database) else {
      throw request.error(
        "path", "it names no collection, or the query compares with a vector of another form than SDKs write.")
    }
    ruleQuery.offset = Int64(try request.integer("offset", from: 0) ?? 0)
    return .query(ruleQuery)
  }

  /// - Parameter name: The member that a mistake is in.
  private func query(_ words: DataQuery, _ name: String) throws(RuleCaseError) -> Query {
    do {
      return try words.query(in: RuleCase.database)
    } catch {
      let member = error.description.hasPrefix("--order-by") ? "orderBy" : name
      // Its messages are those of a command line.
      let message = ["--where ", "--order-by "].reduce(error.description) { $0.replacing($1, with: "") }
      throw request.error(member, message)
    }
  }

  /// A condition such as `age >= 18`, or `{"or": […]}` and `{"and": […]}` of conditions.
  private func filter(_ json: JSONText, _ words: DataQuery) throws(RuleCaseError) -> Filter {
    switch json {
    case .string(let condition):
      var one = DataQuery(collection: words.collection)
      one.isCollectionGroup = words.isCollectionGroup
      one.conditions = [condition]
      guard let filter = try query(one, "where").filters.first else { break }
      return filter
    case .object(let members):
      guard members.count == 1, let op = Self.operators[members[0].name], case .array(let parts) = members[0].value,
        !parts.isEmpty
      else { break }
      var filters: [Filter] = []
      for part in parts { filters.append(try filter(part, words)) }
      return .composite(CompositeFilter(op: op, filters: filters))
    default: break
    }
    throw request.error("where", "conditions such as \"age >= 18\", {\"or\": […]} or {\"and\": […]} are expected.")
  }

  private static let operators: [String: CompositeFilter.Operator] = ["or": .or, "and": .and]
}
