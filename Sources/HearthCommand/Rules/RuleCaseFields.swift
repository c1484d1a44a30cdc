import HearthData
import HearthModel

/// The place of an object of a case.
struct RuleCasePlace {
  /// The file, the case and the names of the objects around, such as `cases.json: case "a": request`.
  var words: String
  /// The file; nil for a case that is in none.
  var file: (path: String, places: JSONPlaces)?
  /// The way to the object in the file.
  var steps: [JSONPlaces.Step] = []

  /// The place of a part of the object.
  func below(_ steps: JSONPlaces.Step..., words: String) -> RuleCasePlace {
    RuleCasePlace(words: words, file: file, steps: self.steps + steps)
  }

  func line(of steps: [JSONPlaces.Step] = []) -> Int { file?.places.line(of: self.steps + steps) ?? 1 }

  /// The error for what is wrong at the end of a way from the object.
  func error(_ rule: String, at steps: [JSONPlaces.Step] = []) -> RuleCaseError {
    guard let file, words.hasPrefix(file.path) else { return RuleCaseError(description: "\(words): \(rule)") }
    return RuleCaseError(description: "\(file.path):\(line(of: steps))\(words.dropFirst(file.path.count)): \(rule)")
  }
}

/// The members of an object of a case, with its place for messages.
struct RuleCaseFields {
  let place: RuleCasePlace
  private let members: [(name: String, value: JSONText)]

  /// - Parameters:
  ///   - json: The object.
  ///   - place: Where it stands, for messages.
  ///   - names: The members that there may be.
  /// - Throws: An error for anything else than an object, for other members, and for one that stands there twice.
  init(_ json: JSONText, at place: RuleCasePlace, names: [String]) throws(RuleCaseError) {
    guard case .object(let members) = json else {
      throw place.error("an object with \(Self.list(names)) is expected.")
    }
    var seen: Set<String> = []
    for member in members {
      guard names.contains(member.name) else {
        let nearest = NearestWord.of(member.name, in: names).map { " Did you mean \"\($0)\"?" } ?? ""
        throw place.error(
          "\"\(member.name.prefix(40))\" is none of \(Self.list(names)).\(nearest)", at: [.member(member.name)])
      }
      guard seen.insert(member.name).inserted else {
        throw place.error("\"\(member.name)\" stands there twice.", at: [.member(member.name)])
      }
    }
    self.place = place
    self.members = members
  }

  private static func list(_ names: [String]) -> String { names.map { "\"\($0)\"" }.joined(separator: ", ") }

  /// The error for what is wrong in a member, at the end of a way from it.
  func error(_ name: String, _ rule: String, at steps: [JSONPlaces.Step] = []) -> RuleCaseError {
    place.error("\"\(name)\": \(rule)", at: [.member(name)] + steps)
  }

  /// A member; nil if it is missing.
  subscript(name: String) -> JSONText? { members.first { $0.name == name }?.value }

  func string(_ name: String) throws(RuleCaseError) -> String? {
    switch self[name] {
    case nil: return nil
    case .string(let text): return text
    default: throw error(name, "a text is expected.")
    }
  }

  func required(_ name: String, _ example: String) throws(RuleCaseError) -> String {
    guard let text = try string(name) else { throw error(name, "it is missing: \(example).") }
    return text
  }

  /// - Parameters:
  ///   - name: The name of the member.
  ///   - smallest: The smallest number that it may be.
  func integer(_ name: String, from smallest: Int) throws(RuleCaseError) -> Int? {
    guard let json = self[name] else { return nil }
    guard case .number(let digits) = json, let number = Int(digits), number >= smallest, Int32(exactly: number) != nil
    else { throw error(name, "a whole number from \(smallest) to \(Int32.max) is expected.") }
    return number
  }

  func flag(_ name: String) throws(RuleCaseError) -> Bool {
    switch self[name] {
    case nil: return false
    case .bool(let flag): return flag
    default: throw error(name, "true or false is expected.")
    }
  }

  func array(_ name: String) throws(RuleCaseError) -> [JSONText] {
    switch self[name] {
    case nil: return []
    case .array(let elements): return elements
    default: throw error(name, "an array is expected.")
    }
  }
}
