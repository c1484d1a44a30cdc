import Foundation
import HearthWire
import RawHTTP2
import SwiftProtobuf

/// Writes that are large, many, or meet each other.
extension Attack {
  /// Commits of 4 MB from many connections at once.
  func commitMuchAtOnce(_ count: Int) async throws {
    let text = String(repeating: "w", count: 20_000)
    let call = try Call.commit((0..<200).map { try .set("written/\($0)", ["s": .string(text)]) })
    try await sendAtOnce(Array(repeating: call, count: count * size))
  }

  /// Sends each call on a connection of its own, and waits for all answers.
  private func sendAtOnce(_ calls: [Call]) async throws {
    let before = clients.count
    for _ in calls { _ = try await connect() }
    let targets = Array(clients[before...])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (client, call) in zip(targets, calls) {
        group.addTask {
          try await client.send([.headers(1, method: call.method)])
          try await client.send(message: call.message, streamID: 1, endsStream: true)
        }
      }
      try await group.waitForAll()
    }
    await waitForAnswers(on: targets)
  }

  /// BatchWrites of many documents, whose results nobody reads.
  func batchWriteAtOnce() async throws {
    let text = String(repeating: "b", count: 4000)
    let call = try Call.batchWrite((0..<500).map { try .set("batch/\($0)", ["s": .string(text)]) })
    try await leaveUnread { _ in call }
  }

  /// Write streams that send without reading what was answered.
  func writeWithoutReading() async throws {
    let text = String(repeating: "s", count: 100_000)
    for stream in 0..<4 * size {
      let client = try await connect(keepsMessages: true)
      try await start(.writeStream(), on: client)
      await waitForAnswer(on: client, or: 1)
      // The token of the handshake, which each further request repeats.
      let token = try client.takeMessages(of: 1).first.map {
        try Google_Firestore_V1_WriteResponse(serializedBytes: $0).streamToken
      }
      let call = try Call.writeStream { request in
        request.streamToken = token ?? Data()
        request.writes = try (0..<20).map { try .set("streamed/\(stream)-\($0)", ["s": .string(text)]) }
      }
      // The server may end the connection of a client that does not read.
      for _ in 0..<3 { try? await client.send(message: call.message, streamID: 1, endsStream: false) }
    }
    await waitUntilSteady()
  }

  /// Optimistic transactions that have read a collection whose documents are all written before they commit.
  func commitAfterManyChanges() async throws {
    let caller = try await caller()
    var transactions: [Data] = []
    for _ in 0..<4 * size {
      let transaction = try await caller.answer(
        to: .begin { $0.readWrite.concurrencyMode = .optimistic }, as: Google_Firestore_V1_BeginTransactionResponse.self
      ).transaction
      let absent = try StructuredQuery.of("big") { $0.where = try .field("n", .equal, .integer(-5)) }
      try await caller.answers(to: .query(absent) { $0.transaction = transaction })
      transactions.append(transaction)
    }
    try await SampleData.overwriteBig(with: caller)
    try await sendAtOnce(
      transactions.map { transaction in
        try .commit([.set("beside/optimistic", ["n": .integer(1)])]) { $0.transaction = transaction }
      })
  }

  /// Scans that overlap, so that one is always reading, concurrent with writers.
  func scanBesideWriters(seconds: Int) async throws {
    let end = ContinuousClock.now + .seconds(seconds * size)
    var count = Google_Firestore_V1_StructuredAggregationQuery.Aggregation()
    count.count = .init()
    let scan = try Call.aggregation(
      .of("big") { $0.where = try .field("n", .notEqual, .integer(-1)) }, [count])
    let scanners = [try await caller(), try await caller(), try await caller(), try await caller()]
    let writers = [try await caller(), try await caller()]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for caller in scanners {
        group.addTask { while ContinuousClock.now < end { try await caller.answers(to: scan) } }
      }
      for (writer, caller) in writers.enumerated() {
        group.addTask {
          var number = writer
          while ContinuousClock.now < end {
            number += 2
            let text = SampleData.nextText()
            let first = number * 7919 % SampleData.bigCount
            try await caller.answers(
              to: .commit(
                (0..<5).map { try SampleData.bigDocument((first + $0 * 131) % SampleData.bigCount, text) }))
          }
        }
      }
      try await group.waitForAll()
    }
  }

  /// More changes than the history may hold, by large commits only.
  func outgrowHistory() async throws {
    let caller = try await caller()
    for _ in 0..<4 { try await SampleData.overwriteBig(with: caller) }
  }
}
