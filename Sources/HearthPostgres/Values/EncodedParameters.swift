#if PostgreSQL
  /// The parameters of a call, one behind the other, each in the binary format of its type.
  struct EncodedParameters {
    /// Begins with a byte that belongs to no value: also an empty value has an address then, and without one it would be a null.
    private var bytes: [UInt8] = [0]
    /// The offset and the length of each value; a null has no length.
    private var places: [(offset: Int, length: Int?)] = []

    /// The server's limit for a value is 1 GiB (`MaxAllocSize`).
    private static let maximumLength = 1 << 30

    init(_ parameters: [PostgresValue], of statementName: String) throws(PostgresError) {
      bytes.reserveCapacity(parameters.reduce(1) { $0 + $1.estimatedLength })
      places.reserveCapacity(parameters.count)
      for (index, value) in parameters.enumerated() {
        let offset = bytes.count
        value.append(to: &bytes)
        let length = bytes.count - offset
        guard length <= Self.maximumLength else {
          throw PostgresError(
            .statement, "Parameter $\(index + 1) has \(length) bytes; a value has at most \(Self.maximumLength).",
            sqlState: .programLimitExceeded, statementName: statementName)
        }
        if case .null = value { places.append((offset, nil)) } else { places.append((offset, length)) }
      }
    }

    /// Calls `body` with what libpq wants: the address of each value, or nil for a null; its length; its format, which is 1 for binary.
    func withPointers<Result>(
      _ body: (
        _ values: UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: UnsafePointer<Int32>?,
        _ formats: UnsafePointer<Int32>?
      ) -> Result
    ) -> Result {
      bytes.withUnsafeBytes { buffer in
        let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
        let values = places.map { place in place.length == nil ? nil : start.map { $0 + place.offset } }
        let lengths = places.map { Int32($0.length ?? 0) }
        let formats = [Int32](repeating: 1, count: places.count)
        return values.withUnsafeBufferPointer { values in
          lengths.withUnsafeBufferPointer { lengths in
            formats.withUnsafeBufferPointer { formats in
              body(values.baseAddress, lengths.baseAddress, formats.baseAddress)
            }
          }
        }
      }
    }
  }
#endif
