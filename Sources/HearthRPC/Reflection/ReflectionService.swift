internal import HearthModel
internal import NIOCore
internal import SwiftProtobuf

/// `grpc.reflection.v1.ServerReflection` and the same of `v1alpha`, which lets tools such as grpcurl discover the services of a server
/// (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md).
///
/// The two versions have the same messages. Descriptors are returned in their original encoding.
package struct ReflectionService: Sendable {
  package static let names = ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"]

  private let index: ReflectionIndex
  private let services: [String]

  package init(_ set: DescriptorSet, services: [String]) {
    index = ReflectionIndex(set)
    self.services = services.sorted()
  }

  package var methods: [CallMethod] {
    [
      .encoded("ServerReflectionInfo", .requestStream) { call, _ in
        while true {
          switch try await call.nextInput() {
          case .message(let request): try await call.send(try answer(request), isHeldBack: false)
          case .signals: continue
          case .end: return
          }
        }
      }
    ]
  }

  /// The `ServerReflectionResponse` to a `ServerReflectionRequest`.
  private func answer(_ request: ByteBuffer) throws -> [UInt8] {
    var response = WireWriter()
    try request.withUnsafeReadableBytes { bytes in
      var reader = WireReader(bytes)
      var host = ""
      var question: (field: Int, text: String, extensionNumber: Int64)?
      while let tag = try reader.readTag("ServerReflectionRequest") {
        switch (tag.field, tag.type) {
        case (1, .lengthDelimited): host = try reader.readString("ServerReflectionRequest.host")
        case (5, .lengthDelimited):
          let (type, number) = try Self.extensionRequest(try reader.readMessage("ServerReflectionRequest"))
          question = (tag.field, type, number)
        case (3...7, .lengthDelimited): question = (tag.field, try reader.readString("ServerReflectionRequest"), 0)
        default: try reader.skip(tag, "ServerReflectionRequest")
        }
      }
      response.writeString(host, field: 1)
      response.writeBytes([UInt8](bytes), field: 2)
      write(question, to: &response)
    }
    return response.bytes
  }

  private static func extensionRequest(_ reader: WireReader) throws(WireFormatError) -> (type: String, number: Int64) {
    var (reader, type, number) = (reader, "", Int64(0))
    while let tag = try reader.readTag("ExtensionRequest") {
      switch (tag.field, tag.type) {
      case (1, .lengthDelimited): type = try reader.readString("ExtensionRequest.containing_type")
      case (2, .varint): number = Int64(bitPattern: try reader.readVarint("ExtensionRequest.extension_number"))
      default: try reader.skip(tag, "ExtensionRequest")
      }
    }
    return (type, number)
  }

  private func write(_ question: (field: Int, text: String, extensionNumber: Int64)?, to response: inout WireWriter) {
    guard let (field, text, number) = question else {
      return fail(.invalidArgument, "The request is empty.", &response)
    }
    switch field {
    case 3: write(files: index.files(named: text), missing: "The file \"\(text)\"", &response)
    case 4: write(files: index.files(declaring: text), missing: "The symbol \"\(text)\"", &response)
    case 5:
      let files = index.files(extending: text, number: Int(clamping: number))
      write(files: files, missing: "The extension \(number) of \"\(text)\"", &response)
    case 6:
      guard let numbers = index.extensionNumbers(of: text) else {
        return fail(.notFound, "The type \"\(text)\" is not known.", &response)
      }
      response.writeMessage(field: 5) { message in
        message.writeString(text, field: 1)
        for number in numbers { message.writeVarint(Int64(number), field: 2) }
      }
    default:
      response.writeMessage(field: 6) { message in
        for service in services { message.writeMessage(field: 1) { $0.writeString(service, field: 1) } }
      }
    }
  }

  private func write(files: [[UInt8]], missing: String, _ response: inout WireWriter) {
    guard !files.isEmpty else { return fail(.notFound, "\(missing) is not known.", &response) }
    response.writeMessage(field: 4) { message in
      for file in files { message.writeBytes(file, field: 1) }
    }
  }

  /// `ErrorResponse`: an answer like any other, after which the stream goes on.
  private func fail(_ code: StatusCode, _ message: String, _ response: inout WireWriter) {
    response.writeMessage(field: 7) { error in
      error.writeVarint(Int64(code.rawValue), field: 1)
      error.writeString(message, field: 2)
    }
  }
}

/// The declaring file of each symbol of a ``DescriptorSet``.
struct ReflectionIndex: Sendable {
  private let set: DescriptorSet
  private var names: [String: Int] = [:]
  private var symbols: [String: Int] = [:]
  private var extensions: [String: [Int: Int]] = [:]
  private var types: Set<String> = []

  init(_ set: DescriptorSet) {
    self.set = set
    for (index, file) in set.files.enumerated() {
      let (descriptor, package) = (file.descriptor, file.descriptor.package)
      names[descriptor.name] = index
      for message in descriptor.messageType { add(message, in: package, index) }
      for type in descriptor.enumType { add(type, in: package, index) }
      for field in descriptor.extension { add(field, in: package, index) }
      for service in descriptor.service {
        symbols["\(package).\(service.name)"] = index
        for method in service.method { symbols["\(package).\(service.name).\(method.name)"] = index }
      }
    }
  }

  private mutating func add(_ message: Google_Protobuf_DescriptorProto, in scope: String, _ index: Int) {
    let name = "\(scope).\(message.name)"
    types.insert(name)
    symbols[name] = index
    for field in message.field { symbols["\(name).\(field.name)"] = index }
    for oneof in message.oneofDecl { symbols["\(name).\(oneof.name)"] = index }
    for nested in message.nestedType { add(nested, in: name, index) }
    for type in message.enumType { add(type, in: name, index) }
    for field in message.extension { add(field, in: name, index) }
  }

  private mutating func add(_ type: Google_Protobuf_EnumDescriptorProto, in scope: String, _ index: Int) {
    symbols["\(scope).\(type.name)"] = index
    // The values of an enum belong to the scope around it, not to the enum.
    for value in type.value { symbols["\(scope).\(value.name)"] = index }
  }

  private mutating func add(_ field: Google_Protobuf_FieldDescriptorProto, in scope: String, _ index: Int) {
    symbols["\(scope).\(field.name)"] = index
    extensions[String(field.extendee.drop { $0 == "." }), default: [:]][Int(field.number)] = index
  }

  /// The encoded file and all that it imports, it first; none if there is no such file.
  func files(named name: String) -> [[UInt8]] { files(names[name]) }

  /// As above, for the file that declares a message, a field, an enum, a service or a method.
  func files(declaring symbol: String) -> [[UInt8]] { files(symbols[symbol]) }

  func files(extending type: String, number: Int) -> [[UInt8]] { files(extensions[type]?[number]) }

  /// The numbers of a message's extensions, sorted; nil for an unknown message.
  func extensionNumbers(of type: String) -> [Int]? {
    types.contains(type) ? (extensions[type].map { $0.keys.sorted() } ?? []) : nil
  }

  private func files(_ index: Int?) -> [[UInt8]] {
    guard let index else { return [] }
    var order = [index]
    var next = 0
    while next < order.count {
      for name in set.files[order[next]].descriptor.dependency {
        if let imported = names[name], !order.contains(imported) { order.append(imported) }
      }
      next += 1
    }
    return order.map { set.files[$0].bytes }
  }
}
