import HearthModel

/// A bundle of everything in the collection "rooms" and its query, as a backend had it at some version.
enum SimulatedBundle {
  private static let root = "projects/p/databases/(default)/documents"

  static func bytes(of backend: SimulatedBackend, at version: Int64) -> [UInt8] {
    var body = ""
    func add(_ element: String) { body += "\(element.utf8.count)\(element)" }
    add(
      #"{"namedQuery":{"name":"rooms","readTime":\#(time(version)),"bundledQuery":{"parent":"\#(root)","#
        + #""structuredQuery":{"from":[{"collectionId":"rooms"}]}}}}"#)
    let keys = HistoryGenerator.keys.filter { $0.collectionPath == ResourcePath(["rooms"]) }
    for key in keys {
      let document = backend.document(key, at: version)
      let name = "\(root)/\(key.canonicalString)"
      add(
        #"{"documentMetadata":{"name":"\#(name)","readTime":\#(time(version)),"exists":\#(document.isFound),"#
          + #""queries":[\#(document.isFound ? "\"rooms\"" : "")]}}"#)
      guard document.isFound else { continue }
      let fields = (try? document.fields.decoded())?.entries.map { "\"\($0.key)\":\(json($0.value))" } ?? []
      add(
        #"{"document":{"name":"\#(name)","updateTime":\#(time(document.version.microseconds)),"#
          + #""fields":{\#(fields.joined(separator: ","))}}}"#)
    }
    let metadata =
      #"{"metadata":{"id":"rooms","createTime":\#(time(version)),"version":1,"#
      + #""totalDocuments":\#(keys.count),"totalBytes":\#(body.utf8.count)}}"#
    return Array("\(metadata.utf8.count)\(metadata)\(body)".utf8)
  }

  private static func time(_ microseconds: Int64) -> String {
    "{\"seconds\":\"\(microseconds / 1_000_000)\",\"nanos\":\(microseconds % 1_000_000 * 1000)}"
  }

  /// The values that the simulation writes.
  private static func json(_ value: Value) -> String {
    switch value {
    case .integer(let number): "{\"integerValue\":\"\(number)\"}"
    case .string(let text): "{\"stringValue\":\"\(text)\"}"
    case .array(let elements): "{\"arrayValue\":{\"values\":[\(elements.map(json).joined(separator: ","))]}}"
    default: fatalError("the simulation writes no \(value)")
    }
  }
}
