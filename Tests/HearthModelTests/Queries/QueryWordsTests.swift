import HearthModel
import Testing

@Suite("Queries in words")
struct QueryWordsTests {
  private let cities: Query
  private let state: FieldPath
  private let zip: FieldPath

  init() throws {
    cities = Query(path: try ResourcePath(parsing: "cities"))
    state = try FieldPath(["state"])
    zip = try FieldPath(["address", "zip code"])
  }

  @Test("conditions, orders, cursors and limits are said as they were asked for")
  func words() throws {
    #expect(cities.inWords == "cities")
    let query = cities.with(filter: .field(state, .equal, .string("CA")))
      .with(filter: .or([.field(zip, .greaterThan, .integer(5)), .field(zip, .in, .array([.null]))]))
      .with(order: OrderBy(path: zip, direction: .descending)).with(order: OrderBy(path: state))
    #expect(
      query.with(limit: 3, type: .last).with(startAt: Bound(position: [.integer(9)], isInclusive: false)).inWords
        == """
        cities where state == "CA" and (address.`zip code` > 5 or address.`zip code` in [null]) order by address.`zip code` \
        descending, state start after 9 limit to last 3
        """)
    let group = Query(path: ResourcePath(), collectionGroup: "landmarks")
    #expect(group.with(endAt: Bound(position: [.double(1)], isInclusive: true)).inWords == "all landmarks end at 1.0")
  }

  @Test("a long value does not come whole")
  func longValue() {
    let text = cities.with(filter: .field(state, .equal, .string(String(repeating: "a", count: 1_000_000)))).inWords
    #expect(text.hasPrefix("cities where state == \"aaa") && text.utf8.count < 200)
  }
}
