package import HearthModel

/// Makes a failing case small: takes the first of its simpler forms that still fails, and goes on from there until none
/// does.
///
/// ```swift
/// var minimization = Minimization(of: failing, simpler: \.simpler)
/// while let candidate = minimization.next() { minimization.record(fails: await fails(candidate)) }
/// ```
package struct Minimization<Case> {
  /// The smallest case so far that fails.
  package private(set) var best: Case
  private let simpler: (Case) -> [Case]
  private var candidates: ArraySlice<Case>
  private var attemptsLeft: Int

  /// - Parameters:
  ///   - simpler: forms of a case with something left out, those with most left out first. Every form must really be
  ///     smaller, so that this ends.
  ///   - attempts: the maximum number of candidates.
  package init(of original: Case, attempts: Int = 4_000, simpler: @escaping (Case) -> [Case]) {
    best = original
    self.simpler = simpler
    candidates = simpler(original)[...]
    attemptsLeft = attempts
  }

  /// The case to try next; nil at the end.
  package mutating func next() -> Case? {
    guard attemptsLeft > 0 else { return nil }
    attemptsLeft -= 1
    return candidates.first
  }

  /// Takes note of how the case that ``next()`` gave has ended.
  package mutating func record(fails: Bool) {
    guard let candidate = candidates.popFirst(), fails else { return }
    best = candidate
    candidates = simpler(candidate)[...]
  }
}

/// The smallest form of a failing case that still fails; see ``Minimization``.
package func minimized<Case>(_ original: Case, simpler: @escaping (Case) -> [Case], fails: (Case) -> Bool) -> Case {
  var minimization = Minimization(of: original, simpler: simpler)
  while let candidate = minimization.next() { minimization.record(fails: fails(candidate)) }
  return minimization.best
}

package enum Simpler {
  /// The array without one of its parts: halves first, then quarters, down to single elements.
  package static func parts<T>(of array: [T]) -> [[T]] {
    var forms: [[T]] = []
    var size = array.count / 2
    while size > 1 {
      for start in stride(from: 0, to: array.count, by: size) {
        forms.append(Array(array[..<start] + array[min(start + size, array.count)...]))
      }
      size /= 2
    }
    return forms + singles(of: array)
  }

  /// The array without one of its elements.
  package static func singles<T>(of array: [T]) -> [[T]] {
    array.indices.map { index in
      var copy = array
      copy.remove(at: index)
      return copy
    }
  }

  /// The array with one element in a simpler form.
  package static func elements<T>(of array: [T], _ simpler: (T) -> [T]) -> [[T]] {
    array.indices.flatMap { index in
      simpler(array[index]).map {
        var copy = array
        copy[index] = $0
        return copy
      }
    }
  }

  /// The query without one of its parts.
  package static func queries(of query: Query) -> [Query] {
    var forms: [Query] = []
    func add(_ change: (inout Query) -> Void) {
      var form = query
      change(&form)
      forms.append(form)
    }
    if query.startAt != nil { add { $0.startAt = nil } }
    if query.endAt != nil { add { $0.endAt = nil } }
    if query.limit != nil { add { $0.limit = nil } }
    for filters in singles(of: query.filters) + elements(of: query.filters, filterForms) {
      // A bound belongs to the orders, which a filter may have brought along.
      add {
        $0.filters = filters; $0.cutBounds(old: query.orders)
      }
    }
    for orders in singles(of: query.explicitOrders) {
      add {
        $0.explicitOrders = orders; $0.cutBounds(old: query.orders)
      }
    }
    if let bound = query.startAt, bound.position.count > 1 { add { $0.startAt?.position.removeLast() } }
    if let bound = query.endAt, bound.position.count > 1 { add { $0.endAt?.position.removeLast() } }
    if query.collectionGroup != nil, !query.path.isEmpty { add { $0.path = ResourcePath() } }
    return forms
  }

  private static func filterForms(of filter: Filter) -> [Filter] {
    switch filter {
    case .composite(let composite):
      return composite.filters
        + (singles(of: composite.filters) + elements(of: composite.filters, filterForms)).filter { !$0.isEmpty }
        .map { .composite(CompositeFilter(op: composite.op, filters: $0)) }
    case .field(let field):
      guard case .array(let operands) = field.value, [.in, .notIn, .arrayContainsAny].contains(field.op),
        operands.count > 1
      else { return [] }
      return singles(of: operands).map { .field(field.path, field.op, .array($0)) }
    }
  }

  /// The map without one of its fields, at any depth.
  package static func maps(of map: MapValue) -> [MapValue] {
    map.keys.flatMap { key -> [MapValue] in
      var without = map
      without[key] = nil
      guard let value = map[key] else { return [without] }
      return [without]
        + values(of: value).map {
          var changed = map
          changed[key] = $0
          return changed
        }
    }
  }

  private static func values(of value: Value) -> [Value] {
    switch value {
    case .array(let elements): return (singles(of: elements) + self.elements(of: elements, values)).map(Value.array)
    case .map(let map) where !value.isVector: return maps(of: map).map(Value.map)
    default: return []
    }
  }
}

extension Query {
  /// Leaves of the bounds only what belongs to orders that have stayed where they were.
  fileprivate mutating func cutBounds(old: [OrderBy]) {
    let kept = zip(old, orders).prefix { $0 == $1 }.count
    for path in [\Query.startAt, \Query.endAt] as [WritableKeyPath<Query, Bound?>] {
      guard let bound = self[keyPath: path] else { continue }
      let position = Array(bound.position.prefix(kept))
      self[keyPath: path] = position.isEmpty ? nil : Bound(position: position, isInclusive: bound.isInclusive)
    }
  }
}
