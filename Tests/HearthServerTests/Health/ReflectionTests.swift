import GRPCCore
import HearthModel
import SwiftProtobuf
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("Reflection")
struct ReflectionTests {
  /// Asks one question in a stream of its own and gives the answer's JSON.
  private func ask(
    _ question: String, version: String = "v1", _ fixture: ServerFixture
  ) async throws -> JSONText {
    let schema = ProtoSchema.server
    let request = try #require(schema.index(of: "grpc.reflection.\(version).ServerReflectionRequest"))
    let response = try #require(schema.index(of: "grpc.reflection.\(version).ServerReflectionResponse"))
    let bytes = try JSONDecoding(schema: schema).message(request, from: Array(question.utf8)[...])
    let service = ServiceDescriptor(fullyQualifiedService: "grpc.reflection.\(version).ServerReflection")
    let answers = try await fixture.client.bidirectionalStreaming(
      request: StreamingClientRequest { try await $0.write(bytes) },
      descriptor: MethodDescriptor(service: service, method: "ServerReflectionInfo"), serializer: BytesCoder(),
      deserializer: BytesCoder(), options: .defaults
    ) { response in
      var answers: [[UInt8]] = []
      for try await message in response.messages { answers.append(message) }
      return answers
    }
    #expect(answers.count == 1)
    var output = JSONOutput(isPretty: false)
    try (answers.first ?? []).withUnsafeBytes {
      try JSONEncoding(schema: schema).write($0, of: response, to: &output)
    }
    return try JSONTextReader.read(output.bytes[...])
  }

  private func files(_ answer: JSONText) throws -> [Google_Protobuf_FileDescriptorProto] {
    guard case .array(let elements)? = answer["fileDescriptorResponse"]?["fileDescriptorProto"] else { return [] }
    return try elements.map { element in
      guard case .string(let text) = element, let bytes = JSONDecoding.base64(text) else { throw CancellationError() }
      return try Google_Protobuf_FileDescriptorProto(serializedBytes: bytes)
    }
  }

  @Test("the services are listed", arguments: ["v1", "v1alpha"])
  func services(version: String) async throws {
    try await ServerFixture.withServer { fixture in
      let answer = try await ask(#"{"listServices": "*"}"#, version: version, fixture)
      #expect(
        answer["listServicesResponse"]?.compact
          == #"{"service":[{"name":"google.firestore.v1.Firestore"},{"name":"grpc.health.v1.Health"},"#
          + #"{"name":"grpc.reflection.v1.ServerReflection"},{"name":"grpc.reflection.v1alpha.ServerReflection"}]}"#)
      #expect(answer["originalRequest"]?.compact == #"{"listServices":"*"}"#)
    }
  }

  @Test(
    "a symbol's file comes with all that it imports",
    arguments: [
      ("google.firestore.v1.Firestore", "google/firestore/v1/firestore.proto", 23),
      ("google.firestore.v1.Firestore.Commit", "google/firestore/v1/firestore.proto", 23),
      ("google.firestore.v1.Document.create_time", "google/firestore/v1/document.proto", 4),
      ("google.firestore.v1.StructuredQuery.Direction", "google/firestore/v1/query.proto", 6),
      ("grpc.health.v1.Health", "grpc/health/v1/health.proto", 1),
      ("grpc.reflection.v1alpha.ServerReflection", "grpc/reflection/v1alpha/reflection.proto", 1),
    ])
  func symbols(symbol: String, file: String, count: Int) async throws {
    try await ServerFixture.withServer { fixture in
      let files = try files(try await ask(#"{"fileContainingSymbol": "\#(symbol)"}"#, fixture))
      #expect(files.first?.name == file)
      let names = Set(files.map(\.name))
      #expect(names.count == files.count)
      #expect(files.flatMap(\.dependency).allSatisfy { names.contains($0) }, "all that is imported is there")
      #expect(files.count == count)
      let byName = try self.files(try await ask(#"{"fileByFilename": "\#(file)"}"#, fixture))
      #expect(byName == files)
    }
  }

  @Test("extensions are found by their number")
  func extensions() async throws {
    try await ServerFixture.withServer { fixture in
      let type = "google.protobuf.MethodOptions"
      let numbers = try await ask(#"{"allExtensionNumbersOfType": "\#(type)"}"#, fixture)
      #expect(
        numbers["allExtensionNumbersResponse"]?.compact
          == #"{"baseTypeName":"google.protobuf.MethodOptions","extensionNumber":[1051,72295728]}"#)
      let question = #"{"fileContainingExtension": {"containingType": "\#(type)", "extensionNumber": 72295728}}"#
      #expect(try files(try await ask(question, fixture)).first?.name == "google/api/annotations.proto")
    }
  }

  @Test(
    "what is not known is NOT_FOUND in the answer",
    arguments: [
      #"{"fileByFilename": "x.proto"}"#, #"{"fileContainingSymbol": "a.B"}"#, #"{"allExtensionNumbersOfType": "a.B"}"#,
      #"{"fileContainingExtension": {"containingType": "google.protobuf.MethodOptions", "extensionNumber": 1}}"#,
    ])
  func unknown(question: String) async throws {
    try await ServerFixture.withServer { fixture in
      let answer = try await ask(question, fixture)
      guard case .number("5")? = answer["errorResponse"]?["errorCode"] else {
        Issue.record("\(answer.compact)")
        return
      }
    }
  }
}
