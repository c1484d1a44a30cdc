package import HearthModel
internal import SwiftProtobuf

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

// MARK: - Requests

extension WireTranslator {
  /// The message for one request on the Listen stream.
  package func encode(_ request: WatchRequest) -> Google_Firestore_V1_ListenRequest {
    var message = Google_Firestore_V1_ListenRequest()
    message.database = database.resourceName
    switch request {
    case .addTarget(let target):
      message.addTarget = encode(target)
      if let label = target.purpose.label {
        message.labels[TargetPurpose.labelName] = label
      }
    case .removeTarget(let targetID):
      message.removeTarget = targetID
    }
    return message
  }

  private func encode(_ request: TargetRequest) -> Google_Firestore_V1_Target {
    var message = Google_Firestore_V1_Target()
    message.targetID = request.targetID
    message.targetType = encode(request.target)
    if !request.resumeToken.isEmpty {
      message.resumeToken = Data(request.resumeToken)
    } else if let readTime = request.readTime, readTime != .none {
      message.readTime = encode(readTime)
    }
    if let expectedCount = request.expectedCount {
      message.expectedCount = Google_Protobuf_Int32Value(Int32(clamping: expectedCount))
    }
    return message
  }
}

extension TargetPurpose {
  /// The label by which a client states the purpose of a request; backends never refuse it (firebase-ios-sdk serializer.cc,
  /// EncodeListenRequestLabels).
  fileprivate static let labelName = "goog-listen-tags"

  fileprivate var label: String? {
    switch self {
    case .listen: nil
    case .existenceFilterMismatch: "existence-filter-mismatch"
    case .existenceFilterMismatchBloom: "existence-filter-mismatch-bloom"
    case .limboResolution: "limbo-document"
    }
  }
}

// MARK: - Responses

extension WireTranslator {
  /// The message for one answer on the Listen stream.
  ///
  /// A document change becomes `DocumentChange`, `DocumentDelete` or `DocumentRemove` by the knowledge about the
  /// document: found, missing, or only that it left the targets.
  package func encode(_ response: WatchResponse) -> Google_Firestore_V1_ListenResponse {
    var message = Google_Firestore_V1_ListenResponse()
    switch response {
    case .targetChange(let change):
      message.targetChange = encode(change)
    case .documentChange(let change):
      message.responseType = encode(change)
    case .existenceFilter(let filter):
      message.filter = encode(filter)
    case .unreadable(let unreadable):
      // An unreadable message cannot be passed on; the targets end with its error.
      message.targetChange = encode(
        WatchTargetChange(state: .removed, targetIDs: unreadable.targetIDs, cause: unreadable.error))
    }
    return message
  }

  private func encode(_ change: WatchTargetChange) -> Google_Firestore_V1_TargetChange {
    var message = Google_Firestore_V1_TargetChange()
    message.targetChangeType =
      switch change.state {
      case .noChange: .noChange
      case .added: .add
      case .removed: .remove
      case .current: .current
      case .reset: .reset
      }
    message.targetIds = change.targetIDs
    message.resumeToken = Data(change.resumeToken)
    if change.readTime != .none {
      message.readTime = encode(change.readTime)
    }
    if let cause = change.cause {
      message.cause = encode(cause)
    }
    return message
  }

  private func encode(_ change: WatchDocumentChange) -> Google_Firestore_V1_ListenResponse.OneOf_ResponseType {
    if let document = change.document, document.isFound {
      var message = Google_Firestore_V1_DocumentChange()
      message.document = encodeDocument(document)
      message.targetIds = change.updatedTargetIDs
      message.removedTargetIds = change.removedTargetIDs
      return .documentChange(message)
    }
    if let document = change.document, document.isMissing {
      var message = Google_Firestore_V1_DocumentDelete()
      message.document = database.name(of: change.key)
      message.removedTargetIds = change.removedTargetIDs
      if document.version != .none {
        message.readTime = encode(document.version)
      }
      return .documentDelete(message)
    }
    var message = Google_Firestore_V1_DocumentRemove()
    message.document = database.name(of: change.key)
    message.removedTargetIds = change.removedTargetIDs
    return .documentRemove(message)
  }

