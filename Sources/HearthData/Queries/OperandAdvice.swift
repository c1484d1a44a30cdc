internal import HearthModel

/// Compares the type of a condition's value with those of the values in documents.
struct OperandAdvice {
  let condition: ConditionText
  /// The field's values, in some documents; not empty.
  let values: [Value]
  /// The beginning of a sentence about the documents, such as "Their".
  let whose: String
  let database: DatabaseID

  /// The difference of the types and the nearest form of the condition without it; nil if there is none.
  var text: String? {
    guard condition.op != .notEqual, condition.op != .notIn,
      let operand = try? OperandText.value(condition.value, at: "", after: condition.start, database)
    else { return nil }
    let operands = operand.elements(ofListFor: condition.op).filter { !$0.isNull && !$0.isNaN }
    guard let first = operands.first, let example = values.first(where: { !$0.isNull }) ?? values.first else {
      return nil
    }
    switch condition.op {
    case .arrayContains, .arrayContainsAny:
      let elements = values.flatMap { value in if case .array(let array) = value { array } else { [Value]() } }
      guard let element = elements.first else { return notAnArray(example, operands) }
      if condition.op == .arrayContains, case .array(let wanted) = first, !elements.contains(where: \.isArray) {
        return elementsInList(wanted, element)
      }
      return mismatch(operands, elements, example: element, subject: "An element of \(condition.field) is")
    default:
      if case .array = example, first.kindName != example.kindName { return wholeArray(operands) }
      if case .map(let map) = example, !example.isVector, first.kindName != example.kindName {
        return wholeMap(map, first)
      }
      return mismatch(operands, values, example: example, subject: "\(whose) \(condition.field) is")
    }
  }

  private func mismatch(_ operands: [Value], _ values: [Value], example: Value, subject: String) -> String? {
    let kinds = Set(values.map(\.kindName))
    guard let first = operands.first, !operands.contains(where: { kinds.contains($0.kindName) }) else { return nil }
    let found = "\(subject) \(kinds.sorted().joined(separator: " or ")), such as \(form(example))"
    let meant = operands.compactMap { converted($0, to: example) }
    let start = "\(found), and the condition has \(first.kindName)."
    guard meant.count == operands.count else {
      return
        "\(start) Such a value is written as in \(quoted(condition.operation, list([example])))."
    }
    return "\(start) Write \(quoted(condition.operation, list(meant)))."
  }

  /// `array-contains` takes one element, without brackets.
  private func elementsInList(_ wanted: [Value], _ element: Value) -> String {
    let meant = wanted.map { $0.kindName == element.kindName ? $0 : converted($0, to: element) ?? $0 }
    let one = quoted("array-contains", form(meant.first ?? element))
    let any = quoted("array-contains-any", form(.array(meant.isEmpty ? [element] : meant)))
    return "array-contains looks for one element, without brackets: write \(one). For any of several, write \(any)."
  }

  private func notAnArray(_ example: Value, _ operands: [Value]) -> String? {
    if case .array = example { return nil }
    let isList = condition.op == .arrayContainsAny
    let meant = operands.map { $0.kindName == example.kindName ? $0 : converted($0, to: example) ?? example }
    let value = isList ? form(.array(meant)) : form(meant.first ?? example)
    return "\(whose) \(condition.field) is \(example.kindName), such as \(form(example)), and no array. Write "
      + "\(quoted(isList ? "in" : "==", value))."
  }

  private func wholeArray(_ operands: [Value]) -> String {
    let isList = condition.op == .in
    let value = isList ? form(.array(operands)) : operands.first.map { form($0) } ?? ""
    return
      "\(whose) \(condition.field) is an array, such as \(form(values.first ?? .null)). To look for an element, write "
      + "\(quoted(isList ? "array-contains-any" : "array-contains", value))."
  }

  private func wholeMap(_ map: MapValue, _ operand: Value) -> String {
    let names = map.entries.map(\.key).sorted()
    guard let name = names.first else { return "\(whose) \(condition.field) is a map without fields." }
    return
      "\(whose) \(condition.field) is a map with the fields \(names.prefix(8).joined(separator: ", ")). To compare one of them, write "
      + "\(ShellWord.quoted("\(condition.field).\(name) \(condition.operation) \(condition.value)"))."
  }

  // MARK: - Forms

  private func quoted(_ operation: String, _ value: String) -> String {
    ShellWord.quoted("\(condition.field) \(operation) \(value)")
  }

  /// The value of the condition, whose operator may need a list.
  private func list(_ operands: [Value]) -> String {
    let needsList = condition.op == .in || condition.op == .arrayContainsAny
    return needsList ? form(.array(operands)) : operands.first.map { form($0) } ?? ""
  }

  private static let longestExample = 60

  private func form(_ value: Value) -> String {
    switch value {
    case .timestamp(let time): return "{\"$timestamp\": \"\(time.rfc3339)\"}"
    case .array(let elements): return "[\(elements.map { form($0) }.joined(separator: ", "))]"
    default:
      let text = value.dataJSON(in: database).compact
      return text.count <= Self.longestExample ? text : text.prefix(Self.longestExample) + "…"
    }
  }

  /// The value of another type that is most likely meant; nil if none is.
  private func converted(_ value: Value, to example: Value) -> Value? {
    let text = if case .string(let text) = value { text } else { value.dataJSON(in: database).compact }
    switch example {
    case .string:
      if case .timestamp(let time) = value { return .string(time.rfc3339) }
      return .string(text)
    case .integer, .double: return Int64(text).map { .integer($0) } ?? Double(text).map { .double($0) }
    case .boolean:
      switch text.lowercased() {
      case "true", "yes", "1": return true
      case "false", "no", "0": return false
      default: return nil
      }
    case .timestamp, .pendingServerTimestamp: return TimeText.meant(by: text).map { .timestamp($0) }
    case .reference:
      return (try? DocumentKey(parsing: text)).map { .reference(ReferenceValue(database: database, key: $0)) }
    default: return nil
    }
  }
}

extension Value {
  /// The type in words, with its article.
  fileprivate var kindName: String {
    switch self {
    case .null: "null"
    case .boolean: "a Boolean"
    case .integer, .double: "a number"
    case .timestamp, .pendingServerTimestamp: "a timestamp"
    case .string: "a text"
    case .bytes: "bytes"
    case .reference: "a reference"
    case .geoPoint: "a geopoint"
    case .array: "an array"
    case .map: isVector ? "a vector" : "a map"
    }
  }

  fileprivate var isArray: Bool {
    if case .array = self { true } else { false }
  }

  /// The values that an operator compares with: the elements of a list, or the value itself.
  fileprivate func elements(ofListFor op: FieldFilter.Operator) -> [Value] {
    guard op == .in || op == .arrayContainsAny, case .array(let elements) = self else { return [self] }
    return elements
  }
}
