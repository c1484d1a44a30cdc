/// The fields of a map, each name once. A few of them are searched one by one. More are searched by bisection if they are in order, and
/// otherwise have an index.
struct RuleFields: Sendable {
  typealias Field = (key: ExactText, value: RuleValue)

  /// In the order of the UTF-8 of their names, unless there is an index.
  private(set) var all: [Field]
  private let places: [ExactText: Int]?

  /// Comparing this many names takes no longer than hashing one.
  private static let mostWithoutIndex = 12

  /// The last one of several fields with one name counts.
  init(_ fields: [Field]) {
    all = fields
    // Documents are mostly stored in this order, and then have no name twice.
    guard !Self.areInOrder(fields) else {
      places = nil
      return
    }
    guard fields.count > Self.mostWithoutIndex else {
      places = nil
      sortKeepingLast()
      return
    }
    var places: [ExactText: Int] = Dictionary(minimumCapacity: fields.count)
    all = []
    all.reserveCapacity(fields.count)
    for field in fields {
      if let place = places[field.key] {
        all[place] = field
      } else {
        places[field.key] = all.count
        all.append(field)
      }
    }
    self.places = places
  }

  /// True if each name comes behind the one before it.
  private static func areInOrder(_ fields: [Field]) -> Bool {
    var place = 1
    while place < fields.count {
      guard fields[place - 1].key < fields[place].key else { return false }
      place += 1
    }
    return true
  }

  /// Sorts a few fields. They stay where they are until their order is known: moving one costs more than comparing two names.
  private mutating func sortKeepingLast() {
    let fields = all
    all = withUnsafeTemporaryAllocation(of: Int.self, capacity: fields.count) { order in
      // The places of fields, inserted one after the other.
      var count = 0
      for place in fields.indices {
        var target = count
        while target > 0, fields[place].key < fields[order[target - 1]].key { target -= 1 }
        if target > 0, fields[order[target - 1]].key == fields[place].key {
          order[target - 1] = place
          continue
        }
        var moved = count
        while moved > target {
          order[moved] = order[moved - 1]
          moved -= 1
        }
        order[target] = place
        count += 1
      }
      return order[..<count].map { fields[$0] }
    }
  }

  var count: Int { all.count }
  var keys: some Sequence<ExactText> { all.lazy.map(\.key) }

  /// The fields in the order of the UTF-8 of their names.
  var inOrder: [Field] { places == nil ? all : all.sorted { $0.key < $1.key } }

  subscript(name: ExactText) -> RuleValue? { place(of: name).map { all[$0].value } }

  private func place(of name: ExactText) -> Int? {
    if let places { return places[name] }
    if all.count <= Self.mostWithoutIndex {
      var place = 0
      while place < all.count {
        if all[place].key == name { return place }
        place += 1
      }
      return nil
    }
    var low = 0
    var high = all.count
    while low < high {
      let middle = low + (high - low) / 2
      if all[middle].key < name { low = middle + 1 } else { high = middle }
    }
    return low < all.count && all[low].key == name ? low : nil
  }
}
