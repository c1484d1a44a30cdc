package import HearthModel

/// The write of `hearth data set`.
package struct DocumentWrite: Sendable {
  package enum Mode: Sendable {
    /// The document has these fields and no others.
    case replace
    /// The fields of the JSON are set, also within maps; others stay.
    case merge
    /// The members of the JSON are field paths, each of which is replaced; the document must exist.
    case update
  }

  package var key: DocumentKey
  package var mode = Mode.replace
  /// Fields to remove; only with ``Mode/merge`` and ``Mode/update``.
  package var removedFields: [String] = []
  /// True if the document must exist, false if it must not; nil for either.
  package var mustExist: Bool?

  package init(key: DocumentKey) { self.key = key }

  /// - Parameter json: An object with the fields.
  /// - Throws: A ``DataError`` for JSON that is not of docs/data-format.md, with its place.
  package func mutation(json: String, place: String, in database: DatabaseID) throws(DataError) -> Mutation {
    let fields: MapValue
    do {
      let text = try JSONTextReader.read(Array(json.utf8)[...])
      fields = try ValueJSON(database: database).fields(text)
    } catch let error as JSONTextReader.Failure {
      let before = json.utf8.prefix(error.offset)
      let line = before.count(where: { $0 == 0x0A }) + 1
      let column =
        error.offset
        - (before.lastIndex(of: 0x0A).map { json.utf8.distance(from: json.utf8.startIndex, to: $0) + 1 } ?? 0) + 1
      throw DataError("\(place), line \(line), column \(column): \(error.message).")
    } catch {
      throw DataError("\(place): field \(error).")
    }
    let precondition: Precondition = mustExist.map { .exists($0) } ?? (mode == .update ? .exists(true) : .none)
    var removed: [FieldPath] = []
    for name in removedFields { removed.append(try DataPath.field(name)) }
    switch mode {
    case .replace:
      guard removed.isEmpty else { throw DataError("--delete-field needs --merge or --update.") }
      return .set(key, fields, precondition: precondition)
    case .merge:
      let mask = FieldMask(Self.leaves(of: fields, below: nil) + removed)
      return .patch(key, fields, mask: mask, precondition: precondition)
    case .update:
      var (data, paths) = (MapValue(), removed)
      for entry in fields.entries {
        let path = try DataPath.field(entry.key)
        data.set(entry.value, at: path)
        paths.append(path)
      }
      if let conflict = Self.conflict(in: paths) {
        throw DataError(
          "\(place): \"\(conflict.0)\" and \"\(conflict.1)\" cannot both be changed: one holds the other.")
      }
      return .patch(key, data, mask: FieldMask(paths), precondition: precondition)
    }
  }

  /// The paths of all values that are no maps with something in them.
  private static func leaves(of map: MapValue, below parent: FieldPath?) -> [FieldPath] {
    map.entries.flatMap { entry -> [FieldPath] in
      guard let path = parent?.appending(entry.key) ?? (try? FieldPath([entry.key])) else { return [] }
      if case .map(let inner) = entry.value, !inner.isEmpty, !entry.value.isVector {
        return leaves(of: inner, below: path)
      }
      return [path]
    }
  }

  private static func conflict(in paths: [FieldPath]) -> (FieldPath, FieldPath)? {
    let sorted = paths.sorted()
    return zip(sorted, sorted.dropFirst()).first { $0.isPrefix(of: $1) }
  }
}
