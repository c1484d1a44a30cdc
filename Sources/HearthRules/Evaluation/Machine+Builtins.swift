extension Machine {
  /// Calls a function of the language.
  mutating func call(_ builtin: Builtin, _ arguments: [RuleValue]) throws(RuleFailure) -> RuleValue {
    guard builtin.takes(arguments.count), let first = arguments.first else {
      throw .wrongArgumentCount(builtin.rawValue, count: arguments.count)
    }
    for argument in arguments { try spend(argument.weight) }
    var unsupported: RuleFailure { .unsupported("\(builtin.rawValue)()", types: arguments.map(\.typeName)) }
    switch builtin {
    case .debug: return first
    case .get, .exists, .getAfter, .existsAfter:
      guard case .path(let path) = first else { throw unsupported }
      return try lookUp(path, builtin)
    case .path:
      guard case .string(let text) = first else { throw unsupported }
      return .path(try RulePath(parsing: text))
    case .int, .float, .string, .bool: return try Conversions.convert(first, builtin)
    case .mathAbs, .mathCeil, .mathFloor, .mathRound, .mathSqrt, .mathPow, .mathIsInfinite, .mathIsNaN:
      guard let value = Conversions.math(builtin, arguments) else { throw unsupported }
      return value
    case .hashingCRC32, .hashingCRC32C, .hashingMD5, .hashingSHA256:
      switch first {
      case .bytes(let bytes): return .bytes(Conversions.hash(builtin, bytes))
      case .string(let text): return .bytes(Conversions.hash(builtin, Array(text.utf8)))
      default: throw unsupported
      }
    case .durationValue, .durationTime, .durationAbs, .timestampDate, .timestampValue:
      guard let value = try Conversions.time(builtin, arguments) else { throw unsupported }
      return value
    case .latlngValue:
      guard let latitude = first.double, let longitude = arguments[1].double else { throw unsupported }
      guard let place = RuleLatLng(latitude: latitude, longitude: longitude) else {
        throw .invalid("place: latitude \(latitude), longitude \(longitude) (-90 to 90, and -180 to 180)")
      }
      return .latlng(place)
    }
  }

  // MARK: - Documents

  private mutating func lookUp(_ path: RulePath, _ builtin: Builtin) throws(RuleFailure) -> RuleValue {
    let names = path.names
    // `databases/D/documents/`, and pairs of a collection and a document.
    guard names.count >= 5, names.count % 2 == 1, names[0] == "databases", names[2] == "documents",
      names[1] == request.path.dropFirst().first,
      // One name stays one name: a value with a slash must not lead to another document.
      !names.contains(where: { $0.isEmpty || $0.utf8.contains(UInt8(ascii: "/")) })
    else { throw .badDocumentPath(path.text) }
    let document = LookedUpDocument(
      path: names, isAfterwards: builtin == .getAfter || builtin == .existsAfter)
    if !documents.contains(document) {
      guard documents.count < rules.limits.documents else {
        throw .tooManyDocuments(limit: rules.limits.documents)
      }
      documents.append(document)
    }
    let onlyExists = builtin == .exists || builtin == .existsAfter
    switch lookUp(document) {
    case .found(let fields):
      let deepest = rules.limits.resources.valueDepth
      guard fields.depth < deepest else { throw .valueTooDeep(limit: deepest) }
      return onlyExists ? .bool(true) : .document(fields, at: names)
    case .missing:
      if onlyExists { return .bool(false) }
      // As in production, the document of the request itself is null where it is missing, and others fail.
      guard request.method != .list, names.hasSameBytes(as: request.path) else { throw .missingDocument(path.text) }
      return .null
    case .removed: return onlyExists ? .bool(false) : .null
    case .notRead:
      if !unread.contains(document) { unread.append(document) }
      throw .documentNeeded
    }
  }
}
