package import HearthModel

/// The keys under which an index holds a document.
package struct IndexKeys {
  /// Documents whose key would be longer are entered without their values. Longer keys would leave the page they are on.
  package static let maximumBytes = 1500
  /// Documents with more distinct elements in their array are entered without their values too: otherwise one small change would
  /// write as many entries as a document of the largest size has room for.
  package static let maximumElements = 10_000
  /// Begins the keys of documents that are entered without their values; below the first byte of every value. Each query
  /// looks at all of them.
  package static let withoutValues: UInt8 = 0x01

  private let index: StoredIndex
  private var writer = OrderedValueWriter()

  package init(_ index: StoredIndex) {
    self.index = index
  }

  /// - Parameter identity: distinguishes the document from others when its entry has no values: from those of the collection, or from all
  ///   that have entries under the same number.
  /// - Returns: none if the document lacks a field of the index.
  package mutating func keys(of fields: EncodedFields, _ key: DocumentKey, identity: [UInt8]) -> [[UInt8]] {
    fields.withUnsafeBytes { keys(of: $0, id: key.id, identity: identity) { key } }
  }

  /// As ``keys(of:_:identity:)``, for fields in place.
  ///
  /// - Parameter key: Only an index of the collection group asks for it; nil if it cannot be read.
  package mutating func keys(
    of bytes: UnsafeRawBufferPointer, id: String, identity: [UInt8], _ key: () -> DocumentKey?
  ) -> [[UInt8]] {
    do {
      return try keys(of: EncodedFieldsView(bytes), id, key) ?? [[Self.withoutValues] + identity]
    } catch {
      // The fields are malformed where the index reads them. Queries read and report them.
      return [[Self.withoutValues] + identity]
    }
  }

  /// - Returns: nil if one of the keys is too long, or there are too many.
  private mutating func keys(
    of fields: EncodedFieldsView, _ id: String, _ key: () -> DocumentKey?
  ) throws -> [[UInt8]]? {
    writer.removeAll()
    for component in index.components {
      guard let value = try fields.value(at: component.path) else { return [] }
      try writer.append(value, descending: component.direction == .descending)
      if writer.bytes.count > Self.maximumBytes { return nil }
    }
    if index.isOfGroup {
      guard let key = key() else { return nil }
      writer.append(documentKey: key, descending: index.definition.keyDirection == .descending)
    } else {
      writer.append(documentID: id, descending: index.definition.keyDirection == .descending)
    }
    if writer.bytes.count > Self.maximumBytes { return nil }
    guard let member = index.member else { return [writer.bytes] }

    let rest = writer.bytes
    guard let array = try fields.value(at: member) else { return [] }
    var keys: Set<[UInt8]> = []
    var isTooMuch = false
    try array.forEachElement { element in
      writer.removeAll()
      try writer.append(element)
      keys.insert(writer.bytes + rest)
      isTooMuch = writer.bytes.count + rest.count > Self.maximumBytes || keys.count > Self.maximumElements
      return !isTooMuch
    }
    return isTooMuch ? nil : keys.sorted { $0.lexicographicallyPrecedes($1) }
  }

  package static func identity(of place: Int64) -> [UInt8] {
    withUnsafeBytes(of: place.bigEndian) { Array($0) }
  }

  package static func identity(of id: String) -> [UInt8] {
    Array(id.utf8)
  }
}
