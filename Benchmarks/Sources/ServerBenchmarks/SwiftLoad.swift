internal import BenchmarkKit
internal import Foundation
internal import GRPCCore
internal import GRPCNIOTransportHTTP2

/// The load generator for machines without Go: calls, on one connection, with the options and the answer of Benchmarks/Peers/load.
///
/// It does not do what the lines on listeners and memory need: those keep thousands of streams that are read slowly or not at all.
struct SwiftLoad: Sendable {
  static let command = "load"
  private static let note = "needs Go's load generator"

  private typealias Client = GRPCClient<HTTP2ClientTransport.Posix>

  private var options: [String: String] = [:]
  private var collection: String { options["-collection"] ?? "places" }
  private var documents: SampleFields { SampleFields(count: number("-documents"), bytes: number("-size", else: 500)) }

  /// `load -host HOST:PORT [options] SCENARIO`
  static func main(_ words: [String]) async throws {
    var load = SwiftLoad()
    for index in stride(from: 0, to: words.count - 1, by: 2) { load.options[words[index]] = words[index + 1] }
    let reading = try await load.measure(words.last ?? "")
    try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(reading))
  }

  private func measure(_ scenario: String) async throws -> Load.Reading {
    guard let port = options["-host"]?.split(separator: ":").last.flatMap({ Int($0) }) else { throw Failure("-host?") }
    let security: HTTP2ClientTransport.Posix.TransportSecurity =
      options["-ca"].map { path in
        .tls {
          $0.trustRoots = .certificates([.file(path: path, format: .pem)])
          $0.serverCertificateVerification = .noHostnameVerification
        }
      } ?? .plaintext
    let transport = try HTTP2ClientTransport.Posix(
      target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: security)
    let deadline = Double(number("-deadline"))
    return try await withGRPCClient(transport: transport) { client in
      try await withThrowingTaskGroup(of: Load.Reading?.self) { group in
        group.addTask { try await run(scenario, client) }
        group.addTask {
          try await Task.sleep(for: .seconds(deadline))
          return nil
        }
        let first = try await group.next() ?? nil
        group.cancelAll()
        return first ?? Load.Reading(note: "not within \(Int(deadline)) s")
      }
    }
  }

  private func run(_ scenario: String, _ client: Client) async throws -> Load.Reading {
    let documents = documents
    switch scenario {
    case "fill": return try await fill(client)
    case "set":
      return try await repeated {
        try await commit([.random(in: 0..<documents.count)], revision: .random(in: 0..<1000), client)
      }
    case "get", "first":
      return try await repeated {
        var request = WireMessage()
        request.append(1, Self.database.utf8)
        request.append(2, name(.random(in: 0..<documents.count)).utf8)
        try await call("BatchGetDocuments", request.bytes, expecting: 1, client)
      }
    case "equality":
      return try await repeated {
        let group = Int.random(in: 0..<documents.groupCount)
        try await query(documents.groupQuery(collection, group), expecting: SampleFields.groupSize, client)
      }
    case "range":
      return try await repeated {
        let start = Int.random(in: 0..<documents.count / 2)
        try await query(documents.rangeQuery(collection, from: start), expecting: 25, client)
      }
    default: return Load.Reading(note: Self.note)
    }
  }

  private func number(_ option: String, else other: Int = 1) -> Int { options[option].flatMap { Int($0) } ?? other }

  // MARK: - Scenarios

  private func fill(_ client: Client) async throws -> Load.Reading {
    let count = documents.count
    let perBatch = min(400, max(8_000_000 / documents.bytes, 1))
    let tasks = number("-clients")
    let start = monotonicSeconds
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for first in stride(from: task * perBatch, to: count, by: tasks * perBatch) {
            try await commit(Array(first..<min(first + perBatch, count)), revision: 0, client)
          }
        }
      }
      try await group.waitForAll()
    }
    return Load.Reading(rate: Double(count) / (monotonicSeconds - start), count: count)
  }

  /// Repeats a call from several tasks for some seconds, or once where there is no time.
  private func repeated(_ call: @escaping @Sendable () async throws -> Void) async throws -> Load.Reading {
    let seconds = options["-seconds"].flatMap { Double($0) } ?? 0
    let start = monotonicSeconds
    let times = try await withThrowingTaskGroup(of: [Double].self) { group in
      for _ in 0..<number("-clients") {
        group.addTask {
          var times: [Double] = []
          repeat {
            let begin = monotonicSeconds
            try await call()
            times.append(monotonicSeconds - begin)
          } while monotonicSeconds - start < seconds
          return times
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    return Load.Reading(
      rate: Double(times.count) / (monotonicSeconds - start), p50: percentile(50, of: times),
      p99: percentile(99, of: times),
      count: times.count)
  }

  // MARK: - Calls

  private static let database = "projects/benchmark/databases/(default)"

  private func name(_ index: Int) -> String {
    "\(Self.database)/documents/\(collection)/\(SampleFields.id(index))"
  }

  private func commit(_ indexes: [Int], revision: Int, _ client: Client) async throws {
    var request = WireMessage()
    request.append(1, Self.database.utf8)
    for index in indexes {
      var document = WireMessage()
      document.append(1, name(index).utf8)
      document.append(encoded: documents.fields(index, revision: revision))
      var write = WireMessage()
      write.append(1, document.bytes)
      request.append(2, write.bytes)
    }
    try await call("Commit", request.bytes, expecting: 1, client)
  }

  private func query(_ query: [UInt8], expecting count: Int, _ client: Client) async throws {
    var request = WireMessage()
    request.append(1, "\(Self.database)/documents".utf8)
    request.append(2, query)
    try await call("RunQuery", request.bytes, expecting: count, client)
  }

  private func call(_ method: String, _ message: [UInt8], expecting count: Int, _ client: Client) async throws {
    let metadata: Metadata = [
      "authorization": "Bearer \(options["-token"] ?? "owner")", "google-cloud-resource-prefix": "\(Self.database)",
      "echo-documents": "\(count)",
    ]
    let received = try await client.serverStreaming(
      request: ClientRequest(message: message, metadata: metadata),
      descriptor: MethodDescriptor(fullyQualifiedService: "google.firestore.v1.Firestore", method: method),
      serializer: PlainMessages(), deserializer: PlainMessages(), options: .defaults
    ) { response in
      try await response.messages.reduce(into: 0) { count, _ in count += 1 }
    }
    guard received == count else { throw Failure("\(method): \(received) messages instead of \(count)") }
  }
}
