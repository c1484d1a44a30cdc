internal import Foundation
internal import HearthModel

extension DecodingContext {
  /// Returns the kind of a value. The contents of a map or an array are not read.
  func content(of value: StoredValue) throws(WireFormatError) -> StoredContent {
    switch value {
    case .null: .null
    case .fields(let message): .map(.encoded(try EncodedMapIndex(fieldsIn: message)))
    case .encoded(let message): try content(of: EncodedValue(message))
    case .object(let object): content(of: object)
    }
  }

  /// Returns whether an encoded value is null, or a pending timestamp that is read as null.
  func isNull(_ message: WireReader) throws(WireFormatError) -> Bool {
    let value = try EncodedValue(message)
    switch value.payload {
    case .null: return true
    case .pendingServerTimestamp:
      if case .null = try content(of: value) { return true }
      return false
    default: return false
    }
  }

  private func content(of value: EncodedValue) throws(WireFormatError) -> StoredContent {
    switch value.payload {
    case .null: return .null
    case .boolean(let boolean): return .boolean(boolean)
    case .integer(let integer): return .integer(integer)
    case .double(let double): return .double(double)
    case .timestamp(let timestamp): return .timestamp(timestamp.truncatedToMicroseconds())
    case .string(let contents): return .string(try contents.remainingString("Value.string_value"))
    case .bytes(let bytes): return .bytes(Data(bytes))
    case .geoPoint(let point): return .geoPoint(point)
    case .array(let message): return .array(.encoded(try EncodedValue.elements(ofArray: message)))
    case .map(let message): return .map(.encoded(try EncodedMapIndex(mapIn: message)))
    case .reference:
      guard let origin, case .reference(let reference) = try value.decoded() else { return .null }
      return .reference(origin.writer.document(reference))
    case .vector(let message, _):
      if let elements = try value.decoded().vectorElements { return .vector(VectorValue(elements)) }
      return .map(.encoded(try EncodedMapIndex(mapIn: message)))
    case .pendingServerTimestamp(let localWriteTime, let previousValue):
      switch origin?.serverTimestampBehavior ?? .none {
      case .none: return .null
      case .estimate: return .timestamp(localWriteTime)
      case .previous: return try previousContent(previousValue)
      }
    }
  }

  /// The value that a pending timestamp has replaced, through any number of them.
  private func previousContent(_ message: WireReader?) throws(WireFormatError) -> StoredContent {
    var message = message
    while let current = message {
      let value = try EncodedValue(current)
      guard case .pendingServerTimestamp(_, let previousValue) = value.payload else { return try content(of: value) }
      message = previousValue
    }
    return .null
  }

  private func content(of object: Any) -> StoredContent {
    switch object {
    case is NSNull: return .null
    case let timestamp as Timestamp: return .timestamp(timestamp.model)
    case let point as GeoPoint: return .geoPoint(point.model)
    case let vector as VectorValue: return .vector(vector)
    case let reference as DocumentReference: return .reference(reference)
    default: break
    }
    switch NumberObject(object) {
    case .boolean(let boolean): return .boolean(boolean)
    case .integer(let integer): return .integer(integer)
    case .largeInteger(let integer): return .largeInteger(integer)
    case .double(let double): return .double(double)
    case nil: break
    }
    switch object {
    case let string as String: return .string(string)
    case let data as Data: return .bytes(data)
    case let fields as [String: Any]: return .map(.objects(fields))
    case let elements as [Any]: return .array(.objects(elements))
    default:
      guard let unwrapped = UserDataReader.unwrap(object) else { return .null }
      // A value that is not an optional comes back unchanged, and stays foreign.
      return type(of: unwrapped) == type(of: object) ? .foreign(object) : content(of: unwrapped)
    }
  }
}
