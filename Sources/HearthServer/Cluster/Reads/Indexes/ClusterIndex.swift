#if PostgreSQL
  internal import HearthModel
  internal import HearthPlan
  internal import HearthPostgres

  /// An index as a row of `hearth_indexes` defines it.
  struct ClusterIndex: Sendable {
    /// The numbers of the column `state`.
    enum State {
      static let active: Int16 = 1
      /// Given up; its entries are still to be removed.
      static let dropped: Int16 = 2
    }

    /// The progress of an index that does not hold all documents yet: the filling goes through the collections of its group in the order of
    /// their paths, and through each in the order of ids.
    struct Mark: Sendable, Comparable {
      /// See ``ClusterNames/pathOrder(_:)``.
      var pathOrder: [UInt8]
      var place: ClusterPlace

      static let start = Mark(pathOrder: [], place: ClusterPlace(collection: 0, id: []))

      static func < (a: Mark, b: Mark) -> Bool {
        a.pathOrder == b.pathOrder ? a.place < b.place : a.pathOrder.lexicographicallyPrecedes(b.pathOrder)
      }
    }

    /// Its place is complete or nothing: how far it is filled says ``mark``.
    let stored: StoredIndex
    /// Documents up to here have entries, and so have all that were written since the index was defined. Nil if all documents have.
    let mark: Mark?
    /// Microseconds since 1970; 0 if no use was noted.
    let latestUse: Int64

    var number: Int32 { Int32(truncatingIfNeeded: stored.number) }
    var definition: IndexDefinition { stored.definition }

    init(number: Int32, _ definition: IndexDefinition, origin: IndexOrigin, mark: Mark?, latestUse: Int64) {
      let filled = mark == nil ? StoredIndex.complete : 0
      stored = StoredIndex(
        number: Int64(number), definition: definition, origin: origin, filledThrough: filled,
        localFilledThrough: filled)
      self.mark = mark
      self.latestUse = latestUse
    }

    /// The number in the entries of a collection's documents: that of the collection, or one for all.
    func entryCollection(of number: Int64) -> Int64 { stored.isOfGroup ? Self.allCollections : number }

    /// In place of the number of a collection in the entries of an index of the collection group.
    static let allCollections: Int64 = 0
  }

  // MARK: - The column `fields`

  extension ClusterIndex {
    private static let format: UInt8 = 1

    private enum Code {
      static let collection: UInt8 = 1
      static let collectionGroup: UInt8 = 2
      static let ascending: UInt8 = 1
      static let descending: UInt8 = 2
      static let contains: UInt8 = 3
    }

    /// The scope and the fields of a definition: the format, the scope, and for each field its kind, the length of its path in four bytes (big
    /// endian) and the path. `__name__` is the last one.
    static func encodedFields(of definition: IndexDefinition) -> [UInt8] {
      var bytes = [format, definition.scope == .collectionGroup ? Code.collectionGroup : Code.collection]
      let keyKind: IndexDefinition.Kind = definition.keyDirection == .ascending ? .ascending : .descending
      for field in definition.fields + [IndexDefinition.Field(path: .documentKey, kind: keyKind)] {
        switch field.kind {
        case .ascending: bytes.append(Code.ascending)
        case .descending: bytes.append(Code.descending)
        case .contains: bytes.append(Code.contains)
        }
        let path = Array(field.path.canonicalString.utf8)
        for shift in stride(from: 24, through: 0, by: -8) {
          bytes.append(UInt8(truncatingIfNeeded: path.count >> shift))
        }
        bytes += path
      }
      return bytes
    }

    /// - Returns: nil for bytes that are no definition of this release.
    static func definition(group: [UInt8], fields bytes: [UInt8]) -> IndexDefinition? {
      guard let group = String(validating: group, as: UTF8.self), bytes.count >= 2, bytes[0] == format else {
        return nil
      }
      let scope: IndexDefinition.Scope
      switch bytes[1] {
      case Code.collection: scope = .collection
      case Code.collectionGroup: scope = .collectionGroup
      default: return nil
      }
      var fields: [IndexDefinition.Field] = []
      var rest = bytes[2...]
      while !rest.isEmpty {
        guard let field = field(&rest) else { return nil }
        fields.append(field)
      }
      guard let definition = try? IndexDefinition(collectionGroup: group, scope: scope, fields: fields),
        !definition.fields.isEmpty
      else { return nil }
      return definition
    }

    private static func field(_ rest: inout ArraySlice<UInt8>) -> IndexDefinition.Field? {
      guard rest.count >= 5, let code = rest.popFirst() else { return nil }
      let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(4)
      guard rest.count >= count, let text = String(validating: rest.prefix(count), as: UTF8.self),
        let path = try? FieldPath(parsingServerFormat: text)
      else { return nil }
      rest = rest.dropFirst(count)
      switch code {
      case Code.ascending: return .init(path: path, kind: .ascending)
      case Code.descending: return .init(path: path, kind: .descending)
      case Code.contains: return .init(path: path, kind: .contains)
      default: return nil
      }
    }
  }
#endif
