/// The contents of a `firestore.indexes.json` as `firebase deploy` takes it: with comments, and also in the older form of the file.
///
/// In contrast to local indexes, whose form ``IndexConfiguration`` has, nothing in an entry passes that has another meaning than its author
/// thinks: each field has one valid order, array configuration, vector configuration or search configuration, and members have known names.
/// A name that does not begin with a letter, such as `$schema`, is that of a comment.
package struct IndexFileText: Sendable {
  /// The file in the newer form. Indexes for searches have no fields.
  package private(set) var json: JSONText
  /// The places of the indexes for searches of texts and places, which serve no query here.
  package private(set) var searchIndexes: [String] = []

  /// - Throws: ``IndexConfigurationError`` with the place of what is wrong, its value and what is allowed.
  package init(_ bytes: [UInt8]) throws(IndexConfigurationError) {
    let file = try IndexConfiguration.object(json: Self.withoutComments(bytes))
    json = file
    guard case .object(let members) = file else { return }
    var indexes: [JSONText] = []
    for (number, index) in try file.array("indexes", at: "").enumerated() {
      indexes.append(try checkedIndex(index, at: "indexes[\(number)]"))
    }
    for (number, override) in try file.array("fieldOverrides", at: "").enumerated() {
      try Self.checkOverride(override, at: "fieldOverrides[\(number)]")
    }
    json = .object(members.map { $0.name == "indexes" ? ($0.name, .array(indexes)) : $0 })
  }

  // MARK: - Indexes

  private static let scopes = ["COLLECTION", "COLLECTION_GROUP"]
  private static let orders = ["ASCENDING", "DESCENDING"]
  private static let configurations = ["order", "arrayConfig", "vectorConfig", "searchConfig"]

  /// - Returns: The index in the newer form.
  private mutating func checkedIndex(_ index: JSONText, at place: String) throws(IndexConfigurationError) -> JSONText {
    let entry = IndexFileEntry(json: index, place: place)
    try entry.checkMembers(
      ["collectionGroup", "queryScope", "fields", "apiScope", "density", "multikey", "unique", "collectionId"])
    // `collectionId` and `mode` are of the first form of the file.
    let isOld = index.member("collectionGroup") == nil
    guard let group = try entry.text(isOld ? "collectionId" : "collectionGroup") else {
      throw entry.missing("collectionGroup", "a string")
    }
    try Self.checkStorage(entry)
    guard case .array(let list)? = index.member("fields") else { throw entry.missing("fields", "an array") }
    guard !list.isEmpty else {
      throw IndexConfigurationError(place: place.member("fields"), "is empty, but an index has a field")
    }
    var fields: [JSONText] = []
    for (number, field) in list.enumerated() {
      fields.append(try Self.checkedField(IndexFileEntry(json: field, place: "\(place).fields[\(number)]")))
    }
    let isSearch = fields.contains { $0.member("searchConfig") != nil }
    if isSearch { searchIndexes.append(place) }
    return .object([
      ("collectionGroup", .string(group)), ("queryScope", .string(try entry.text("queryScope") ?? Self.scopes[0])),
      ("fields", .array(isSearch ? [] : fields)),
    ])
  }

  /// Checks what says how production keeps an index. Here, only the scope matters.
  private static func checkStorage(_ entry: IndexFileEntry) throws(IndexConfigurationError) {
    try entry.checkText("queryScope", scopes)
    try entry.checkText("apiScope", ["ANY_API", "DATASTORE_MODE_API", "MONGODB_COMPATIBLE_API"])
    try entry.checkText("density", ["SPARSE_ALL", "SPARSE_ANY", "DENSE", "DENSITY_UNSPECIFIED"])
    try entry.checkBool("multikey")
    try entry.checkBool("unique")
  }

  /// - Returns: The field in the newer form.
  private static func checkedField(_ entry: IndexFileEntry) throws(IndexConfigurationError) -> JSONText {
    try entry.checkMembers(["fieldPath"] + configurations + ["mode"])
    guard let path = try entry.text("fieldPath") else { throw entry.missing("fieldPath", "a string") }
    var configuration: (name: String, value: JSONText)
    if configurations.allSatisfy({ entry.json.member($0) == nil }), let mode = try entry.text("mode") {
      try entry.checkText("mode", orders + ["ARRAY_CONTAINS"])
      configuration = mode == "ARRAY_CONTAINS" ? ("arrayConfig", "CONTAINS") : ("order", .string(mode))
    } else {
      configuration = try onlyConfiguration(of: entry, configurations)
    }
    return .object([("fieldPath", .string(path)), configuration])
  }

  /// The one of several members that a field has, which is checked.
  private static func onlyConfiguration(
    of entry: IndexFileEntry, _ names: [String]
  ) throws(IndexConfigurationError) -> (name: String, value: JSONText) {
    let found = names.filter { entry.json.member($0) != nil }
    guard found.count == 1, let name = found.first, let value = entry.json.member(name) else {
      let all = IndexFileEntry.list(names, "and")
      throw IndexConfigurationError(
        place: entry.place,
        found.isEmpty
          ? "has no order: it must have one of the members \(all)"
          : "has \(IndexFileEntry.list(found, "and")), but must have only one of the members \(all)")
    }
    switch name {
    case "order": try entry.checkText(name, orders)
    case "arrayConfig": try entry.checkText(name, ["CONTAINS"])
    case "vectorConfig": try checkVector(value, at: entry.place.member(name))
    default:
      guard case .object = value else { throw .wrongType(entry.place.member(name), "an object", value) }
    }
    return (name, value)
  }

  private static func checkVector(_ vector: JSONText, at place: String) throws(IndexConfigurationError) {
    try IndexFileEntry(json: vector, place: place).checkMembers(["dimension", "flat"])
    guard case .number(let number)? = vector.member("dimension"), let dimension = Int(number),
      (1...2048).contains(dimension)
    else {
      throw IndexConfigurationError(place: place, "must be an object with a dimension between 1 and 2048")
    }
  }

  // MARK: - Single fields

  private static func checkOverride(_ override: JSONText, at place: String) throws(IndexConfigurationError) {
    let entry = IndexFileEntry(json: override, place: place)
    try entry.checkMembers(["collectionGroup", "fieldPath", "indexes", "ttl"])
    guard try entry.text("collectionGroup") != nil else { throw entry.missing("collectionGroup", "a string") }
    guard try entry.text("fieldPath") != nil else { throw entry.missing("fieldPath", "a string") }
    try entry.checkBool("ttl")
    guard case .array(let indexes)? = override.member("indexes") else {
      throw entry.missing("indexes", "an array; [] exempts the field from all indexes")
    }
    for (number, index) in indexes.enumerated() {
      let index = IndexFileEntry(json: index, place: "\(place).indexes[\(number)]")
      let names = ["order", "arrayConfig"]
      try index.checkMembers(names + ["queryScope", "apiScope", "density", "multikey", "unique"])
      _ = try onlyConfiguration(of: index, names)
      try checkStorage(index)
    }
  }

  // MARK: - Comments

  /// The text with blanks in place of comments, so that what is left keeps its line and column.
  private static func withoutComments(_ text: [UInt8]) -> [UInt8] {
    var bytes = text
    var (place, isString) = (0, false)
    func starts(_ second: Unicode.Scalar) -> Bool {
      place + 1 < bytes.count && bytes[place] == UInt8(ascii: "/") && bytes[place + 1] == UInt8(ascii: second)
    }
    func blank(until end: Int) {
      for index in place..<end where bytes[index] != UInt8(ascii: "\n") { bytes[index] = UInt8(ascii: " ") }
      place = end
    }
    while place < bytes.count {
      if isString {
        if bytes[place] == UInt8(ascii: "\\") {
          place += 1
        } else if bytes[place] == UInt8(ascii: "\"") {
          isString = false
        }
        place += 1
      } else if starts("/") {
        blank(until: bytes[place...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count)
      } else if starts("*") {
        var end = place + 2
        while end + 1 < bytes.count, bytes[end] != UInt8(ascii: "*") || bytes[end + 1] != UInt8(ascii: "/") { end += 1 }
        // A comment without an end stays, and is an error.
        guard end + 1 < bytes.count else { return bytes }
        blank(until: end + 2)
      } else {
        isString = bytes[place] == UInt8(ascii: "\"")
        place += 1
      }
    }
    return bytes
  }
}
