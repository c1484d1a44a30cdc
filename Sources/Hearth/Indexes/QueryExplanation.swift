internal import HearthModel
internal import HearthPlan

/// The way in which the cache answered a query, and its cost. See ``Query/explain()``.
///
/// As text it is a short table:
///
/// ```
/// query              cities where state == "CA" order by population descending limit to first 3
/// way                scan: there is no index of this collection group
/// index that helps   cities: state ASCENDING, population DESCENDING
/// rows read          10,000
/// entries read       0
/// documents decoded  30
/// results            3
/// time               2.47 ms (choose indexes 1.88 µs, scan 2.47 ms)
/// ```
public struct QueryExplanation: Hashable, Sendable {
  /// The origin of the documents.
  public enum Way: String, Hashable, Sendable {
    /// The query names documents by their keys.
    case document = "document"
    /// The client read ranges of one or more indexes, and the documents that they list.
    case index = "index"
    /// The client read the last result of the query that was in sync with the backend, and the documents that have changed since.
    case previousResult = "previous result"
    /// The client read all documents of the collection, or of all collections with that id.
    case scan = "scan"
  }

  /// The reads for one part of the query. Parts are joined by `or`; a query without `or` has one.
  public struct Part: Hashable, Sendable {
    /// The index that was read, or nil when the part names a document.
    public let index: FirestoreIndex?
    /// The conditions that the range of the index covers, such as `state == "CA"`, or the document's path.
    public let bounds: [String]
    /// True if the index has the order of the query, so that reading it ended at the limit.
    public let isLimitPushedDown: Bool
  }

  /// A part of the time.
  public struct Step: Hashable, Sendable {
    /// The name of the step, such as `"sort"`.
    public let name: String
    /// The time that the step took.
    public let duration: Duration
  }

  /// The query in words.
  public let query: String
  /// The origin of the documents.
  public let way: Way
  /// The reads by index and by key; empty for the other ways.
  public let parts: [Part]
  /// The reason why no index was used; nil if one was, or if none was needed.
  public let reason: String?
  /// The indexes that would serve this query best and do not exist; declare them with
  /// ``Firestore/setIndexConfiguration(indexes:fieldOverrides:)``.
  public let missingIndexes: [FirestoreIndex]
  /// The number of stored documents that were tested.
  public let rowsRead: Int
  /// The number of index entries that were read.
  public let entriesRead: Int
  /// The number of stored documents that were decoded.
  public let documentsDecoded: Int
  /// The number of documents in the result.
  public let resultCount: Int
  /// The steps with their times, in order.
  public let steps: [Step]

  /// The sum of the ``steps``.
  public var duration: Duration { steps.reduce(.zero) { $0 + $1.duration } }
}

extension QueryExplanation {
  init(query: String, _ execution: QueryExecution) {
    self.query = query
    way =
      switch execution.plan {
      case .document, .keys: .document
      case .index: .index
      case .previousResult: .previousResult
      case .scan: .scan
      }
    if case .document(let key) = execution.plan {
      parts = [Part(.document(key))]
    } else {
      parts = execution.accesses.map { Part($0) }
    }
    reason = execution.reason
    missingIndexes = execution.missingIndexes.map { FirestoreIndex($0) }
    rowsRead = execution.rowsRead
    entriesRead = execution.entriesRead
    documentsDecoded = execution.documentsDecoded
    resultCount = execution.resultCount
    steps = execution.steps.map { Step(name: $0.name, duration: $0.duration) }
  }
}

extension QueryExplanation.Part {
  fileprivate init(_ access: QueryExecution.Access) {
    switch access {
    case .document(let key):
      index = nil
      bounds = [key.canonicalString]
      isLimitPushedDown = false
    case .index(let definition, let bounds, let isOrdered):
      index = FirestoreIndex(definition)
      self.bounds = bounds
      isLimitPushedDown = isOrdered
    }
  }
}

extension QueryExplanation: CustomStringConvertible {
  /// The table of the type's description.
  public var description: String {
    var rows = [("query", query), ("way", way.rawValue + (reason.map { ": \($0)" } ?? ""))]
    for part in parts { rows.append((part.index == nil ? "document" : "index", part.text)) }
    for index in missingIndexes { rows.append(("index that helps", index.description)) }
    rows += [
      ("rows read", rowsRead.grouped), ("entries read", entriesRead.grouped),
      ("documents decoded", documentsDecoded.grouped), ("results", resultCount.grouped), ("time", time),
    ]
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { name, value in
      "\(name)\(String(repeating: " ", count: width - name.count))  \(value.withoutControlCharacters)"
    }.joined(separator: "\n")
  }

  private var time: String {
    let parts = steps.map { "\($0.name) \($0.duration.short)" }
    return duration.short + (parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))")
  }
}

extension QueryExplanation.Part {
  fileprivate var text: String {
    let conditions = bounds.joined(separator: " and ")
    guard let index else { return conditions }
    let range = conditions.isEmpty ? "" : ", range \(conditions)"
    return "\(index)\(range)\(isLimitPushedDown ? ", ends at the limit" : "")"
  }
}

extension String {
  /// Names and values may hold line breaks; a row of a table may not.
  fileprivate var withoutControlCharacters: String {
    guard unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      if scalar.properties.generalCategory == .control {
        text += scalar.escaped(asASCII: true)
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}

extension FixedWidthInteger {
  /// The number with commas between thousands, in every locale.
  var grouped: String {
    var digits = String(magnitude)
    var groups: [Substring] = []
    while digits.count > 3 {
      groups.insert(digits.suffix(3), at: 0)
      digits.removeLast(3)
    }
    return (self < 0 ? "-" : "") + ([Substring(digits)] + groups).joined(separator: ",")
  }
}

extension Duration {
  /// Three digits and a unit.
  var short: String {
    let seconds = self / .seconds(1)
    for (unit, size) in [("s", 1.0), ("ms", 1e-3)] where seconds >= size {
      return "\(Self.digits(seconds / size)) \(unit)"
    }
    return "\(Self.digits(max(0, seconds) / 1e-6)) µs"
  }

  private static func digits(_ value: Double) -> String {
    if value >= 100 { return "\(Int(exactly: value.rounded()) ?? .max)" }
    let factor = value >= 10 ? 10.0 : 100.0
    return "\((value * factor).rounded() / factor)"
  }
}
