#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthStore

  /// A document in a row of a result, read in place.
  struct ClusterRow: DocumentInPlace {
    let row: PostgresRow
    /// The collection that holds the document.
    let path: ResourcePath

    private typealias Column = ReadStatements.Column

    /// Built at each call.
    var key: DocumentKey {
      get throws {
        let id = try row.withBytes(Column.id) { try ClusterNames.id(of: $0, in: "hearth_documents") }
        guard !id.isEmpty, !id.utf8.contains(UInt8(ascii: "/")), let key = try? DocumentKey(path.appending(id)) else {
          throw ClusterSnapshot.damaged("table hearth_documents, collection \(path): \"\(id)\" is not a document id")
        }
        return key
      }
    }

    var place: ClusterPlace {
      get throws { ClusterPlace(collection: try row.int64(Column.collection), id: try row.bytes(Column.id)) }
    }

    var version: SnapshotVersion {
      get throws { try row.version(Column.version) }
    }

    func withFields<R>(_ body: (EncodedFieldsView) throws -> R) throws -> R {
      do {
        return try row.withBytes(Column.fields) { try body(EncodedFieldsView($0)) }
      } catch let error as WireFormatError {
        throw malformed(error)
      }
    }

    func document(key: DocumentKey) throws -> Document {
      let fields: EncodedFields
      do {
        fields = try EncodedFields(validating: row.bytes(Column.fields))
      } catch let error as WireFormatError {
        throw malformed(error)
      }
      return .found(
        key, version: try version, createTime: try row.version(Column.createTime),
        fields: fields)
    }

    private func malformed(_ error: WireFormatError) -> StatusError {
      let name = (try? key.canonicalString) ?? "\(path)/?"
      return ClusterSnapshot.damaged("table hearth_documents, \(name): fields are malformed: \(error)")
    }
  }

  /// Tests documents against a query where they lie, those that do not look at the key first.
  final class ClusterFilter {
    private let query: Query
    /// Documents that have changed later are left out; nil for the present.
    private let version: SnapshotVersion?
    private let conditions: FieldConditions?

    init(_ query: Query, asOf version: SnapshotVersion?) {
      self.query = query
      self.version = version
      conditions = FieldConditions(query.filters)
    }

    /// The key of a document that matches and is not beyond the edge of what the limit lets through; nil for any other.
    ///
    /// - Parameter edge: the outermost of as many matching documents as the limit allows, nil when there are fewer.
    func matchingKey(of row: ClusterRow, inside edge: Document?) throws -> DocumentKey? {
      if let version, try row.version > version { return nil }
      return try row.withFields { fields in
        if let conditions, try !conditions.areMet(by: fields) { return nil }
        let key = try row.key
        if let edge, try !query.sorts(key: key, fields: fields, inside: edge) { return nil }
        return try query.matches(key: key, fields: fields) ? key : nil
      }
    }
  }
#endif
