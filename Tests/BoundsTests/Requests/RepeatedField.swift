import Foundation
import HearthModel
import SwiftProtobuf

@testable import HearthRPC
@testable import HearthServer

/// A repeated field that a request of `google.firestore.v1.Firestore` can hold, found in the definitions of the protocol.
struct RepeatedField: Sendable, CustomStringConvertible {
  /// The last part of the method's name, such as `Commit`.
  let method: String
  let request: String
  /// The fields from the request to the repeated one. Each stands in the message of the one before.
  let path: [Step]

  struct Step: Sendable {
    /// Without the package, such as `StructuredQuery.Filter`.
    let message: String
    let field: FieldSchema
  }

  private static let package = "google.firestore.v1."
  private static let schema = ProtoSchema.server

  /// The field as ``RequestShape/rules`` names it.
  var name: String { path.last.map { "\($0.message).\($0.field.name)" } ?? "" }
  var rule: RequestShape.Rule? { RequestShape.rules[name] }
  var isCounted: Bool {
    switch rule {
    case .counted, .countedApart: true
    case .operand, .contents, .unserved, nil: isListOfFilter
    }
  }
  /// The values of a list that a filter compares with.
  private var isListOfFilter: Bool {
    path.suffix(3).map { "\($0.message).\($0.field.name)" }
      == ["StructuredQuery.FieldFilter.value", "Value.array_value", "ArrayValue.values"]
  }
  var description: String { "\(method): " + path.map(\.field.name).joined(separator: ".") }

  /// All of them. One that is counted stands here once for each method and surrounding, one of contents once for each surrounding, and one
  /// that is not served once. A message that is inside of itself is entered once.
  static let all: [RepeatedField] = {
    var found: [RepeatedField] = []
    for file in DescriptorSet.server.files {
      for service in file.descriptor.service where file.descriptor.package + "." + service.name == FirestoreService.name
      {
        for method in service.method {
          let request = String(method.inputType.dropFirst())
          guard let index = schema.index(of: request) else { continue }
          visit(index, method.name, request, [], [index], &found)
        }
      }
    }
    var known: Set<[String]> = []
    return found.filter { field in
      let names = field.path.map { "\($0.message).\($0.field.name)" }
      switch field.rule {
      case .contents: return known.insert(Array(names.suffix(3))).inserted
      case .unserved: return known.insert(Array(names.suffix(1))).inserted
      case .counted, .countedApart, .operand, nil: return known.insert([field.method] + names.suffix(3)).inserted
      }
    }
  }()

  private static func visit(
    _ index: Int, _ method: String, _ request: String, _ path: [Step], _ entered: Set<Int>,
    _ found: inout [RepeatedField]
  ) {
    let message = schema.messages[index]
    let name = message.name.hasPrefix(package) ? String(message.name.dropFirst(package.count)) : message.name
    for field in message.fields {
      let path = path + [Step(message: name, field: field)]
      if field.isRepeated { found.append(RepeatedField(method: method, request: request, path: path)) }
      if case .message(let inner) = field.kind, !entered.contains(inner) {
        visit(inner, method, request, path, entered.union([inner]), &found)
      }
    }
  }

  // MARK: - Requests

  /// A request that is right but for the number of entries of this field.
  func request(entries count: Int, areEqual: Bool) -> [UInt8] {
    guard let last = path.last else { return [] }
    var content = Self.repeated(Self.message(last.field.number, entry(of: last)), count, areEqual: areEqual)
    for (outer, inner) in zip(path.dropLast(), path.dropFirst()).reversed() {
      content = Self.message(outer.field.number, base(of: inner.message, within: outer) + content)
    }
    return baseOfRequest + content
  }

  /// Stands for the number of an entry. All have the same length, so that entries are copies that differ in these digits.
  private static let digits = "0000000"

