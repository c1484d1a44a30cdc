import HearthModel
import SwiftProtobuf
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("HTTP bindings")
struct HTTPBindingTests {
  private static let service = "google.firestore.v1.Firestore"
  private let bindings = HTTPBinding.all(of: Self.service, in: .server, .server)

  @Test("every method whose client sends one request has its bindings, and is served")
  func complete() throws {
    let file = try #require(
      DescriptorSet.server.files.first { $0.descriptor.name == "google/firestore/v1/firestore.proto" })
    let methods = try #require(file.descriptor.service.first).method
    #expect(methods.count == 17)
    let single = Set(methods.filter { !$0.clientStreaming }.map(\.name))
    #expect(Set(bindings.map(\.method)) == single)
    #expect(bindings.count == 20, "15 methods; five have two")
    for method in methods where !method.clientStreaming {
      let own = bindings.filter { $0.method == method.name }
      #expect(own.allSatisfy { $0.isStream == method.serverStreaming })
    }
  }

  @Test("the descriptors are all there, each after those that it imports")
  func descriptors() {
    var known: Set<String> = []
    for file in DescriptorSet.server.files {
      #expect(file.descriptor.dependency.allSatisfy { known.contains($0) }, "\(file.descriptor.name)")
      known.insert(file.descriptor.name)
    }
    for name in [
      "google/firestore/v1/write.proto", "grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto",
    ] {
      #expect(known.contains(name))
    }
  }

  private static let root = "projects/p/databases/(default)"

  @Test(
    "a path leads to its method",
    arguments: [
      ("GET", "documents/c/a", "GetDocument", ["documents/c/a"]),
      ("GET", "documents/c/a:b", "GetDocument", ["documents/c/a:b"]),
      ("GET", "documents/c", "ListDocuments", ["documents", "c"]),
      ("GET", "documents/c/a/d", "ListDocuments", ["documents/c/a", "d"]),
      ("POST", "documents/c", "CreateDocument", ["documents", "c"]),
      ("POST", "documents/c/a/d", "CreateDocument", ["documents/c/a", "d"]),
      ("POST", "documents/c/a/d:runQuery", "CreateDocument", ["documents/c/a", "d:runQuery"]),
      ("PATCH", "documents/c/a%20%C3%A4", "UpdateDocument", ["documents/c/a ä"]),
      ("DELETE", "documents/c/a", "DeleteDocument", ["documents/c/a"]),
      ("POST", "documents:commit", "Commit", [""]),
      ("POST", "documents:batchGet", "BatchGetDocuments", [""]),
      ("POST", "documents:runQuery", "RunQuery", ["documents"]),
      ("POST", "documents/c/a:runQuery", "RunQuery", ["documents/c/a"]),
      ("POST", "documents/c/a:listCollectionIds", "ListCollectionIds", ["documents/c/a"]),
      ("POST", "documents/c/a:partitionQuery", "PartitionQuery", ["documents/c/a"]),
    ])
  func paths(verb: String, path: String, method: String, values: [String]) throws {
    let segments = "v1/\(Self.root)/\(path)".split(separator: "/", omittingEmptySubsequences: false)
    let paths = FirestorePaths(clear: nil, setRules: nil, coverage: nil, shutDown: nil, availability: nil)
    var found: (HTTPBinding, PathTemplate.Match)?
    for binding in bindings where binding.verb == verb && found == nil {
      if let match = try binding.template.match(segments), paths.areNames(match) { found = (binding, match) }
    }
    let (binding, match) = try #require(found)
    #expect(binding.method == method)
    let expected = values.map { value in
      value.isEmpty ? Self.root : value.hasPrefix("documents") ? "\(Self.root)/\(value)" : value
    }
    #expect(match.values == expected)
  }

  @Test("bytes that are no text, and half a percent sign, are refused", arguments: ["%FF", "a%2", "%", "%zz"])
  func encoding(text: String) {
    #expect(throws: RESTFailure.self) { try PercentEncoding.decoded(text[...], at: "name") }
  }
}
