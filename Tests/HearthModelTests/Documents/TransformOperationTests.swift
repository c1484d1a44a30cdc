import HearthModel
import TestSupport
import Testing

private let time = Timestamp(seconds: 7, nanoseconds: 0)

@Suite("Transforms of fields")
struct TransformOperationTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var operation: TransformOperation
    var previous: Value?
    var expected: Value
    var testDescription: String { "\(operation) on \(previous.map(String.init(describing:)) ?? "nothing")" }

    init(_ operation: TransformOperation, on previous: Value?, gives expected: Value) {
      self.operation = operation
      self.previous = previous
      self.expected = expected
    }
  }

  static let rows: [Row] = [
    Row(.serverTimestamp, on: nil, gives: .timestamp(time)),
    Row(.serverTimestamp, on: .integer(1), gives: .timestamp(time)),
    // increment
    Row(.increment(.integer(2)), on: nil, gives: .integer(2)),
    Row(.increment(.integer(2)), on: .string("x"), gives: .integer(2)),
    Row(.increment(.double(-0.0)), on: nil, gives: .double(-0.0)),
    Row(.increment(.integer(2)), on: .integer(40), gives: .integer(42)),
    Row(.increment(.integer(2)), on: .double(0.5), gives: .double(2.5)),
    Row(.increment(.double(0.5)), on: .integer(1), gives: .double(1.5)),
    Row(.increment(.double(0.5)), on: .double(0.25), gives: .double(0.75)),
    Row(.increment(.integer(1)), on: .integer(.max), gives: .integer(.max)),
    Row(.increment(.integer(.max)), on: .integer(.max), gives: .integer(.max)),
    Row(.increment(.integer(-1)), on: .integer(.min), gives: .integer(.min)),
    Row(.increment(.integer(.min)), on: .integer(.min), gives: .integer(.min)),
    Row(.increment(.integer(.min)), on: .integer(.max), gives: .integer(-1)),
    Row(.increment(.double(.infinity)), on: .double(-.infinity), gives: .double(.nan)),
    Row(
      .increment(.integer(1)), on: .pendingServerTimestamp(localWriteTime: time, previousValue: .integer(5)),
      gives: .integer(1)),
    // minimum and maximum
    Row(.minimum(.integer(3)), on: nil, gives: .integer(3)),
    Row(.maximum(.double(3)), on: .string("x"), gives: .double(3)),
    Row(.minimum(.integer(3)), on: .double(2.5), gives: .double(2.5)),
    Row(.minimum(.integer(2)), on: .double(2.5), gives: .integer(2)),
    Row(.maximum(.integer(3)), on: .double(2.5), gives: .integer(3)),
    Row(.maximum(.integer(2)), on: .double(2.5), gives: .double(2.5)),
    Row(.minimum(.double(3)), on: .integer(3), gives: .integer(3)),
    Row(.maximum(.integer(3)), on: .double(3), gives: .double(3)),
    Row(.minimum(.double(-0.0)), on: .integer(0), gives: .integer(0)),
    Row(.maximum(.double(0)), on: .double(-0.0), gives: .double(-0.0)),
    Row(.minimum(.double(.nan)), on: .integer(3), gives: .double(.nan)),
    Row(.maximum(.double(.nan)), on: .integer(3), gives: .double(.nan)),
    Row(.minimum(.integer(3)), on: .double(.nan), gives: .double(.nan)),
    Row(.maximum(.integer(3)), on: .double(.nan), gives: .double(.nan)),
    Row(
      .maximum(.double(9_007_199_254_740_992)), on: .integer(9_007_199_254_740_993),
      gives: .integer(9_007_199_254_740_993)),
    // arrays
    Row(.arrayUnion([.integer(1)]), on: nil, gives: .array([.integer(1)])),
    Row(.arrayUnion([.integer(1)]), on: .string("x"), gives: .array([.integer(1)])),
    Row(
      .arrayUnion([.integer(3), .integer(2), .integer(3)]), on: .array([.integer(1), .integer(2)]),
      gives: .array([.integer(1), .integer(2), .integer(3)])),
    Row(
      .arrayUnion([.string("b"), .string("a")]), on: .array([.integer(1), .integer(1)]),
      gives: .array([.integer(1), .integer(1), .string("b"), .string("a")])),
    Row(
      .arrayUnion([.double(3), .double(.nan)]), on: .array([.integer(3), .double(.nan)]),
      gives: .array([.integer(3), .double(.nan)])),
    Row(.arrayUnion([.double(1), .integer(1)]), on: nil, gives: .array([.double(1)])),
    Row(
      .arrayUnion([.string("e\u{301}")]), on: .array([.string("\u{e9}")]),
      gives: .array([.string("\u{e9}"), .string("e\u{301}")])),
    Row(
      .arrayRemove([.integer(1)]), on: .array([.integer(1), .string("1"), .double(1), .integer(2)]),
      gives: .array([.string("1"), .integer(2)])),
    Row(.arrayRemove([.integer(1)]), on: nil, gives: .array([])),
    Row(.arrayRemove([.integer(1)]), on: .map([:]), gives: .array([])),
    Row(.arrayUnion([.integer(1)]), on: .vector([1]), gives: .array([.integer(1)])),
  ]

  @Test("the backend's outcome", arguments: rows)
  func authoritative(row: Row) {
    #expect(row.operation.applied(to: row.previous, time: time) == row.expected)
  }

  @Test("shown locally, everything but server timestamps is what the backend will say", arguments: rows)
  func local(row: Row) {
    let shown = row.operation.appliedLocally(to: row.previous, localWriteTime: time)
    if case .serverTimestamp = row.operation {
      #expect(shown == .pendingServerTimestamp(localWriteTime: time, previousValue: row.previous))
    } else {
      #expect(shown == row.expected)
    }
  }

  @Test("a union adds the same values, however many it looks for", arguments: 0..<40)
  func unions(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let values: [Value] = [
      .null, .integer(1), .double(1), .double(.nan), .double(-0.0), .integer(0), .string("a"), .string("e\u{301}"),
      .string("\u{e9}"), .array([.integer(1)]), .array([.double(1)]), .map(["a": .integer(1)]), .boolean(true),
    ]
    func some(_ range: ClosedRange<Int>) -> [Value] {
      (0..<Int.random(in: range, using: &random)).compactMap { _ in values.randomElement(using: &random) }
    }
    let (stored, added) = (some(0...20), some(0...20))
    var expected = stored
    for value in added where !expected.contains(where: { Value.compare($0, value) == .same }) { expected.append(value) }
    #expect(TransformOperation.arrayUnion(added).applied(to: .array(stored), time: time) == .array(expected))
  }

  @Test("a chain of server timestamps remembers the last real value")
  func previousValues() {
    let first = TransformOperation.serverTimestamp.appliedLocally(to: .integer(42), localWriteTime: time)
    let later = Timestamp(seconds: 8, nanoseconds: 0)
    let second = TransformOperation.serverTimestamp.appliedLocally(to: first, localWriteTime: later)
    #expect(second == .pendingServerTimestamp(localWriteTime: later, previousValue: .integer(42)))
    let nested = Value.pendingServerTimestamp(localWriteTime: time, previousValue: second)
    #expect(TransformOperation.serverTimestamp.appliedLocally(to: nested, localWriteTime: later) == second)
    let fromNothing = TransformOperation.serverTimestamp.appliedLocally(
      to: .pendingServerTimestamp(localWriteTime: time, previousValue: nil), localWriteTime: later)
    #expect(fromNothing == .pendingServerTimestamp(localWriteTime: later, previousValue: nil))
  }

  @Test("an acknowledgement decides numbers and times; arrays are computed again")
  func acknowledged() {
    let nine = Value.integer(9)
    #expect(TransformOperation.increment(.integer(1)).applied(to: .integer(1), serverResult: nine) == nine)
    #expect(TransformOperation.minimum(.integer(1)).applied(to: .integer(1), serverResult: nine) == nine)
    #expect(TransformOperation.maximum(.integer(1)).applied(to: .integer(1), serverResult: nine) == nine)
    #expect(TransformOperation.serverTimestamp.applied(to: nil, serverResult: .timestamp(time)) == .timestamp(time))
    #expect(
      TransformOperation.arrayUnion([nine]).applied(to: .array([.integer(1)]), serverResult: .null)
        == .array([.integer(1), nine]))
    #expect(TransformOperation.arrayRemove([nine]).applied(to: .array([nine]), serverResult: .null) == .array([]))
  }

  @Test("only increments need a base value")
  func baseValues() {
    #expect(TransformOperation.increment(.integer(1)).baseValue(for: .integer(5)) == .integer(5))
    #expect(TransformOperation.increment(.integer(1)).baseValue(for: .string("x")) == .integer(0))
    #expect(TransformOperation.increment(.double(1)).baseValue(for: nil) == .integer(0))
    for operation: TransformOperation in [
      .serverTimestamp, .minimum(.integer(1)), .maximum(.integer(1)), .arrayUnion([.null]), .arrayRemove([.null]),
    ] {
      #expect(operation.baseValue(for: .integer(5)) == nil)
    }
  }

  @Test("the union of large arrays does not take quadratic time", .timeLimit(.minutes(1)))
  func largeArrays() {
    let stored = (0..<60_000).map { Value.integer(Int64($0)) }
    let added = (30_000..<90_000).reversed().map { Value.double(Double($0)) }
    let union = TransformOperation.arrayUnion(added).applied(to: .array(stored), time: time)
    let newOnes = (60_000..<90_000).reversed().map { Value.double(Double($0)) }
    #expect(union == .array(stored + newOnes))
    #expect(TransformOperation.arrayRemove(added + stored).applied(to: union, time: time) == .array([]))
  }
}
