// Packages made of the modules below Hearth, which need no gRPC, have no calls to check.
#if canImport(Hearth)
  import Foundation
  import HearthModel
  import HearthWire
  import SwiftProtobuf

  @testable import Hearth

  /// Compares the request that a call makes with the one that a file expects.
  ///
  /// The files were written for server SDKs. Where a mobile client says the same in other words, the comparison says so.
  struct RequestCheck {
    private let body: JSON
    private let calls = UserCalls()
    private var translator: WireTranslator { WireTranslator(database: calls.databaseID) }

    init(_ body: JSON) {
      self.body = body
    }

    // MARK: - Writes

    func write(_ kind: ConformanceCase.Kind) throws -> [String] {
      let document = try calls.document(try body.requiredString("docRefPath"))
      guard let mutation = try resultOrExpectedError({ try mutation(kind, document) }) else { return [] }
      guard let expected = body["request"] else {
        return ["the call is legal and gives \(mutation), where an error is expected"]
      }
      return try differences(translator.encodeCommit([mutation]), expected)
    }

    private func mutation(_ kind: ConformanceCase.Kind, _ document: DocumentReference) throws -> Mutation {
      var mutation: Mutation
      switch kind {
      case .set:
        mutation = try calls.set(document, try data(), option: body["option"])
      case .create:
        // The write of a transaction for `setData` of a document that it has read and that did not exist.
        mutation = try calls.set(document, try data(), option: nil)
        mutation.precondition = .exists(false)
      case .update:
        mutation = try calls.update(document, try data())
      case .updatePaths:
        mutation = try calls.update(
          document, paths: body["fieldPaths"]?.elements ?? [], values: body["jsonValues"]?.elements ?? [])
      default:
        mutation = .delete(document.key)
      }
      if let precondition = body["precondition"] {
        // Mobile calls take no preconditions, but a transaction sends the same for documents that it has read.
        mutation.precondition = try translator.decode(
          try Google_Firestore_V1_Precondition(jsonString: precondition.text), at: "precondition")
      }
      return mutation
    }

    private func data() throws -> JSON { try JSON(parsing: try body.requiredString("jsonData")) }

    private func differences(_ actual: Google_Firestore_V1_CommitRequest, _ expected: JSON) throws -> [String] {
      let expectedWrites = expected["writes"]?.elements ?? []
      var differences: [String] = []
      if actual.database != expected["database"]?.string {
        differences.append("database \"\(actual.database)\" is not \(String(describing: expected["database"]))")
      }
      guard actual.writes.count == expectedWrites.count else {
        return differences + ["\(actual.writes.count) writes are not \(expectedWrites.count)"]
      }
      for (index, (write, json)) in zip(actual.writes, expectedWrites).enumerated() {
        let actual = try WireParts(write)
        let expected = try WireParts(json)
        if try actual.bytes != expected.bytes {
          differences.append("writes[\(index)] is\n\(try actual.text)\nexpected is\n\(try expected.text)")
        }
      }
      return differences
    }

    // MARK: - Reads

    /// A mobile client reads a document by listening to it, or, in a transaction, with a BatchGetDocumentsRequest: both name
    /// it as the server SDKs' GetDocumentRequest does.
    func get() throws -> [String] {
      let key = try calls.document(try body.requiredString("docRefPath")).key
      let name = try body.required("request").requiredString("name")
      var differences: [String] = []
      if translator.encodeBatchGet([key]).documents != [name] {
        differences.append("\(translator.encodeBatchGet([key]).documents) is read, not \"\(name)\"")
      }
      guard case .documents(let target) = translator.encode(HearthModel.Query(path: key.path).target),
        target.documents == [name]
      else {
        return differences + ["the target is not the document \"\(name)\""]
      }
      return differences
    }

    func query() throws -> [String] {
      let path = try body.requiredString("collPath")
      let clauses = body["clauses"]?.elements ?? []
      guard let query = try resultOrExpectedError({ try calls.query(try calls.collection(path), clauses) }) else {
        return []
      }
      guard let expected = body["query"] else {
        return ["the query is legal and is \(query.canonicalID), where an error is expected"]
      }
      let (parent, actual) = translator.structuredQuery(query.target)
      var differences: [String] = []
      if "\(parent)/\(query.path.last ?? "")" != path {
        differences.append("\"\(parent)\" is not the parent of \"\(path)\"")
      }
      let completed = try Google_Firestore_V1_StructuredQuery(jsonString: expected.withValueBytes().text)
        .withCompleteOrder()
      if try canonicalBytes(actual) != canonicalBytes(completed) {
        differences.append("the query is\n\(try actual.jsonString())\nexpected is\n\(try completed.jsonString())")
      }
      return differences
    }

    /// The result of a call; nil when it broke a rule and that is what the file expects.
    private func resultOrExpectedError<Result>(_ call: () throws -> Result) throws -> Result? {
      do {
        return try call()
      } catch is ProgrammingError where body["isError"]?.isTrue == true {
        return nil
      }
    }
  }

  /// A write as two messages: the document, whose bytes the client puts into the request without looking at the message, and
  /// everything else.
  private struct WireParts {
    private var document: Google_Firestore_V1_Document?
    private var rest: Google_Firestore_V1_Write

    init(_ write: Google_Firestore_V1_Write) throws {
      rest = write
      if case .update(let bytes)? = write.operation {
        document = try Google_Firestore_V1_Document(serializedBytes: bytes)
        rest.update = Data()
      }
      sort()
    }

    /// A `Write` in protobuf's JSON form.
    init(_ json: JSON) throws {
      rest = try Google_Firestore_V1_Write(jsonString: json.without("update").withValueBytes().text)
      if let update = json["update"] {
        document = try Google_Firestore_V1_Document(jsonString: update.text)
        rest.update = Data()
      }
      sort()
    }

    /// A mask is a set, and transforms of different fields may come in any order.
    private mutating func sort() {
      if rest.hasUpdateMask { rest.updateMask.fieldPaths.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
      rest.updateTransforms.sort { $0.fieldPath.utf8.lexicographicallyPrecedes($1.fieldPath.utf8) }
    }

    var bytes: [[UInt8]] {
      get throws { try [document.map(canonicalBytes) ?? [], canonicalBytes(rest)] }
    }

    var text: String {
      get throws { try "\(document?.jsonString() ?? "no document") \(rest.jsonString())" }
    }
  }

  extension Google_Firestore_V1_StructuredQuery {
    /// The same query with the order that a backend completes for itself.
    ///
    /// Mobile clients send every order: the explicit ones, then the fields compared by inequality in the order of their names,
    /// then the document's name, the added ones in the direction of the last explicit one. Server SDKs leave out what the
    /// backend adds, unless a cursor needs it.
    fileprivate func withCompleteOrder() -> Self {
      var query = self
      let direction = query.orderBy.last?.direction ?? .ascending
      var ordered = Set(query.orderBy.map(\.field.fieldPath))
      for path in inequalityPaths(query.where).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) + ["__name__"]
      where ordered.insert(path).inserted {
        var order = Order()
        order.field.fieldPath = path
        order.direction = direction
        query.orderBy.append(order)
      }
      return query
    }

    private func inequalityPaths(_ filter: Filter) -> [String] {
      switch filter.filterType {
      case .compositeFilter(let composite): composite.filters.flatMap(inequalityPaths)
      case .fieldFilter(let field):
        switch field.op {
        case .equal, .in, .arrayContains, .arrayContainsAny: []
        default: [field.field.fieldPath]
        }
      case .unaryFilter(let unary):
        switch unary.op {
        case .isNotNull, .isNotNan: [unary.field.fieldPath]
        default: []
        }
      case nil: []
      }
    }
  }
#endif
