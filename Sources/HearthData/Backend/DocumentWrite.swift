package import HearthModel

/// The write of `hearth data set`.
package struct DocumentWrite: Sendable {
  package enum Mode: Sendable {
    /// The document has these fields and no others.
    case replace
    /// The fields of the JSON are set, also within maps; others stay.
    case merge
    /// The members of the JSON are field paths, and each of these fields is replaced; the document must exist.
    case update
  }

  package var key: DocumentKey
  package var mode = Mode.replace
  /// Fields to remove; only with ``Mode/merge`` and ``Mode/update``.
  package var removedFields: [String] = []
  /// True if the document must exist, false if it must not; nil for either.
  package var mustExist: Bool?

  package init(key: DocumentKey) { self.key = key }

  /// The sentence about a name with a dot, which is a field path in an update, and a name here; nil if there is none.
  package func nameAdvice(json: String) -> String? {
    guard mode != .update, case .object(let members)? = try? JSONTextReader.read(Array(json.utf8)[...]),
      let name = members.map(\.name).first(where: { $0.contains(".") && (try? FieldPath(parsingUserFormat: $0)) != nil }
      ),
      let path = try? FieldPath([name])
    else { return nil }
    return
      "The field \(path.canonicalString) has a dot in its name. A field within a map is written as an object in the object; "
      + "`hearth data update` takes names with dots for the paths of such fields."
  }

  /// - Parameters:
  ///   - json: An object with the fields, and with changes such as `{"$increment": 1}`.
  ///   - place: The option or the file that it comes from.
  ///   - isArgument: True if it is a word of the command line.
  /// - Throws: A ``DataError`` for JSON that is not of docs/data-format.md, with its place.
  package func mutation(
    json: String, place: String, isArgument: Bool = true, in database: DatabaseID
  ) throws(DataError) -> Mutation {
    let failure = isArgument ? DataError.argument : { DataError($0) }
    let written: WriteJSON
    do {
      let text = try JSONTextReader.read(Array(json.utf8)[...])
      written = try WriteJSON(text, hasPaths: mode == .update, database: database)
    } catch let error as JSONTextReader.Failure {
      let fault = JSONFault.text(error, in: Array(json.utf8)[...])
      throw failure("\(place), \(Self.position(error.offset, in: json)): \(fault).")
    } catch let error as ValueJSON.Failure {
      throw failure("\(place): \(error.place.isEmpty ? "" : "field ")\(error).")
    } catch {
      throw failure("\(place): \(error)")
    }
    let precondition: Precondition = mustExist.map { .exists($0) } ?? (mode == .update ? .exists(true) : .none)
    var removed = written.removed
    for name in removedFields { removed.append(try DataPath.field(name)) }
    let paths = (mode == .update ? written.members : written.leaves + written.transforms.map(\.path)) + removed
    if let conflict = Self.conflict(in: Array(Set(paths))) {
      throw failure("\(place): \"\(conflict.0)\" and \"\(conflict.1)\" cannot both be changed: one holds the other.")
    }
    guard mode == .replace else {
      let changed = Set(written.transforms.map(\.path))
      let mask = (mode == .merge ? written.leaves : written.members.filter { !changed.contains($0) }) + removed
      return .patch(
        key, written.fields, mask: FieldMask(mask), precondition: precondition, transforms: written.transforms)
    }
    guard removed.isEmpty else {
      throw .argument("\(removedFields.isEmpty ? "$delete" : "--delete-field") needs --merge or --update.")
    }
    return .set(key, written.fields, precondition: precondition, transforms: written.transforms)
  }

  /// The line of a byte, and its column in characters, as editors count them.
  private static func position(_ offset: Int, in json: String) -> String {
    let before = Array(json.utf8.prefix(offset))
    let line = before.count(where: { $0 == 0x0A }) + 1
    let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    return "line \(line), column \(String(decoding: before[start...], as: UTF8.self).count + 1)"
  }

  private static func conflict(in paths: [FieldPath]) -> (FieldPath, FieldPath)? {
    let sorted = paths.sorted()
    return zip(sorted, sorted.dropFirst()).first { $0.isPrefix(of: $1) }
  }
}
