internal import Foundation
internal import HearthModel

/// The write calls of a document. Each returns a ``WriteReceipt`` at once. See ``DocumentReference/withReceipt``.
///
/// Data and programming errors are the same as for the calls without a receipt.
public struct DocumentReceiptWrites: Sendable {
  let document: DocumentReference

  /// As ``DocumentReference/setData(_:completion:)``.
  public func setData(_ documentData: [String: Any]) -> WriteReceipt {
    document.firestore.writeWithReceipt([document.setMutation(documentData)])
  }

  /// As ``DocumentReference/setData(_:merge:completion:)``.
  public func setData(_ documentData: [String: Any], merge: Bool) -> WriteReceipt {
    document.firestore.writeWithReceipt([document.setMutation(documentData, merge: merge)])
  }

  /// As ``DocumentReference/setData(_:mergeFields:completion:)``.
  public func setData(_ documentData: [String: Any], mergeFields: [Any]) -> WriteReceipt {
    document.firestore.writeWithReceipt([document.setMutation(documentData, mergeFields: mergeFields)])
  }

  /// As ``DocumentReference/setData(from:encoder:completion:)``.
  ///
  /// - Throws: Only encoding errors, before anything is written.
  public func setData<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteReceipt {
    setData(try encoder.encode(value))
  }

  /// As ``DocumentReference/setData(from:merge:encoder:completion:)``.
  ///
  /// - Throws: Only encoding errors, before anything is written.
  public func setData<T: Encodable>(
    from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteReceipt {
    setData(try encoder.encode(value), merge: merge)
  }

  /// As ``DocumentReference/updateData(_:completion:)``.
  public func updateData(_ fields: [AnyHashable: Any]) -> WriteReceipt {
    document.firestore.writeWithReceipt([document.updateMutation(fields)])
  }

  /// As ``DocumentReference/delete(completion:)``.
  public func delete() -> WriteReceipt {
    document.firestore.writeWithReceipt([.delete(document.key)])
  }
}

/// The write calls of a collection. Each returns a ``WriteReceipt`` at once. See ``CollectionReference/withReceipt``.
public struct CollectionReceiptWrites: Sendable {
  let collection: CollectionReference

  /// As ``CollectionReference/addDocument(data:completion:)``.
  ///
  /// - Returns: The new document and the receipt of its write.
  public func addDocument(data: [String: Any]) -> (document: DocumentReference, receipt: WriteReceipt) {
    let document = collection.document()
    return (document, document.withReceipt.setData(data))
  }

  /// As ``CollectionReference/addDocument(from:encoder:completion:)``.
  ///
  /// - Returns: The new document and the receipt of its write.
  /// - Throws: Only encoding errors, before anything is written.
  public func addDocument<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> (document: DocumentReference, receipt: WriteReceipt) {
    addDocument(data: try encoder.encode(value))
  }
}

extension DocumentReference {
  /// The write calls of this document that return a receipt. Addition to the official API.
  public var withReceipt: DocumentReceiptWrites { DocumentReceiptWrites(document: self) }
}

extension CollectionReference {
  /// The write calls of this collection that return a receipt. Addition to the official API.
  public var withReceipt: CollectionReceiptWrites { CollectionReceiptWrites(collection: self) }
}

extension WriteBatch {
  /// Commits the writes as ``commit(completion:)`` does. Addition to the official API.
  ///
  /// - Returns: The receipt of the whole batch, at once. The receipt of an empty batch is acknowledged without a commit time.
  public func commitWithReceipt() -> WriteReceipt {
    firestore.writeWithReceipt(takeMutations())
  }
}
