package import HearthModel

/// Values of all types, with the borders of each, in groups of ascending order; the values of one group are the same in
/// order.
///
/// The order is that in which the groups are written or built here. It does not come from the code under test.
package enum ValueZoo {
  package static let ordered: [[Value]] =
    [[.null], [false], [true]] + numbers + timestamps + pendingServerTimestamps + strings + bytes + references
    + geoPoints + arrays + vectors + maps

  package static let all: [Value] = ordered.flatMap { $0 }
}

// MARK: - Numbers

extension ValueZoo {
  /// NaN, then all numbers by their exact value.
  private static let numbers: [[Value]] = {
    let exponents = [0, 1, 2, 8, 31, 32, 52, 53, 54, 62, 63]
    var integers: Set<Int64> = [.min, .min + 1, .max, .max - 1, 1000, -1000]
    var doubles: Set<Double> = [
      0, 0.5, -0.5, 1.1, 1.5, -1.5, 10.1, 0x1p64, -0x1p64, 0x1p100, .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
      .leastNormalMagnitude, .leastNormalMagnitude.nextDown, -.leastNormalMagnitude, .pi,
    ]
    for exponent in exponents {
      let power = Double(sign: .plus, exponent: exponent, significand: 1)
      for double in [power, -power] { doubles.formUnion([double.nextDown, double, double.nextUp]) }
      let exact = Int128(power)
      for distance in -2...2 as ClosedRange<Int128> {
        for candidate in [exact + distance, -exact + distance] {
          if let integer = Int64(exactly: candidate) { integers.insert(integer) }
        }
      }
    }
    var groups: [ExactNumber: [Value]] = [:]
    for integer in integers { groups[ExactNumber(integer), default: []].append(.integer(integer)) }
    for double in doubles { groups[ExactNumber(double), default: []].append(.double(double)) }
    groups[ExactNumber(0.0)]?.append(.double(-0.0))
    let finite = groups.keys.sorted().compactMap { groups[$0] }
    let nans: [Double] = [
      .nan, -.nan, .signalingNaN, Double(nan: 0x1234, signaling: false), Double(bitPattern: 0xFFFF_FFFF_FFFF_FFFF),
      Double(bitPattern: 0x7FF0_0000_0000_0001),
    ]
    return [nans.map(Value.double), [.double(-.infinity)], [.double(-.greatestFiniteMagnitude)], [.double(-0x1p1000)]]
      + finite + [[.double(0x1p1000)], [.double(.greatestFiniteMagnitude)], [.double(.infinity)]]
  }()

  /// A number of at most 2^100 in magnitude as its whole part and the rest, both exact.
  private struct ExactNumber: Hashable, Comparable {
    let whole: Int128
    let rest: Double

    init(_ integer: Int64) {
      whole = Int128(integer)
      rest = 0
    }

    init(_ double: Double) {
      whole = Int128(double.rounded(.towardZero))
      rest = double - double.rounded(.towardZero)
    }

    static func < (a: ExactNumber, b: ExactNumber) -> Bool { (a.whole, a.rest) < (b.whole, b.rest) }
  }
}

// MARK: - Times

extension ValueZoo {
  private static let timestamps: [[Value]] = {
    let seconds: [Int64] = [.min, -62_135_596_800, -1, 0, 1, 100, 4_294_967_296, 253_402_300_799, .max]
    let nanoseconds: [Int32] = [0, 1, 999, 1000, 999_999_999]
    return seconds.flatMap { second in
      nanoseconds.map { [.timestamp(Timestamp(seconds: second, nanoseconds: $0))] }
    }
  }()

  private static let pendingServerTimestamps: [[Value]] = {
    let times = [(-1, 999_999_999), (0, 0), (0, 1), (5, 0), (6, 1), (253_402_300_799, 0)] as [(Int64, Int32)]
    return times.map { seconds, nanoseconds in
      let time = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
      let previous: [Value?] = [nil, "before", .null, ["a": [1]], 7]
      return previous.map { .pendingServerTimestamp(localWriteTime: time, previousValue: $0) }
    }
  }()
}

// MARK: - Texts

