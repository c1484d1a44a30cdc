/// Documents like those of Benchmarks/Peers/load: 11 fields of about 500 bytes, encoded.
struct SampleFields {
  var count: Int
  var bytes: Int

  static let groupSize = 10
  var groupCount: Int { max(count / Self.groupSize, 1) }

  static func id(_ index: Int) -> String {
    let digits = String(index * 7919 % 10_000_000)
    return String(repeating: "0", count: 7 - digits.utf8.count) + digits + "placeplacepla"
  }

  /// The encoded entries of `fields` of a google.firestore.v1.Document.
  func fields(_ index: Int, revision: Int) -> [UInt8] {
    var fields = WireMessage()
    func add(_ name: String, _ value: WireMessage) {
      fields.append(2, Self.entry(name, value))
    }
    add("title", Self.string("Place number \(index)"))
    add("group", Self.integer(index % groupCount))
    add("rank", Self.integer(index * 7919 % count))
    add("price", Self.double(Double(revision)))
    add("active", Self.value(1, index % 2 == 0 ? 1 : 0))
    var time = WireMessage()
    time.append(1, 1_700_000_000 + index)
    add("createdAt", Self.value(10, time))
    var tags = WireMessage()
    for tag in ["harbour", "orchard", "lantern"] { tags.append(1, Self.string(tag).bytes) }
    add("tags", Self.value(9, tags))
    var location = WireMessage()
    location.append(1, double: 48.1)
    location.append(2, double: 11.5)
    add("location", Self.value(8, location))
    var address = WireMessage()
    address.append(1, Self.entry("street", Self.string("terrace street \(index % 200)")))
    address.append(1, Self.entry("city", Self.string("willow")))
    add("address", Self.value(6, address))
    add("owner", Self.string(Self.id(index + 1)))
    add("notes", Self.string(String(repeating: "meadow ", count: (bytes - 330) / 7)))
    return fields.bytes
  }

  // MARK: - Queries

  /// A google.firestore.v1.StructuredQuery with 10 results.
  func groupQuery(_ collection: String, _ group: Int) -> [UInt8] {
    Self.query(collection, field: "group", comparison: 5, group).bytes
  }

  /// The same with a limit of 25.
  func rangeQuery(_ collection: String, from start: Int) -> [UInt8] {
    var query = Self.query(collection, field: "rank", comparison: 4, start)
    var order = WireMessage()
    order.append(1, Self.reference("rank"))
    order.append(2, 1)
    query.append(4, order.bytes)
    var limit = WireMessage()
    limit.append(1, 25)
    query.append(5, limit.bytes)
    return query.bytes
  }

  private static func query(_ collection: String, field: String, comparison: Int, _ operand: Int) -> WireMessage {
    var selector = WireMessage()
    selector.append(2, collection.utf8)
    var condition = WireMessage()
    condition.append(1, reference(field))
    condition.append(2, comparison)
    condition.append(3, integer(operand).bytes)
    var filter = WireMessage()
    filter.append(2, condition.bytes)
    var query = WireMessage()
    query.append(2, selector.bytes)
    query.append(3, filter.bytes)
    return query
  }

  private static func reference(_ field: String) -> [UInt8] {
    var reference = WireMessage()
    reference.append(2, field.utf8)
    return reference.bytes
  }

  // MARK: - Values

  private static func entry(_ name: String, _ value: WireMessage) -> [UInt8] {
    var entry = WireMessage()
    entry.append(1, name.utf8)
    entry.append(2, value.bytes)
    return entry.bytes
  }

  private static func string(_ text: String) -> WireMessage {
    var value = WireMessage()
    value.append(17, text.utf8)
    return value
  }

  private static func integer(_ number: Int) -> WireMessage { value(2, number) }

  private static func double(_ number: Double) -> WireMessage {
    var value = WireMessage()
    value.append(3, double: number)
    return value
  }

  private static func value(_ kind: Int, _ number: Int) -> WireMessage {
    var value = WireMessage()
    value.append(kind, number)
    return value
  }

  private static func value(_ kind: Int, _ content: WireMessage) -> WireMessage {
    var value = WireMessage()
    value.append(kind, content.bytes)
    return value
  }
}