  static func repeated(_ entry: [UInt8], _ count: Int, areEqual: Bool) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count * entry.count)
    for _ in 0..<count { result += entry }
    guard !areEqual, let range = entry.firstRange(of: Array(digits.utf8)) else { return result }
    result.withUnsafeMutableBufferPointer { bytes in
      for number in 0..<count {
        var (rest, place) = (number, number * entry.count + range.upperBound)
        while rest > 0 {
          place -= 1
          bytes[place] = UInt8(ascii: "0") + UInt8(rest % 10)
          rest /= 10
        }
      }
    }
    return result
  }

  private static func message(_ field: Int, _ contents: [UInt8]) -> [UInt8] {
    var writer = WireWriter()
    writer.writeBytes(contents, field: field)
    return writer.bytes
  }

  private static func text(_ field: Int, _ text: String) -> [UInt8] { message(field, Array(text.utf8)) }

  private static func number(_ field: Int, _ number: Int) -> [UInt8] {
    var writer = WireWriter()
    writer.writeVarint(Int64(number), field: field)
    return writer.bytes
  }

  private static let oneField = message(1, text(2, "f"))

  private var hasQuery: Bool { path.contains { $0.field.name == "structured_query" } }
  private var query: [UInt8] { hasQuery ? [] : Self.message(2, Self.base(ofQueryIn: method)) }

  private static func base(ofQueryIn method: String) -> [UInt8] {
    message(2, text(2, "c") + (method == "PartitionQuery" ? number(3, 1) : []))
  }

  private var baseOfRequest: [UInt8] {
    switch method {
    case "GetDocument": Self.text(1, "\(Call.documents)/c/d")
    case "ListDocuments", "CreateDocument": Self.text(1, Call.documents) + Self.text(2, "c")
    case "UpdateDocument":
      path[0].field.name == "document" ? [] : Self.message(1, Self.text(1, "\(Call.documents)/c/d"))
    case "RunQuery", "PartitionQuery":
      Self.text(1, Call.documents) + query + (method == "PartitionQuery" ? Self.number(3, 2) : [])
    case "RunAggregationQuery":
      Self.text(1, Call.documents) + (hasQuery ? [] : Self.message(2, Self.message(1, Self.base(ofQueryIn: method))))
    case "Write": []
    default: Self.text(1, Call.database)
    }
  }

  /// The fields that a message on the path needs in addition to the repeated field.
  private func base(of message: String, within outer: Step) -> [UInt8] {
    let name = "\(Call.documents)/c/d"
    switch message {
    case "Write": return Self.message(1, Self.text(1, name))
    case "Document": return method == "CreateDocument" ? [] : Self.text(1, name)
    case "DocumentTransform": return Self.text(1, name)
    case "DocumentTransform.FieldTransform": return Self.text(1, "f")
    case "Target": return Self.number(5, 2)
    case "Target.QueryTarget": return Self.text(1, Call.documents)
    case "StructuredQuery": return path.last?.field.name == "from" ? [] : Self.base(ofQueryIn: method)
    case "StructuredAggregationQuery": return []
    case "StructuredQuery.CompositeFilter": return Self.number(1, 1)
    // The operator IN.
    case "StructuredQuery.FieldFilter": return Self.oneField + Self.number(2, 8)
    default: return outer.field.isMap ? Self.text(1, "k") : []
    }
  }

  private func entry(of step: Step) -> [UInt8] {
    let number = Self.digits
    let value = Self.text(17, number)
    if step.field.isMap {
      let isText = step.field.name == "labels"
      return Self.text(1, "k\(number)") + (isText ? Self.text(2, "v") : Self.message(2, value))
    }
    guard case .message(let index) = step.field.kind else {
      let text = step.field.name == "documents" ? "\(Call.documents)/c/d\(number)" : "f\(number)"
      return Array(text.utf8)
    }
    let field = Self.text(2, "f\(number)")
    switch Self.schema.messages[index].name.dropFirst(Self.package.count) {
    case "Write": return Self.message(1, Self.text(1, "\(Call.documents)/c/d\(number)"))
    case "StructuredQuery.Filter":
      // f < 1
      return Self.message(2, Self.message(1, field) + Self.number(2, 1) + Self.message(3, Self.number(2, 1)))
    case "StructuredQuery.Order": return Self.message(1, field)
    case "StructuredQuery.FieldReference": return field
    case "StructuredQuery.CollectionSelector": return Self.text(2, "c\(number)")
    case "StructuredAggregationQuery.Aggregation": return Self.message(1, []) + Self.text(7, "a\(number)")
    case "DocumentTransform.FieldTransform": return Self.text(1, "f\(number)") + Self.message(3, Self.number(2, 1))
    case "Value": return value
    default: return []
    }
  }
}
