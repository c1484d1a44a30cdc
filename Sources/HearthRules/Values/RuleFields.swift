/// The fields of a map, each name once. A few of them are looked through; more have an index.
struct RuleFields: Sendable {
  typealias Field = (key: ExactText, value: RuleValue)

  private(set) var all: [Field]
  private let places: [ExactText: Int]?

  /// Comparing so many names takes no longer than hashing one.
  private static let mostWithoutIndex = 12

  /// The last one of several fields with one name counts.
  init(_ fields: [Field]) {
    guard fields.count > Self.mostWithoutIndex else {
      all = fields
      places = nil
      removeFormer()
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

  private mutating func removeFormer() {
    var place = all.count - 1
    while place > 0 {
      place -= 1
      let name = all[place].key
      if all[(place + 1)...].contains(where: { $0.key == name }) { all.remove(at: place) }
    }
  }

  var count: Int { all.count }
  var keys: some Sequence<ExactText> { all.lazy.map(\.key) }

  subscript(name: ExactText) -> RuleValue? {
    if let places { return places[name].map { all[$0].value } }
    for field in all where field.key == name { return field.value }
    return nil
  }
}
