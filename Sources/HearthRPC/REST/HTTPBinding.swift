internal import Foundation
internal import HearthModel
internal import SwiftProtobuf

/// One way to call a method over HTTP (`google.api.http`).
struct HTTPBinding: Sendable {
  enum Body: Sendable, Hashable {
    case none
    /// The body is the request, but for the fields in the path.
    case whole
    /// The body is one field of the request, such as `document`.
    case field(String)
  }

  /// The last part of the method's name, such as `Commit`.
  let method: String
  let isStream: Bool
  /// The indexes of the request and the response in ``ProtoSchema/messages``.
  let request: Int
  let response: Int
  let verb: String
  let template: PathTemplate
  let body: Body

  /// The bindings of a service's methods whose clients send one request.
  static func all(of service: String, in set: DescriptorSet, _ schema: ProtoSchema) -> [HTTPBinding] {
    var bindings: [HTTPBinding] = []
    for file in set.files {
      for candidate in file.descriptor.service where file.descriptor.package + "." + candidate.name == service {
        for method in candidate.method where !method.clientStreaming {
          guard let request = schema.index(of: method.inputType.dropFirst()),
            let response = schema.index(of: method.outputType.dropFirst())
          else { continue }
          for rule in HTTPRule.rules(in: method.options.unknownFields.data) {
            guard let template = PathTemplate(rule.path) else { continue }
            bindings.append(
              HTTPBinding(
                method: method.name, isStream: method.serverStreaming, request: request, response: response,
                verb: rule.verb, template: template, body: rule.body))
          }
        }
      }
    }
    // With a verb first: without one, `documents/a/b:runQuery` could also be the creation of a document.
    return bindings.filter { !$0.template.verb.isEmpty } + bindings.filter { $0.template.verb.isEmpty }
  }
}

/// `google.api.HttpRule`.
private struct HTTPRule {
  var verb = ""
  var path = ""
  var body = HTTPBinding.Body.none
  var further: [HTTPRule] = []

  /// The extension of a method's options.
  private static let extensionNumber = 72_295_728

  /// The rules in the options of a method that SwiftProtobuf does not know, because it has no code for the extension.
  static func rules(in options: Data) -> [HTTPRule] {
    options.withUnsafeBytes { bytes in
      var reader = WireReader(bytes)
      while let tag = try? reader.readTag("MethodOptions") {
        if tag == WireTag(field: extensionNumber, type: .lengthDelimited) {
          guard let contents = try? reader.readMessage("http"), let rule = try? HTTPRule(contents) else { return [] }
          return [rule] + rule.further
        }
        guard (try? reader.skip(tag, "MethodOptions")) != nil else { return [] }
      }
      return []
    }
  }

  private init(_ reader: WireReader) throws(WireFormatError) {
    var reader = reader
    while let tag = try reader.readTag("HttpRule") {
      guard tag.type == .lengthDelimited else {
        try reader.skip(tag, "HttpRule")
        continue
      }
      switch tag.field {
      case 2...6:
        verb = ["GET", "PUT", "POST", "DELETE", "PATCH"][tag.field - 2]
        path = try reader.readString("HttpRule")
      case 7:
        let name = try reader.readString("HttpRule.body")
        body = name == "*" ? .whole : .field(name)
      case 11: further.append(try HTTPRule(try reader.readMessage("HttpRule.additional_bindings")))
      default: try reader.skip(tag, "HttpRule")
      }
    }
  }
}
