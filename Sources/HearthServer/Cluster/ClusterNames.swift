#if PostgreSQL
  internal import Crypto
  internal import HearthModel

  /// The names of databases, collections and documents as keys of tables.
  enum ClusterNames {
    /// The first byte of a document's id.
    private enum IDClass {
      /// `__id<number>__`: first, and by number.
      static let number: UInt8 = 0
      static let other: UInt8 = 1
    }

    /// The id of a document as a key. Keys are in the order of `__name__` inside a collection: their bytes are compared as
    /// ``PathSegment/compare(_:_:)`` compares ids.
    static func idBytes(_ id: String) -> [UInt8] {
      guard let number = PathSegment.numericID(id) else { return [IDClass.other] + Array(id.utf8) }
      let ordered = UInt64(bitPattern: number) ^ 1 << 63
      let bytes = (0..<8).map { UInt8(truncatingIfNeeded: ordered >> (56 - 8 * $0)) }
      return [IDClass.number] + bytes + Array(id.utf8)
    }

    /// The id of a document from its key.
    ///
    /// - Throws: DATA_LOSS for bytes that are none.
    static func id(of bytes: UnsafeRawBufferPointer, in table: String) throws(StatusError) -> String {
      let prefixCount = bytes.first == IDClass.number ? 9 : 1
      guard bytes.count > prefixCount, bytes[0] <= IDClass.other,
        let id = String(validating: UnsafeRawBufferPointer(rebasing: bytes[prefixCount...]), as: UTF8.self)
      else { throw damaged(bytes, "the id of a document", table) }
      return id
    }

    static func id(of bytes: [UInt8], in table: String) throws(StatusError) -> String {
      let result = bytes.withUnsafeBytes { bytes in Result { () throws(StatusError) in try id(of: bytes, in: table) } }
      return try result.get()
    }

    /// The hash by which a collection is found.
    static func pathHash(_ path: ResourcePath) -> [UInt8] { hash(Array(path.canonicalString.utf8)) }

    /// The hash by which the transactions of a database are found.
    static func placeHash(_ id: DatabaseID) -> [UInt8] { hash(Array(id.resourceName.utf8)) }

    static func hash(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// The path of a collection from its row.
    ///
    /// - Throws: DATA_LOSS for bytes that are none.
    static func collection(of bytes: [UInt8]) throws(StatusError) -> ResourcePath {
      guard let text = String(validating: bytes, as: UTF8.self), let path = try? ResourcePath(canonical: text),
        !path.count.isMultiple(of: 2)
      else { throw bytes.withUnsafeBytes { damaged($0, "the path of a collection", "hearth_collections") } }
      return path
    }

    private static func damaged(_ bytes: UnsafeRawBufferPointer, _ thing: String, _ table: String) -> StatusError {
      let text = bytes.prefix(64).map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
      }.joined()
      return StatusError(
        code: .dataLoss, message: "Table \(table): \(text)\(bytes.count > 64 ? "…" : "") is not \(thing).")
    }
  }
#endif
