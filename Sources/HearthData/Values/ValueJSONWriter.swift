internal import Foundation
package import HearthModel

/// Writes values as the JSON of docs/data-format.md, straight to bytes.
///
/// Plain JSON where that says the type, an object with one member such as `{"$timestamp": "…"}` where it does not. What
/// ``ValueJSON`` reads of it is the same value, to the bit.
package struct ValueJSONWriter {
  package private(set) var bytes: [UInt8] = []
  /// The database whose documents a reference names by their path alone.
  private let database: DatabaseID

  package init(database: DatabaseID) {
    self.database = database
  }

  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  package mutating func write(_ value: Value) {
    switch value {
    case .null: append("null")
    case .boolean(let value): append(value ? "true" : "false")
    case .integer(let number): append(String(number))
    case .double(let number): write(number)
    case .string(let text): write(text)
    case .timestamp(let time): writeTyped("timestamp") { $0.write(time.rfc3339) }
    case .bytes(let bytes): writeTyped("bytes") { $0.write(Data(bytes).base64EncodedString()) }
    case .reference(let reference):
      let name = reference.database == database ? reference.key.canonicalString : reference.name
      writeTyped("reference") { $0.write(name) }
    case .geoPoint(let point):
      writeTyped("geopoint") { $0.writeArray([point.latitude, point.longitude]) { $0.writeNumber($1) } }
    case .array(let elements): writeArray(elements) { $0.write($1) }
    case .map(let map):
      if let elements = map.plainVector {
        writeTyped("vector") { $0.writeArray(elements) { $0.writeNumber($1) } }
      } else if map.entries.contains(where: { $0.key.utf8.first == ValueJSON.typeMark }) {
        writeTyped("map") { $0.writeFields(map) }
      } else {
        writeFields(map)
      }
    case .pendingServerTimestamp(let time, let previous):
      // Exists on devices only. A backend that has stored such a map gets it back as it was.
      var map: MapValue = ["__type__": "server_timestamp", "__local_write_time__": .timestamp(time)]
      map["__previous_value__"] = previous
      writeFields(map)
    }
  }

  /// Writes the fields of a document. They are not taken for the form of the REST API, whatever they are.
  mutating func writeDocumentFields(_ map: MapValue) {
    guard RESTForm.isForm(of: map), let first = map.entries.first, case .map(let value) = first.value else {
      return writeFields(map)
    }
    append("{")
    write(first.key)
    append(":")
    writeTyped("map") { $0.writeFields(value) }
    for entry in map.entries.dropFirst() {
      append(",")
      write(entry.key)
      append(":")
      write(entry.value)
    }
    append("}")
  }

  /// Writes an object of fields, whose names are not types.
  package mutating func writeFields(_ map: MapValue) {
    append("{")
    for (index, entry) in map.entries.enumerated() {
      if index > 0 { append(",") }
      write(entry.key)
      append(":")
      write(entry.value)
    }
    append("}")
  }

  /// A number, whose decimal point or exponent says that it is a double.
  private mutating func write(_ number: Double) {
    if number.isFinite {
      append(number.description)
    } else {
      writeTyped("double") { $0.writeNumber(number) }
    }
  }

  /// A number where only doubles stand.
  private mutating func writeNumber(_ number: Double) {
    if number.isFinite {
      append(number.description)
    } else {
      write(ValueJSON.name(of: number))
    }
  }

  private mutating func writeTyped(_ type: String, _ body: (inout ValueJSONWriter) -> Void) {
    append("{\"$")
    append(type)
    append("\":")
    body(&self)
    append("}")
  }

  private mutating func writeArray<Element>(_ elements: [Element], _ body: (inout ValueJSONWriter, Element) -> Void) {
    append("[")
    for (index, element) in elements.enumerated() {
      if index > 0 { append(",") }
      body(&self, element)
    }
    append("]")
  }

  /// Writes text that is JSON already.
  package mutating func append(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  /// Writes a string. Control characters, also those that a terminal would obey, are escaped.
  package mutating func write(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    var mayBeControl = false
    for byte in text.utf8 {
      // U+0080...U+009F are the bytes C2 80...C2 9F.
      if mayBeControl, byte < 0xA0 {
        bytes.removeLast()
        appendEscaped(byte)
      } else if byte < 0x20 || byte == 0x7F {
        appendEscaped(byte)
      } else {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
        bytes.append(byte)
      }
      mayBeControl = byte == 0xC2
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func appendEscaped(_ code: UInt8) {
    switch code {
    case 0x0A: append("\\n")
    case 0x0D: append("\\r")
    case 0x09: append("\\t")
    default:
      let digits = Array("0123456789abcdef".utf8)
      append("\\u00")
      bytes.append(digits[Int(code >> 4)])
      bytes.append(digits[Int(code & 15)])
    }
  }
}

extension Value {
  /// The value in the JSON of docs/data-format.md.
  package func dataJSON(in database: DatabaseID) -> JSONText {
    var writer = ValueJSONWriter(database: database)
    writer.write(self)
    do {
      return try JSONTextReader.read(writer.bytes[...])
    } catch {
      // More than a document can be nested, which a damaged cache may hold.
      return .string("unreadable: \(error.message)")
    }
  }
}

extension MapValue {
  /// The elements, if the map is a vector and nothing else: its two members, and an array of doubles alone.
  fileprivate var plainVector: [Double]? {
    guard count == 2, case .string("__vector__")? = self["__type__"], case .array(let array)? = self["value"] else {
      return nil
    }
    var elements: [Double] = []
    for element in array {
      guard case .double(let number) = element else { return nil }
      elements.append(number)
    }
    return elements
  }
}
