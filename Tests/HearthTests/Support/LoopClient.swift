import Foundation
import HearthCache
import HearthModel
import HearthSync
import Synchronization

@testable import Hearth

/// A client's loop whose mailbox and time the test looks after. Without a network.
final class LoopClient {
  let folder: TemporaryFolder
  private let loop: ClientLoop
  private let queue = DispatchQueue(label: "loop")
  private let mailbox = Mailbox()
  private var nextNumber = 1

  private final class Mailbox: Sendable {
    private let messages = Mutex<[ClientLoop.Message]>([])
    func post(_ message: ClientLoop.Message) { messages.withLock { $0.append(message) } }
    func take() -> [ClientLoop.Message] {
      messages.withLock { messages in
        defer { messages = [] }
        return messages
      }
    }
  }

  init(
    _ configuration: ClientConfiguration, in folder: TemporaryFolder,
    now: @escaping () -> ContinuousClock.Instant = { .now }
  ) {
    self.folder = folder
    loop = ClientLoop(configuration, on: queue, now: now)
    handle(.start, request(.networkSwitch(isEnabled: false) { _ in }))
    _ = mailbox.take()
  }

  deinit { handle(.stop { _ in }) }

  func handle(_ messages: ClientLoop.Message...) { handle(messages) }

  func handle(_ messages: [ClientLoop.Message]) {
    queue.sync { loop.handle(messages) { [mailbox] in mailbox.post($0) } }
  }

  func request(_ request: ClientRequest) -> ClientLoop.Message {
    defer { nextNumber += 1 }
    return .call(.request(RequestID(rawValue: nextNumber), request))
  }

  func write(_ path: String) throws -> ClientLoop.Message {
    defer { nextNumber += 1 }
    let mutation = Mutation.set(try DocumentKey(parsing: path), ["n": .integer(1)])
    return .call(
      .writes([
        WriteCall(
          write: LocalWrite(id: WriteID(rawValue: nextNumber), mutations: [mutation], localWriteTime: .now()))
      ]))
  }

  /// Reads a document from the cache. Answers whether it is there.
  func read(_ path: String, _ answer: LoopAnswer<Result<Bool, NSError>>) throws -> ClientLoop.Message {
    request(
      .engine(.readDocument(try DocumentKey(parsing: path))) {
        answer.set($0)
      } value: {
        if case .document(let document) = $0 { document.isFound } else { nil }
      })
  }

  /// Handles what was posted to the loop, once.
  func handlePosted() -> Int {
    let messages = mailbox.take()
    handle(messages)
    return messages.count
  }

  /// Handles what is posted until the condition holds.
  func handlePosted(until isDone: () -> Bool) async {
    while !isDone() {
      _ = handlePosted()
      await Task.yield()
    }
  }
}

/// The answer to a call, once it has come.
final class LoopAnswer<Value: Sendable>: Sendable {
  private let stored = Mutex<Value?>(nil)
  var value: Value? { stored.withLock { $0 } }
  func set(_ value: Value) { stored.withLock { $0 = value } }
}
