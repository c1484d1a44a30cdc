import Foundation
import HearthWire
import RawHTTP2
import SwiftProtobuf

typealias Frame = RawHTTP2Client.Frame
typealias StructuredQuery = Google_Firestore_V1_StructuredQuery

/// A call as it stands on the wire: its method, its message, and whether more messages follow.
struct Call: Sendable {
  var method: String
  var message: [UInt8]
  var isStream = false

  init(method: String, message: [UInt8], isStream: Bool = false) {
    self.method = method
    self.message = message
    self.isStream = isStream
  }

  init(_ method: String, _ message: some Message, isStream: Bool = false) throws {
    self.method = method
    self.message = try message.serializedBytes()
    self.isStream = isStream
  }
}

extension Call {
  static let database = "projects/bounds/databases/(default)"
  static let documents = "\(database)/documents"

  // MARK: - Reads

  static func get(_ path: String, _ change: (inout Google_Firestore_V1_GetDocumentRequest) throws -> Void = { _ in })
    throws
    -> Call
  {
    var request = Google_Firestore_V1_GetDocumentRequest()
    request.name = "\(documents)/\(path)"
    try change(&request)
    return try Call("GetDocument", request)
  }

  static func batchGet(
    _ paths: [String], _ change: (inout Google_Firestore_V1_BatchGetDocumentsRequest) throws -> Void = { _ in }
  ) throws -> Call {
    var request = Google_Firestore_V1_BatchGetDocumentsRequest()
    request.database = database
    request.documents = paths.map { "\(documents)/\($0)" }
    try change(&request)
    return try Call("BatchGetDocuments", request)
  }

  static func query(
    _ query: StructuredQuery, _ change: (inout Google_Firestore_V1_RunQueryRequest) throws -> Void = { _ in }
  ) throws -> Call {
    var request = Google_Firestore_V1_RunQueryRequest()
    request.parent = documents
    request.structuredQuery = query
    try change(&request)
    return try Call("RunQuery", request)
  }

  static func aggregation(
    _ query: StructuredQuery, _ aggregations: [Google_Firestore_V1_StructuredAggregationQuery.Aggregation]
  ) throws -> Call {
    var request = Google_Firestore_V1_RunAggregationQueryRequest()
    request.parent = documents
    request.structuredAggregationQuery.structuredQuery = query
    request.structuredAggregationQuery.aggregations = aggregations
    return try Call("RunAggregationQuery", request)
  }

  static func list(
    _ collection: String, _ change: (inout Google_Firestore_V1_ListDocumentsRequest) throws -> Void = { _ in }
  ) throws -> Call {
    var request = Google_Firestore_V1_ListDocumentsRequest()
    request.parent = documents
    request.collectionID = collection
    try change(&request)
    return try Call("ListDocuments", request)
  }

  static func collectionIDs(of path: String) throws -> Call {
    var request = Google_Firestore_V1_ListCollectionIdsRequest()
    request.parent = "\(documents)/\(path)"
    request.pageSize = 100_000
    return try Call("ListCollectionIds", request)
  }

  static func partitions(of collection: String) throws -> Call {
    var request = Google_Firestore_V1_PartitionQueryRequest()
    request.parent = documents
    request.structuredQuery = .of(collection) {
      $0.from[0].allDescendants = true
      $0.orderBy = [.by("__name__")]
    }
    request.partitionCount = 100_000
    return try Call("PartitionQuery", request)
  }

  // MARK: - Transactions

  static func begin(_ change: (inout Google_Firestore_V1_TransactionOptions) throws -> Void) throws -> Call {
    var request = Google_Firestore_V1_BeginTransactionRequest()
    request.database = database
    try change(&request.options)
    return try Call("BeginTransaction", request)
  }

  // MARK: - Writes

  static func commit(
    _ writes: [Google_Firestore_V1_Write], _ change: (inout Google_Firestore_V1_CommitRequest) throws -> Void = { _ in }
  ) throws -> Call {
    var request = Google_Firestore_V1_CommitRequest()
    request.database = database
    request.writes = writes
    try change(&request)
    return try Call("Commit", request)
  }

