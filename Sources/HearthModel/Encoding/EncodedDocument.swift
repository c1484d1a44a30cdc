/// The parts of a `google.firestore.v1.Document`, cut out of its encoding without building its fields.
package struct EncodedDocument: Sendable, Hashable {
  /// The full resource name; empty if the message has none.
  package var name: String
  package var fields: EncodedFields
  package var createTime: Timestamp?
  package var updateTime: Timestamp?

  package init(name: String, fields: EncodedFields, createTime: Timestamp? = nil, updateTime: Timestamp? = nil) {
    self.name = name
    self.fields = fields
    self.createTime = createTime
    self.updateTime = updateTime
  }

  /// Cuts a message into its parts and checks all of it.
  package init(parsing bytes: [UInt8]) throws(WireFormatError) {
    self.init(name: "", fields: EncodedFields(uncheckedBytes: []))
    try bytes.withReader { message throws(WireFormatError) in
      self = try EncodedDocument(parsing: message) { (name) throws(WireFormatError) in
        try name.remainingString("Document.name")
      }
    }
  }

  /// Cuts a message into its parts and checks all of it but the name.
  ///
  /// - Parameter readName: makes the name from its bytes. A caller that knows the name need not copy it.
  package init(
    parsing message: WireReader, readName: (WireReader) throws(WireFormatError) -> String
  ) throws(WireFormatError) {
    var name = ""
    var fields: [UInt8] = []
    var createTime: Timestamp?
    var updateTime: Timestamp?
    var reader = message
    // Entries that follow each other, as they do in what usual encoders write, are copied together.
    var entries = message.position..<message.position
    while true {
      let start = reader.position
      guard let tag = try reader.readTag("Document") else { break }
      switch tag.field {
      case DocumentField.name:
        try reader.require(.lengthDelimited, tag, "Document.name")
        name = try readName(try reader.readMessage("Document.name"))
      case DocumentField.fields:
        try reader.skip(tag, "Document.fields")
        if start != entries.upperBound {
          fields.append(contentsOf: message.bytes(in: entries))
          entries = start..<start
        }
        entries = entries.lowerBound..<reader.position
      case DocumentField.createTime:
        try reader.require(.lengthDelimited, tag, "Document.create_time")
        createTime = try WireReader.timestamp(in: reader.readMessage("Document.create_time"), "Document.create_time")
      case DocumentField.updateTime:
        try reader.require(.lengthDelimited, tag, "Document.update_time")
        updateTime = try WireReader.timestamp(in: reader.readMessage("Document.update_time"), "Document.update_time")
      default:
        try reader.skip(tag, "Document")
      }
    }
    fields.append(contentsOf: message.bytes(in: entries))
    try EncodedValue.validateMap(EncodedEntries(message, field: ValueField.documentFields), depth: 1)
    self.init(
      name: name, fields: EncodedFields(uncheckedBytes: fields), createTime: createTime, updateTime: updateTime)
  }

  /// The encoded message.
  package static func encode(
    name: String, fields: EncodedFields, createTime: Timestamp?, updateTime: Timestamp?
  ) -> [UInt8] {
    var writer = WireWriter()
    writer.reserveCapacity(name.utf8.count + fields.bytes.count + 40)
    if !name.isEmpty { writer.writeString(name, field: DocumentField.name) }
    writer.writeEncoded(fields.bytes)
    if let createTime { writer.writeTimestamp(createTime, field: DocumentField.createTime) }
    if let updateTime { writer.writeTimestamp(updateTime, field: DocumentField.updateTime) }
    return writer.bytes
  }

  /// The encoded message.
  package func encoded() -> [UInt8] {
    Self.encode(name: name, fields: fields, createTime: createTime, updateTime: updateTime)
  }
}

/// Field numbers of `google.firestore.v1.Document`.
private enum DocumentField {
  static let name = 1
  static let fields = ValueField.documentFields
  static let createTime = 3
  static let updateTime = 4
}
