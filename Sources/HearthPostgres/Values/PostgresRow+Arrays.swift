#if PostgreSQL
  extension PostgresRow {
    package func int64Array(_ column: Int) throws(PostgresError) -> [Int64] {
      try array(column, .int8Array, of: .int8, "an int8[] without nulls") { element in
        element.flatMap(Self.int64)
      }
    }

    package func nullableInt64Array(_ column: Int) throws(PostgresError) -> [Int64?] {
      try array(column, .int8Array, of: .int8, "an int8[]") { element in
        element.map { Self.int64($0).map { .some($0) } } ?? .some(nil)
      }
    }

    package func bytesArray(_ column: Int) throws(PostgresError) -> [[UInt8]] {
      try array(column, .byteaArray, of: .bytea, "a bytea[] without nulls") { element in
        element.map { [UInt8]($0) }
      }
    }

    package func nullableBytesArray(_ column: Int) throws(PostgresError) -> [[UInt8]?] {
      try array(column, .byteaArray, of: .bytea, "a bytea[]") { element in
        .some(element.map { [UInt8]($0) })
      }
    }

    package func textArray(_ column: Int) throws(PostgresError) -> [String] {
      try array(column, .textArray, of: .text, "a text[] without nulls") { element in
        element.flatMap { String(validating: $0, as: UTF8.self) }
      }
    }

    private static func int64(_ bytes: UnsafeRawBufferPointer) -> Int64? {
      bytes.count == 8 ? Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)) : nil
    }

    /// - Parameter read: Makes an element of its bytes, or of nil for a null. Returns nil if these are not such an element.
    private func array<Element>(
      _ column: Int, _ type: PostgresType, of elementType: PostgresType, _ reading: StaticString,
      _ read: (UnsafeRawBufferPointer?) -> Element?
    ) throws(PostgresError) -> [Element] {
      let value = try present(value(column, [type], reading), column, reading)
      guard let elements = Self.elements(of: value, elementType, read) else {
        throw bad(
          "is an array of \(value.count) bytes with other elements, nulls, or several dimensions", column, reading)
      }
      return elements
    }

    /// Reads what `array_send` writes: the number of dimensions, a flag for nulls, the type of the elements; for each dimension its length and its
    /// first subscript; for each element its length, -1 for a null, and its bytes.
    ///
    /// - Returns: Nil if the bytes are not an array of such elements with at most one dimension.
    static func elements<Element>(
      of array: UnsafeRawBufferPointer, _ type: PostgresType, _ read: (UnsafeRawBufferPointer?) -> Element?
    ) -> [Element]? {
      var reader = ArrayReader(rest: array)
      guard let dimensions = reader.int32(), reader.int32() != nil, let oid = reader.int32() else { return nil }
      guard UInt32(bitPattern: oid) == type.oid else { return nil }
      if dimensions == 0 { return reader.rest.isEmpty ? [] : nil }
      guard dimensions == 1, let count = reader.int32(), reader.int32() != nil else { return nil }
      // Each element has at least its length, so a wrong count reserves no memory that the value does not justify.
      guard count >= 0, Int(count) <= reader.rest.count / 4 else { return nil }
      var elements: [Element] = []
      elements.reserveCapacity(Int(count))
      for _ in 0..<count {
        guard let length = reader.int32() else { return nil }
        let bytes = length == -1 ? nil : reader.bytes(Int(length))
        guard length == -1 || bytes != nil, let element = read(bytes) else { return nil }
        elements.append(element)
      }
      return reader.rest.isEmpty ? elements : nil
    }
  }

  private struct ArrayReader {
    var rest: UnsafeRawBufferPointer

    mutating func int32() -> Int32? {
      bytes(4).map { Int32(bigEndian: $0.loadUnaligned(as: Int32.self)) }
    }

    mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer? {
      guard count >= 0, count <= rest.count else { return nil }
      let bytes = UnsafeRawBufferPointer(rebasing: rest[..<count])
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      return bytes
    }
  }
#endif
