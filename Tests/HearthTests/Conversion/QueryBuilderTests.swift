import Foundation
import HearthModel
import HearthWire
import Testing

@testable import Hearth

@Suite("Building queries")
struct QueryBuilderTests {
  let firestore: Firestore
  let cities: CollectionReference

  init() throws {
    firestore = try TestFirestore().firestore
    cities = firestore.collection("cities")
  }

  func filtered(_ query: Hearth.Query, _ filter: Hearth.Filter) throws(ProgrammingError) -> HearthModel.Query {
    try QueryBuilder.filter(query.model, filter.condition, databaseID: firestore.databaseID)
  }

  func message(_ query: Hearth.Query, _ filter: Hearth.Filter) -> String? {
    HearthTests.message { () throws(ProgrammingError) in _ = try filtered(query, filter) }
  }

  func key(_ path: String) throws -> Value {
    .reference(ReferenceValue(database: firestore.databaseID, key: try DocumentKey(parsing: path)))
  }

  @Test("every operator exists for strings and field paths, on queries and filters")
  func operators() throws {
    let path = Hearth.FieldPath(["a"])
    let queries: [(Hearth.Query, Hearth.Query, FieldFilter.Operator)] = [
      (cities.whereField("a", isEqualTo: 1), cities.whereField(path, isEqualTo: 1), .equal),
      (cities.whereField("a", isNotEqualTo: 1), cities.whereField(path, isNotEqualTo: 1), .notEqual),
      (cities.whereField("a", isLessThan: 1), cities.whereField(path, isLessThan: 1), .lessThan),
      (
        cities.whereField("a", isLessThanOrEqualTo: 1), cities.whereField(path, isLessThanOrEqualTo: 1),
        .lessThanOrEqual
      ),
      (cities.whereField("a", isGreaterThan: 1), cities.whereField(path, isGreaterThan: 1), .greaterThan),
      (
        cities.whereField("a", isGreaterThanOrEqualTo: 1), cities.whereField(path, isGreaterThanOrEqualTo: 1),
        .greaterThanOrEqual
      ),
      (cities.whereField("a", arrayContains: 1), cities.whereField(path, arrayContains: 1), .arrayContains),
      (
        cities.whereField("a", arrayContainsAny: [1]), cities.whereField(path, arrayContainsAny: [1]), .arrayContainsAny
      ),
      (cities.whereField("a", in: [1]), cities.whereField(path, in: [1]), .in),
      (cities.whereField("a", notIn: [1]), cities.whereField(path, notIn: [1]), .notIn),
    ]
    for (byString, byPath, op) in queries {
      #expect(byString == byPath)
      #expect(byString.model.filters.flatMap(\.flattened).map(\.op) == [op])
    }
    #expect(
      cities.whereFilter(Filter.whereField("a", isGreaterOrEqualTo: 1))
        == cities.whereField("a", isGreaterThanOrEqualTo: 1))
  }

  @Test("composites of nothing disappear, composites of one collapse")
  func composites() throws {
    let a = Hearth.Filter.whereField("a", isEqualTo: 1)
    #expect(cities.whereFilter(.orFilter([])) == cities)
    #expect(cities.whereFilter(.andFilter([.orFilter([])])) == cities)
    #expect(cities.whereFilter(.orFilter([.andFilter([a])])) == cities.whereFilter(a))
    let both = cities.whereFilter(.orFilter([a, Filter.whereField("b", isLessThan: 2)]))
    guard case .composite(let composite)? = both.model.filters.first else { return #expect(Bool(false)) }
    #expect(composite.op == .or)
    #expect(composite.filters.count == 2)
  }

  @Test("a composite in one of the same kind is no level of its own, and one in the other kind is")
  func sameKind() throws {
    let conditions = ["a", "b", "c"].map { Filter.whereField($0, isEqualTo: 1) }
    for join in [Hearth.Filter.andFilter, Hearth.Filter.orFilter] {
      let nested = join([join([conditions[0], join([conditions[1]])]), .orFilter([]), .andFilter([conditions[2]])])
      #expect(cities.whereFilter(nested) == cities.whereFilter(join(conditions)))
    }
    let mixed = cities.whereFilter(.andFilter([.orFilter([conditions[0], conditions[1]]), conditions[2]]))
    guard case .composite(let composite)? = mixed.model.filters.first else { return #expect(Bool(false)) }
    #expect(composite.op == .and && composite.filters.count == 2)
  }

  @Test("a query has a fault as soon as it is nested deeper than messages can be read, in filters and in their values")
  func faults() throws {
    func nested(_ levels: Int, _ value: Any) -> Hearth.Query {
      let (last, other) = (Filter.whereField("a", isEqualTo: value), Filter.whereField("b", isEqualTo: 1))
      let filter = (0..<levels).reduce(last) { inner, number in
        number.isMultiple(of: 2) ? .orFilter([inner, other]) : .andFilter([inner, other])
      }
      return cities.whereFilter(filter)
    }
    func map(_ levels: Int) -> Any { (0..<levels).reduce(1 as Any) { inner, _ in ["m": inner] } }
    #expect(nested(45, 1).fault == nil && nested(46, 1).fault != nil)
    #expect(nested(0, map(30)).fault == nil && nested(0, map(31)).fault != nil)
    #expect(nested(15, map(20)).fault == nil && nested(16, map(20)).fault != nil)
    #expect(nested(46, 1).limit(to: 1).fault == nested(46, 1).fault)
    let ordered = cities.order(by: "a")
    #expect(ordered.start(at: [map(31)]).fault == nil && ordered.start(at: [map(32)]).fault != nil)
    #expect(ordered.end(before: [map(31)]).fault == nil && ordered.limit(toLast: 1).end(before: [map(32)]).fault != nil)
    let text = String(repeating: "x", count: 3 << 20)
    let large = cities.order(by: "a").start(at: [text])
    #expect(large.fault == nil && large.end(at: [text]).fault != nil)
  }

  @Test("operators that Firestore does not allow together are refused, nested ones too")
  func conflicts() throws {
    let notIn = Filter.whereField("a", notIn: [1])
    let notEqual = Filter.whereField("a", isNotEqualTo: 1)
    let `in` = Filter.whereField("b", in: [1])
    #expect(
      message(cities.whereFilter(notIn), notIn) == "Invalid Query. You cannot use more than one 'notIn' filter.")
    #expect(
      message(cities.whereFilter(`in`), notIn) == "Invalid Query. You cannot use 'notIn' filters with 'in' filters.")
    #expect(
      message(cities.whereFilter(notIn), .orFilter([`in`, notEqual]))
        == "Invalid Query. You cannot use 'in' filters with 'notIn' filters.")
    #expect(
      message(cities, .andFilter([notEqual, notEqual]))
        == "Invalid Query. You cannot use more than one 'notEqual' filter.")
    #expect(message(cities.whereFilter(notEqual), notIn) != nil)
    #expect(message(cities.whereField("c", arrayContainsAny: [1]), notIn) != nil)
    #expect(message(cities.whereFilter(`in`), .whereField("c", arrayContainsAny: [1])) == nil)
    #expect(message(cities.whereField("a", arrayContains: 1), .whereField("b", arrayContains: 1)) == nil)
    #expect(message(cities.whereField("a", isLessThan: 1), .whereField("b", isLessThan: 1)) == nil)
  }

  @Test("lists must not be empty, and may hold arrays for in and notIn only")
  func lists() throws {
    #expect(
      message(cities, .whereField("a", in: [])) == "Invalid Query. A non-empty array is required for 'in' filters.")
    #expect(message(cities, .whereField("a", notIn: [])) != nil)
    #expect(message(cities, .whereField("a", arrayContainsAny: [])) != nil)
    #expect(
      cities.whereField("a", in: [[1, 2], ["x": [3]]]).model.filters.flatMap(\.flattened).map(\.value)
        == [[[1, 2], ["x": [3]]]])
    #expect(throws: ProgrammingError.self) { try UserDataReader.parseArgument([[[1]]], allowsList: true) }
    #expect(throws: ProgrammingError.self) { try UserDataReader.parseArgument([[1]]) }
    #expect(throws: ProgrammingError.self) { try UserDataReader.parseArgument(FieldValue.serverTimestamp()) }
    #expect(try UserDataReader.parseArgument(["__type__": 1]) == ["__type__": 1])
  }

  @Test("an operand is what the cache reads again, also one that looks like a server timestamp")
  func storedOperands() throws {
    let time = Date(timeIntervalSince1970: 5)
    let translator = WireTranslator(database: firestore.databaseID)
    let operands: [[String: Any]] = [
      ["__type__": "server_timestamp", "__local_write_time__": time],
      ["__type__": "server_timestamp", "__local_write_time__": time, "__previous_value__": 1, "other": "x"],
      ["__type__": "server_timestamp"], ["__type__": "__vector__", "value": [1.5]],
    ]
    for operand in operands {
      let value = try UserDataReader.parseArgument(["in": operand])
      #expect(try translator.decode(translator.encode(value), at: "value") == value)
    }
  }

  @Test("ids in filters are plain ids, references, or for collection groups paths")
  func documentIDs() throws {
    let id = Hearth.FieldPath.documentID()
    let group = firestore.collectionGroup("landmarks")
    #expect(
      try filtered(cities, .whereField(id, isEqualTo: "SF")).filters.flatMap(\.flattened).map(\.value) == [
        key("cities/SF")
      ])
    #expect(
      try filtered(cities, .whereField(id, in: ["SF", firestore.document("cities/LA")])).filters.flatMap(\.flattened)
        .map(\.value) == [.array([key("cities/SF"), key("cities/LA")])])
    #expect(
      try filtered(group, .whereField(id, isGreaterThan: "cities/SF/landmarks/x")).filters.flatMap(\.flattened)
        .map(\.value) == [key("cities/SF/landmarks/x")])
    #expect(message(cities, .whereField(id, isEqualTo: ""))?.contains("it was an empty string") == true)
    #expect(message(cities, .whereField(id, isEqualTo: "a/b"))?.contains("contains a '/' character") == true)
    #expect(message(cities, .whereField(id, isEqualTo: 1))?.contains("valid string or DocumentReference") == true)
    #expect(message(cities, .whereField(id, in: ["ok", ""])) != nil)
    #expect(message(group, .whereField(id, isEqualTo: "cities"))?.contains("odd number of segments") == true)
    #expect(message(cities, .whereField(id, arrayContains: "a"))?.contains("not arrays") == true)
    #expect(message(cities, .whereField(id, arrayContainsAny: ["a"]))?.contains("not arrays") == true)
    let other = try TestFirestore(projectID: "other").firestore
    #expect(message(cities, .whereField("r", isEqualTo: other.document("a/b"))) != nil)
  }

  @Test("limits are positive, the last one counts, and very large ones are none")
  func limits() {
    for bad in [0, -1] {
      #expect(
        HearthTests.message { () throws(ProgrammingError) in
          _ = try QueryBuilder.limit(cities.model, to: bad, type: .first)
        } == "Invalid Query. Query limit (\(bad)) is invalid. Limit must be positive.")
    }
    #expect(cities.limit(to: 3).limit(toLast: 2).model.limit == 2)
    #expect(cities.limit(to: 3).limit(toLast: 2).model.limitType == .last)
    #expect(cities.limit(to: Int.max) == cities)
    #expect(throws: ProgrammingError.self) { try QueryBuilder.validateForRunning(cities.limit(toLast: 2).model) }
    #expect(throws: Never.self) {
      try QueryBuilder.validateForRunning(cities.order(by: "a").limit(toLast: 2).model)
    }
  }

  @Test("orders come before cursors, and cursors have at most as many values as orders")
  func cursors() throws {
    let ordered = cities.order(by: "a").order(by: Hearth.FieldPath.documentID(), descending: true)
    #expect(
      ordered.start(at: [1, "SF"]).model.startAt == Bound(position: [1, try key("cities/SF")], isInclusive: true))
    #expect(ordered.start(after: [1]).model.startAt == Bound(position: [1], isInclusive: false))
    #expect(ordered.end(at: [1]).model.endAt == Bound(position: [1], isInclusive: true))
    #expect(ordered.end(before: [1]).model.endAt == Bound(position: [1], isInclusive: false))
    for bounded in [ordered.start(at: [1]), ordered.end(at: [1])] {
      #expect(throws: ProgrammingError.self) {
        try QueryBuilder.order(bounded.model, by: try Hearth.FieldPath.parsed("b"), descending: false)
      }
    }
    func bound(_ query: Hearth.Query, _ values: [Any]) -> String? {
      HearthTests.message { () throws(ProgrammingError) in
        _ = try QueryBuilder.bound(
          query.model, .start, values: values, isInclusive: true, databaseID: firestore.databaseID)
      }
    }
    #expect(bound(ordered, [1, "a", 2])?.contains("more values than were specified") == true)
    #expect(bound(ordered, [1, 2]) == "Invalid query. Expected a string for the document ID.")
    #expect(bound(ordered, [1, "a/b"])?.contains("contains a slash") == true)
    let group = firestore.collectionGroup("landmarks").order(by: Hearth.FieldPath.documentID())
    #expect(bound(group, ["cities"]) != nil)
    #expect(bound(group, ["cities/SF"]) == nil)
  }

  @Test("a cursor at a document has the values of all orders, the implicit ones included")
  func snapshotCursors() throws {
    func snapshot(_ fields: MapValue?) throws -> DocumentSnapshot {
      let key = try DocumentKey(parsing: "cities/SF")
      return DocumentSnapshot(
        firestore: firestore, key: key,
        document: fields.map { .found(key, version: .none, fields: EncodedFields($0)) }, isFromCache: false,
        hasPendingWrites: false)
    }
    let query = cities.whereField("b", isGreaterThan: 0).order(by: "a", descending: true)
    let bounded = query.start(atDocument: try snapshot(["a": 1, "b": 2]))
    #expect(bounded.model.startAt == Bound(position: [1, 2, try key("cities/SF")], isInclusive: true))
    #expect(query.end(beforeDocument: try snapshot(["a": 1, "b": 2])).model.endAt?.isInclusive == false)
    func text(_ fields: MapValue?) throws -> String? {
      let document = try snapshot(fields).document
      do throws(UnusableCursor) {
        _ = try QueryBuilder.bound(
          query.model, .start, document: document, isInclusive: true, databaseID: firestore.databaseID)
        return nil
      } catch {
        return error.message
      }
    }
    #expect(try text(nil)?.contains("a document that doesn't exist") == true)
    #expect(try text(["a": 1])?.contains("field 'b' (used as the order by) does not exist") == true)
    let time = HearthModel.Timestamp(seconds: 1, nanoseconds: 0)
    #expect(
      try text(["a": .pendingServerTimestamp(localWriteTime: time, previousValue: nil), "b": 1])?
        .contains("'a' is an uncommitted server timestamp") == true)
  }

  @Test("queries are equal by what they ask for and by their Firestore object")
  func equality() throws {
    let other = try TestFirestore().firestore
    #expect(cities.whereField("a", isEqualTo: 1) == firestore.collection("cities").whereField("a", isEqualTo: 1))
    #expect(cities.whereField("a", isEqualTo: 1).hash == cities.whereField("a", isEqualTo: 1).hash)
    #expect(cities != other.collection("cities"))
    #expect(cities.order(by: "a").limit(to: 2) != cities.order(by: "a").limit(toLast: 2))
    #expect(cities.whereField("a", isEqualTo: 1.55) != cities.whereField("a", isEqualTo: 1.56))
    #expect(firestore.document("a/b") == firestore.collection("a").document("b"))
    #expect(firestore.document("a/b") != other.document("a/b"))
  }

  @Test("paths of references follow their rules")
  func paths() throws {
    let document = firestore.document("/cities/SF/landmarks/GG/")
    #expect(document.path == "cities/SF/landmarks/GG")
    #expect(document.documentID == "GG")
    #expect(document.parent.path == "cities/SF/landmarks")
    #expect(document.parent.parent == firestore.document("cities/SF"))
    #expect(cities.parent == nil)
    #expect(cities.collectionID == "cities")
    #expect(cities.document("SF").collection("landmarks").document("GG") == document)
    let automatic = cities.document().documentID
    #expect(automatic.utf8.count == 20)
    #expect(automatic.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
    #expect(automatic != cities.document().documentID)
    for bad in ["", "a", "a//b", "a/b/c", "//", "/"] {
      #expect(throws: ProgrammingError.self, "\(bad)") { try PathParser.documentKey(bad) }
    }
    for bad in ["", "a/b", "a//b"] {
      #expect(throws: ProgrammingError.self, "\(bad)") { try PathParser.collection(bad) }
    }
    #expect(
      HearthTests.message { () throws(ProgrammingError) in _ = try PathParser.documentKey("a/b/c") }
        == "Invalid document reference. Document references must have an even number of segments, but a/b/c has 3")
    #expect(throws: ProgrammingError.self) { try PathParser.collectionGroup("a/b") }
    #expect(throws: ProgrammingError.self) { try PathParser.collectionGroup("") }
  }
}
