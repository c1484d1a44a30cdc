import Foundation
import HearthWire
import RawHTTP2
import SwiftProtobuf

/// Listeners that do not read, resume, fall behind, or are many.
extension Attack {
  func listenUnread(_ query: StructuredQuery) async throws {
    let call = try Call.listen(query)
    try await leaveUnread { _ in call }
  }

  func listenUnreadToDocuments() async throws {
    let call = try Call.listen { target in
      target.documents.documents = (0..<SampleData.largeCount).map { "\(Call.documents)/large/\($0)" }
    }
    try await leaveUnread { _ in call }
  }

  /// Listeners come back after everything they listen to has changed.
  func resume(_ query: StructuredQuery) async throws {
    let caller = try await caller()
    let token = try await token(of: .of(HonestClient.collection), caller)
    try await SampleData.overwriteBig(with: caller)
    let call = try Call.listen(query, resuming: token)
    try await leaveUnread { _ in call }
  }

  /// The token of a listener's first snapshot.
  private func token(of query: StructuredQuery, _ caller: CallClient) async throws -> Data {
    let stream = try await caller.start(.listen(query))
    while let message = try await caller.message(of: stream) {
      let change = try Google_Firestore_V1_ListenResponse(serializedBytes: message).targetChange
      if change.targetChangeType == .noChange, !change.resumeToken.isEmpty { return change.resumeToken }
    }
    throw CallClient.Refused(method: "Listen", status: "none", text: "no token")
  }

  /// Listeners take their first snapshot, read no more, and so fall behind what the fan-out keeps.
  func fallBehind() async throws {
    let window = SampleData.bigCount * SampleData.bigText * 3 / 2
    let call = try Call.listen(.of("big"))
    for _ in 0..<4 * size { try await start(call, on: connect(window: UInt32(window))) }
    await waitForAnswers(on: clients, or: SampleData.bigCount * SampleData.bigText)
    let caller = try await caller()
    for _ in 0..<3 { try await SampleData.overwriteBig(with: caller) }
    await waitUntilSteady()
  }

  /// Many listened queries, each another one, which all concern each commit. Everything is read.
  func listenToManyQueries(_ queries: Int, commits: Int) async throws {
    let client = try await connect(window: UInt32(Int32.max))
    try await client.send([.headers(1, method: "Listen")])
    for id in 1...queries {
      let call = try Call.listen(.of("fan") { $0.where = try .field("at", .greaterThan, .integer(id)) }, id: Int32(id))
      try await client.send(message: call.message, streamID: 1, endsStream: false)
    }
    await waitUntilQuiet(client)
    let caller = try await caller()
    for commit in 1...commits {
      try await caller.answers(
        to: .commit([.set("fan/\(commit)", ["at": .integer(queries + commit), "text": .string("hello")])]))
    }
    await waitUntilQuiet(client)
  }

  /// Waits until nothing has come for 200 ms, at most for 10 s.
  private func waitUntilQuiet(_ client: RawHTTP2Client) async {
    var last = -1
    var quiet = 0
    for _ in 0..<500 where quiet < 10 {
      let now = client.received.messageBytes[1] ?? 0
      quiet = now == last ? quiet + 1 : 0
      last = now
      try? await Task.sleep(for: .milliseconds(20))
    }
  }
}
