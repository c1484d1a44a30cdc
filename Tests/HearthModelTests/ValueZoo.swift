@testable import HearthModel

/// Values of all types, with the borders of each, in groups of ascending order; the values of one group are the same in
/// order.
enum ValueZoo {
  static let ordered: [[Value]] = scalars + references + geoPoints + arrays + vectors + maps

  static let all: [Value] = ordered.flatMap { $0 }

  private static let scalars: [[Value]] = [
    [.null],
    [false], [true],
    [.double(.nan), .double(-.nan), .double(.signalingNaN)],
    [.double(-.infinity)],
    [.double(-.greatestFiniteMagnitude)],
    [.double(-9_223_372_036_854_777_856)],
    [.integer(.min), .double(-0x1p63)],
    [.integer(.min + 1)],
    [-9_007_199_254_740_993],
    [-9_007_199_254_740_992, .double(-9_007_199_254_740_992)],
    [-2], [-1.5], [-1, -1.0], [-0.5],
    [.double(-.leastNonzeroMagnitude)],
    [0, 0.0, .double(-0.0)],
    [.double(.leastNonzeroMagnitude)],
    [.double(.leastNormalMagnitude)],
    [0.5], [1, 1.0], [1.1], [1.5], [2, 2.0], [10], [10.1], [11],
    [9_007_199_254_740_991, .double(9_007_199_254_740_991)],
    [9_007_199_254_740_992, .double(9_007_199_254_740_992)],
    [9_007_199_254_740_993],
    [9_007_199_254_740_994, .double(9_007_199_254_740_994)],
    [.double(9_223_372_036_854_774_784)],
    [.integer(.max - 1)], [.integer(.max)],
    [.double(0x1p63)],
    [.double(.greatestFiniteMagnitude)], [.double(.infinity)],
    [.timestamp(Timestamp(seconds: -62_135_596_800, nanoseconds: 0))],
    [.timestamp(Timestamp(seconds: -1, nanoseconds: 999_999_999))],
    [.timestamp(Timestamp(seconds: 0, nanoseconds: 0))],
    [.timestamp(Timestamp(seconds: 0, nanoseconds: 1))],
    [.timestamp(Timestamp(seconds: 100, nanoseconds: 0))],
    [.timestamp(Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_999))],
    [
      .pendingServerTimestamp(localWriteTime: Timestamp(seconds: 5, nanoseconds: 0), previousValue: nil),
      .pendingServerTimestamp(localWriteTime: Timestamp(seconds: 5, nanoseconds: 0), previousValue: "before"),
      .pendingServerTimestamp(localWriteTime: Timestamp(seconds: 5, nanoseconds: 0), previousValue: ["a": [1]]),
    ],
    [.pendingServerTimestamp(localWriteTime: Timestamp(seconds: 6, nanoseconds: 1), previousValue: .null)],
    [""], ["\0"], ["\0a"], ["\u{1}"], ["A"], ["Zulu"], ["a"], ["a\0"], ["a "], ["aa"], ["ab"], ["abcdefgh"],
    ["abcdefghi"], ["abcdefgi"], ["b"], ["cafe"], ["cafe\u{301}"], ["cafz"], ["caf\u{E9}"], ["z"], ["\u{7F}"],
    ["\u{80}"], ["\u{E9}"], ["\u{7FF}"], ["\u{800}"], ["\u{D7FF}"], ["\u{E000}"], ["\u{FFFD}"], ["\u{FFFF}"],
    ["\u{10000}"], ["\u{1F525}"], ["\u{1F525}a"], ["\u{10FFFF}"],
    [.bytes([])], [.bytes([0])], [.bytes([0, 0])], [.bytes([0, 1])], [.bytes([1])], [.bytes([0x7F])],
    [.bytes([0x80])], [.bytes([0xFF])], [.bytes([0xFF, 0])], [.bytes(Array(repeating: 0xFF, count: 300))],
  ]

  private static let references: [[Value]] = [
    reference("p1", "d1", "c/d"), reference("p1", "d1", "c/d/e/f"), reference("p1", "d1", "c/d1"),
    reference("p1", "d1", "c!/a"), reference("p1", "d2", "a/a"), reference("p1-a", "d1", "a/a"),
    reference("p2", "(default)", "__id-5__/a"), reference("p2", "(default)", "__id7__/a"),
    reference("p2", "(default)", "__id12__/a"), reference("p2", "(default)", "__id12__/b"),
    reference("p2", "(default)", "__id9223372036854775807__/a"),
    reference("p2", "(default)", "!/a"), reference("p2", "(default)", "__id1/a"),
    reference("p2", "(default)", "__id9223372036854775808__/a"), reference("p2", "(default)", "__id__/a"),
    reference("p2", "(default)", "__idx__/a"), reference("p2", "(default)", "a/\u{FFFF}"),
    reference("p2", "(default)", "a/\u{10000}"),
  ].map { [$0] }

  private static let geoPoints: [[Value]] = [
    [geo(.nan, 0)], [geo(-90, -180)], [geo(-90, 0)], [geo(-0.1, 180)],
    [geo(0, -180)], [geo(0, 0), geo(-0.0, -0.0)], [geo(0, 1)], [geo(1, -1)], [geo(90, 180)],
  ]

  private static let arrays: [[Value]] = [
    [[]], [[.null]], [[false, "z"]], [[1], [1.0]], [[1, .null]], [[1, 2], [1.0, 2]], [[1, 2, 3]], [[2]], [["a"]],
    [["a", "b"]], [["b"]], [[[]]], [[[1]]], [[.vector([])]], [[["a": 1]]],
  ]

  private static let vectors: [[Value]] = [
    [.vector([])], [.vector([.nan])], [.vector([-1])],
    [.vector([2]), ["__type__": "__vector__", "value": [2]]],
    [.vector([0, 0]), .vector([-0.0, 0])], [.vector([1, 2])], [.vector([1, 3])], [.vector([0, 0, 0])],
  ]

  private static let maps: [[Value]] = [
    [[:]], [["": 1]], [["__type__": "__other__"]],
    [["__type__": "__vector__"]], [["__type__": "__vector__", "value": "no array"]],
    [["__type__": "server_timestamp"]], [["a": .null]], [["a": 0], ["a": 0.0]], [["a": 1], ["a": 1.0]],
    [["a": 1, "b": 1]], [["a": 1, "b": 2]], [["a": 1, "c": 0]], [["a": 2]], [["a": ["b": ["c": [1, "x"]]]]],
    [["b": 0]], [["b": 0, "c": 1]], [["cafe\u{301}": 1]], [["caf\u{E9}": 1]], [["\u{FFFF}": 1]], [["\u{10000}": 1]],
  ]

  private static func reference(_ project: String, _ database: String, _ path: String) -> Value {
    .reference(
      ReferenceValue(
        database: DatabaseID(projectID: project, database: database), key: try! DocumentKey(parsing: path)))
  }

  private static func geo(_ latitude: Double, _ longitude: Double) -> Value {
    .geoPoint(GeoPoint(latitude: latitude, longitude: longitude))
  }

  /// Values nested in arrays and maps at several depths, in no particular order, from a seed.
  static func grown(count: Int, seed: UInt64) -> [Value] {
    var generator = SeededGenerator(seed: seed)
    return (0..<count).map { _ in grow(depth: 3, &generator) }
  }

  private static func grow(depth: Int, _ generator: inout SeededGenerator) -> Value {
    let choice = Int.random(in: 0..<10, using: &generator)
    if depth == 0 || choice < 5 { return all.randomElement(using: &generator) ?? .null }
    let count = Int.random(in: 0...4, using: &generator)
    if choice < 7 {
      return .array((0..<count).map { _ in grow(depth: depth - 1, &generator) })
    }
    let keys = ["a", "b", "c", "caf\u{E9}", "cafe\u{301}", "\u{1F525}", "", "long key of a field that has many bytes"]
    let entries = (0..<count).map { _ in
      (keys.randomElement(using: &generator) ?? "", grow(depth: depth - 1, &generator))
    }
    return .map(MapValue(entries: entries))
  }
}

/// SplitMix64: the same numbers for the same seed on every machine.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
