import Foundation
import HearthModel
import HearthWire
import NIOHPACK
import RawHTTP2
import SwiftProtobuf
import Synchronization
import Testing

@testable import HearthRPC
@testable import HearthServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(
  "Requests with 100,000 entries", .timeLimit(.minutes(10)),
  .enabled(if: ProcessFigures.canBeRead, "needs /proc of Linux, to count processor time"))
struct RepeatedFieldTests {
  private static let entries = 100_000

  /// Processor time of the server, which a busy machine hardly changes. It grows with the cost of usual work on this machine and in this
  /// build. Work that grows with the square of the entries takes minutes.
  private struct Bounds {
    /// For an answer: a second, and as much as a debug build needs beyond it.
    let answer: Duration
    /// During one step of another client: 100 ms, and as much as a debug build needs beyond them.
    let honest: Duration

    /// - Parameter work: Processor time for a commit of 5,000 documents: 0.35 s in a debug build.
    init(work: Duration) {
      answer = .seconds(1) + work * 30
      honest = .milliseconds(100) + work * 10
    }
  }

  @Test("each repeated field of each request is answered within a second of work, and other calls do not wait")
  func overGRPC() async throws {
    try await Self.attack("gRPC") { server, run in
      let client = try await CallClient(port: server.port)
      for field in RepeatedField.all {
        // If fields of a document have equal names, the last one counts.
        for areEqual in field.name == "Document.fields" ? [false, true] : [false] {
          let bytes = field.request(entries: Self.entries, areEqual: areEqual)
          try await run.expectBounds("\(field)") {
            let answer = try await client.answer(to: field, bytes)
            #expect(field.accepts(answer.code), "\(field): \(answer)")
          }
        }
      }
      client.close()
    }
  }

  @Test("the same over REST, each field once")
  func overREST() async throws {
    try await Self.attack("REST") { server, run in
      var known: Set<String> = []
      for field in RepeatedField.all where !known.contains(field.name) {
        guard let (verb, target, body) = try field.httpRequest(entries: Self.entries) else { continue }
        known.insert(field.name)
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(server.port)\(target)")))
        request.httpMethod = verb
        request.httpBody = Data(body)
        let sent = request
        try await run.expectBounds("\(verb) \(field)") {
          let (_, response) = try await URLSession.shared.data(for: sent)
          let status = (response as? HTTPURLResponse)?.statusCode ?? 0
          #expect((field.isCounted ? [400, 501] : [200, 400, 409, 501]).contains(status), "\(field): \(status)")
        }
      }
    }
  }

  /// The requests to one server, and what each has cost.
  private struct Run {
    let figures: ProcessFigures
    let honest: HonestClient
    let bounds: Bounds
    var worst: (answer: (Duration, String), honest: (Duration, String)) = ((.zero, ""), (.zero, ""))
    var count = 0

    mutating func expectBounds(_ what: String, _ call: () async throws -> Void) async throws {
      honest.begin()
      let before = figures.processorTime
      try await call()
      let work = figures.processorTime - before
      let latencies = honest.latencies
      count += 1
      if work > worst.answer.0 { worst.answer = (work, what) }
      if latencies.worstWork > worst.honest.0 { worst.honest = (latencies.worstWork, what) }
      #expect(work <= bounds.answer, "\(what)")
      #expect(latencies.worstWork <= bounds.honest, "beside \(what)")
      #expect(latencies.failures.isEmpty, "beside \(what)")
    }
  }

  /// Starts a server with a document, and an honest client that does not stop.
  private static func attack(
    _ protocolName: String, _ body: (ServerProcess, inout Run) async throws -> Void
  ) async throws {
    try await ServerProcess.withServer { server in
      let caller = try await CallClient(port: server.port)
      try await caller.answers(to: .commit([.set("c/d", ["n": .integer(1)])]))
      let bounds = Bounds(work: try await usualWork(of: server, caller))
      caller.close()
      let honest = try await HonestClient(of: server)
      let isOver = Mutex(false)
      async let end: Void = honest.run { isOver.withLock { $0 } }
      var run = Run(figures: server.figures, honest: honest, bounds: bounds)
      do {
        try await body(server, &run)
        isOver.withLock { $0 = true }
        await end
      } catch {
        isOver.withLock { $0 = true }
        await end
        throw error
      }
      honest.close()
      let (answer, beside) = run.worst
      print(
        "entries: \(run.count) requests over \(protocolName), most work \(answer.0.milliseconds) of \(bounds.answer.milliseconds) ms for "
          + "\(answer.1), \(beside.0.milliseconds) of \(bounds.honest.milliseconds) ms beside \(beside.1)")
    }
  }

