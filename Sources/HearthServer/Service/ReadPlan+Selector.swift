internal import Foundation
internal import HearthWire
internal import SwiftProtobuf

extension ReadPlan {
  /// The version that a request asks to read at. The protocol declares the same choice separately for each kind of request.
  enum Selector {
    case latest
    case transaction(Data)
    case newTransaction(Google_Firestore_V1_TransactionOptions)
    case readTime(Google_Protobuf_Timestamp)
  }
}

extension ReadPlan.Selector {
  init(_ selector: Google_Firestore_V1_GetDocumentRequest.OneOf_ConsistencySelector?) {
    self =
      switch selector {
      case .transaction(let id): .transaction(id)
      case .readTime(let time): .readTime(time)
      case nil: .latest
      }
  }

  init(_ selector: Google_Firestore_V1_ListDocumentsRequest.OneOf_ConsistencySelector?) {
    self =
      switch selector {
      case .transaction(let id): .transaction(id)
      case .readTime(let time): .readTime(time)
      case nil: .latest
      }
  }

  init(_ selector: Google_Firestore_V1_BatchGetDocumentsRequest.OneOf_ConsistencySelector?) {
    self =
      switch selector {
      case .transaction(let id): .transaction(id)
      case .newTransaction(let options): .newTransaction(options)
      case .readTime(let time): .readTime(time)
      case nil: .latest
      }
  }

  init(_ selector: Google_Firestore_V1_RunQueryRequest.OneOf_ConsistencySelector?) {
    self =
      switch selector {
      case .transaction(let id): .transaction(id)
      case .newTransaction(let options): .newTransaction(options)
      case .readTime(let time): .readTime(time)
      case nil: .latest
      }
  }

  init(_ selector: Google_Firestore_V1_RunAggregationQueryRequest.OneOf_ConsistencySelector?) {
    self =
      switch selector {
      case .transaction(let id): .transaction(id)
      case .newTransaction(let options): .newTransaction(options)
      case .readTime(let time): .readTime(time)
      case nil: .latest
      }
  }

  init(_ selector: Google_Firestore_V1_ListCollectionIdsRequest.OneOf_ConsistencySelector?) {
    self =
      switch selector {
      case .readTime(let time): .readTime(time)
      case nil: .latest
      }
  }

  init(_ selector: Google_Firestore_V1_PartitionQueryRequest.OneOf_ConsistencySelector?) {
    self =
      switch selector {
      case .readTime(let time): .readTime(time)
      case nil: .latest
      }
  }
}
