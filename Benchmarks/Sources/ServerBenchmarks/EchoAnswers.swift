internal import Synchronization

/// The answers of the echo service: as many bytes as a server's, made with as little work as possible.
///
/// It stores one document of each collection, the one that was written first, and answers every question with copies of it under
/// other names. Message and field numbers: google/firestore/v1/firestore.proto.
final class EchoAnswers: Sendable {
  private struct State {
    /// The encoded fields of a document, by collection.
    var fields: [ArraySlice<UInt8>: [UInt8]] = [:]
    /// The answers to queries, by collection and number of documents.
    var results: [Results: [[UInt8]]] = [:]
    var listeners: [Int: Listener] = [:]
    var lastListener = 0
    /// Each notification has a later time, as clients leave out documents that have the same.
    var notificationCount = 0
  }

  private struct Results: Hashable {
    var collection: ArraySlice<UInt8>
    var count: Int
    var isListen: Bool
  }

  struct Listener: Sendable {
    var target: Int
    var notify: @Sendable ([[UInt8]]) -> Void
  }

  private let state = Mutex(State())

  private static let time = time(0)

  private static func time(_ number: Int) -> [UInt8] {
    var message = WireMessage()
    message.append(1, 1_750_000_000 + number)
    message.append(2, 123_456_000)
    return message.bytes
  }

  /// As long as one of Hearth.
  private static let resumeToken = [UInt8](repeating: 7, count: 24)

  // MARK: - Commit

  /// - Parameter notifies: the listeners get the document.
  func commit(_ request: [UInt8], notifies: Bool) -> [UInt8] {
    var answer = WireMessage()
    var writeCount = 0
    var result = WireMessage()
    result.append(1, Self.time)
    WireFields(request[...]).forEach { field in
      guard field.number == 2 else { return }
      writeCount += 1
      answer.append(1, result.bytes)
      if writeCount == 1, let document = WireFields(field.content).first(1)?.content {
        note(WireFields(document), notifies: notifies)
      }
    }
    answer.append(2, Self.time)
    return answer.bytes
  }

  private func note(_ document: WireFields, notifies: Bool) {
    guard let name = document.first(1)?.content else { return }
    let collection = Self.collection(ofDocument: name)
    let isKnown = state.withLock { $0.fields[collection] != nil }
    guard notifies || !isKnown else { return }
    var fields = WireMessage()
    document.forEach { if $0.number == 2 { fields.append(encoded: $0.encoded) } }
    if !isKnown { state.withLock { $0.fields[ArraySlice(Array(collection))] = fields.bytes } }
    guard notifies else { return }
    let (listeners, number) = state.withLock {
      $0.notificationCount += 1
      return (Array($0.listeners.values), $0.notificationCount)
    }
    let time = Self.time(number)
    let encoded = Self.document(name, fields: fields.bytes, updateTime: time)
    let messages = [
      Self.documentChange(encoded, target: listeners.first?.target ?? 0), Self.targetChange(nil, time: time),
    ]
    for listener in listeners { listener.notify(messages) }
  }

  private static func collection(ofDocument name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let parts = name.split(separator: UInt8(ascii: "/"))
    return parts.count > 1 ? parts[parts.count - 2] : []
  }

  // MARK: - Reads

  func batchGet(_ request: [UInt8]) -> [[UInt8]] {
    var answers: [[UInt8]] = []
    WireFields(request[...]).forEach { field in
      guard field.number == 2 else { return }
      let fields = state.withLock { $0.fields[Self.collection(ofDocument: field.content)] } ?? []
      var answer = WireMessage()
      answer.append(1, Self.document(field.content, fields: fields))
      answer.append(4, Self.time)
      answers.append(answer.bytes)
    }
    return answers
  }

  func query(_ request: [UInt8], count: Int) -> Answers {
    let parent = WireFields(request[...]).first(1)?.content ?? []
    let collection = WireFields(request[...]).first(2, 2, 2)?.content ?? []
    return results(Results(collection: collection, count: count, isListen: false)) { index, fields in
      var answer = WireMessage()
      answer.append(1, Self.document(Self.name(parent, collection, index), fields: fields))
      answer.append(3, Self.time)
      return answer.bytes
    }
  }

  // MARK: - Listen

  /// The target that a request adds.
  func target(_ request: [UInt8]) -> Int? {
    WireFields(request[...]).first(2, 5).map { Int($0.value) }
  }

  /// The documents of a target's first snapshot.
  func snapshot(_ request: [UInt8], target: Int, count: Int) -> Answers {
    let parent = WireFields(request[...]).first(2, 2, 1)?.content ?? []
    let collection = WireFields(request[...]).first(2, 2, 2, 2, 2)?.content ?? []
    return results(Results(collection: collection, count: count, isListen: true)) { index, fields in
      Self.documentChange(Self.document(Self.name(parent, collection, index), fields: fields), target: target)
    }
  }

  func add(_ listener: Listener) -> Int {
    state.withLock {
      $0.lastListener += 1
      $0.listeners[$0.lastListener] = listener
      return $0.lastListener
    }
  }

  func remove(_ number: Int) {
    state.withLock { _ = $0.listeners.removeValue(forKey: number) }
  }

  // MARK: - Messages

  /// Messages that are stored, or made when they are sent.
  struct Answers: Sendable {
    var count: Int
    var make: @Sendable (Int) -> [UInt8]
  }

  /// Results up to this size are made once.
  private static let storedBytes = 32_000_000

  private func results(_ key: Results, make: @escaping @Sendable (Int, [UInt8]) -> [UInt8]) -> Answers {
    // Made under the lock: many listeners ask for the same at once.
    state.withLock { state in
      if let known = state.results[key] { return Answers(count: known.count) { known[$0] } }
      let fields = state.fields[key.collection] ?? []
      guard !fields.isEmpty, fields.count * key.count <= Self.storedBytes else {
        return Answers(count: key.count) { make($0, fields) }
      }
      let made = (0..<key.count).map { make($0, fields) }
      let stored = Results(
        collection: ArraySlice(Array(key.collection)), count: key.count, isListen: key.isListen)
      state.results[stored] = made
      return Answers(count: made.count) { made[$0] }
    }
  }

  private static func name(_ parent: ArraySlice<UInt8>, _ collection: ArraySlice<UInt8>, _ index: Int) -> [UInt8] {
    let digits = String(index)
    return Array(parent) + [UInt8(ascii: "/")] + collection
      + Array("/\(String(repeating: "0", count: 20 - digits.utf8.count))\(digits)".utf8)
  }

  private static func document(_ name: some Collection<UInt8>, fields: [UInt8], updateTime: [UInt8] = time) -> [UInt8] {
    var document = WireMessage()
    document.append(1, name)
    document.append(encoded: fields)
    document.append(3, time)
    document.append(4, updateTime)
    return document.bytes
  }

  private static func documentChange(_ document: [UInt8], target: Int) -> [UInt8] {
    var change = WireMessage()
    change.append(1, document)
    change.append(5, target)
    var message = WireMessage()
    message.append(3, change.bytes)
    return message.bytes
  }

  /// - Parameter type: 1 for ADD, 3 for CURRENT; nil is the time of a snapshot.
  static func targetChange(_ type: Int?, target: Int = 0, time: [UInt8] = time) -> [UInt8] {
    var change = WireMessage()
    if let type {
      change.append(1, type)
      change.append(2, target)
    }
    if type != 1 {
      change.append(4, resumeToken)
      change.append(6, time)
    }
    var message = WireMessage()
    message.append(2, change.bytes)
    return message.bytes
  }
}