  /// The least of three measurements of the processor time for a commit of 5,000 documents.
  private static func usualWork(of server: ServerProcess, _ caller: CallClient) async throws -> Duration {
    var least: Duration?
    for round in 0..<3 {
      let call = try Call.commit((0..<5000).map { try .set("usual/\($0)", ["n": .integer(round)]) })
      let before = server.figures.processorTime
      try await caller.answers(to: call)
      let work = server.figures.processorTime - before
      least = min(least ?? work, work)
    }
    return least ?? .zero
  }
}

extension RepeatedField {
  /// Refused with a rule, answered with success where so many entries are allowed, or not served.
  /// - Parameter code: A status code of gRPC.
  fileprivate func accepts(_ code: Int) -> Bool {
    let (invalidArgument, alreadyExists, unimplemented) = (3, 6, 12)
    if method == "ExecutePipeline" { return [invalidArgument, unimplemented].contains(code) }
    if isCounted { return code == invalidArgument }
    return [0, invalidArgument, alreadyExists].contains(code)
  }

  /// The request through an HTTP binding of its method that has a body; nil if there is none.
  fileprivate func httpRequest(entries: Int) throws -> (verb: String, target: String, body: [UInt8])? {
    let bindings = HTTPBinding.all(of: FirestoreService.name, in: .server, .server)
    guard let binding = bindings.first(where: { $0.method == method && $0.body != .none }),
      let one = try json(entries: 1, binding), let two = try json(entries: 2, binding)
    else { return nil }
    let suffixes = [
      "CreateDocument": "/c", "UpdateDocument": "/c/d", "BatchGetDocuments": ":batchGet", "Commit": ":commit",
      "BatchWrite": ":batchWrite", "RunQuery": ":runQuery", "RunAggregationQuery": ":runAggregationQuery",
      "PartitionQuery": ":partitionQuery", "ExecutePipeline": ":executePipeline", "Write": ":write",
      "Listen": ":listen",
    ]
    guard let suffix = suffixes[method] else { return nil }
    // The entry is what stands twice in the second text, with a comma in between.
    let length = two.count - one.count - 1
    guard length > 0,
      let start = one.indices.first(where: { start in
        start + length <= one.count
          && two[..<(start + length)] + [UInt8(ascii: ",")] + one[start...] == two[...]
      })
    else { return nil }
    let entry = Array(one[start..<start + length]) + [UInt8(ascii: ",")]
    let body = one[..<start] + Self.repeated(entry, entries - 1, areEqual: false) + one[start...]
    return (binding.verb, "/v1/\(Call.documents)\(suffix)", Array(body))
  }

  /// The JSON of the request's body, with equal entries; nil if the field is not in the body.
  private func json(entries: Int, _ binding: HTTPBinding) throws -> [UInt8]? {
    var (bytes, message) = (request(entries: entries, areEqual: true), binding.request)
    if case .field(let name) = binding.body {
      guard path[0].field.name == name, case .message(let index) = path[0].field.kind else { return nil }
      bytes = try bytes.withUnsafeBytes { bytes in
        var (reader, body) = (WireReader(bytes), [UInt8]())
        while let tag = try reader.readTag("request") {
          if tag.field == path[0].field.number {
            body = Array(try reader.readBytes("request"))
          } else {
            try reader.skip(tag, "request")
          }
        }
        return body
      }
      message = index
    }
    var output = JSONOutput(isPretty: false)
    try bytes.withUnsafeBytes { try JSONEncoding(schema: .server).write($0, of: message, to: &output) }
    return output.bytes
  }
}

extension CallClient {
  /// The status that a request gets, in a stream by its own message or by the end of its target.
  fileprivate func answer(to field: RepeatedField, _ bytes: [UInt8]) async throws -> (code: Int, text: String) {
    switch field.method {
    case "Write":
      let stream = try await start(.writeStream())
      _ = try await message(of: stream)
      try await http.send(message: bytes, streamID: stream, endsStream: false)
      if try await message(of: stream) == nil { return status(of: stream) }
      return try await end(stream, 0)
    case "Listen":
      let stream = try await start(Call(method: field.method, message: bytes, isStream: true))
      while let message = try await message(of: stream) {
        let change = try Google_Firestore_V1_ListenResponse(serializedBytes: message).targetChange
        if change.targetChangeType == .remove {
          return try await end(stream, Int(change.cause.code), change.cause.message)
        }
        if change.targetChangeType == .current { return try await end(stream, 0) }
      }
      return status(of: stream)
    default:
      let stream = try await start(Call(method: field.method, message: bytes))
      while try await message(of: stream) != nil {}
      return status(of: stream)
    }
  }

  private func status(of stream: UInt32) -> (code: Int, text: String) {
    let received = http.received
    return (
      received.statuses[stream].flatMap { Int($0) } ?? -1, received.headers[stream]?.first(name: "grpc-message") ?? ""
    )
  }

  private func end(_ stream: UInt32, _ code: Int, _ text: String = "") async throws -> (code: Int, text: String) {
    try await http.send([.reset(stream, code: 8)])
    return (code, text)
  }
}
