/// The sets behind `\p{…}`: general categories of Swift's standard library, and scripts of `UnicodeTables`.
struct UnicodeSets: Sendable {
  static let shared = UnicodeSets()

  private let categories: [Substring: ScalarSet]
  private let scripts: [Substring: ScalarSet]

  private init() {
    categories = Self.readCategories()
    var scripts: [Substring: ScalarSet] = [:]
    for line in UnicodeTables.scripts {
      let end = line.firstIndex(of: " ") ?? line.endIndex
      scripts[line[..<end]] = Self.readScript(line[end...])
    }
    self.scripts = scripts
  }

  /// - Parameter name: A category of one or two letters, a script, or `Any`; upper and lower case count.
  func set(named name: Substring) -> ScalarSet? {
    if name == "Any" { return .all }
    return categories[name] ?? scripts[name]
  }

  /// - Parameter ranges: First and last scalars in hexadecimal digits, such as `41-5A AA`.
  private static func readScript(_ ranges: Substring) -> ScalarSet {
    ScalarSet(
      ranges.split(separator: " ").compactMap { word in
        let ends = word.split(separator: "-").compactMap { UInt32($0, radix: 16) }
        return ends.first.map { ScalarRange($0, ends.last ?? $0) }
      })
  }

  /// Asks the standard library for the category of each scalar, once in a process.
  private static func readCategories() -> [Substring: ScalarSet] {
    var ranges: [Substring: [ScalarRange]] = [:]
    var open: (name: Substring, lower: UInt32)?
    func close(at end: UInt32) {
      guard let (name, lower) = open, name != unassigned else { return }
      ranges[name, default: []].append(ScalarRange(lower, end - 1))
      ranges[name.prefix(1), default: []].append(ScalarRange(lower, end - 1))
    }
    for value in 0...ScalarSet.lastScalar {
      // The standard library has no scalars for surrogates.
      let name = Unicode.Scalar(value).map { abbreviation($0.properties.generalCategory) } ?? "Cs"
      if name != open?.name {
        close(at: value)
        open = (name, value)
      }
    }
    close(at: ScalarSet.lastScalar + 1)
    return ranges.mapValues { ScalarSet($0) }
  }

  /// RE2 has no name for scalars that are not assigned, and does not count them as `C`.
  private static let unassigned: Substring = "Cn"

  private static func abbreviation(_ category: Unicode.GeneralCategory) -> Substring {
    switch category {
    case .uppercaseLetter: "Lu"
    case .lowercaseLetter: "Ll"
    case .titlecaseLetter: "Lt"
    case .modifierLetter: "Lm"
    case .otherLetter: "Lo"
    case .nonspacingMark: "Mn"
    case .spacingMark: "Mc"
    case .enclosingMark: "Me"
    case .decimalNumber: "Nd"
    case .letterNumber: "Nl"
    case .otherNumber: "No"
    case .connectorPunctuation: "Pc"
    case .dashPunctuation: "Pd"
    case .openPunctuation: "Ps"
    case .closePunctuation: "Pe"
    case .initialPunctuation: "Pi"
    case .finalPunctuation: "Pf"
    case .otherPunctuation: "Po"
    case .mathSymbol: "Sm"
    case .currencySymbol: "Sc"
    case .modifierSymbol: "Sk"
    case .otherSymbol: "So"
    case .spaceSeparator: "Zs"
    case .lineSeparator: "Zl"
    case .paragraphSeparator: "Zp"
    case .control: "Cc"
    case .format: "Cf"
    case .surrogate: "Cs"
    case .privateUse: "Co"
    case .unassigned: unassigned
    @unknown default: unassigned
    }
  }
}
