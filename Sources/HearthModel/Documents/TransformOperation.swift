/// The operation of a field transform on the field's value.
///
/// Elements of arrays count as equal when they sort as equal, so 3 and 3.0 are the same element and NaN equals itself:
/// the rule of the Firestore documentation for array transforms, which the official SDKs' local evaluation misses.
package enum TransformOperation: Hashable, Sendable {
  /// Sets the field to the time at which the backend handles the request.
  case serverTimestamp
  /// Adds a number. Integers saturate at the limits of `Int64`; a double on either side makes the result a double.
  case increment(Value)
  /// Appends those of the elements that the array does not hold yet, in the given order.
  case arrayUnion([Value])
  /// Removes every occurrence of the elements.
  case arrayRemove([Value])
  /// Keeps the smaller of the stored number and this one.
  case minimum(Value)
  /// Keeps the larger of the stored number and this one.
  case maximum(Value)

  /// The outcome as the backend computes it.
  ///
  /// - Parameters:
  ///   - previous: the field's value, nil if it is absent.
  ///   - time: the time of the request, for ``serverTimestamp``.
  package func applied(to previous: Value?, time: Timestamp) -> Value {
    switch self {
    case .serverTimestamp: .timestamp(time)
    case .increment(let operand): Self.sum(previous, operand)
    case .arrayUnion(let elements): Self.union(previous, elements)
    case .arrayRemove(let elements): Self.difference(previous, elements)
    case .minimum(let operand): Self.extremum(previous, operand, keeping: .ascending)
    case .maximum(let operand): Self.extremum(previous, operand, keeping: .descending)
    }
  }

  /// The outcome shown until the backend has answered: a server timestamp is a placeholder that remembers the local
  /// write time and the last value that was not itself such a placeholder.
  package func appliedLocally(to previous: Value?, localWriteTime: Timestamp) -> Value {
    guard case .serverTimestamp = self else { return applied(to: previous, time: localWriteTime) }
    var settled = previous
    while case .pendingServerTimestamp(_, let earlier)? = settled { settled = earlier }
    // The placeholder is a level of its own. Placeholders in each other must not nest deeper than what was stored can be read.
    if settled?.isNested(deeperThan: Self.rememberedLevels) == true { settled = nil }
    return .pendingServerTimestamp(localWriteTime: localWriteTime, previousValue: settled)
  }

  /// The levels of maps and arrays of a value that a placeholder remembers.
  private static let rememberedLevels = 12

  /// The outcome after an acknowledgement that carried `serverResult` for this transform. The backend answers array
  /// transforms with null; they are computed again on the value that the document holds.
  package func applied(to previous: Value?, serverResult: Value) -> Value {
    switch self {
    case .arrayUnion(let elements): Self.union(previous, elements)
    case .arrayRemove(let elements): Self.difference(previous, elements)
    case .serverTimestamp, .increment, .minimum, .maximum: serverResult
    }
  }

  /// The result that the backend reports for this transform in its answer to a commit.
  func reportedResult(of value: Value) -> Value {
    switch self {
    case .arrayUnion, .arrayRemove: .null
    case .serverTimestamp, .increment, .minimum, .maximum: value
    }
  }

  /// The value that must be kept with a queued write so that carrying it out twice on the same view, or on a newer
  /// document, does not count it twice: the stored number or zero for an increment, nil for every other operation,
  /// because those are idempotent.
  package func baseValue(for previous: Value?) -> Value? {
    guard hasBaseValue else { return nil }
    return Number(previous) == nil ? .integer(0) : previous
  }

  /// True if the transform keeps something of the value, or sets what does not depend on it. All others replace a value of another type.
  func combines(with value: Value?) -> Bool {
    switch self {
    case .serverTimestamp: true
    case .increment, .minimum, .maximum: Number(value) != nil
    case .arrayUnion, .arrayRemove: if case .array? = value { true } else { false }
    }
  }

  /// True if carrying out the transform twice differs from once.
  var hasBaseValue: Bool {
    if case .increment = self { true } else { false }
  }
}

// MARK: - Numbers

extension TransformOperation {
  private enum Number {
    case integer(Int64)
    case double(Double)

