extension Query {
  /// A number that agrees with the order of the result: of two documents with different numbers, the one with the smaller number comes
  /// first. Documents with the same number are compared by ``compare(_:_:)``.
  ///
  /// It comes from the first order alone. Stored with a document, it saves most comparisons from looking up the field, or the key, again.
  package func orderPrefix(of document: Document) -> UInt64 {
    guard let order = orders.first else { return 0 }
    let prefix = order.path.isDocumentKey ? keyPrefix(document.key) : Self.prefix(of: document.fields, at: order.path)
    return order.direction == .ascending ? prefix : ~prefix
  }

  /// Documents of one collection are ordered by their ids. In other queries the paths above them decide first.
  private func keyPrefix(_ key: DocumentKey) -> UInt64 {
    if collectionGroup != nil { return 0 }
    return ByteOrder.withUTF8(of: key.canonicalString) { path in
      var start = path.count
      while start > 0, path[start &- 1] != PathSegment.separator { start &-= 1 }
      let id = UnsafeRawBufferPointer(rebasing: path[start...])
      if let number = PathSegment.numericID(id) { return Prefix.of(number) }
      return Prefix.inClass(1, Prefix.of(id))
    }
  }

  /// A field that is absent or cannot be read sorts first.
  private static func prefix(of fields: EncodedFields, at path: FieldPath) -> UInt64 {
    fields.withView { view in
      guard let value = (try? view.value(at: path)) ?? nil else { return 0 }
      return Prefix.inClass(value.typeClass.rawValue + 1, contents(of: value))
    }
  }

  private static func contents(of value: EncodedValue) -> UInt64 {
    switch value.payload {
    case .boolean(let isTrue): isTrue ? 1 : 0
    case .integer(let number): Prefix.of(Double(number))
    case .double(let number): Prefix.of(number)
    case .timestamp(let time): Prefix.of(time)
    case .string(let text): Prefix.of(text.remainingBytes)
    case .bytes(let bytes): Prefix.of(bytes)
    case .null, .pendingServerTimestamp, .reference, .geoPoint, .array, .vector, .map: 0
    }
  }
}

/// 56 bits of a value, in its order, below eight bits for its class.
private enum Prefix {
  static let contentBits: UInt64 = 56

  static func inClass(_ number: Int, _ contents: UInt64) -> UInt64 {
    UInt64(truncatingIfNeeded: number) << contentBits | contents
  }

  /// The first seven bytes, filled up with zeros: that may make different texts equal, but never exchanges them.
  /// exchange them.
  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var prefix: UInt64 = 0
    for index in 0..<7 { prefix = prefix << 8 | (index < bytes.count ? UInt64(bytes[index]) : 0) }
    return prefix
  }

  /// NaN first, then by number; rounding an integer to a double keeps the order.
  static func of(_ number: Double) -> UInt64 {
    if number.isNaN { return 0 }
    // Both zeros are the same number.
    let bits = (number == 0 ? 0 : number).bitPattern
    let ordered = bits >> 63 == 0 ? bits | 1 << 63 : ~bits
    return ordered >> 8
  }

  static func of(_ number: Int64) -> UInt64 {
    (UInt64(bitPattern: number) ^ 1 << 63) >> 8
  }

  /// Seconds in 40 bits, which is enough for the years 1 to 9999, and the 16 highest bits of the nanoseconds.
  static func of(_ time: Timestamp) -> UInt64 {
    let limit: Int64 = 1 << 39
    if time.seconds < -limit { return 0 }
    if time.seconds >= limit { return 1 << contentBits - 1 }
    return UInt64(time.seconds + limit) << 16 | UInt64(time.nanoseconds) >> 14
  }
}