  static func batchWrite(
    _ writes: [Google_Firestore_V1_Write], labels: [String: String] = [:]
  ) throws -> Call {
    var request = Google_Firestore_V1_BatchWriteRequest()
    request.database = database
    request.writes = writes
    request.labels = labels
    return try Call("BatchWrite", request)
  }

  static func writeStream(
    _ change: (inout Google_Firestore_V1_WriteRequest) throws -> Void = { _ in }
  ) throws -> Call {
    var request = Google_Firestore_V1_WriteRequest()
    request.database = database
    try change(&request)
    return try Call("Write", request, isStream: true)
  }

  // MARK: - Listeners

  static func listen(
    _ query: StructuredQuery, id: Int32 = 1, resuming token: Data = Data()
  ) throws -> Call {
    try listen { target in
      target.query.parent = documents
      target.query.structuredQuery = query
      target.targetID = id
      if !token.isEmpty { target.resumeToken = token }
    }
  }

  static func listen(_ change: (inout Google_Firestore_V1_Target) throws -> Void) throws -> Call {
    var request = Google_Firestore_V1_ListenRequest()
    request.database = database
    request.addTarget.targetID = 1
    try change(&request.addTarget)
    return try Call("Listen", request, isStream: true)
  }
}

// MARK: - Parts of requests

extension StructuredQuery {
  static func of(
    _ collection: String, _ change: (inout StructuredQuery) throws -> Void = { _ in }
  ) rethrows -> StructuredQuery {
    var query = StructuredQuery()
    query.from = [.init()]
    query.from[0].collectionID = collection
    try change(&query)
    return query
  }
}

extension StructuredQuery.FieldReference {
  init(_ path: String) {
    self.init()
    fieldPath = path
  }
}

extension StructuredQuery.Order {
  static func by(_ field: String, _ direction: StructuredQuery.Direction = .ascending) -> StructuredQuery.Order {
    var order = StructuredQuery.Order()
    order.field = .init(field)
    order.direction = direction
    return order
  }
}

extension StructuredQuery.Filter {
  static func field(
    _ field: String, _ op: StructuredQuery.FieldFilter.Operator, _ value: Google_Firestore_V1_Value
  ) throws -> StructuredQuery.Filter {
    var filter = StructuredQuery.Filter()
    filter.fieldFilter.field = .init(field)
    filter.fieldFilter.op = op
    filter.fieldFilter.value = try value.serializedData()
    return filter
  }

  static func composite(
    _ op: StructuredQuery.CompositeFilter.Operator, _ filters: [StructuredQuery.Filter]
  ) -> StructuredQuery.Filter {
    var filter = StructuredQuery.Filter()
    filter.compositeFilter.op = op
    filter.compositeFilter.filters = filters
    return filter
  }
}

extension Google_Firestore_V1_Value {
  static func integer(_ number: Int) -> Google_Firestore_V1_Value {
    var value = Google_Firestore_V1_Value()
    value.integerValue = Int64(number)
    return value
  }

  static func string(_ text: String) -> Google_Firestore_V1_Value {
    var value = Google_Firestore_V1_Value()
    value.stringValue = text
    return value
  }

  static func array(_ values: [Google_Firestore_V1_Value]) -> Google_Firestore_V1_Value {
    var value = Google_Firestore_V1_Value()
    value.arrayValue.values = values
    return value
  }

  static func vector(_ numbers: [Double]) -> Google_Firestore_V1_Value {
    var value = Google_Firestore_V1_Value()
    value.mapValue.fields["__type__"] = .string("__vector__")
    value.mapValue.fields["value"] = .array(
      numbers.map { number in
        var element = Google_Firestore_V1_Value()
        element.doubleValue = number
        return element
      })
    return value
  }
}

extension Google_Firestore_V1_Write {
  static func set(_ path: String, _ fields: [String: Google_Firestore_V1_Value]) throws -> Google_Firestore_V1_Write {
    var document = Google_Firestore_V1_Document()
    document.name = "\(Call.documents)/\(path)"
    document.fields = fields
    var write = Google_Firestore_V1_Write()
    write.update = try document.serializedData()
    return write
  }
}