  private func encode(_ filter: WatchExistenceFilter) -> Google_Firestore_V1_ExistenceFilter {
    var message = Google_Firestore_V1_ExistenceFilter()
    message.targetID = filter.targetID
    message.count = Int32(clamping: filter.count)
    if let names = filter.unchangedNames {
      message.unchangedNames.bits.bitmap = Data(names.bitmap)
      message.unchangedNames.bits.padding = Int32(clamping: names.padding)
      message.unchangedNames.hashCount = Int32(clamping: names.hashCount)
    }
    return message
  }

  /// The answer in `message`.
  ///
  /// - Throws: a ``WireError`` when it contains nothing known, a document is malformed or one of another database, or a number is out of
  ///   range. A bloom filter is passed on unchecked: its user decides whether it is usable.
  package func decode(_ message: Google_Firestore_V1_ListenResponse) throws(WireError) -> WatchResponse {
    try at("ListenResponse") {
      switch message.responseType {
      case .targetChange(let change):
        return .targetChange(try at("target_change") { try decode(change) })
      case .documentChange(let change):
        let document = try decode(documentBytes: change.document, readTime: .none, at: "document_change.document")
        return .documentChange(
          WatchDocumentChange(
            key: document.key, updatedTargetIDs: change.targetIds, removedTargetIDs: change.removedTargetIds,
            document: document))
      case .documentDelete(let change):
        return .documentChange(try at("document_delete") { try decode(change) })
      case .documentRemove(let change):
        return .documentChange(
          WatchDocumentChange(
            key: try key(fromName: change.document, at: "document_remove.document"), updatedTargetIDs: [],
            removedTargetIDs: change.removedTargetIds, document: nil))
      case .filter(let filter):
        return .existenceFilter(try at("filter") { try decode(filter) })
      case nil:
        throw WireError(field: "response_type", message: "the answer holds nothing that this version knows")
      }
    }
  }

  private func decode(_ message: Google_Firestore_V1_TargetChange) throws(WireError) -> WatchTargetChange {
    let state: WatchTargetChange.State
    switch message.targetChangeType {
    case .noChange: state = .noChange
    case .add: state = .added
    case .remove: state = .removed
    case .current: state = .current
    case .reset: state = .reset
    case .UNRECOGNIZED(let number):
      throw WireError(field: "target_change_type", message: "\(number) is not a kind of change (0 to 4)")
    }
    return WatchTargetChange(
      state: state, targetIDs: message.targetIds, resumeToken: [UInt8](message.resumeToken),
      readTime: message.hasReadTime ? try decodeVersion(message.readTime, at: "read_time") : .none,
      cause: message.hasCause ? decode(message.cause) : nil)
  }

  private func decode(_ message: Google_Firestore_V1_DocumentDelete) throws(WireError) -> WatchDocumentChange {
    let key = try key(fromName: message.document, at: "document")
    let version: SnapshotVersion =
      message.hasReadTime ? try decodeVersion(message.readTime, at: "read_time") : .none
    return WatchDocumentChange(
      key: key, updatedTargetIDs: [], removedTargetIDs: message.removedTargetIds,
      document: .missing(key, version: version))
  }

  private func decode(_ message: Google_Firestore_V1_ExistenceFilter) throws(WireError) -> WatchExistenceFilter {
    guard message.count >= 0 else {
      throw WireError(field: "count", message: "\(message.count) is negative")
    }
    var filter = WatchExistenceFilter(targetID: message.targetID, count: Int(message.count), unchangedNames: nil)
    if message.hasUnchangedNames {
      filter.unchangedNames = BloomFilterData(
        bitmap: [UInt8](message.unchangedNames.bits.bitmap), padding: Int(message.unchangedNames.bits.padding),
        hashCount: Int(message.unchangedNames.hashCount))
    }
    return filter
  }
}
