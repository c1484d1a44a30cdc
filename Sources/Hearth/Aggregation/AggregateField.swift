public import Foundation
internal import HearthModel

/// An aggregation that ``Query/aggregate(_:)`` computes over a query's result: a count, or the sum or the average of a field.
public final class AggregateField: NSObject, Sendable {
  let operation: Aggregation.Operation

  private init(_ operation: Aggregation.Operation) {
    self.operation = operation
  }

  /// The number of documents.
  public static func count() -> AggregateField { AggregateField(.count(upTo: nil)) }

  /// The sum of a field's numbers: an integer if all of them are integers and the sum fits into an integer, otherwise a double. Values that
  /// are not numbers are skipped; the sum of nothing is 0.
  ///
  /// - Parameter field: A field's path, split at dots.
  public static func sum(_ field: String) -> AggregateField {
    AggregateField(.sum(requireValid { () throws(ProgrammingError) in try FieldPath.parsed(field) }))
  }

  /// Same as ``sum(_:)-(String)``.
  public static func sum(_ fieldPath: FieldPath) -> AggregateField { AggregateField(.sum(fieldPath.model)) }

  /// The average of a field's numbers, a double. Values that are not numbers are skipped; the average of nothing is `NSNull`.
  ///
  /// - Parameter field: A field's path, split at dots.
  public static func average(_ field: String) -> AggregateField {
    AggregateField(.average(requireValid { () throws(ProgrammingError) in try FieldPath.parsed(field) }))
  }

  /// Same as ``average(_:)-(String)``.
  public static func average(_ fieldPath: FieldPath) -> AggregateField { AggregateField(.average(fieldPath.model)) }

  /// Returns whether both compute the same aggregation over the same field.
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? AggregateField)?.operation == operation
  }

  /// A hash of operation and field.
  public override var hash: Int { operation.hashValue }

  /// A text such as `sum(population)`.
  public override var description: String {
    switch operation {
    case .count: "count()"
    case .sum(let path): "sum(\(path.canonicalString))"
    case .average(let path): "avg(\(path.canonicalString))"
    }
  }
}

/// The place where an aggregation is computed.
public enum AggregateSource: UInt, Sendable {
  /// The backend computes the values and sends no documents to the client. Pending writes do not count, and without a connection the result
  /// is the error `unavailable`.
  case server
  /// The values are computed from the documents in the cache with local writes on top, even offline. The cache holds the documents that
  /// were read or written before, so the result may differ from the backend's. (Not in the official SDK.)
  case cache
  /// The backend computes the values, and this device's pending writes are applied to them. If the backend cannot be reached, the values
  /// are computed from the cache; then ``AggregateQuerySnapshot/metadata`` says `isFromCache`. (Not in the official SDK.)
  ///
  /// - Without pending writes in the query's collections, the backend computes the values and sends no documents.
  /// - With pending writes it also sends the documents that they change, at most 1,000, of the same version. Their part of the values is
  ///   replaced by the part of the same documents with the writes, as a listener would show them here. Counts, and sums and averages of
  ///   integers, are exact; the error of a sum of doubles is less than two units in its last place.
  /// - In some cases this is not possible. Then the query itself runs and its result is aggregated, which reads every document of the
  ///   result that the cache does not have. This happens when pending writes concern a query with a limit; when they remove more than half
  ///   of a sum of doubles, or an infinity; when the sum of the field of an average is 0; with more than 1,000 documents; and when writes
  ///   are acknowledged during each of three attempts. As with `getDocuments`, a query with a limit may wait for a pending write that has
  ///   removed a document from its result.
  ///
  /// The backend counts as out of reach when the network is disabled, when the last attempt to connect has failed, and after 10 seconds
  /// without an answer.
  case `default`
}
