extension Parser {
  mutating func openGroup() throws(RegularExpressionError) {
    let start = cursor.offset
    cursor.offset += 1
    guard cursor.skip("?") else {
      try open(number: addGroup(named: nil), flags: flags, from: start)
      return
    }
    if cursor.starts(with: "P<") || isNameAhead {
      let name = try readGroupName(from: start)
      guard groupNames.insert(name).inserted else { throw cursor.error(.badGroupName, from: start) }
      try open(number: addGroup(named: name), flags: flags, from: start)
    } else {
      try readFlags(from: start)
    }
  }

  mutating func closeGroup() throws(RegularExpressionError) {
    let start = cursor.offset
    cursor.offset += 1
    guard openGroups.count > 1, let group = openGroups.last else {
      throw cursor.error(.unexpectedParenthesis, from: start)
    }
    let contents = endGroupContents()
    flags = group.outerFlags
    append(group.number.map { tree.addGroup(contents, number: $0) } ?? contents)
  }

  /// - Parameter flags: Those that hold within the group.
  private mutating func open(number: Int?, flags: Flags, from start: Int) throws(RegularExpressionError) {
    guard openGroups.count <= Self.deepestNesting else { throw cursor.error(.nestingTooDeep, from: start) }
    openGroups.append(OpenGroup(number: number, outerFlags: self.flags, opening: start..<cursor.offset))
    self.flags = flags
  }

  // MARK: - Names

  /// True before `<NAME>`; `<=` and `<!` are operators that look behind, which no automaton can do.
  private var isNameAhead: Bool {
    cursor.peek() == UInt8(ascii: "<") && cursor.peek(1) != UInt8(ascii: "=") && cursor.peek(1) != UInt8(ascii: "!")
  }

  private mutating func addGroup(named name: String?) -> Int {
    tree.groupNames.append(name)
    return tree.groupNames.count
  }

  private mutating func readGroupName(from start: Int) throws(RegularExpressionError) -> String {
    _ = cursor.skip("P")
    cursor.offset += 1
    let nameStart = cursor.offset
    while let byte = cursor.peek(), byte != UInt8(ascii: ">") {
      guard NamedSets.wordScalars.contains(UInt32(byte)) else { break }
      cursor.offset += 1
    }
    let name = String(cursor.text(nameStart..<cursor.offset))
    guard cursor.skip(">"), !name.isEmpty else {
      throw cursor.error(.badGroupName, from: start)
    }
    return name
  }

  // MARK: - Flags

  /// Reads `FLAGS)`, which changes them up to the end of the group around, or `FLAGS:`, which opens a group.
  private mutating func readFlags(from start: Int) throws(RegularExpressionError) {
    var changed = flags
    var isOn = true
    var needsFlag = false
    while let byte = cursor.peek() {
      cursor.offset += 1
      switch Unicode.Scalar(byte) {
      case "i": changed.ignoresCase = isOn
      case "m": changed.hasLines = isOn
      case "s": changed.dotIsAll = isOn
      case "U": changed.isLazy = isOn
      case "-" where isOn:
        isOn = false
        needsFlag = true
        continue
      case ":" where !needsFlag:
        try open(number: nil, flags: changed, from: start)
        return
      case ")" where !needsFlag:
        flags = changed
        return
      default:
        // The rest of a scalar of several bytes belongs to the fragment.
        while let next = cursor.peek(), next & 0xC0 == 0x80 { cursor.offset += 1 }
        throw cursor.error(.badPerlOperator, from: start)
      }
      needsFlag = false
    }
    throw cursor.error(.missingParenthesis, from: start)
  }
}
