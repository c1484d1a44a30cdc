internal import Foundation
internal import HearthModel

/// Turns stored values into the objects that programs read: `NSNumber`, `String`, `Data`, `NSNull`, `Timestamp`, `GeoPoint`,
/// `DocumentReference`, `VectorValue`, `[Any]` and `[String: Any]`.
///
/// Numbers are `NSNumber` on every platform: only those cast to `Int`, `Int64` and `Double` alike where there is no bridging.
struct UserDataWriter {
  let firestore: Firestore
  let behavior: ServerTimestampBehavior

  func dictionary(_ map: MapValue) -> [String: Any] {
    var result: [String: Any] = [:]
    result.reserveCapacity(map.count)
    // Names that differ only in Unicode normalisation are two fields to Firestore and one to a Swift dictionary.
    for entry in map.entries { result[entry.key] = any(entry.value) }
    return result
  }

  func any(_ value: Value) -> Any {
    switch value {
    case .null: return NSNull()
    case .boolean(let boolean): return NSNumber(value: boolean)
    case .integer(let integer): return NSNumber(value: integer)
    case .double(let double): return NSNumber(value: double)
    case .timestamp(let timestamp): return Timestamp(timestamp.truncatedToMicroseconds())
    case .pendingServerTimestamp(let localWriteTime, let previousValue):
      return pending(localWriteTime, previousValue)
    case .string(let string): return string
    case .bytes(let bytes): return Data(bytes)
    case .reference(let reference): return document(reference)
    case .geoPoint(let point): return GeoPoint(point)
    case .array(let elements): return elements.map(any)
    case .map(let map):
      if let elements = value.vectorElements { return VectorValue(elements) }
      return dictionary(map)
    }
  }

  private func pending(_ localWriteTime: HearthModel.Timestamp, _ previousValue: Value?) -> Any {
    switch behavior {
    case .none: return NSNull()
    case .estimate: return Timestamp(localWriteTime)
    case .previous: return previousValue.map(any) ?? NSNull()
    }
  }

  func document(_ reference: ReferenceValue) -> DocumentReference {
    if reference.database != firestore.databaseID {
      HearthLog.warning(
        """
        Document \(reference.key) contains a reference to another database (\(reference.database.resourceName)), which is \
        not supported. It will be treated as a reference in the current database \
        (\(firestore.databaseID.resourceName)) instead.
        """)
    }
    return DocumentReference(firestore: firestore, key: reference.key)
  }
}
