internal import HearthModel

/// One step of a coding path.
enum CodingStep {
  case key(any CodingKey)
  case index(Int)

  var key: any CodingKey {
    switch self {
    case .key(let key): key
    case .index(let index): StoredKey(index: index)
    }
  }
}

/// A key that no user's type has: an index, `super`, or what a key strategy gave.
struct StoredKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(index: Int) {
    stringValue = "Index \(index)"
    intValue = index
  }

  init(_ name: String) {
    stringValue = name
    intValue = nil
  }

  init?(stringValue: String) { self.init(stringValue) }

  init?(intValue: Int) {
    stringValue = String(intValue)
    self.intValue = intValue
  }

  static let `super` = StoredKey("super")
}

/// A field's name, equal to another one when the bytes are.
struct ExactName: Hashable {
  private let utf8: [UInt8]

  init(_ name: String) { utf8 = Array(name.utf8) }
}

/// Texts about coding paths.
enum CodingPathText {
  /// Values nest at most this deep, so that neither data nor types exhaust the stack. Firestore itself allows 20.
  static let maximumDepth = 100

  /// `" (field a.b[2] of document cities/SF)"`, with the parts that are known.
  static func place(_ path: [any CodingKey], document: DocumentKey?) -> String {
    var field = ""
    for key in path {
      if let index = key.intValue, key is StoredKey {
        field += "[\(index)]"
      } else {
        field += field.isEmpty ? key.stringValue : ".\(key.stringValue)"
      }
    }
    switch (field.isEmpty, document) {
    case (true, nil): return ""
    case (true, let document?): return " (document \(document.canonicalString))"
    case (false, nil): return " (field \(field))"
    case (false, let document?): return " (field \(field) of document \(document.canonicalString))"
    }
  }
}
