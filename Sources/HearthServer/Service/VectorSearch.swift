internal import Foundation
internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

/// A search for the documents whose vectors are nearest to a given one (`find_nearest`). It is exact: every document that the query
/// selects is compared.
struct VectorSearch {
  enum Measure {
    case euclidean, cosine, dotProduct
  }

  let field: FieldPath
  let vector: [Double]
  let measure: Measure
  /// The largest number of documents in the result.
  let limit: Int
  /// The name of the field that results get with their distance.
  let resultField: String?
  /// The largest distance, or the smallest dot product.
  let threshold: Double?

  private static let maximumLimit = 1000

  /// - Throws: INVALID_ARGUMENT with the text of Google's emulator.
  init(
    _ message: Google_Firestore_V1_StructuredQuery.FindNearest, _ translator: WireTranslator
  ) throws {
    field = try QueryChecks.field(message.vectorField.fieldPath)
    let operand: Data = try message.queryVector.serializedBytes()
    guard let elements = try translator.decode(valueBytes: operand, at: "query_vector").vectorElements else {
      throw StatusError.invalid("Query Value must be of type vector.")
    }
    guard !elements.isEmpty else { throw StatusError.invalid("Cannot have a zero length vector.") }
    guard elements.count <= WriteLimits.maximumVectorDimensions else {
      throw StatusError.invalid("Vectors must be at most \(WriteLimits.maximumVectorDimensions) dimensions.")
    }
    vector = elements
    switch message.distanceMeasure {
    case .euclidean: measure = .euclidean
    case .cosine: measure = .cosine
    case .dotProduct: measure = .dotProduct
    case .unspecified, .UNRECOGNIZED: throw StatusError.invalid("Unknown Distance Measure.")
    }
    guard message.hasLimit, (1...Self.maximumLimit).contains(Int(message.limit.value)) else {
      throw StatusError.invalid(
        "FindNearest.limit must be a positive integer of no more than \(Self.maximumLimit)")
    }
    limit = Int(message.limit.value)
    resultField = message.distanceResultField.isEmpty ? nil : message.distanceResultField
    if let resultField, (try? FieldPath.validateServerLimits(name: resultField)) == nil {
      throw StatusError.invalid("The distanceResultField.property.name \"\(resultField)\" is reserved.")
    }
    threshold = message.hasDistanceThreshold ? message.distanceThreshold.value : nil
    if let threshold, !threshold.isFinite {
      throw StatusError.invalid("distanceThreshold must be a finite number.")
    }
  }

  /// The last part of an index for the search.
  var index: QueryIndexDefinition.Vector { QueryIndexDefinition.Vector(path: field, dimension: vector.count) }

  /// The distance of a document's vector.
  ///
  /// - Returns: Nil if the document has no vector of as many dimensions. NaN for the angle to the zero vector.
  func distance(of document: Document) throws(WireFormatError) -> Double? {
    guard let elements = try document.fields.value(at: field)?.vectorElements, elements.count == vector.count else {
      return nil
    }
    switch measure {
    case .euclidean: return zip(elements, vector).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }.squareRoot()
    case .dotProduct: return Self.product(elements, vector)
    case .cosine:
      return 1 - Self.product(elements, vector) / Self.lengths(elements, vector)
    }
  }

  /// The product of two lengths. One root of both squares makes the distance of equal vectors 0, as the emulator's is; two roots are each
  /// rounded. Where the product of the squares is out of range, there have to be two.
  private static func lengths(_ a: [Double], _ b: [Double]) -> Double {
    let squares = (product(a, a), product(b, b))
    let both = squares.0 * squares.1
    return both.isNormal ? both.squareRoot() : squares.0.squareRoot() * squares.1.squareRoot()
  }

  private static func product(_ a: [Double], _ b: [Double]) -> Double {
    zip(a, b).reduce(0) { $0 + $1.0 * $1.1 }
  }

  /// Returns whether a result may have this distance.
  private func admits(_ distance: Double) -> Bool {
    guard let threshold else { return true }
    return measure == .dotProduct ? distance >= threshold : distance <= threshold
  }

  /// A document of the result.
  struct Found {
    var key: DocumentKey
    var distance: Double
  }

  /// The nearest documents among the added ones. Their contents are not kept, but read again for the result.
  struct Nearest {
    let search: VectorSearch
    private var found: [Found] = []

    init(_ search: VectorSearch) {
      self.search = search
    }

    /// Adds documents that come later in the query's order than those before, which goes first among equal distances.
    mutating func add(_ documents: some Sequence<Document>) throws(WireFormatError) {
      for document in documents {
        guard let distance = try search.distance(of: document), search.admits(distance) else { continue }
        found.append(Found(key: document.key, distance: distance))
        if found.count >= 2 * search.limit + 64 { cut() }
      }
    }

    /// The sort keeps the order of equal ones. NaN comes last.
    private mutating func cut() {
      found.sort { a, b in
        if a.distance.isNaN || b.distance.isNaN { return !a.distance.isNaN && b.distance.isNaN }
        return search.measure == .dotProduct ? a.distance > b.distance : a.distance < b.distance
      }
      found.removeLast(max(0, found.count - search.limit))
    }

    /// The nearest first.
    mutating func finish() -> [Found] {
      cut()
      return found
    }
  }

  /// The first documents of a result, as many as are read at once, each with its distance if the search asks for it.
  ///
  /// - Parameters:
  ///   - query: The query among whose documents they were found.
  ///   - version: The version at which they were found.
  func firstDocuments(
    of found: ArraySlice<Found>, inResultOf query: Query, at version: SnapshotVersion, _ plan: ReadPlan,
    in database: Session
  ) async throws -> [Document] {
    let keys = found.map(\.key)
    let documents = try await plan.reading(laterAt: version) { version throws(StatusError) in
      try await database.firstDocuments(of: keys[...], inResultOf: query, at: version).documents
    }
    guard let name = resultField else { return documents }
    return try zip(documents, found).map { document, found in
      var document = document
      var fields = try document.fields.decoded()
      fields[name] = .double(found.distance)
      document.fields = EncodedFields(fields)
      return document
    }
  }
}
