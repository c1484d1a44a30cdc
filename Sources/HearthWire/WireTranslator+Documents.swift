package import HearthModel
internal import SwiftProtobuf

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension WireTranslator {
  /// The bytes of the `Document` message for `document`. No message object is built: the stored fields are copied.
  ///
  /// Times that are not known are left out.
  package func encodeDocument(_ document: Document) -> Data {
    Data(
      EncodedDocument.encode(
        name: database.name(of: document.key), fields: document.fields,
        createTime: document.createTime == .none ? nil : document.createTime.timestamp,
        updateTime: document.version == .none ? nil : document.version.timestamp))
  }

  /// The document in the bytes of a `Document` message, as the backend sends it.
  ///
  /// - Parameters:
  ///   - readTime: the version of the whole answer; `.none` when it is not known.
  ///   - field: the place of the bytes, for the error.
  /// - Throws: a ``WireError`` when the bytes are malformed, the name is not one of this database, there is no update time, or a time is
  ///   outside of the years 1 to 9999.
  package func decode(
    documentBytes bytes: some Collection<UInt8>, readTime: SnapshotVersion, at field: String = "Document"
  ) throws(WireError) -> Document {
    try at(field) {
      let parts = try EncodedDocument(parsing: [UInt8](bytes))
      let key = try key(fromName: parts.name, at: "name")
      guard let updateTime = parts.updateTime, SnapshotVersion(updateTime) != .none else {
        throw WireError(field: "update_time", message: "document \"\(parts.name)\" comes without its update time")
      }
      // The cache stores no other times.
      try checkRange(seconds: updateTime.seconds, at: "update_time")
      if let createTime = parts.createTime { try checkRange(seconds: createTime.seconds, at: "create_time") }
      return Document.found(
        key, version: SnapshotVersion(updateTime),
        createTime: parts.createTime.map { SnapshotVersion($0) } ?? .none, readTime: readTime, fields: parts.fields)
    }
  }

  /// The request for the state of `keys` at a version; nil for the present one.
  package func encodeBatchGet(
    _ keys: [DocumentKey], at version: SnapshotVersion? = nil
  ) -> Google_Firestore_V1_BatchGetDocumentsRequest {
    var message = Google_Firestore_V1_BatchGetDocumentsRequest()
    message.database = database.resourceName
    message.documents = keys.map { database.name(of: $0) }
    if let version { message.readTime = encode(version) }
    return message
  }

  /// The document of one answer: found or missing; `nil` for an answer that only opens a transaction.
  package func decode(
    _ message: Google_Firestore_V1_BatchGetDocumentsResponse
  ) throws(WireError) -> Document? {
    try at("BatchGetDocumentsResponse") {
      guard let result = message.result else {
        guard message.transaction.isEmpty else { return nil }
        throw WireError(field: "result", message: "neither found nor missing is set")
      }
      guard message.hasReadTime else {
        throw WireError(field: "read_time", message: "the time at which the document was read is missing")
      }
      let readTime = try decodeVersion(message.readTime, at: "read_time")
      switch result {
      case .found(let bytes):
        return try decode(documentBytes: bytes, readTime: readTime, at: "found")
      case .missing(let name):
        return .missing(try key(fromName: name, at: "missing"), version: readTime, readTime: readTime)
      }
    }
  }

  /// The answer about one document: found, or missing at `document.version`.
  package func encodeBatchGetResponse(
    _ document: Document, readTime: SnapshotVersion
  ) -> Google_Firestore_V1_BatchGetDocumentsResponse {
    var message = Google_Firestore_V1_BatchGetDocumentsResponse()
    message.readTime = encode(readTime)
    if document.isFound {
      message.found = encodeDocument(document)
    } else {
      message.missing = database.name(of: document.key)
    }
    return message
  }
}