    init?(_ value: Value?) {
      switch value {
      case .integer(let integer): self = .integer(integer)
      case .double(let double): self = .double(double)
      default: return nil
      }
    }

    var asDouble: Double {
      switch self {
      case .integer(let integer): Double(integer)
      case .double(let double): double
      }
    }

    var isNaN: Bool {
      if case .double(let double) = self { return double.isNaN }
      return false
    }
  }

  private static func sum(_ previous: Value?, _ operand: Value) -> Value {
    guard let base = Number(previous), let addend = Number(operand) else { return operand }
    guard case .integer(let a) = base, case .integer(let b) = addend else {
      return .double(base.asDouble + addend.asDouble)
    }
    let (sum, overflowed) = a.addingReportingOverflow(b)
    guard overflowed else { return .integer(sum) }
    return .integer(b > 0 ? .max : .min)
  }

  /// The operand that stands at the `wanted` side of the other; numbers that are mathematically equal keep the stored
  /// one with its type, and NaN on either side wins.
  private static func extremum(_ previous: Value?, _ operand: Value, keeping wanted: Ordering) -> Value {
    guard let previous, let stored = Number(previous), let offered = Number(operand) else { return operand }
    if stored.isNaN || offered.isNaN { return .double(.nan) }
    return Value.compare(operand, previous) == wanted ? operand : previous
  }
}

// MARK: - Arrays

extension TransformOperation {
  private static func elements(of value: Value?) -> [Value] {
    if case .array(let elements)? = value { return elements }
    return []
  }

  /// A few values are looked for one by one. Sorting the array for each of hundreds of transforms would take hundreds of times as long.
  private static let mostSought = 8

  /// O((n + m) log (n + m)), for a few values O(n): arrays of a client's choosing reach the server, so no quadratic search.
  private static func union(_ previous: Value?, _ added: [Value]) -> Value {
    let stored = elements(of: previous)
    let sought = SortedValues.firstOccurrences(of: added)
    guard sought.count > mostSought else {
      let missing = sought.filter { value in !stored.contains { Value.compare($0, value) == .same } }
      return missing.isEmpty ? .array(stored) : .array(stored + missing)
    }
    let present = SortedValues(stored)
    return .array(stored + sought.filter { !present.contains($0) })
  }

  private static func difference(_ previous: Value?, _ removed: [Value]) -> Value {
    let unwanted = SortedValues(removed)
    return .array(elements(of: previous).filter { !unwanted.contains($0) })
  }

  /// Values in their total order, for membership by binary search.
  private struct SortedValues {
    private let values: [Value]

    init(_ values: [Value]) {
      self.values = values.sorted { Value.compare($0, $1) == .ascending }
    }

    func contains(_ value: Value) -> Bool {
      var low = 0
      var high = values.count
      while low < high {
        let middle = low + (high - low) / 2
        switch Value.compare(values[middle], value) {
        case .same: return true
        case .ascending: low = middle + 1
        case .descending: high = middle
        }
      }
      return false
    }

    /// The values without those that equal an earlier one, in their given order.
    static func firstOccurrences(of values: [Value]) -> [Value] {
      let order = values.indices.sorted { a, b in
        switch Value.compare(values[a], values[b]) {
        case .ascending: true
        case .same: a < b
        case .descending: false
        }
      }
      var isRepetition = [Bool](repeating: false, count: values.count)
      for (earlier, later) in zip(order, order.dropFirst()) {
        isRepetition[later] = values[earlier].isOrderEqual(to: values[later])
      }
      return values.indices.filter { !isRepetition[$0] }.map { values[$0] }
    }
  }
}

extension Value {
  fileprivate func isNested(deeperThan levels: Int) -> Bool {
    switch self {
    case .map(let map): levels == 0 || map.entries.contains { $0.value.isNested(deeperThan: levels - 1) }
    case .array(let elements): levels == 0 || elements.contains { $0.isNested(deeperThan: levels - 1) }
    case .pendingServerTimestamp(_, let previous):
      levels == 0 || previous?.isNested(deeperThan: levels - 1) == true
    default: false
    }
  }
}