extension ValueZoo {
  /// Texts with prefixes of each other, with zeros inside, around lengths of whole words, composed and decomposed, and at
  /// the ends of the ranges that UTF-8 encodes in one to four bytes (UTF-16 orders the last of these differently).
  package static let texts: [String] = {
    let letters = [
      "\0", "\u{1}", " ", "/", "A", "a", "b", "e", "\u{7F}", "\u{80}", "\u{E9}", "\u{301}", "\u{7FF}", "\u{800}",
      "\u{D7FF}", "\u{E000}", "\u{FFFD}", "\u{FFFF}", "\u{10000}", "\u{1F525}", "\u{10FFFF}",
    ]
    let longer = [
      "", "\0\0", "\0a", "\0\u{1}", "a\0", "a\0\0", "a\0\u{1}", "a\0\u{10FFFF}", "a\u{1}", "a ", "aa", "ab", "abcdefg",
      "abcdefgh", "abcdefghi", "abcdefgi", "abcdefgh\0", "abcdefghijklmno", "abcdefghijklmnop", "abcdefghijklmnopq",
      "cafe", "cafe\u{301}", "cafz", "caf\u{E9}", "Zulu", "z", "\u{FFFF}a", "\u{10000}a", "\u{1F525}a", "__id7__",
      "__name__", "server_timestamp", "a/b", "a.b",
    ]
    return letters + longer + [String(repeating: "a", count: 300), String(repeating: "\0", count: 16)]
  }()

  private static let strings: [[Value]] = texts.sorted { precedes(Array($0.utf8), Array($1.utf8)) }
    .map { [.string($0)] }

  private static let bytes: [[Value]] = {
    let borders: [UInt8] = [0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF]
    let pairs = [0, 1, 0xFE, 0xFF] as [UInt8]
    var contents: [[UInt8]] = [[]] + borders.map { [$0] }
    for first in pairs { contents += pairs.map { [first, $0] } }
    for byte in [0, 1, 0xFF] as [UInt8] {
      contents += [3, 7, 8, 9, 300].map { Array(repeating: byte, count: $0) }
      contents.append(Array(repeating: byte, count: 8) + [2])
    }
    return contents.sorted(by: precedes).map { [.bytes($0)] }
  }()

  private static func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool { a.lexicographicallyPrecedes(b) }
}

// MARK: - References and places

extension ValueZoo {
  private static let references: [[Value]] = [
    reference("p", "d", "c/d"), reference("p", "d1", "c/d"),
    reference("p1", "d1", "__id3__/a"), reference("p1", "d1", "c/d"), reference("p1", "d1", "c/d/e/f"),
    reference("p1", "d1", "c/d/e!/f"), reference("p1", "d1", "c/d\0"), reference("p1", "d1", "c/d\0/e/f"),
    reference("p1", "d1", "c/d1"), reference("p1", "d1", "c!/a"), reference("p1", "d2", "a/a"),
    reference("p1-a", "d1", "a/a"),
    reference("p2", "(default)", "__id-9223372036854775808__/a"), reference("p2", "(default)", "__id-5__/a"),
    reference("p2", "(default)", "__id0__/a"), reference("p2", "(default)", "__id007__/a"),
    reference("p2", "(default)", "__id7__/a"), reference("p2", "(default)", "__id7__/a/__id1__/a"),
    reference("p2", "(default)", "__id7__/b"),
    reference("p2", "(default)", "__id12__/__id3__"), reference("p2", "(default)", "__id12__/__id20__"),
    reference("p2", "(default)", "__id12__/a"), reference("p2", "(default)", "__id12__/b"),
    reference("p2", "(default)", "__id9223372036854775807__/a"),
    reference("p2", "(default)", "!/a"), reference("p2", "(default)", "__id1/a"),
    reference("p2", "(default)", "__id9223372036854775808__/a"), reference("p2", "(default)", "__id__/a"),
    reference("p2", "(default)", "__idx__/a"), reference("p2", "(default)", "a/\u{E9}"),
    reference("p2", "(default)", "a/\u{FFFF}"), reference("p2", "(default)", "a/\u{10000}"),
  ].map { [$0] }

  private static func reference(_ project: String, _ database: String, _ path: String) -> Value {
    do {
      let key = try DocumentKey(parsing: path)
      return .reference(ReferenceValue(database: DatabaseID(projectID: project, database: database), key: key))
    } catch {
      fatalError("\(error)")
    }
  }

