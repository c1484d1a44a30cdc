// Packages made of the modules below Hearth, which need no gRPC, have no calls to check.
#if canImport(Hearth)
  import Foundation
  import HearthModel

  @testable import Hearth

  /// Calls of the public API, made as programs make them, with the values that the corpus spells as JSON.
  ///
  /// The public functions end the process where a rule is broken. So each rule is asked first, through the throwing
  /// function that the public one hands its arguments to.
  struct UserCalls {
    /// One object for all cases. Nothing is ever sent: the calls are translated and compared.
    private static let firestore: Firestore = {
      let name = "conformance"
      FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "projectID"))
      guard let app = FirebaseApp.app(name: name) else {
        fatalError("The app \(name) was configured and is not there.")
      }
      let firestore = Firestore.firestore(app: app)
      let settings = FirestoreSettings()
      settings.host = "127.0.0.1:1"
      settings.isSSLEnabled = false
      settings.cacheSettings = MemoryCacheSettings()
      firestore.settings = settings
      return firestore
    }()

    let firestore = Self.firestore
    var databaseID: DatabaseID { firestore.databaseID }

    // MARK: - Writes

    func set(_ document: DocumentReference, _ data: JSON, option: JSON?) throws -> Mutation {
      let data = try dictionary(data)
      guard let option else { return try UserDataReader.set(data, key: document.key, databaseID: databaseID) }
      guard let fields = option["fields"] else {
        return try UserDataReader.merge(data, key: document.key, databaseID: databaseID)
      }
      return try UserDataReader.merge(
        data, fields: try fields.elements.map(fieldPath), key: document.key, databaseID: databaseID)
    }

    /// `updateData` with strings as keys, which it splits at dots.
    func update(_ document: DocumentReference, _ data: JSON) throws -> Mutation {
      var fields: [AnyHashable: Any] = [:]
      for (name, value) in try dictionary(data) { fields[name] = value }
      return try UserDataReader.update(fields, key: document.key, databaseID: databaseID)
    }

    /// `updateData` with field paths as keys.
    func update(_ document: DocumentReference, paths: [JSON], values: [JSON]) throws -> Mutation {
      guard paths.count == values.count else {
        throw MalformedCase("\(paths.count) field paths have \(values.count) values")
      }
      var fields: [AnyHashable: Any] = [:]
      for (path, value) in zip(paths, values) { fields[try fieldPath(path)] = try self.value(inText: value) }
      return try UserDataReader.update(fields, key: document.key, databaseID: databaseID)
    }

    // MARK: - References

    func document(_ name: String) throws -> DocumentReference {
      firestore.document(try path(name).canonicalString)
    }

    func collection(_ name: String) throws -> CollectionReference {
      firestore.collection(try path(name).canonicalString)
    }

    private func path(_ name: String) throws -> ResourcePath { try databaseID.path(fromName: name) }

    /// The field path of a `{"field": [names]}`.
    func fieldPath(_ json: JSON) throws -> Hearth.FieldPath {
      let names = try json.required("field").elements.map { name in
        guard let name = name.string else { throw MalformedCase("a field path has a name that is no string") }
        return name
      }
      _ = try FieldPath.checked(names)
      return FieldPath(names)
    }

    // MARK: - Values

    func dictionary(_ json: JSON) throws -> [String: Any] {
      guard case .object(let members) = json else { throw MalformedCase("the data are no object") }
      return try members.mapValues { try plainValue($0) }
    }

    /// The value in a text of JSON that stands in the corpus as a string.
    func value(inText text: JSON) throws -> Any {
      guard let text = text.string else { throw MalformedCase("a jsonValue is no string") }
      return try plainValue(try JSON(parsing: text))
    }

    private func plainValue(_ json: JSON) throws -> Any {
      switch json {
      case .null: return NSNull()
      case .boolean(let boolean): return boolean
      case .integer(let integer): return integer
      case .double(let double): return double
      case .string("Delete"): return FieldValue.delete()
      case .string("ServerTimestamp"): return FieldValue.serverTimestamp()
      case .string("NaN"): return Double.nan
      case .string(let string): return string
      case .object(let members): return try members.mapValues { try plainValue($0) }
      case .array(let elements):
        guard let first = elements.first?.string, first == "ArrayUnion" || first == "ArrayRemove" else {
          return try elements.map { try plainValue($0) }
        }
        let operands: [Any] = try elements.dropFirst().map { try plainValue($0) }
        _ = try UserDataReader.parseElements(operands)
        return first == "ArrayUnion" ? FieldValue.arrayUnion(operands) : FieldValue.arrayRemove(operands)
      }
    }
  }

  // MARK: - Queries

  extension UserCalls {
    /// The collection's query with one clause of the corpus after the other.
    func query(_ collection: CollectionReference, _ clauses: [JSON]) throws -> HearthModel.Query {
      var query = collection.model
      for clause in clauses { query = try adding(clause, to: query) }
      try QueryBuilder.validateForRunning(query)
      return query
    }

    private func adding(_ clause: JSON, to query: HearthModel.Query) throws -> HearthModel.Query {
      if let filter = clause["where"] {
        let condition = try self.filter(filter).condition
        return try QueryBuilder.filter(query, condition, databaseID: databaseID)
      }
      if let order = clause["orderBy"] {
        let path = try fieldPath(try order.required("path")).model
        return try QueryBuilder.order(query, by: path, descending: order["direction"] == .string("desc"))
      }
      if let limit = clause["limit"]?.integer {
        return try QueryBuilder.limit(query, to: limit, type: .first)
      }
      for (name, edge, isInclusive) in Self.cursors {
        if let cursor = clause[name] { return try bounding(query, edge, by: cursor, isInclusive: isInclusive) }
      }
      throw MalformedCase("the clause \(try clause.text) is not known")
    }

    /// The clauses for cursors; ``LeftOut`` asks for their names, too.
    static let cursors: [(name: String, edge: QueryBuilder.Edge, isInclusive: Bool)] = [
      ("startAt", .start, true), ("startAfter", .start, false), ("endAt", .end, true), ("endBefore", .end, false),
    ]

    private func bounding(
      _ query: HearthModel.Query, _ edge: QueryBuilder.Edge, by cursor: JSON, isInclusive: Bool
    ) throws -> HearthModel.Query {
      guard let snapshot = cursor["docSnapshot"] else {
        let values = try (cursor["jsonValues"]?.elements ?? []).map(value(inText:))
        return try QueryBuilder.bound(query, edge, values: values, isInclusive: isInclusive, databaseID: databaseID)
      }
      return try QueryBuilder.bound(
        query, edge, document: try documentSnapshot(snapshot).document, isInclusive: isInclusive, databaseID: databaseID
      )
    }

    private func documentSnapshot(_ json: JSON) throws -> DocumentSnapshot {
      let reference = try document(try json.requiredString("path"))
      let data = try dictionary(try JSON(parsing: try json.requiredString("jsonData")))
      guard
        case .set(let fields) = try UserDataReader.set(data, key: reference.key, databaseID: databaseID).operation
      else { throw MalformedCase("the data of a document are not those of a set") }
      let document = Document.found(reference.key, version: SnapshotVersion(microseconds: 1), fields: fields)
      return DocumentSnapshot(
        firestore: firestore, key: reference.key, document: document, isFromCache: false, hasPendingWrites: false)
    }

    private func filter(_ json: JSON) throws -> Hearth.Filter {
      let path = try fieldPath(try json.required("path"))
      let value = try value(inText: try json.required("jsonValue"))
      let op = try json.requiredString("op")
      _ = try UserDataReader.parseArgument(value, allowsList: op == "in" || op == "not-in")
      switch op {
      case "==": return Filter.whereField(path, isEqualTo: value)
      case "!=": return Filter.whereField(path, isNotEqualTo: value)
      case "<": return Filter.whereField(path, isLessThan: value)
      case "<=": return Filter.whereField(path, isLessThanOrEqualTo: value)
      case ">": return Filter.whereField(path, isGreaterThan: value)
      case ">=": return Filter.whereField(path, isGreaterThanOrEqualTo: value)
      case "array-contains": return Filter.whereField(path, arrayContains: value)
      case "array-contains-any": return Filter.whereField(path, arrayContainsAny: try list(value, op))
      case "in": return Filter.whereField(path, in: try list(value, op))
      case "not-in": return Filter.whereField(path, notIn: try list(value, op))
      default: throw MalformedCase("the operator \"\(op)\" is not known")
      }
    }

    private func list(_ value: Any, _ op: String) throws -> [Any] {
      guard let list = value as? [Any] else { throw MalformedCase("the operand of \"\(op)\" is no list") }
      return list
    }

    /// The operators of the corpus for which the API has a method.
    static let operators: Set<String> = [
      "==", "!=", "<", "<=", ">", ">=", "array-contains", "array-contains-any", "in", "not-in",
    ]
  }
#endif
