package import HearthModel

/// A document as one line of JSON: `{"path":"cities/SF","fields":{…},"createTime":"…","updateTime":"…"}`.
package struct DocumentLine: Sendable {
  package var key: DocumentKey
  package var fields: MapValue

  package init(key: DocumentKey, fields: MapValue) {
    self.key = key
    self.fields = fields
  }

  /// A line that is not a document. The offset counts bytes from the line's beginning.
  package struct Failure: Error, Sendable {
    package var offset: Int
    package var message: String
  }

  /// The beginning of every line that is written here.
  static let start = Array("{\"path\":\"".utf8)

  // MARK: - Writing

  /// Writes a document, without the end of the line.
  ///
  /// - Parameters:
  ///   - fields: The fields to write; nil for those of the document.
  ///   - hasTimes: True to add the times of its creation and of its last change, which no reader needs.
  /// - Throws: `WireFormatError` if the document's fields are damaged.
  package static func write(
    _ document: Document, fields: MapValue? = nil, hasTimes: Bool = true, to writer: inout ValueJSONWriter
  ) throws(WireFormatError) {
    let decoded = if let fields { fields } else { try document.fields.decoded() }
    writer.append("{\"path\":")
    writer.write(document.key.canonicalString)
    writer.append(",\"fields\":")
    writer.writeDocumentFields(decoded)
    if hasTimes {
      if document.createTime > .none { writeTime("createTime", document.createTime, to: &writer) }
      if document.version > .none { writeTime("updateTime", document.version, to: &writer) }
    }
    if document.hasLocalMutations { writer.append(",\"hasPendingWrites\":true") }
    writer.append("}")
  }

  private static func writeTime(_ name: String, _ version: SnapshotVersion, to writer: inout ValueJSONWriter) {
    writer.append(",\"\(name)\":")
    writer.write(version.timestamp.rfc3339)
  }

  // MARK: - Reading

  /// The times and the mark of a pending write, which `hearth cache export` adds, are for information.
  private static let members: Set<String> = ["path", "fields", "createTime", "updateTime", "hasPendingWrites"]

  package init(parsing line: ArraySlice<UInt8>, database: DatabaseID) throws(Failure) {
    let json: JSONText
    do {
      json = try JSONTextReader.read(line)
    } catch {
      throw Failure(offset: error.offset, message: JSONFault.text(error, in: line, whole: "line"))
    }
    guard case .object(let members) = json else {
      throw Failure(offset: 0, message: "an object such as {\"path\": \"cities/SF\", \"fields\": {…}} is expected")
    }
    if let stranger = members.first(where: { !Self.members.contains($0.name) }) {
      var advice = ""
      if stranger.name == "name", case .string(let name) = stranger.value,
        let reference = try? ReferenceValue(name: name)
      {
        advice = ": write \"path\": \(JSONText.string(reference.key.canonicalString).compact)"
      }
      throw Failure(
        offset: 0,
        message:
          "\"\(stranger.name.prefix(40))\" is none of the members of a document, which are path and fields\(advice)")
    }
    guard case .string(let path)? = json.member("path"), let fields = json.member("fields") else {
      throw Failure(offset: 0, message: "a document needs a member \"path\" with a text, and a member \"fields\"")
    }
    guard let key = try? DocumentKey(ResourcePath(canonical: path)) else {
      let bare = path.split(separator: "/").joined(separator: "/")
      let meant = bare != path && (try? DocumentKey(ResourcePath(canonical: bare))) != nil
      throw Failure(
        offset: 0,
        message: "\"\(path)\" is not the path of a document: "
          + (meant
            ? "one of its parts is empty. Write \(JSONText.string(bare).compact)"
            : "that has an even number of parts, such as cities/SF"))
    }
    do {
      self.init(key: key, fields: try ValueJSON(database: database).documentFields(fields))
    } catch {
      throw Failure(offset: 0, message: "document \"\(path)\", field \(error)")
    }
  }

  /// The path of a line, found at its beginning without reading the rest; nil if the line does not begin as this type writes it.
  package static func path(in line: ArraySlice<UInt8>) -> String? {
    guard line.starts(with: start) else { return nil }
    var index = line.startIndex + start.count
    while index < line.endIndex, line[index] != UInt8(ascii: "\"") {
      index += line[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    guard index < line.endIndex else { return nil }
    // From the quotation mark before the path to the one behind it.
    guard case .string(let path)? = try? JSONTextReader.read(line[(line.startIndex + start.count - 1)...index]) else {
      return nil
    }
    return path
  }
}