  private static let geoPoints: [[Value]] = {
    let latitudes: [[Double]] = [[.nan], [-90], [-0.1], [0, -0.0], [.leastNonzeroMagnitude], [90]]
    let longitudes: [[Double]] = [[-180], [0, -0.0], [1], [180]]
    return latitudes.flatMap { latitude in
      longitudes.map { longitude in
        zip(latitude + latitude, longitude + longitude).map { .geoPoint(GeoPoint(latitude: $0, longitude: $1)) }
      }
    }
  }()
}

// MARK: - Nested values

extension ValueZoo {
  /// By their elements, shorter ones first.
  private static let arrays: [[Value]] = {
    let elements: [[Value]] = [
      [.null], [true], [.double(.nan)], [1, 1.0], [.string("a")], [.string("a\0")], [[]], [[1], [1.0]],
      [.vector([0])], [[:]], [["a": 1]],
    ]
    var groups: [[Value]] = [[[]]]
    for (index, first) in elements.enumerated() {
      groups.append(first.map { [$0] })
      for second in elements {
        groups.append(zipLongest(first, second) { [$0, $1] })
        if index == 4 { groups.append(second.map { ["a", $0, .null] }) }
      }
    }
    return groups
  }()

  /// By their length, then by their elements. Maps that look like vectors are vectors, whatever their elements.
  private static let vectors: [[Value]] = {
    let elements: [[Double]] = [[.nan, -.nan], [-.infinity], [-1], [-0.0, 0], [1]]
    var groups: [[Value]] = [[.vector([])]]
    groups += elements.map { $0.map { .vector([$0]) } }
    groups.append([.vector([2]), ["__type__": "__vector__", "value": [2]]])
    groups.append([["__type__": "__vector__", "value": ["no number"]]])
    for first in elements {
      for second in elements { groups.append(zipLongest(first, second) { .vector([$0, $1]) }) }
    }
    return groups + [[.vector([0, 0, 0])], [.vector([0, 0, 1])]]
  }()

  /// By the first key, its value, the second key, its value and so on; shorter ones first.
  private static let maps: [[Value]] = {
    let keys = ["", "\0", "a", "a\0", "b", "cafe\u{301}", "caf\u{E9}", "\u{FFFF}", "\u{10000}"]
    let values: [[Value]] = [[.null], [0, 0.0, .double(-0.0)], [["a": ["b": ["c": [1, "x"]]]]]]
    var groups: [[Value]] = [[[:]]]
    for (index, first) in keys.enumerated() {
      for value in values {
        groups.append(value.map { .map(MapValue(entries: [(first, $0)])) })
        for second in keys[(index + 1)...].prefix(4) {
          for other in values {
            groups.append(zipLongest(value, other) { .map(MapValue(entries: [(first, $0), (second, $1)])) })
          }
        }
      }
      // Behind "" and "\0", before "a".
      if first == "\0" { groups += mapsThatAreNoVectors }
    }
    return groups
  }()

  private static let mapsThatAreNoVectors: [[Value]] = [
    [["__type__": "__other__"]], [["__type__": "__other__", "value": [1]]], [["__type__": "__vector__"]],
    [["__type__": "__vector__", "value": "no array"]], [["__type__": "server_timestamp"]],
  ]

  /// Combines equal values of two groups; the shorter group's last value stands in where it has no more.
  private static func zipLongest<T, R>(_ a: [T], _ b: [T], _ combine: (T, T) -> R) -> [R] {
    (0..<max(a.count, b.count)).compactMap { index in
      guard let x = a[safe: index] ?? a.last, let y = b[safe: index] ?? b.last else { return nil }
      return combine(x, y)
    }
  }
}

extension Array {
  fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}

// MARK: - Random values

extension ValueZoo {
  /// Values nested in arrays and maps at several depths, in no particular order, from a seed.
  package static func grown(count: Int, seed: UInt64) -> [Value] {
    var generator = SeededGenerator(seed: seed)
    return (0..<count).map { _ in grow(depth: 3, &generator) }
  }

  private static func grow(depth: Int, _ generator: inout SeededGenerator) -> Value {
    let choice = generator.below(10)
    if depth == 0 || choice < 5 { return generator.element(all) }
    let count = generator.below(5)
    if choice < 7 {
      return .array((0..<count).map { _ in grow(depth: depth - 1, &generator) })
    }
    let keys = ["a", "b", "c", "caf\u{E9}", "cafe\u{301}", "\u{1F525}", "", "long key of a field that has many bytes"]
    return .map(
      MapValue(entries: (0..<count).map { _ in (generator.element(keys), grow(depth: depth - 1, &generator)) }))
  }
}
